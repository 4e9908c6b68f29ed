//! A file as the target of a copy. Until it is complete it has another name. After each page it says how
//! much of the source is written; an interrupted copy continues after the last such line.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use keyloom::copy::{
    CopyFrom, CopyPage, CopyProgress, CopyStep, OnProgress, Segment, Summary, summarize,
};
use keyloom::{Clock, Item, SystemClock};

use super::end::Source;
use super::file_format::{Header, Line};
use super::file_source::FileSource;

/// A file that is being written.
pub(super) struct FileTarget {
    path: PathBuf,
    partial: PathBuf,
    header: Header,
    file: File,
    /// The length of the first line.
    start: u64,
    reached: Reached,
}

/// How much of the source is written.
#[derive(Clone, Debug, PartialEq)]
enum Reached {
    Nothing,
    /// Everything up to a position.
    Position(Item),
    All,
}

/// All of the source.
const ALL: Segment = Segment { number: 0, of: 1 };

impl FileTarget {
    /// Begins a file, or continues an unfinished one of the same source.
    pub(super) fn begin(source: &Source, path: &Path) -> Result<FileTarget, String> {
        if path.exists() {
            return Err(format!("{} exists: choose another name.", path.display()));
        }
        let mut partial = path.as_os_str().to_owned();
        partial.push(".partial");
        let partial = PathBuf::from(partial);
        let rows = source.rows();
        let header = Header {
            source: rows.identity().to_owned(),
            heading: rows.heading().clone(),
            tokens: source.tokens().to_vec(),
        };
        let io = |error: std::io::Error| failed(&partial, &error);
        let begun = match partial.exists() {
            true => continued(&partial, &header).map_err(io)?,
            false => None,
        };
        let (start, reached, len) = match begun {
            Some(begun) => begun,
            None if has_first_line(&partial).map_err(io)? => {
                return Err(format!(
                    "{} is an unfinished copy of another source, or of this one before it was changed: \
                     remove it and copy again.",
                    partial.display()
                ));
            }
            None => {
                let line = header.to_line() + "\n";
                std::fs::write(&partial, &line).map_err(io)?;
                let len = line.len() as u64;
                (len, Reached::Nothing, len)
            }
        };
        let file = OpenOptions::new().append(true).open(&partial).map_err(io)?;
        // What follows was not complete when the copy was interrupted.
        file.set_len(len).map_err(io)?;
        Ok(FileTarget { path: path.to_owned(), partial, header, file, start, reached })
    }

    /// Writes everything that is missing, and checks the file against the source.
    pub(super) async fn write(
        self,
        source: &Source,
        on_progress: OnProgress<'_>,
    ) -> Result<Summary, String> {
        self.fill(source.rows(), on_progress).await?;
        let summary = self.check(source.rows(), on_progress).await?;
        let io = |error: std::io::Error| failed(&self.partial, &error);
        let all = self.written().map_err(io)?.summary().await.map_err(|error| error.to_string())?;
        let end = Line::End(self.header.end(&all)).to_text() + "\n";
        (&self.file).write_all(end.as_bytes()).map_err(io)?;
        self.file.sync_all().map_err(io)?;
        std::fs::rename(&self.partial, &self.path).map_err(|error| failed(&self.path, &error))?;
        Ok(summary)
    }

    async fn fill(&self, from: &dyn CopyFrom, on_progress: OnProgress<'_>) -> Result<(), String> {
        let mut after = match &self.reached {
            Reached::All => return Ok(()),
            Reached::Nothing => None,
            Reached::Position(after) => Some(after.clone()),
        };
        let mut rows = 0;
        loop {
            let page = from.page(ALL, after.as_ref()).await.map_err(|error| error.to_string())?;
            self.append(&page).map_err(|error| failed(&self.partial, &error))?;
            rows += page.read;
            on_progress(CopyProgress::new(CopyStep::Copying, rows, from.rows_total()));
            match page.next {
                None => return Ok(()),
                next => after = next,
            }
        }
    }

    /// Appends a page, and the position after it.
    fn append(&self, page: &CopyPage) -> std::io::Result<()> {
        let mut text = String::new();
        for row in &page.rows {
            text += &Line::Row(row.row.clone()).to_text();
            text.push('\n');
        }
        text += &Line::Position(page.next.clone()).to_text();
        text.push('\n');
        (&self.file).write_all(text.as_bytes())
    }

    /// Compares the file with the source.
    async fn check(
        &self,
        from: &dyn CopyFrom,
        on_progress: OnProgress<'_>,
    ) -> Result<Summary, String> {
        let said = |error: keyloom::Error| error.to_string();
        let written = self.written().map_err(|error| failed(&self.partial, &error))?;
        let now_ms = i64::try_from(SystemClock.now().0).unwrap_or(i64::MAX);
        let (read, total) = (AtomicU64::new(0), from.rows_total());
        let on_read = |rows: u64| {
            let rows = rows + read.fetch_add(rows, Ordering::Relaxed);
            on_progress(CopyProgress::new(CopyStep::Comparing, rows, total));
        };
        let expected = summarize(from, now_ms, &on_read).await.map_err(said)?;
        let found = summarize(&written, now_ms, &|_| {}).await.map_err(said)?;
        let differences = expected.differences(&found);
        match differences.is_empty() {
            true => Ok(found),
            false => Err(format!(
                "source and file differ: {}. The source was written while it was copied. Remove {} and \
                 copy again while nothing writes to the source.",
                differences.join(", "),
                self.partial.display()
            )),
        }
    }

    /// The file as far as it is written.
    fn written(&self) -> std::io::Result<FileSource> {
        let end = self.partial.metadata()?.len();
        Ok(FileSource::of(&self.partial, self.header.clone(), (self.start, end)))
    }
}

/// An unfinished file: the length of its first line, how much of the source it has, and how much of the
/// file is complete.
type Begun = (u64, Reached, u64);

/// Reads an unfinished file; none if it is of another source.
fn continued(partial: &Path, wanted: &Header) -> std::io::Result<Option<Begun>> {
    let mut file = BufReader::new(File::open(partial)?);
    let mut line = String::new();
    let start = file.read_line(&mut line)? as u64;
    if Header::read(line.trim_end()).as_ref() != Ok(wanted) {
        return Ok(None);
    }
    let (mut offset, mut complete, mut reached) = (start, start, Reached::Nothing);
    loop {
        line.clear();
        // The rest of a page that was not written to its end is written again.
        let Ok(bytes @ 1..) = file.read_line(&mut line) else { break };
        offset += bytes as u64;
        match line.strip_suffix('\n').and_then(Line::read) {
            Some(Line::Row(_)) => {}
            Some(Line::Position(after)) => {
                reached = after.map_or(Reached::All, Reached::Position);
                complete = offset;
            }
            Some(Line::End(_)) | None => break,
        }
    }
    Ok(Some((start, reached, complete)))
}

/// Whether an unfinished file has a complete first line. Without, nothing is lost if it is written again.
fn has_first_line(partial: &Path) -> std::io::Result<bool> {
    if !partial.exists() {
        return Ok(false);
    }
    let mut line = vec![];
    BufReader::new(File::open(partial)?).read_until(b'\n', &mut line)?;
    Ok(line.ends_with(b"\n"))
}

fn failed(path: &Path, error: &std::io::Error) -> String {
    format!("cannot write {}: {error}.", path.display())
}
