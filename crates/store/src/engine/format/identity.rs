//! The text files that identify a directory: the format file of a store, the mark of a store that
//! is being created, and the description of an incremental backup. Each is accepted only byte for
//! byte as it is written: anything else is not ours, or damaged.
//!
//! ```text
//! keyloom data directory           keyloom data directory, unfinished   keyloom incremental backup
//! format 5                         store 00c0ffee00c0ffee               format 5
//! store 00c0ffee00c0ffee                                                store 00c0ffee00c0ffee
//! history 0123456789abcdef 1a2b3c4d                                     after 17
//!                                                                       commit 42
//!                                                                       frame 00c0ffee00c0ffee
//! ```

use twox_hash::XxHash3_64;

use super::{CommitNo, FORMAT_VERSION};

/// The last line of the format file of a backup that was never written to.
const BACKUP_LINE: &str = "backup";

/// Distinguishes the commits of a store from those of its copies. A backup has the same store id
/// and commit numbers as its origin; once it is written to, the same numbers refer to other
/// commits, and it gets a history of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum History {
    /// That of a backup. It ends where the backup was made, until the backup is opened for writing.
    Ended,
    /// The one with this id.
    Id(u64),
}

/// The content of a store's format file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) store: u64,
    pub(crate) history: History,
}

/// The content of the mark of a store that is being created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unfinished {
    pub(crate) store: u64,
}

/// The description of an incremental backup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Increment {
    pub(crate) store: u64,
    pub(crate) after: CommitNo,
    /// Its last commit.
    pub(crate) last: CommitNo,
    /// The checksum of the frame that holds this commit; `None` if the log no longer had it.
    pub(crate) frame: Option<u64>,
}

impl Identity {
    /// Returns the text for some store, for messages.
    pub(crate) fn example() -> String {
        format_text("…")
    }

    pub(crate) fn encode(self) -> String {
        format_text(&format!("{:016x}", self.store)) + &self.history_line()
    }

    pub(crate) fn decode(text: &str) -> Option<Identity> {
        let head = format_text("");
        let (store, line) = text.strip_prefix(head.trim_end_matches('\n'))?.split_once('\n')?;
        let store = number(store)?;
        let named = line.strip_prefix("history ").and_then(|rest| number(rest.get(..16)?));
        let history = match line.trim_end_matches('\n') {
            BACKUP_LINE => History::Ended,
            _ => History::Id(named.unwrap_or(store)),
        };
        let identity = Identity { store, history };
        (identity.encode() == text).then_some(identity)
    }

    /// A store's history has the store's id unless this line names another. The id comes with a
    /// checksum because nothing else in the directory repeats it.
    fn history_line(self) -> String {
        match self.history {
            History::Ended => format!("{BACKUP_LINE}\n"),
            History::Id(number) if number == self.store => String::new(),
            History::Id(number) => {
                let check = XxHash3_64::oneshot_with_seed(self.store, &number.to_be_bytes()) as u32;
                format!("history {number:016x} {check:08x}\n")
            }
        }
    }
}

impl Unfinished {
    pub(crate) fn encode(self) -> String {
        format!("keyloom data directory, unfinished\nstore {:016x}\n", self.store)
    }

    pub(crate) fn decode(text: &str) -> Option<Unfinished> {
        let store = number(text.lines().nth(1)?.strip_prefix("store ")?)?;
        let unfinished = Unfinished { store };
        (unfinished.encode() == text).then_some(unfinished)
    }
}

impl Increment {
    pub(crate) fn encode(self) -> String {
        let Increment { store, after, last, frame } = self;
        let frame = frame.map_or_else(|| "none".to_owned(), |frame| format!("{frame:016x}"));
        format!(
            "keyloom incremental backup\nformat {FORMAT_VERSION}\nstore {store:016x}\nafter {}\n\
             commit {}\nframe {frame}\n",
            after.0, last.0
        )
    }

    pub(crate) fn decode(text: &str) -> Option<Increment> {
        let mut lines = text.lines().skip(2);
        let mut value = |name| lines.next()?.strip_prefix(name)?.strip_prefix(' ');
        let store = number(value("store")?)?;
        let after = CommitNo(value("after")?.parse().ok()?);
        let last = CommitNo(value("commit")?.parse().ok()?);
        let frame = match value("frame")? {
            "none" => None,
            frame => Some(number(frame)?),
        };
        let increment = Increment { store, after, last, frame };
        (increment.encode() == text).then_some(increment)
    }
}

fn format_text(store: &str) -> String {
    format!("keyloom data directory\nformat {FORMAT_VERSION}\nstore {store}\n")
}

fn number(text: &str) -> Option<u64> {
    if text.len() == 16 { u64::from_str_radix(text, 16).ok() } else { None }
}
