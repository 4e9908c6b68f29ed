//! The chart as JSON.

use keyloom::{Item, Value, item_to_json};

use super::cost::Cost;
use super::pattern::{Access, Pattern};
use super::sheet::{EntitySheet, FieldSheet, Reference, Sheet};

pub(super) fn draw(sheet: &Sheet) -> String {
    let item = Item::from([
        ("title", Value::from(sheet.title.as_str())),
        ("indexes", Value::from(sheet.indexes as u64)),
        ("entities", Value::L(sheet.entities.iter().map(entity).collect())),
    ]);
    item_to_json(&item) + "\n"
}

fn entity(entity: &EntitySheet) -> Value {
    let field = |field: &FieldSheet| {
        Value::M(Item::from([
            ("name", Value::from(field.name.as_str())),
            ("type", Value::from(field.of.as_str())),
        ]))
    };
    let reference = |reference: &Reference| {
        Value::M(Item::from([
            ("field", Value::from(reference.field.as_str())),
            ("entity", Value::from(reference.target.as_str())),
            ("is_parent", Value::Bool(reference.is_parent)),
        ]))
    };
    let write = |(what, cost): &(&str, Cost)| {
        let mut item = cost_item(*cost);
        item.insert("change", *what);
        Value::M(item)
    };
    Value::M(Item::from([
        ("name", Value::from(entity.name.as_str())),
        ("path", Value::from(entity.path.as_str())),
        ("fields", Value::L(entity.fields.iter().map(field).collect())),
        ("references", Value::L(entity.references.iter().map(reference).collect())),
        ("reads", Value::L(entity.patterns.iter().map(pattern).collect())),
        ("writes", Value::L(entity.writes.iter().map(write).collect())),
    ]))
}

fn pattern(pattern: &Pattern) -> Value {
    let mut item = match &pattern.access {
        Access::Sets | Access::Missing => Item::new(),
        Access::Keys(keys) => {
            let mut item = cost_item(keys.cost);
            let keys = [&keys.partition, &keys.sort];
            let keys = keys.map(|(name, parts)| (name.as_str(), Value::from(parts.as_str())));
            item.insert("key", Value::M(Item::from(keys)));
            item
        }
    };
    if let Some(keeps) = pattern.keeps {
        item.insert("write_units", decimal(keeps));
    }
    item.insert("query", pattern.query.as_str());
    item.insert("request", pattern.request.as_str());
    Value::M(item)
}

fn cost_item(cost: Cost) -> Item {
    Item::from([("rows", Value::from(cost.rows)), ("units", decimal(cost.units))])
}

/// Units are multiples of 0.5, which decimals represent exactly.
fn decimal(units: f64) -> Value {
    format!("{units}").parse().map_or(Value::Null, Value::N)
}
