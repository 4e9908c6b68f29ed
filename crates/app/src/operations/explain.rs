//! Explaining how a request is answered, and what it reads or writes.

use keyloom_server::{Rest, RestOptions};
use serde::{Deserialize, Serialize};

use super::{Channel, Data, Operation};
use crate::directory::OpenMode;

/// Explains a request.
#[derive(Debug, Serialize, Deserialize)]
pub struct Explain {
    /// The text of the model.
    pub model: String,
    /// What to explain.
    #[serde(rename = "asked")]
    pub target: ExplainTarget,
    /// The tenant whose data to use.
    pub tenant: Option<String>,
}

/// What to explain.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExplainTarget {
    /// Path and query of a GET request.
    Path(String),
    /// One change, as `POST /transaction` takes it.
    Change(String),
}

impl Operation for Explain {
    const NAME: &'static str = "explain";
    /// JSON.
    type Answer = String;

    fn open_mode(&self) -> OpenMode {
        OpenMode::Read
    }

    async fn run(self, data: &Data, _: &mut Channel<'_>) -> Result<String, String> {
        let (tokens, db) = (data.tokens().await?, data.db(&self.model).await?);
        let rest = Rest::new(db, tokens, vec![], RestOptions::default())?;
        match &self.target {
            ExplainTarget::Path(path) => rest.explain(path, self.tenant.as_deref()).await,
            ExplainTarget::Change(change) => {
                rest.explain_change(change, self.tenant.as_deref()).await
            }
        }
    }
}
