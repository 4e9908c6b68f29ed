//! Random declarations over the fields of an entity: uniques, lists, counts, boards, tags.

use std::collections::BTreeSet;

use keyloom_model::{CaseMode, Direction, Format, Limits, Presence};

use super::draft::{
    DraftBoard, DraftCombination, DraftCount, DraftEntity, DraftField, DraftFormat, DraftList,
    DraftRanking, DraftSequence, DraftTest, DraftType, DraftUnique, DraftWindow,
};
use super::field::literal_of;
use crate::Random;

const UNIQUES_MAX: usize = 2;
const LISTS_MAX: usize = 4;
/// Names of lists and counts; some are names of fields and entities too.
const NAMES: &[&str] = &["open", "by_name", "task", "due", "all", "rank"];

/// What a field can be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// `by`, `order` and `unique`.
    Key,
    /// `facets`, `split` and `of`.
    Facet,
    /// `where`.
    Where,
    /// `rank`.
    Rank,
    /// `sum`, `min` and `max`.
    Sum,
}

/// Returns the fields that fit a purpose; the parent is one, `id` is not.
pub(super) fn fields_for(purpose: Purpose, entity: &DraftEntity) -> Vec<String> {
    let fits = |of: &DraftType| match of {
        DraftType::Text(_) | DraftType::Bool | DraftType::Enum(_) | DraftType::Ref(..) => {
            !matches!(purpose, Purpose::Rank | Purpose::Sum)
        }
        DraftType::Int(_) => true,
        DraftType::Number(_) => purpose != Purpose::Facet,
        DraftType::Time => purpose != Purpose::Facet,
        DraftType::Bytes(_) => purpose == Purpose::Key,
        DraftType::Any | DraftType::Tags | DraftType::List(..) | DraftType::Map(..) => false,
    };
    let declared = entity.fields.iter().filter(|field| fits(&field.of));
    let mut names: Vec<String> = declared.map(|field| field.name.clone()).collect();
    if matches!(purpose, Purpose::Key | Purpose::Facet) {
        names.extend(entity.parent.as_ref().map(|parent| parent.entity.clone()));
    }
    names
}

pub(super) fn add_expiry(entity: &mut DraftEntity, random: &mut Random) {
    let times = entity.fields.iter().filter(|field| field.of == DraftType::Time);
    let times: Vec<String> = times.map(|field| field.name.clone()).collect();
    if !times.is_empty() && random.chance(1, 3) {
        entity.expires = Some(random.pick(&times).clone());
    }
}

pub(super) fn add_shards(entity: &mut DraftEntity, random: &mut Random) {
    entity.shards = *random.pick(&[1, 1, 1, 2, 5]);
}

pub(super) fn add_sequence(entity: &mut DraftEntity, random: &mut Random) {
    let sequences = [DraftSequence::None, DraftSequence::All, DraftSequence::ByParent];
    entity.sequence = *random.pick(&sequences);
}

pub(super) fn add_read_only(entity: &mut DraftEntity, random: &mut Random) {
    if random.chance(1, 2) {
        entity.read_only = read_only(entity, random);
    }
}

/// Returns some fields that clients need not set.
pub(super) fn read_only(entity: &DraftEntity, random: &mut Random) -> Vec<String> {
    let is_set = |field: &&DraftField| {
        let is_tenant = entity.tenant.as_ref() == Some(&field.name);
        !is_tenant && (field.presence == Presence::Optional || field.default.is_some())
    };
    let fields = entity.fields.iter().filter(is_set).map(|field| field.name.clone());
    random.some_of(&fields.collect::<Vec<String>>(), 2)
}

pub(super) fn add_filters(entity: &mut DraftEntity, random: &mut Random) {
    if random.chance(1, 3) {
        entity.filters = filters(entity, random);
    }
}

/// Returns some numbers, times and optional fields.
pub(super) fn filters(entity: &DraftEntity, random: &mut Random) -> Vec<String> {
    let fits = |field: &&DraftField| match field.of {
        DraftType::Int(_) | DraftType::Number(_) | DraftType::Time => true,
        DraftType::Tags => false,
        _ => field.presence == Presence::Optional,
    };
    let fields = entity.fields.iter().filter(fits).map(|field| field.name.clone());
    random.some_of(&fields.collect::<Vec<String>>(), 2)
}

pub(super) fn add_search(entity: &mut DraftEntity, random: &mut Random) {
    if random.chance(1, 4) {
        entity.searched = searched(entity, random);
    }
}

/// Returns some texts.
pub(super) fn searched(entity: &DraftEntity, random: &mut Random) -> Vec<String> {
    let is_text = |field: &&DraftField| matches!(field.of, DraftType::Text(_));
    let fields = entity.fields.iter().filter(is_text).map(|field| field.name.clone());
    random.some_of(&fields.collect::<Vec<String>>(), 2)
}

