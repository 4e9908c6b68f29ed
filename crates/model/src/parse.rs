//! Stage 1: text → a tree of tables, lists and values, each with its span.
//!
//! The only file that knows the TOML parser. Headers, dotted keys and inline tables give the same
//! tree, so later stages do not depend on how a table was written. The parser bounds the nesting.

use toml_edit::{Array, Document, InlineTable, Item, Key, Table, TomlError, Value};

use crate::error::{Code, Report, Reporter};
use crate::source::{Source, Span, Word};

/// Maximum size of a model file.
pub(crate) const FILE_BYTES_MAX: usize = 1024 * 1024;

/// A value of the file.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) kind: NodeKind,
    pub(crate) span: Span,
}

#[derive(Clone, Debug)]
pub(crate) enum NodeKind {
    /// The span is inside the quotes if the text has no escapes.
    Text(Word),
    Integer(i64),
    /// As written, because a binary float cannot hold what the author wrote.
    Float(String),
    Bool(bool),
    /// As written.
    Time(String),
    List(Vec<Node>),
    Table(Vec<Entry>),
}

/// A key and its value.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: Word,
    pub(crate) node: Node,
}

impl NodeKind {
    /// A description for error messages.
    pub(crate) fn describe(&self) -> &'static str {
        match self {
            NodeKind::Text(_) => "text",
            NodeKind::Integer(_) => "an integer",
            NodeKind::Float(_) => "a number",
            NodeKind::Bool(_) => "true or false",
            NodeKind::Time(_) => "a time",
            NodeKind::List(_) => "a list",
            NodeKind::Table(_) => "a table",
        }
    }
}

/// Returns the top level of the file, or `None` if it is not TOML or too large.
pub(crate) fn parse(
    text: &str,
    source: &Source<'_>,
    reporter: &mut Reporter<'_>,
) -> Option<Vec<Entry>> {
    if text.len() > FILE_BYTES_MAX {
        let reason = format!("the file has {} bytes", text.len());
        let help = format!("a model file has at most {FILE_BYTES_MAX} bytes");
        reporter.push(Report::new(Code::FileTooLarge, Span::new(0, 0), reason).help(help));
        return None;
    }
    match Document::parse(text) {
        Ok(document) => Some(Reader { source }.table(document.as_table())),
        Err(error) => {
            reporter.push(syntax_error(&error, source, text.len()));
            None
        }
    }
}

/// The error of the TOML parser, reworded where its message would not help the author of a model.
fn syntax_error(error: &TomlError, source: &Source<'_>, end: usize) -> Report {
    let span = error.span().map_or(Span::new(end, end), |span| Span::new(span.start, span.end));
    let (code, reason, help) = match error.message() {
        "duplicate key" => {
            let name = source.slice(span);
            let help = "each name is given once; merge the two, or rename one";
            (Code::DuplicateName, format!("`{name}` is declared twice"), Some(help))
        }
        "recursion limit" | "cannot recurse further; max recursion depth met" => {
            let help = "a model needs only a few levels";
            (Code::Syntax, "nested too deep".to_owned(), Some(help))
        }
        message => (Code::Syntax, format!("not valid TOML: {message}"), None),
    };
    Report { code, span, reason, help: help.map(str::to_owned) }
}

/// A header, or a key with its value.
#[derive(Debug)]
pub(crate) struct Statement {
    /// What it declares, from the top level.
    pub(crate) path: Vec<String>,
    pub(crate) span: Span,
    pub(crate) kind: StatementKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StatementKind {
    /// What follows is below it, until the next header.
    Header,
    KeyValue,
}

/// All statements in the order of the file; none if it is not TOML. Those in an inline table follow that of the table,
/// which has one only if it is of a single entity.
pub(crate) fn statements(text: &str) -> Vec<Statement> {
    let mut statements = Statements { path: vec![], found: vec![] };
    if let Ok(document) = Document::parse(text) {
        statements.table(document.as_table());
    }
    statements.found.sort_by_key(|statement| statement.span.start);
    statements.found
}

struct Statements {
    /// Of the table that is read.
    path: Vec<String>,
    found: Vec<Statement>,
}

impl Statements {
    fn table(&mut self, table: &Table) {
        let entries = table.iter().filter_map(|(name, _)| table.get_key_value(name));
        entries.for_each(|(key, item)| self.entry(key, item));
    }

