//! Counts, boards and combinations of tags: names and types. `capacity` checks what they cost.

use std::collections::BTreeMap;

use crate::declared::{DeclaredBoard, DeclaredCount, DeclaredEntity, DeclaredTags};
use crate::error::{Code, Report, Reporter};
use crate::model::{Board, Count, FieldId, FieldType, Grantees, Ranking, TagCombination};
use crate::source::Word;

use super::name::check_name;
use super::query_scope::QueryScope;
use super::scope::{Scope, Usage};
use super::{shards, window};

/// The maximum number of fields that a count adds up: each is in all of its rows.
const SUMS_MAX: usize = 8;
/// The maximum number of fields of which it has the least or the greatest value.
const EXTREMES_MAX: usize = 4;

/// The counts of an entity, without their paths.
pub(crate) fn counts(
    declared: &[DeclaredCount],
    scope: &Scope,
    reporter: &mut Reporter<'_>,
) -> Vec<Count> {
    declared.iter().map(|declared| count(declared, scope, reporter)).collect()
}

fn count(declared: &DeclaredCount, scope: &Scope, reporter: &mut Reporter<'_>) -> Count {
    check_name(&declared.name, "a count", reporter);
    let sums = aggregated(Usage::Sum, SUMS_MAX, &declared.sums, scope, reporter);
    let min = aggregated(Usage::Min, EXTREMES_MAX, &declared.min, scope, reporter);
    let max = aggregated(Usage::Max, EXTREMES_MAX, &declared.max, scope, reporter);
    let window = window::of_count(declared, scope, reporter);
    let scope = QueryScope::new(scope, &declared.by, reporter);
    Count {
        name: declared.name.text.clone(),
        path: None,
        split: scope.facets_by_name(Usage::Split, &declared.split, reporter),
        window,
        sums,
        min,
        max,
        filter: scope.filter(&declared.filter, reporter),
        readers: Grantees::default(),
        shards: shards::number(declared.shards.as_ref(), shards::READ_MAX, reporter),
        by: scope.into_by(),
    }
}

/// The fields that a count adds up or has the least or greatest value of, in the order of their names.
fn aggregated(
    usage: Usage,
    max: usize,
    declared: &[Word],
    scope: &Scope,
    reporter: &mut Reporter<'_>,
) -> Vec<FieldId> {
    let mut fields = scope.find_all(usage, declared, reporter);
    if let Some(word) = declared.get(max) {
        let reason = format!("`{}` takes at most {max} fields", usage.key());
        reporter.report(Code::TooMany, word.span, reason);
    }
    fields.sort_by_key(|field| &scope.field(*field).name);
    fields
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
    let query_scope = QueryScope::new(scope, &declared.by, reporter);
    let filter = query_scope.filter(&declared.filter, reporter);
    let ranking = match (&declared.of, &declared.rank) {
        (Some(of), None) => {
            let of = query_scope.facets(Usage::Of, std::slice::from_ref(of), reporter);
            Ranking::Count(*of.first()?)
        }
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
    let by = query_scope.into_by();
    let shards = shards::number(declared.shards.as_ref(), shards::TRANSACTED_MAX, reporter);
    let readers = Grantees::default();
    Some(Board { name: declared.name.text.clone(), ranking, by, filter, readers, shards })
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
