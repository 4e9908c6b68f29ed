//! `GET /tasks/tags`, `GET /comments/facets`: the tags and facet values of the entities of a list, with
//! counts.

use std::collections::BTreeSet;

use hyper::{Method, StatusCode};
use keyloom::{FindTags, Item, ListQuery, ValuePage, item_to_json};
use keyloom_model::{Entity, EntityId, FieldId, Grantees, IdSource, Model};
use serde_json::{Map, Value as Json, json};

use super::super::call::{Call, Reply};
use super::super::filter::tag_parameters;
use super::super::openapi::{
    Answer, Description, Form, Group, PathValue, PathValues, cursor, explained, limit, of_list,
    of_queries, of_searches, of_tags, query, schema, spoken,
};
use super::super::operation::{Access, Action, Operation, Running};
use super::super::path_queries::PathQueries;
use super::super::problem::Problem;
use super::super::reserved::{self, CURSOR, PREFIX};
use super::super::role::Role;
use super::super::segment::Segment;
use super::super::state::State;
use super::list::{check_path, ids_in_path};

#[derive(Debug)]
struct CountValues {
    queries: PathQueries,
    of: ValuesOf,
}

/// The default number of values.
const LIMIT: u32 = 100;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ValuesOf {
    /// Every facet.
    Facets,
    /// The facet in the path.
    Facet,
    /// The tag keys of a field.
    TagKeys(FieldId),
    /// The values of the tag key in the path.
    TagValues(FieldId),
}

impl ValuesOf {
    /// The parameters other than fields.
    fn paging(self) -> &'static [&'static str] {
        match self {
            ValuesOf::Facets => &[reserved::LIMIT],
            ValuesOf::Facet => &[reserved::LIMIT, CURSOR],
            ValuesOf::TagKeys(_) | ValuesOf::TagValues(_) => &[reserved::LIMIT, CURSOR, PREFIX],
        }
    }
}

/// The operations that count values in the lists of a path.
pub(super) fn values(entity: &Entity, path: &[Segment], queries: &PathQueries) -> Vec<Operation> {
    let Some(first) = queries.lists.first() else { return vec![] };
    let (own, list) = (Segment::path_of(entity), &entity.list(*first).name);
    // If clients choose the ids, `/tasks/tags` could be an entity.
    let path = match path == own && entity.id_source == IdSource::Given {
        true => [own, vec![Segment::text("lists"), Segment::text(list)]].concat(),
        false => path.to_vec(),
    };
    let operation = |word: &str, below: &[Segment], queries: &PathQueries, of: ValuesOf| {
        let name = format!("{word}_{}_{list}", entity.name);
        let (path, queries) = ([&path[..], below].concat(), queries.clone());
        Operation::new(name, Method::GET, path, CountValues { queries, of })
    };
    let mut all = vec![];
    let of_facets = queries.counted(|list| !entity.list(*list).facets.is_empty());
    if !of_facets.lists.is_empty() {
        let one = [Segment::text("facets"), Segment::parameter("facet")];
        all.push(operation("facets", &one[..1], &of_facets, ValuesOf::Facets));
        all.push(operation("facet", &one, &of_facets, ValuesOf::Facet));
    }
    let of_tags = queries.counted(|_| true);
    for (parameter, field) in tag_parameters(entity) {
        let word = if parameter == "tag" { "tags" } else { parameter };
        let one = [Segment::text(word), Segment::parameter("key")];
        all.push(operation(word, &one[..1], &of_tags, ValuesOf::TagKeys(field)));
        let word = format!("{word}_of_key");
        all.push(operation(&word, &one, &of_tags, ValuesOf::TagValues(field)));
    }
    all
}

impl Action for CountValues {
    fn access(&self) -> Access {
        Access::Data(Role::Reader)
    }

    fn entity(&self) -> Option<EntityId> {
        Some(self.queries.entity)
    }

