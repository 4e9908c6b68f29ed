//! Recomputing every derived row of a database and comparing it with what is stored.

use keyloom::{Finding, Item, Problem, Remedy, Repair, Value, item_to_json};
use serde::{Deserialize, Serialize};

use super::{Channel, Data, Operation, Progress};
use crate::directory::OpenMode;

/// Reports every row that differs from what the model implies, and everything that could not be
/// checked, as a line of JSON.
#[derive(Debug, Serialize, Deserialize)]
pub struct Verify {
    /// The text of the model.
    pub model: String,
    /// Whether to repair what can be repaired.
    pub repair: bool,
}

/// What was verified, and what was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verified {
    /// Verified rows.
    pub rows: u64,
    /// Differences that were repaired.
    pub repaired: u64,
    /// Differences that remain.
    pub left: u64,
    /// What could not be checked.
    #[serde(default)]
    pub unchecked: u64,
}

impl Operation for Verify {
    const NAME: &'static str = "verify";
    type Answer = Verified;

    fn open_mode(&self) -> OpenMode {
        if self.repair { OpenMode::Write } else { OpenMode::Read }
    }

    async fn run(self, data: &Data, channel: &mut Channel<'_>) -> Result<Verified, String> {
        let db = data.db(&self.model).await?;
        let repair = if self.repair { Repair::Yes } else { Repair::No };
        let (mut from, mut verified) = (None::<String>, Verified::default());
        loop {
            let page = db.verify_page(repair, from.as_deref()).await;
            let page = page.map_err(|error| error.to_string())?;
            for finding in &page.findings {
                channel.line(finding_line(finding))?;
                verified.add(finding);
            }
            let (rows, total) = (page.progress.rows, page.progress.rows_total);
            channel.progress(Progress { count: rows, done: rows, total: Some(total) })?;
            verified.rows = rows.max(verified.rows);
            match page.next {
                None => return Ok(verified),
                next => from = next,
            }
        }
    }
}

impl Verified {
    fn add(&mut self, finding: &Finding) {
        match (&finding.problem, finding.remedy) {
            (Problem::Unchecked { .. }, _) => self.unchecked += 1,
            (_, Remedy::Repaired) => self.repaired += 1,
            (_, Remedy::NotRequested | Remedy::Unrepairable | Remedy::Changed) => self.left += 1,
        }
    }
}

fn finding_line(finding: &Finding) -> String {
    let remedy = match (&finding.problem, finding.remedy) {
        (Problem::Unchecked { .. }, _) => "not checked",
        (_, Remedy::Repaired) => "repaired",
        (_, Remedy::NotRequested) => "not requested",
        (_, Remedy::Unrepairable) => "cannot be repaired",
        (_, Remedy::Changed) => "changed meanwhile",
    };
    item_to_json(&Item::from([
        ("entity", Value::from(finding.entity.as_str())),
        ("id", Value::from(finding.id.as_str())),
        ("remedy", Value::from(remedy)),
        ("message", Value::from(finding.to_string())),
    ]))
}
