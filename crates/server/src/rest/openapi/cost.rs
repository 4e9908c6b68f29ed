//! What `explain` adds to responses, as JSON Schema: `rest/explain.rs` makes it.

use serde_json::{Value as Json, json};

use super::component::component;
use super::field::{object, with};

const INDEX: &str = "The index; null for the table itself.";

/// The member that the parameter `explain` adds to the response of a query.
pub(crate) fn explained() -> Json {
    let about = "The query plan, what was read, and what it costs on DynamoDB, if requested.";
    with(with(component("ReadCost"), "readOnly", true), "description", about)
}

/// The response to changes with `explain`.
pub(crate) fn explained_change() -> Json {
    let about = "What would be written, and what it costs on DynamoDB, if requested.";
    with(with(component("WriteCost"), "readOnly", true), "description", about)
}

/// The cost of a query.
pub(super) fn read_cost() -> Json {
    let request = with_members(
        &[
            ("call", text("The operation of the store.")),
            ("index", json!({ "type": ["string", "null"], "description": INDEX })),
            ("rows", count("Rows that were read.")),
            ("bytes", count("Their bytes.")),
            ("read_units", number("What the request costs on DynamoDB.")),
        ],
        &[],
    );
    with_members(
        &[
            ("lists", list(list_cost(), "The lists that were read.")),
            ("rows", count("Rows that were read.")),
            ("bytes", count("Their bytes.")),
            ("requests", list(request, "The requests to the store.")),
            ("dynamodb", on_dynamodb("read_units")),
        ],
        &[],
    )
}

/// A list in the cost of a query.
fn list_cost() -> Json {
    let reads = |about: &str| {
        let members = [("best", count("At least.")), ("worst", count("At most."))];
        with(with_members(&members, &[]), "description", about)
    };
    let bound = with_members(&[("rows", count("Rows.")), ("bytes", count("Bytes."))], &[]);
    let one_by_one = with_members(
        &[
            ("tags", reads("Reads of the lists of all single tags.")),
            ("planned", reads("Reads of the lists in the plan.")),
            ("entities", count("Entities that are read after that.")),
        ],
        &[],
    );
    let way = with_members(
        &[
            ("step", text("What is done.")),
            (
                "rows",
                count(
                    "What it is likely to read, if matches are spread evenly: entries of the list, or as much.",
                ),
            ),
            ("is_chosen", json!({ "type": "boolean" })),
        ],
        &[],
    );
    let considered =
        "The ways in which the page could be found, the cheapest first, if there is a choice.";
    with_members(
        &[
            ("plan", component("PlanStep")),
            ("bound", with(bound, "description", "The most that the page can read.")),
            ("one_by_one", with(one_by_one, "description", "If each list were read in turn.")),
            ("considered", list(way, considered)),
        ],
        &["one_by_one", "considered"],
    )
}

/// A step of a query plan.
pub(super) fn plan_step() -> Json {
    with_members(
        &[
            ("step", text("What is done, or which list is read.")),
            ("members", count("The size of the list, if it is known.")),
            ("parts", list(component("PlanStep"), "The parts of the step.")),
        ],
        &["members", "parts"],
    )
}

/// The cost of changes.
pub(super) fn write_cost() -> Json {
    let row = with_members(
        &[
            ("what", text("The kind of row.")),
            ("action", text("What would be done to it.")),
            ("bytes", count("The size of the row.")),
            ("index_rows", count("Rows of indexes that would change with it.")),
            ("write_units", count("What the row costs on DynamoDB.")),
        ],
        &[],
    );
    with_members(
        &[
            ("rows", list(row, "Rows of the table.")),
            ("sets", count("Memberships in sets of tags, facets and lists that would change.")),
            ("dynamodb", on_dynamodb("write_units")),
        ],
        &[],
    )
}

fn on_dynamodb(units: &'static str) -> Json {
    let members =
        [(units, number("Units of capacity.")), ("dollars", number("At on-demand prices."))];
    with(with_members(&members, &[]), "description", "What it costs on DynamoDB.")
}

fn text(about: &str) -> Json {
    json!({ "type": "string", "description": about })
}

fn count(about: &str) -> Json {
    json!({ "type": "integer", "minimum": 0, "description": about })
}

fn number(about: &str) -> Json {
    json!({ "type": "number", "minimum": 0, "description": about })
}

fn list(items: Json, about: &str) -> Json {
    json!({ "type": "array", "items": items, "description": about })
}

/// An object that always has its members, except optional ones.
pub(super) fn with_members(members: &[(&str, Json)], optional: &[&str]) -> Json {
    let names = members.iter().map(|(name, _)| *name);
    let required: Vec<&str> = names.filter(|name| !optional.contains(name)).collect();
    object(members, &required)
}