pub(super) fn add_format(entity: &mut DraftEntity, random: &mut Random) {
    if random.chance(1, 2) {
        entity.formats.extend(format(entity, random));
    }
}

/// Returns a format for a text that has none and is long enough for all of them, if there is one.
pub(super) fn format(entity: &DraftEntity, random: &mut Random) -> Option<DraftFormat> {
    let fits = |field: &&DraftField| {
        let is_free = entity.formats.iter().all(|format| format.field != field.name);
        let is_tenant = entity.tenant.as_ref() == Some(&field.name);
        let is_long = matches!(field.of, DraftType::Text(Limits { high: None | Some(80), .. }));
        is_long && is_free && !is_tenant && field.default.is_none()
    };
    let texts: Vec<&DraftField> = entity.fields.iter().filter(fits).collect();
    let field = random.some_of(&texts, 1).first()?.name.clone();
    let mut enums = entity.fields.iter().filter_map(|field| match &field.of {
        DraftType::Enum(members) => Some((field.name.clone(), members.clone())),
        _ => None,
    });
    // Not those that were added later: every seed would draw something else.
    let mut any = || *random.pick(&[Format::Email, Format::Phone, Format::Url]);
    let by = enums.next().map(|(by, members)| {
        let formats = members.into_iter().step_by(2).map(|member| (member, any()));
        (by, formats.collect())
    });
    Some(DraftFormat { field, by, format: any() })
}

pub(super) fn add_uniques(entity: &mut DraftEntity, random: &mut Random) {
    for _ in 0..random.index(UNIQUES_MAX + 1) {
        if let Some(unique) = unique(entity, random) {
            entity.uniques.push(unique);
        }
    }
}

/// Returns a unique that the entity does not have yet, if one was found.
pub(super) fn unique(entity: &DraftEntity, random: &mut Random) -> Option<DraftUnique> {
    let keys = fields_for(Purpose::Key, entity);
    let mut fields = random.some_of(&keys, 3);
    let within = if fields.len() > 1 && random.chance(1, 2) { fields.pop() } else { None };
    let is_text = |name: &String| {
        entity.field(name).is_some_and(|field| matches!(field.of, DraftType::Text(_)))
    };
    let folds = fields.iter().any(is_text) && random.chance(1, 2);
    let case = if folds { CaseMode::Folded } else { CaseMode::Exact };
    let unique = DraftUnique { fields, within, case };
    let about = |unique: &DraftUnique| {
        let mut about: Vec<String> = unique.fields.iter().chain(&unique.within).cloned().collect();
        about.sort();
        about
    };
    let is_there = entity.uniques.iter().any(|other| about(other) == about(&unique));
    (!unique.fields.is_empty() && !is_there).then_some(unique)
}

pub(super) fn add_lists(entity: &mut DraftEntity, random: &mut Random) {
    for _ in 0..random.index(LISTS_MAX + 1) {
        if let Some(list) = list(entity, random) {
            entity.lists.push(list);
        }
    }
}

/// Returns a list that the entity does not have yet, if one was found.
pub(super) fn list(entity: &DraftEntity, random: &mut Random) -> Option<DraftList> {
    let taken = entity.lists.iter().map(|list| list.name.clone());
    let name = free_name(taken.collect(), random)?;
    let keys = fields_for(Purpose::Key, entity);
    let by = random.some_of(&keys, 2);
    let order = order(&by, entity, random);
    let facets = others(&by, fields_for(Purpose::Facet, entity));
    let facets = if random.chance(1, 4) { random.some_of(&facets, 2) } else { vec![] };
    let filter = filter(entity, random);
    let path = match by.first() {
        Some(field) if random.chance(1, 8) => {
            Some(format!("/by/{}/{name}/{{{field}}}", entity.name))
        }
        _ => None,
    };
    let shards = if !by.is_empty() && random.chance(1, 4) { 3 } else { 1 };
    let list = DraftList { name, path, by, order, filter, facets, shards };
    // The order of facets has no meaning.
    let set = |fields: &[String]| fields.iter().cloned().collect::<BTreeSet<String>>();
    let is_there = entity.lists.iter().any(|other| {
        let is_alike =
            (&other.by, &other.order, &other.filter) == (&list.by, &list.order, &list.filter);
        is_alike && set(&other.facets) == set(&list.facets)
    });
    (!is_there).then_some(list)
}

/// Returns an order of up to three fields that are not constant within the list.
pub(super) fn order(
    by: &[String],
    entity: &DraftEntity,
    random: &mut Random,
) -> Vec<(String, Direction)> {
    let mut keys = fields_for(Purpose::Key, entity);
    if random.chance(1, 8) {
        keys.push("id".to_owned());
    }
    let fields = random.some_of(&others(by, keys), 3);
    let mut direct = |field| (field, *random.pick(&[Direction::Ascending, Direction::Descending]));
    fields.into_iter().map(&mut direct).collect()
}

