//! `GET /products/{product}/ratings`: a count, as one number or split by fields.

use hyper::{Method, StatusCode};
use keyloom::{Counted, Item, Value, item_to_json};
use keyloom_model::{Count, CountId, Entity, EntityId, FieldId, Model};
use serde_json::{Map, Value as Json, json};

use super::super::call::{Call, Reply, bad_parameter, cut};
use super::super::openapi::{
    Answer, Description, Form, Group, Parameter, PathValues, Values, cursor, explained, id, limit,
    names, of_list, one_value, query, schema, spoken,
};
use super::super::operation::{Access, Action, Operation, Running};
use super::super::parameters::value;
use super::super::problem::Problem;
use super::super::role::Role;
use super::super::segment::Segment;
use super::super::state::State;
use super::list::check_path;
use super::ranking::{bare, by_parameter, fields, object, page, page_schema, sign_rule, values_by};

/// Parameters other than fields.
const PARAMETERS: [&str; 3] = ["split", "limit", "cursor"];

#[derive(Debug)]
struct CountOf {
    entity: EntityId,
    count: CountId,
    /// The fields whose values the path contains, in its order.
    in_path: Vec<FieldId>,
}

/// The counts of an entity, those without a path under `counts`.
pub(super) fn counts(id: EntityId, entity: &Entity) -> impl Iterator<Item = Operation> {
    entity.counts().map(move |(count_id, count)| {
        let (path, in_path) = match &count.path {
            Some(parts) => Segment::declared_path(entity, parts),
            None => {
                let below = vec![Segment::text("counts"), Segment::text(&count.name)];
                ([Segment::path_of(entity), below].concat(), vec![])
            }
        };
        let name = format!("count_{}_{}", entity.name, count.name);
        let action = CountOf { entity: id, count: count_id, in_path };
        Operation::new(name, Method::GET, path, action)
    })
}

impl CountOf {
    /// The fields of `by` that the path does not contain.
    fn open_fields(&self, count: &Count) -> Vec<FieldId> {
        count.by.iter().copied().filter(|field| !self.in_path.contains(field)).collect()
    }
}

impl Action for CountOf {
    fn access(&self) -> Access {
        Access::Role(Role::Reader)
    }

    fn entity(&self) -> Option<EntityId> {
        Some(self.entity)
    }

    fn describe(&self, model: &Model) -> Description {
        let entity = model.entity(self.entity);
        let count = entity.count(self.count);
        let summary = format!("Count {} entities: {}", spoken(&entity.name), spoken(&count.name));
        let (schema, example) = answer((entity, count));
        let answer = Answer::json(200, "The count.", schema).with_example(example);
        Description {
            details: details((entity, count)),
            path_values: PathValues { fields_of: Some(self.entity), others: id() },
            query: parameters((entity, count), &self.open_fields(count)),
            answers: vec![answer],
            problems: of_list(entity, &self.in_path),
            ..Description::new(Group::Entity(self.entity), summary)
        }
    }

    fn run<'c>(&'c self, state: &'c State, call: &'c Call) -> Running<'c> {
        Box::pin(run(call, &state.model, self))
    }

    fn is_explained(&self) -> bool {
        true
    }
}

/// `{"count": 3}`, or with `split` a page of `{"values": {"rating": 5}, "count": 3}`; with sums also
/// `"sum": {"price": 7.5}` and `"average": {"price": 2.5}`.
async fn run(call: &Call, model: &Model, of: &CountOf) -> Result<Reply, Problem> {
    let (entity, in_path) = (model.entity(of.entity), &of.in_path[..]);
    let count = entity.count(of.count);
    let open = of.open_fields(count);
    let names = |fields: &[FieldId]| -> Vec<String> {
        fields.iter().map(|field| entity.field(*field).name.clone()).collect()
    };
    let fields = [names(&open), names(&count.split)].concat();
    let known: Vec<&str> = fields.iter().map(String::as_str).chain(PARAMETERS).collect();
    call.check_parameters(&known)?;
    let mut query = call.db.count(&entity.name, &count.name);
    for (name, value) in values_by(call, entity, (in_path, &open))? {
        query = query.by(&name, value);
    }
    for field in count.split.iter().map(|field| entity.field(*field)) {
        if let Some(text) = call.parameter(&field.name)? {
            query = query.only(&field.name, value(field, bare(text))?);
        }
    }
    // Validated also without `split`, where they have no effect.
    let (limit, cursor) = (call.limit()?, call.parameter("cursor")?);
    let Some(split) = call.parameter("split")? else {
        let whole = query.whole().await?;
        if whole.count == 0 {
            check_path(call, model, (entity, in_path)).await?;
        }
        let members = counted(count, whole);
        return Ok(Reply::json(StatusCode::OK, item_to_json(&members)));
    };
    for name in split.split(',') {
        if !names(&count.split).iter().any(|field| field == name) {
            let (name, names) = (cut(name), names(&count.split).join("`, `"));
            let detail = format!("`split` cannot be `{name}`: it takes `{names}`.");
            return Err(bad_parameter(detail));
        }
        query = query.split(name);
    }
    if let Some(limit) = limit {
        query = query.limit(limit);
    }
    if let Some(cursor) = cursor {
        query = query.after(cursor);
    }
    let counts = query.read().await?;
    if counts.items.is_empty() {
        check_path(call, model, (entity, in_path)).await?;
    }
    let items = counts.items.into_iter().map(|number| {
        let values = Value::M(entity.to_external(&number.values));
        let mut item = counted(count, number);
        item.insert("values", values);
        item
    });
    Ok(page(items, counts.next))
}

