//! Random histories of a kitchen: unique names, parents and children, references that refuse and cascade,
//! enums, and defaults that can be absent.

use keyloom::{Change, Db, Item, ListQuery, Number, Value};
use keyloom_testkit::{Random, cases};
use keyloom_typed::{
    Change as TypedChange, Changes, Creation, Error, Id, OrDefault, Reference, Time,
};
use keyloom_typed_example::kitchen::{
    Category, CategoryByShopOrderList, Database, Ingredient, IngredientByNameList, MODEL, Menu,
    MenuItem, MenuItemDay, MenuItemPatch, MenuPatch, NewCategory, NewIngredient, NewMenu,
    NewMenuItem, NewRecipe, NewRecipeIngredient, Recipe, RecipeIngredient,
};
use pollster::block_on;

use crate::twins::{Shown, Twins, check_list, item_of};

const NAMES: [&str; 4] = ["pasta", "tomatoes", "Öl", "a b"];

/// The members of an entity that all have, and some others.
fn item<const N: usize>(id: &str, version: &str, others: [(&str, Option<Value>); N]) -> Item {
    let mut item = Item::from([("id", id), ("version", version)]);
    for (name, value) in others {
        value.into_iter().for_each(|value| drop(item.insert(name, value)));
    }
    item
}

fn some(value: impl Into<Value>) -> Option<Value> {
    Some(value.into())
}

macro_rules! shown {
    ($($type:ident { $($name:literal: $value:expr),* }),*) => {
        $(impl Shown for $type {
            fn item(&self) -> Item {
                let read: &dyn Fn(&$type) -> Item = &|entity| {
                    item(entity.id.as_str(), entity.version.as_str(), [$(($name, $value(entity))),*])
                };
                read(self)
            }
        })*
    };
}

shown!(
    Category { "name": |e: &Category| some(e.name.as_str()), "shop_order": |e: &Category| some(e.shop_order) },
    Ingredient {
        "category": |e: &Ingredient| some(e.category.as_str()),
        "name": |e: &Ingredient| some(e.name.as_str())
    },
    Recipe {
        "name": |e: &Recipe| some(e.name.as_str()),
        "instructions": |e: &Recipe| some(e.instructions.as_str()),
        "servings": |e: &Recipe| some(e.servings)
    },
    RecipeIngredient {
        "recipe": |e: &RecipeIngredient| some(e.recipe.as_str()),
        "ingredient": |e: &RecipeIngredient| some(e.ingredient.as_str()),
        "position": |e: &RecipeIngredient| some(e.position),
        "amount": |e: &RecipeIngredient| some(e.amount),
        "unit": |e: &RecipeIngredient| some(e.unit.as_str())
    },
    Menu {
        "name": |e: &Menu| some(e.name.as_str()),
        "starts": |e: &Menu| e.starts.map(|time| Value::from(time.ms()))
    },
    MenuItem {
        "menu": |e: &MenuItem| some(e.menu.as_str()),
        "recipe": |e: &MenuItem| some(e.recipe.as_str()),
        "day": |e: &MenuItem| e.day.map(|day| Value::from(day.as_str())),
        "position": |e: &MenuItem| some(e.position),
        "servings": |e: &MenuItem| e.servings.map(Value::from)
    }
);

/// The ids of the entities of each kind, which may be gone.
#[derive(Default)]
struct Ids {
    categories: Vec<String>,
    ingredients: Vec<String>,
    recipes: Vec<String>,
    menus: Vec<String>,
    menu_items: Vec<String>,
}

struct History {
    twins: Twins,
    db: Database,
    random: Random,
    ids: Ids,
}

