//! Pages of entities in responses.

use hyper::StatusCode;
use keyloom::{End, Record, Total, Tree};
use keyloom_model::Entity;
use keyloom_store::yield_point;

use super::super::call::{Call, Reply};
use super::super::problem::Problem;

/// The parts of a page.
#[derive(Debug, Default)]
pub(super) struct PageParts {
    pub(super) items: Vec<Record>,
    pub(super) next: Option<String>,
    pub(super) previous: Option<String>,
    pub(super) total: Option<Total>,
}

/// Formats `{"items": [...], "next": "...", "previous": "...", "total": 3}`, each item with the related
/// entities that were requested. `next` is absent on the last page, `previous` on the first.
pub(super) async fn page(call: &Call, entity: &Entity, parts: PageParts) -> Result<Reply, Problem> {
    let fields = call.fields(entity)?;
    let items = match call.with(&entity.name)? {
        None => joined(&parts.items, |record: &Record| record.to_json_of(&fields)).await,
        Some(with) => {
            let trees = call.db.trees(&entity.name, parts.items, with, None).await?;
            joined(&trees, |tree: &Tree| tree.to_json_of(&fields)).await
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

/// Joins the JSON of items. A thousand items take long, so it yields between them.
async fn joined<T>(items: &[T], to_json: impl Fn(&T) -> String) -> String {
    let mut joined = String::new();
    for (index, item) in items.iter().enumerate() {
        yield_point().await;
        if index > 0 {
            joined.push(',');
        }
        joined.push_str(&to_json(item));
    }
    joined
}
