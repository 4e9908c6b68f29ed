//! Reads the tables below an entity: `list`, `count`, `board`, `tags`.

use super::keys::{Keys, list as list_of, word};
use super::limit::{DECLARATIONS_MAX, limited};
use crate::declared::{
    DeclaredBoard, DeclaredCombination, DeclaredCount, DeclaredList, DeclaredTags,
};
use crate::error::Reporter;
use crate::parse::Entry;
use crate::source::Word;

pub(crate) fn list(name: &Word, entries: &[Entry], reporter: &mut Reporter<'_>) -> DeclaredList {
    let known = ["path", "by", "order", "where", "facets"];
    let keys = Keys::read(entries, ("a list", &known), reporter);
    DeclaredList {
        name: name.clone(),
        path: keys.text("path", reporter),
        by: keys.words("by", reporter),
        order: keys.words("order", reporter),
        filter: keys.filter(reporter),
        facets: keys.words("facets", reporter),
    }
}

pub(crate) fn count(name: &Word, entries: &[Entry], reporter: &mut Reporter<'_>) -> DeclaredCount {
    let known = ["path", "by", "split", "where", "shards"];
    let keys = Keys::read(entries, ("a count", &known), reporter);
    DeclaredCount {
        name: name.clone(),
        path: keys.text("path", reporter),
        by: keys.words("by", reporter),
        split: keys.words("split", reporter),
        filter: keys.filter(reporter),
        shards: keys.get("shards").map(|entry| entry.node.clone()),
    }
}

pub(crate) fn board(name: &Word, entries: &[Entry], reporter: &mut Reporter<'_>) -> DeclaredBoard {
    let keys = Keys::read(entries, ("a board", &["of", "rank", "by", "where"]), reporter);
    DeclaredBoard {
        name: name.clone(),
        of: keys.text("of", reporter),
        rank: keys.text("rank", reporter),
        by: keys.words("by", reporter),
        filter: keys.filter(reporter),
    }
}

pub(crate) fn tags(field: &Word, entries: &[Entry], reporter: &mut Reporter<'_>) -> DeclaredTags {
    let keys = Keys::read(entries, ("a tags table", &["combine"]), reporter);
    let expected = "a list of lists of tag keys";
    let nodes = keys.require("combine", ("a tags table", field.span), reporter);
    let nodes = nodes.and_then(|entry| list_of(("combine", &entry.node), expected, reporter));
    let mut combine = vec![];
    let nodes = nodes.unwrap_or(&[]);
    for node in limited(nodes, ("combinations", DECLARATIONS_MAX), reporter) {
        let Some(nodes) = list_of(("combine", node), expected, reporter) else { continue };
        let keys = nodes.iter().filter_map(|node| word(("combine", node), reporter)).collect();
        combine.push(DeclaredCombination { keys, span: node.span });
    }
    DeclaredTags { field: field.clone(), combine }
}