impl History {
    /// Makes the same changes both ways, and returns the ids of what was created or changed.
    fn make<C: Changes>(
        &self,
        typed: C,
        plain: Vec<Change>,
        shown: impl Fn(C::Output) -> Vec<Item>,
    ) -> Vec<String> {
        let typed: Result<C::Output, Error> = block_on(async { self.db.transact(typed).await });
        let plain = block_on(self.twins.plain.transact(plain));
        let typed = typed.map(shown).map_err(|error| error.to_string());
        let plain = plain.map(|records| records.iter().flatten().map(item_of).collect());
        assert_eq!(typed, plain.map_err(|error| error.to_string()));
        let id = |item: &Item| item.get("id").and_then(Value::as_s).map(str::to_owned);
        typed.map(|items| items.iter().filter_map(id).collect()).unwrap_or_default()
    }

    fn create<E: keyloom_typed::Entity + Shown>(
        &self,
        typed: TypedChange<E, Creation>,
        document: Item,
    ) -> Vec<String> {
        let plain = vec![Change::create_item(E::NAME, document)];
        self.make(typed, plain, |entity: E| vec![entity.item()])
    }

    /// One of the ids, or one that never was.
    fn any(&mut self, ids: fn(&Ids) -> &Vec<String>) -> String {
        match ids(&self.ids).is_empty() || self.random.chance(1, 15) {
            true => "unknown".to_owned(),
            false => self.random.pick(ids(&self.ids)).clone(),
        }
    }

    fn step(&mut self) {
        self.twins.clock.advance_ms(self.random.below(3));
        match self.random.below(8) {
            0 => self.create_category(),
            1 => self.create_ingredient(),
            2 | 3 => self.create_recipe(),
            4 => self.create_menu(),
            5 => self.create_menu_item(),
            6 => self.update(),
            _ => self.delete(),
        }
    }

    fn create_category(&mut self) {
        let (name, order) = (*self.random.pick(&NAMES), self.random.below(3) as i64);
        let item = Item::from([("name", Value::from(name)), ("shop_order", Value::from(order))]);
        let created = self.create(Category::create(NewCategory::new(name, order)), item);
        self.ids.categories.extend(created);
    }

    fn create_ingredient(&mut self) {
        let (category, name) = (self.any(|ids| &ids.categories), *self.random.pick(&NAMES));
        let item =
            Item::from([("category", Value::from(category.as_str())), ("name", Value::from(name))]);
        let new = NewIngredient::new(Id::new(category), name);
        let created = self.create(Ingredient::create(new), item);
        self.ids.ingredients.extend(created);
    }

    /// A recipe with two ingredients, in one transaction: the recipe has no id yet.
    fn create_recipe(&mut self) {
        let (name, servings) = (*self.random.pick(&NAMES), self.random.chance(1, 2).then_some(2));
        let new = NewRecipe { servings, ..NewRecipe::new(name) };
        let mut item = Item::from([("name", name)]);
        servings.into_iter().for_each(|servings| drop(item.insert("servings", servings)));
        let mut plain = vec![Change::create_item("recipe", item).named("recipe")];
        let (recipe, reference): (_, Reference<Recipe>) = Recipe::create(new).named("recipe");
        let mut parts = vec![];
        for _ in 0..2 {
            let ingredient = self.any(|ids| &ids.ingredients);
            let amount: Number = self.random.pick(&["0.5", "3", "1.25"]).parse().unwrap();
            let to_recipe = Value::M(Item::from([("$ref", "recipe")]));
            plain.push(Change::create_item(
                "recipe_ingredient",
                Item::from([
                    ("recipe", to_recipe),
                    ("ingredient", Value::from(ingredient.as_str())),
                    ("amount", Value::from(amount)),
                ]),
            ));
            let new = NewRecipeIngredient::new(&reference, Id::new(ingredient), amount);
            parts.push(RecipeIngredient::create(new));
        }
        let created = self.make((recipe, parts), plain, |(recipe, parts)| {
            std::iter::once(recipe.item()).chain(parts.iter().map(Shown::item)).collect()
        });
        self.ids.recipes.extend(created.into_iter().next());
    }

