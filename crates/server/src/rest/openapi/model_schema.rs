//! Models and the rows of entities as JSON Schema.

use serde_json::{Value as Json, json};

use super::cost::with_members;
use crate::rest::operations::TEXT_LENGTH_MAX;

/// The schema of the model that is served.
pub(crate) fn served_model() -> Json {
    let field = closed(&[
        ("name", text()),
        ("type", text()),
        (
            "target",
            json!({
                "type": ["string", "null"],
                "description": "The entity that it, or each element of it, refers to.",
            }),
        ),
    ]);
    let list = closed(&[
        ("name", text()),
        ("by", texts()),
        ("order", json!({ "type": "array", "items": text(), "description": "`-` is descending." })),
        ("facets", texts()),
    ]);
    let count = closed(&[("name", text()), ("by", texts())]);
    let parent = json!({ "type": ["string", "null"], "description": "The field of its parent." });
    let declaration = json!({
        "type": "string",
        "description": "The lines of the text that declare it; empty if it follows from others.",
    });
    let entity = closed(&[
        ("name", text()),
        ("path", text()),
        ("parent", parent),
        ("has_tenant", json!({ "type": "boolean" })),
        ("declaration", declaration),
        ("fields", list_of(field)),
        ("lists", list_of(list)),
        ("uniques", list_of(texts())),
        ("counts", list_of(count)),
        ("boards", texts()),
    ]);
    let operations = json!({
        "type": "array", "items": text(),
        "description": "The `operationId` of each operation that the caller may run. The access rules of \
                        the model can refuse a user more.",
    });
    let tenant = json!({
        "type": ["string", "null"],
        "description": "The tenant that the caller is limited to.",
    });
    let entities = list_of(entity);
    closed(&[
        ("text", text()),
        ("entities", entities),
        ("operations", operations),
        ("tenant", tenant),
    ])
}

/// The schema of a model to check.
pub(crate) fn model_text() -> Json {
    let text = json!({ "type": "string", "maxLength": TEXT_LENGTH_MAX });
    closed(&[("text", text)])
}

/// The schema of what changing to another model would do.
pub(crate) fn compared_model() -> Json {
    let position = || json!({ "type": "integer", "minimum": 1 });
    let error = closed(&[
        ("code", text()),
        ("line", position()),
        ("column", position()),
        ("reason", text()),
        ("help", json!({ "type": ["string", "null"] })),
    ]);
    closed(&[
        ("errors", list_of(error)),
        ("changes", texts()),
        ("refusals", texts()),
        ("rewritten", texts()),
        ("unavailable", texts()),
    ])
}

/// The schema of the rows of an entity.
pub(crate) fn entity_row_list() -> Json {
    let attributes = json!({ "type": "object", "additionalProperties": text() });
    let row = closed(&[
        ("what", text()),
        ("why", text()),
        (
            "index",
            json!({ "type": ["string", "null"], "description": "Null for the table itself." }),
        ),
        ("partition", texts()),
        ("sort", texts()),
        ("is_stored", json!({ "type": "boolean" })),
        ("bytes", json!({ "type": ["integer", "null"], "minimum": 0 })),
        ("attributes", attributes),
    ]);
    closed(&[("items", list_of(row))])
}

/// An object with exactly these members.
fn closed(members: &[(&str, Json)]) -> Json {
    with_members(members, &[])
}

fn text() -> Json {
    json!({ "type": "string" })
}

fn texts() -> Json {
    list_of(text())
}

fn list_of(items: Json) -> Json {
    json!({ "type": "array", "items": items })
}
