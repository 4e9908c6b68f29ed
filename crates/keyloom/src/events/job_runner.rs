//! Runs due jobs: takes them under a lease, and ends them in one transaction with their effects.
//!
//! Every step is one write that expects the version it has read. So one worker at a time runs a job,
//! and a worker whose lease has ended and whose job was taken over can no longer end it.

use keyloom_value::{Item, Number, Value};

use super::consumer::Consumer;
use super::effects::Effects;
use super::failure::Failure;
use super::handlers::{Handlers, guarded};
use super::heartbeat::Heartbeat;
use super::job::{BY_STATUS, JOB, Status};
use super::lane::Lanes;
use super::orphans::Orphans;
use super::put_aside::EVENT_KIND;
use super::retry::Retry;
use super::transaction::{JobTransaction, is_transient};
use super::webhook::{WEBHOOK, post};
use super::{Event, Work, overflow};
use crate::change::Change;
use crate::db::Db;
use crate::error::Error;
use crate::read::ListQuery;
use crate::record::Record;
use crate::write::Attempts;

/// How many jobs of a status run in one step.
const JOBS_MAX: usize = 16;
/// Among how many due jobs a worker chooses.
const DUE_MAX: u32 = 64;
/// How many pages of due jobs it searches for one that it can run.
const DUE_PAGES_MAX: usize = 16;
/// When to look again for jobs that cannot be listed yet.
const BUILDING_MS: i64 = 1_000;
/// After how long a due, queued job checks whether there is still a job before it.
const QUEUED_MS: i64 = 10 * 60 * 1000;

/// A worker that runs jobs.
pub(crate) struct JobRunner<'r> {
    pub(crate) db: &'r Db,
    pub(crate) handlers: &'r Handlers,
    pub(crate) work: &'r mut Work,
}

/// Jobs that should have been looked at.
#[derive(Clone, Copy)]
struct Overdue {
    status: Status,
    /// For how long they have been due.
    by_ms: i64,
}

