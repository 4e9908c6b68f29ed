//! Parameters of operations: in the path, the query and the headers.

use keyloom_model::{Entity, EntityId, Field, FieldId, FieldType, Model, Presence, Search};
use serde_json::{Value as Json, json};

use super::super::path_queries::PathQueries;
use super::super::reserved::{CURSOR, FIELDS, LIMIT, LIVE};
use super::field::{Form, id, schema};
use super::sentence::spoken;

/// A timestamp (RFC 3339).
const TIME: &str = "[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]+)?\
                    ([Zz]|[+-][0-9]{2}:[0-9]{2})";
/// A tag filter.
const TAG: &str = r"^!?([^\\:]|\\[\\!:|*,])*:([^\\]|\\[\\!:|*,])*$";
const NUMBER: &str = "[+-]?([0-9]{1,38}(\\.[0-9]*)?|\\.[0-9]{1,38})([eE][+-]?[0-9]{1,2})?";

/// A parameter of an operation.
#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) location: Location,
    pub(crate) is_required: bool,
    /// Its description.
    pub(crate) about: String,
    pub(crate) schema: Json,
    pub(crate) values: Values,
}

/// How several values of a parameter are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Values {
    /// The parameter is repeated, if it takes several values at all.
    Repeated,
    /// Separated by commas.
    Joined,
}

/// Where a parameter is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Location {
    Path,
    Query,
    Header,
}

impl Location {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Location::Path => "path",
            Location::Query => "query",
            Location::Header => "header",
        }
    }
}

/// The query parameters of the queries of a path.
pub(crate) fn of_queries(entity: &Entity, queries: &PathQueries) -> Vec<Parameter> {
    let parameter = |name: &&str| {
        let id = entity.find_field(name)?;
        let field = entity.field(id);
        let lists = || queries.lists.iter().map(|list| entity.list(*list));
        let uniques = || queries.uniques.iter().map(|unique| entity.unique(*unique));
        let orders = lists().any(|list| list.order.iter().any(|order| order.field == id));
        let is_filter = entity.filters.contains(&id) && !queries.lists.is_empty();
        let is_ranged = orders || is_filter && entity.is_range_filter(id);
        let is_presence = is_filter && field.presence == Presence::Optional;
        let is_by = lists().any(|list| list.by.contains(&id)) || !queries.uniques.is_empty();
        let is_value = |fields: &[FieldId]| fields.contains(&id);
        let is_required = lists().all(|list| is_value(&list.by))
            && uniques().all(|unique| is_value(&unique.fields) || unique.within == Some(id));
        let is_tags = field.of == FieldType::Tags;
        let (mut about, schema, values) = match (is_ranged, queries.facets(entity).contains(&id)) {
            (true, false) => (bounds_about(field), bounds(field, is_presence), Values::Repeated),
            (false, true) => (facet_about(field), facet(field), Values::Joined),
            // Bounds, or values separated by commas: more than a schema can express.
            (true, true) => {
                let about = format!("{} {}", facet_about(field), bounds_about(field));
                (about, json!({ "type": "array", "items": { "type": "string" } }), Values::Repeated)
            }
            (false, false) if is_presence && !is_by => {
                let schema = json!({ "type": "string", "enum": ["*", "!*"] });
                (String::new(), schema, Values::Repeated)
            }
            (false, false) => {
                let about = format!("The {}.{}", spoken(name), sign_rule(field));
                (about, query_value(field), Values::Repeated)
            }
        };
        if is_presence {
            let spoken = spoken(name);
            about.push_str(&format!(" `*`: any {spoken}. `!*`: no {spoken}."));
        }
        let about = about.trim_start().to_owned();
        let (name, location) = ((*name).to_owned(), Location::Query);
        (!is_tags).then_some(Parameter { name, location, is_required, about, schema, values })
    };
    queries.parameters(entity).iter().filter_map(parameter).collect()
}

