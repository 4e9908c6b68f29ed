//! Lists, facets, combinations of tags, counts and boards.

use std::collections::BTreeSet;

use crate::model::{Board, Count, List, Literal, PathPart, Ranking};

use super::Findings;
use super::change::ChangeKind;
use super::side::{Pair, Side, enumerate};
use super::types;

pub(super) fn compare(pair: &Pair<'_>, findings: &mut Findings) {
    for (id, list) in pair.new.entity.lists() {
        match pair.old.entity.find_list(&list.name) {
            Some(old) => compare_list(pair, (pair.old.entity.list(old), list), findings),
            None => {
                let text = format!("`{}`: the list `{}` is new", pair.name(), list.name);
                findings.changes.push(pair.change(ChangeKind::ListAdded(id), text));
            }
        }
    }
    for list in &pair.old.entity.lists {
        if pair.new.entity.find_list(&list.name).is_none() {
            let text = format!("`{}`: the list `{}` is gone", pair.name(), list.name);
            findings.changes.push(pair.change(ChangeKind::ListRemoved, text));
        }
    }
    compare_numbering(pair, findings);
    compare_counts(pair, findings);
    compare_boards(pair, findings);
    compare_combinations(pair, findings);
}

/// Numbers are part of every place in a list.
fn compare_numbering(pair: &Pair<'_>, findings: &mut Findings) {
    if pair.old.entity.has_ordinals() == pair.new.entity.has_ordinals() {
        return;
    }
    let text = match pair.new.entity.has_ordinals() {
        true => format!("`{}` is looked for by tags or facets now", pair.name()),
        false => format!("`{}` is not looked for by tags or facets any more", pair.name()),
    };
    findings.changes.push(pair.change(ChangeKind::NumberingChanged, text));
}

fn compare_list(pair: &Pair<'_>, (old, new): (&List, &List), findings: &mut Findings) {
    let Some(id) = pair.new.entity.find_list(&new.name) else { return };
    let place = format!("`{}`: the list `{}`", pair.name(), new.name);
    let differing = differing_keys(pair, (old, new));
    if !differing.is_empty() {
        let text = format!("{place} is made anew: {} changed", enumerate(&differing));
        findings.changes.push(pair.change(ChangeKind::ListRebuilt(id), text));
    } else if let Some(field) = moved_field(pair, new) {
        let text = format!("{place} is made anew: members of `{field}` have moved");
        findings.changes.push(pair.change(ChangeKind::ListRebuilt(id), text));
    } else if pair.old.entity.has_ordinals() != pair.new.entity.has_ordinals() {
        let text = format!("{place} is made anew: equals are in another order");
        findings.changes.push(pair.change(ChangeKind::ListRebuilt(id), text));
    }
    if pair.old.name_set(&old.facets) != pair.new.name_set(&new.facets) {
        let text = format!("{place} has other facets");
        findings.changes.push(pair.change(ChangeKind::FacetsChanged(id), text));
    }
    if path(pair.old, &old.path) != path(pair.new, &new.path) {
        let text = format!("{place} is served elsewhere");
        findings.changes.push(pair.change(ChangeKind::ServiceChanged, text));
    }
}

