//! `GET /products/{product}/ratings`: a count, as one number, split by fields or by window.

use hyper::{Method, StatusCode};
use keyloom::{CountQuery, Value, item_to_json};
use keyloom_model::{Count, CountId, Entity, EntityId, FieldId, Grantees, Model};

use super::super::call::{Call, Reply, bad_parameter, cut};
use super::super::field_value::value;
use super::super::openapi::{Answer, Description, Group, PathValues, of_list, spoken};
use super::super::operation::{Access, Action, Operation, Running};
use super::super::problem::Problem;
use super::super::reserved::{CURSOR, LIMIT};
use super::super::role::Role;
use super::super::segment::Segment;
use super::super::state::State;
use super::count_description::CountDescription;
use super::list::check_path;
use super::ranking::{bare, page, values_by};

/// Parameters other than fields.
const PARAMETERS: [&str; 3] = ["split", LIMIT, CURSOR];
/// Those of a count with windows.
const WINDOW_PARAMETERS: [&str; 2] = ["window", "fill"];

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
    /// The query with the values that the path and the parameters have of fields.
    fn query(&self, call: &Call, entity: &Entity) -> Result<CountQuery, Problem> {
        let count = entity.count(self.count);
        let mut query = call.db.count(&entity.name, &count.name);
        for (name, value) in values_by(call, entity, (&self.in_path, &self.open_fields(count)))? {
            query = query.by(&name, value);
        }
        for field in count.split.iter().map(|field| entity.field(*field)) {
            if let Some(text) = call.parameter(&field.name)? {
                query = query.only(&field.name, value(field, bare(text))?);
            }
        }
        Ok(query)
    }

    /// The fields of `by` that the path does not contain.
    fn open_fields(&self, count: &Count) -> Vec<FieldId> {
        count.by.iter().copied().filter(|field| !self.in_path.contains(field)).collect()
    }
}

impl Action for CountOf {
    fn access(&self) -> Access {
        Access::Data(Role::Reader)
    }

    fn entity(&self) -> Option<EntityId> {
        Some(self.entity)
    }

    fn grantees<'m>(&self, entity: &'m Entity) -> Vec<&'m Grantees> {
        vec![&entity.count(self.count).readers]
    }

    fn describe(&self, model: &Model) -> Description {
        let entity = model.entity(self.entity);
        let count = entity.count(self.count);
        let summary = format!("Count {} entities: {}", spoken(&entity.name), spoken(&count.name));
        let described = CountDescription { entity, count };
        let (schema, example) = described.answer();
        let answer = Answer::json(200, "The count.", schema).with_example(example);
        Description {
            details: described.details(),
            path_values: PathValues { fields_of: Some(self.entity), other: None },
            query: described.parameters(&self.open_fields(count)),
            answers: vec![answer],
            problems: of_list(entity, &self.in_path),
            ..Description::new(Group::Entity(self.entity), summary)
        }
    }

    fn run<'c>(&'c self, state: &'c State, call: &'c Call) -> Running<'c> {
        Box::pin(run(call, &state.model, self))
    }

    fn is_query(&self) -> bool {
        true
    }
}

/// `{"count": 3}`, or with `split` a page of `{"values": {"rating": 5}, "count": 3}`; if the count has
/// them, also `"sum": {"price": 7.5}`, `"average"`, `"min"` and `"max"`. With `window` it is a page too, of numbers that
/// have `"window": "2024-02-29T00:00:00+01:00"`.
async fn run(call: &Call, model: &Model, of: &CountOf) -> Result<Reply, Problem> {
    let (entity, in_path) = (model.entity(of.entity), &of.in_path[..]);
    let count = entity.count(of.count);
    check_names(call, (entity, count), &of.open_fields(count))?;
    let query = of.query(call, entity)?;
    let (split, window) = (call.parameter("split")?, call.parameter("window")?);
    // Validated also without `split`, where they have no effect.
    let (limit, cursor) = (call.limit()?, call.parameter(CURSOR)?);
    let is_filled = call.parsed("fill", "`true` or `false`")?.unwrap_or(false);
    if split.is_none() && window.is_none() {
        if is_filled {
            return Err(bad_parameter("`fill` needs `window`.".to_owned()));
        }
        let whole = query.whole().await?;
        if whole.count == 0 {
            check_path(call, model, (entity, in_path)).await?;
        }
        let members = whole.to_item(entity, count);
        return Ok(Reply::json(StatusCode::OK, item_to_json(&members)));
    }
    let mut query = split_by(query, split, (entity, count))?;
    if let Some(range) = window {
        query = query.windows(range);
    }
    if is_filled {
        query = query.filled();
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
        let values =
            split.is_some().then(|| Value::M(entity.external_values(&number.values).collect()));
        let window = number.window.clone().map(Value::from);
        let mut item = number.to_item(entity, count);
        for (name, value) in [("values", values), ("window", window)] {
            if let Some(value) = value {
                item.insert(name, value);
            }
        }
        item
    });
    Ok(page(items, counts.next))
}

/// Refuses parameters that the count does not have.
fn check_names(
    call: &Call,
    (entity, count): (&Entity, &Count),
    open: &[FieldId],
) -> Result<(), Problem> {
    let fields = open.iter().chain(&count.split).map(|field| entity.field(*field).name.as_str());
    let of_windows = WINDOW_PARAMETERS.into_iter().filter(|_| count.window.is_some());
    call.check_parameters(&fields.chain(PARAMETERS).chain(of_windows).collect::<Vec<_>>())
}

/// One number for each value of the fields that `split` names.
fn split_by(
    mut query: CountQuery,
    split: Option<&str>,
    (entity, count): (&Entity, &Count),
) -> Result<CountQuery, Problem> {
    let names: Vec<&str> =
        count.split.iter().map(|field| entity.field(*field).name.as_str()).collect();
    for name in split.iter().flat_map(|split| split.split(',')) {
        if !names.contains(&name) {
            let (name, names) = (cut(name), names.join("`, `"));
            let detail = format!("`split` cannot be `{name}`: it takes `{names}`.");
            return Err(bad_parameter(detail));
        }
        query = query.split(name);
    }
    Ok(query)
}