fn others(taken: &[String], fields: Vec<String>) -> Vec<String> {
    fields.into_iter().filter(|field| !taken.contains(field)).collect()
}

fn free_name(taken: Vec<String>, random: &mut Random) -> Option<String> {
    let names: Vec<String> = NAMES.iter().map(|name| (*name).to_owned()).collect();
    let free = others(&taken, names);
    (!free.is_empty()).then(|| random.pick(&free).clone())
}

fn filter(entity: &DraftEntity, random: &mut Random) -> Vec<DraftTest> {
    if !random.chance(1, 4) {
        return vec![];
    }
    let fields = random.some_of(&fields_for(Purpose::Where, entity), 2);
    let test = |name: String| {
        let value = literal_of(&entity.field(&name)?.of, random)?;
        Some(DraftTest { field: name, value })
    };
    fields.into_iter().filter_map(test).collect()
}

pub(super) fn add_counts(entity: &mut DraftEntity, random: &mut Random) {
    if !random.chance(1, 3) {
        return;
    }
    entity.counts.extend(count(entity, random));
}

/// Returns a count that the entity does not have yet, if there is a name for it.
pub(super) fn count(entity: &DraftEntity, random: &mut Random) -> Option<DraftCount> {
    let taken = entity.counts.iter().map(|count| count.name.clone());
    let name = free_name(taken.collect(), random)?;
    let by = random.some_of(&fields_for(Purpose::Key, entity), 1);
    let split = random.some_of(&others(&by, fields_for(Purpose::Facet, entity)), 2);
    let shards = if random.chance(1, 3) { 3 } else { 1 };
    let numbers = fields_for(Purpose::Sum, entity);
    let sums = random.some_of(&numbers, 2);
    // Each of these doubles the rows of a write, as a field of `split` does.
    let (mut min, mut max, mut window) = (vec![], vec![], None);
    if split.len() < 2 && random.chance(1, 2) {
        window = count_window(entity, random);
    }
    if split.is_empty() || window.is_none() && split.len() < 2 {
        min = random.some_of(&numbers, 1);
        max = if random.chance(1, 2) { min.clone() } else { vec![] };
    }
    let filter = filter(entity, random);
    Some(DraftCount { name, by, split, sums, min, max, window, filter, shards })
}

fn count_window(entity: &DraftEntity, random: &mut Random) -> Option<DraftWindow> {
    let times = entity.fields.iter().filter(|field| field.of == DraftType::Time);
    let times: Vec<String> = times.map(|field| field.name.clone()).collect();
    let units = ["hour", "day", "week", "month", "year"];
    let zones = ["UTC", "Europe/Berlin", "Pacific/Apia"];
    (!times.is_empty()).then(|| DraftWindow {
        unit: random.pick::<&str>(&units),
        of: random.pick(&times).clone(),
        zone: random.pick::<&str>(&zones),
    })
}

/// Adds boards, whose names are unique in the whole model.
pub(super) fn add_boards(entities: &mut [DraftEntity], random: &mut Random) {
    let mut names = ["leaders", "best", "task"].to_vec();
    for entity in entities {
        if random.chance(1, 3)
            && let Some(name) = names.pop()
        {
            entity.boards.extend(board(name, entity, random));
        }
    }
}

/// Returns a board, if there is something to rank.
pub(super) fn board(name: &str, entity: &DraftEntity, random: &mut Random) -> Option<DraftBoard> {
    let ranks = fields_for(Purpose::Rank, entity);
    let values = fields_for(Purpose::Facet, entity);
    let ranking = if !ranks.is_empty() && random.chance(1, 2) {
        DraftRanking::Rank(random.pick(&ranks).clone())
    } else if !values.is_empty() {
        DraftRanking::Of(random.pick(&values).clone())
    } else {
        return None;
    };
    let (DraftRanking::Of(ranked) | DraftRanking::Rank(ranked)) = &ranking;
    let keys = others(std::slice::from_ref(ranked), fields_for(Purpose::Key, entity));
    let by = random.some_of(&keys, 1);
    Some(DraftBoard { name: name.to_owned(), ranking, by, filter: filter(entity, random) })
}

pub(super) fn add_combinations(entity: &mut DraftEntity, random: &mut Random) {
    let tags = entity.fields.iter().find(|field| field.of == DraftType::Tags);
    let Some(field) = tags.map(|field| field.name.clone()) else { return };
    for keys in [["a", "b"], ["b", "c:d"]] {
        if random.chance(1, 3) {
            let keys = keys.map(str::to_owned).to_vec();
            entity.combinations.push(DraftCombination { field: field.clone(), keys });
        }
    }
}
