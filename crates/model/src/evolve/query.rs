//! Declared queries: lists, facets, combinations of tags, counts and boards.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{
    Board, Count, Language, List, ListId, Literal, PathPart, Presence, Ranking, Search, WindowUnit,
    Zone,
};

use super::change::ChangeKind;
use super::enumerate::enumerate;
use super::findings::Findings;
use super::side::{Pair, Side};
use super::types;

pub(super) fn compare(pair: &Pair<'_>, findings: &mut Findings) {
    for (id, list) in pair.new.entity.lists() {
        match pair.old.entity.find_list(&list.name) {
            Some(old) => {
                let (old, new) = (pair.old.entity.list(old), list);
                ListPair { pair, id, old, new }.compare(findings);
            }
            None => {
                let text = format!("`{}`: the list `{}` is new", pair.name(), list.name);
                findings.changes.push(pair.change(ChangeKind::ListAdded(id), text));
            }
        }
    }
    for list in &pair.old.entity.lists {
        if pair.new.entity.find_list(&list.name).is_none() {
            let text = format!("`{}`: the list `{}` is removed", pair.name(), list.name);
            findings.changes.push(pair.change(ChangeKind::ListRemoved, text));
        }
    }
    compare_ordinals(pair, findings);
    compare_counts(pair, findings);
    compare_boards(pair, findings);
    compare_combinations(pair, findings);
    compare_filters(pair, findings);
    compare_searches(pair, findings);
}

/// Ordinals are part of the index keys of lists.
fn compare_ordinals(pair: &Pair<'_>, findings: &mut Findings) {
    if pair.old.entity.has_ordinals() == pair.new.entity.has_ordinals() {
        return;
    }
    let text = match pair.new.entity.has_ordinals() {
        true => format!("`{}` is now filtered", pair.name()),
        false => format!("`{}` is no longer filtered", pair.name()),
    };
    findings.changes.push(pair.change(ChangeKind::OrdinalsChanged, text));
}

/// A list that both models have.
struct ListPair<'p, 'm> {
    pair: &'p Pair<'m>,
    /// Of the new model.
    id: ListId,
    old: &'m List,
    new: &'m List,
}

impl ListPair<'_, '_> {
    fn compare(&self, findings: &mut Findings) {
        let ListPair { pair, id, old, new } = *self;
        let list = format!("`{}`: the list `{}`", pair.name(), new.name);
        let changed = self.changed_keys();
        if !changed.is_empty() {
            let text = format!("{list} is rebuilt: {} changed", enumerate(&changed));
            findings.changes.push(pair.change(ChangeKind::ListRebuilt(id), text));
        } else if let Some(field) = reordered_enum(pair, new) {
            let text = format!("{list} is rebuilt: the order of the members of `{field}` changed");
            findings.changes.push(pair.change(ChangeKind::ListRebuilt(id), text));
        } else if pair.old.entity.has_ordinals() != pair.new.entity.has_ordinals() {
            let text = format!("{list} is rebuilt: the order of ties changed");
            findings.changes.push(pair.change(ChangeKind::ListRebuilt(id), text));
        }
        if pair.old.stored_set(&old.facets) != pair.new.stored_set(&new.facets) {
            let text = format!("{list} has different facets");
            findings.changes.push(pair.change(ChangeKind::FacetsChanged(id), text));
        }
        if path(pair.old, &old.path) != path(pair.new, &new.path) {
            let text = format!("{list} has a different path");
            findings.changes.push(pair.change(ChangeKind::ServiceChanged, text));
        }
    }

    /// The keys of the list that changed.
    fn changed_keys(&self) -> Vec<&'static str> {
        let ListPair { pair, old, new, .. } = *self;
        let keys = [
            ("by", pair.old.stored_names(&old.by) == pair.new.stored_names(&new.by)),
            ("order", pair.old.order(&old.order) == pair.new.order(&new.order)),
            ("where", pair.old.filter(&old.filter) == pair.new.filter(&new.filter)),
            ("shards", old.shards == new.shards),
        ];
        keys.into_iter().filter(|(_, is_same)| !is_same).map(|(key, _)| key).collect()
    }
}

