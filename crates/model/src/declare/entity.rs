//! Reads `[entity.NAME]`: its own keys, fields and uniques.

use super::format::formats;
use super::keyed_value::KeyedValue;
use super::keys::{Keys, NamedTable, TableKind, table, text};
use super::limit::{DECLARATIONS_MAX, Limit};
use super::{access, list, search};
use crate::declared::{
    DeclaredEntity, DeclaredField, DeclaredInitial, DeclaredPattern, DeclaredSequence,
    DeclaredTransitions, DeclaredUnique,
};
use crate::error::Reporter;
use crate::field_spec;
use crate::parse::{Entry, NodeKind};
use crate::source::Word;

/// Maximum number of filters of an entity: each is a posting list, and one for each bit of a number.
const FILTERS_MAX: usize = 16;
/// Maximum number of searches of an entity: each has posting lists for every word.
const SEARCHES_MAX: usize = 4;
/// Maximum number of fields of an entity.
const FIELDS_MAX: usize = 200;

/// Maximum number of patterns of an entity: a compiled one can be large.
const PATTERNS_MAX: usize = 20;

pub(super) const ENTITY: TableKind = TableKind {
    what: "an entity",
    keys: &[
        "path",
        "parent",
        "on_parent_delete",
        "id",
        "tenant",
        "expires",
        "updated",
        "read_only",
        "access",
        "filters",
        "shards",
        "reference_shards",
        "fields",
        "format",
        "pattern",
        "initial",
        "transitions",
        "sequence",
        "unique",
        "list",
        "count",
        "board",
        "tags",
        "search",
        "renamed",
        "removed",
    ],
};
pub(super) const UNIQUE: TableKind =
    TableKind { what: "a unique", keys: &["fields", "within", "fold_case"] };

pub(crate) fn entity(declared: &NamedTable<'_>, reporter: &mut Reporter<'_>) -> DeclaredEntity {
    let keys = Keys::read(declared.entries, &ENTITY, reporter);
    let lists = keys.named_tables("list", reporter);
    let counts = keys.named_tables("count", reporter);
    let boards = keys.named_tables("board", reporter);
    let tags = keys.named_tables("tags", reporter);
    let searches = keys.named_tables("search", reporter);
    let limit = Limit { what: "searches", max: SEARCHES_MAX };
    let searches = limit.apply(&searches, reporter);
    DeclaredEntity {
        name: declared.name.clone(),
        path: keys.text("path", reporter),
        parent: keys.text("parent", reporter),
        on_parent_delete: keys.text("on_parent_delete", reporter),
        id: keys.text("id", reporter),
        tenant: keys.text("tenant", reporter),
        expires: keys.text("expires", reporter),
        updated: keys.text("updated", reporter),
        read_only: keys.words("read_only", reporter),
        access: keys.get("access").and_then(|entry| {
            let entries = table(entry, reporter)?;
            Some(access::access(&NamedTable { name: &entry.key, entries }, reporter))
        }),
        filters: filters(&keys, reporter),
        shards: keys.node("shards"),
        reference_shards: keys.node("reference_shards"),
        fields: fields(&keys, reporter),
        formats: formats(&keys, reporter),
        patterns: patterns(&keys, reporter),
        initials: initials(&keys, reporter),
        transitions: transitions(&keys, reporter),
        sequences: sequences(&keys, reporter),
        renamed: renamed(&keys, reporter),
        removed: removed(&keys, reporter),
        uniques: uniques(&keys, reporter),
        lists: lists.iter().map(|table| list::list(table, reporter)).collect(),
        counts: counts.iter().map(|table| list::count(table, reporter)).collect(),
        boards: boards.iter().map(|table| list::board(table, reporter)).collect(),
        tags: tags.iter().map(|table| list::tags(table, reporter)).collect(),
        searches: searches.iter().map(|table| search::search(table, reporter)).collect(),
    }
}

fn filters(keys: &Keys<'_>, reporter: &mut Reporter<'_>) -> Vec<Word> {
    let limit = Limit { what: "filters", max: FILTERS_MAX };
    let filters = keys.words("filters", reporter);
    limit.apply(&filters, reporter).to_vec()
}

fn fields(keys: &Keys<'_>, reporter: &mut Reporter<'_>) -> Vec<DeclaredField> {
    let entries = keys.table("fields", reporter);
    let mut fields = vec![];
    let limit = Limit { what: "fields", max: FIELDS_MAX };
    for entry in limit.apply(entries, reporter) {
        let spec = text(entry, reporter);
        let spec = spec.and_then(|text| field_spec::parse(&text, &entry.node, reporter));
        fields.push(DeclaredField { name: entry.key.clone(), spec });
    }
    fields
}

