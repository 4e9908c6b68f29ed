//! Formats: whether every stored text has the new one.

use crate::model::{FieldId, FieldType, Format, FormatChoice};

use super::change::ChangeKind;
use super::findings::Findings;
use super::side::{Pair, Side};

/// The formats of one field, with names instead of ids.
#[derive(Debug, PartialEq, Eq)]
enum Formats<'m> {
    None,
    Always(Format),
    By(&'m str, Vec<(&'m str, Format)>),
}

pub(super) fn compare(pair: &Pair<'_>, findings: &mut Findings) {
    for (id, field) in pair.new.entity.fields() {
        let Some(before) = pair.new.entity.counterpart(id, pair.old.entity) else { continue };
        let (old, new) = (formats(pair.old, before), formats(pair.new, id));
        if old == new {
            continue;
        }
        let name = pair.qualified_name(&field.name);
        let change = match is_stricter(pair, &old, &new) {
            true => {
                let text = format!("the format of {name} is stricter; stored texts must match it");
                pair.change(ChangeKind::FieldTightened(id), text)
            }
            false => {
                let text = format!("the format of {name} is different; existing values stay");
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
            Formats::By(side.stored(*by), formats)
        }
    }
}

/// Whether a text that is valid under the old rule may be invalid under the new one.
fn is_stricter(pair: &Pair<'_>, old: &Formats<'_>, new: &Formats<'_>) -> bool {
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

/// Whether a field may have had this member. A field that is new may get it as its default.
fn could_be(old: Side<'_>, field: &str, member: &str) -> bool {
    match old.entity.find_stored(field).map(|id| &old.entity.field(id).of) {
        Some(FieldType::Enum(members)) => members.iter().any(|known| known == member),
        _ => true,
    }
}
