//! Finds what large deletions have taken and not yet removed from posting lists: each deletion keeps
//! posting lists of its own, until it has removed everything.

use std::collections::BTreeSet;

use keyloom_model::PostingLists;
use keyloom_store::{Direction, Members};
use keyloom_value::KeyBytes;

use crate::chunks::ChunkView;
use crate::hidden::Hidden;
use crate::nodes::{Node, PostingSet, Search, Sizes};
use crate::posting_list::{PostingList, PostingOf, PostingOwner};
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
        view: &mut ChunkView,
    ) -> Result<Hidden, Error> {
        let mut hidden = Hidden::default();
        let nothing = Hidden::default();
        let lists = pending_lists(search(reader, &nothing, &mut state.cost, view), owner).await?;
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
            let search = search(reader, &nothing, &mut state.cost, view);
            let members = all_members(search, list).await?;
            match field {
                None => hidden.all.or(&members),
                Some(field) => hidden.by_field.push((field, members)),
            }
        }
        Ok(hidden)
    }
}

/// A search without bounds in which everything counts.
fn search<'s>(
    reader: &'s Reader<'s>,
    hidden: &'s Hidden,
    cost: &'s mut ReadCost,
    view: &'s mut ChunkView,
) -> Search<'s> {
    let budget = Budget { rows: u64::MAX, bytes: u64::MAX };
    Search { reader, direction: Direction::Forward, budget, hidden, cost, view }
}

async fn all_members(mut search: Search<'_>, list: PostingList) -> Result<Members, Error> {
    let node = PostingSet::new(list, Sizes::UNKNOWN).shared();
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
async fn pending_lists(
    mut search: Search<'_>,
    owner: PostingOwner<'_>,
) -> Result<Vec<PendingList>, Error> {
    let prefix = search.reader.layout.postings().pending_prefix(owner.entity, owner.tenant);
    let (mut lists, mut after): (Vec<PendingList>, Option<Vec<u8>>) = (vec![], None);
    let list = |part: &[u8]| {
        let (deletion, field) = PostingLists::read_pending(part)?;
        let mut name = prefix.clone();
        name.push(&KeyBytes::decode_part(part).ok()?.0).ok()?;
        let list = PostingList { entity: owner.entity, of: PostingOf::Deletion, name };
        Some(PendingList { list, deletion, field })
    };
    loop {
        let found = search.list(prefix.as_bytes(), &[], after.as_deref(), LISTS_MAX).await?;
        lists.extend(found.iter().filter_map(|found| list(&found.part)));
        match found.into_iter().nth(LISTS_MAX as usize - 1) {
            Some(last) => after = Some(last.part),
            None => return Ok(lists),
        }
    }
}
