//! Listing and changing jobs.

use keyloom::events::FeedStart;
use keyloom::{Db, Record};
use serde::{Deserialize, Serialize};

use super::{Channel, Data, Operation};
use crate::directory::OpenMode;

/// Number of jobs read at a time.
const PAGE: u32 = 1000;

/// Lists jobs, or changes them.
#[derive(Debug, Serialize, Deserialize)]
pub struct Jobs {
    /// The text of the model.
    pub model: String,
    /// What to do.
    pub action: JobAction,
}

/// What to do with jobs.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobAction {
    /// Report all jobs in a state, each as a line of JSON.
    List(String),
    /// Report one job, as a line of JSON.
    Show(String),
    /// Retry a failed job.
    Replay(String),
    /// Retry all failed jobs.
    ReplayAll,
    /// Cancel a job.
    Cancel(String),
    /// Delete a job.
    Drop(String),
    /// Restart a consumer.
    Resume {
        /// Its name.
        consumer: String,
        /// Whether to start with new changes, instead of the oldest retained one.
        from_now: bool,
    },
}

impl Operation for Jobs {
    const NAME: &'static str = "jobs";
    /// The number of jobs.
    type Answer = u64;

    fn open_mode(&self) -> OpenMode {
        match self.action {
            JobAction::List(_) | JobAction::Show(_) => OpenMode::Read,
            _ => OpenMode::Write,
        }
    }

    async fn run(self, data: &Data, channel: &mut Channel<'_>) -> Result<u64, String> {
        let db = data.db(&self.model).await?;
        let message = |error: keyloom::Error| error.to_string();
        match &self.action {
            JobAction::List(state) => {
                let jobs = in_state(&db, state).await?;
                jobs.iter().try_for_each(|job| channel.line(job.to_json()))?;
                return Ok(jobs.len() as u64);
            }
            JobAction::Show(id) => {
                let job = db.get("job", id).await.map_err(message)?;
                let none = || format!("no job with the id `{id}`: run `keyloom jobs list`.");
                channel.line(job.ok_or_else(none)?.to_json())?;
            }
            JobAction::ReplayAll => return replay_all(&db).await,
            JobAction::Replay(id) => drop(db.replay(id).await.map_err(message)?),
            JobAction::Cancel(id) => drop(db.cancel(id).await.map_err(message)?),
            JobAction::Drop(id) => db.delete("job", id).await.map_err(message)?,
            JobAction::Resume { consumer, from_now } => {
                let from = if *from_now { FeedStart::Now } else { FeedStart::Oldest };
                db.resume(consumer, from).await.map_err(message)?;
            }
        }
        Ok(1)
    }
}

/// Ends at the first job that cannot be retried; earlier ones are.
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