/// The members of a response that hold a number and its sums.
fn counted(count: &Count, number: Counted) -> Item {
    let mut members = Item::from([("count", Value::from(number.count))]);
    if !count.sums.is_empty() {
        members.insert("sum", Value::M(number.sums));
        members.insert("average", Value::M(number.averages));
    }
    members
}

/// The query parameters of a count.
fn parameters((entity, count): (&Entity, &Count), open: &[FieldId]) -> Vec<Parameter> {
    let mut all: Vec<Parameter> =
        open.iter().map(|field| by_parameter(entity.field(*field))).collect();
    let names: Vec<&str> = fields(entity, &count.split).map(|field| field.name.as_str()).collect();
    for field in fields(entity, &count.split) {
        let about = format!("Count only this {}.{}", spoken(&field.name), sign_rule(field));
        all.push(query(&field.name, &about, one_value(field)));
    }
    if !names.is_empty() {
        let item = json!({ "type": "string", "enum": names });
        let schema = json!({ "type": "array", "items": item, "minItems": 1, "uniqueItems": true });
        let about = format!(
            "Return one count per value: `{}`, or several separated by commas. A field that \
             is filtered by cannot be listed.",
            names.join("`, `")
        );
        all.push(Parameter { values: Values::Joined, ..query("split", &about, schema) });
        all.extend([limit(100, "Maximum number of counts, with `split`."), cursor()]);
    }
    all
}

/// Schema and example of the response: a number, or a page of them.
fn answer((entity, count): (&Entity, &Count)) -> (Json, Json) {
    let number = json!({ "type": "integer", "minimum": 0 });
    let sums = sums_schema((entity, count));
    let mut example = json!({ "count": 3 });
    if !sums.is_empty() {
        let all = |value: f64| -> Map<String, Json> {
            fields(entity, &count.sums).map(|field| (field.name.clone(), json!(value))).collect()
        };
        example["sum"] = json!(all(7.5));
        example["average"] = json!(all(2.5));
    }
    let members = [vec![("count", number)], sums].concat();
    let required: Vec<&str> = members.iter().map(|(name, _)| *name).collect();
    let one = object(&[members.clone(), vec![("explain", explained())]].concat(), &required);
    if count.split.is_empty() {
        return (one, example);
    }
    let values = fields(entity, &count.split)
        .map(|field| (field.name.clone(), schema(&field.of, Form::Shown)));
    let values = json!({
        "type": "object", "properties": values.collect::<Map<String, Json>>(),
        "additionalProperties": false,
    });
    let item =
        object(&[vec![("values", values)], members].concat(), &[vec!["values"], required].concat());
    (json!({ "oneOf": [one, page_schema(item)] }), example)
}

/// The schemas of the members that hold sums and averages, if the count has sums.
fn sums_schema((entity, count): (&Entity, &Count)) -> Vec<(&'static str, Json)> {
    if count.sums.is_empty() {
        return vec![];
    }
    let numbers: Vec<(&str, Json)> = fields(entity, &count.sums)
        .map(|field| (field.name.as_str(), json!({ "type": "number" })))
        .collect();
    let names: Vec<&str> = numbers.iter().map(|(name, _)| *name).collect();
    // No entity may have an optional field, or there may be no entity.
    vec![("sum", object(&numbers, &names)), ("average", object(&numbers, &[]))]
}

/// What is counted, in sentences.
fn details((entity, count): (&Entity, &Count)) -> Vec<String> {
    let mut text = format!("The count `{}`", count.name);
    if !count.by.is_empty() {
        text.push_str(&format!(" of one {}", names(entity, &count.by)));
    }
    let mut all = vec![format!("{text}. It is exact.")];
    if !count.sums.is_empty() {
        all.push(format!(
            "`sum` has the exact sum of {}, and `average` the sum divided by the number of entities \
             that have a value, rounded to 16 digits.",
            names(entity, &count.sums)
        ));
    }
    if !count.split.is_empty() {
        all.push(
            "Without `split`, the response is one number; with it, all counts that are not 0."
                .into(),
        );
    }
    all
}
