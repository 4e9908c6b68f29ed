//! Pages of lists and of children, and what has a unique value.

use hyper::StatusCode;
use keyloom::{Page, Record, Tree, Value};
use keyloom_model::Entity;

use super::call::{Call, Reply};
use super::entity::not_found;
use super::operation::Asked;
use super::problem::{Kind, Problem};
use super::question::Question;

pub(super) async fn ask(call: &Call, entity: &Entity, asked: &Asked) -> Result<Reply, Problem> {
    match asked.question(entity, call)? {
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
            page(call, entity, (found.into_iter().collect(), None)).await
        }
        Question::List { list, by, bounds } => {
            let mut query = call.db.list(&entity.name, &entity.list(list).name);
            for (name, value) in by {
                query = query.by(&name, value);
            }
            query = bounds.into_iter().fold(query, |query, bound| bound.narrow(query));
            if call.is_reversed()? {
                query = query.backward();
            }
            if let Some(limit) = call.limit()? {
                query = query.limit(limit);
            }
            if let Some(cursor) = call.parameter("cursor")? {
                query = query.after(cursor);
            }
            let Page { items, next, .. } = query.read().await?;
            page(call, entity, (items, next)).await
        }
    }
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
    page(call, child, (items, next)).await
}

/// `{"items": [...], "next": "..."}`, each with what is to come with it; without `next` nothing
/// follows.
async fn page(
    call: &Call,
    entity: &Entity,
    (records, next): (Vec<Record>, Option<String>),
) -> Result<Reply, Problem> {
    let items: Vec<String> = match call.parameter("with")? {
        None => records.iter().map(Record::to_json).collect(),
        Some(with) => {
            let trees = call.db.trees(&entity.name, records, with, None).await?;
            trees.iter().map(Tree::to_json).collect()
        }
    };
    let mut body = format!("{{\"items\":[{}]", items.join(","));
    if let Some(next) = next {
        // A cursor has no character that JSON would escape.
        body.push_str(&format!(",\"next\":\"{next}\""));
    }
    body.push('}');
    Ok(Reply::json(StatusCode::OK, body))
}
