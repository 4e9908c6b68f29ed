//! Types: whether every value of the old one is valid under the new one, may be, or is converted.

use std::fmt::Display;
use std::ops::RangeInclusive;

use crate::model::{EntityId, FieldType, Limits, OnDelete, Retype};

use super::change::ChangeKind;
use super::enumerate::enumerate;
use super::field_pair::FieldPair;
use super::findings::Findings;

pub(super) fn compare(field: &FieldPair<'_, '_>, findings: &mut Findings) {
    let (old, new) = (&field.old.of, &field.new.of);
    let (kind, rule) = match old.retype(new) {
        Retype::Same | Retype::Impossible => {
            return Comparison { field, findings }.types(old, new);
        }
        Retype::Reinterpreted if takes_all(old, new) => {
            (ChangeKind::FieldRelaxed(field.id), "every stored value is valid")
        }
        Retype::Reinterpreted => {
            (ChangeKind::FieldTightened(field.id), "every stored value must be valid")
        }
        Retype::Converted => {
            (ChangeKind::FieldConverted(field.id), "every stored value must convert without loss")
        }
    };
    let (old, new) = (field.pair.old.describe(old), field.pair.new.describe(new));
    let text =
        format!("the type of {} changes from `{old}` to `{new}`; {rule}", field.qualified_name());
    findings.changes.push(field.pair.change(kind, text));
}

/// Whether the members of an enum have moved, or became texts or were, which changes their sort order.
pub(super) fn is_reordered(old: &FieldType, new: &FieldType) -> bool {
    match (old, new) {
        (FieldType::Enum(_), FieldType::Text(_)) | (FieldType::Text(_), FieldType::Enum(_)) => true,
        (FieldType::Enum(old), FieldType::Enum(new)) => !new.starts_with(old),
        _ => false,
    }
}

/// Whether every value of a type is one of the other, which is stored in the same way.
fn takes_all(old: &FieldType, new: &FieldType) -> bool {
    match (old, new) {
        (FieldType::Int(_), FieldType::Number(limits)) => *limits == Limits::NONE,
        (FieldType::Enum(_), FieldType::Text(limits)) => *limits == Limits::NONE,
        _ => false,
    }
}

/// The comparison of a field's types.
struct Comparison<'c, 'p, 'm> {
    field: &'c FieldPair<'p, 'm>,
    findings: &'c mut Findings,
}

