//! What is to be done later, and what could not be done.

use keyloom::events::FeedStart;
use keyloom::{Db, Record};
use serde::{Deserialize, Serialize};

use super::{Data, Operation, Talk};
use crate::directory::Use;

/// Read at a time.
const PAGE: u32 = 1000;

/// Looks at jobs, or changes them.
#[derive(Debug, Serialize, Deserialize)]
pub struct Jobs {
    /// The text of the model.
    pub model: String,
    /// What is done.
    pub action: JobAction,
}

/// What is done with jobs.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobAction {
    /// Tells all jobs in a state, each as a line of JSON.
    List(String),
    /// Tells one, as a line of JSON.
    Show(String),
    /// Runs a failed one again.
    Replay(String),
    /// Runs all failed ones again.
    ReplayAll,
    /// Cancels one.
    Cancel(String),
    /// Deletes one.
    Drop(String),
    /// Starts a consumer again.
    Resume {
        /// Which one.
        consumer: String,
        /// With what is new alone, instead of with the oldest change that is kept.
        from_now: bool,
    },
}

impl Operation for Jobs {
    const NAME: &'static str = "jobs";
    /// How many it was done with.
    type Answer = u64;

    fn used(&self) -> Use {
        match self.action {
            JobAction::List(_) | JobAction::Show(_) => Use::Read,
            _ => Use::Change,
        }
    }

    async fn run(self, data: &Data, talk: &mut Talk<'_>) -> Result<u64, String> {
        let db = data.db(&self.model).await?;
        let told = |error: keyloom::Error| error.to_string();
        match &self.action {
            JobAction::List(state) => {
                let jobs = in_state(&db, state).await?;
                jobs.iter().try_for_each(|job| talk.line(job.to_json()))?;
                return Ok(jobs.len() as u64);
            }
            JobAction::Show(id) => {
                let job = db.get("job", id).await.map_err(told)?;
                let none = || format!("no job with the id `{id}`: run `keyloom jobs list`.");
                talk.line(job.ok_or_else(none)?.to_json())?;
            }
            JobAction::ReplayAll => return replay_all(&db).await,
            JobAction::Replay(id) => drop(db.replay(id).await.map_err(told)?),
            JobAction::Cancel(id) => drop(db.cancel(id).await.map_err(told)?),
            JobAction::Drop(id) => db.delete("job", id).await.map_err(told)?,
            JobAction::Resume { consumer, from_now } => {
                let from = if *from_now { FeedStart::Now } else { FeedStart::Oldest };
                db.resume(consumer, from).await.map_err(told)?;
            }
        }
        Ok(1)
    }
}

/// A job that fails to start again ends it; those before it are run.
async fn replay_all(db: &Db) -> Result<u64, String> {
    let failed = in_state(db, "failed").await?;
    for job in &failed {
        db.replay(job.id()).await.map_err(|error| error.to_string())?;
    }
    Ok(failed.len() as u64)
}

async fn in_state(db: &Db, state: &str) -> Result<Vec<Record>, String> {
    let mut query = db.list("job", "by_status").by("status", state).limit(PAGE);
    let mut all = vec![];
    loop {
        let page = query.clone().read().await.map_err(|error| error.to_string())?;
        all.extend(page.items);
        match page.next {
            Some(next) => query = query.after(&next),
            None => return Ok(all),
        }
    }
}
