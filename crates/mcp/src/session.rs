//! What a call of a tool may use: the server, with the token of whoever calls.

use std::sync::Arc;

use serde_json::Value as Json;

use crate::catalog::Catalog;
use crate::served_model::ServedModel;
use crate::target::Target;
use crate::token::Token;
use crate::tool_error::ToolError;
use crate::upstream::Upstream;

/// The Keyloom server, as one caller sees it.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    upstream: Arc<Upstream>,
    token: Option<Token>,
}

impl Session {
    pub(crate) fn new(upstream: Arc<Upstream>, token: Option<Token>) -> Session {
        Session { upstream, token }
    }

    pub(crate) async fn get(&self, target: &Target) -> Result<Vec<u8>, ToolError> {
        self.upstream.get(self.token.as_ref(), target).await
    }

    pub(crate) async fn post(&self, target: &Target) -> Result<Vec<u8>, ToolError> {
        self.upstream.post(self.token.as_ref(), target).await
    }

    /// The declared queries. The document is read again for every call, because a server can change its
    /// model while it runs.
    pub(crate) async fn catalog(&self) -> Result<Catalog, ToolError> {
        let document = self.json(&Target::fixed("/openapi.json")).await?;
        Ok(Catalog::read(&document))
    }

    /// The served model.
    pub(crate) async fn model(&self) -> Result<ServedModel, ToolError> {
        ServedModel::read(&self.json(&Target::fixed("/model")).await?)
    }

    /// A response that has no documents, whose numbers would have to stay exact.
    async fn json(&self, target: &Target) -> Result<Json, ToolError> {
        let body = self.get(target).await?;
        serde_json::from_slice(&body).map_err(|_| {
            ToolError::new("bad-response", format!("The response of {target} is not JSON."))
                .with_hint("Check that --url is the URL of a Keyloom server.")
        })
    }
}
