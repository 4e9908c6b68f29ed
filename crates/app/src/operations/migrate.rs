//! Changing the model of existing data.

use std::collections::BTreeMap;

use keyloom::MigrationPlan;
use serde::{Deserialize, Serialize};

use super::{Channel, Data, Operation, Progress};
use crate::directory::OpenMode;

/// Changes the model of existing data, and rewrites what must be. A call after an interruption goes on
/// where it was.
#[derive(Debug, Serialize, Deserialize)]
pub struct Migrate {
    /// The text of the new model.
    pub model: String,
    /// Whether to only report what would be done.
    pub plan: bool,
}

/// What a migration does, or did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Migration {
    /// A sentence for each change.
    pub changes: Vec<String>,
    /// Why it is refused. Empty if it is not.
    pub refusals: Vec<String>,
    /// The number of entities whose rows are rewritten, by kind.
    pub rewritten: BTreeMap<String, u64>,
    /// The most rows that this touches.
    pub rows_max: u64,
    /// The number of entities with a value of a field that is lost, by field.
    pub lost: BTreeMap<String, u64>,
    /// Queries that are unavailable until everything is rewritten.
    pub unavailable: Vec<String>,
    /// Rows of the table.
    pub rows: u64,
    /// Whether the model was changed and everything is rewritten.
    pub done: bool,
    /// Whether a server did it, which serves the changed model since.
    #[serde(rename = "served")]
    pub is_served: bool,
}

impl Operation for Migrate {
    const NAME: &'static str = "migrate";
    type Answer = Migration;

    fn open_mode(&self) -> OpenMode {
        if self.plan { OpenMode::Read } else { OpenMode::Write }
    }

    async fn run(self, data: &Data, channel: &mut Channel<'_>) -> Result<Migration, String> {
        let migration = Migration::from(data.plan_migration(&self.model).await?);
        if self.plan || !migration.refusals.is_empty() {
            return Ok(migration);
        }
        let db = data.migrated_db(&self.model).await?;
        let backfill = db.backfill(|progress| {
            let keyloom::Progress { rows, rows_total, .. } = progress;
            // Nobody may be watching any more; the work is worth finishing.
            let _ = channel.progress(Progress { count: rows, done: rows, total: Some(rows_total) });
        });
        backfill.await.map_err(|error| error.to_string())?;
        Ok(Migration { done: true, is_served: data.served().is_some(), ..migration })
    }
}

impl From<MigrationPlan> for Migration {
    fn from(plan: MigrationPlan) -> Migration {
        let MigrationPlan { changes, refusals, rewritten, rows_max, lost, .. } = plan;
        let (unavailable, rows) = (plan.unavailable, plan.rows);
        let (done, is_served) = (false, false);
        Migration {
            changes,
            refusals,
            rewritten,
            rows_max,
            lost,
            unavailable,
            rows,
            done,
            is_served,
        }
    }
}
