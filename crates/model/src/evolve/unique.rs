//! Uniques. They have no names: one that says something else is another one.

use crate::model::{CaseMode, Unique};

use super::Findings;
use super::change::ChangeKind;
use super::side::{Pair, Side, enumerate};

pub(super) fn compare(pair: &Pair<'_>, findings: &mut Findings) {
    let new: Vec<Meaning<'_>> =
        pair.new.entity.uniques.iter().map(|unique| Meaning::of(pair.new, unique)).collect();
    let old: Vec<Meaning<'_>> =
        pair.old.entity.uniques.iter().map(|unique| Meaning::of(pair.old, unique)).collect();
    for ((id, _), meaning) in pair.new.entity.uniques().zip(&new) {
        if !old.contains(meaning) {
            let text = format!("`{}`: {} must be unique now", pair.name(), meaning.words());
            findings.changes.push(pair.change(ChangeKind::UniqueAdded(id), text));
        }
    }
    for meaning in old.iter().filter(|meaning| !new.contains(meaning)) {
        let text = format!("`{}`: {} need not be unique any more", pair.name(), meaning.words());
        findings.changes.push(pair.change(ChangeKind::UniqueRemoved, text));
    }
}

/// What a unique says. The order of its fields counts: the key that guards it is made in that
/// order, so another order is another key.
#[derive(Debug, PartialEq, Eq)]
struct Meaning<'m> {
    fields: Vec<&'m str>,
    within: Option<&'m str>,
    case: CaseMode,
}

impl<'m> Meaning<'m> {
    fn of(side: Side<'m>, unique: &'m Unique) -> Meaning<'m> {
        let within = unique.within.map(|field| side.name(field));
        Meaning { fields: side.names(&unique.fields), within, case: unique.case }
    }

    fn words(&self) -> String {
        let within = self.within.map_or(String::new(), |field| format!(" within `{field}`"));
        let case = match self.case {
            CaseMode::Exact => "",
            CaseMode::Folded => ", whatever its case,",
        };
        format!("{}{within}{case}", enumerate(&self.fields))
    }
}
