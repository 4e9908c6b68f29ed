//! Importing lines of JSON, through the same checks as any other change.
//!
//! One thread reads and parses (`lines`); this one plans and sends (`pipeline`), many transactions at a
//! time, in the order of the lines; the store's own thread commits them in batches. Entries that refer to
//! later ones are imported at the end (`deferred`).

mod deferred;
mod lines;
mod pipeline;
mod producer;
mod summary;

use std::sync::mpsc;
use std::time::Duration;

use keyloom::{Db, Existing};
use keyloom_model::Layout;
use keyloom_value::Item;
use serde::{Deserialize, Serialize};

use super::compact::BeforeLoad;
use super::{Channel, Data, Operation};
use crate::directory::OpenMode;

use pipeline::Pipeline;

pub use pipeline::OnProblem;
pub use producer::{Producer, ReceiverClosed};
pub use summary::{Problem, Summary};

/// Maximum number of batches that wait to be sent.
const WAITING_MAX: usize = 16;

/// Imports the lines of its input.
#[derive(Debug, Serialize, Deserialize)]
pub struct Import {
    /// The text of the model.
    pub model: String,
    /// Whether to replace entities that exist and differ.
    pub replace: bool,
    /// What to do after a line that cannot be imported.
    pub on_problem: OnProblem,
    /// Size of the input in bytes, if known.
    pub bytes: Option<u64>,
}

impl Operation for Import {
    const NAME: &'static str = "import";
    type Answer = Summary;

    fn open_mode(&self) -> OpenMode {
        OpenMode::Create
    }

    async fn run(self, data: &Data, channel: &mut Channel<'_>) -> Result<Summary, String> {
        let db = data.db(&self.model).await?;
        let lines = channel.take_input().ok_or("there are no lines to import.")?;
        let produce = Box::new(move |to: &mut Producer| lines::read(lines, to));
        let existing = if self.replace { Existing::Replace } else { Existing::Keep };
        let produced = Produced { total: self.bytes, produce };
        let before = data.engine().ok().and_then(|engine| BeforeLoad::of(engine));
        let summary = import_entries(&db, produced, (existing, self.on_problem), channel).await?;
        if db.is_shared() && summary.created + summary.replaced > 0 {
            fold(&db).await?;
        }
        // One that has stopped is repeated, once its line is corrected.
        let is_whole = summary.not_imported == 0 || self.on_problem == OnProblem::GoOn;
        if let Some(before) = before.filter(|_| is_whole && summary.created > 0)
            && let Err(why) = before.compact(summary.created, channel)
        {
            // What was imported stays.
            channel
                .problem(format!("The data directory was not compacted after the import: {why}"))?;
        }
        Ok(summary)
    }
}

/// How long a delta of posting lists is left alone before it is folded, and a little more.
const FOLD_AFTER: Duration = Duration::from_millis(6_100);

/// Folds the deltas that the import has left, because no server may be running that does. Without it,
/// every filter would read all of them.
async fn fold(db: &Db) -> Result<(), String> {
    let said = |error: keyloom::Error| error.to_string();
    db.fold().await.map_err(said)?;
    loop {
        tokio::time::sleep(FOLD_AFTER).await;
        // None are left, or a server folds them.
        if db.fold().await.map_err(said)? == 0 {
            return Ok(());
        }
    }
}

/// Entries that are produced while others are imported.
pub struct Produced {
    /// The total, in the unit of [`Progress::done`](super::Progress::done), if known.
    pub total: Option<u64>,
    /// Produces them, on a thread of its own, until the receiver is closed.
    pub produce: Box<Produce>,
}

/// Produces entries.
pub type Produce = dyn FnOnce(&mut Producer) -> Result<(), ReceiverClosed> + Send;

/// Imports produced entries, and reports its progress. Must run on a single-threaded runtime, which
/// starts transactions in the order of the entries.
///
/// # Errors
///
/// If the database fails, or the receiver of reports is gone.
pub async fn import_entries(
    db: &Db,
    produced: Produced,
    (existing, on_problem): (Existing, OnProblem),
    channel: &mut Channel<'_>,
) -> Result<Summary, String> {
    let layout = Layout::new(db.model(), 1, &Item::new());
    let mut pipeline = Pipeline::new(db.clone(), existing, on_problem, produced.total, channel);
    let (sender, receiver) = mpsc::sync_channel(WAITING_MAX);
    let mut producer = Producer::new(&layout, sender);
    // Once the receiver is dropped, the producer ends with its next message.
    let producing = std::thread::Builder::new().name("make-entries".to_owned());
    let producing = producing.spawn(move || {
        let _ = (produced.produce)(&mut producer).and_then(|()| producer.finish());
    });
    let producing = producing.map_err(|error| format!("cannot start a thread: {error}."))?;
    while let Ok(work) = receiver.recv() {
        pipeline.push(work).await?;
        if pipeline.is_stopped() {
            break;
        }
    }
    drop(receiver);
    // Standard input may never end: do not wait for it after a stop.
    if !pipeline.is_stopped() {
        producing.join().map_err(|_| "producing the entries failed.".to_owned())?;
    }
    pipeline.finish(&layout).await
}
