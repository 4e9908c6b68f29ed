//! Declared leaderboards: a type for each.

use keyloom_model::{BoardId, Ranking};

use crate::rust_type::Scope;
use crate::source::{Source, literal};

pub(crate) fn write(source: &mut Source, scope: Scope<'_>, id: BoardId) {
    let (board, name) = (scope.declared().board(id), scope.own_names().board(id));
    let ranked = match board.ranking {
        Ranking::Count(field) => scope.stored(field),
        Ranking::Field(_) => scope.own_names().id.clone(),
    };
    source.separate();
    source.doc(&format!("The leaderboard `{}`.", board.name));
    source.line("#[derive(Clone, Copy, Debug, PartialEq, Eq)]");
    source.line(&format!("pub enum {name} {{}}"));
    source.separate();
    source.block(&format!("impl typed::DeclaredBoard for {name}"), |source| {
        source.line(&format!("type Ranked = {ranked};"));
        source.blank();
        source.line(&format!("const NAME: &'static str = {};", literal(&board.name)));
    });
    if let Some(entity) = scope.model.ranked(scope.id, id) {
        source.separate();
        source.block(&format!("impl typed::RanksEntities for {name}"), |source| {
            source.line(&format!("type Entity = {};", scope.names.entity(entity).entity));
        });
    }
}