/// The parameters of lists that filter by tags.
pub(crate) fn of_tags(entity: &Entity, queries: &PathQueries) -> Vec<Parameter> {
    let parameter = |(name, field): (&str, FieldId)| {
        let field = &entity.field(field).name;
        let about = format!(
            "Filter by a tag in `{field}`: `key:value`. `key:a|b` matches any of several values, `key:*` any \
             value, `!key:value` entities without it. Several parameters must all match. The first `:` \
             ends the key. Escape `\\`, `!`, `:`, `|` and `*` with a backslash."
        );
        let item = json!({ "type": "string", "pattern": TAG });
        query(name, &about, json!({ "type": "array", "items": item }))
    };
    queries.tags(entity).into_iter().map(parameter).collect()
}

/// The parameters of lists that filter by words.
pub(crate) fn of_searches(entity: &Entity, queries: &PathQueries) -> Vec<Parameter> {
    let parameter = |(name, search): (String, &Search)| {
        let fields = search.fields.iter().map(|id| entity.field(*id).name.as_str());
        let last = match search.has_prefixes() {
            true => " The last one may be the beginning of a word, unless a space follows it.",
            false => "",
        };
        let about = format!(
            "Words that all occur in `{}`, in any order.{last}",
            fields.collect::<Vec<_>>().join("` or `")
        );
        query(&name, &about, json!({ "type": "string" }))
    };
    queries.searches(entity).into_iter().map(parameter).collect()
}

/// The schema of a parameter with values of a facet.
fn facet(field: &Field) -> Json {
    let item = match &field.of {
        FieldType::Text(_) | FieldType::Ref(..) => {
            // Alone, `*` and `!*` are not values of a field that can be absent, and neither is nothing.
            let pattern = match field.presence {
                Presence::Required => r"^(?![<>=])[^\\,]*$",
                Presence::Optional => r"^(?![<>=])(?!!?\*$)[^\\,]+$",
            };
            json!({ "type": "string", "pattern": pattern })
        }
        FieldType::Int(_) | FieldType::Number(_) => schema(&field.of, Form::Given),
        _ => one_value(field),
    };
    json!({ "type": "array", "items": item, "minItems": 1 })
}

fn facet_about(field: &Field) -> String {
    let name = spoken(&field.name);
    let signs = match field.of {
        FieldType::Text(_) | FieldType::Ref(..) => {
            " Escape commas and backslashes with a backslash."
        }
        _ => "",
    };
    format!("The {name}: one or more values, separated by commas.{signs}{}", sign_rule(field))
}

/// The schema of a value of a field in a path.
pub(crate) fn one_value(field: &Field) -> Json {
    match &field.of {
        FieldType::Text(_) => json!({ "type": "string" }),
        FieldType::Ref(..) => id(),
        FieldType::Int(_) => schema(&FieldType::Int(keyloom_model::Limits::NONE), Form::Given),
        FieldType::Number(_) => {
            schema(&FieldType::Number(keyloom_model::Limits::NONE), Form::Given)
        }
        of => schema(of, Form::Shown),
    }
}

/// The schema of a value in a query, where a text that begins with an operator would be a bound.
fn query_value(field: &Field) -> Json {
    match &field.of {
        FieldType::Text(_) | FieldType::Ref(..) => {
            let pattern = match field.presence {
                Presence::Required => "^(?![<>])",
                Presence::Optional => r"^(?![<>])(?!!?\*$).",
            };
            json!({ "type": "string", "pattern": pattern })
        }
        _ => one_value(field),
    }
}

fn sign_rule(field: &Field) -> &'static str {
    match field.of {
        FieldType::Text(_) | FieldType::Ref(..) => {
            " Prefix a value that starts with `<`, `>` or `=` with `=`."
        }
        _ => "",
    }
}

/// The schema of a value, or of a lower and an upper bound; or of whether there is a value.
fn bounds(field: &Field, or_presence: bool) -> Json {
    let value = match &field.of {
        FieldType::Int(_) => Some("[+-]?[0-9]{1,18}".to_owned()),
        FieldType::Number(_) => Some(NUMBER.to_owned()),
        FieldType::Bool => Some("(true|false)".to_owned()),
        FieldType::Time => Some(TIME.to_owned()),
        FieldType::Enum(members) => Some(format!("({})", members.join("|"))),
        _ => None,
    };
    let item = match value {
        Some(value) => {
            let pattern = match or_presence {
                true => format!(r"^((<=?|>=?|=)?{value}|!?\*)$"),
                false => format!("^(<=?|>=?|=)?{value}$"),
            };
            json!({ "type": "string", "pattern": pattern })
        }
        None => json!({ "type": "string" }),
    };
    json!({ "type": "array", "items": item, "minItems": 1, "maxItems": 2 })
}

