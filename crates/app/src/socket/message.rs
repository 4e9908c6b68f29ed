//! Messages on the socket.

use std::io::{self, BufRead, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::operations::Report;

/// Maximum length of a message: an entity has at most 320 KB, and JSON may escape one byte as six; twice
/// over, because it is a string in a message.
const MESSAGE_BYTES_MAX: u64 = 8 << 20;

/// A request to run an operation.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Request {
    /// The version of the program that sends it: a server accepts only its own.
    pub(super) version: String,
    /// The name of the operation.
    pub(super) name: String,
    /// The operation.
    pub(super) operation: Json,
}

/// A message to the command.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Message {
    /// Sent while the operation runs.
    Report(Report),
    /// Sent at its end.
    Answer(Json),
    /// Sent at its end, if it failed.
    Error(String),
}

/// Writes a message. Does not flush.
pub(super) fn write(to: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *to, message)?;
    to.write_all(b"\n")
}

/// Reads the next message. Returns `None` at the end.
pub(super) fn read<T: DeserializeOwned>(from: &mut impl BufRead) -> io::Result<Option<T>> {
    let mut line = Vec::new();
    from.by_ref().take(MESSAGE_BYTES_MAX).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Ok(None);
    }
    if line.pop() != Some(b'\n') {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a message is incomplete"));
    }
    Ok(Some(serde_json::from_slice(&line)?))
}
