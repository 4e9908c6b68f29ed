//! The tables of the sample data: the ingredients of a shop, and fourteen recipes. `sample.rs` turns them
//! into entries.

/// A category with its ingredients, in shop order.
pub(super) struct Aisle {
    pub(super) category: &'static str,
    pub(super) ingredients: &'static [&'static str],
}

/// A recipe.
pub(super) struct Recipe {
    pub(super) name: &'static str,
    pub(super) servings: i64,
    pub(super) instructions: &'static str,
    pub(super) needs: &'static [Need],
}

/// An amount in decimal digits, a unit, and the name of an ingredient.
pub(super) type Need = (&'static str, &'static str, &'static str);

pub(super) const AISLES: &[Aisle] = &[
    Aisle {
        category: "Fruit and vegetables",
        ingredients: &[
            "apples",
            "basil",
            "bell peppers",
            "broccoli",
            "carrots",
            "cauliflower",
            "cucumbers",
            "garlic",
            "ginger",
            "leeks",
            "lemons",
            "mushrooms",
            "onions",
            "potatoes",
            "spring onions",
            "tomatoes",
        ],
    },
    Aisle { category: "Bread", ingredients: &["flatbread", "sourdough bread"] },
    Aisle {
        category: "Meat and fish",
        ingredients: &["beef for stewing", "chicken legs", "salmon fillets"],
    },
    Aisle {
        category: "Milk, cheese and eggs",
        ingredients: &["butter", "cream", "eggs", "feta", "milk", "parmesan", "yoghurt"],
    },
    Aisle {
        category: "Pasta, rice and lentils",
        ingredients: &["basmati rice", "penne", "red lentils", "risotto rice", "spaghetti"],
    },
    Aisle {
        category: "Tins and jars",
        ingredients: &["chickpeas", "chopped tomatoes", "coconut milk", "kidney beans", "olives"],
    },
    Aisle {
        category: "Oil, spices and baking",
        ingredients: &[
            "chilli flakes",
            "curry powder",
            "flour",
            "ground cumin",
            "olive oil",
            "soy sauce",
            "sugar",
            "vegetable stock",
        ],
    },
    Aisle { category: "Frozen food", ingredients: &["green beans", "peas", "spinach"] },
];

pub(super) const RECIPES: &[Recipe] = &[
    Recipe {
        name: "Spaghetti al pomodoro",
        servings: 4,
        instructions: "Soften the sliced garlic in the oil over a low heat.\n\
            Add the tomatoes and a pinch of sugar, and simmer for 20 minutes.\n\
            Cook the spaghetti, toss it in the sauce, and finish with torn basil and parmesan.",
        needs: &[
            ("400", "g", "spaghetti"),
            ("800", "g", "chopped tomatoes"),
            ("3", "cloves", "garlic"),
            ("4", "tbsp", "olive oil"),
            ("30", "g", "basil"),
            ("60", "g", "parmesan"),
        ],
    },
    Recipe {
        name: "Red lentil soup",
        servings: 4,
        instructions: "Fry the chopped onion, carrots and garlic in the oil until soft.\n\
            Stir in the cumin, then the lentils and the stock, and simmer for 20 minutes.\n\
            Blend until smooth. Serve with lemon juice, a spoon of yoghurt and warm flatbread.",
        needs: &[
            ("250", "g", "red lentils"),
            ("3", "", "carrots"),
            ("1", "", "onions"),
            ("2", "cloves", "garlic"),
            ("2", "tsp", "ground cumin"),
            ("1200", "ml", "vegetable stock"),
            ("2", "tbsp", "olive oil"),
            ("1", "", "lemons"),
            ("100", "g", "yoghurt"),
            ("4", "", "flatbread"),
        ],
    },
    Recipe {
        name: "Lemon chicken with potatoes",
        servings: 4,
        instructions: "Heat the oven to 200 °C. Quarter the potatoes and spread them in a roasting tin.\n\
            Rub the chicken with oil, salt, and the zest and juice of the lemons, and lay it on top \
            with the whole garlic cloves.\n\
            Roast for 50 minutes, basting twice, until the skin is crisp.",
        needs: &[
            ("4", "", "chicken legs"),
            ("1000", "g", "potatoes"),
            ("2", "", "lemons"),
            ("8", "cloves", "garlic"),
            ("3", "tbsp", "olive oil"),
        ],
    },
    Recipe {
        name: "Chickpea and cauliflower curry",
        servings: 4,
        instructions: "Fry the onions and the grated ginger in the oil, then stir in the curry powder.\n\
            Add the cauliflower in small florets, the chickpeas and the coconut milk, and simmer for \
            15 minutes.\n\
            Stir in the spinach until it wilts. Serve with the rice.",
        needs: &[
            ("1", "", "cauliflower"),
            ("400", "g", "chickpeas"),
            ("400", "ml", "coconut milk"),
            ("200", "g", "spinach"),
            ("2", "", "onions"),
            ("20", "g", "ginger"),
            ("2", "tbsp", "curry powder"),
            ("2", "tbsp", "olive oil"),
            ("300", "g", "basmati rice"),
        ],
    },
    Recipe {
        name: "Mushroom risotto",
        servings: 4,
        instructions: "Fry the mushrooms in half of the butter until golden, and set them aside.\n\
            Soften the onion in the rest, add the rice, and stir until it is glossy.\n\
            Add the hot stock a ladle at a time for 18 minutes. Stir in the mushrooms and parmesan.",
        needs: &[
            ("320", "g", "risotto rice"),
            ("400", "g", "mushrooms"),
            ("1", "", "onions"),
            ("1000", "ml", "vegetable stock"),
            ("60", "g", "butter"),
            ("80", "g", "parmesan"),
        ],
    },
    Recipe {
        name: "Greek salad",
        servings: 4,
        instructions: "Cut the tomatoes, cucumbers and peppers into chunks, and slice the onion thinly.\n\
            Toss everything with the olives, the oil and the juice of the lemon.\n\
            Crumble the feta over it and serve with bread.",
        needs: &[
            ("800", "g", "tomatoes"),
            ("2", "", "cucumbers"),
            ("1", "", "bell peppers"),
            ("1", "", "onions"),
            ("200", "g", "feta"),
            ("100", "g", "olives"),
            ("4", "tbsp", "olive oil"),
            ("1", "", "lemons"),
            ("8", "slices", "sourdough bread"),
        ],
    },
    Recipe {
        name: "Chilli sin carne",
        servings: 6,
        instructions: "Fry the onions, peppers and garlic in the oil until soft.\n\
            Add the cumin and the chilli flakes, then the beans and the tomatoes, and simmer for 30 \
            minutes.\n\
            Serve with the rice and a spoon of yoghurt.",
        needs: &[
            ("800", "g", "kidney beans"),
            ("800", "g", "chopped tomatoes"),
            ("3", "", "bell peppers"),
            ("2", "", "onions"),
            ("3", "cloves", "garlic"),
            ("3", "tsp", "ground cumin"),
            ("1", "tsp", "chilli flakes"),
            ("3", "tbsp", "olive oil"),
            ("450", "g", "basmati rice"),
            ("150", "g", "yoghurt"),
        ],
    },
    Recipe {
        name: "Baked salmon with green beans",
        servings: 2,
        instructions: "Heat the oven to 190 °C. Boil the potatoes until tender.\n\
            Bake the salmon with slices of lemon and half of the butter for 15 minutes.\n\
            Steam the beans, and toss them and the potatoes in the rest of the butter.",
        needs: &[
            ("2", "", "salmon fillets"),
            ("300", "g", "green beans"),
            ("400", "g", "potatoes"),
            ("1", "", "lemons"),
            ("30", "g", "butter"),
        ],
    },
    Recipe {
        name: "Apple pancakes",
        servings: 4,
        instructions: "Whisk the flour, milk, eggs and half of the sugar into a smooth batter, and let \
            it rest for 15 minutes.\n\
            Fry a few slices of apple in butter, pour batter over them, and turn once.\n\
            Sprinkle with the rest of the sugar.",
        needs: &[
            ("300", "g", "flour"),
            ("600", "ml", "milk"),
            ("4", "", "eggs"),
            ("4", "", "apples"),
            ("40", "g", "butter"),
            ("40", "g", "sugar"),
        ],
    },
    Recipe {
        name: "Shakshuka",
        servings: 2,
        instructions: "Fry the onion and the peppers in the oil until soft, then add the cumin and the \
            garlic.\n\
            Add the tomatoes and simmer for 10 minutes.\n\
            Make four hollows, break the eggs into them, and cover until they set. Serve with bread.",
        needs: &[
            ("4", "", "eggs"),
            ("2", "", "bell peppers"),
            ("400", "g", "chopped tomatoes"),
            ("1", "", "onions"),
            ("2", "cloves", "garlic"),
            ("1", "tsp", "ground cumin"),
            ("2", "tbsp", "olive oil"),
            ("4", "slices", "sourdough bread"),
        ],
    },
    Recipe {
        name: "Potato and leek soup",
        servings: 4,
        instructions: "Sweat the sliced leeks in the butter for 10 minutes without browning them.\n\
            Add the diced potatoes and the stock, and simmer until the potatoes fall apart.\n\
            Blend, stir in the cream, and serve with toasted bread.",
        needs: &[
            ("3", "", "leeks"),
            ("600", "g", "potatoes"),
            ("1000", "ml", "vegetable stock"),
            ("150", "ml", "cream"),
            ("30", "g", "butter"),
            ("4", "slices", "sourdough bread"),
        ],
    },
    Recipe {
        name: "Beef stew",
        servings: 6,
        instructions: "Brown the beef in the oil in batches, and set it aside.\n\
            Fry the onions and carrots in the same pot, dust with the flour, and add the stock and \
            the tomatoes.\n\
            Return the beef, cover, and cook gently for two hours. Add the potatoes for the last 30 \
            minutes.",
        needs: &[
            ("1.2", "kg", "beef for stewing"),
            ("6", "", "carrots"),
            ("3", "", "onions"),
            ("1200", "g", "potatoes"),
            ("400", "g", "chopped tomatoes"),
            ("900", "ml", "vegetable stock"),
            ("30", "g", "flour"),
            ("3", "tbsp", "olive oil"),
        ],
    },
    Recipe {
        name: "Penne with broccoli",
        servings: 4,
        instructions: "Cook the penne, and add the broccoli in small florets for the last 4 minutes.\n\
            Warm the sliced garlic and the chilli flakes in the oil.\n\
            Toss everything together with some of the cooking water and the parmesan.",
        needs: &[
            ("400", "g", "penne"),
            ("2", "", "broccoli"),
            ("4", "cloves", "garlic"),
            ("0.5", "tsp", "chilli flakes"),
            ("5", "tbsp", "olive oil"),
            ("80", "g", "parmesan"),
        ],
    },
    Recipe {
        name: "Egg fried rice",
        servings: 2,
        instructions: "Cook the rice and let it cool; yesterday's is even better.\n\
            Scramble the eggs in a hot pan and set them aside. Fry the ginger, carrots and peas.\n\
            Add the rice and the soy sauce, then the eggs, and scatter the spring onions over it.",
        needs: &[
            ("200", "g", "basmati rice"),
            ("3", "", "eggs"),
            ("100", "g", "peas"),
            ("1", "", "carrots"),
            ("4", "", "spring onions"),
            ("10", "g", "ginger"),
            ("2", "tbsp", "soy sauce"),
        ],
    },
];
