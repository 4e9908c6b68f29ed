//! Uniques. They have no names: one with a different definition is another one.

use crate::model::{CaseMode, Unique};

use super::change::ChangeKind;
use super::enumerate::enumerate;
use super::findings::Findings;
use super::side::{Pair, Side};

pub(super) fn compare(pair: &Pair<'_>, findings: &mut Findings) {
    let new: Vec<Definition<'_>> =
        pair.new.entity.uniques.iter().map(|unique| Definition::of(pair.new, unique)).collect();
    let old: Vec<Definition<'_>> =
        pair.old.entity.uniques.iter().map(|unique| Definition::of(pair.old, unique)).collect();
    for ((id, _), definition) in pair.new.entity.uniques().zip(&new) {
        if !old.contains(definition) {
            let text = format!("`{}`: {} must now be unique", pair.name(), definition.in_words());
            findings.changes.push(pair.change(ChangeKind::UniqueAdded(id), text));
        }
    }
    for definition in old.iter().filter(|definition| !new.contains(definition)) {
        let text = format!("`{}`: {} need no longer be unique", pair.name(), definition.in_words());
        findings.changes.push(pair.change(ChangeKind::UniqueRemoved, text));
    }
}

/// The definition of a unique, with names instead of ids. The order of its fields matters: it is the
/// order of the values in the key of the guard.
#[derive(Debug, PartialEq, Eq)]
struct Definition<'m> {
    fields: Vec<&'m str>,
    within: Option<&'m str>,
    case: CaseMode,
}

impl<'m> Definition<'m> {
    fn of(side: Side<'m>, unique: &'m Unique) -> Definition<'m> {
        let within = unique.within.map(|field| side.name(field));
        Definition { fields: side.names(&unique.fields), within, case: unique.case }
    }

    fn in_words(&self) -> String {
        let within = self.within.map_or(String::new(), |field| format!(" within `{field}`"));
        let case = match self.case {
            CaseMode::Exact => "",
            CaseMode::Folded => " (ignoring case)",
        };
        format!("{}{within}{case}", enumerate(&self.fields))
    }
}
