//! Rules for enums: the values of new entities, and how a value may change.

use super::id::FieldId;

/// The values that an enum field can have in a new entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InitialRule {
    pub(crate) field: FieldId,
    pub(crate) members: Vec<String>,
}

/// How the value of an enum field may change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TransitionRule {
    pub(crate) field: FieldId,
    /// The members that each member can become. A member that is not listed is final.
    pub(crate) allowed: Vec<(String, Vec<String>)>,
}

impl TransitionRule {
    /// The members that a member can become.
    pub(crate) fn from(&self, member: &str) -> &[String] {
        let allowed = self.allowed.iter().find(|(from, _)| from == member);
        allowed.map(|(_, to)| to.as_slice()).unwrap_or_default()
    }

    /// Whether a value may become another one; it may always stay.
    pub(crate) fn allows(&self, from: &str, to: &str) -> bool {
        from == to || self.from(from).iter().any(|member| member == to)
    }
}
