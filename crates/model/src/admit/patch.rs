//! The merge of RFC 7396.

use keyloom_value::{Item, Value};

/// A value after a patch that is a map: null removes a member, a map merges into it, everything
/// else replaces. What was no map before counts as an empty one.
///
/// Follows the nesting of the patch with the call stack.
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
