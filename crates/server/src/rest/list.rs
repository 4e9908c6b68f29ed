//! Pages of lists and of children, and what has a unique value.

use hyper::StatusCode;
use keyloom::{End, ListQuery, Page, Record, Total, Tree, Value};
use keyloom_model::{Entity, FieldId, FieldType, Model};
use keyloom_store::yield_point;

use super::call::{Call, Reply, bad_parameter, quoted};
use super::entity::not_found;
use super::operation::Asked;
use super::problem::{Kind, Problem};
use super::question::{Listed, Question};

pub(super) async fn ask(call: &Call, model: &Model, asked: &Asked) -> Result<Reply, Problem> {
    let entity = model.entity(asked.entity);
    let in_path = (entity, &asked.in_path[..]);
    match asked.question(entity, call, &asked.paging(entity))? {
        Question::Find(values) => {
            // There is one page, from either end.
            call.limit()?;
            call.is_reversed()?;
            if call.parameter("cursor")?.is_some() {
                let detail = "At most one can be found, and nothing follows: leave `cursor` out.";
                return Err(Problem::new(Kind::BadCursor, detail));
            }
            let values: Vec<(&str, Value)> =
                values.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
            let found = call.db.find(&entity.name, &values).await?;
            let total = Total { count: u64::from(found.is_some()), end: End::Exhausted };
            let total = wants_total(call)?.then_some(total);
            let items: Vec<Record> = found.into_iter().collect();
            if items.is_empty() {
                check_path(call, model, in_path).await?;
            }
            page(call, entity, PageParts { items, total, ..PageParts::default() }).await
        }
        Question::List(listed) => {
            check_countable(call, &listed)?;
            let query = paged(call, query_of(call, entity, listed))?;
            let total = match wants_total(call)? {
                true => Some(query.total().await?),
                false => None,
            };
            let Page { items, next, previous, .. } = query.read().await?;
            // Also if more follows: all of it may be going with what the path refers to.
            if items.is_empty() {
                check_path(call, model, in_path).await?;
            }
            page(call, entity, PageParts { items, next, previous, total }).await
        }
    }
}

/// Everything that the path refers to must be there: a list under something that is not there is not
/// found, and not empty. To be asked where nothing is found, so that pages do not pay for it.
pub(super) async fn check_path(
    call: &Call,
    model: &Model,
    (entity, in_path): (&Entity, &[FieldId]),
) -> Result<(), Problem> {
    for (place, field) in in_path.iter().enumerate() {
        let FieldType::Ref(target, _) = entity.field(*field).of else { continue };
        let (target, id) = (model.entity(target), call.value(place));
        if call.db.get(&target.name, id).await?.is_none() {
            return Err(not_found(target, id));
        }
    }
    Ok(())
}

/// The question to a list.
pub(super) fn query_of(call: &Call, entity: &Entity, listed: Listed) -> ListQuery {
    let query = call.db.list(&entity.name, &entity.list(listed.list).name);
    let query = listed.by.into_iter().fold(query, |query, (name, value)| query.by(&name, value));
    let query = listed.bounds.into_iter().fold(query, |query, bound| bound.narrow(query));
    listed.filters.into_iter().fold(query, ListQuery::filter)
}

/// Which page is asked for.
fn paged(call: &Call, mut query: ListQuery) -> Result<ListQuery, Problem> {
    if call.is_reversed()? {
        query = query.backward();
    }
    if let Some(limit) = call.limit()? {
        query = query.limit(limit);
    }
    Ok(match call.parameter("cursor")? {
        Some(cursor) => query.after(cursor),
        None => query,
    })
}

/// Filters are counted, ranges are not.
fn check_countable(call: &Call, listed: &Listed) -> Result<(), Problem> {
    if listed.bounds.is_empty() || !wants_total(call)? {
        return Ok(());
    }
    let mut names: Vec<&str> = listed.bounds.iter().map(|bound| bound.field.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let names = quoted(&names);
    Err(bad_parameter(format!(
        "`total` cannot be combined with a range of the list's order, here of {names}: it counts \
         what filters by tags and facets match. Leave out `total` or {names}."
    )))
}

fn wants_total(call: &Call) -> Result<bool, Problem> {
    Ok(call.parsed("total", "`true` or `false`")?.unwrap_or(false))
}

pub(super) async fn children(
    call: &Call,
    parent: &Entity,
    child: &Entity,
) -> Result<Reply, Problem> {
    call.check_parameters(&["limit", "cursor", "with"])?;
    let id = call.value(0);
    let span = (call.limit()?.unwrap_or(20), call.parameter("cursor")?);
    let found = call.db.children(&parent.name, id, Some(&child.name), span).await?;
    let Page { items, next, .. } = found.ok_or_else(|| not_found(parent, id))?;
    page(call, child, PageParts { items, next, ..PageParts::default() }).await
}

/// What a page is answered with.
#[derive(Debug, Default)]
struct PageParts {
    items: Vec<Record>,
    next: Option<String>,
    previous: Option<String>,
    total: Option<Total>,
}

/// `{"items": [...], "next": "...", "previous": "...", "total": 3}`, each item with what is to come
/// with it; without `next` nothing follows, without `previous` nothing comes before.
async fn page(call: &Call, entity: &Entity, parts: PageParts) -> Result<Reply, Problem> {
    let items = match call.parameter("with")? {
        None => joined(&parts.items, Record::to_json).await,
        Some(with) => {
            let trees = call.db.trees(&entity.name, parts.items, with, None).await?;
            joined(&trees, Tree::to_json).await
        }
    };
    let mut body = format!("{{\"items\":[{items}]");
    for (name, cursor) in [("next", parts.next), ("previous", parts.previous)] {
        // A cursor has no character that JSON would escape.
        body.extend(cursor.map(|cursor| format!(",\"{name}\":\"{cursor}\"")));
    }
    body.extend(parts.total.map(|total| match total.end {
        End::Exhausted => format!(",\"total\":{}", total.count),
        End::Limit | End::Budget => format!(",\"total_at_least\":{}", total.count),
    }));
    body.push('}');
    Ok(Reply::json(StatusCode::OK, body))
}

/// JSON of many, with commas between. A thousand take a while: others have their turns.
async fn joined<T>(items: &[T], to_json: fn(&T) -> String) -> String {
    let mut joined = String::new();
    for (place, item) in items.iter().enumerate() {
        yield_point().await;
        if place > 0 {
            joined.push(',');
        }
        joined.push_str(&to_json(item));
    }
    joined
}
