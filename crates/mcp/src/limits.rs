//! What a tool returns and accepts at most. An assistant has to read all of it, so the limits are far
//! below those of the server.

use std::time::Duration;

/// Rows of a result, unless the call says otherwise.
pub(crate) const ROWS: u32 = 50;
/// Rows of a result, whatever the call says.
pub(crate) const ROWS_MAX: u32 = 200;
/// Characters of a text in a result. The next smaller one is taken if the result would be too long.
pub(crate) const TEXT_CHARACTERS: [usize; 4] = [2000, 400, 100, 30];
/// Bytes of a result as JSON.
pub(crate) const RESULT_BYTES_MAX: usize = 256 * 1024;
/// Bytes of a model that a call brings.
pub(crate) const MODEL_BYTES_MAX: usize = 256 * 1024;
/// Bytes of a message over HTTP: a model, escaped, and what is around it. Over stdio rmcp limits them to
/// 16 MiB.
pub(crate) const MESSAGE_BYTES_MAX: usize = 2 * 1024 * 1024;
/// Bytes of a response of the Keyloom server.
pub(crate) const RESPONSE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Bytes of the path and the query of a request to it.
pub(crate) const TARGET_BYTES_MAX: usize = 16 * 1024;
/// How long the Keyloom server may take: longer than its own limit, so that its answer arrives.
pub(crate) const RESPONSE_TIME: Duration = Duration::from_secs(40);
/// Findings of a model or a proposal that are listed.
pub(crate) const LISTED_MAX: usize = 100;