    fn create_menu(&mut self) {
        let name = *self.random.pick(&NAMES);
        let (starts, given) = match self.random.below(3) {
            0 => (OrDefault::Default, None),
            1 => (OrDefault::Absent, Some(Value::Null)),
            _ => (OrDefault::Value(Time::from_ms(5)), Some(Value::from(5))),
        };
        let mut item = Item::from([("name", name)]);
        given.into_iter().for_each(|given| drop(item.insert("starts", given)));
        let created = self.create(Menu::create(NewMenu { starts, ..NewMenu::new(name) }), item);
        self.ids.menus.extend(created);
    }

    fn create_menu_item(&mut self) {
        let (menu, recipe) = (self.any(|ids| &ids.menus), self.any(|ids| &ids.recipes));
        let day = self.random.chance(1, 2).then(|| *self.random.pick(&MenuItemDay::ALL));
        let mut item = Item::from([
            ("menu", Value::from(menu.as_str())),
            ("recipe", Value::from(recipe.as_str())),
        ]);
        day.into_iter().for_each(|day| drop(item.insert("day", day.as_str())));
        let new = NewMenuItem { day, ..NewMenuItem::new(Id::new(menu), Id::new(recipe)) };
        let created = self.create(MenuItem::create(new), item);
        self.ids.menu_items.extend(created);
    }

    fn update(&mut self) {
        let (id, menu) = (self.any(|ids| &ids.menu_items), self.any(|ids| &ids.menus));
        let patch =
            MenuItemPatch::new().clear_day().add_position(1).set_menu(Id::new(menu.as_str()));
        let plain = Item::from([
            ("day", Value::Null),
            ("position", Value::M(Item::from([("$add", 1)]))),
            ("menu", Value::from(menu.as_str())),
        ]);
        let starts = MenuPatch::new().set_starts(Time::from_ms(9));
        let plain = vec![
            Change::update_item("menu_item", &id, plain),
            Change::update_item("menu", &menu, Item::from([("starts", 9)])),
        ];
        let typed = (MenuItem::patch(&Id::new(id), patch), Menu::patch(&Id::new(menu), starts));
        self.make(typed, plain, |(item, menu)| vec![item.item(), menu.item()]);
    }

    fn delete(&mut self) {
        let (id, kind) = match self.random.below(4) {
            0 => (self.any(|ids| &ids.categories), "category"),
            1 => (self.any(|ids| &ids.ingredients), "ingredient"),
            2 => (self.any(|ids| &ids.recipes), "recipe"),
            _ => (self.any(|ids| &ids.menus), "menu"),
        };
        let typed = block_on(async {
            match kind {
                "category" => self.db.category().delete(&Id::new(&id)).await,
                "ingredient" => self.db.ingredient().delete(&Id::new(&id)).await,
                "recipe" => self.db.recipe().delete(&Id::new(&id)).await,
                _ => self.db.menu().delete(&Id::new(&id)).await,
            }
        });
        let plain = block_on(self.twins.plain.delete(kind, &id));
        assert_eq!(typed.map_err(|e| e.to_string()), plain.map_err(|e| e.to_string()));
    }

    fn check(&mut self) {
        self.check_names();
        self.check_lists();
        let limit = 1 + self.random.below(3) as u32;
        for id in self.ids.recipes.clone() {
            self.check_children(&id, limit);
        }
    }

    fn check_names(&self) {
        for name in NAMES {
            let typed = block_on(self.db.category().find_by_name(name)).unwrap();
            assert_eq!(typed.map(|found| found.item()), find(&self.twins.plain, "category", name));
            let typed = block_on(self.db.ingredient().find_by_name(name)).unwrap();
            assert_eq!(
                typed.map(|found| found.item()),
                find(&self.twins.plain, "ingredient", name)
            );
        }
    }

