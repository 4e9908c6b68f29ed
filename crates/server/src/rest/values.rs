//! Which tags and which values of facets those have that a list finds, and how many have each.

use hyper::StatusCode;
use keyloom::{FindTags, Item, ListQuery, ValuePage, item_to_json};
use keyloom_model::{Entity, FieldId, Model};

use super::call::{Call, Reply};
use super::list::{check_path, query_of};
use super::operation::Asked;
use super::problem::Problem;

/// How many values are told if nothing is said.
pub(super) const LIMIT: u32 = 100;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValuesOf {
    /// Every facet.
    Facets,
    /// One facet, which the path names.
    Facet,
    /// The keys of tags in a field.
    TagKeys(FieldId),
    /// The values of one key, which the path names.
    TagValues(FieldId),
}

impl ValuesOf {
    /// The parameters that are no fields.
    pub(crate) fn paging(self) -> &'static [&'static str] {
        match self {
            ValuesOf::Facets => &["limit"],
            ValuesOf::Facet => &["limit", "cursor"],
            ValuesOf::TagKeys(_) | ValuesOf::TagValues(_) => &["limit", "cursor", "prefix"],
        }
    }
}

pub(super) async fn count(
    call: &Call,
    model: &Model,
    (asked, of): (&Asked, ValuesOf),
) -> Result<Reply, Problem> {
    let entity = model.entity(asked.entity);
    let listed = asked.list_of(entity, call, of.paging())?;
    let facets = &entity.list(listed.list).facets;
    check_path(call, model, (entity, &asked.in_path)).await?;
    let mut query = query_of(call, entity, listed).limit(call.limit()?.unwrap_or(LIMIT));
    if let Some(cursor) = call.parameter("cursor")? {
        query = query.after(cursor);
    }
    // What the path says comes after the values of fields.
    let named = call.value(asked.in_path.len());
    let find = |field: FieldId| -> Result<FindTags, Problem> {
        let prefix = call.parameter("prefix")?.unwrap_or_default().to_owned();
        Ok(FindTags { field: Some(entity.field(field).name.clone()), key: None, prefix })
    };
    let body = match of {
        ValuesOf::Facets => all_facets(entity, facets, &query).await?,
        ValuesOf::Facet => page("value", &query.facet_values(named).await?),
        ValuesOf::TagKeys(field) => page("key", &query.tags(&find(field)?).await?),
        ValuesOf::TagValues(field) => {
            let find = FindTags { key: Some(named.to_owned()), ..find(field)? };
            page("value", &query.tags(&find).await?)
        }
    };
    Ok(Reply::json(StatusCode::OK, body))
}

/// `{"facets": {"language": {"items": [...]}, ...}}`
async fn all_facets(
    entity: &Entity,
    facets: &[FieldId],
    query: &ListQuery,
) -> Result<String, Problem> {
    let mut members = vec![];
    for facet in facets {
        let name = &entity.field(*facet).name;
        // A name has no character that JSON would escape.
        members.push(format!("\"{name}\":{}", page("value", &query.facet_values(name).await?)));
    }
    Ok(format!("{{\"facets\":{{{}}}}}", members.join(",")))
}

/// `{"items": [{"value": "en", "count": 3}, ...], "next": "..."}`
fn page(word: &str, values: &ValuePage) -> String {
    let item = |counted: &keyloom::ValueCount| {
        let members = [("count", counted.count.into()), (word, counted.value.clone())];
        item_to_json(&Item::from(members))
    };
    let items: Vec<String> = values.counts.iter().map(item).collect();
    let mut body = format!("{{\"items\":[{}]", items.join(","));
    // A cursor has no character that JSON would escape.
    body.extend(values.next.as_ref().map(|next| format!(",\"next\":\"{next}\"")));
    body.push('}');
    body
}
