//! A page of entities, as it is answered.

use hyper::StatusCode;
use keyloom::{End, Record, Total, Tree};
use keyloom_model::Entity;
use keyloom_store::yield_point;

use super::super::call::{Call, Reply};
use super::super::problem::Problem;

/// What a page is answered with.
#[derive(Debug, Default)]
pub(super) struct PageParts {
    pub(super) items: Vec<Record>,
    pub(super) next: Option<String>,
    pub(super) previous: Option<String>,
    pub(super) total: Option<Total>,
}

/// `{"items": [...], "next": "...", "previous": "...", "total": 3}`, each item with what is to come
/// with it; without `next` nothing follows, without `previous` nothing comes before.
pub(super) async fn page(call: &Call, entity: &Entity, parts: PageParts) -> Result<Reply, Problem> {
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