impl Comparison<'_, '_, '_> {
    fn types(&mut self, old: &FieldType, new: &FieldType) {
        let field = self.field;
        match (old, new) {
            (FieldType::Text(old), FieldType::Text(new))
            | (FieldType::Bytes(old), FieldType::Bytes(new)) => self.lengths(old, new),
            (FieldType::Int(old), FieldType::Int(new)) => {
                let all = i64::MIN..=i64::MAX;
                self.ranges(&normalized(old, &all), &normalized(new, &all));
            }
            (FieldType::Number(old), FieldType::Number(new)) => self.ranges(old, new),
            (FieldType::Enum(old), FieldType::Enum(new)) => self.members(old, new),
            (FieldType::Ref(old, old_rule), FieldType::Ref(new, new_rule)) => {
                self.targets(*old, *new);
                self.rules(*old_rule, *new_rule);
            }
            (FieldType::List(old, old_limits), FieldType::List(new, new_limits))
            | (FieldType::Map(old, old_limits), FieldType::Map(new, new_limits)) => {
                self.types(old, new);
                self.lengths(old_limits, new_limits);
            }
            // Ids are stored as texts, and a field reference may have no target.
            (FieldType::Text(_), FieldType::Ref(target, OnDelete::Keep)) => {
                let target = &field.pair.new.model.entity(*target).name;
                let text = format!(
                    "{} now holds ids of `{target}`; stored texts must be valid ids",
                    field.qualified_name()
                );
                self.findings.changes.push(field.tightened(text));
            }
            (FieldType::Bool, FieldType::Bool)
            | (FieldType::Time, FieldType::Time)
            | (FieldType::Any, FieldType::Any)
            | (FieldType::Tags, FieldType::Tags) => {}
            _ => {
                let (old, new) = (&field.old.of, &field.new.of);
                let (old, new) = (field.pair.old.describe(old), field.pair.new.describe(new));
                let reason = format!(
                    "the type of {} changed from `{old}` to `{new}`: stored values have the old \
                     type",
                    field.qualified_name()
                );
                let help = "keep the type, and add another field for the new values";
                self.findings.refusals.push(field.pair.refusal(reason, help.to_owned()));
            }
        }
    }

    fn lengths(&mut self, old: &Limits<u64>, new: &Limits<u64>) {
        let all = 0..=u64::MAX;
        self.ranges(&normalized(old, &all), &normalized(new, &all));
    }

    fn ranges<T: PartialOrd + Display>(&mut self, old: &Limits<T>, new: &Limits<T>) {
        let field = self.field;
        let is_cut = |old: &Option<T>, new: &Option<T>, cuts: fn(&T, &T) -> bool| match (old, new) {
            (_, None) => false,
            (None, Some(_)) => true,
            (Some(old), Some(new)) => cuts(old, new),
        };
        if is_cut(&old.low, &new.low, |old, new| old < new)
            || is_cut(&old.high, &new.high, |old, new| new < old)
        {
            let text = format!(
                "the range of {} changes from {} to {}; every stored value must be within",
                field.qualified_name(),
                range(old),
                range(new)
            );
            self.findings.changes.push(field.tightened(text));
        } else if old != new {
            let text = format!("the range of {} is wider: {}", field.qualified_name(), range(new));
            self.findings.changes.push(field.relaxed(text));
        }
    }

    fn members(&mut self, old: &[String], new: &[String]) {
        let field = self.field;
        let lost: Vec<&String> = old.iter().filter(|member| !new.contains(member)).collect();
        let added: Vec<&String> = new.iter().filter(|member| !old.contains(member)).collect();
        if !lost.is_empty() {
            let text = format!(
                "{} no longer allows {}; no stored entity may have it",
                field.qualified_name(),
                enumerate(&lost)
            );
            self.findings.changes.push(field.tightened(text));
        } else if !added.is_empty() {
            let text = format!("{} now also allows {}", field.qualified_name(), enumerate(&added));
            self.findings.changes.push(field.relaxed(text));
        } else if old != new {
            let text =
                format!("the members of {} are in a different order", field.qualified_name());
            self.findings.changes.push(field.relaxed(text));
        }
    }

    fn targets(&mut self, old: EntityId, new: EntityId) {
        let field = self.field;
        let (old, new) = (field.pair.old.model.entity(old), field.pair.new.model.entity(new));
        // That a target is gone is a reason of its own.
        let is_kept = field.pair.new.model.find_stored(&old.stored).is_some();
        if old.stored != new.stored && is_kept {
            let (old_target, new_target) = (&old.name, &new.name);
            let reason = format!(
                "{} referred to `{old_target}` and now refers to `{new_target}`: stored ids are \
                 ids of `{old_target}`",
                field.qualified_name()
            );
            let help = format!("keep `ref {old_target}`, and add a field for `{new_target}`");
            self.findings.refusals.push(field.pair.refusal(reason, help));
        }
    }

    fn rules(&mut self, old: OnDelete, new: OnDelete) {
        if old != new {
            let field = self.field;
            let rule = match new {
                OnDelete::Refuse => "refuse",
                OnDelete::Cascade => "cascade",
                OnDelete::Clear => "clear",
                OnDelete::Keep => "keep",
            };
            let text = format!("{}: the rule for deletion is now `{rule}`", field.qualified_name());
            self.findings.changes.push(field.relaxed(text));
        }
    }
}

/// Removes bounds that every value satisfies.
fn normalized<T: PartialEq + Copy>(limits: &Limits<T>, all: &RangeInclusive<T>) -> Limits<T> {
    Limits {
        low: limits.low.filter(|low| low != all.start()),
        high: limits.high.filter(|high| high != all.end()),
    }
}

fn range<T: Display>(limits: &Limits<T>) -> String {
    let bound = |bound: &Option<T>| bound.as_ref().map_or(String::new(), ToString::to_string);
    match (&limits.low, &limits.high) {
        (None, None) => "unlimited".to_owned(),
        (low, high) => format!("`{}..{}`", bound(low), bound(high)),
    }
}
