//! Bulk operations as JSON.

use keyloom::Value;
use keyloom::bulk::{BulkFailure, BulkOperation};
use keyloom_model::{Entity, FieldType};
use serde_json::{Value as Json, json};

/// An operation with its progress.
pub(super) fn to_json(operation: &BulkOperation) -> Json {
    let failure = |failure: &BulkFailure| json!({ "id": failure.id, "problem": failure.problem });
    let failures: Vec<Json> = operation.failures.iter().map(failure).collect();
    let mut shown = json!({
        "id": operation.id,
        "kind": operation.kind.to_string(),
        "entity": operation.entity,
        "state": operation.state.to_string(),
        "matched": operation.matched,
        "changed": operation.changed,
        "unchanged": operation.unchanged,
        "skipped": operation.skipped,
        "failed": operation.failed,
        "failures": failures,
        "started": time(operation.started_ms),
    });
    if let Some(ended_ms) = operation.ended_ms {
        shown["ended"] = time(ended_ms);
    }
    if let Some(problem) = &operation.problem {
        shown["problem"] = json!(problem);
    }
    shown
}

/// An operation that was just started.
pub(super) fn example(entity: &Entity) -> Json {
    json!({
        "id": "01k0g5t4d8c6w3b1n9r7q2z5mx",
        "kind": "update",
        "entity": entity.name,
        "state": "collecting",
        "matched": 0,
        "changed": 0,
        "unchanged": 0,
        "skipped": 0,
        "failed": 0,
        "failures": [],
        "started": "2026-01-31T12:00:00.000Z",
    })
}

fn time(ms: i64) -> Json {
    match FieldType::Time.to_external(&Value::from(ms)) {
        Value::S(text) => json!(text),
        _ => Json::Null,
    }
}
