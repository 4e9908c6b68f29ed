//! What the tools are served from.

use std::path::PathBuf;

use crate::token::Token;

/// The Keyloom server that the tools read from, and how.
#[derive(Clone, Debug)]
pub struct McpOptions {
    /// The URL of the server, such as `http://127.0.0.1:8080`.
    pub url: String,
    /// The tenant whose data to read; none if the token determines it.
    pub tenant: Option<String>,
    /// The token for clients that send none of their own.
    pub token: Option<Token>,
    /// PEM file of certificates to trust in addition to those of the system.
    pub trusted: Option<PathBuf>,
}
