//! The context of one call of the write path: the store, the table, the layouts and the time. It
//! creates the pure stages, which do not get the store.

use std::collections::BTreeMap;

use keyloom_model::{EntityKey, Image, OwnRow, RowKey};
use keyloom_query::Reader;
use keyloom_store::{Store, TableName, TransactWrite};

use super::admit::Admission;
use super::commit::{Outcome, commit};
use super::fence::{Fence, Permit};
use super::gate::{GatedBy, Pass};
use super::plan::Planner;
use super::{
    Attempts, Difference, Groups, ReferenceRules, Registry, Sequences, TombstoneChange, Transition,
    Turns,
};
use crate::background::Running;
use crate::error::Error;
use crate::ordinals::{AllocationRow, Ordinals};
use crate::schema::Layouts;
use crate::stamp::Stamps;

/// The context of one call of the write path.
#[derive(Clone, Copy)]
pub(crate) struct WriteContext<'a> {
    pub(crate) store: &'a dyn Store,
    pub(crate) table: &'a TableName,
    pub(crate) layouts: &'a Layouts,
    pub(crate) stamps: &'a Stamps,
    pub(crate) ordinals: &'a Ordinals,
    pub(crate) groups: &'a Groups,
    /// The boards with changes of scores.
    pub(crate) boards: &'a Registry,
    pub(crate) running: &'a Running,
    /// Whose turn it is at rows that many writers touch.
    pub(crate) turns: &'a Turns,
    /// Whose turn it is at entities that many writers change relative to what they are. They take these
    /// turns before the others, so that no two wait for each other.
    pub(crate) row_turns: &'a Turns,
    /// Whose turn it is at sequences: after those at entities, and before the others.
    pub(crate) sequences: &'a Sequences,
    /// None if no other process can have the store open.
    pub(crate) fence: Option<FencedBy<'a>>,
    /// Of a process that does not share the store.
    pub(crate) gate: Option<GatedBy<'a>>,
    pub(crate) now_ms: i64,
}

/// The fence of this process, and the epoch of the layouts.
#[derive(Clone, Copy)]
pub(crate) struct FencedBy<'a> {
    pub(crate) fence: &'a Fence,
    pub(crate) epoch: u32,
}

impl<'a> WriteContext<'a> {
    pub(crate) fn reader(&self) -> Reader<'a> {
        Reader {
            store: self.store,
            table: self.table,
            layout: &self.layouts.current,
            now_ms: self.now_ms,
            noted: None,
        }
    }

    pub(crate) fn admission(&self) -> Admission<'a> {
        Admission { layouts: self.layouts, stamps: self.stamps, now_ms: self.now_ms }
    }

    /// Sends a transaction that is not the difference of transitions, such as a repair.
    pub(crate) async fn transact(&self, mut transaction: TransactWrite) -> Result<(), Error> {
        let (permit, _pass) = (self.permit().await?, self.pass()?);
        let check = permit.as_ref().map(|permit| permit.check(self.table).action);
        transaction.actions.extend(check);
        Ok(self.store.transact_write(transaction).await?)
    }

    /// Returns the permit of a transaction, if it needs one.
    pub(super) async fn permit(&self) -> Result<Option<Permit<'a>>, Error> {
        match self.fence {
            None => Ok(None),
            Some(FencedBy { fence, epoch }) => fence.permit(self, epoch).await.map(Some),
        }
    }

    /// Lets a transaction through the gate, if there is one. It is inside until the pass is dropped.
    pub(super) fn pass(&self) -> Result<Option<Pass<'a>>, Error> {
        self.gate.map(|GatedBy { gate, epoch }| gate.enter(epoch)).transpose()
    }

    /// How many actions of a transaction are not available: one checks the permit.
    pub(crate) fn reserved(&self) -> usize {
        usize::from(self.fence.is_some())
    }

    /// Starts a loop of attempts that concurrent writers can invalidate.
    pub(crate) fn attempts(&self) -> Attempts<'a> {
        Attempts::new(self.stamps)
    }

    pub(crate) fn references(&self) -> ReferenceRules<'a> {
        ReferenceRules { layout: &self.layouts.current }
    }

    /// Returns a planner that ignores the tombstones of canceled deletions.
    pub(crate) fn planner<'p>(&self, called_off: &'p [String]) -> Planner<'p>
    where
        'a: 'p,
    {
        Planner {
            layouts: self.layouts,
            table: self.table,
            adds_numbers: self.store.adds_numbers(),
            reserved: self.reserved(),
            now_ms: self.now_ms,
            called_off,
        }
    }

    /// Returns the key of an entity's own row.
    pub(crate) fn own_key(&self, key: &EntityKey) -> RowKey {
        self.layouts.current.own_key(key)
    }

    /// Whether the entity has expired.
    pub(crate) fn is_expired(&self, row: &OwnRow) -> bool {
        self.reader().has_expired(row)
    }

    /// Rewrites an entity under the current layout, with other tombstones.
    pub(crate) async fn rewritten(
        &self,
        row: OwnRow,
        tombstones: TombstoneChange,
    ) -> Result<Transition, Error> {
        let after = Some(self.layouts.upgraded(row.clone()));
        let mut transition = Transition::new(row.image.key.clone(), Some(row), after);
        transition.tombstones = tombstones;
        self.assign_ordinal(&mut transition).await?;
        Ok(transition)
    }

    /// Allocates an ordinal for an entity that needs one and has none.
    pub(crate) async fn assign_ordinal(&self, transition: &mut Transition) -> Result<(), Error> {
        self.assign_ordinals(&mut [transition]).await
    }

    /// Allocates ordinals for the entities that need one and have none, in this order.
    pub(crate) async fn assign_ordinals(
        &self,
        transitions: &mut [&mut Transition],
    ) -> Result<(), Error> {
        let mut new: BTreeMap<RowKey, Vec<&mut Image>> = BTreeMap::new();
        for after in transitions.iter_mut().filter_map(|transition| transition.after.as_mut()) {
            if let Some(row) = self.allocation_key(after) {
                new.entry(row).or_default().push(after);
            }
        }
        for (key, images) in new {
            let row = AllocationRow { store: self.store, table: self.table, key: &key };
            let ordinals = match self.fence {
                Some(_) => self.ordinals.allocate(row, images.len() as u64).await?.collect(),
                None => self.ordinals.take(row, images.len()).await?,
            };
            for (image, ordinal) in images.into_iter().zip(ordinals) {
                image.ordinal = Some(ordinal);
            }
        }
        Ok(())
    }

    /// The row that allocates the ordinal of an entity, if it needs one and has none.
    fn allocation_key(&self, image: &Image) -> Option<RowKey> {
        let EntityKey { entity, tenant, .. } = &image.key;
        let layout = &self.layouts.current;
        let is_needed = image.ordinal.is_none() && layout.model().entity(*entity).has_ordinals();
        is_needed.then(|| layout.ordinals().allocation_key(*entity, tenant.as_ref()))
    }

    /// Plans complete transitions and commits them.
    pub(crate) async fn commit(
        &self,
        transitions: &[Transition],
        called_off: &[String],
    ) -> Result<Outcome, Error> {
        self.commit_difference(self.planner(called_off).plan(transitions)?).await
    }

    /// Commits everything in one transaction.
    pub(crate) async fn commit_difference(
        &self,
        difference: impl Into<Difference>,
    ) -> Result<Outcome, Error> {
        commit(self, difference.into()).await
    }
}
