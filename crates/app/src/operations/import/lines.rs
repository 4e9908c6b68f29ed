//! Reading lines. Refuses those that no entity can have: too long, not UTF-8, no JSON.

use std::io::{BufRead, Read};

use keyloom::{Entry, Error};

use crate::operations::Input;

use super::producer::{NobodyListens, Numbered, Producer};
use super::summary::Problem;

/// As many bytes as a line can have: an entity has at most 320 KB, and JSON may take six bytes
/// for one.
const LINE_BYTES_MAX: u64 = 4 << 20;

/// Reads all lines and sends what is in them, until nobody listens.
pub(super) fn read(mut lines: Input, to: &mut Producer) -> Result<(), NobodyListens> {
    let (mut text, mut line) = (Vec::new(), 0);
    loop {
        line += 1;
        let entry = match next_line(&mut *lines, &mut text) {
            Ok(Line::End) => return Ok(()),
            Ok(Line::Whole) if text.trim_ascii().is_empty() => {
                to.done += text.len() as u64;
                continue;
            }
            Ok(Line::Whole) => Entry::from_json(text.trim_ascii_end()).map_err(no_entry),
            Ok(Line::TooLong) => Err(format!(
                "The line has more than {} MiB, and no entity is that large.",
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

/// Why a line holds no entry. Which line it is, is told anyway.
fn no_entry(error: Error) -> String {
    let Error::Document(error) = error else { return error.to_string() };
    let reason = error.to_string();
    let reason = reason.strip_prefix("line 1, ").unwrap_or(&reason);
    format!("This is no JSON of an entry: {}.", reason.trim_end_matches('.'))
}

enum Line {
    Whole,
    /// Its end was passed over.
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
        let passed = end.map_or(rest.len(), |end| end + 1);
        lines.consume(passed);
        if end.is_some() || passed == 0 {
            return Ok(Line::TooLong);
        }
    }
}
