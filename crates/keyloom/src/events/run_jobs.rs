//! Jobs that are due are run: taken under a lease, and ended in one transaction with their effects.
//!
//! Every step is one write that expects the version it has read. So each job is run by one worker
//! at a time; a worker whose lease has ended and whose job was taken over cannot end it any more.

use keyloom_store::Error as StoreError;
use keyloom_value::{Item, Number, Value};

use super::Work;
use super::consumer::Consumer;
use super::handlers::{Effects, Failure, Handlers, Retry, guarded};
use super::job::{BY_STATUS, JOB, QUEUED_MS, Status, ended};
use super::lane::Lanes;
use super::run_events::{EVENT_KIND, short};
use super::webhook::{WEBHOOK, post};
use crate::db::Db;
use crate::error::Error;
use crate::read::ListQuery;
use crate::record::Record;

/// How many jobs of a status are run in one step, at most.
const JOBS_MAX: usize = 16;
/// Of how many that are due a worker chooses.
const DUE_MAX: u32 = 64;
/// How many pages of these it looks through for one that it can run.
const DUE_PAGES_MAX: usize = 16;
/// How often the end of a job is tried when its lane changes.
const ATTEMPTS_MAX: usize = 16;
/// When to look again for jobs that cannot be listed yet.
const BUILDING_MS: i64 = 1_000;

impl Db {
    /// Runs some of the jobs that are due.
    pub(crate) async fn run_jobs(&self, handlers: &Handlers, work: &mut Work) -> Result<(), Error> {
        self.release_orphans(work).await?;
        let model = self.model();
        // First those whose worker is gone.
        for status in [Status::Running, Status::Waiting] {
            for job in self.due((status, 0), |job| handlers.runs(&model, job), work).await? {
                let _running = self.shared.heart.begin();
                if let Some(job) = self.take(job, handlers, work).await? {
                    work.jobs += 1;
                    self.run(&job, handlers, work).await?;
                }
            }
        }
        for job in self.due((Status::Queued, QUEUED_MS), |_| true, work).await? {
            self.mend_lane(&job).await?;
        }
        Ok(())
    }

    /// Some of the jobs of a status that have been due for so long, of those that are wanted: each
    /// worker begins at another place, so that they are seldom after the same one.
    async fn due(
        &self,
        (status, since_ms): (Status, i64),
        is_wanted: impl Fn(&Record) -> bool,
        work: &mut Work,
    ) -> Result<Vec<Record>, Error> {
        let now_ms = self.shared.now_ms();
        let list = self.list(JOB, BY_STATUS).by("status", status.word());
        let until_ms = now_ms.saturating_sub(since_ms);
        let due = list.clone().at_most("due", until_ms).limit(DUE_MAX);
        let mut jobs = match wanted(due, is_wanted).await {
            Ok(jobs) => jobs,
            Err(Error::Building { .. }) => {
                work.come_back_at(now_ms.saturating_add(BUILDING_MS));
                return Ok(vec![]);
            }
            Err(error) => return Err(error),
        };
        if jobs.is_empty() {
            let later = list.more_than("due", until_ms).limit(1).read().await?;
            if let Some(first) = later.items.first() {
                work.come_back_at(number(first, "due").saturating_add(since_ms));
            }
            return Ok(vec![]);
        }
        work.is_more();
        let begin = self.shared.stamps.below(jobs.len() as u64)?;
        jobs.rotate_left(usize::try_from(begin).unwrap_or(0));
        jobs.truncate(JOBS_MAX);
        Ok(jobs)
    }

