//! Edits of declarations about fields: lists, uniques, expiry, paths and the rest.

use keyloom_model::TriggeringChange;

use super::super::declaration::{
    Purpose, board, count, fields_for, filters, format, list, order, read_only, searched, unique,
};
use super::super::draft::{Draft, DraftHandler, DraftList, DraftType};
use super::some_entity;
use crate::Random;

pub(super) fn add_list(draft: &mut Draft, random: &mut Random) -> Option<()> {
    let entity = some_entity(draft, random);
    entity.lists.extend(list(entity, random));
    Some(())
}

pub(super) fn remove_list(draft: &mut Draft, random: &mut Random) -> Option<()> {
    let entity = some_entity(draft, random);
    if !entity.lists.is_empty() {
        entity.lists.remove(random.index(entity.lists.len()));
    }
    Some(())
}

pub(super) fn change_order(draft: &mut Draft, random: &mut Random) -> Option<()> {
    let entity = some_entity(draft, random);
    if !entity.lists.is_empty() {
        let index = random.index(entity.lists.len());
        let order = order(&entity.lists[index].by, entity, random);
        entity.lists[index].order = order;
    }
    Some(())
}

pub(super) fn add_unique(draft: &mut Draft, random: &mut Random) -> Option<()> {
    let entity = some_entity(draft, random);
    entity.uniques.extend(unique(entity, random));
    Some(())
}

pub(super) fn remove_unique(draft: &mut Draft, random: &mut Random) -> Option<()> {
    let entity = some_entity(draft, random);
    if !entity.uniques.is_empty() {
        entity.uniques.remove(random.index(entity.uniques.len()));
    }
    Some(())
}

pub(super) fn change_expiry(draft: &mut Draft, random: &mut Random) -> Option<()> {
    let entity = some_entity(draft, random);
    let times = entity.fields.iter().filter(|field| field.of == DraftType::Time);
    let times: Vec<String> = times.map(|field| field.name.clone()).collect();
    entity.expires = random.some_of(&times, 1).into_iter().next();
    Some(())
}

pub(super) fn change_path(draft: &mut Draft, random: &mut Random) -> Option<()> {
    let entity = some_entity(draft, random);
    let elsewhere = format!("/elsewhere/{}", entity.name);
    match entity.lists.first_mut() {
        Some(list) if random.chance(1, 2) => list.path = Some(elsewhere + "/list"),
        _ => entity.path = Some(elsewhere),
    }
    Some(())
}

pub(super) fn change_read_only(draft: &mut Draft, random: &mut Random) -> Option<()> {
    let entity = some_entity(draft, random);
    let chosen = read_only(entity, random);
    replace_set(&mut entity.read_only, chosen);
    Some(())
}

/// Replaces fields whose order has no meaning, if others were chosen.
fn replace_set(old: &mut Vec<String>, chosen: Vec<String>) {
    let is_same = chosen.len() == old.len() && chosen.iter().all(|field| old.contains(field));
    if !is_same {
        *old = chosen;
    }
}

pub(super) fn change_filters(draft: &mut Draft, random: &mut Random) -> Option<()> {
    let entity = some_entity(draft, random);
    let chosen = filters(entity, random);
    replace_set(&mut entity.filters, chosen);
    Some(())
}

pub(super) fn change_search(draft: &mut Draft, random: &mut Random) -> Option<()> {
    let entity = some_entity(draft, random);
    let chosen = searched(entity, random);
    replace_set(&mut entity.searched, chosen);
    Some(())
}

pub(super) fn remove_format(draft: &mut Draft, random: &mut Random) -> Option<()> {
    some_entity(draft, random).formats.pop().map(|_| ())
}

pub(super) fn add_format(draft: &mut Draft, random: &mut Random) -> Option<()> {
    let entity = some_entity(draft, random);
    let format = format(entity, random)?;
    entity.formats.push(format);
    Some(())
}

pub(super) fn change_facets(draft: &mut Draft, random: &mut Random) -> Option<()> {
    let entity = some_entity(draft, random);
    let facets = fields_for(Purpose::Facet, entity);
    if let Some(DraftList { by, facets: old, .. }) = entity.lists.first_mut() {
        let facets: Vec<String> = facets.into_iter().filter(|field| !by.contains(field)).collect();
        let chosen = random.some_of(&facets, 2);
        // Their order has no meaning.
        let is_same = chosen.len() == old.len() && chosen.iter().all(|field| old.contains(field));
        if !is_same {
            *old = chosen;
        }
    }
    Some(())
}

pub(super) fn change_shards(draft: &mut Draft, random: &mut Random) -> Option<()> {
    let entity = some_entity(draft, random);
    let shards = *random.pick(&[1, 2, 4]);
    let mut spread = entity.lists.iter_mut().filter(|list| !list.by.is_empty());
    match spread.next() {
        Some(list) if random.chance(1, 2) => list.shards = shards,
        _ => entity.shards = shards,
    }
    Some(())
}

pub(super) fn add_count(draft: &mut Draft, random: &mut Random) -> Option<()> {
    let entity = some_entity(draft, random);
    entity.counts.extend(count(entity, random));
    Some(())
}

pub(super) fn add_board(draft: &mut Draft, random: &mut Random) -> Option<()> {
    let entity = some_entity(draft, random);
    entity.boards.extend(board("edited", entity, random));
    Some(())
}

pub(super) fn change_numbers(draft: &mut Draft, random: &mut Random) -> Option<()> {
    let entity = some_entity(draft, random);
    match (random.below(3), entity.counts.first_mut(), entity.boards.first_mut()) {
        (0, Some(_), _) => drop(entity.counts.remove(0)),
        (0, None, Some(_)) => drop(entity.boards.remove(0)),
        (1, Some(count), _) => count.shards = 5 - count.shards.min(3),
        (_, Some(count), _) if count.window.is_some() => count.window = None,
        (_, Some(count), _) if !count.min.is_empty() => {
            count.min.clear();
            count.max.clear();
        }
        (_, Some(count), _) if !count.sums.is_empty() => drop(count.sums.pop()),
        (_, Some(count), _) if !count.split.is_empty() => drop(count.split.pop()),
        (_, _, Some(board)) if !board.by.is_empty() => drop(board.by.pop()),
        (_, _, Some(board)) if !board.filter.is_empty() => drop(board.filter.pop()),
        _ => return None,
    }
    Some(())
}

pub(super) fn change_handlers(draft: &mut Draft, random: &mut Random) -> Option<()> {
    // Removing the last one would remove jobs.
    if draft.handlers.len() > 1 && random.chance(1, 2) {
        draft.handlers.pop();
        return Some(());
    }
    let entity = some_entity(draft, random).name.clone();
    let change = TriggeringChange::Delete;
    draft.handlers.push(DraftHandler { entity, change, target: "edited".to_owned() });
    Some(())
}
