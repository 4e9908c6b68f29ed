//! JSON Merge Patch (RFC 7396).

use keyloom_value::{Item, Value};

/// Merges a patch into a value: null removes a member, a map merges into it, everything else
/// replaces. A value that was not a map counts as an empty one.
///
/// Recursive in the nesting of the patch, which callers bound.
pub(super) fn merged(before: Option<&Value>, patch: &Item) -> Value {
    let mut members = match before {
        Some(Value::M(members)) => members.clone(),
        _ => Item::new(),
    };
    for (name, change) in patch {
        match change {
            Value::Null => {
                members.remove(name.as_str());
            }
            Value::M(patch) => {
                let merged = merged(members.get(name.as_str()), patch);
                members.insert(name, merged);
            }
            Value::S(_)
            | Value::N(_)
            | Value::B(_)
            | Value::Bool(_)
            | Value::L(_)
            | Value::Ss(_)
            | Value::Ns(_)
            | Value::Bs(_) => {
                members.insert(name, change.clone());
            }
        }
    }
    Value::M(members)
}
