//! Sets as `BTreeSet`s.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    Direction, ListSets, Membership, ReadSet, SetChange, SetName, SetPart, SetSize, validate,
};

/// The nonempty sets of a table.
pub(super) type TableSets = BTreeMap<SetName, BTreeSet<u64>>;

pub(super) fn change(sets: &mut TableSets, change: SetChange) {
    let members = sets.entry(change.set.clone()).or_default();
    for ordinal in change.ordinals {
        match change.becomes {
            Membership::In => members.insert(ordinal),
            Membership::Out => members.remove(&ordinal),
        };
    }
    if members.is_empty() {
        sets.remove(&change.set);
    }
}

pub(super) fn read(sets: &TableSets, read: &ReadSet) -> Result<SetPart, crate::Invalid> {
    validate::read_set(read)?;
    let members: Vec<u64> = sets.get(&read.set).into_iter().flatten().copied().collect();
    let left: Vec<u64> = match read.direction {
        Direction::Forward => members.into_iter().filter(|n| *n >= read.from).collect(),
        Direction::Backward => members.into_iter().rev().filter(|n| *n <= read.from).collect(),
    };
    let chunk = |ordinal: &u64| ordinal / ReadSet::CHUNK_ORDINALS;
    let chunks: Vec<&[u64]> = left.chunk_by(|a, b| chunk(a) == chunk(b)).collect();
    let taken = &chunks[..chunks.len().min(read.chunks as usize)];
    let last = taken.last().and_then(|ordinals| ordinals.first()).map(chunk);
    let through = last.filter(|_| taken.len() < chunks.len()).map(|chunk| match read.direction {
        Direction::Forward => chunk * ReadSet::CHUNK_ORDINALS + (ReadSet::CHUNK_ORDINALS - 1),
        Direction::Backward => chunk * ReadSet::CHUNK_ORDINALS,
    });
    let members = taken.iter().flat_map(|ordinals| ordinals.iter().copied()).collect();
    Ok(SetPart { members, through, chunks: taken.len() as u32, bytes: 0 })
}

pub(super) fn list(sets: &TableSets, list: &ListSets) -> Result<Vec<SetSize>, crate::Invalid> {
    validate::list_sets(list)?;
    let found = sets.iter().filter(|(name, _)| {
        let is_after = list.after.as_ref().is_none_or(|after| *name > after);
        is_after && name.as_bytes().starts_with(&list.prefix)
    });
    let size = |(name, members): (&SetName, &BTreeSet<u64>)| SetSize {
        set: name.clone(),
        members: members.len() as u64,
    };
    Ok(found.map(size).take(list.limit as usize).collect())
}