/// An enum field that orders the list and whose members have moved: enums sort in the order in which
/// their members are declared.
fn reordered_enum<'m>(pair: &Pair<'m>, list: &List) -> Option<&'m str> {
    let fields = list.order.iter().map(|by| pair.new.entity.field(by.field));
    let mut moved = fields.filter(|new| {
        let old = pair.old.entity.find_stored(&new.stored).map(|id| pair.old.entity.field(id));
        old.is_some_and(|old| types::is_reordered(&old.of, &new.of))
    });
    moved.next().map(|field| field.name.as_str())
}

fn path(side: Side<'_>, path: &Option<Vec<PathPart>>) -> Option<String> {
    let part = |part: &PathPart| match part {
        PathPart::Text(text) => format!("/{text}"),
        PathPart::Field(field) => format!("/{{{}}}", side.name(*field)),
    };
    path.as_ref().map(|parts| parts.iter().map(part).collect())
}

/// The definition of a count or a board, with names instead of ids.
#[derive(Debug, PartialEq, Eq)]
struct Definition<'m> {
    by: Vec<&'m str>,
    /// The keys `split`, `sum`, `of` and `rank`, with the fields that they name.
    fields: Vec<(&'static str, &'m str)>,
    /// The windows of a count, with the time that they are of.
    window: Option<(&'m str, WindowUnit, &'m Zone)>,
    filter: Vec<(&'m str, &'m Literal)>,
    shards: u32,
}

fn compare_counts(pair: &Pair<'_>, findings: &mut Findings) {
    for (name, difference) in differences(&counts(pair.old), &counts(pair.new)) {
        let text = format!("`{}`: the count `{name}` {}", pair.name(), difference.in_words());
        let kind = match pair.new.entity.find_count(name) {
            Some(id) => ChangeKind::CountBuilt(id),
            None => ChangeKind::CountRemoved,
        };
        findings.changes.push(pair.change(kind, text));
    }
    for (_, count) in pair.new.entity.counts() {
        let old = pair.old.entity.find_count(&count.name).map(|id| pair.old.entity.count(id));
        let is_moved = |old: &Count| path(pair.old, &old.path) != path(pair.new, &count.path);
        if old.is_some_and(is_moved) {
            let text =
                format!("`{}`: the count `{}` has a different path", pair.name(), count.name);
            findings.changes.push(pair.change(ChangeKind::ServiceChanged, text));
        }
    }
}

fn counts<'m>(side: Side<'m>) -> Vec<(&'m str, Definition<'m>)> {
    let definition = |count: &'m Count| Definition {
        by: side.stored_names(&count.by),
        fields: side
            .stored_set(&count.split)
            .into_iter()
            .map(|field| ("split", field))
            .chain(sums(side, count))
            .chain(side.stored_set(&count.extremes()).into_iter().map(|field| ("in order", field)))
            .collect(),
        window: count
            .window
            .as_ref()
            .map(|window| (side.stored(window.of), window.unit, &window.zone)),
        filter: side.filter(&count.filter),
        shards: count.shards,
    };
    side.entity.counts.iter().map(|count| (count.name.as_str(), definition(count))).collect()
}

/// Of an optional field, rows also hold how many entities have it.
fn sums<'m>(side: Side<'m>, count: &'m Count) -> impl Iterator<Item = (&'static str, &'m str)> {
    count.sums.iter().map(move |field| match side.entity.field(*field).presence {
        Presence::Required => ("sum", side.stored(*field)),
        Presence::Optional => ("sum of some", side.stored(*field)),
    })
}

