//! Formats: whether every text that is stored has the new one.

use crate::model::{FieldId, FieldType, Format, FormatChoice};

use super::Findings;
use super::change::ChangeKind;
use super::side::{Pair, Side};

/// The formats of one field, by names.
#[derive(Debug, PartialEq, Eq)]
enum Formats<'m> {
    None,
    Always(Format),
    By(&'m str, Vec<(&'m str, Format)>),
}

pub(super) fn compare(pair: &Pair<'_>, findings: &mut Findings) {
    for (id, field) in pair.new.entity.fields() {
        let Some(before) = pair.old.entity.find_field(&field.name) else { continue };
        let (old, new) = (formats(pair.old, before), formats(pair.new, id));
        if old == new {
            continue;
        }
        let place = pair.place(&field.name);
        let change = match asks_for_more(pair, &old, &new) {
            true => {
                let text = format!("the format of {place} is stricter; stored texts must have it");
                pair.change(ChangeKind::FieldTightened(id), text)
            }
            false => {
                let text = format!("the format of {place} is different; existing values stay");
                pair.change(ChangeKind::FieldRelaxed(id), text)
            }
        };
        findings.changes.push(change);
    }
}

fn formats(side: Side<'_>, field: FieldId) -> Formats<'_> {
    match side.entity.format_rule(field).map(|rule| &rule.choice) {
        None => Formats::None,
        Some(FormatChoice::Always(format)) => Formats::Always(*format),
        Some(FormatChoice::By(by, formats)) => {
            let mut formats: Vec<(&str, Format)> =
                formats.iter().map(|(member, format)| (member.as_str(), *format)).collect();
            formats.sort_unstable();
            Formats::By(side.name(*by), formats)
        }
    }
}

/// Whether a text that fits the old rule may not fit the new one.
fn asks_for_more(pair: &Pair<'_>, old: &Formats<'_>, new: &Formats<'_>) -> bool {
    match new {
        Formats::None => false,
        Formats::Always(format) => *old != Formats::Always(*format),
        Formats::By(by, formats) => formats.iter().any(|(member, format)| match old {
            Formats::Always(before) => before != format,
            Formats::By(before, known) if before == by => {
                let is_known = known.contains(&(member, *format));
                !is_known && could_be(pair.old, by, member)
            }
            Formats::None | Formats::By(..) => could_be(pair.old, by, member),
        }),
    }
}

/// Whether a field can have had this member. One that was not there may have got it by default.
fn could_be(old: Side<'_>, field: &str, member: &str) -> bool {
    match old.entity.find_field(field).map(|id| &old.entity.field(id).of) {
        Some(FieldType::Enum(members)) => members.iter().any(|known| known == member),
        _ => true,
    }
}
