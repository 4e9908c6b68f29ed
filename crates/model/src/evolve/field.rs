//! Fields: which were added or removed, and what the others accept.

use crate::model::{DefaultValue, Field, FieldAccess, FieldId, FieldOrigin, FieldType, Presence};

use super::change::{Change, ChangeKind};
use super::field_pair::FieldPair;
use super::findings::Findings;
use super::refusal::Refusal;
use super::side::Pair;
use super::types;

pub(super) fn compare(pair: &Pair<'_>, findings: &mut Findings) {
    let mut added = added(pair);
    for field in removed(pair) {
        if pair.new.entity.moves.removed.contains(&field.name) {
            let name = pair.qualified_name(&field.name);
            let text = format!("{name} is removed with its values");
            findings.changes.push(pair.change(ChangeKind::FieldRemoved, text));
            continue;
        }
        let described = pair.old.describe(&field.of);
        let twin = added.iter().position(|(_, new)| pair.new.describe(&new.of) == described);
        let twin = twin.map(|index| added.remove(index).1);
        findings.refusals.push(field_removed(pair, field, twin));
    }
    for (id, field) in added {
        match field_added(pair, id, field) {
            Ok(change) => findings.changes.push(change),
            Err(refusal) => findings.refusals.push(refusal),
        }
    }
    for (id, new) in pair.new.entity.fields() {
        let old = pair.new.entity.counterpart(id, pair.old.entity);
        let old = old.map(|id| pair.old.entity.field(id));
        let Some(old) = old.filter(|old| old.origin == new.origin) else { continue };
        let field = FieldPair { pair, id, old, new };
        field.compare_name(findings);
        types::compare(&field, findings);
        field.compare_presence(findings);
        field.compare_default(findings);
        field.compare_access(findings);
    }
}

/// What changed about a field, besides its type.
impl FieldPair<'_, '_> {
    fn compare_name(&self, findings: &mut Findings) {
        if self.old.name != self.new.name {
            let text = format!("{} was `{}`", self.qualified_name(), self.old.name);
            findings.changes.push(self.pair.change(ChangeKind::FieldRenamed(self.id), text));
        }
    }

    fn compare_presence(&self, findings: &mut Findings) {
        match (self.old.presence, self.new.presence) {
            (Presence::Required, Presence::Required) | (Presence::Optional, Presence::Optional) => {
            }
            (Presence::Required, Presence::Optional) => {
                let text = format!("{} is now optional", self.qualified_name());
                findings.changes.push(self.relaxed(text));
            }
            (Presence::Optional, Presence::Required) => {
                let text = format!(
                    "{} is now required; every stored entity must have it",
                    self.qualified_name()
                );
                findings.changes.push(self.tightened(text));
            }
        }
    }

    fn compare_default(&self, findings: &mut Findings) {
        if self.old.default != self.new.default {
            let what = match self.new.default {
                Some(_) => "has a different default",
                None => "no longer has a default",
            };
            let text = format!("{} {what}; existing values stay", self.qualified_name());
            findings.changes.push(self.relaxed(text));
        }
    }

    fn compare_access(&self, findings: &mut Findings) {
        if self.old.access != self.new.access {
            let what = match self.new.access {
                FieldAccess::ReadOnly => "is now read-only",
                FieldAccess::ReadWrite => "is no longer read-only",
            };
            let text = format!("{} {what}", self.qualified_name());
            findings.changes.push(self.pair.change(ChangeKind::ServiceChanged, text));
        }
    }
}

/// Declared fields of the old model that the new one lacks. A field that became or was the parent is
/// reported with the parent.
fn removed<'m>(pair: &Pair<'m>) -> Vec<&'m Field> {
    let fields = pair.new.entity.fields();
    let kept: Vec<FieldId> =
        fields.filter_map(|(id, _)| pair.new.entity.counterpart(id, pair.old.entity)).collect();
    let gone = pair.old.entity.fields().filter(|(id, _)| !kept.contains(id));
    gone.map(|(_, field)| field).filter(|field| field.origin == FieldOrigin::Declared).collect()
}

fn added<'m>(pair: &Pair<'m>) -> Vec<(FieldId, &'m Field)> {
    let declared =
        pair.new.entity.fields().filter(|(_, field)| field.origin == FieldOrigin::Declared);
    let is_new = |id: FieldId| pair.new.entity.counterpart(id, pair.old.entity).is_none();
    declared.filter(|(id, _)| is_new(*id)).collect()
}

fn field_removed(pair: &Pair<'_>, field: &Field, twin: Option<&Field>) -> Refusal {
    let name = &field.name;
    let reason =
        format!("{} is no longer declared: its values would be lost", pair.qualified_name(name));
    let section = format!("[entity.{}]", pair.name());
    let help = match twin {
        Some(twin) => format!(
            "if it is now `{0}`, add `renamed.{0} = \"{name}\"` to `{section}`; to delete its values, \
             add `removed = [\"{name}\"]`",
            twin.name
        ),
        None => format!(
            "declare `{name}` again, or add `removed = [\"{name}\"]` to `{section}` to delete its \
             values"
        ),
    };
    pair.refusal(reason, help)
}

fn field_added(pair: &Pair<'_>, id: FieldId, field: &Field) -> Result<Change, Refusal> {
    let name = pair.qualified_name(&field.name);
    let filled = |with: &str| {
        let text = format!("{name} is new; existing entities get {with}");
        Ok(pair.change(ChangeKind::FieldFilled(id), text))
    };
    match (&field.default, field.presence) {
        (Some(DefaultValue::Now), _) => filled("the time at which the model was changed"),
        (Some(DefaultValue::Literal(_)), _) => filled("its default"),
        (None, Presence::Optional) => {
            let text = format!("{name} is new; existing entities lack it");
            Ok(pair.change(ChangeKind::FieldAdded(id), text))
        }
        (None, Presence::Required) => {
            let reason = format!("{name} is new and required: stored entities lack it");
            let help = match field.of {
                FieldType::Any | FieldType::Bytes(_) | FieldType::Ref(..) => {
                    "make it optional with `?`"
                }
                FieldType::Text(_)
                | FieldType::Int(_)
                | FieldType::Number(_)
                | FieldType::Bool
                | FieldType::Time
                | FieldType::Tags
                | FieldType::Enum(_)
                | FieldType::List(..)
                | FieldType::Map(..) => "give it a default, or make it optional with `?`",
            };
            Err(pair.refusal(reason, help.to_owned()))
        }
    }
}
