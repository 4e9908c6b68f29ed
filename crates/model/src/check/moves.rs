//! `renamed` and `removed`: what became of entities and fields of earlier models. Models that never had
//! these may declare it too: then it says nothing.

use std::collections::BTreeSet;

use crate::declared::DeclaredEntity;
use crate::error::{Code, Report, Reporter};
use crate::model::{EntityId, FieldOrigin, Moves};
use crate::source::Word;

use super::name::Entities;
use super::scope::Scope;

/// What became of the fields of an entity.
pub(crate) fn moves(
    declared: &DeclaredEntity,
    scope: &Scope,
    reporter: &mut Reporter<'_>,
) -> Moves {
    let is_declared = |name: &str| scope.fields.iter().any(|scoped| scoped.field.name == name);
    let mut gone = Gone { what: "a field", is_declared: &is_declared, names: BTreeSet::new() };
    let mut moves = Moves::default();
    for (field, earlier) in &declared.renamed {
        let Some(id) = scope.find(field, reporter) else { continue };
        if scope.field(id).origin != FieldOrigin::Declared {
            let reason =
                format!("`{}` cannot be renamed: it is not declared in `fields`", field.text);
            let help = "remove the line";
            reporter.push(Report::new(Code::BadMove, field.span, reason).help(help));
        }
        if gone.take(earlier, reporter) {
            moves.renamed.push((id, earlier.text.clone()));
        }
    }
    for name in declared.removed.iter().filter(|name| gone.take(name, reporter)) {
        moves.removed.insert(name.text.clone());
    }
    moves
}

/// The earlier names of entities.
pub(crate) fn of_entities(
    declared: &[(Word, Word)],
    entities: &Entities<'_>,
    jobs: Option<EntityId>,
    reporter: &mut Reporter<'_>,
) -> Vec<(EntityId, String)> {
    let is_declared = |name: &str| entities.has(name);
    let mut gone = Gone { what: "an entity", is_declared: &is_declared, names: BTreeSet::new() };
    let mut renamed = vec![];
    for (entity, earlier) in declared {
        let Some(id) = entities.find(entity, reporter) else { continue };
        if jobs == Some(id) {
            let reason = format!("`{}` cannot be renamed: it is built in", entity.text);
            reporter.push(Report::new(Code::BadMove, entity.span, reason).help("remove the line"));
        }
        if gone.take(earlier, reporter) {
            renamed.push((id, earlier.text.clone()));
        }
    }
    renamed
}

/// The earlier names so far.
struct Gone<'s> {
    /// What they are names of.
    what: &'static str,
    is_declared: &'s dyn Fn(&str) -> bool,
    names: BTreeSet<String>,
}

impl Gone<'_> {
    /// Adds a name; returns false if nothing can have had it, or something still has it.
    fn take(&mut self, name: &Word, reporter: &mut Reporter<'_>) -> bool {
        let (text, what) = (&name.text, self.what);
        let refused = if (self.is_declared)(text) {
            Some((format!("`{text}` is an earlier name and {what}"), "remove one of them"))
        } else if !self.names.insert(text.clone()) {
            Some((format!("`{text}` is an earlier name twice"), "name it once"))
        } else {
            None
        };
        if let Some((reason, help)) = &refused {
            reporter.push(Report::new(Code::BadMove, name.span, reason.clone()).help(*help));
        }
        refused.is_none()
    }
}
