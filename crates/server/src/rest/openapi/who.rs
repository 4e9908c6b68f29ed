//! Who may run an operation, in a sentence.

use std::collections::BTreeSet;

use keyloom_model::{Entity, Grantees, Model};

use super::super::operation::{Access, Operation};

/// Who may run an operation; none if anybody may.
pub(super) fn who(model: &Model, operation: &Operation) -> Option<String> {
    let role = operation.access().role()?.name();
    let mut users = vec![];
    if let (Access::Data(_), Some(id)) = (operation.access(), operation.action.entity()) {
        let entity = model.entity(id);
        users = admitted(entity, &operation.action.grantees(entity));
    }
    Some(match users.split_last() {
        None => format!("Requires the role `{role}`."),
        Some((last, [])) => format!("Requires the role `{role}`. Users: {last}."),
        Some((last, others)) => {
            format!("Requires the role `{role}`. Users: {} or {last}.", others.join(", "))
        }
    })
}

/// The users that some of these rules admit.
fn admitted(entity: &Entity, rules: &[&Grantees]) -> Vec<String> {
    if rules.iter().any(|rule| rule.everyone) {
        return vec!["everyone".to_owned()];
    }
    let mut users = vec![];
    if let Some(owner) = entity.access.owner.filter(|_| rules.iter().any(|rule| rule.owner)) {
        users.push(format!("the owner (`{}`)", entity.field(owner).name));
    }
    if let Some(parent) = entity.parent.filter(|_| rules.iter().any(|rule| rule.parent)) {
        let parent = &entity.field(parent).name;
        users.push(format!("those with access to the `{parent}`"));
    }
    let roles: BTreeSet<&String> = rules.iter().flat_map(|rule| &rule.roles).collect();
    users.extend(roles.into_iter().map(|role| format!("the role `{role}`")));
    users
}
