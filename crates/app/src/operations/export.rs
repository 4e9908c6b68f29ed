//! Exporting every entity of a database, each as a line of JSON.

use serde::{Deserialize, Serialize};

use super::{Channel, Data, Operation, Progress};
use crate::directory::OpenMode;

/// Reports every entity of one snapshot.
#[derive(Debug, Serialize, Deserialize)]
pub struct Export {
    /// The text of the model.
    pub model: String,
    /// The kinds to export; all if empty.
    pub kinds: Vec<String>,
}

impl Operation for Export {
    const NAME: &'static str = "export";
    type Answer = ();

    fn open_mode(&self) -> OpenMode {
        OpenMode::Read
    }

    async fn run(self, data: &Data, channel: &mut Channel<'_>) -> Result<(), String> {
        let db = data.db(&self.model).await?;
        let kinds: Vec<&str> = self.kinds.iter().map(String::as_str).collect();
        let mut export = db.export(&kinds).await.map_err(|error| error.to_string())?;
        let mut count = 0;
        while let Some(entries) = export.next().await.map_err(|error| error.to_string())? {
            entries.iter().try_for_each(|entry| channel.line(entry.to_json()))?;
            count += entries.len() as u64;
            let progress = export.progress();
            let (done, total) = (progress.rows, Some(progress.rows_total));
            channel.progress(Progress { count, done, total })?;
        }
        Ok(())
    }
}
