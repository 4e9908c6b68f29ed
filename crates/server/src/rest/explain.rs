//! The cost of a read, as a member of its response, and the cost of changes.

use keyloom::explain::{
    Considered, Explained, Explanation, ListReads, Plan, RowWrite, StoreRead, Writes,
};
use serde_json::{Value as Json, json};

use super::call::{Call, Reply};
use super::problem::Problem;

/// The parameter that requests it.
pub(crate) const EXPLAIN: &str = "explain";

/// Removes the parameter from a call, and starts recording its reads if it was set.
pub(super) fn watch(call: &mut Call) -> Result<Option<Explained>, Problem> {
    let is_wanted = call.parsed(EXPLAIN, "`true` or `false`")?.unwrap_or(false);
    call.parameters.retain(|(name, _)| name != EXPLAIN);
    Ok(is_wanted.then(|| {
        let (db, explained) = call.db.explained();
        call.db = db;
        explained
    }))
}

/// Adds the member `explain` to a reply, unless it has no body.
pub(super) fn add_cost(mut reply: Reply, explained: &Explained) -> Reply {
    if reply.body.last() == Some(&b'}') {
        reply.body.pop();
        reply.body.extend_from_slice(format!(",\"explain\":{}}}", cost(explained)).as_bytes());
    }
    reply
}

pub(super) fn cost(explained: &Explained) -> Json {
    let reads = explained.reads();
    let sum = |of: fn(&StoreRead) -> u64| reads.iter().map(of).sum::<u64>();
    let request = |read: &StoreRead| {
        json!({
            "call": read.call, "index": read.index, "rows": read.rows, "bytes": read.bytes,
            "read_units": units(read.half_units),
        })
    };
    json!({
        "lists": explained.explanations().iter().map(list).collect::<Vec<_>>(),
        "rows": sum(|read| read.rows),
        "bytes": sum(|read| read.bytes),
        "requests": reads.iter().map(request).collect::<Vec<_>>(),
        "dynamodb": {
            "read_units": units(sum(|read| read.half_units)),
            "dollars": StoreRead::dollars(&reads),
        },
    })
}

/// The cost of changes.
pub(super) fn writes(writes: &Writes) -> Json {
    let row = |row: &RowWrite| {
        json!({
            "what": row.what, "action": row.action, "bytes": row.bytes,
            "index_rows": row.index_rows, "write_units": row.write_units(),
        })
    };
    json!({
        "rows": writes.rows.iter().map(row).collect::<Vec<_>>(),
        "sets": writes.sets,
        "dynamodb": { "write_units": writes.write_units(), "dollars": writes.dollars() },
    })
}

fn units(halves: u64) -> f64 {
    halves as f64 / 2.0
}

fn list(explanation: &Explanation) -> Json {
    let reads = |reads: ListReads| json!({ "best": reads.best, "worst": reads.worst });
    let one_by_one = explanation.one_by_one.map(|one_by_one| {
        json!({
            "tags": reads(one_by_one.tags), "planned": reads(one_by_one.planned),
            "entities": one_by_one.entities,
        })
    });
    let mut list = json!({
        "plan": plan(&explanation.plan),
        "bound": { "rows": explanation.bound.rows, "bytes": explanation.bound.bytes },
    });
    if let Some(one_by_one) = one_by_one {
        list["one_by_one"] = one_by_one;
    }
    if !explanation.considered.is_empty() {
        let way = |way: &Considered| json!({ "step": way.step, "rows": way.rows, "is_chosen": way.is_chosen });
        list["considered"] = explanation.considered.iter().map(way).collect();
    }
    list
}

fn plan(of: &Plan) -> Json {
    let mut json = json!({ "step": of.step });
    if let Some(members) = of.members {
        json["members"] = json!(members);
    }
    if !of.parts.is_empty() {
        json["parts"] = of.parts.iter().map(plan).collect();
    }
    json
}
