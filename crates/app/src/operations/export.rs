//! Every entity of a database, each as a line of JSON.

use serde::{Deserialize, Serialize};

use super::{Data, Operation, Progress, Talk};
use crate::directory::Use;

/// Tells every entity, at one moment.
#[derive(Debug, Serialize, Deserialize)]
pub struct Export {
    /// The text of the model.
    pub model: String,
    /// Only these kinds, unless there are none.
    pub kinds: Vec<String>,
}

impl Operation for Export {
    const NAME: &'static str = "export";
    type Answer = ();

    fn used(&self) -> Use {
        Use::Read
    }

    async fn run(self, data: &Data, talk: &mut Talk<'_>) -> Result<(), String> {
        let db = data.db(&self.model).await?;
        let kinds: Vec<&str> = self.kinds.iter().map(String::as_str).collect();
        let mut export = db.export(&kinds).await.map_err(|error| error.to_string())?;
        let mut count = 0;
        while let Some(entries) = export.next().await.map_err(|error| error.to_string())? {
            entries.iter().try_for_each(|entry| talk.line(entry.to_json()))?;
            count += entries.len() as u64;
            let progress = export.progress();
            let (done, total) = (progress.rows, Some(progress.rows_total));
            talk.progress(Progress { count, done, total })?;
        }
        Ok(())
    }
}
