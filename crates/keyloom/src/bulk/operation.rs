//! A bulk operation and its progress: plain data.

use std::fmt;

/// A bulk operation and its progress. Of the entities that it found, `changed + unchanged + skipped +
/// failed` are done.
///
/// [`Db::bulk_operation`](crate::Db::bulk_operation) has an example.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BulkOperation {
    /// Identifies it. Later ones have greater ids.
    pub id: String,
    /// What it does.
    pub kind: BulkKind,
    /// The kind of entity that it changes.
    pub entity: String,
    /// How far it has come.
    pub state: BulkState,
    /// How many entities it has found; while it is collecting, so far.
    pub matched: u64,
    /// How many were changed or deleted.
    pub changed: u64,
    /// How many had the values of the patch already.
    pub unchanged: u64,
    /// How many did not match any more when they were reached, or did not exist.
    pub skipped: u64,
    /// How many could not be changed: see `failures`.
    pub failed: u64,
    /// The first of those.
    pub failures: Vec<BulkFailure>,
    /// Why the operation as a whole has failed.
    pub problem: Option<String>,
    /// When it was started, in milliseconds since 1970.
    pub started_ms: i64,
    /// When it ended, in milliseconds since 1970. It is kept for a week.
    pub ended_ms: Option<i64>,
}

/// An entity that could not be changed.
///
/// ```
/// # use std::sync::Arc;
/// # use keyloom::{Db, events::Next};
/// # use keyloom_store::{MemoryStore, SystemClock};
/// # use serde_json::json;
/// # pollster::block_on(async {
/// # let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
/// let model = r#"
///     [entity.person]
///     list.all = {}
///     [entity.task]
///     fields.owner = "ref person"
/// "#;
/// let db = Db::open(model, store).await?;
/// let ann = db.create("person", &json!({})).await?;
/// db.create("task", &json!({ "owner": ann.id() })).await?;
/// let started = db.list("person", "all").delete_all().start().await?;
/// while db.advance_bulk().await? == Next::Now {}
/// let ended = db.bulk_operation(&started.operation.id).await?.expect("it is kept for a week");
/// // The task refers to her.
/// assert_eq!(ended.failures[0].id, ann.id());
/// # Ok::<(), keyloom::Error>(())
/// # }).expect("the example runs");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BulkFailure {
    /// Its id.
    pub id: String,
    /// Why not.
    pub problem: String,
}

/// What a bulk operation does.
///
/// [`Db::bulk_operation`](crate::Db::bulk_operation) has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BulkKind {
    /// It applies a patch to each entity.
    Update,
    /// It deletes each entity.
    Delete,
}

/// How far a bulk operation has come.
///
/// [`Db::bulk_operation`](crate::Db::bulk_operation) has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BulkState {
    /// It is finding entities; none is changed yet.
    Collecting,
    /// It is changing them.
    Running,
    /// All are done.
    Done,
    /// It was canceled; what it had changed stays changed.
    Canceled,
    /// It cannot go on, for example because the model has no such list any more. What it had changed
    /// stays changed.
    Failed,
}

impl BulkOperation {
    /// How many of the first failures are kept.
    pub const FAILURES_MAX: usize = 20;

    /// The number of entities that are done.
    pub fn done(&self) -> u64 {
        self.changed + self.unchanged + self.skipped + self.failed
    }

    /// Counts an entity that could not be changed.
    pub(super) fn fail(&mut self, id: &str, problem: &str) {
        self.failed += 1;
        if self.failures.len() < BulkOperation::FAILURES_MAX {
            self.failures.push(BulkFailure { id: id.to_owned(), problem: cut(problem) });
        }
    }

    /// Ends it.
    pub(super) fn end(&mut self, state: BulkState, now_ms: i64) {
        (self.state, self.ended_ms) = (state, Some(now_ms));
    }
}

impl BulkState {
    const ALL: [BulkState; 5] = [
        BulkState::Collecting,
        BulkState::Running,
        BulkState::Done,
        BulkState::Canceled,
        BulkState::Failed,
    ];

    /// Whether nothing more happens to it.
    pub fn is_ended(self) -> bool {
        match self {
            BulkState::Collecting | BulkState::Running => false,
            BulkState::Done | BulkState::Canceled | BulkState::Failed => true,
        }
    }

    pub(super) fn read(word: &str) -> Option<BulkState> {
        BulkState::ALL.into_iter().find(|state| state.word() == word)
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            BulkState::Collecting => "collecting",
            BulkState::Running => "running",
            BulkState::Done => "done",
            BulkState::Canceled => "canceled",
            BulkState::Failed => "failed",
        }
    }
}

impl fmt::Display for BulkState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl fmt::Display for BulkKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BulkKind::Update => "update",
            BulkKind::Delete => "delete",
        })
    }
}

/// Twenty of them must fit into a row beside the patch.
pub(super) fn cut(text: &str) -> String {
    const CHARS_MAX: usize = 500;
    match text.char_indices().nth(CHARS_MAX) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