fn bounds_about(field: &Field) -> String {
    let name = spoken(&field.name);
    format!(
        "The {name}, or a range: a value after `<`, `<=`, `>` or `>=`; once, or once for each \
         end.{}",
        sign_rule(field)
    )
}

pub(crate) fn query(name: &str, about: &str, schema: Json) -> Parameter {
    let (name, about, location) = (name.to_owned(), about.to_owned(), Location::Query);
    Parameter { name, location, is_required: false, about, schema, values: Values::Repeated }
}

/// The parameter that includes related entities. The pattern has the first steps of paths only: later ones
/// depend on the entity that the first one leads to.
pub(crate) fn with_others(model: &Model, id: EntityId) -> Option<Parameter> {
    let names = related_names(model, id);
    let about = format!(
        "Related entities, lists and counts to include under `with`: `{}`. Separate nested relations with \
         dots, several paths with commas.",
        names.join("`, `")
    );
    let step = format!("({})", names.join("|").replace('.', "\\."));
    let schema = json!({ "type": "string", "pattern": format!("^({step}(,{step}){{0,3}})?$") });
    (!names.is_empty()).then(|| query("with", &about, schema))
}

/// The parameter for the number of related entities in a read of one entity. What `with` names decides
/// its default.
pub(crate) fn limit_of_others(model: &Model, id: EntityId) -> Option<Parameter> {
    let about = "Maximum number of related entities in each page under `with`. By default, 100 children, \
                 and 10 entries of other lists.";
    let schema = json!({ "type": "integer", "minimum": 1, "maximum": 1000 });
    let is_needed = !model.related(id).is_empty();
    is_needed.then(|| query(LIMIT, about, schema))
}

/// The names of what `with` can add to an entity, as first steps.
pub(crate) fn related_names(model: &Model, id: EntityId) -> Vec<String> {
    model.related(id).into_iter().map(|(name, _)| name).collect()
}

/// The names of what can be shown of an entity.
pub(crate) fn field_names(entity: &Entity) -> Vec<&str> {
    let names = entity.fields.iter().map(|field| field.name.as_str());
    ["id", "version"].into_iter().chain(names.filter(|name| *name != "id")).collect()
}

/// The parameter for the fields to show. The pattern has those of the entity itself: which of related
/// entities can be named depends on `with`.
pub(crate) fn only_fields(entity: &Entity) -> Parameter {
    let about = "The fields to return, separated by commas; `id` and `version` always are. Fields of an \
                 entity in `with` have its name before them, with a dot.";
    let pattern = format!("^({})$", field_names(entity).join("|"));
    let item = json!({ "type": "string", "pattern": pattern });
    let schema = json!({ "type": "array", "items": item, "minItems": 1, "maxItems": 200 });
    Parameter { values: Values::Joined, ..query(FIELDS, about, schema) }
}

/// The parameter for the number of results.
pub(crate) fn limit(default: u32, about: &str) -> Parameter {
    let schema = json!({ "type": "integer", "minimum": 1, "maximum": 1000, "default": default });
    query(LIMIT, about, schema)
}

pub(crate) fn cursor() -> Parameter {
    let about = "`next` or `previous` of another page. All other parameters must stay the same.";
    query(CURSOR, about, json!({ "type": "string" }))
}

pub(super) fn live() -> Parameter {
    let about = "Stream the result, then every change of it, as server-sent events (`page`, `enter`, \
                 `leave`, `move`, `change`, `total`, `count`, `rank`, `set`).";
    flag(LIVE, about)
}

pub(super) fn explain() -> Parameter {
    flag("explain", "Include the query plan and its cost under `explain`.")
}

/// A boolean parameter.
pub(crate) fn flag(name: &str, about: &str) -> Parameter {
    query(name, about, json!({ "type": "boolean", "default": false }))
}
