//! The shopping list of a menu: amounts summed by ingredient and unit, grouped by category in shop order.

use std::collections::BTreeMap;
use std::sync::Arc;

use keyloom::{Error, Item, Number, Record, Tree, Value, item_to_json};
use keyloom_server::{Kind, OwnAnswer, OwnReply, OwnRequest, OwnRoute, OwnShape, Problem, Role};

use crate::amount::Sum;

/// The relations from a menu down to the categories.
const EVERYTHING: &str = "menu_items.recipe.recipe_ingredients.ingredient.category";
/// The maximum number of dishes of a menu, and of ingredients of a recipe.
const LIMIT: u32 = 1000;

const ANSWER: &str = r#"{
    "type": "object",
    "required": ["menu", "categories"],
    "properties": {
        "menu": {"type": "string"},
        "categories": {"type": "array", "items": {
            "type": "object",
            "required": ["category", "items"],
            "properties": {
                "category": {"type": "string"},
                "items": {"type": "array", "items": {
                    "type": "object",
                    "required": ["ingredient", "amount", "unit"],
                    "properties": {
                        "ingredient": {"type": "string"},
                        "amount": {"type": "number"},
                        "unit": {"type": "string"}
                    }
                }}
            }
        }}
    }
}"#;

/// `GET /menus/{id}/shopping-list`
pub(crate) fn route() -> OwnRoute {
    OwnRoute {
        name: "shopping_list",
        method: "GET",
        path: "/menus/{id}/shopping-list",
        summary: "What to buy for a menu, in shop order; sums are exact and rounded once, to six decimals.",
        role: Some(Role::Reader),
        answer: OwnShape::Json(ANSWER),
        handler: Arc::new(|request: OwnRequest| -> OwnAnswer {
            Box::pin(async move { answer(&request).await })
        }),
    }
}

/// Sums by category in shop order, then by ingredient and unit.
type ShoppingList = BTreeMap<(i64, String), BTreeMap<(String, String), Sum>>;

async fn answer(request: &OwnRequest) -> Result<OwnReply, Problem> {
    let id = request.value(0);
    let menu = request.db.tree("menu", id, EVERYTHING, Some(LIMIT)).await?;
    let menu = menu.ok_or(Error::NotFound { entity: "menu".to_owned(), id: id.to_owned() })?;
    let list = shopping_list(&menu)?;
    let item = to_item(&text(&menu.record, "name"), list).ok_or_else(too_many_digits)?;
    Ok(OwnReply::new(item_to_json(&item)))
}

fn shopping_list(menu: &Tree) -> Result<ShoppingList, Problem> {
    let mut list = ShoppingList::new();
    for dish in children(menu, "menu_items")? {
        let Some(recipe) = target(dish, "recipe") else { continue };
        let of = int(&recipe.record, "servings").unwrap_or(1);
        let servings = int(&dish.record, "servings").unwrap_or(of);
        for need in children(recipe, "recipe_ingredients")? {
            let Some(ingredient) = target(need, "ingredient") else { continue };
            let Some(category) = target(ingredient, "category") else { continue };
            let amount = number(&need.record, "amount").unwrap_or(Number::ZERO);
            let shelf = int(&category.record, "shop_order").unwrap_or_default();
            let things = list.entry((shelf, text(&category.record, "name"))).or_default();
            let thing = (text(&ingredient.record, "name"), text(&need.record, "unit"));
            let sum = things.entry(thing).or_default();
            sum.add(amount, servings, of).ok_or_else(too_many_digits)?;
        }
    }
    Ok(list)
}

/// The response; none if an amount has too many digits.
fn to_item(menu: &str, list: ShoppingList) -> Option<Item> {
    let mut categories = vec![];
    for ((_, category), things) in list {
        let mut items = vec![];
        for ((ingredient, unit), sum) in things {
            items.push(Value::M(Item::from([
                ("ingredient", Value::from(ingredient)),
                ("amount", Value::from(sum.total()?)),
                ("unit", Value::from(unit)),
            ])));
        }
        let items = Value::L(items);
        categories
            .push(Value::M(Item::from([("category", Value::from(category)), ("items", items)])));
    }
    Some(Item::from([("menu", Value::from(menu)), ("categories", Value::L(categories))]))
}

/// All children of one kind. Fails if there are too many, because a partial list would mislead.
fn children<'t>(tree: &'t Tree, name: &str) -> Result<&'t [Tree], Problem> {
    match tree.children.get(name) {
        None => Ok(&[]),
        Some(branch) if branch.next.is_none() => Ok(&branch.items),
        Some(_) => {
            let what = &tree.record.entity();
            let detail = format!("The {what} has more than {LIMIT} `{name}`: split it.");
            Err(Problem::new(Kind::TooLarge, detail))
        }
    }
}

fn target<'t>(tree: &'t Tree, field: &str) -> Option<&'t Tree> {
    tree.refs.get(field)?.as_ref()
}

fn text(record: &Record, field: &str) -> String {
    record.get(field).and_then(Value::as_s).unwrap_or_default().to_owned()
}

fn number(record: &Record, field: &str) -> Option<Number> {
    record.get(field).and_then(Value::as_n).copied()
}

fn int(record: &Record, field: &str) -> Option<i64> {
    number(record, field)?.to_i64()
}

fn too_many_digits() -> Problem {
    let detail = "An amount has more than 38 digits: use fewer digits.";
    Problem::new(Kind::TooLarge, detail)
}
