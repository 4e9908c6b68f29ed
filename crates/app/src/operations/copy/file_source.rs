//! A file as the source of a copy. A segment is a range of bytes; a line belongs to the one in which it
//! begins.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use keyloom::copy::{CopyFrom, CopyPage, CopyRow, Heading, Segment, Summary, summarize};
use keyloom::{Answer, Error, Item, Value};

use super::file_format::{Header, Line};

/// The number of lines to read for a page.
const PAGE_LINES: usize = 1000;
/// The longest last line: a kind takes less than a kilobyte.
const END_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// The attribute of a position.
const OFFSET: &str = "offset";

/// A file with a copy.
pub(super) struct FileSource {
    path: PathBuf,
    header: Header,
    identity: String,
    /// The bytes between the first line and the last one.
    start: u64,
    end: u64,
    rows_total: Option<u64>,
}

impl FileSource {
    /// Opens a complete file, and checks all of it.
    pub(super) async fn open(path: &Path) -> Result<FileSource, String> {
        let wrong = |why: String| format!("{} {why}.", path.display());
        let io = |error: std::io::Error| wrong(format!("cannot be read: {error}"));
        let mut file = BufReader::new(File::open(path).map_err(io)?);
        let mut first = String::new();
        file.read_line(&mut first)
            .map_err(|_| wrong("is not a copy that `keyloom copy` wrote".into()))?;
        let header = Header::read(first.trim_end()).map_err(wrong)?;
        let (expected, end) = read_end(&mut file)
            .map_err(io)?
            .ok_or_else(|| wrong("is incomplete: its end is missing. Copy again".to_owned()))?;
        let start = first.len() as u64;
        let mut source = FileSource::of(path, header, (start, end));
        let summary = source.summary().await.map_err(|error| error.to_string())?;
        if source.header.end(&summary) != expected {
            return Err(wrong("is damaged: its lines are not those that were written".to_owned()));
        }
        let sum = summary.kinds().fold(0_u128, |sum, (_, tally)| sum.wrapping_add(tally.sum));
        source.identity = format!("{}@{sum:032x}", source.identity);
        source.rows_total = Some(summary.kinds().map(|(_, tally)| tally.rows).sum());
        Ok(source)
    }

    /// The lines of a file between two offsets.
    pub(super) fn of(path: &Path, header: Header, (start, end): (u64, u64)) -> FileSource {
        let identity = header.heading.database();
        FileSource { path: path.to_owned(), header, identity, start, end, rows_total: None }
    }

    pub(super) fn tokens(&self) -> &[Item] {
        &self.header.tokens
    }

    /// Sums up all rows.
    pub(super) async fn summary(&self) -> Result<Summary, Error> {
        summarize(self, i64::MIN, &|_| {}).await
    }

    /// Reads lines of a segment from an offset on.
    fn read(&self, segment: Segment, from: Option<u64>) -> std::io::Result<CopyPage> {
        let bytes = u128::from(self.end - self.start);
        let border = |number: u32| {
            let offset = bytes * u128::from(number) / u128::from(segment.of.max(1));
            self.start + u64::try_from(offset).unwrap_or(u64::MAX)
        };
        let (begin, end) = (border(segment.number), border(segment.number + 1));
        let mut file = File::open(&self.path)?;
        let mut offset = match from {
            Some(offset) => offset,
            None if begin == self.start => begin,
            None => {
                // The line before may reach into the segment.
                file.seek(SeekFrom::Start(begin - 1))?;
                begin - 1 + BufReader::new(&mut file).skip_until(b'\n')? as u64
            }
        };
        file.seek(SeekFrom::Start(offset))?;
        let mut file = BufReader::with_capacity(1 << 20, file);
        let mut page = CopyPage::default();
        let mut line = String::new();
        while offset < end && page.rows.len() < PAGE_LINES {
            line.clear();
            offset += file.read_line(&mut line)? as u64;
            match Line::read(line.trim_end()) {
                Some(Line::Row(row)) => {
                    page.rows.push(CopyRow { row, position: position(offset) });
                }
                Some(Line::Position(_)) => {}
                Some(Line::End(_)) | None => {
                    let what = format!("the line that ends at byte {offset} is damaged");
                    return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, what));
                }
            }
        }
        page.read = page.rows.len() as u64;
        page.next = (offset < end).then(|| position(offset));
        Ok(page)
    }
}

/// Returns the last line of a complete file, and where it begins.
fn read_end(file: &mut BufReader<File>) -> std::io::Result<Option<(Item, u64)>> {
    let len = file.seek(SeekFrom::End(0))?;
    let from = len.saturating_sub(END_BYTES_MAX);
    file.seek(SeekFrom::Start(from))?;
    let mut tail = vec![];
    file.read_to_end(&mut tail)?;
    let Some((b'\n', lines)) = tail.split_last() else { return Ok(None) };
    let begin = lines.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let line = std::str::from_utf8(&lines[begin..]).ok().and_then(Line::read);
    Ok(match line {
        Some(Line::End(summary)) => Some((summary, from + begin as u64)),
        Some(Line::Row(_) | Line::Position(_)) | None => None,
    })
}

fn position(offset: u64) -> Item {
    Item::from([(OFFSET, Value::from(offset))])
}

fn offset(position: &Item) -> Option<u64> {
    u64::try_from(position.get(OFFSET)?.as_n()?.to_i64()?).ok()
}

impl CopyFrom for FileSource {
    fn heading(&self) -> &Heading {
        &self.header.heading
    }

    fn identity(&self) -> &str {
        &self.identity
    }

    fn rows_total(&self) -> Option<u64> {
        self.rows_total
    }

    fn page<'a>(&'a self, segment: Segment, after: Option<&'a Item>) -> Answer<'a, CopyPage> {
        Box::pin(async move {
            let page = self.read(segment, after.and_then(offset));
            page.map_err(|error| Error::Copy {
                reason: format!("{} cannot be read: {error}.", self.path.display()),
            })
        })
    }
}
