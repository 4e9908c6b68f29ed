//! Reads the tables below an entity: `list`, `count`, `board`, `tags`.

use super::keyed_value::KeyedValue;
use super::keys::{Keys, NamedTable, TableKind};
use super::limit::{DECLARATIONS_MAX, Limit};
use crate::declared::{
    DeclaredBoard, DeclaredCombination, DeclaredCount, DeclaredList, DeclaredTags,
};
use crate::error::Reporter;

pub(super) const LIST: TableKind = TableKind {
    what: "a list",
    keys: &["path", "by", "order", "where", "facets", "access", "shards"],
};
pub(super) const COUNT: TableKind = TableKind {
    what: "a count",
    keys: &[
        "path", "by", "split", "window", "of", "zone", "sum", "min", "max", "where", "access",
        "shards",
    ],
};
pub(super) const BOARD: TableKind =
    TableKind { what: "a board", keys: &["of", "rank", "by", "where", "access", "shards"] };
pub(super) const TAGS: TableKind = TableKind { what: "a tags table", keys: &["combine"] };

pub(crate) fn list(table: &NamedTable<'_>, reporter: &mut Reporter<'_>) -> DeclaredList {
    let keys = Keys::read(table.entries, &LIST, reporter);
    DeclaredList {
        name: table.name.clone(),
        path: keys.text("path", reporter),
        by: keys.words("by", reporter),
        order: keys.words("order", reporter),
        filter: keys.filter(reporter),
        facets: keys.words("facets", reporter),
        access: keys.words("access", reporter),
        shards: keys.node("shards"),
    }
}

pub(crate) fn count(table: &NamedTable<'_>, reporter: &mut Reporter<'_>) -> DeclaredCount {
    let keys = Keys::read(table.entries, &COUNT, reporter);
    DeclaredCount {
        name: table.name.clone(),
        path: keys.text("path", reporter),
        by: keys.words("by", reporter),
        split: keys.words("split", reporter),
        window: keys.text("window", reporter),
        of: keys.text("of", reporter),
        zone: keys.text("zone", reporter),
        sums: keys.words("sum", reporter),
        min: keys.words("min", reporter),
        max: keys.words("max", reporter),
        filter: keys.filter(reporter),
        access: keys.words("access", reporter),
        shards: keys.node("shards"),
    }
}

pub(crate) fn board(table: &NamedTable<'_>, reporter: &mut Reporter<'_>) -> DeclaredBoard {
    let keys = Keys::read(table.entries, &BOARD, reporter);
    DeclaredBoard {
        name: table.name.clone(),
        of: keys.text("of", reporter),
        rank: keys.text("rank", reporter),
        by: keys.words("by", reporter),
        filter: keys.filter(reporter),
        access: keys.words("access", reporter),
        shards: keys.node("shards"),
    }
}

pub(crate) fn tags(table: &NamedTable<'_>, reporter: &mut Reporter<'_>) -> DeclaredTags {
    let keys = Keys::read(table.entries, &TAGS, reporter);
    let expected = "a list of lists of tag keys";
    let entry = keys.require("combine", table.name.span, reporter);
    let lists = entry.and_then(|entry| KeyedValue::from(entry).elements(expected, reporter));
    let lists = lists.unwrap_or_default();
    let limit = Limit { what: "combinations", max: DECLARATIONS_MAX };
    let mut combine = vec![];
    for list in limit.apply(&lists, reporter) {
        let Some(keys) = list.elements(expected, reporter) else { continue };
        let keys = keys.iter().filter_map(|key| key.text(reporter)).collect();
        combine.push(DeclaredCombination { keys, span: list.node.span });
    }
    DeclaredTags { field: table.name.clone(), combine }
}
