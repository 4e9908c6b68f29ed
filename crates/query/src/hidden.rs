//! Who has left the posting lists of a kind of entity although it is still in them: what a large
//! deletion has taken is removed from them little by little. Whoever counts leaves it out.

use std::collections::BTreeSet;

use keyloom_model::{Entity, EntityId, Layout, Matching, attribute};
use keyloom_store::{Direction, ListSets, Members};
use keyloom_value::{KeyBytes, Name, Value};

use crate::fetch::unreadable;
use crate::nodes::{Node, PostingRows, PostingSet, Search, Sizes};
use crate::posting_list::{PostingList, PostingOf};
use crate::span::{Place, Span};
use crate::visible::{Deletions, Verdict};
use crate::{Budget, Error, ReadCost, Reader};

/// As many posting lists of deletions as are looked for at once.
const LISTS_MAX: u32 = 100;

/// Members of posting lists that do not count.
#[derive(Debug, Default)]
pub(crate) struct Hidden {
    /// Those of any list.
    all: Members,
    /// Those of lists that depend on a field.
    by_field: Vec<(String, Members)>,
}

impl Hidden {
    /// Ordinals that count in no posting list.
    #[cfg(test)]
    pub(crate) fn in_all(all: Members) -> Hidden {
        Hidden { all, by_field: vec![] }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty() && self.by_field.is_empty()
    }

    /// Leaves those out that do not count as members of a posting list.
    pub(crate) fn leave_out(&self, entity: &Entity, list: &PostingList, members: &mut Members) {
        members.and_not(&self.all);
        for (field, hidden) in &self.by_field {
            if list.depends_on(entity, field) {
                members.and_not(hidden);
            }
        }
    }
}

/// A posting list of what a deletion takes.
struct PendingList {
    list: PostingList,
    deletion: String,
    field: Option<String>,
}

impl Reader<'_> {
    /// Who does not count among the entities of a kind. They are read before what they are left out
    /// of: whoever is removed meanwhile counts neither way.
    pub(crate) async fn hidden(
        &self,
        of: (EntityId, Option<&Value>),
        (deletions, cost): (&mut Deletions, &mut ReadCost),
    ) -> Result<Hidden, Error> {
        let mut hidden = Hidden::default();
        let lists = self.pending_lists(of, cost).await?;
        if lists.is_empty() {
            return Ok(hidden);
        }
        let named: BTreeSet<String> = lists.iter().map(|list| list.deletion.clone()).collect();
        // What is learned here is true of all that is read from now on.
        let (Verdict::Valid | Verdict::ReadAgain) = self.learn(named, deletions, cost).await?;
        for PendingList { list, deletion, field } in lists {
            if !deletions.has_happened(&deletion) {
                continue;
            }
            let members = self.all_members(list, cost).await?;
            match field {
                None => hidden.all.or(&members),
                Some(field) => hidden.by_field.push((field, members)),
            }
        }
        Ok(hidden)
    }

    async fn all_members(&self, list: PostingList, cost: &mut ReadCost) -> Result<Members, Error> {
        let nobody = Hidden::default();
        let mut search = Search {
            reader: self,
            direction: Direction::Forward,
            budget: Budget { rows: u64::MAX, bytes: u64::MAX },
            hidden: &nobody,
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

    /// The posting lists of deletions that take something from entities of a kind. One read if there
    /// are none; where posting lists are sets, none.
    async fn pending_lists(
        &self,
        (entity, tenant): (EntityId, Option<&Value>),
        cost: &mut ReadCost,
    ) -> Result<Vec<PendingList>, Error> {
        let prefix = self.layout.pending_prefix(entity, tenant);
        let mut lists = vec![];
        let mut add = |part: &[u8]| {
            let mut name = prefix.clone();
            let value = KeyBytes::decode_part(part).ok().map(|(value, _)| value);
            let read = Layout::read_pending_list(part).zip(value);
            if let Some(((deletion, field), value)) = read
                && name.push(&value).is_ok()
            {
                let list = PostingList { entity, of: PostingOf::Deletion, name };
                lists.push(PendingList { list, deletion, field });
            }
        };
        if let Some(sets) = self.store.sets().filter(|_| self.layout.matching() == Matching::Sets) {
            let (table, prefix) = (self.table.clone(), prefix.as_bytes().to_vec());
            let mut after = None;
            loop {
                let (table, prefix) = (table.clone(), prefix.clone());
                let skip = prefix.len();
                let list = ListSets { table, prefix, after, limit: LISTS_MAX };
                let found = sets.list_sets(list).await?;
                cost.rows += found.len() as u64;
                for size in &found {
                    add(size.set.as_bytes().get(skip..).unwrap_or_default());
                }
                match found.into_iter().nth(LISTS_MAX as usize - 1) {
                    Some(last) => after = Some(last.set),
                    None => return Ok(lists),
                }
            }
        }
        let sort = Name::from(attribute::SORT);
        let partition = (Name::from(attribute::PARTITION), prefix.as_bytes());
        let place = Place { index: None, partition, sort: sort.clone() };
        let mut span = Span::new(None, None);
        loop {
            let page = self.page(&place, &span, Direction::Forward, 1).await?;
            cost.rows += page.scanned;
            cost.bytes += page.scanned_bytes;
            let Some(row) = page.items.first() else { return Ok(lists) };
            let wrong =
                || unreadable(row, keyloom_model::Unreadable { attribute: attribute::SORT });
            let key = row.get(sort.as_str()).and_then(Value::as_b).ok_or_else(wrong)?;
            let rest = KeyBytes::skip_part(key).map_err(|_| wrong())?;
            let part = &key[..key.len() - rest.len()];
            add(part);
            let Some(next) = KeyBytes::after_prefix(part) else { return Ok(lists) };
            span = Span::new(Some(next), None);
        }
    }
}