fn patterns(keys: &Keys<'_>, reporter: &mut Reporter<'_>) -> Vec<DeclaredPattern> {
    let limit = Limit { what: "patterns", max: PATTERNS_MAX };
    let patterns = keys.texts("pattern", limit, reporter).into_iter();
    patterns.map(|(field, pattern)| DeclaredPattern { field, pattern }).collect()
}

fn renamed(keys: &Keys<'_>, reporter: &mut Reporter<'_>) -> Vec<(Word, Word)> {
    keys.texts("renamed", Limit { what: "renamed fields", max: FIELDS_MAX }, reporter)
}

fn removed(keys: &Keys<'_>, reporter: &mut Reporter<'_>) -> Vec<Word> {
    let limit = Limit { what: "removed fields", max: FIELDS_MAX };
    let removed = keys.words("removed", reporter);
    limit.apply(&removed, reporter).to_vec()
}

fn initials(keys: &Keys<'_>, reporter: &mut Reporter<'_>) -> Vec<DeclaredInitial> {
    let initials = word_lists(keys.table("initial", reporter), "a list of members", reporter);
    initials.into_iter().map(|(field, members)| DeclaredInitial { field, members }).collect()
}

fn transitions(keys: &Keys<'_>, reporter: &mut Reporter<'_>) -> Vec<DeclaredTransitions> {
    let mut transitions = vec![];
    for entry in keys.table("transitions", reporter) {
        let entries = table(entry, reporter).unwrap_or_default();
        let allowed = word_lists(entries, "a list of members", reporter);
        transitions.push(DeclaredTransitions { field: entry.key.clone(), allowed });
    }
    transitions
}

fn sequences(keys: &Keys<'_>, reporter: &mut Reporter<'_>) -> Vec<DeclaredSequence> {
    let sequences = word_lists(keys.table("sequence", reporter), "a list of fields", reporter);
    sequences.into_iter().map(|(field, by)| DeclaredSequence { field, by }).collect()
}

/// The entries of a table of lists of texts, without those that are something else.
fn word_lists(
    entries: &[Entry],
    expected: &'static str,
    reporter: &mut Reporter<'_>,
) -> Vec<(Word, Vec<Word>)> {
    let mut lists = vec![];
    for entry in entries {
        let Some(elements) = KeyedValue::from(entry).elements(expected, reporter) else { continue };
        let words = elements.iter().filter_map(|value| value.text(reporter)).collect();
        lists.push((entry.key.clone(), words));
    }
    lists
}

fn uniques(keys: &Keys<'_>, reporter: &mut Reporter<'_>) -> Vec<DeclaredUnique> {
    let Some(entry) = keys.get("unique") else { return vec![] };
    let uniques = KeyedValue::from(entry).elements("a list", reporter);
    let uniques = uniques.unwrap_or_default();
    let limit = Limit { what: "uniques", max: DECLARATIONS_MAX };
    let uniques = limit.apply(&uniques, reporter).iter();
    uniques.filter_map(|value| unique(*value, reporter)).collect()
}

fn unique(value: KeyedValue<'_>, reporter: &mut Reporter<'_>) -> Option<DeclaredUnique> {
    let span = value.node.span;
    let plain = |fields| DeclaredUnique { span, fields, within: None, fold_case: None };
    match &value.node.kind {
        NodeKind::Text(field) => Some(plain(vec![field.clone()])),
        NodeKind::List(_) => {
            let fields = value.elements("a list", reporter)?;
            Some(plain(fields.iter().filter_map(|field| field.text(reporter)).collect()))
        }
        NodeKind::Table(entries) => {
            let keys = Keys::read(entries, &UNIQUE, reporter);
            keys.require("fields", span, reporter)?;
            Some(DeclaredUnique {
                span,
                fields: keys.words("fields", reporter),
                within: keys.text("within", reporter),
                fold_case: keys.flag("fold_case", reporter),
            })
        }
        NodeKind::Integer(_) | NodeKind::Float(_) | NodeKind::Bool(_) | NodeKind::Time(_) => {
            let expected = "field names, lists of them, and tables with `fields`";
            value.wrong_kind(expected, reporter);
            None
        }
    }
}