fn compare_boards(pair: &Pair<'_>, findings: &mut Findings) {
    for (name, difference) in differences(&boards(pair.old), &boards(pair.new)) {
        let text = format!("`{}`: the board `{name}` {}", pair.name(), difference.in_words());
        let kind = match pair.new.entity.boards().find(|(_, board)| board.name == name) {
            Some((id, _)) => ChangeKind::BoardBuilt(id),
            None => ChangeKind::BoardRemoved,
        };
        findings.changes.push(pair.change(kind, text));
    }
}

fn boards<'m>(side: Side<'m>) -> Vec<(&'m str, Definition<'m>)> {
    let definition = |board: &'m Board| Definition {
        by: side.stored_names(&board.by),
        fields: vec![match board.ranking {
            Ranking::Count(field) => ("of", side.stored(field)),
            Ranking::Field(field) => ("rank", side.stored(field)),
        }],
        window: None,
        filter: side.filter(&board.filter),
        shards: board.shards,
    };
    side.entity.boards.iter().map(|board| (board.name.as_str(), definition(board))).collect()
}

/// How a count or a board differs between the models.
#[derive(Clone, Copy, Debug)]
enum Difference {
    Added,
    Changed,
    Removed,
}

impl Difference {
    fn in_words(self) -> &'static str {
        match self {
            Difference::Added => "is new",
            Difference::Changed => "is rebuilt: its definition changed",
            Difference::Removed => "is removed",
        }
    }
}

fn differences<'m>(
    old: &[(&'m str, Definition<'m>)],
    new: &[(&'m str, Definition<'m>)],
) -> Vec<(&'m str, Difference)> {
    let mut differences = vec![];
    for (name, definition) in new {
        match old.iter().find(|(other, _)| other == name) {
            None => differences.push((*name, Difference::Added)),
            Some((_, before)) if before != definition => {
                differences.push((*name, Difference::Changed));
            }
            Some(_) => {}
        }
    }
    let removed = old.iter().filter(|(name, _)| !new.iter().any(|(other, _)| other == name));
    differences.extend(removed.map(|(name, _)| (*name, Difference::Removed)));
    differences
}

fn compare_combinations(pair: &Pair<'_>, findings: &mut Findings) {
    if combinations(pair.old) != combinations(pair.new) {
        let text = format!("`{}`: the combinations of tags changed", pair.name());
        findings.changes.push(pair.change(ChangeKind::CombinationsChanged, text));
    }
}

fn compare_filters(pair: &Pair<'_>, findings: &mut Findings) {
    let (old, new) = (pair.old, pair.new);
    if old.stored_set(&old.entity.filters) != new.stored_set(&new.entity.filters) {
        let text = format!("`{}`: the fields in `filters` changed", pair.name());
        findings.changes.push(pair.change(ChangeKind::FiltersChanged, text));
    }
}

fn compare_searches(pair: &Pair<'_>, findings: &mut Findings) {
    if searches(pair.old) != searches(pair.new) {
        let text = format!("`{}`: the searches changed", pair.name());
        findings.changes.push(pair.change(ChangeKind::SearchesChanged, text));
    }
}

/// What decides about the posting lists of a search.
#[derive(Debug, PartialEq, Eq)]
struct Searched<'m> {
    fields: Vec<&'m str>,
    language: Option<Language>,
    has_prefixes: bool,
}

fn searches<'m>(side: Side<'m>) -> BTreeMap<&'m str, Searched<'m>> {
    let searched = |search: &'m Search| Searched {
        fields: side.stored_set(&search.fields),
        language: search.language,
        has_prefixes: search.has_prefixes,
    };
    let searches = side.entity.searches.iter();
    searches.map(|search| (search.name.as_str(), searched(search))).collect()
}

fn combinations<'m>(side: Side<'m>) -> BTreeSet<(&'m str, &'m [String])> {
    let combinations = side.entity.combinations.iter();
    combinations.map(|entry| (side.stored(entry.field), entry.keys.as_slice())).collect()
}
