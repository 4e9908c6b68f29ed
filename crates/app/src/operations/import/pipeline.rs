//! Many transactions at a time, sent in the order of the lines: the store decides them in that
//! order, so a line can refer to any line before it, and groups them into few syncs.

use std::collections::VecDeque;
use std::time::Instant;

use keyloom::{Db, Entry, Error, Existing, Imported, TenantProblem};
use keyloom_model::Layout;
use serde::{Deserialize, Serialize};
use tokio::task::JoinHandle;

use crate::operations::{Progress, Talk};

use super::deferred::{Component, Deferred};
use super::producer::{Batch, Batches, Numbered, Work};
use super::summary::{Problem, Summary};

/// Transactions that are under way together.
const IN_FLIGHT_MAX: usize = 64;

/// What a line does that cannot be imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnProblem {
    /// It ends the import.
    Stop,
    /// It is told.
    GoOn,
}

/// Whether what refers to something that is not there can wait for it.
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
    talk: &'a mut Talk<'t>,
    started: Instant,
    bytes_total: Option<u64>,
}

/// What was begun, in the order of the lines.
enum InFlight {
    Batch {
        sent: Sent,
        bytes_read: u64,
    },
    /// Entries that refer to each other.
    Circle(Sent),
    Bad(Problem),
}

/// Entries on their way, and what comes of them.
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
        talk: &'a mut Talk<'t>,
    ) -> Pipeline<'a, 't> {
        Pipeline {
            db,
            existing,
            on_problem,
            in_flight: VecDeque::new(),
            deferred: Deferred::default(),
            stage: Stage::Lines,
            summary: Summary::default(),
            talk,
            started: Instant::now(),
            bytes_total,
        }
    }

    /// Begins what was read, and ends what was begun long ago.
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

    /// Whether a problem has ended it.
    pub(super) fn is_stopped(&self) -> bool {
        self.on_problem == OnProblem::Stop && self.summary.not_imported > 0
    }

    /// Ends everything that was begun, and what had to wait for it.
    pub(super) async fn finish(mut self, layout: &Layout) -> Result<Summary, String> {
        self.drain().await?;
        self.stage = Stage::Deferred;
        let batches = Batches::new(layout);
        let mut batch = Batch::default();
        for component in std::mem::take(&mut self.deferred).components(layout) {
            if self.is_stopped() {
                break;
            }
            let (full, circle) = match component {
                Component::Single(entry) => (batch.add(entry, &batches), None),
                Component::Circle(entries) => (batch.take(), Some(entries)),
            };
            if let Some(full) = full {
                self.push(Work::Batch(full, self.bytes_total.unwrap_or_default())).await?;
            }
            if let Some(entries) = circle {
                let sent = self.send(entries).await;
                self.begin(InFlight::Circle(sent)).await?;
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
        // What waited for others goes one after the other: each may refer to the one before it.
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

    /// Sends entries as one transaction. It is on its way when this returns: the runtime has one
    /// thread, and takes up tasks in the order in which they come.
    async fn send(&self, entries: Vec<Numbered>) -> Sent {
        let (db, existing) = (self.db.clone(), self.existing);
        let copies: Vec<Entry> = entries.iter().map(|numbered| numbered.entry.clone()).collect();
        let answer = tokio::spawn(async move { db.import(copies, existing).await });
        tokio::task::yield_now().await;
        Sent { entries, answer }
    }

    /// Waits for the oldest transaction. Everything before it has ended.
    async fn end_oldest(&mut self) -> Result<(), String> {
        match self.in_flight.pop_front() {
            None => Ok(()),
            Some(InFlight::Bad(problem)) => self.tell(problem),
            Some(InFlight::Batch { sent, bytes_read }) => {
                self.end_batch(sent).await?;
                let (count, total) = (self.summary.imported(), self.bytes_total);
                self.talk.progress(Progress { count, done: bytes_read, total })
            }
            Some(InFlight::Circle(sent)) => self.end_circle(sent).await,
        }
    }

    /// A transaction that fails is taken apart: in halves if it is only too large, and otherwise
    /// line by line, so that each has its own answer.
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

    async fn end_circle(&mut self, Sent { entries, answer }: Sent) -> Result<(), String> {
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
            self.tell(Problem { line, reason })?;
        }
        Ok(())
    }

    fn refused(&mut self, entry: Numbered, error: Error) -> Result<(), String> {
        if matches!(error, Error::TargetGone { .. }) && self.stage == Stage::Lines {
            return self.deferred.add(entry);
        }
        let reason = reason(&error);
        self.tell(Problem { line: entry.line, reason })
    }

    /// Tells a problem, unless one before it has ended the import.
    fn tell(&mut self, problem: Problem) -> Result<(), String> {
        if self.is_stopped() {
            return Ok(());
        }
        self.talk.problem(format!("line {}: {}", problem.line, problem.reason))?;
        self.summary.add(problem);
        Ok(())
    }
}

async fn answered(
    answer: JoinHandle<Result<Vec<Imported>, Error>>,
) -> Result<Result<Vec<Imported>, Error>, String> {
    answer.await.map_err(|error| format!("a transaction ended without an answer: {error}."))
}

/// What is told of an entry that is refused, in the words of lines where the library has its own.
fn reason(error: &Error) -> String {
    match error {
        Error::Exists { entity, id } => format!(
            "There is a `{entity}` with the id `{id}` already, and it is not the same: give the \
             entry another id, or --replace."
        ),
        Error::Tenant { entity, problem } => match problem {
            TenantProblem::Missing => {
                format!("Every `{entity}` belongs to a tenant: put it into `tenant`.")
            }
            TenantProblem::Unfit => {
                format!("The `tenant` is not a value of the tenant field of `{entity}`.")
            }
            TenantProblem::Other => {
                format!("The `{entity}` names another tenant in its fields than in `tenant`.")
            }
        },
        error => error.to_string(),
    }
}

/// Whether an error is of the database and not of an entry.
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
