//! Reads tables: checks which keys they have and of what kind their values are.

use std::collections::BTreeMap;

use super::keyed_value::KeyedValue;
use super::limit::{DECLARATIONS_MAX, Limit, Spanned};
use crate::declared::DeclaredTest;
use crate::error::{Code, Report, Reporter};
use crate::parse::{Entry, Node, NodeKind};
use crate::source::{Span, Word};

/// A kind of table of a model file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableKind {
    /// What messages call it.
    pub what: &'static str,
    /// The keys that it can have.
    pub keys: &'static [&'static str],
}

/// The known keys of a table. Unknown keys have been reported.
pub(crate) struct Keys<'e> {
    what: &'static str,
    entries: BTreeMap<&'e str, &'e Entry>,
}

/// A table that is the value of a name.
pub(crate) struct NamedTable<'e> {
    pub(crate) name: &'e Word,
    pub(crate) entries: &'e [Entry],
}

impl Spanned for NamedTable<'_> {
    fn span(&self) -> Span {
        self.name.span
    }
}

impl<'e> Keys<'e> {
    pub(crate) fn read(
        entries: &'e [Entry],
        kind: &TableKind,
        reporter: &mut Reporter<'_>,
    ) -> Keys<'e> {
        let TableKind { what, keys: known } = *kind;
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
        Keys { what, entries: found }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&'e Entry> {
        self.entries.get(name).copied()
    }

    /// Returns the value of a key, whatever it is.
    pub(crate) fn node(&self, name: &str) -> Option<Node> {
        self.get(name).map(|entry| entry.node.clone())
    }

    /// Returns a required key; `span` is the table's.
    pub(crate) fn require(
        &self,
        name: &str,
        span: Span,
        reporter: &mut Reporter<'_>,
    ) -> Option<&'e Entry> {
        let found = self.get(name);
        if found.is_none() {
            let reason = format!("{} must have the key `{name}`", self.what);
            reporter.report(Code::MissingKey, span, reason);
        }
        found
    }

    /// The entries of the table under this key; empty if the key is absent.
    pub(crate) fn table(&self, name: &str, reporter: &mut Reporter<'_>) -> &'e [Entry] {
        self.get(name).and_then(|entry| table(entry, reporter)).unwrap_or(&[])
    }

    /// The entries of the table of texts under this key.
    pub(crate) fn texts(
        &self,
        name: &str,
        limit: Limit<'_>,
        reporter: &mut Reporter<'_>,
    ) -> Vec<(Word, Word)> {
        let mut texts = vec![];
        for entry in limit.apply(self.table(name, reporter), reporter) {
            texts.extend(text(entry, reporter).map(|text| (entry.key.clone(), text)));
        }
        texts
    }

    /// The tables in the table under this key, such as `list.NAME`.
    pub(crate) fn named_tables(
        &self,
        name: &str,
        reporter: &mut Reporter<'_>,
    ) -> Vec<NamedTable<'e>> {
        let entries = self.table(name, reporter);
        let limit = Limit { what: &format!("tables under `{name}`"), max: DECLARATIONS_MAX };
        let entries = limit.apply(entries, reporter).iter();
        let named = |entry: &'e Entry| {
            let entries = table(entry, reporter)?;
            Some(NamedTable { name: &entry.key, entries })
        };
        entries.filter_map(named).collect()
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
        let value = KeyedValue::from(entry);
        let Some(values) = value.elements("a name or a list of names", reporter) else {
            return vec![];
        };
        if values.is_empty() {
            let reason = format!("`{name}` is empty");
            let help = "name a field, or leave the key out";
            reporter.push(Report::new(Code::Empty, entry.node.span, reason).help(help));
        }
        values.iter().filter_map(|value| value.text(reporter)).collect()
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
                KeyedValue::from(entry).wrong_kind("true or false", reporter);
                None
            }
        }
    }
}

pub(crate) fn table<'e>(entry: &'e Entry, reporter: &mut Reporter<'_>) -> Option<&'e [Entry]> {
    match &entry.node.kind {
        NodeKind::Table(entries) => Some(entries),
        _ => {
            KeyedValue::from(entry).wrong_kind("a table", reporter);
            None
        }
    }
}

pub(crate) fn text(entry: &Entry, reporter: &mut Reporter<'_>) -> Option<Word> {
    KeyedValue::from(entry).text(reporter)
}
