//! A whole module, part by part.

use keyloom_model::Model;

use crate::names::ModuleNames;
use crate::rust_type::Scope;
use crate::source::Source;
use crate::{board, collection, count, creation, database, entity, enumeration, list, patch};

/// The code of a module for a model, and the text that it was checked from.
pub(crate) fn module(model: &Model, text: &str) -> String {
    let (names, mut source) = (ModuleNames::of(model), Source::default());
    source.line("// Generated from a model by `keyloom-build`: change the model instead.");
    source.blank();
    source.line("use ::keyloom_typed as typed;");
    database::write(&mut source, (model, &names), text);
    for (id, _) in model.entities() {
        let scope = Scope { model, names: &names, id };
        entity::write(&mut source, scope);
        enumeration::write_all(&mut source, scope);
        if is_changed_by_callers(scope) {
            creation::write(&mut source, scope);
            patch::write(&mut source, scope);
        }
        collection::write(&mut source, scope);
        scope.declared().lists().for_each(|(list, _)| list::write(&mut source, scope, list));
        scope.declared().counts().for_each(|(count, _)| count::write(&mut source, scope, count));
        scope.declared().boards().for_each(|(board, _)| board::write(&mut source, scope, board));
    }
    source.into_text()
}

/// Whether callers create and change the entities. Jobs are scheduled instead, by the database.
pub(crate) fn is_changed_by_callers(scope: Scope<'_>) -> bool {
    scope.model.jobs() != Some(scope.id)
}
