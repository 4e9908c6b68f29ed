//! Sends many transactions at a time, in the order of the lines. The store commits them in that order,
//! so a line can refer to any earlier line, and batches them into few syncs.

use std::collections::VecDeque;
use std::time::Instant;

use keyloom::{Db, Entry, Error, Existing, Imported, TenantProblem};
use keyloom_model::Layout;
use serde::{Deserialize, Serialize};
use tokio::task::JoinHandle;

use crate::operations::{Channel, Progress};

use super::deferred::{Component, Deferred};
use super::producer::{Batch, Batches, Numbered, Work};
use super::summary::{Problem, Summary};

/// Maximum number of concurrent transactions.
const IN_FLIGHT_MAX: usize = 64;

/// What to do after a line that cannot be imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnProblem {
    /// End the import.
    Stop,
    /// Report it and continue.
    GoOn,
}

/// Whether an entry with a missing target can still be deferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Lines,
    Deferred,
}

pub(super) struct Pipeline<'a, 't> {
    db: Db,
    existing: Existing,
    on_problem: OnProblem,
    in_flight: VecDeque<InFlight>,
    deferred: Deferred,
    stage: Stage,
    summary: Summary,
    channel: &'a mut Channel<'t>,
    started: Instant,
    bytes_total: Option<u64>,
}

/// Work in progress, in the order of the lines.
enum InFlight {
    Batch {
        sent: Sent,
        bytes_read: u64,
    },
    /// Entries that refer to each other.
    Cycle(Sent),
    Bad(Problem),
}

/// Entries that were sent, and their result.
struct Sent {
    entries: Vec<Numbered>,
    answer: JoinHandle<Result<Vec<Imported>, Error>>,
}

impl<'a, 't> Pipeline<'a, 't> {
    pub(super) fn new(
        db: Db,
        existing: Existing,
        on_problem: OnProblem,
        bytes_total: Option<u64>,
        channel: &'a mut Channel<'t>,
    ) -> Pipeline<'a, 't> {
        Pipeline {
            db,
            existing,
            on_problem,
            in_flight: VecDeque::new(),
            deferred: Deferred::default(),
            stage: Stage::Lines,
            summary: Summary::default(),
            channel,
            started: Instant::now(),
            bytes_total,
        }
    }

    /// Starts new work, and waits for the oldest if there is too much.
    pub(super) async fn push(&mut self, work: Work) -> Result<(), String> {
        let begun = match work {
            Work::Batch(entries, bytes_read) => {
                InFlight::Batch { sent: self.send(entries).await, bytes_read }
            }
            Work::Bad(problem) => InFlight::Bad(problem),
            Work::Unreadable(reason) => {
                self.drain().await?;
                return Err(reason);
            }
        };
        self.begin(begun).await
    }

    /// Whether a problem has ended the import.
    pub(super) fn is_stopped(&self) -> bool {
        self.on_problem == OnProblem::Stop && self.summary.not_imported > 0
    }

    /// Waits for all transactions, then imports the deferred entries.
    pub(super) async fn finish(mut self, layout: &Layout) -> Result<Summary, String> {
        self.drain().await?;
        self.stage = Stage::Deferred;
        let batches = Batches::new(layout);
        let mut batch = Batch::default();
        for component in std::mem::take(&mut self.deferred).components(layout) {
            if self.is_stopped() {
                break;
            }
            let (full, cycle) = match component {
                Component::Single(entry) => (batch.add(entry, &batches), None),
                Component::Cycle(entries) => (batch.take(), Some(entries)),
            };
            if let Some(full) = full {
                self.push(Work::Batch(full, self.bytes_total.unwrap_or_default())).await?;
            }
            if let Some(entries) = cycle {
                let sent = self.send(entries).await;
                self.begin(InFlight::Cycle(sent)).await?;
            }
        }
        if let Some(rest) = batch.take().filter(|_| !self.is_stopped()) {
            self.push(Work::Batch(rest, self.bytes_total.unwrap_or_default())).await?;
        }
        self.drain().await?;
        self.summary.milliseconds = self.started.elapsed().as_millis() as u64;
        Ok(self.summary)
    }

    async fn begin(&mut self, begun: InFlight) -> Result<(), String> {
        self.in_flight.push_back(begun);
        // Deferred entries are sent one after the other: each may refer to the one before it.
        let in_flight_max = match self.stage {
            Stage::Lines => IN_FLIGHT_MAX,
            Stage::Deferred => 1,
        };
        while self.in_flight.len() >= in_flight_max {
            self.end_oldest().await?;
        }
        Ok(())
    }

    async fn drain(&mut self) -> Result<(), String> {
        while !self.in_flight.is_empty() {
            self.end_oldest().await?;
        }
        Ok(())
    }

