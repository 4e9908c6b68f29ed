//! The list of known functions and files over the length limit.
//!
//! An entry states the exact length, so it becomes wrong as soon as the code changes: it must then be
//! lowered or removed. Raising it is visible in review.

use super::{Finding, Workspace};

/// The file of the list.
pub(crate) const PATH: &str = "xtask/tidy-ratchet.txt";

/// Known exceptions to the length limits.
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

/// A function or file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// A whole file.
    File { path: String },
    /// The longest function of this name in a file.
    Function { path: String, name: String },
}

/// A function or file over its limit.
#[derive(Clone, Debug)]
pub(crate) struct Excess {
    pub(crate) subject: Subject,
    /// The line where it starts, from 1.
    pub(crate) line: usize,
    /// Its length.
    pub(crate) lines: usize,
    /// Its limit.
    pub(crate) limit: usize,
}

impl Ratchet {
    /// Reads the list, and reports lines that cannot be parsed.
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

    /// Reports functions and files that are longer than listed, and entries that are outdated.
    pub(crate) fn check(&self, excesses: &[Excess]) -> Vec<Finding> {
        let over = excesses.iter().filter_map(|excess| self.check_excess(excess));
        let stale = self.entries.iter().filter_map(|entry| entry.check(excesses));
        over.chain(stale).collect()
    }

    fn check_excess(&self, excess: &Excess) -> Option<Finding> {
        let Excess { subject, line, lines, limit } = excess;
        let listed = self.entries.iter().find(|entry| entry.subject == *subject);
        let message = match listed {
            None => format!(
                "{} has {lines} lines, the limit is {limit}: split it by what it does.",
                subject.description()
            ),
            Some(entry) if *lines > entry.lines => format!(
                "{} grew from {} to {lines} lines: it is over the limit of {limit} already and \
                 may only shrink.",
                subject.description(),
                entry.lines
            ),
            Some(_) => return None,
        };
        Some(Finding::new(subject.path(), *line, message))
    }
}

impl Entry {
    fn check(&self, excesses: &[Excess]) -> Option<Finding> {
        let message = match excesses.iter().find(|excess| excess.subject == self.subject) {
            None => {
                format!(
                    "{} is within the limit or was removed: remove the line.",
                    self.subject.description()
                )
            }
            Some(excess) if excess.lines < self.lines => format!(
                "{} has shrunk to {} lines: lower the number.",
                self.subject.description(),
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

    fn description(&self) -> String {
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

    /// Returns the findings about a function `open` of this length; `None` is within the limit.
    fn check(list: &str, lines: Option<usize>) -> Vec<String> {
        let (ratchet, unreadable) = Ratchet::read(&Workspace::sample(&[(PATH, list)]));
        let subject = Subject::Function { path: "a.rs".to_owned(), name: "open".to_owned() };
        let excess = lines.map(|lines| Excess { subject, line: 3, lines, limit: 70 });
        let findings = unreadable.into_iter().chain(ratchet.check(excess.as_slice()));
        findings.map(|finding| finding.to_string()).collect()
    }

    #[test]
    fn an_excess_at_exactly_its_listed_length_passes() {
        assert!(check("# why\n\nfunction a.rs open 80\n", Some(80)).is_empty());
    }

    #[test]
    fn everything_else_is_a_finding() {
        let entry = "function a.rs open 80\n";
        let cases = [
            ("", Some(80), "a.rs:3: function `open` has 80 lines, the limit is 70"),
            (entry, Some(81), "a.rs:3: function `open` grew from 80 to 81 lines"),
            (entry, Some(79), "xtask/tidy-ratchet.txt:1: function `open` has shrunk to 79"),
            (
                entry,
                None,
                "xtask/tidy-ratchet.txt:1: function `open` is within the limit or was removed",
            ),
            ("open 80\n", None, "xtask/tidy-ratchet.txt:1: write `file <path> <lines>`"),
        ];
        for (list, lines, expected) in cases {
            let found = check(list, lines);
            assert_eq!(found.len(), 1, "{expected}: {found:?}");
            assert!(found[0].starts_with(expected), "{found:?}");
        }
    }
}
