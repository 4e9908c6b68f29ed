//! Patterns: whether every stored text matches the new one.

use super::change::ChangeKind;
use super::findings::Findings;
use super::side::Pair;

pub(super) fn compare(pair: &Pair<'_>, findings: &mut Findings) {
    for (id, field) in pair.new.entity.fields() {
        let Some(before) = pair.new.entity.counterpart(id, pair.old.entity) else { continue };
        let (old, new) = (pair.old.entity.pattern(before), pair.new.entity.pattern(id));
        if old == new {
            continue;
        }
        let name = pair.qualified_name(&field.name);
        let change = match new {
            Some(_) => {
                let text = format!("the pattern of {name} is new; stored texts must match it");
                pair.change(ChangeKind::FieldTightened(id), text)
            }
            None => {
                let text = format!("{name} no longer has a pattern; existing values stay");
                pair.change(ChangeKind::FieldRelaxed(id), text)
            }
        };
        findings.changes.push(change);
    }
}
