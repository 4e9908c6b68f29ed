//! `diff_model`: what a new model means for the data under the served one.

use keyloom_model::{Change, Evolution, Impact, Model, Refusal, evolve};
use rmcp::schemars::{self, JsonSchema};
use serde::Serialize;

use super::check_model::ModelArguments;
use crate::session::Session;
use crate::tool::ReadOnlyTool;
use crate::tool_error::ToolError;

pub(crate) struct DiffModel;

/// What a new model changes.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct DiffOutput {
    /// Whether existing data can be kept under the new model.
    pub(super) allowed: bool,
    /// Why not: changes that would lose data, or that stored data may violate.
    pub(super) refused: Vec<RefusalOutput>,
    /// Every change, if they are allowed.
    pub(super) changes: Vec<ChangeOutput>,
    /// Entities whose rows are rewritten in the background. Writes and other queries go on meanwhile.
    pub(super) rewritten: Vec<String>,
    /// Queries that answer 503 until that is done.
    pub(super) unavailable: Vec<String>,
    /// Entities whose stored data is checked first; the change is refused if some of it does not fit.
    pub(super) checked_first: Vec<String>,
}

/// A change of the model.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ChangeOutput {
    entity: String,
    /// What changes.
    change: String,
    /// Whether the rows of the entity must be rewritten for it.
    rewrites: bool,
}

/// A change that is refused.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RefusalOutput {
    entity: String,
    /// What was changed, and why that is refused.
    reason: String,
    /// What to do instead.
    help: String,
}

impl ReadOnlyTool for DiffModel {
    const NAME: &'static str = "diff_model";
    const TITLE: &'static str = "Compare a model with the served one";
    const ABOUT: &'static str = "Compare the text of a new model file with the served model: what changes, \
        which entities must be rewritten, which queries wait for that, and what is refused and why. \
        Nothing is changed.";
    type Arguments = ModelArguments;
    type Output = DiffOutput;

    async fn run(session: Session, arguments: ModelArguments) -> Result<DiffOutput, ToolError> {
        let new = arguments.checked()?;
        Ok(diff(&session.model().await?.model, &new))
    }
}

/// Compares two models.
pub(super) fn diff(old: &Model, new: &Model) -> DiffOutput {
    match evolve(old, new) {
        Ok(evolution) => allowed(&evolution, new),
        Err(refusals) => {
            let refusal = |refusal: &Refusal| RefusalOutput {
                entity: refusal.entity().to_owned(),
                reason: refusal.reason().to_owned(),
                help: refusal.help().to_owned(),
            };
            let refused = refusals.iter().map(refusal).collect();
            DiffOutput { refused, ..DiffOutput::default() }
        }
    }
}

fn allowed(evolution: &Evolution, new: &Model) -> DiffOutput {
    let name = |id| new.entity(id).name.clone();
    let change = |change: &Change| ChangeOutput {
        entity: name(change.entity),
        change: change.to_string(),
        rewrites: change.kind.impact() == Impact::Rows,
    };
    let lists = evolution.pending_lists().map(|(id, list)| {
        let entity = new.entity(id);
        format!("{}.list.{}", entity.name, entity.list(list).name)
    });
    let counts = evolution.pending_counts().map(|(id, count)| {
        let entity = new.entity(id);
        format!("{}.count.{}", entity.name, entity.count(count).name)
    });
    let boards = evolution
        .pending_boards()
        .map(|(id, board)| format!("board.{}", new.entity(id).board(board).name));
    let uniques =
        evolution.pending_uniques().map(|(id, _)| format!("{}.find", new.entity(id).name));
    DiffOutput {
        allowed: true,
        refused: vec![],
        changes: evolution.changes().iter().map(change).collect(),
        rewritten: evolution.rewritten().into_keys().map(name).collect(),
        unavailable: lists.chain(counts).chain(boards).chain(uniques).collect(),
        checked_first: evolution.tightened().into_iter().map(name).collect(),
    }
}
