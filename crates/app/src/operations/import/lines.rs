//! Reading lines. Rejects lines that cannot hold an entity: too long, not UTF-8, not JSON.

use std::io::{BufRead, Read};

use keyloom::{Entry, Error};

use crate::operations::Input;

use super::producer::{Numbered, Producer, ReceiverClosed};
use super::summary::Problem;

/// Maximum length of a line: an entity has at most 320 KB, and JSON may escape one byte as six.
const LINE_BYTES_MAX: u64 = 4 << 20;

/// Reads all lines and sends their entries, until the receiver is closed.
pub(super) fn read(mut lines: Input, to: &mut Producer) -> Result<(), ReceiverClosed> {
    let (mut text, mut line) = (Vec::new(), 0);
    loop {
        line += 1;
        let entry = match next_line(&mut *lines, &mut text) {
            Ok(Line::End) => return Ok(()),
            Ok(Line::Whole) if text.trim_ascii().is_empty() => {
                to.done += text.len() as u64;
                continue;
            }
            Ok(Line::Whole) => Entry::from_json(text.trim_ascii_end()).map_err(invalid_entry),
            Ok(Line::TooLong) => Err(format!(
                "The line exceeds {} MiB, more than any entity can have.",
                LINE_BYTES_MAX >> 20
            )),
            Err(error) => return to.unreadable(format!("line {line} cannot be read: {error}.")),
        };
        match entry {
            Ok(entry) => to.entry(Numbered { line, bytes: text.len(), entry })?,
            Err(reason) => to.bad(Problem { line, reason })?,
        }
        to.done += text.len() as u64;
    }
}

/// Why a line is not an entry, without the line number, which the caller adds.
fn invalid_entry(error: Error) -> String {
    let Error::Document(error) = error else { return error.to_string() };
    let reason = error.to_string();
    let reason = reason.strip_prefix("line 1, ").unwrap_or(&reason);
    format!("Invalid entry: {}.", reason.trim_end_matches('.'))
}

enum Line {
    Whole,
    /// Its remainder was skipped.
    TooLong,
    End,
}

fn next_line(lines: &mut dyn BufRead, text: &mut Vec<u8>) -> std::io::Result<Line> {
    text.clear();
    if Read::take(&mut *lines, LINE_BYTES_MAX).read_until(b'\n', text)? == 0 {
        return Ok(Line::End);
    }
    let is_whole = text.ends_with(b"\n") || (text.len() as u64) < LINE_BYTES_MAX;
    if is_whole {
        return Ok(Line::Whole);
    }
    loop {
        let rest = lines.fill_buf()?;
        let end = rest.iter().position(|byte| *byte == b'\n');
        let skipped = end.map_or(rest.len(), |end| end + 1);
        lines.consume(skipped);
        if end.is_some() || skipped == 0 {
            return Ok(Line::TooLong);
        }
    }
}