/// The keys of the list that say something else now.
fn differing_keys(pair: &Pair<'_>, (old, new): (&List, &List)) -> Vec<&'static str> {
    let keys = [
        ("by", pair.old.names(&old.by) == pair.new.names(&new.by)),
        ("order", pair.old.order(&old.order) == pair.new.order(&new.order)),
        ("where", pair.old.filter(&old.filter) == pair.new.filter(&new.filter)),
    ];
    keys.into_iter().filter(|(_, is_same)| !is_same).map(|(key, _)| key).collect()
}

/// A field that orders the list, of an enum whose members have moved: enums sort in the order in
/// which their members are declared.
fn moved_field<'m>(pair: &Pair<'m>, list: &List) -> Option<&'m str> {
    let fields = list.order.iter().map(|by| pair.new.entity.field(by.field));
    let mut moved = fields.filter(|new| {
        let old = pair.old.entity.find_field(&new.name).map(|id| pair.old.entity.field(id));
        old.is_some_and(|old| types::has_moved(&old.of, &new.of))
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

/// What a count or a board says.
#[derive(Debug, PartialEq, Eq)]
struct Meaning<'m> {
    by: Vec<&'m str>,
    /// Keys and the fields that they name.
    about: Vec<(&'static str, &'m str)>,
    filter: Vec<(&'m str, &'m Literal)>,
    shards: u32,
}

fn compare_counts(pair: &Pair<'_>, findings: &mut Findings) {
    for (name, fate) in fates(&counts(pair.old), &counts(pair.new)) {
        let text = format!("`{}`: the count `{name}` {}", pair.name(), fate.words());
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
            let text = format!("`{}`: the count `{}` is served elsewhere", pair.name(), count.name);
            findings.changes.push(pair.change(ChangeKind::ServiceChanged, text));
        }
    }
}

fn counts<'m>(side: Side<'m>) -> Vec<(&'m str, Meaning<'m>)> {
    let meaning = |count: &'m Count| Meaning {
        by: side.names(&count.by),
        about: side.name_set(&count.split).into_iter().map(|field| ("split", field)).collect(),
        filter: side.filter(&count.filter),
        shards: count.shards,
    };
    side.entity.counts.iter().map(|count| (count.name.as_str(), meaning(count))).collect()
}

fn compare_boards(pair: &Pair<'_>, findings: &mut Findings) {
    for (name, fate) in fates(&boards(pair.old), &boards(pair.new)) {
        let text = format!("`{}`: the board `{name}` {}", pair.name(), fate.words());
        let kind = match pair.new.entity.boards().find(|(_, board)| board.name == name) {
            Some((id, _)) => ChangeKind::BoardBuilt(id),
            None => ChangeKind::BoardRemoved,
        };
        findings.changes.push(pair.change(kind, text));
    }
}

fn boards<'m>(side: Side<'m>) -> Vec<(&'m str, Meaning<'m>)> {
    let meaning = |board: &'m Board| Meaning {
        by: side.names(&board.by),
        about: vec![match board.ranking {
            Ranking::Count(field) => ("of", side.name(field)),
            Ranking::Field(field) => ("rank", side.name(field)),
        }],
        filter: side.filter(&board.filter),
        shards: 1,
    };
    side.entity.boards.iter().map(|board| (board.name.as_str(), meaning(board))).collect()
}

/// What became of a name.
#[derive(Clone, Copy, Debug)]
enum Fate {
    New,
    Changed,
    Gone,
}

impl Fate {
    fn words(self) -> &'static str {
        match self {
            Fate::New => "is new",
            Fate::Changed => "is made anew: it says something else",
            Fate::Gone => "is gone",
        }
    }
}

fn fates<'m>(
    old: &[(&'m str, Meaning<'m>)],
    new: &[(&'m str, Meaning<'m>)],
) -> Vec<(&'m str, Fate)> {
    let mut fates = vec![];
    for (name, meaning) in new {
        match old.iter().find(|(other, _)| other == name) {
            None => fates.push((*name, Fate::New)),
            Some((_, before)) if before != meaning => fates.push((*name, Fate::Changed)),
            Some(_) => {}
        }
    }
    let gone = old.iter().filter(|(name, _)| !new.iter().any(|(other, _)| other == name));
    fates.extend(gone.map(|(name, _)| (*name, Fate::Gone)));
    fates
}

fn compare_combinations(pair: &Pair<'_>, findings: &mut Findings) {
    if combinations(pair.old) != combinations(pair.new) {
        let text = format!("`{}`: the combinations of tags changed", pair.name());
        findings.changes.push(pair.change(ChangeKind::CombinationsChanged, text));
    }
}

fn combinations<'m>(side: Side<'m>) -> BTreeSet<(&'m str, &'m [String])> {
    let combinations = side.entity.combinations.iter();
    combinations.map(|entry| (side.name(entry.field), entry.keys.as_slice())).collect()
}
