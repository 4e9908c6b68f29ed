//! `renamed` and `removed`: what became of fields of earlier models. Models that never had these
//! fields may declare it too: then it says nothing.

use std::collections::BTreeSet;

use crate::declared::{DeclaredEntity, DeclaredRename};
use crate::error::{Code, Report, Reporter};
use crate::model::{FieldOrigin, Moves};
use crate::source::Word;

use super::scope::Scope;

pub(crate) fn moves(
    declared: &DeclaredEntity,
    scope: &Scope,
    reporter: &mut Reporter<'_>,
) -> Moves {
    let mut gone = Gone { scope, names: BTreeSet::new() };
    let mut moves = Moves::default();
    for DeclaredRename { field, earlier } in &declared.renamed {
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

/// The earlier names so far.
struct Gone<'s> {
    scope: &'s Scope,
    names: BTreeSet<String>,
}

impl Gone<'_> {
    /// Adds a name; returns false if no field can have had it, or one still has it.
    fn take(&mut self, name: &Word, reporter: &mut Reporter<'_>) -> bool {
        let text = &name.text;
        let mut fields = self.scope.fields.iter();
        let is_declared = fields.any(|scoped| scoped.field.name == *text);
        let refused = if is_declared {
            Some((format!("`{text}` is an earlier name and a field"), "remove one of them"))
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
