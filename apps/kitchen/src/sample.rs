//! Sample data: one cookbook and any number of weekly menus. The same number always yields the same
//! entries; nothing here is random and nothing reads a clock.

mod cookbook;

use keyloom::{Entry, Item, Number, Value};
use time::{Date, Duration, Weekday};

use cookbook::{AISLES, RECIPES, Recipe};

/// Menu 0 starts on this day: 16 November 2026.
const FIRST_MONDAY: Date = match Date::from_iso_week_date(2026, 47, Weekday::Monday) {
    Ok(monday) => monday,
    Err(_) => panic!("the year has that week"),
};
/// Dates repeat after a century of menus, so that every number has a date.
const WEEKS: u64 = 5200;

/// The dishes of a week: the day, and the servings if they differ from the recipe's.
const DISHES: [(&str, Option<i64>); 7] = [
    ("monday", None),
    ("tuesday", Some(4)),
    ("wednesday", None),
    ("friday", Some(4)),
    ("saturday", None),
    ("saturday", Some(6)),
    ("sunday", None),
];
/// Both are coprime to the number of recipes, so no week has a recipe twice, and consecutive weeks
/// differ.
const RECIPES_BETWEEN_DISHES: u64 = 3;
const RECIPES_BETWEEN_MENUS: u64 = 5;

/// The entries of one weekly menu. Number 0 includes the categories, ingredients and recipes that all
/// menus share. Entries come after those they refer to.
pub fn sample(number: u64, _size: u64) -> Vec<Entry> {
    let mut entries = vec![];
    if number == 0 {
        entries.extend(shop());
        entries.extend(RECIPES.iter().flat_map(recipe));
    }
    entries.extend(menu(number));
    entries
}

fn shop() -> Vec<Entry> {
    let mut entries = vec![];
    for (order, aisle) in (1_i64..).zip(AISLES) {
        let category = id("category", aisle.category);
        let fields = [("name", aisle.category.into()), ("shop_order", int(order))];
        entries.push(entry("category", category.clone(), fields));
        entries.extend(aisle.ingredients.iter().map(|name| {
            let fields = [("name", (*name).into()), ("category", category.as_str().into())];
            entry("ingredient", id("ingredient", name), fields)
        }));
    }
    entries
}

fn recipe(recipe: &Recipe) -> Vec<Entry> {
    let recipe_id = id("recipe", recipe.name);
    let fields = [
        ("name", recipe.name.into()),
        ("servings", int(recipe.servings)),
        ("instructions", recipe.instructions.into()),
    ];
    let mut entries = vec![entry("recipe", recipe_id.clone(), fields)];
    for (position, (amount, unit, ingredient)) in (1_i64..).zip(recipe.needs) {
        let fields = [
            ("recipe", recipe_id.as_str().into()),
            ("ingredient", id("ingredient", ingredient).into()),
            ("position", int(position)),
            ("amount", decimal(amount)),
            ("unit", (*unit).into()),
        ];
        entries.push(entry("recipe_ingredient", format!("{recipe_id}-{position:02}"), fields));
    }
    entries
}

fn menu(number: u64) -> Vec<Entry> {
    let menu_id = format!("sample-menu-{number:010}");
    let monday = monday(number);
    let (year, week, _) = monday.to_iso_week_date();
    let (name, starts) = (format!("Week {week}, {year}"), format!("{monday}T00:00:00Z"));
    let fields = [("name", name.into()), ("starts", starts.into())];
    let mut entries = vec![entry("menu", menu_id.clone(), fields)];
    for (position, (day, servings)) in (1_u8..).zip(DISHES) {
        let recipes = RECIPES.len() as u64;
        let at =
            number % recipes * RECIPES_BETWEEN_MENUS + u64::from(position) * RECIPES_BETWEEN_DISHES;
        let Some(recipe) = RECIPES.get((at % recipes) as usize) else { continue };
        let fields = [
            ("menu", menu_id.as_str().into()),
            ("recipe", id("recipe", recipe.name).into()),
            ("day", day.into()),
            ("position", int(position.into())),
        ];
        let servings = servings.map(|servings| ("servings", int(servings)));
        let fields = fields.into_iter().chain(servings);
        entries.push(entry("menu_item", format!("{menu_id}-{position:02}"), fields));
    }
    entries
}

fn entry(
    entity: &str,
    id: String,
    fields: impl IntoIterator<Item = (&'static str, Value)>,
) -> Entry {
    let mut item = Item::new();
    for (name, value) in fields {
        item.insert(name, value);
    }
    Entry { entity: entity.to_owned(), tenant: None, id, fields: item }
}

/// `sample-recipe-red-lentil-soup`.
fn id(entity: &str, name: &str) -> String {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let words: Vec<String> = words.map(str::to_ascii_lowercase).collect();
    format!("sample-{entity}-{}", words.join("-"))
}

fn int(value: i64) -> Value {
    Value::N(Number::from(value))
}

fn decimal(digits: &str) -> Value {
    // A test checks that the tables hold only numbers.
    Value::N(digits.parse().unwrap_or(Number::ZERO))
}

/// The Monday of a menu's week.
fn monday(number: u64) -> Date {
    let weeks = i64::try_from(number % WEEKS).unwrap_or_default();
    FIRST_MONDAY.saturating_add(Duration::weeks(weeks))
}
