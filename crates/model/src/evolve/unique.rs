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

/// The definition of a unique, which both models may have. The order of its fields matters: it is the
/// order of the values in the key of the guard.
#[derive(Debug)]
struct Definition<'m> {
    side: Side<'m>,
    unique: &'m Unique,
}

impl PartialEq for Definition<'_> {
    fn eq(&self, other: &Self) -> bool {
        let parts = |definition: &Self| {
            let Definition { side, unique } = definition;
            let within = unique.within.map(|field| side.stored(field).to_owned());
            let fields = side.stored_names(&unique.fields).join(" ");
            (fields, within, unique.case)
        };
        parts(self) == parts(other)
    }
}

impl<'m> Definition<'m> {
    fn of(side: Side<'m>, unique: &'m Unique) -> Definition<'m> {
        Definition { side, unique }
    }

    fn in_words(&self) -> String {
        let Definition { side, unique } = self;
        let within = unique.within.map(|field| format!(" within `{}`", side.name(field)));
        let case = match unique.case {
            CaseMode::Exact => "",
            CaseMode::Folded => " (ignoring case)",
        };
        let fields: Vec<&str> = unique.fields.iter().map(|field| side.name(*field)).collect();
        format!("{}{}{case}", enumerate(&fields), within.unwrap_or_default())
    }
}