    /// Takes a job, for as long as its lease. None if another worker did, or it is not to be tried
    /// any more.
    async fn take(
        &self,
        job: Record,
        handlers: &Handlers,
        work: &mut Work,
    ) -> Result<Option<Record>, Error> {
        let retry = retry_of(&job, handlers);
        let attempts = number(&job, "attempts");
        if attempts >= i64::from(retry.attempts_max) {
            work.failures += 1;
            let failure = Failure::fatal(format!(
                "It was begun {attempts} times, and did not come to its end before its lease did."
            ));
            self.fail(&job, failure, retry).await?;
            return Ok(None);
        }
        let lease_ms = i64::try_from(retry.lease.as_millis()).unwrap_or(i64::MAX);
        let due_ms = self.shared.now_ms().saturating_add(lease_ms);
        let patch = Item::from([
            ("status", Value::from(Status::Running.word())),
            ("due", Value::from(due_ms)),
            ("attempts", Value::from(attempts.saturating_add(1))),
            ("holder", self.holder().await?.map_or(Value::Null, Value::from)),
        ]);
        let mut taken = match self.perform(&Effects::new(), Some((&job, patch)), vec![]).await {
            Ok(records) => records,
            Err(Error::VersionMismatch { .. } | Error::NotFound { .. } | Error::Contended) => {
                work.is_more();
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        Ok(taken.pop().flatten())
    }

    /// Runs a job that was taken.
    async fn run(&self, job: &Record, handlers: &Handlers, work: &mut Work) -> Result<(), Error> {
        let answer = self.call(job, handlers).await;
        let failure = match answer {
            Ok(effects) => self.finish(job, effects).await?,
            Err(failure) => Some(failure),
        };
        if let Some(failure) = failure {
            work.failures += 1;
            self.fail(job, failure, retry_of(job, handlers)).await?;
        }
        Ok(())
    }

    async fn call(&self, job: &Record, handlers: &Handlers) -> Result<Effects, Failure> {
        let job = &self.with_overflow(job).await?;
        let kind = job.get("kind").and_then(Value::as_s).unwrap_or_default();
        if let Some(name) = kind.strip_prefix(EVENT_KIND) {
            let consumers = Consumer::all(self.shared.schema().model());
            let consumer = consumers.iter().find(|consumer| consumer.name == name);
            let gone = || Failure::new(format!("The model does not call `{name}` any more."));
            let event = self.kept_event(job.get("payload"))?;
            return self.effects_of(consumer.ok_or_else(gone)?, handlers, &event).await;
        }
        match handlers.find_job(kind) {
            Some(handler) => {
                let db = self.of_tenant(job.get("tenant"));
                guarded(async { handler(job.clone(), db).await }).await
            }
            None if kind == WEBHOOK => guarded(post(handlers.deliver.clone(), job)).await,
            None => Err(Failure::new(format!("Nobody here runs jobs of the kind `{kind}`."))),
        }
    }

    /// Ends a job with its effects. Answers why it could not be, if that is the effects' fault.
    async fn finish(&self, job: &Record, effects: Effects) -> Result<Option<Failure>, Error> {
        let db = self.of_tenant(job.get("tenant"));
        for _ in 0..ATTEMPTS_MAX {
            let mut patch = ended(Status::Done, self.shared.now_ms());
            patch.insert("error", Value::Null);
            patch.insert("result", effects.result.clone().unwrap_or(Value::Null));
            let error = match db.perform(&effects, Some((job, patch)), vec![]).await {
                Ok(_) => return Ok(None),
                Err(error) => error,
            };
            if !self.is_mine(job).await? {
                return Ok(None);
            }
            if !is_passing(&error) {
                return own_fault(error).map(Some);
            }
        }
        Ok(Some(Failure::from(Error::Contended)))
    }

    /// Lets a job wait for another attempt, or be a dead letter.
    async fn fail(&self, job: &Record, failure: Failure, retry: Retry) -> Result<(), Error> {
        let attempts = number(job, "attempts");
        let is_dead = failure.is_final || attempts >= i64::from(retry.attempts_max);
        for _ in 0..ATTEMPTS_MAX {
            let now_ms = self.shared.now_ms();
            let due_ms = now_ms.saturating_add(self.wait_ms(retry.wait_ms(attempts))?);
            let mut patch = match is_dead {
                true => ended(Status::Failed, now_ms),
                false => Item::from([
                    ("status", Value::from(Status::Waiting.word())),
                    ("due", Value::from(due_ms)),
                ]),
            };
            patch.insert("error", short(&failure.message));
            match self.perform(&Effects::new(), Some((job, patch)), vec![]).await {
                Ok(_) => return Ok(()),
                Err(error) if !is_passing(&error) => return Err(error),
                Err(_) => {}
            }
            if !self.is_mine(job).await? {
                return Ok(());
            }
        }
        Err(Error::Contended)
    }

    /// Whether a job is still what was read: nobody has taken it over or called it off.
    async fn is_mine(&self, job: &Record) -> Result<bool, Error> {
        let found = self.get(JOB, job.id()).await?;
        Ok(found.is_some_and(|found| found.version() == job.version()))
    }

    /// A job has been queued for long. If the one before it was removed by hand, it is next.
    async fn mend_lane(&self, job: &Record) -> Result<(), Error> {
        let Some(lane) = job.get("lane").and_then(Value::as_s) else { return Ok(()) };
        let mut lanes = Lanes::default();
        let change = match lanes.mend(self, lane).await? {
            Some(change) => change,
            None => {
                let patch = Item::from([("due", Value::from(self.shared.now_ms()))]);
                crate::Change::update_item(JOB, job.id(), patch).expecting(job.version())
            }
        };
        match self.transact_with(vec![change], lanes.piggybacked(&self.shared.table)).await {
            Ok(_) => Ok(()),
            Err(error) if is_passing(&error) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// The wanted ones of the first page that has any.
async fn wanted(
    mut list: ListQuery,
    is_wanted: impl Fn(&Record) -> bool,
) -> Result<Vec<Record>, Error> {
    for _ in 0..DUE_PAGES_MAX {
        let page = list.read().await?;
        let jobs: Vec<Record> = page.items.into_iter().filter(&is_wanted).collect();
        match page.next {
            Some(next) if jobs.is_empty() => list = list.after(next),
            Some(_) | None => return Ok(jobs),
        }
    }
    Ok(vec![])
}

/// Whether it may go well when it is tried again at once: a job or a lane was changed meanwhile.
pub(crate) fn is_passing(error: &Error) -> bool {
    match error {
        Error::Contended => true,
        Error::VersionMismatch { entity, .. } | Error::NotFound { entity, .. } => entity == JOB,
        _ => false,
    }
}

/// The failure that an error is, unless it is the store's.
pub(crate) fn own_fault(error: Error) -> Result<Failure, Error> {
    match error {
        Error::Store(StoreError::Invalid(_)) => Ok(Failure::from(error)),
        Error::Store(_) | Error::Entropy { .. } | Error::ModelChanged => Err(error),
        error => Ok(Failure::from(error)),
    }
}

fn retry_of(job: &Record, handlers: &Handlers) -> Retry {
    let kind = job.get("kind").and_then(Value::as_s).unwrap_or_default();
    handlers.retry_of(kind.strip_prefix(EVENT_KIND).unwrap_or(kind))
}

fn number(job: &Record, field: &str) -> i64 {
    job.get(field).and_then(Value::as_n).and_then(Number::to_i64).unwrap_or_default()
}
