//! A kitchen: recipes made of ingredients that stand in categories, a menu of recipes, and the
//! shopping list of the menu, in the order of the shop.
//!
//! Run it with `cargo run --release --example kitchen -p keyloom [DIRECTORY]`. Without a directory
//! it works in a fresh one and removes it at the end; one that is given must be empty.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example shows what happens")]

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use keyloom::{Change, Db, Record, Repair};
use keyloom_store::{Engine, Options};
use serde::{Deserialize, Serialize};
use serde_json::json;

const MODEL: &str = include_str!("../../../apps/kitchen/model.toml");

/// What a recipe needs; a type of ours, read and written by serde.
#[derive(Serialize, Deserialize)]
struct Need {
    recipe: String,
    ingredient: String,
    amount: f64,
    unit: String,
    position: u32,
}

fn main() -> ExitCode {
    let given = std::env::args_os().nth(1).map(PathBuf::from);
    let fresh = std::env::temp_dir().join(format!("keyloom-kitchen-{}", std::process::id()));
    let outcome = pollster::block_on(kitchen(given.as_ref().unwrap_or(&fresh)));
    if given.is_none() {
        // It is in the system's own place for what may be left behind.
        let _ = std::fs::remove_dir_all(&fresh);
    }
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn kitchen(directory: &Path) -> Result<(), Box<dyn Error>> {
    let engine = Engine::open(directory, Options::default())?;
    let db = Db::open(MODEL, Arc::new(engine)).await?;
    let ingredients = stock(&db).await?;
    let menu = cook(&db, &ingredients).await?;

    println!("The shopping list, in the order of the shop:");
    for ((_, category), things) in shopping_list(&db, &menu).await? {
        println!("  {category}");
        for ((name, unit), amount) in things {
            println!("    {amount} {unit} {name}");
        }
    }

    println!("\nWhat the model does not allow:");
    let tomato = &ingredients["tomatoes"];
    let again =
        json!({ "name": "tomatoes", "category": tomato.get("category").and_then(|id| id.as_s()) });
    show(db.create("ingredient", &again).await);
    show(db.create("ingredient", &json!({ "nmae": "basil", "category": "nowhere" })).await);
    show(db.delete("ingredient", tomato.id()).await);

    println!("\nEvery row computed anew and compared:");
    let findings = db.verify(Repair::No, |_| {}).await?;
    println!("  {} differences", findings.len());
    Ok(())
}

/// Categories with what stands in them.
async fn stock(db: &Db) -> Result<BTreeMap<&'static str, Record>, keyloom::Error> {
    let shelves = [
        ("pasta", 2, vec!["spaghetti", "lasagne"]),
        ("vegetables", 1, vec!["tomatoes", "onions", "garlic"]),
        ("dairy", 3, vec!["parmesan"]),
    ];
    let mut ingredients = BTreeMap::new();
    for (name, shop_order, things) in shelves {
        let category = json!({ "name": name, "shop_order": shop_order });
        let category = db.create("category", &category).await?;
        for thing in things {
            let ingredient = json!({ "name": thing, "category": category.id() });
            ingredients.insert(thing, db.create("ingredient", &ingredient).await?);
        }
        let found = db.with_children("category", category.id(), Some("ingredient"), 20).await?;
        let children = found.map(|found| found.children.len()).unwrap_or_default();
        println!("{name}: {children} ingredients, read together with their category");
    }
    Ok(ingredients)
}

/// Two recipes, each written in one transaction with what it needs, and a menu of both.
async fn cook(
    db: &Db,
    ingredients: &BTreeMap<&'static str, Record>,
) -> Result<Record, keyloom::Error> {
    let salad = vec![("tomatoes", 400.0, "g"), ("onions", 2.0, ""), ("parmesan", 50.0, "g")];
    let recipes = [
        ("spaghetti al pomodoro", vec![("spaghetti", 500.0, "g"), ("tomatoes", 800.0, "g")]),
        ("tomato salad", salad),
    ];
    let menu =
        db.create("menu", &json!({ "name": "Sunday", "starts": "2026-11-15T12:00:00Z" })).await?;
    for (name, needs) in recipes {
        let recipe = db.create("recipe", &json!({ "name": name })).await?;
        let mut changes = vec![];
        for (position, (ingredient, amount, unit)) in (0..).zip(needs) {
            let ingredient = ingredients[ingredient].id().to_owned();
            let (recipe, unit) = (recipe.id().to_owned(), unit.to_owned());
            let need = Need { recipe, ingredient, amount, unit, position };
            changes.push(Change::create("recipe_ingredient", &need)?);
        }
        let item = json!({ "menu": menu.id(), "recipe": recipe.id() });
        changes.push(Change::create("menu_item", &item)?);
        db.transact(changes).await?;
    }
    Ok(menu)
}

/// Amounts by category in the order of the shop, then by ingredient and unit.
type ShoppingList = BTreeMap<(i64, String), BTreeMap<(String, String), f64>>;

async fn shopping_list(db: &Db, menu: &Record) -> Result<ShoppingList, Box<dyn Error>> {
    #[derive(Deserialize)]
    struct Category {
        name: String,
        shop_order: i64,
    }
    #[derive(Deserialize)]
    struct Ingredient {
        name: String,
        category: String,
    }
    let mut list = ShoppingList::new();
    let items = db.list("menu_item", "by_menu").by("menu", menu.id()).read().await?;
    for item in items.items {
        let recipe = item.get("recipe").and_then(|id| id.as_s()).unwrap_or_default();
        let needs = db.list("recipe_ingredient", "by_recipe").by("recipe", recipe);
        for need in needs.limit(100).read().await?.to::<Need>()? {
            let ingredient = db.get("ingredient", &need.ingredient).await?;
            let Some(ingredient) = ingredient else { continue };
            let ingredient: Ingredient = ingredient.to()?;
            let Some(category) = db.get("category", &ingredient.category).await? else { continue };
            let Category { name, shop_order } = category.to()?;
            let things = list.entry((shop_order, name)).or_default();
            *things.entry((ingredient.name, need.unit)).or_default() += need.amount;
        }
    }
    Ok(list)
}

fn show<T>(answer: Result<T, keyloom::Error>) {
    match answer {
        Ok(_) => println!("  it was allowed"),
        Err(error) => println!("  {error}"),
    }
}
