//! Types: whether every value of the old one is one of the new one.

use std::fmt::Display;

use crate::model::{FieldType, Limits, OnDelete};

use super::Findings;
use super::change::ChangeKind;
use super::field::Kept;
use super::side::enumerate;

pub(super) fn compare(kept: &Kept<'_, '_>, findings: &mut Findings) {
    compare_types(kept, (&kept.old.of, &kept.new.of), findings);
}

/// Whether the members of an enum have moved, so that what is sorted by them is sorted otherwise.
pub(super) fn has_moved(old: &FieldType, new: &FieldType) -> bool {
    match (old, new) {
        (FieldType::Enum(old), FieldType::Enum(new)) => !new.starts_with(old),
        _ => false,
    }
}

fn compare_types(
    kept: &Kept<'_, '_>,
    (old, new): (&FieldType, &FieldType),
    findings: &mut Findings,
) {
    match (old, new) {
        (FieldType::Text(old), FieldType::Text(new))
        | (FieldType::Bytes(old), FieldType::Bytes(new)) => lengths(kept, (old, new), findings),
        (FieldType::Int(old), FieldType::Int(new)) => {
            let ends = (i64::MIN, i64::MAX);
            ranges(kept, (&plain(old, ends), &plain(new, ends)), findings);
        }
        (FieldType::Number(old), FieldType::Number(new)) => ranges(kept, (old, new), findings),
        (FieldType::Enum(old), FieldType::Enum(new)) => members(kept, (old, new), findings),
        (FieldType::Ref(..), FieldType::Ref(..)) => references(kept, (old, new), findings),
        (FieldType::List(old, old_limits), FieldType::List(new, new_limits))
        | (FieldType::Map(old, old_limits), FieldType::Map(new, new_limits)) => {
            compare_types(kept, (old, new), findings);
            lengths(kept, (old_limits, new_limits), findings);
        }
        // Ids are stored as texts, and what is stored may refer to nothing.
        (FieldType::Text(_), FieldType::Ref(target, OnDelete::Keep)) => {
            let target = &kept.pair.new.model.entity(*target).name;
            let text =
                format!("{} holds ids of `{target}` now; stored texts must be ids", kept.place());
            let kind = ChangeKind::FieldTightened(kept.id);
            findings.changes.push(kept.pair.change(kind, text));
        }
        (FieldType::Bool, FieldType::Bool)
        | (FieldType::Time, FieldType::Time)
        | (FieldType::Any, FieldType::Any)
        | (FieldType::Tags, FieldType::Tags) => {}
        _ => {
            let (old, new) = (&kept.old.of, &kept.new.of);
            let (old, new) = (kept.pair.old.describe(old), kept.pair.new.describe(new));
            let reason = format!(
                "the type of {} was `{old}` and is `{new}` now: values that are stored are of the \
                 old one",
                kept.place()
            );
            let help = "keep the type, and add a field of another name for the new values";
            findings.refusals.push(kept.pair.refusal(reason, help.to_owned()));
        }
    }
}

fn lengths(kept: &Kept<'_, '_>, (old, new): (&Limits<u64>, &Limits<u64>), findings: &mut Findings) {
    let ends = (0, u64::MAX);
    ranges(kept, (&plain(old, ends), &plain(new, ends)), findings);
}

/// Limits without bounds that every value keeps anyway.
fn plain<T: PartialEq + Copy>(limits: &Limits<T>, (least, greatest): (T, T)) -> Limits<T> {
    Limits {
        low: limits.low.filter(|low| *low != least),
        high: limits.high.filter(|high| *high != greatest),
    }
}

fn ranges<T: PartialOrd + Display>(
    kept: &Kept<'_, '_>,
    (old, new): (&Limits<T>, &Limits<T>),
    findings: &mut Findings,
) {
    let is_cut = |old: &Option<T>, new: &Option<T>, cuts: fn(&T, &T) -> bool| match (old, new) {
        (_, None) => false,
        (None, Some(_)) => true,
        (Some(old), Some(new)) => cuts(old, new),
    };
    if is_cut(&old.low, &new.low, |old, new| old < new)
        || is_cut(&old.high, &new.high, |old, new| new < old)
    {
        let reason = format!(
            "the range of {} was {} and is {} now: values that are stored may be outside",
            kept.place(),
            range(old),
            range(new)
        );
        let help = match (&old.low, &old.high) {
            (None, None) => "leave the range out".to_owned(),
            (Some(_), _) | (_, Some(_)) => format!("keep {}, or make it wider", range(old)),
        };
        findings.refusals.push(kept.pair.refusal(reason, help));
    } else if old != new {
        let text = format!("the range of {} is wider: {}", kept.place(), range(new));
        findings.changes.push(kept.relaxed(text));
    }
}

fn range<T: Display>(limits: &Limits<T>) -> String {
    let bound = |bound: &Option<T>| bound.as_ref().map_or(String::new(), ToString::to_string);
    match (&limits.low, &limits.high) {
        (None, None) => "open".to_owned(),
        (low, high) => format!("`{}..{}`", bound(low), bound(high)),
    }
}

fn members(kept: &Kept<'_, '_>, (old, new): (&[String], &[String]), findings: &mut Findings) {
    let lost: Vec<&String> = old.iter().filter(|member| !new.contains(member)).collect();
    let added: Vec<&String> = new.iter().filter(|member| !old.contains(member)).collect();
    if !lost.is_empty() {
        let reason = format!(
            "{} cannot be {} any more, and that may be stored",
            kept.place(),
            enumerate(&lost)
        );
        let help = match (lost.as_slice(), added.as_slice()) {
            ([lost], [added]) => format!(
                "renaming is not supported: what is stored is `{lost}`, not `{added}`; keep both"
            ),
            _ => format!("put {} back; members can be added, in any place", enumerate(&lost)),
        };
        findings.refusals.push(kept.pair.refusal(reason, help));
    } else if !added.is_empty() {
        let text = format!("{} can also be {}", kept.place(), enumerate(&added));
        findings.changes.push(kept.relaxed(text));
    } else if old != new {
        let text = format!("the members of {} have another order", kept.place());
        findings.changes.push(kept.relaxed(text));
    }
}

fn references(kept: &Kept<'_, '_>, (old, new): (&FieldType, &FieldType), findings: &mut Findings) {
    let (FieldType::Ref(old_target, old_rule), FieldType::Ref(new_target, new_rule)) = (old, new)
    else {
        return;
    };
    let old_target = &kept.pair.old.model.entity(*old_target).name;
    let new_target = &kept.pair.new.model.entity(*new_target).name;
    if old_target != new_target {
        let reason = format!(
            "{} referred to `{old_target}` and refers to `{new_target}` now: the ids that are \
             stored are of `{old_target}`",
            kept.place()
        );
        let help = format!("keep `ref {old_target}`, and add a field for `{new_target}`");
        findings.refusals.push(kept.pair.refusal(reason, help));
    } else if old_rule != new_rule {
        let rule = match new_rule {
            OnDelete::Refuse => "refuse",
            OnDelete::Cascade => "cascade",
            OnDelete::Clear => "clear",
            OnDelete::Keep => "keep",
        };
        let text = format!("{}: the rule for deletion is `{rule}` now", kept.place());
        findings.changes.push(kept.relaxed(text));
    }
}