    fn entry(&mut self, key: &Key, item: &Item) {
        self.path.push(key.get().to_owned());
        match item {
            Item::None => {}
            Item::Value(value) => self.value(key, value),
            Item::Table(table) => self.headed(table),
            Item::ArrayOfTables(tables) => tables.iter().for_each(|table| self.headed(table)),
        }
        self.path.pop();
    }

    /// A table that has a header, unless dotted keys or headers of others imply it.
    fn headed(&mut self, table: &Table) {
        if !table.is_implicit() {
            self.add(span_of(table.span()), StatementKind::Header);
        }
        self.table(table);
    }

    fn value(&mut self, key: &Key, value: &Value) {
        let start = span_of(key.span());
        let span = value.span().map_or(start, |end| start.to(Span::new(end.start, end.end)));
        let Value::InlineTable(table) = value else {
            return self.add(span, StatementKind::KeyValue);
        };
        if self.path.len() > 1 {
            self.add(span, StatementKind::KeyValue);
        }
        let entries = table.iter().filter_map(|(name, _)| table.get_key_value(name));
        entries.for_each(|(key, item)| self.entry(key, item));
    }

    fn add(&mut self, span: Span, kind: StatementKind) {
        self.found.push(Statement { path: self.path.clone(), span, kind });
    }
}

struct Reader<'a> {
    source: &'a Source<'a>,
}

impl Reader<'_> {
    fn table(&self, table: &Table) -> Vec<Entry> {
        let keys = table.iter().filter_map(|(name, _)| table.get_key_value(name));
        self.entries(keys)
    }

    fn inline_table(&self, table: &InlineTable) -> Vec<Entry> {
        let keys = table.iter().filter_map(|(name, _)| table.get_key_value(name));
        self.entries(keys)
    }

    fn entries<'t>(&self, entries: impl Iterator<Item = (&'t Key, &'t Item)>) -> Vec<Entry> {
        let entry = |(key, item): (&Key, &Item)| {
            let span = span_of(key.span());
            let key = Word { text: key.get().to_owned(), span };
            Some(Entry { key, node: self.item(item, span)? })
        };
        entries.filter_map(entry).collect()
    }

    /// `key` is the span of an item that has none of its own, such as a dotted table.
    fn item(&self, item: &Item, key: Span) -> Option<Node> {
        match item {
            Item::None => None,
            Item::Value(value) => Some(self.value(value, key)),
            Item::Table(table) => {
                Some(Node { kind: NodeKind::Table(self.table(table)), span: key })
            }
            Item::ArrayOfTables(tables) => {
                let node = |table: &Table| {
                    let span = table.span().map_or(key, |s| Span::new(s.start, s.end));
                    Node { kind: NodeKind::Table(self.table(table)), span }
                };
                Some(Node { kind: NodeKind::List(tables.iter().map(node).collect()), span: key })
            }
        }
    }

    fn value(&self, value: &Value, key: Span) -> Node {
        let span = value.span().map_or(key, |s| Span::new(s.start, s.end));
        let kind = match value {
            Value::String(text) => NodeKind::Text(self.text(text.value(), span)),
            Value::Integer(number) => NodeKind::Integer(*number.value()),
            Value::Float(_) => NodeKind::Float(self.source.slice(span).replace('_', "")),
            Value::Boolean(value) => NodeKind::Bool(*value.value()),
            Value::Datetime(_) => NodeKind::Time(self.source.slice(span).to_owned()),
            Value::Array(array) => NodeKind::List(self.array(array, span)),
            Value::InlineTable(table) => NodeKind::Table(self.inline_table(table)),
        };
        Node { kind, span }
    }

    fn array(&self, array: &Array, span: Span) -> Vec<Node> {
        array.iter().map(|value| self.value(value, span)).collect()
    }

    fn text(&self, text: &str, span: Span) -> Word {
        let inside = Span::new(span.start + 1, span.end.saturating_sub(1));
        let is_verbatim = self.source.slice(inside) == text;
        Word { text: text.to_owned(), span: if is_verbatim { inside } else { span } }
    }
}

fn span_of(range: Option<std::ops::Range<usize>>) -> Span {
    range.map_or(Span::new(0, 0), |range| Span::new(range.start, range.end))
}
