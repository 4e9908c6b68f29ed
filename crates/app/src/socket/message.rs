//! What goes over the socket.

use std::io::{self, BufRead, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::operations::Told;

/// As many bytes as a message can have: an entity has at most 320 KB, and JSON may take six bytes
/// for one, twice over because it is a text in a message.
const MESSAGE_BYTES_MAX: u64 = 8 << 20;

/// What is asked for.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Request {
    /// The version of the program that asks: only one of the same version is understood.
    pub(super) version: String,
    /// The name of the operation.
    pub(super) name: String,
    /// The operation.
    pub(super) operation: Json,
}

/// What is said in return.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Message {
    /// While it runs.
    Told(Told),
    /// At its end.
    Answer(Json),
    /// At its end, if it failed.
    Error(String),
}

/// Writes a message, perhaps into a buffer.
pub(super) fn write(to: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *to, message)?;
    to.write_all(b"\n")
}

/// Reads the next message; none at the end.
pub(super) fn read<T: DeserializeOwned>(from: &mut impl BufRead) -> io::Result<Option<T>> {
    let mut line = Vec::new();
    from.by_ref().take(MESSAGE_BYTES_MAX).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Ok(None);
    }
    if line.pop() != Some(b'\n') {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a message has no end"));
    }
    Ok(Some(serde_json::from_slice(&line)?))
}