impl JobRunner<'_> {
    /// Runs some of the due jobs.
    pub(crate) async fn run_due(mut self) -> Result<(), Error> {
        let (db, handlers) = (self.db, self.handlers);
        Orphans::new(db).release(self.work).await?;
        let model = db.model();
        // Jobs whose worker is gone come first.
        for status in [Status::Running, Status::Waiting] {
            let overdue = Overdue { status, by_ms: 0 };
            for job in self.find(overdue, |job| handlers.runs(&model, job)).await? {
                let _running = db.shared.heart.begin();
                if let Some(job) = self.take(job).await? {
                    self.work.jobs += 1;
                    self.run(&job).await?;
                }
            }
        }
        let overdue = Overdue { status: Status::Queued, by_ms: QUEUED_MS };
        for job in self.find(overdue, |_| true).await? {
            self.repair_lane(&job).await?;
        }
        Ok(())
    }

    /// Finds some wanted jobs that are overdue. Each worker starts at a random one of them, so that
    /// workers seldom compete for the same job.
    async fn find(
        &mut self,
        overdue: Overdue,
        is_wanted: impl Fn(&Record) -> bool,
    ) -> Result<Vec<Record>, Error> {
        let shared = &self.db.shared;
        let now_ms = shared.now_ms();
        let list = self.db.list(JOB, BY_STATUS).by("status", overdue.status.word());
        let until_ms = now_ms.saturating_sub(overdue.by_ms);
        let due = list.clone().at_most("due", until_ms).limit(DUE_MAX);
        // Mostly none is due, and one read says so and when the first one will be.
        let jobs = match list.clone().limit(1).read().await {
            Ok(first) => match first.items.first() {
                None => return Ok(vec![]),
                Some(first) if number(first, "due") > until_ms => {
                    self.work.call_at(number(first, "due").saturating_add(overdue.by_ms));
                    return Ok(vec![]);
                }
                Some(_) => first_wanted(due, is_wanted).await,
            },
            Err(error) => Err(error),
        };
        let mut jobs = match jobs {
            Ok(jobs) => jobs,
            Err(Error::Building { .. }) => {
                self.work.call_at(now_ms.saturating_add(BUILDING_MS));
                return Ok(vec![]);
            }
            Err(error) => return Err(error),
        };
        if jobs.is_empty() {
            let later = list.more_than("due", until_ms).limit(1).read().await?;
            if let Some(first) = later.items.first() {
                self.work.call_at(number(first, "due").saturating_add(overdue.by_ms));
            }
            return Ok(vec![]);
        }
        self.work.call_again();
        let begin = shared.stamps.below(jobs.len() as u64)?;
        jobs.rotate_left(usize::try_from(begin).unwrap_or(0));
        jobs.truncate(JOBS_MAX);
        Ok(jobs)
    }

    /// Takes the lease of a job. Returns none if another worker did, or no attempts are left.
    async fn take(&mut self, job: Record) -> Result<Option<Record>, Error> {
        let retry = self.retry_of(&job);
        let attempts = number(&job, "attempts");
        if attempts >= i64::from(retry.attempts_max) {
            self.work.failures += 1;
            let failure = Failure::fatal(format!(
                "The job was started {attempts} times, and each time its lease ended before it did."
            ));
            self.fail(&job, &failure).await?;
            return Ok(None);
        }
        let due_ms = self.db.shared.now_ms().saturating_add(retry.lease_ms());
        let holder = Heartbeat::new(&self.db.shared).holder().await?;
        let patch = Item::from([
            ("status", Value::from(Status::Running.word())),
            ("due", Value::from(due_ms)),
            ("attempts", Value::from(attempts.saturating_add(1))),
            ("holder", holder.map_or(Value::Null, Value::from)),
        ]);
        let transaction = JobTransaction::new(self.db).update(&job, patch);
        let mut taken = match transaction.commit(&Effects::new()).await {
            Ok(records) => records,
            Err(Error::VersionMismatch { .. } | Error::NotFound { .. } | Error::Contended) => {
                self.work.call_again();
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        Ok(taken.pop().flatten())
    }

    /// Runs a job whose lease is taken.
    async fn run(&mut self, job: &Record) -> Result<(), Error> {
        let failure = match self.call(job).await {
            Ok(effects) => self.finish(job, effects).await?,
            Err(failure) => Some(failure),
        };
        if let Some(failure) = failure {
            self.work.failures += 1;
            self.fail(job, &failure).await?;
        }
        Ok(())
    }

    async fn call(&self, job: &Record) -> Result<Effects, Failure> {
        let shared = &self.db.shared;
        let job = &overflow::load(shared, job).await?;
        let kind = job.get("kind").and_then(Value::as_s).unwrap_or_default();
        if let Some(name) = kind.strip_prefix(EVENT_KIND) {
            let schema = shared.schema();
            let json = job.get("payload").and_then(Value::as_s);
            let json =
                json.ok_or_else(|| Failure::fatal("The job has no event as its payload."))?;
            let event = Event::from_json(&schema, json)?;
            let gone = || Failure::new(format!("The model no longer calls `{name}`."));
            let consumer = Consumer::find(schema.model(), name).ok_or_else(gone)?;
            return consumer.effects(self.db, self.handlers, &event).await;
        }
        match self.handlers.find_job(kind) {
            Some(handler) => {
                let db = Db::new(shared.clone(), job.get("tenant").cloned());
                guarded(async { handler(job.clone(), db).await }).await
            }
            None if kind == WEBHOOK => guarded(post(self.handlers.deliver.clone(), job)).await,
            None => Err(Failure::new(format!("No handler for jobs of the kind `{kind}`."))),
        }
    }

    /// Ends a job with its effects. Returns a failure if the effects caused an error.
    async fn finish(&self, job: &Record, effects: Effects) -> Result<Option<Failure>, Error> {
        let db = Db::new(self.db.shared.clone(), job.get("tenant").cloned());
        let mut attempts = Attempts::new(&self.db.shared.stamps);
        while attempts.next().await.is_ok() {
            let mut patch = Status::Done.end(self.db.shared.now_ms());
            patch.insert("error", Value::Null);
            patch.insert("result", effects.result.clone().unwrap_or(Value::Null));
            let error = match JobTransaction::new(&db).update(job, patch).commit(&effects).await {
                Ok(_) => return Ok(None),
                Err(error) => error,
            };
            if !self.is_held(job).await? {
                return Ok(None);
            }
            if !is_transient(&error) {
                return Failure::of_effects(error).map(Some);
            }
        }
        Ok(Some(Failure::from(Error::Contended)))
    }

    /// Lets a job wait for another attempt, or makes it a dead letter.
    async fn fail(&self, job: &Record, failure: &Failure) -> Result<(), Error> {
        let shared = &self.db.shared;
        let (retry, made) = (self.retry_of(job), number(job, "attempts"));
        let is_dead = failure.is_final || made >= i64::from(retry.attempts_max);
        let mut attempts = Attempts::new(&shared.stamps);
        loop {
            attempts.next().await?;
            let now_ms = shared.now_ms();
            let due_ms = now_ms.saturating_add(retry.delay_ms(made, &shared.stamps)?);
            let mut patch = match is_dead {
                true => Status::Failed.end(now_ms),
                false => Item::from([
                    ("status", Value::from(Status::Waiting.word())),
                    ("due", Value::from(due_ms)),
                ]),
            };
            patch.insert("error", failure.stored_message());
            let transaction = JobTransaction::new(self.db).update(job, patch);
            match transaction.commit(&Effects::new()).await {
                Ok(_) => return Ok(()),
                Err(error) if !is_transient(&error) => return Err(error),
                Err(_) => {}
            }
            if !self.is_held(job).await? {
                return Ok(());
            }
        }
    }

    /// Whether nobody has taken over or canceled a job since it was read.
    async fn is_held(&self, job: &Record) -> Result<bool, Error> {
        let found = self.db.get(JOB, job.id()).await?;
        Ok(found.is_some_and(|found| found.version() == job.version()))
    }

    /// Makes a job that has been queued for long the head of its lane if the head was deleted.
    /// Otherwise, it is looked at again later.
    async fn repair_lane(&self, job: &Record) -> Result<(), Error> {
        let Some(lane) = job.get("lane").and_then(Value::as_s) else { return Ok(()) };
        let mut lanes = Lanes::new(self.db);
        let change = match lanes.repair(lane).await? {
            Some(change) => change,
            None => {
                let patch = Item::from([("due", Value::from(self.db.shared.now_ms()))]);
                Change::update_item(JOB, job.id(), patch).expecting(job.version())
            }
        };
        match self.db.transact_with(vec![change], lanes.into_actions()).await {
            Ok(_) => Ok(()),
            Err(error) if is_transient(&error) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn retry_of(&self, job: &Record) -> Retry {
        let kind = job.get("kind").and_then(Value::as_s).unwrap_or_default();
        self.handlers.retry_of(kind.strip_prefix(EVENT_KIND).unwrap_or(kind))
    }
}

/// Returns the wanted jobs of the first page that has any.
async fn first_wanted(
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

fn number(job: &Record, field: &str) -> i64 {
    job.get(field).and_then(Value::as_n).and_then(Number::to_i64).unwrap_or_default()
}
