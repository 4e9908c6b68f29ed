//! Counts as JSON Schema.

use keyloom_model::{Count, Entity, Field, FieldId, FieldType};
use serde_json::{Value as Json, json};

use super::component::component;
use super::cost::explained;
use super::field::{Form, object, schema};

/// A count, as it is described.
#[derive(Clone, Copy)]
pub(crate) struct CountSchema<'d> {
    pub(crate) entity: &'d Entity,
    pub(crate) count: &'d Count,
}

/// A member of the response that has a value of each of some fields.
struct Aggregate<'d> {
    name: &'static str,
    fields: Vec<&'d Field>,
    /// Whether it has a value of each of them even if no entity does.
    is_always_there: bool,
    example: f64,
}

/// The schemas of the counts of an entity, and their names.
pub(super) fn schemas(entity: &Entity) -> impl Iterator<Item = (String, Json)> {
    entity.counts().map(move |(_, count)| {
        let of = CountSchema { entity, count };
        let members = of.members();
        let required: Vec<&str> = members.iter().map(|(name, _)| *name).collect();
        let all = [members.clone(), vec![("explain", explained())]].concat();
        (of.name(), object(&all, &required))
    })
}

impl<'d> CountSchema<'d> {
    /// The name of its schema.
    fn name(&self) -> String {
        format!("{}.count.{}", self.entity.name, self.count.name)
    }

    /// A reference to the schema of one number.
    pub(crate) fn reference(&self) -> Json {
        component(&self.name())
    }

    /// The members that one number always has.
    pub(crate) fn members(&self) -> Vec<(&'static str, Json)> {
        let mut members = vec![("count", json!({ "type": "integer", "minimum": 0 }))];
        for Aggregate { name, fields, is_always_there, .. } in self.aggregates() {
            let schema = |field: &Field| match field.of {
                FieldType::Time => schema(&field.of, Form::Shown),
                _ => json!({ "type": "number" }),
            };
            let schemas: Vec<(&str, Json)> =
                fields.iter().map(|field| (field.name.as_str(), schema(field))).collect();
            let always: Vec<&str> = schemas.iter().map(|(name, _)| *name).collect();
            let always = if is_always_there { &always[..] } else { &[] };
            members.push((name, object(&schemas, always)));
        }
        members
    }

    /// An example of one number.
    pub(crate) fn example(&self) -> Json {
        let mut example = json!({ "count": 3 });
        for Aggregate { name, fields, example: value, .. } in self.aggregates() {
            let value = |field: &Field| match field.of {
                FieldType::Time => json!("2024-02-29T12:00:00Z"),
                _ => json!(value),
            };
            let values = fields.iter().map(|field| (field.name.clone(), value(field)));
            example[name] = Json::Object(values.collect());
        }
        example
    }

    /// What the response says of fields of the entities that are counted.
    fn aggregates(&self) -> Vec<Aggregate<'d>> {
        let CountSchema { entity, count: Count { sums, min, max, .. } } = *self;
        let of = |ids: &[FieldId]| -> Vec<&'d Field> {
            ids.iter().map(|id| entity.field(*id)).collect()
        };
        let mut all = vec![];
        if !sums.is_empty() {
            let mut added = of(sums);
            added.retain(|field| field.of != FieldType::Time);
            all.push(Aggregate { name: "sum", fields: added, is_always_there: true, example: 7.5 });
        }
        // No entity may have an optional field, or there may be no entity.
        for (name, ids, example) in [("average", sums, 2.5), ("min", min, 1.5), ("max", max, 3.5)] {
            if !ids.is_empty() {
                all.push(Aggregate { name, fields: of(ids), is_always_there: false, example });
            }
        }
        all
    }
}
