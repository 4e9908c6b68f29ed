//! Copying a database between a data directory, DynamoDB and a file.
//!
//! The library copies between stores (`keyloom::copy`); this adds files, the tokens of the database, and
//! opening both ends.

mod end;
mod file_format;
mod file_source;
mod file_target;
mod place;

use std::sync::mpsc;

use keyloom::copy::{CopyProgress, OnProgress, StoreTarget, Summary};
use keyloom_dynamodb::RemoteOptions;
use serde::Serialize;

use super::call::block_on;
use end::{Source, Target};
use file_target::FileTarget;

pub use place::Place;

/// How many streams a copy has, unless its user decides.
pub const STREAMS: u32 = 16;

/// A copy of a database.
#[derive(Clone, Debug)]
pub struct CopyDatabase {
    /// Where to read.
    pub from: Place,
    /// Where to write.
    pub to: Place,
    /// How to reach DynamoDB.
    pub remote: RemoteOptions,
    /// How many parts are copied at the same time.
    pub streams: u32,
}

/// What a copy reports before it ends.
#[derive(Clone, Debug)]
pub enum CopyReport {
    /// Its progress.
    Progress(CopyProgress),
    /// Something that its user should know.
    Warning(String),
}

/// What was copied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CopySummary {
    /// All entities.
    pub entities: u64,
    /// The rows of each kind.
    pub kinds: Vec<(String, u64)>,
    /// Access tokens.
    pub tokens: u64,
}

impl CopyDatabase {
    /// Copies, or continues an unfinished copy. The target is checked before it can be used.
    ///
    /// # Errors
    ///
    /// If one end cannot be used, something fails, or source and target differ in the end. An error is a
    /// sentence that says what is wrong and how to fix it.
    pub fn run(&self, report: &mut dyn FnMut(CopyReport)) -> Result<CopySummary, String> {
        if self.from == self.to {
            return Err("source and target are the same: name two different ones.".to_owned());
        }
        let (sender, receiver) = mpsc::channel();
        // Reads of a directory occupy their thread; progress is reported from another one.
        std::thread::scope(|scope| {
            let copying = scope.spawn(move || {
                let send = |report| drop(sender.send(report));
                block_on(self.copy(&send))
            });
            receiver.iter().for_each(report);
            copying.join().unwrap_or_else(|_| Err("the copy failed unexpectedly.".to_owned()))
        })
    }

    async fn copy(
        &self,
        report: &(dyn Fn(CopyReport) + Send + Sync),
    ) -> Result<CopySummary, String> {
        let source = Source::open(&self.from, &self.remote).await?;
        for warning in source.warnings().await? {
            report(CopyReport::Warning(warning));
        }
        let on_progress = |progress| report(CopyReport::Progress(progress));
        let copied = match Target::open(&self.to, &self.remote).await? {
            Target::Store(target) => {
                let copied = self.fill_store(&source, &target, &on_progress).await;
                copied.and_then(|copied| target.close().map(|()| copied))
            }
            Target::File(path) => {
                let target = FileTarget::begin(&source, &path)?;
                target.write(&source, &on_progress).await
            }
        };
        let tokens = source.tokens().len() as u64;
        let closed = source.close();
        let summary = copied?;
        closed?;
        Ok(CopySummary {
            entities: summary.entities(),
            kinds: summary.kinds().map(|(kind, tally)| (kind.to_owned(), tally.rows)).collect(),
            tokens,
        })
    }

    async fn fill_store(
        &self,
        source: &Source,
        target: &end::OpenStore,
        on_progress: OnProgress<'_>,
    ) -> Result<Summary, String> {
        let said = |error: keyloom::Error| error.to_string();
        let (from, store) = (source.rows(), target.data.store.clone());
        let begun = StoreTarget::begin(from, store, target.options(), self.streams).await;
        let begun = begun.map_err(said)?;
        begun.fill(from, on_progress).await.map_err(said)?;
        let summary = begun.check(from, on_progress).await.map_err(said)?;
        target.put_tokens(source.tokens()).await?;
        begun.finish().await.map_err(said)?;
        Ok(summary)
    }
}
