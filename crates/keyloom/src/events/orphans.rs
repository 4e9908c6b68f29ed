//! Orphans: jobs that name a holder which is gone. They become due at once.

use std::sync::atomic::Ordering;

use keyloom_value::{Item, Value};

use super::Work;
use super::effects::Effects;
use super::job::{BY_STATUS, JOB, Status};
use super::transaction::{JobTransaction, is_transient};
use super::worker::{Observation, Worker, Workers};
use crate::db::Db;
use crate::error::Error;
use crate::record::Record;

/// Finds and releases orphans.
#[derive(Clone, Copy)]
pub(crate) struct Orphans<'d> {
    db: &'d Db,
}

impl<'d> Orphans<'d> {
    pub(crate) fn new(db: &'d Db) -> Orphans<'d> {
        Orphans { db }
    }

    /// Makes jobs due whose process is gone.
    pub(crate) async fn release(self, work: &mut Work) -> Result<(), Error> {
        match self.db.shared.store.opening() {
            Some(opening) => self.release_of_earlier(opening, work).await,
            None => self.release_of_silent(work).await,
        }
    }

    /// If no other process can have the store open: releases jobs of earlier openings, once.
    async fn release_of_earlier(self, opening: u64, work: &mut Work) -> Result<(), Error> {
        let are_released = &self.db.shared.are_orphans_released;
        if are_released.load(Ordering::Relaxed) {
            return Ok(());
        }
        match self.release_held(|holder| holder != Some(opening)).await {
            Err(Error::Building { .. }) => return Ok(()),
            Ok(0) => {}
            Ok(_) => work.call_again(),
            Err(error) => return Err(error),
        }
        are_released.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// If processes share the store: one worker of this process reads their rows, once a second,
    /// and releases the jobs of those that are silent.
    async fn release_of_silent(self, work: &mut Work) -> Result<(), Error> {
        let shared = &self.db.shared;
        let asked_ms = shared.now_ms();
        if shared.heart.is_time_to_look(asked_ms) {
            let rows = Workers::new(shared).all().await?;
            let observation = Observation { rows, asked_ms, read_ms: shared.now_ms() };
            for worker in shared.heart.observe(observation) {
                match self.bury(worker).await {
                    // It may have held checkpoints too.
                    Ok(_) => work.call_again(),
                    Err(Error::Building { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        if let Some(verdict_ms) = shared.heart.next_verdict_ms() {
            work.call_at(verdict_ms);
        }
        Ok(())
    }

    /// Releases the jobs of a process that is gone, and then removes its row unless it was written
    /// meanwhile. Returns the number of jobs.
    pub(crate) async fn bury(self, worker: Worker) -> Result<usize, Error> {
        let released = self.release_held(|holder| holder == Some(worker.id)).await?;
        Workers::new(&self.db.shared).remove(worker).await?;
        self.db.shared.heart.forget(worker);
        Ok(released)
    }

    /// Releases running jobs by their holders, as if their lease had ended. Returns their number.
    async fn release_held(self, is_gone: impl Fn(Option<u64>) -> bool) -> Result<usize, Error> {
        let running = self.db.list(JOB, BY_STATUS).by("status", Status::Running.word());
        let mut page = running.clone().read().await?;
        let mut released = 0;
        loop {
            for job in page.items.iter().filter(|job| is_gone(holder_of(job))) {
                let patch = Item::from([
                    ("status", Value::from(Status::Waiting.word())),
                    ("due", Value::from(self.db.shared.now_ms())),
                ]);
                let transaction = JobTransaction::new(self.db).update(job, patch);
                match transaction.commit(&Effects::new()).await {
                    Ok(_) => released += 1,
                    // Another worker was faster, or the holder has ended the job after all.
                    Err(error) if is_transient(&error) => {}
                    Err(error) => return Err(error),
                }
            }
            let Some(next) = page.next else { return Ok(released) };
            page = running.clone().after(next).read().await?;
        }
    }
}

fn holder_of(job: &Record) -> Option<u64> {
    let holder = job.get("holder").and_then(Value::as_n)?.to_i64()?;
    u64::try_from(holder).ok()
}
