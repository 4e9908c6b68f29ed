//! Entries of leaderboards in responses, with their entities if a request names them: `with=of`.

use keyloom::{BoardQuery, Fields, Item, Ranked, Tree, item_to_json};
use keyloom_model::{Board, Entity, EntityId, Model};
use serde_json::{Value as Json, json};

use super::super::call::{Call, bad_parameter, cut};
use super::super::closed_steps::check_board_steps;
use super::super::openapi::{
    Parameter, Values, field_names, query, related_names, shown_or_part, with as with_member,
};
use super::super::problem::Problem;
use super::super::reserved::FIELDS;
use super::ranking::{ranked_schema, shown};

/// The member of an entry that is an entity, or refers to one.
const OF: &str = "of";

/// What to show of the entity of each entry.
#[derive(Debug)]
pub(super) struct EntityPart {
    /// The related entities to add to it.
    with: String,
    fields: Fields,
}

impl EntityPart {
    /// What a request names; none if it names no entities.
    pub(super) fn of(
        call: &Call,
        name: &str,
        board: &BoardQuery,
    ) -> Result<Option<EntityPart>, Problem> {
        let fields = call.parameter(FIELDS)?;
        let Some(with) = call.parameter("with")?.filter(|with| !with.is_empty()) else {
            return match fields {
                None => Ok(None),
                Some(_) => {
                    let detail = "`fields` of a leaderboard are fields of the entities in `with=of`: \
                                  add that, or omit `fields`.";
                    Err(bad_parameter(detail.to_owned()))
                }
            };
        };
        let with = below_of("with", with)?;
        let with: Vec<&str> = with.into_iter().filter(|path| !path.is_empty()).collect();
        let with = with.join(",");
        check_board_steps(call, name, &with)?;
        let fields = match fields {
            None => Fields::default(),
            Some(fields) => {
                let fields = below_of("fields", fields)?;
                if fields.contains(&"") {
                    let detail = "`fields` of a leaderboard are fields of its entities: `of.NAME`.";
                    return Err(bad_parameter(detail.to_owned()));
                }
                board.fields(&with, &fields.join(","))?
            }
        };
        Ok(Some(EntityPart { with, fields }))
    }
}

/// Removes the `of` that each path begins with.
fn below_of<'t>(parameter: &str, text: &'t str) -> Result<Vec<&'t str>, Problem> {
    let below = |path: &'t str| match path.strip_prefix(OF) {
        Some("") => Some(""),
        rest => rest?.strip_prefix('.').filter(|rest| !rest.is_empty()),
    };
    let paths = text.split(',').map(|path| {
        below(path).ok_or_else(|| {
            let path = cut(path);
            bad_parameter(format!(
                "`{parameter}` of a leaderboard begins with `of`, the entity of an entry: it cannot be \
                 `{path}`."
            ))
        })
    });
    paths.collect()
}

/// Returns the JSON of each entry: `{"of": "43", "rank": 1, "score": 150}`, and with its entity
/// `"with": {"of": {...}}`, unless that is not visible.
pub(super) async fn entries(
    of: (&Entity, &Board),
    query: &BoardQuery,
    ranked: Vec<Ranked>,
    part: Option<&EntityPart>,
) -> Result<Vec<String>, Problem> {
    let trees = match part {
        None => vec![],
        Some(part) => query.entities(&ranked, &part.with).await?,
    };
    let mut trees = trees.into_iter();
    let entry = |one: Ranked| {
        let tree = part.zip(trees.next().flatten());
        entry_json(&shown(of, one), tree)
    };
    Ok(ranked.into_iter().map(entry).collect())
}

fn entry_json(entry: &Item, tree: Option<(&EntityPart, Tree)>) -> String {
    let mut json = item_to_json(entry);
    if let Some((part, tree)) = tree {
        json.pop();
        let tree = tree.to_json_of(&part.fields);
        json.push_str(&format!(",\"with\":{{\"{OF}\":{tree}}}}}"));
    }
    json
}

/// The parameters that add entities to entries, if these are of entities.
pub(super) fn entity_parameters(model: &Model, ranked: Option<EntityId>) -> Vec<Parameter> {
    let Some(ranked) = ranked else { return vec![] };
    let names = related_names(model, ranked);
    let about = "`of` includes the entity of each entry under `with`; steps after it, with dots, include \
                 related entities. Several paths are separated by commas.";
    let step = match names.is_empty() {
        true => OF.to_owned(),
        false => format!("{OF}(\\.({}))?", names.join("|").replace('.', "\\.")),
    };
    let schema = json!({ "type": "string", "pattern": format!("^({step}(,{step}){{0,3}})?$") });
    let with = query("with", about, schema);
    let about = "The fields of the entities in `with` to return, separated by commas: `of.NAME`. `id` and \
                 `version` always are.";
    let pattern = format!("^{OF}\\.({})$", field_names(model.entity(ranked)).join("|"));
    let item = json!({ "type": "string", "pattern": pattern });
    let schema = json!({ "type": "array", "items": item, "minItems": 1, "maxItems": 200 });
    vec![with, Parameter { values: Values::Joined, ..query(FIELDS, about, schema) }]
}

/// The schema of an entry.
pub(super) fn entry_schema(
    model: &Model,
    ids: (EntityId, &Board),
    ranked: Option<EntityId>,
) -> Json {
    let mut schema = ranked_schema((model.entity(ids.0), ids.1));
    if let Some(ranked) = ranked {
        let of = json!({ OF: shown_or_part(model.entity(ranked)) });
        let with = json!({ "type": "object", "properties": of, "additionalProperties": false });
        let about = "The entity of the entry, if requested and visible.";
        schema["properties"]["with"] = with_member(with, "description", about);
    }
    schema
}