    fn check_lists(&mut self) {
        let limit = 1 + self.random.below(3) as u32;
        let (db, plain) = (&self.db, &self.twins.plain);
        let list = |entity: &str, list: &str| -> ListQuery { plain.list(entity, list) };
        let range = CategoryByShopOrderList::shop_order_range(1..);
        let categories = db.category().list_by_shop_order().range(range);
        check_list(categories, list("category", "by_shop_order").at_least("shop_order", 1), limit);
        let range = IngredientByNameList::name_range("b".to_owned()..="t".to_owned());
        let by_name = list("ingredient", "by_name").at_least("name", "b").at_most("name", "t");
        check_list(db.ingredient().list_by_name().range(range), by_name, limit);
        check_list(db.recipe().list_by_name(), list("recipe", "by_name"), limit);
        check_list(db.menu().list_by_start(), list("menu", "by_start"), limit);
        for id in &self.ids.categories {
            let by = list("ingredient", "by_category").by("category", id.as_str());
            check_list(db.ingredient().list_by_category(&Id::new(id)), by, limit);
        }
        for id in &self.ids.ingredients {
            let by = list("recipe_ingredient", "by_ingredient").by("ingredient", id.as_str());
            check_list(db.recipe_ingredient().list_by_ingredient(&Id::new(id)), by, limit);
        }
        for id in &self.ids.recipes {
            let by = list("recipe_ingredient", "by_recipe").by("recipe", id.as_str());
            check_list(db.recipe_ingredient().list_by_recipe(&Id::new(id)), by, limit);
            let by = list("menu_item", "by_recipe").by("recipe", id.as_str());
            check_list(db.menu_item().list_by_recipe(&Id::new(id)), by, limit);
        }
        for id in &self.ids.menus {
            let by = list("menu_item", "by_menu").by("menu", id.as_str());
            check_list(db.menu_item().list_by_menu(&Id::new(id)).backward(), by.backward(), limit);
        }
    }

    fn check_children(&self, id: &str, limit: u32) {
        let typed = self.db.recipe().children_recipe_ingredients(&Id::new(id)).limit(limit);
        let found = block_on(typed.with_parent()).unwrap();
        let kind = Some("recipe_ingredient");
        let plain = block_on(self.twins.plain.with_children("recipe", id, kind, limit)).unwrap();
        let Some(found) = found else {
            assert!(plain.is_none());
            return;
        };
        let plain = plain.expect("both have it");
        assert_eq!(found.parent.item(), item_of(&plain.parent));
        let children: Vec<Item> = found.children.iter().map(Shown::item).collect();
        assert_eq!(children, plain.children.iter().map(item_of).collect::<Vec<_>>());
        let next = found.next.as_ref().map(|cursor| cursor.as_str().to_owned());
        assert_eq!(next, plain.next);
        if let Some(next) = found.next {
            let rest = block_on(typed.after(next.clone()).read()).unwrap().expect("it exists");
            let after = (limit, Some(next.as_str()));
            let plain = block_on(self.twins.plain.children("recipe", id, kind, after)).unwrap();
            let plain = plain.expect("it exists").items.iter().map(item_of).collect::<Vec<_>>();
            assert_eq!(rest.items.iter().map(Shown::item).collect::<Vec<_>>(), plain);
        }
    }
}

fn find(db: &Db, entity: &str, name: &str) -> Option<Item> {
    block_on(db.find(entity, &[("name", name.into())])).unwrap().as_ref().map(item_of)
}

#[test]
fn histories_with_types_are_those_without() {
    for seed in 0..u64::from(cases(30)) {
        println!("seed {seed}");
        let twins = Twins::open(MODEL);
        let db = Database::from(twins.typed.clone());
        let (random, ids) = (Random::new(seed), Ids::default());
        let mut history = History { twins, db, random, ids };
        for _ in 0..40 {
            history.step();
            if history.random.chance(1, 10) {
                history.check();
            }
        }
        history.check();
    }
}