    fn grantees<'m>(&self, entity: &'m Entity) -> Vec<&'m Grantees> {
        self.queries.readers(entity)
    }

    fn describe(&self, model: &Model) -> Description {
        let CountValues { queries, of } = self;
        let entity = model.entity(queries.entity);
        let mut parameters = of_queries(entity, queries);
        parameters.extend(of_tags(entity, queries));
        parameters.extend(of_searches(entity, queries));
        let prefix =
            query(PREFIX, "Return only those that start with this.", json!({ "type": "string" }));
        let paging = [limit(LIMIT, "Maximum number of results."), cursor(), prefix];
        let is_taken = |name: &str| of.paging().contains(&name);
        parameters.extend(paging.into_iter().filter(|one| is_taken(&one.name)));
        let details = match of {
            ValuesOf::Facets | ValuesOf::Facet => {
                "All filters apply except those by the facet itself. Values without entities are left out."
            }
            ValuesOf::TagKeys(_) | ValuesOf::TagValues(_) => {
                "Counts only entities that pass the filters. Ordered by their bytes."
            }
        };
        let (fields_of, other) = (Some(queries.entity), Some(named(entity, queries, *of)));
        let counts = counts(entity, queries, *of);
        Description {
            details: vec![details.to_owned()],
            path_values: PathValues { fields_of, other },
            query: parameters,
            answers: vec![Answer::json(200, "The counts.", counts)],
            problems: of_list(entity, &queries.in_path),
            ids: ids_in_path(entity, queries),
            ..Description::new(Group::Entity(queries.entity), summary(entity, queries, *of))
        }
    }

    fn run<'c>(&'c self, state: &'c State, call: &'c Call) -> Running<'c> {
        Box::pin(run(call, &state.model, self))
    }

    fn is_query(&self) -> bool {
        true
    }

    /// The entities in the path are read, too.
    fn takes_several_reads(&self, _: &Call) -> bool {
        self.of == ValuesOf::Facets || !self.queries.in_path.is_empty()
    }
}

async fn run(
    call: &Call,
    model: &Model,
    CountValues { queries, of }: &CountValues,
) -> Result<Reply, Problem> {
    let entity = model.entity(queries.entity);
    let list = queries.requested_list(entity, call, of.paging())?;
    let facets = &entity.list(list.list).facets;
    check_path(call, model, (entity, &queries.in_path)).await?;
    let mut query = list.query.limit(call.limit()?.unwrap_or(LIMIT));
    if let Some(cursor) = call.parameter(CURSOR)? {
        query = query.after(cursor);
    }
    // The facet or key follows the field values in the path.
    let named = call.value(queries.in_path.len());
    let find = |field: FieldId| -> Result<FindTags, Problem> {
        let prefix = call.parameter(PREFIX)?.unwrap_or_default().to_owned();
        Ok(FindTags { field: Some(entity.field(field).name.clone()), key: None, prefix })
    };
    let body = match *of {
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

fn summary(entity: &Entity, queries: &PathQueries, of: ValuesOf) -> String {
    let list =
        queries.lists.first().map(|list| spoken(&entity.list(*list).name)).unwrap_or_default();
    let what = match of {
        ValuesOf::Facets => "the values of each facet",
        ValuesOf::Facet => "the values of a facet",
        ValuesOf::TagKeys(_) => "the keys of tags",
        ValuesOf::TagValues(_) => "the values of a tag",
    };
    format!("Count {what} of {} entities: {list}", spoken(&entity.name))
}

/// The facet or key in the path.
fn named(entity: &Entity, queries: &PathQueries, of: ValuesOf) -> PathValue {
    let (about, schema) = match of {
        ValuesOf::Facet => {
            let names = queries.facets(entity).into_iter().map(|id| entity.field(id).name.as_str());
            let names: BTreeSet<&str> = names.collect();
            ("The facet to count the values of.", json!({ "type": "string", "enum": names }))
        }
        ValuesOf::Facets | ValuesOf::TagKeys(_) | ValuesOf::TagValues(_) => {
            ("The key of the tags.", json!({ "type": "string" }))
        }
    };
    PathValue { about: about.to_owned(), schema }
}

/// The schema of the response.
fn counts(entity: &Entity, queries: &PathQueries, of: ValuesOf) -> Json {
    let page = |word: &str, value: Json| {
        let count = json!({ "type": "integer", "minimum": 1 });
        let item = json!({
            "type": "object", "properties": { word: value, "count": count },
            "required": [word, "count"], "additionalProperties": false,
        });
        let next = "The `cursor` of the next page; absent at the end.";
        json!({
            "type": "object",
            "properties": {
                "items": { "type": "array", "items": item },
                "next": { "type": "string", "description": next },
                "explain": explained(),
            },
            "required": ["items"], "additionalProperties": false,
        })
    };
    let text = || json!({ "type": "string" });
    match of {
        ValuesOf::TagKeys(_) => page("key", text()),
        ValuesOf::TagValues(_) => page("value", text()),
        ValuesOf::Facet => page("value", json!({ "type": ["string", "integer", "boolean"] })),
        ValuesOf::Facets => {
            let facet = |field: FieldId| {
                let field = entity.field(field);
                (field.name.clone(), page("value", schema(&field.of, Form::Shown)))
            };
            let facets: Map<String, Json> = queries.facets(entity).into_iter().map(facet).collect();
            json!({
                "type": "object",
                "properties": { "facets": {
                    "type": "object", "properties": facets, "additionalProperties": false,
                }, "explain": explained() },
                "required": ["facets"], "additionalProperties": false,
            })
        }
    }
}
