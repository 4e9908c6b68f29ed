//! Counts, boards and combinations of tags: names and types. `capacity` checks what they cost.

use std::collections::BTreeMap;

use crate::declared::{DeclaredBoard, DeclaredCount, DeclaredEntity, DeclaredTags};
use crate::error::{Code, Report, Reporter};
use crate::model::{Board, Count, FieldType, Ranking, TagCombination};
use crate::parse::{Node, NodeKind};
use crate::source::Word;

use super::list::{facets, filter};
use super::name::check_name;
use super::path::{Paths, Served};
use super::scope::{Scope, Usage};

/// Maximum number of rows that a counter is spread over.
const SHARDS_MAX: i64 = 100;

pub(crate) fn counts(
    entity: &DeclaredEntity,
    scope: &Scope,
    (paths, reporter): (&mut Paths, &mut Reporter<'_>),
) -> Vec<Count> {
    let count = |declared: &DeclaredCount| {
        let mut count = count(declared, scope, reporter);
        if let Some(path) = &declared.path {
            let (name, by) = (count.name.as_str(), count.by.as_slice());
            let served = Served { what: "count", name, declared_by: &declared.by, by };
            count.path = paths.add((entity, path), (scope, &served), reporter);
        }
        count
    };
    entity.counts.iter().map(count).collect()
}

fn count(declared: &DeclaredCount, scope: &Scope, reporter: &mut Reporter<'_>) -> Count {
    check_name(&declared.name, "a count", reporter);
    let by = scope.find_all(Usage::By, &declared.by, reporter);
    let mut split = facets((Usage::Split, &declared.split), (scope, &by), reporter);
    // The order of declaration does not matter.
    split.sort_by_key(|field| &scope.field(*field).name);
    let filter = filter(&declared.filter, scope, reporter);
    let shards = declared.shards.as_ref().map_or(1, |node| shards(node, reporter));
    Count { name: declared.name.text.clone(), path: None, by, split, filter, shards }
}

fn shards(node: &Node, reporter: &mut Reporter<'_>) -> u32 {
    let given = match node.kind {
        NodeKind::Integer(given) if (2..=SHARDS_MAX).contains(&given) => u32::try_from(given).ok(),
        _ => None,
    };
    given.unwrap_or_else(|| {
        let reason = format!("`shards` takes a whole number from 2 to {SHARDS_MAX}");
        let help = "without it, each counter is one row";
        reporter.push(Report::new(Code::BadShards, node.span, reason).help(help));
        1
    })
}

pub(crate) fn boards(
    declared: &[DeclaredBoard],
    scope: &Scope,
    reporter: &mut Reporter<'_>,
) -> Vec<Board> {
    declared.iter().filter_map(|declared| board(declared, scope, reporter)).collect()
}

fn board(declared: &DeclaredBoard, scope: &Scope, reporter: &mut Reporter<'_>) -> Option<Board> {
    check_name(&declared.name, "a board", reporter);
    let by = scope.find_all(Usage::By, &declared.by, reporter);
    let filter = filter(&declared.filter, scope, reporter);
    let ranking = match (&declared.of, &declared.rank) {
        (Some(of), None) => Ranking::Count(
            *facets((Usage::Of, std::slice::from_ref(of)), (scope, &by), reporter).first()?,
        ),
        (None, Some(rank)) => Ranking::Field(scope.find_for(Usage::Rank, rank, reporter)?),
        (of, _) => {
            let name = &declared.name.text;
            let reason = match of {
                Some(_) => format!("the board `{name}` has both `of` and `rank`"),
                None => format!("the board `{name}` has neither `of` nor `rank`"),
            };
            let help = "`of` ranks the values of a field by how many entities have them; `rank` \
                        ranks the entities by one of their fields";
            reporter.push(Report::new(Code::BadBoard, declared.name.span, reason).help(help));
            return None;
        }
    };
    Some(Board { name: declared.name.text.clone(), ranking, by, filter })
}

/// A board is served under its name alone, so board names are unique in a model.
pub(crate) fn check_names(declared: &[DeclaredEntity], reporter: &mut Reporter<'_>) {
    let mut owners: BTreeMap<&str, &str> = BTreeMap::new();
    for entity in declared {
        for Word { text, span } in entity.boards.iter().map(|board| &board.name) {
            if let Some(owner) = owners.insert(text, &entity.name.text) {
                let reason = format!("`{owner}` already has a board `{text}`");
                let help = "board names are unique in a model: choose another name";
                reporter.push(Report::new(Code::BoardTaken, *span, reason).help(help));
            }
        }
    }
}

pub(crate) fn combinations(
    declared: &[DeclaredTags],
    scope: &Scope,
    reporter: &mut Reporter<'_>,
) -> Vec<TagCombination> {
    let mut found: Vec<TagCombination> = vec![];
    for tags in declared {
        let Some(field) = scope.find(&tags.field, reporter) else { continue };
        let scoped = &scope.fields[field.index()];
        if scoped.is_valid && scoped.field.of != FieldType::Tags {
            let of = scoped.field.of.name();
            let reason = format!("`{}` does not hold tags: its type is `{of}`", tags.field.text);
            reporter.report(Code::NotTags, tags.field.span, reason);
        }
        for combination in &tags.combine {
            let mut keys: Vec<String> =
                combination.keys.iter().map(|key| key.text.clone()).collect();
            keys.sort_unstable();
            keys.dedup();
            if keys.len() < 2 || keys.len() < combination.keys.len() {
                let reason = "a combination needs two or more different tag keys";
                let help = "searches for a single key need no declaration";
                reporter
                    .push(Report::new(Code::BadCombination, combination.span, reason).help(help));
            } else if found.iter().any(|other| other.field == field && other.keys == keys) {
                let reason = "duplicate combination";
                let help = "leave one of them out; the order of the keys does not matter";
                reporter.push(Report::new(Code::SameTwice, combination.span, reason).help(help));
            } else {
                found.push(TagCombination { field, keys });
            }
        }
    }
    found
}
