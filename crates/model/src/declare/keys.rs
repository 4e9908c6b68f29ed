//! Reads tables: checks which keys they have and of what kind their values are.

use std::collections::BTreeMap;

use crate::declared::DeclaredTest;
use crate::error::{Code, Report, Reporter};
use crate::parse::{Entry, Node, NodeKind};
use crate::source::{Span, Word};

/// The known keys of a table. Unknown keys have been reported.
pub(crate) struct Keys<'e> {
    entries: BTreeMap<&'e str, &'e Entry>,
}

impl<'e> Keys<'e> {
    /// `what` describes the table in messages; `known` are its keys.
    pub(crate) fn read(
        entries: &'e [Entry],
        (what, known): (&str, &[&str]),
        reporter: &mut Reporter<'_>,
    ) -> Keys<'e> {
        let mut found = BTreeMap::new();
        for entry in entries {
            let name = entry.key.text.as_str();
            if known.contains(&name) {
                found.insert(name, entry);
                continue;
            }
            let reason = format!("{what} has no key `{name}`");
            let help = reporter.suggest(name, "its keys are", known.iter().copied());
            let span = entry.key.span;
            reporter.push(Report { code: Code::UnknownKey, span, reason, help });
        }
        Keys { entries: found }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&'e Entry> {
        self.entries.get(name).copied()
    }

    /// Returns a required key; `what` and `span` are of the table.
    pub(crate) fn require(
        &self,
        name: &str,
        (what, span): (&str, Span),
        reporter: &mut Reporter<'_>,
    ) -> Option<&'e Entry> {
        let found = self.get(name);
        if found.is_none() {
            reporter.report(Code::MissingKey, span, format!("{what} must have the key `{name}`"));
        }
        found
    }

    /// The entries of the table under this key; empty if the key is absent.
    pub(crate) fn table(&self, name: &str, reporter: &mut Reporter<'_>) -> &'e [Entry] {
        self.get(name).and_then(|entry| table(entry, reporter)).unwrap_or(&[])
    }

    pub(crate) fn text(&self, name: &str, reporter: &mut Reporter<'_>) -> Option<Word> {
        self.get(name).and_then(|entry| text(entry, reporter))
    }

    /// One name or a list of names; empty if the key is absent.
    pub(crate) fn words(&self, name: &str, reporter: &mut Reporter<'_>) -> Vec<Word> {
        let Some(entry) = self.get(name) else { return vec![] };
        if let NodeKind::Text(word) = &entry.node.kind {
            return vec![word.clone()];
        }
        let Some(nodes) =
            list((&entry.key.text, &entry.node), "a name or a list of names", reporter)
        else {
            return vec![];
        };
        if nodes.is_empty() {
            let reason = format!("`{name}` is empty");
            let help = "name a field, or leave the key out";
            reporter.push(Report::new(Code::Empty, entry.node.span, reason).help(help));
        }
        nodes.iter().filter_map(|node| word((&entry.key.text, node), reporter)).collect()
    }

    /// The tests of `where`.
    pub(crate) fn filter(&self, reporter: &mut Reporter<'_>) -> Vec<DeclaredTest> {
        let test =
            |entry: &Entry| DeclaredTest { field: entry.key.clone(), value: entry.node.clone() };
        self.table("where", reporter).iter().map(test).collect()
    }

    /// The span of `true`, if that is the value.
    pub(crate) fn flag(&self, name: &str, reporter: &mut Reporter<'_>) -> Option<Span> {
        let entry = self.get(name)?;
        match entry.node.kind {
            NodeKind::Bool(value) => value.then_some(entry.node.span),
            _ => {
                wrong_kind((&entry.key.text, &entry.node), "true or false", reporter);
                None
            }
        }
    }
}

pub(crate) fn table<'e>(entry: &'e Entry, reporter: &mut Reporter<'_>) -> Option<&'e [Entry]> {
    match &entry.node.kind {
        NodeKind::Table(entries) => Some(entries),
        _ => {
            wrong_kind((&entry.key.text, &entry.node), "a table", reporter);
            None
        }
    }
}

pub(crate) fn text(entry: &Entry, reporter: &mut Reporter<'_>) -> Option<Word> {
    word((&entry.key.text, &entry.node), reporter)
}

/// The text of a value; `key` is for the message.
pub(crate) fn word((key, node): (&str, &Node), reporter: &mut Reporter<'_>) -> Option<Word> {
    match &node.kind {
        NodeKind::Text(word) => Some(word.clone()),
        _ => {
            wrong_kind((key, node), "text", reporter);
            None
        }
    }
}

pub(crate) fn list<'e>(
    (key, node): (&str, &'e Node),
    expected: &str,
    reporter: &mut Reporter<'_>,
) -> Option<&'e [Node]> {
    match &node.kind {
        NodeKind::List(nodes) => Some(nodes),
        _ => {
            wrong_kind((key, node), expected, reporter);
            None
        }
    }
}

pub(crate) fn wrong_kind((key, node): (&str, &Node), expected: &str, reporter: &mut Reporter<'_>) {
    let reason = format!("`{key}` takes {expected}, and this is {}", node.kind.describe());
    reporter.report(Code::WrongKind, node.span, reason);
}
