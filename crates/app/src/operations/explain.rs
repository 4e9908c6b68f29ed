//! How a request is answered, and what it reads or writes.

use keyloom_server::{Rest, RestOptions};
use serde::{Deserialize, Serialize};

use super::{Data, Operation, Talk};
use crate::directory::Use;

/// Explains a request.
#[derive(Debug, Serialize, Deserialize)]
pub struct Explain {
    /// The text of the model.
    pub model: String,
    /// What is to be explained.
    pub asked: Asked,
    /// Whose data to use.
    pub tenant: Option<String>,
}

/// What is to be explained.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Asked {
    /// Path and query of a GET request.
    Path(String),
    /// One change, as `POST /transaction` takes it.
    Change(String),
}

impl Operation for Explain {
    const NAME: &'static str = "explain";
    /// JSON.
    type Answer = String;

    fn used(&self) -> Use {
        Use::Read
    }

    async fn run(self, data: &Data, _: &mut Talk<'_>) -> Result<String, String> {
        let (tokens, db) = (data.tokens().await?, data.db(&self.model).await?);
        let rest = Rest::new(db, tokens, vec![], RestOptions::default())?;
        match &self.asked {
            Asked::Path(path) => rest.explain(path, self.tenant.as_deref()).await,
            Asked::Change(change) => rest.explain_change(change, self.tenant.as_deref()).await,
        }
    }
}
