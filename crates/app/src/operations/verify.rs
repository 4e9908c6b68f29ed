//! Computing every row of a database anew, and comparing.

use keyloom::{Finding, Item, Remedy, Repair, Value, item_to_json};
use serde::{Deserialize, Serialize};

use super::{Data, Operation, Progress, Talk};
use crate::directory::Use;

/// Tells every row that is not as the model says, as a line of JSON.
#[derive(Debug, Serialize, Deserialize)]
pub struct Verify {
    /// The text of the model.
    pub model: String,
    /// Whether what can be mended is mended.
    pub repair: bool,
}

/// What was looked at, and found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verified {
    /// Rows.
    pub rows: u64,
    /// Findings that are mended.
    pub mended: u64,
    /// Findings that are not.
    pub left: u64,
}

impl Operation for Verify {
    const NAME: &'static str = "verify";
    type Answer = Verified;

    fn used(&self) -> Use {
        if self.repair { Use::Change } else { Use::Read }
    }

    async fn run(self, data: &Data, talk: &mut Talk<'_>) -> Result<Verified, String> {
        let db = data.db(&self.model).await?;
        let repair = if self.repair { Repair::Yes } else { Repair::No };
        let (mut from, mut verified) = (None::<String>, Verified::default());
        loop {
            let page = db.verify_page(repair, from.as_deref()).await;
            let page = page.map_err(|error| error.to_string())?;
            for finding in &page.findings {
                talk.line(told(finding))?;
                match finding.remedy {
                    Remedy::Repaired => verified.mended += 1,
                    Remedy::NotRequested | Remedy::Unrepairable | Remedy::Changed => {
                        verified.left += 1
                    }
                }
            }
            let (rows, total) = (page.progress.rows, page.progress.rows_total);
            talk.progress(Progress { count: rows, done: rows, total: Some(total) })?;
            verified.rows = rows.max(verified.rows);
            match page.next {
                None => return Ok(verified),
                next => from = next,
            }
        }
    }
}

fn told(finding: &Finding) -> String {
    let remedy = match finding.remedy {
        Remedy::Repaired => "mended",
        Remedy::NotRequested => "not asked",
        Remedy::Unrepairable => "needs a person",
        Remedy::Changed => "changed meanwhile",
    };
    item_to_json(&Item::from([
        ("entity", Value::from(finding.entity.as_str())),
        ("id", Value::from(finding.id.as_str())),
        ("remedy", Value::from(remedy)),
        ("said", Value::from(finding.to_string())),
    ]))
}
