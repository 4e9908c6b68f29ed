//! A log of batches of rows: the minimum that makes a batch durable.
//!
//! ```text
//! record = length: u32 | checksum: u64 | length bytes of rows
//! row    = key: 16 bytes | body: 1024 bytes
//! ```
//!
//! Numbers are little-endian; the checksum is xxh3 of the rows' bytes. A record that ends too
//! early or does not match its checksum was torn by a crash: it and everything after it is ignored.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use twox_hash::XxHash3_64;

use crate::rows::{BODY_BYTES, KEY_BYTES};
use crate::{Outcome, Row, RowKey};

const HEADER_BYTES: usize = 12;
const ROW_BYTES: usize = KEY_BYTES + BODY_BYTES;

/// The active file. Its predecessors are removed once their rows are durable elsewhere.
#[derive(Debug)]
pub(crate) struct LogFile {
    directory: PathBuf,
    number: u64,
    file: File,
    len: u64,
    /// A buffer for the next record.
    record: Vec<u8>,
}

impl LogFile {
    /// Creates the next file of a directory.
    pub(crate) fn create(directory: &Path) -> Outcome<LogFile> {
        let number = numbers(directory)?.last().map_or(0, |last| last + 1);
        let path = path(directory, number);
        let file = OpenOptions::new().append(true).create_new(true).open(path)?;
        File::open(directory)?.sync_all()?;
        Ok(LogFile { directory: directory.to_owned(), number, file, len: 0, record: vec![] })
    }

    /// Appends rows as one record and syncs it.
    pub(crate) fn append<'a>(&mut self, rows: impl IntoIterator<Item = Row<'a>>) -> Outcome<()> {
        self.record.clear();
        self.record.resize(HEADER_BYTES, 0);
        for Row { key, body } in rows {
            self.record.extend_from_slice(key.bytes());
            self.record.extend_from_slice(body);
        }
        let (header, payload) = self.record.split_at_mut(HEADER_BYTES);
        header[..4].copy_from_slice(&u32::try_from(payload.len())?.to_le_bytes());
        header[4..].copy_from_slice(&XxHash3_64::oneshot(payload).to_le_bytes());
        self.file.write_all(&self.record)?;
        self.file.sync_data()?;
        self.len += self.record.len() as u64;
        Ok(())
    }

    /// Returns its length in bytes.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Starts a new file and removes the old ones, whose rows must be durable elsewhere.
    pub(crate) fn restart(&mut self) -> Outcome<()> {
        *self = LogFile::create(&self.directory)?;
        for number in numbers(&self.directory)? {
            if number < self.number {
                fs::remove_file(path(&self.directory, number))?;
            }
        }
        Ok(())
    }
}

/// Returns the payloads of all records in a directory's log, oldest first.
pub(crate) fn read_all(directory: &Path) -> Outcome<Vec<Vec<u8>>> {
    let mut payloads = vec![];
    for number in numbers(directory)? {
        let bytes = fs::read(path(directory, number))?;
        let mut rest = bytes.as_slice();
        while let Some((payload, after)) = next_record(rest) {
            payloads.push(payload.to_vec());
            rest = after;
        }
    }
    Ok(payloads)
}

/// Returns the rows of a record's payload.
pub(crate) fn rows(payload: &[u8]) -> impl Iterator<Item = Row<'_>> {
    payload.chunks_exact(ROW_BYTES).filter_map(|row| {
        let (key, body) = row.split_at_checked(KEY_BYTES)?;
        Some(Row { key: RowKey::from_bytes(key)?, body })
    })
}

fn next_record(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (header, rest) = bytes.split_at_checked(HEADER_BYTES)?;
    let len = u32::from_le_bytes(header[..4].try_into().ok()?);
    let checksum = u64::from_le_bytes(header[4..].try_into().ok()?);
    let (payload, after) = rest.split_at_checked(usize::try_from(len).ok()?)?;
    (XxHash3_64::oneshot(payload) == checksum).then_some((payload, after))
}

fn path(directory: &Path, number: u64) -> PathBuf {
    directory.join(format!("log-{number:06}"))
}

/// Returns the numbers of the log's files, ascending.
fn numbers(directory: &Path) -> Outcome<Vec<u64>> {
    let mut numbers = vec![];
    for entry in fs::read_dir(directory)? {
        let name = entry?.file_name();
        let number: Option<u64> =
            name.to_str().and_then(|name| name.strip_prefix("log-")?.parse().ok());
        numbers.extend(number);
    }
    numbers.sort_unstable();
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DataDirectory, Rows};

    #[test]
    fn a_torn_or_corrupt_record_ends_the_log() {
        let directory = DataDirectory::create(&std::env::temp_dir()).unwrap();
        let rows = Rows::new(3);
        let all: Vec<Row<'_>> = rows.all().collect();
        let mut log = LogFile::create(directory.path()).unwrap();
        log.append([all[0], all[1]]).unwrap();
        log.append([all[2]]).unwrap();
        let read = || {
            let payloads = read_all(directory.path()).unwrap();
            payloads.iter().map(|payload| super::rows(payload).count()).collect::<Vec<_>>()
        };
        assert_eq!(read(), [2, 1]);
        let file = path(directory.path(), 0);
        let whole = fs::read(&file).unwrap();
        fs::write(&file, &whole[..whole.len() - 1]).unwrap();
        assert_eq!(read(), [2]);
        let mut damaged = whole;
        damaged[HEADER_BYTES] ^= 1;
        fs::write(&file, damaged).unwrap();
        assert!(read().is_empty());
    }

    #[test]
    fn a_restarted_log_has_no_predecessors() {
        let directory = DataDirectory::create(&std::env::temp_dir()).unwrap();
        let rows = Rows::new(1);
        let mut log = LogFile::create(directory.path()).unwrap();
        log.append(rows.all()).unwrap();
        log.restart().unwrap();
        assert_eq!(log.len(), 0);
        assert_eq!(numbers(directory.path()).unwrap(), [1]);
    }
}
