//! One table: its items, unordered, and its changes.

use std::sync::Arc;

use keyloom_value::Item;

use super::set::TableSets;
use crate::index::{in_index, projected};
use crate::{
    Alteration, Cause, Change, Feed, IndexDescription, IndexSpec, IndexState, SeqNo,
    TableDescription, TableSpec, Time, ttl,
};

/// A table and everything in it.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub(super) spec: Arc<TableSpec>,
    created: Time,
    /// Unordered; keys are unique.
    pub(super) items: Vec<Item>,
    /// Every change since the feed was enabled, oldest first.
    pub(super) changes: Vec<Change>,
    pub(super) sets: TableSets,
}

/// The feed position, time and cause of a write.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stamp {
    pub(super) seq: SeqNo,
    pub(super) at: Time,
    pub(super) cause: Cause,
}

impl Table {
    pub(super) fn new(spec: TableSpec, created: Time) -> Table {
        let sets = TableSets::new();
        Table { spec: Arc::new(spec), created, items: vec![], changes: vec![], sets }
    }

    pub(super) fn item(&self, key: &Item) -> Option<&Item> {
        self.items.iter().find(|item| self.spec.key.of(item) == *key)
    }

    /// Sets the item with this key to `new`, and records the change in the feed if it has a stamp.
    pub(super) fn replace(&mut self, key: Item, new: Option<Item>, stamp: Option<Stamp>) {
        let spec = Arc::clone(&self.spec);
        let position = self.items.iter().position(|item| spec.key.of(item) == key);
        let old = position.map(|position| self.items.swap_remove(position));
        self.items.extend(new.clone());
        if let Some(Stamp { seq, at, cause }) = stamp.filter(|_| spec.feed == Feed::Images) {
            self.changes.push(Change { seq, at, key, old, new, cause });
        }
    }

    pub(super) fn alter(&mut self, change: Alteration) {
        let spec = Arc::make_mut(&mut self.spec);
        match change {
            Alteration::AddIndex(index) => spec.indexes.push(index),
            Alteration::DropIndex(name) => spec.indexes.retain(|index| index.name != name),
            Alteration::AddColumn(column) => spec.columns.push(column),
            Alteration::DropColumn(name) => spec.columns.retain(|column| column.name != name),
            Alteration::SetTtl(ttl) => spec.ttl = ttl,
            Alteration::SetFeed(feed) => spec.feed = feed,
        }
        if self.spec.feed == Feed::Off {
            self.changes.clear();
        }
    }

    /// Returns the keys of expired items, ordered by time of expiry, then by key.
    pub(super) fn expired(&self, now: Time) -> Vec<Item> {
        let Some(name) = &self.spec.ttl else { return vec![] };
        let ended = |item| {
            let secs = ttl::expires_at_secs(name, item)?;
            ttl::has_expired(secs, now).then(|| (secs, self.spec.key.of(item)))
        };
        let mut expired: Vec<(i64, Item)> = self.items.iter().filter_map(ended).collect();
        expired.sort_by(|(left_secs, left), (right_secs, right)| {
            let by_key = || self.spec.key.order(left, right);
            left_secs.cmp(right_secs).then_with(by_key)
        });
        expired.into_iter().map(|(_, key)| key).collect()
    }

    pub(super) fn description(&self) -> TableDescription {
        TableDescription {
            spec: TableSpec::clone(&self.spec),
            created: self.created,
            items: self.items.len() as u64,
            bytes: self.items.iter().map(|item| item.size() as u64).sum(),
            indexes: self.spec.indexes.iter().map(|index| self.index_description(index)).collect(),
        }
    }

    /// An index is computed when it is read, so it is always complete.
    fn index_description(&self, index: &IndexSpec) -> IndexDescription {
        let rows = || self.items.iter().filter(|item| in_index(index, item));
        IndexDescription {
            name: index.name.clone(),
            state: IndexState::Active,
            items: rows().count() as u64,
            bytes: rows().map(|item| projected(&self.spec, index, item).size() as u64).sum(),
        }
    }
}
