//! Counts, boards and combinations of tags: names and types. What they cost is not judged here.

use std::collections::BTreeMap;

use crate::declared::{DeclaredBoard, DeclaredCount, DeclaredEntity, DeclaredTags};
use crate::error::{Code, Reporter};
use crate::model::{Board, Count, FieldType, Ranking, TagCombination};
use crate::source::Word;

use super::list::{facets, filter};
use super::name::check_name;
use super::scope::{Scope, Usage};

pub(crate) fn counts(
    declared: &[DeclaredCount],
    scope: &Scope,
    reporter: &mut Reporter<'_>,
) -> Vec<Count> {
    let count = |declared: &DeclaredCount| {
        check_name(&declared.name, "a count", reporter);
        let by = scope.find_all(Usage::By, &declared.by, reporter);
        let split = facets((Usage::Split, &declared.split), (scope, &by), reporter);
        let filter = filter(&declared.filter, scope, reporter);
        Count { name: declared.name.text.clone(), by, split, filter }
    };
    declared.iter().map(count).collect()
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
                None => format!("the board `{name}` does not say what it ranks"),
            };
            let help = "`of` ranks the values of a field by how many entities have them; `rank` \
                        ranks the entities by a number of theirs";
            reporter.report_with_help(Code::BadBoard, declared.name.span, (reason, help));
            return None;
        }
    };
    Some(Board { name: declared.name.text.clone(), ranking, by, filter })
}

/// A board is served under its name alone, so no two boards of a model have one name.
pub(crate) fn check_names(declared: &[DeclaredEntity], reporter: &mut Reporter<'_>) {
    let mut owners: BTreeMap<&str, &str> = BTreeMap::new();
    for entity in declared {
        for Word { text, span } in entity.boards.iter().map(|board| &board.name) {
            if let Some(owner) = owners.insert(text, &entity.name.text) {
                let reason = format!("`{owner}` has a board `{text}` already");
                let help = "boards are found by name alone: give this one another";
                reporter.report_with_help(Code::BoardTaken, *span, (reason, help));
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
        if scoped.is_readable && scoped.field.of != FieldType::Tags {
            let of = scoped.field.of.name();
            let reason = format!("`{}` holds no tags: its type is `{of}`", tags.field.text);
            reporter.report(Code::NotTags, tags.field.span, reason);
        }
        for combination in &tags.combine {
            let mut keys: Vec<String> =
                combination.keys.iter().map(|key| key.text.clone()).collect();
            keys.sort_unstable();
            keys.dedup();
            if keys.len() < 2 || keys.len() < combination.keys.len() {
                let reason = "a combination is of two or more different tag keys";
                let help = "one key alone can always be looked for and need not be declared";
                reporter.report_with_help(Code::BadCombination, combination.span, (reason, help));
            } else if found.iter().any(|other| other.field == field && other.keys == keys) {
                let reason = "this combination is there already";
                let help = "leave one of them out; the order of the keys does not matter";
                reporter.report_with_help(Code::SameTwice, combination.span, (reason, help));
            } else {
                found.push(TagCombination { field, keys });
            }
        }
    }
    found
}