    /// Sends entries as one transaction, which has started when this returns: the runtime has one
    /// thread, and starts tasks in the order they are spawned.
    async fn send(&self, entries: Vec<Numbered>) -> Sent {
        let (db, existing) = (self.db.clone(), self.existing);
        let copies: Vec<Entry> = entries.iter().map(|numbered| numbered.entry.clone()).collect();
        let answer = tokio::spawn(async move { db.import(copies, existing).await });
        tokio::task::yield_now().await;
        Sent { entries, answer }
    }

    /// Waits for the oldest transaction; all earlier ones have ended.
    async fn end_oldest(&mut self) -> Result<(), String> {
        match self.in_flight.pop_front() {
            None => Ok(()),
            Some(InFlight::Bad(problem)) => self.report(problem),
            Some(InFlight::Batch { sent, bytes_read }) => {
                self.end_batch(sent).await?;
                let (count, total) = (self.summary.imported(), self.bytes_total);
                self.channel.progress(Progress { count, done: bytes_read, total })
            }
            Some(InFlight::Cycle(sent)) => self.end_cycle(sent).await,
        }
    }

    /// Splits a failed transaction: in halves if it is too large, otherwise into single lines, so that
    /// each has its own result.
    async fn end_batch(&mut self, Sent { mut entries, answer }: Sent) -> Result<(), String> {
        match (answered(answer).await?, entries.len()) {
            (Ok(imported), _) => self.summary.count(&imported),
            (Err(error), _) if is_fatal(&error) => return Err(error.to_string()),
            (Err(error), 0 | 1) => {
                if let Some(entry) = entries.pop() {
                    self.refused(entry, error)?;
                }
            }
            (Err(error), count) => {
                let is_large = matches!(error, Error::TooLarge { .. });
                let size = if is_large { count.div_ceil(2) } else { 1 };
                let mut all = vec![];
                while !entries.is_empty() {
                    let rest = entries.split_off(size.min(entries.len()));
                    let part = std::mem::replace(&mut entries, rest);
                    let sent = self.send(part).await;
                    match self.stage {
                        Stage::Lines => all.push(sent),
                        Stage::Deferred => Box::pin(self.end_batch(sent)).await?,
                    }
                }
                for single in all {
                    Box::pin(self.end_batch(single)).await?;
                }
            }
        }
        Ok(())
    }

    async fn end_cycle(&mut self, Sent { entries, answer }: Sent) -> Result<(), String> {
        let error = match answered(answer).await? {
            Ok(imported) => {
                self.summary.count(&imported);
                return Ok(());
            }
            Err(error) if is_fatal(&error) => return Err(error.to_string()),
            Err(error) => error,
        };
        for entry in &entries {
            let (line, others) = (entry.line, entries.len() - 1);
            let reason = format!(
                "The entry and {others} others refer to each other, so they are imported together \
                 or not at all: {error}"
            );
            self.report(Problem { line, reason })?;
        }
        Ok(())
    }

    fn refused(&mut self, entry: Numbered, error: Error) -> Result<(), String> {
        if matches!(error, Error::TargetGone { .. }) && self.stage == Stage::Lines {
            return self.deferred.add(entry);
        }
        let reason = reason(&error);
        self.report(Problem { line: entry.line, reason })
    }

    /// Reports a problem, unless an earlier one has ended the import.
    fn report(&mut self, problem: Problem) -> Result<(), String> {
        if self.is_stopped() {
            return Ok(());
        }
        self.channel.problem(format!("line {}: {}", problem.line, problem.reason))?;
        self.summary.add(problem);
        Ok(())
    }
}

async fn answered(
    answer: JoinHandle<Result<Vec<Imported>, Error>>,
) -> Result<Result<Vec<Imported>, Error>, String> {
    answer.await.map_err(|error| format!("a transaction ended without an answer: {error}."))
}

/// Why an entry was rejected; replaces messages of the library that do not fit lines.
fn reason(error: &Error) -> String {
    match error {
        Error::Exists { entity, id } => format!(
            "A `{entity}` with the id `{id}` exists and differs: change the id of the entry, or give \
             --replace."
        ),
        Error::Tenant { entity, problem } => match problem {
            TenantProblem::Missing => {
                format!("Every `{entity}` belongs to a tenant: set `tenant`.")
            }
            TenantProblem::Unfit => {
                format!("`tenant` is not a valid value of the tenant field of `{entity}`.")
            }
            TenantProblem::Other => {
                format!("The fields of the `{entity}` name another tenant than `tenant` does.")
            }
        },
        error => error.to_string(),
    }
}

/// Whether an error concerns the database rather than an entry.
fn is_fatal(error: &Error) -> bool {
    matches!(
        error,
        Error::Store(_)
            | Error::Damaged { .. }
            | Error::ModelChanged
            | Error::Contended
            | Error::Entropy { .. }
            | Error::Unanswered { .. }
    )
}
