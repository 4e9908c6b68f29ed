//! Reads `[entity.NAME]`: its own keys, fields and uniques.

use super::format::formats;
use super::keys::{Keys, list, table, text, word, wrong_kind};
use super::limit::{DECLARATIONS_MAX, limited};
use super::list as lists;
use crate::declared::{DeclaredEntity, DeclaredField, DeclaredUnique};
use crate::error::Reporter;
use crate::field_spec;
use crate::parse::{Entry, Node, NodeKind};
use crate::source::Word;

/// Maximum number of fields of an entity.
const FIELDS_MAX: usize = 200;

const KEYS: &[&str] = &[
    "path",
    "parent",
    "on_parent_delete",
    "id",
    "tenant",
    "expires",
    "read_only",
    "fields",
    "format",
    "unique",
    "list",
    "count",
    "board",
    "tags",
];

pub(crate) fn entity(
    name: &Word,
    entries: &[Entry],
    reporter: &mut Reporter<'_>,
) -> DeclaredEntity {
    let keys = Keys::read(entries, ("an entity", KEYS), reporter);
    DeclaredEntity {
        name: name.clone(),
        path: keys.text("path", reporter),
        parent: keys.text("parent", reporter),
        on_parent_delete: keys.text("on_parent_delete", reporter),
        id: keys.text("id", reporter),
        tenant: keys.text("tenant", reporter),
        expires: keys.text("expires", reporter),
        read_only: keys.words("read_only", reporter),
        fields: fields(&keys, reporter),
        formats: formats(&keys, reporter),
        uniques: uniques(&keys, reporter),
        lists: named(&keys, "list", (lists::list, reporter)),
        counts: named(&keys, "count", (lists::count, reporter)),
        boards: named(&keys, "board", (lists::board, reporter)),
        tags: named(&keys, "tags", (lists::tags, reporter)),
    }
}

/// Reads one named table.
type Read<T> = fn(&Word, &[Entry], &mut Reporter<'_>) -> T;

/// The tables under a key such as `list`, each read by the same function.
fn named<T>(keys: &Keys<'_>, kind: &str, (read, reporter): (Read<T>, &mut Reporter<'_>)) -> Vec<T> {
    let entries = keys.table(kind, reporter);
    let what = format!("tables under `{kind}`");
    let mut found = vec![];
    for entry in limited(entries, (&what, DECLARATIONS_MAX), reporter) {
        if let Some(entries) = table(entry, reporter) {
            found.push(read(&entry.key, entries, reporter));
        }
    }
    found
}

fn fields(keys: &Keys<'_>, reporter: &mut Reporter<'_>) -> Vec<DeclaredField> {
    let entries = keys.table("fields", reporter);
    let mut fields = vec![];
    for entry in limited(entries, ("fields", FIELDS_MAX), reporter) {
        let spec = text(entry, reporter);
        let spec = spec.and_then(|text| field_spec::parse(&text, &entry.node, reporter));
        fields.push(DeclaredField { name: entry.key.clone(), spec });
    }
    fields
}

fn uniques(keys: &Keys<'_>, reporter: &mut Reporter<'_>) -> Vec<DeclaredUnique> {
    let Some(entry) = keys.get("unique") else { return vec![] };
    let Some(nodes) = list(("unique", &entry.node), "a list", reporter) else { return vec![] };
    let nodes = limited(nodes, ("uniques", DECLARATIONS_MAX), reporter);
    nodes.iter().filter_map(|node| unique(node, reporter)).collect()
}

fn unique(node: &Node, reporter: &mut Reporter<'_>) -> Option<DeclaredUnique> {
    let span = node.span;
    let plain = |fields| DeclaredUnique { span, fields, within: None, fold_case: None };
    match &node.kind {
        NodeKind::Text(field) => Some(plain(vec![field.clone()])),
        NodeKind::List(nodes) => {
            let fields = nodes.iter().filter_map(|node| word(("unique", node), reporter)).collect();
            Some(plain(fields))
        }
        NodeKind::Table(entries) => {
            let known = ("a unique", ["fields", "within", "fold_case"].as_slice());
            let keys = Keys::read(entries, known, reporter);
            keys.require("fields", ("a unique", span), reporter)?;
            Some(DeclaredUnique {
                span,
                fields: keys.words("fields", reporter),
                within: keys.text("within", reporter),
                fold_case: keys.flag("fold_case", reporter),
            })
        }
        NodeKind::Integer(_) | NodeKind::Float(_) | NodeKind::Bool(_) | NodeKind::Time(_) => {
            let expected = "field names, lists of them, and tables with `fields`";
            wrong_kind(("unique", node), expected, reporter);
            None
        }
    }
}
