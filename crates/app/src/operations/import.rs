//! Taking lines of JSON in, through the same checks as any other change.
//!
//! One thread reads and parses (`lines`); this one plans and sends (`pipeline`), many transactions
//! at a time, in the order of the lines; the store's own thread commits them in groups. What refers
//! to something that comes later waits for the end (`deferred`).

mod deferred;
mod lines;
mod pipeline;
mod producer;
mod summary;

use std::sync::mpsc;

use keyloom::{Db, Existing};
use keyloom_model::Layout;
use keyloom_value::Item;
use serde::{Deserialize, Serialize};

use super::{Data, Operation, Talk};
use crate::directory::Use;

use pipeline::Pipeline;

pub use pipeline::OnProblem;
pub use producer::{NobodyListens, Producer};
pub use summary::{Problem, Summary};

/// Batches that wait to be sent.
const WAITING_MAX: usize = 16;

/// Imports the lines of its input.
#[derive(Debug, Serialize, Deserialize)]
pub struct Import {
    /// The text of the model.
    pub model: String,
    /// Whether entities that exist and differ are replaced.
    pub replace: bool,
    /// What happens after a line that cannot be imported.
    pub on_problem: OnProblem,
    /// How many bytes there are to read, if that is known.
    pub bytes: Option<u64>,
}

impl Operation for Import {
    const NAME: &'static str = "import";
    type Answer = Summary;

    fn used(&self) -> Use {
        Use::Create
    }

    async fn run(self, data: &Data, talk: &mut Talk<'_>) -> Result<Summary, String> {
        let db = data.db(&self.model).await?;
        let lines = talk.take_input().ok_or("there are no lines to import.")?;
        let produce = Box::new(move |to: &mut Producer| lines::read(lines, to));
        let existing = if self.replace { Existing::Replace } else { Existing::Keep };
        let produced = Produced { total: self.bytes, produce };
        take_in(&db, produced, (existing, self.on_problem), talk).await
    }
}

/// Entries that are made while others are taken in.
pub struct Produced {
    /// How many parts of the whole there are, if that is known.
    pub total: Option<u64>,
    /// Makes them, in a thread of its own, until nobody listens.
    pub produce: Box<Produce>,
}

/// What makes entries.
pub type Produce = dyn FnOnce(&mut Producer) -> Result<(), NobodyListens> + Send;

/// Takes entries in, whoever makes them, and tells how far it has come. Must run on a runtime with
/// one thread, which takes up transactions in the order of the entries.
///
/// # Errors
///
/// If the database fails, or nobody listens any more.
pub async fn take_in(
    db: &Db,
    produced: Produced,
    (existing, on_problem): (Existing, OnProblem),
    talk: &mut Talk<'_>,
) -> Result<Summary, String> {
    let layout = Layout::new(db.model(), 1, &Item::new());
    let mut pipeline = Pipeline::new(db.clone(), existing, on_problem, produced.total, talk);
    let (sender, receiver) = mpsc::sync_channel(WAITING_MAX);
    let mut producer = Producer::new(&layout, sender);
    // When nobody listens any more, it ends with the next thing that it has to say.
    let producing = std::thread::Builder::new().name("make-entries".to_owned());
    let producing = producing.spawn(move || {
        let _ = (produced.produce)(&mut producer).and_then(|()| producer.finish());
    });
    let producing = producing.map_err(|error| format!("no thread could be started: {error}."))?;
    while let Ok(work) = receiver.recv() {
        pipeline.push(work).await?;
        if pipeline.is_stopped() {
            break;
        }
    }
    drop(receiver);
    // Whoever writes the lines to standard input may never end: do not wait for that.
    if !pipeline.is_stopped() {
        producing.join().map_err(|_| "making the entries failed.".to_owned())?;
    }
    pipeline.finish(&layout).await
}
