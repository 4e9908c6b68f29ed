//! Finds what large deletions have taken and not yet removed from posting lists: each deletion keeps
//! posting lists of its own, until it has removed everything.

use std::collections::BTreeSet;

use keyloom_model::{Matching, PostingLists, Unreadable, attribute};
use keyloom_store::{Direction, ListSets, Members, SetName};
use keyloom_value::KeyBytes;

use crate::error::unreadable;
use crate::hidden::Hidden;
use crate::nodes::{Node, PostingRows, PostingSet, Search, Sizes};
use crate::partition::Partition;
use crate::posting_list::{PostingList, PostingOf, PostingOwner};
use crate::span::Span;
use crate::visible::{ReadState, Verdict};
use crate::{Budget, Error, ReadCost, Reader};

/// How many posting lists of deletions one request lists.
const LISTS_MAX: u32 = 100;

/// A posting list of what a deletion takes.
struct PendingList {
    list: PostingList,
    deletion: String,
    field: Option<String>,
}

impl Hidden {
    /// Reads which entities of a kind do not count. Call it before reading what they are left out
    /// of: one that is removed in between then counts neither way.
    pub(crate) async fn read(
        reader: &Reader<'_>,
        owner: PostingOwner<'_>,
        state: &mut ReadState,
    ) -> Result<Hidden, Error> {
        let mut hidden = Hidden::default();
        let lists = pending_lists(reader, owner, &mut state.cost).await?;
        if lists.is_empty() {
            return Ok(hidden);
        }
        let named: BTreeSet<String> = lists.iter().map(|list| list.deletion.clone()).collect();
        // What is learned here is true of all that is read from now on.
        let (Verdict::Valid | Verdict::ReadAgain) = state.learn(reader.rows(), named).await?;
        for PendingList { list, deletion, field } in lists {
            if !state.has_happened(&deletion) {
                continue;
            }
            let members = all_members(reader, list, &mut state.cost).await?;
            match field {
                None => hidden.all.or(&members),
                Some(field) => hidden.by_field.push((field, members)),
            }
        }
        Ok(hidden)
    }
}

async fn all_members(
    reader: &Reader<'_>,
    list: PostingList,
    cost: &mut ReadCost,
) -> Result<Members, Error> {
    let mut search = Search {
        reader,
        direction: Direction::Forward,
        budget: Budget { rows: u64::MAX, bytes: u64::MAX },
        hidden: &Hidden::default(),
        cost,
    };
    let node = match search.sets() {
        Some(_) => PostingSet::new(list, Sizes::UNKNOWN).shared(),
        None => PostingRows::new(list).shared(),
    };
    let (mut from, mut all) = (search.start(), Members::default());
    loop {
        let batch = search.next(&*node, from).await?;
        all.or(&batch.ordinals);
        match search.next_after(&batch) {
            Some(next) => from = next,
            None => return Ok(all),
        }
    }
}

/// Reads the names of the posting lists of deletions that take something from entities of a kind.
/// One read if there are none; where posting lists are sets, none.
async fn pending_lists(
    reader: &Reader<'_>,
    owner: PostingOwner<'_>,
    cost: &mut ReadCost,
) -> Result<Vec<PendingList>, Error> {
    let prefix = reader.layout.postings().pending_prefix(owner.entity, owner.tenant);
    let parts = match reader.layout.matching() {
        Matching::Sets => parts_of_sets(reader, &prefix, cost).await?,
        Matching::Rows => None,
    };
    let parts = match parts {
        Some(parts) => parts,
        None => parts_of_rows(reader, &prefix, cost).await?,
    };
    let list = |part: &Vec<u8>| {
        let (deletion, field) = PostingLists::read_pending(part)?;
        let mut name = prefix.clone();
        name.push(&KeyBytes::decode_part(part).ok()?.0).ok()?;
        let list = PostingList { entity: owner.entity, of: PostingOf::Deletion, name };
        Some(PendingList { list, deletion, field })
    };
    Ok(parts.iter().filter_map(list).collect())
}

/// What follows a prefix in the names of sets; none if the store has no sets.
async fn parts_of_sets(
    reader: &Reader<'_>,
    prefix: &KeyBytes,
    cost: &mut ReadCost,
) -> Result<Option<Vec<Vec<u8>>>, Error> {
    let Some(sets) = reader.store.sets() else { return Ok(None) };
    let (mut parts, mut after) = (vec![], None);
    let prefix = prefix.as_bytes();
    loop {
        let (table, limit) = (reader.table.clone(), LISTS_MAX);
        let list = ListSets { table, prefix: prefix.to_vec(), after, limit };
        let found = sets.list_sets(list).await?;
        cost.rows += found.len() as u64;
        let part =
            |name: &SetName| name.as_bytes().get(prefix.len()..).unwrap_or_default().to_vec();
        parts.extend(found.iter().map(|size| part(&size.set)));
        match found.into_iter().nth(LISTS_MAX as usize - 1) {
            Some(last) => after = Some(last.set),
            None => return Ok(Some(parts)),
        }
    }
}

/// The first parts of the sort keys in a partition, each once.
async fn parts_of_rows(
    reader: &Reader<'_>,
    partition: &KeyBytes,
    cost: &mut ReadCost,
) -> Result<Vec<Vec<u8>>, Error> {
    let partition = Partition::of_table(partition.as_bytes());
    let (mut parts, mut span) = (vec![], Span::ALL);
    loop {
        let page = partition.first(&span, 1).read(reader.rows(), cost).await?;
        let Some(row) = page.items.first() else { return Ok(parts) };
        let key = partition.sort_of(row)?;
        let wrong = |_| unreadable(row, Unreadable { attribute: attribute::SORT });
        let rest = KeyBytes::skip_part(key).map_err(wrong)?;
        let part = key[..key.len() - rest.len()].to_vec();
        let next = KeyBytes::after_prefix(&part);
        parts.push(part);
        let Some(next) = next else { return Ok(parts) };
        span = Span::ALL.starting_at(Some(next));
    }
}
