//! The list of what is longer than the budget and known to be.
//!
//! An entry states the exact length, so it is wrong as soon as the code changes: it must then go
//! down or away. Putting it up is a change a reviewer sees.

use super::{Finding, Workspace};

/// Where the list lives.
pub(crate) const PATH: &str = "xtask/tidy-ratchet.txt";

/// What may be longer than the budget.
#[derive(Debug, Default)]
pub(crate) struct Ratchet {
    entries: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    /// The line in the list, from 1.
    line: usize,
    subject: Subject,
    lines: usize,
}

/// What a length is the length of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// A whole file.
    File { path: String },
    /// The longest function of this name in a file.
    Function { path: String, name: String },
}

/// Something longer than its budget.
#[derive(Clone, Debug)]
pub(crate) struct Excess {
    pub(crate) subject: Subject,
    /// Where it begins, from 1.
    pub(crate) line: usize,
    /// How long it is.
    pub(crate) lines: usize,
    /// How long it should be, at most.
    pub(crate) budget: usize,
}

impl Ratchet {
    /// Reads the list; also says which of its lines cannot be read.
    pub(crate) fn read(workspace: &Workspace) -> (Ratchet, Vec<Finding>) {
        let mut ratchet = Ratchet::default();
        let mut findings = vec![];
        let text = workspace.text(PATH).map_or("", |file| &file.text);
        for (index, content) in text.lines().enumerate() {
            if content.trim().is_empty() || content.starts_with('#') {
                continue;
            }
            match parse(content, index + 1) {
                Some(entry) => ratchet.entries.push(entry),
                None => findings.push(Finding::new(PATH, index + 1, UNREADABLE)),
            }
        }
        (ratchet, findings)
    }

    /// Complains about what is too long and not listed as that long, and about entries that are
    /// no longer true.
    pub(crate) fn judge(&self, excesses: &[Excess]) -> Vec<Finding> {
        let over = excesses.iter().filter_map(|excess| self.judge_excess(excess));
        let stale = self.entries.iter().filter_map(|entry| entry.judge(excesses));
        over.chain(stale).collect()
    }

    fn judge_excess(&self, excess: &Excess) -> Option<Finding> {
        let Excess { subject, line, lines, budget } = excess;
        let listed = self.entries.iter().find(|entry| entry.subject == *subject);
        let message = match listed {
            None => format!(
                "{} has {lines} lines, the budget is {budget}: split it by what it does.",
                subject.words()
            ),
            Some(entry) if *lines > entry.lines => format!(
                "{} grew from {} to {lines} lines: it is over the budget of {budget} already and \
                 may only shrink.",
                subject.words(),
                entry.lines
            ),
            Some(_) => return None,
        };
        Some(Finding::new(subject.path(), *line, message))
    }
}

impl Entry {
    fn judge(&self, excesses: &[Excess]) -> Option<Finding> {
        let message = match excesses.iter().find(|excess| excess.subject == self.subject) {
            None => {
                format!("{} fits the budget or is gone: remove the line.", self.subject.words())
            }
            Some(excess) if excess.lines < self.lines => format!(
                "{} has shrunk to {} lines: lower the number.",
                self.subject.words(),
                excess.lines
            ),
            Some(_) => return None,
        };
        Some(Finding::new(PATH, self.line, message))
    }
}

impl Subject {
    fn path(&self) -> &str {
        match self {
            Subject::File { path } | Subject::Function { path, .. } => path,
        }
    }

    fn words(&self) -> String {
        match self {
            Subject::File { path } => format!("file `{path}`"),
            Subject::Function { name, .. } => format!("function `{name}`"),
        }
    }
}

const UNREADABLE: &str =
    "write `file <path> <lines>` or `function <path> <name> <lines>`, or a comment after `#`.";

fn parse(content: &str, line: usize) -> Option<Entry> {
    let words: Vec<&str> = content.split_whitespace().collect();
    let (subject, lines) = match words.as_slice() {
        ["file", path, lines] => (Subject::File { path: (*path).to_owned() }, lines),
        ["function", path, name, lines] => {
            (Subject::Function { path: (*path).to_owned(), name: (*name).to_owned() }, lines)
        }
        _ => return None,
    };
    Some(Entry { line, subject, lines: lines.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The complaints about a function `open` of this length, if it is over the budget at all.
    fn judge(list: &str, lines: Option<usize>) -> Vec<String> {
        let (ratchet, unreadable) = Ratchet::read(&Workspace::sample(&[(PATH, list)]));
        let subject = Subject::Function { path: "a.rs".to_owned(), name: "open".to_owned() };
        let excess = lines.map(|lines| Excess { subject, line: 3, lines, budget: 70 });
        let findings = unreadable.into_iter().chain(ratchet.judge(excess.as_slice()));
        findings.map(|finding| finding.to_string()).collect()
    }

    #[test]
    fn an_excess_at_exactly_its_listed_length_passes() {
        assert!(judge("# why\n\nfunction a.rs open 80\n", Some(80)).is_empty());
    }

    #[test]
    fn everything_else_is_a_complaint() {
        let entry = "function a.rs open 80\n";
        let cases = [
            ("", Some(80), "a.rs:3: function `open` has 80 lines, the budget is 70"),
            (entry, Some(81), "a.rs:3: function `open` grew from 80 to 81 lines"),
            (entry, Some(79), "xtask/tidy-ratchet.txt:1: function `open` has shrunk to 79"),
            (entry, None, "xtask/tidy-ratchet.txt:1: function `open` fits the budget or is gone"),
            ("open 80\n", None, "xtask/tidy-ratchet.txt:1: write `file <path> <lines>`"),
        ];
        for (list, lines, expected) in cases {
            let found = judge(list, lines);
            assert_eq!(found.len(), 1, "{expected}: {found:?}");
            assert!(found[0].starts_with(expected), "{found:?}");
        }
    }
}
