//! The state of all tables, and the effect of each call.

use std::collections::BTreeMap;
use std::sync::Arc;

use keyloom_value::Item;

use super::set;
use super::table::{Stamp, Table};
use crate::decide::decide;
use crate::limits::{BATCH_GET_BYTES_MAX, OWN_GLOBAL_INDEXES_MAX, TOKEN_TTL_MS};
use crate::numbers::{Added, added};
use crate::{
    AddNumber, Alteration, BatchAction, BatchGet, BatchGot, BatchWrite, Cause, ChangePage, Delete,
    Error, Feed, FeedStart, Get, Invalid, Put, ReadChanges, SeqNo, Shard, ShardId,
    TableDescription, TableName, TableSpec, Time, TransactAction, TransactGet, TransactWrite,
    UpdateItem, validate,
};

/// The state of all tables. A snapshot is a clone of it.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    pub(super) tables: BTreeMap<TableName, Table>,
    /// How many commits have changed items.
    commits: u128,
    tokens: Vec<CommittedToken>,
}

/// A committed transaction, to recognize a retry.
#[derive(Clone, Debug)]
struct CommittedToken {
    token: String,
    transaction: TransactWrite,
    at: Time,
}

/// Sets the item with this key to `new`.
struct Write {
    table: TableName,
    key: Item,
    new: Option<Item>,
    in_feed: bool,
}

/// The only shard of a feed.
const SHARD: &str = "all";

impl State {
    pub(super) fn table(&self, name: &TableName) -> Result<&Table, Error> {
        self.tables.get(name).ok_or_else(|| Error::TableNotFound { table: name.clone() })
    }

    fn table_mut(&mut self, name: &TableName) -> Result<&mut Table, Error> {
        self.tables.get_mut(name).ok_or_else(|| Error::TableNotFound { table: name.clone() })
    }

    fn spec(&self, name: &TableName) -> Result<Arc<TableSpec>, Error> {
        self.table(name).map(|table| Arc::clone(&table.spec))
    }

    pub(super) fn create(&mut self, spec: TableSpec, now: Time) -> Result<TableDescription, Error> {
        validate::table_spec(&spec, OWN_GLOBAL_INDEXES_MAX)?;
        if self.tables.contains_key(&spec.name) {
            return Err(Error::TableExists { table: spec.name });
        }
        let name = spec.name.clone();
        let table = Table::new(spec, now);
        let description = table.description();
        self.tables.insert(name, table);
        Ok(description)
    }

    pub(super) fn alter(
        &mut self,
        name: &TableName,
        change: Alteration,
    ) -> Result<TableDescription, Error> {
        let table = self.table_mut(name)?;
        validate::alteration(&table.spec, &change, OWN_GLOBAL_INDEXES_MAX)?;
        table.alter(change);
        Ok(table.description())
    }

    pub(super) fn drop_table(&mut self, name: &TableName) -> Result<TableDescription, Error> {
        let description = self.table(name)?.description();
        self.tables.remove(name);
        Ok(description)
    }

    pub(super) fn get(&self, get: &Get) -> Result<Option<Item>, Error> {
        let table = self.table(&get.table)?;
        validate::get(&table.spec, get)?;
        Ok(table.item(&get.key).map(|item| project(get, item)))
    }

    /// Reads in the order of the request. An item that would exceed 16 MB is returned as
    /// unprocessed, with all that follow.
    pub(super) fn batch_get(&self, batch: &BatchGet) -> Result<BatchGot, Error> {
        validate::batch_get(batch, &|name| self.spec(name))?;
        let mut got = BatchGot::default();
        let mut bytes = 0;
        for (position, get) in batch.gets.iter().enumerate() {
            let Some(item) = self.table(&get.table)?.item(&get.key) else { continue };
            bytes += item.size();
            if bytes > BATCH_GET_BYTES_MAX {
                got.unprocessed = batch.gets[position..].to_vec();
                break;
            }
            got.items.push((get.table.clone(), project(get, item)));
        }
        Ok(got)
    }

    pub(super) fn transact_get(
        &self,
        transaction: &TransactGet,
    ) -> Result<Vec<Option<Item>>, Error> {
        validate::transact_get(transaction, &|name| self.spec(name))?;
        let mut items = Vec::new();
        let mut bytes = 0;
        for get in &transaction.gets {
            let item = self.table(&get.table)?.item(&get.key);
            bytes += item.map_or(0, Item::size);
            items.push(item.map(|item| project(get, item)));
        }
        validate::transaction_bytes(bytes)?;
        Ok(items)
    }

    pub(super) fn put(&mut self, put: Put, now: Time) -> Result<Option<Item>, Error> {
        validate::put(&*self.spec(&put.table)?, &put)?;
        let returns = put.returns;
        let (old, _) = self.write_one(&TransactAction::Put(put), now)?;
        Ok(returns.of_replacing(old.as_ref()))
    }

    pub(super) fn update(&mut self, update: UpdateItem, now: Time) -> Result<Option<Item>, Error> {
        validate::update(&*self.spec(&update.table)?, &update)?;
        let (returns, changes) = (update.returns, update.update.clone());
        let (old, new) = self.write_one(&TransactAction::Update(update), now)?;
        Ok(new.and_then(|new| returns.of_update(&changes, old.as_ref(), &new)))
    }

    pub(super) fn delete(&mut self, delete: Delete, now: Time) -> Result<Option<Item>, Error> {
        validate::delete(&*self.spec(&delete.table)?, &delete)?;
        let returns = delete.returns;
        let (old, _) = self.write_one(&TransactAction::Delete(delete), now)?;
        Ok(returns.of_replacing(old.as_ref()))
    }

    /// Returns an empty batch: the largest one is below 16 MB, so everything is processed.
    pub(super) fn batch_write(
        &mut self,
        batch: &BatchWrite,
        now: Time,
    ) -> Result<BatchWrite, Error> {
        validate::batch_write(batch, &|name| self.spec(name))?;
        for action in &batch.actions {
            let write = match action.clone() {
                BatchAction::Put(table, item) => Write {
                    key: self.spec(&table)?.key.of(&item),
                    table,
                    new: Some(item),
                    in_feed: true,
                },
                BatchAction::Delete(table, key) => Write { table, key, new: None, in_feed: true },
            };
            self.commit(vec![write], now, Cause::Request)?;
        }
        Ok(BatchWrite::default())
    }

    pub(super) fn transact_write(
        &mut self,
        transaction: TransactWrite,
        now: Time,
    ) -> Result<(), Error> {
        validate::transact_write(&transaction, &|name| self.spec(name))?;
        if self.is_repeated(&transaction, now)? {
            return Ok(());
        }
        let mut writes = self.decide_all(&transaction)?;
        writes.extend(self.decide_numbers(transaction.numbers.clone())?);
        self.commit(writes, now, Cause::Request)?;
        for change in &transaction.sets {
            set::change(&mut self.table_mut(&change.table)?.sets, change.clone());
        }
        if let Some(token) = transaction.token.clone() {
            self.tokens.push(CommittedToken { token, transaction, at: now });
        }
        Ok(())
    }

    /// Deletes expired items; returns how many.
    pub(super) fn expire(&mut self, now: Time) -> Result<usize, Error> {
        let expired = self.tables.iter().flat_map(|(name, table)| {
            let keys = table.expired(now).into_iter();
            keys.map(|key| Write { table: name.clone(), key, new: None, in_feed: true })
        });
        let writes: Vec<Write> = expired.collect();
        let count = writes.len();
        for write in writes {
            self.commit(vec![write], now, Cause::Expiry)?;
        }
        Ok(count)
    }

    pub(super) fn shards(&self, name: &TableName) -> Result<Vec<Shard>, Error> {
        match self.table(name)?.spec.feed {
            Feed::Images => Ok(vec![Shard { id: ShardId(SHARD.to_owned()), parent: None }]),
            Feed::Off => Err(Error::NoFeed { table: name.clone() }),
        }
    }

    pub(super) fn changes(&self, read: &ReadChanges) -> Result<ChangePage, Error> {
        if self.shards(&read.table)?.iter().all(|shard| shard.id != read.shard) {
            return Err(Invalid::Shard { shard: read.shard.clone() }.into());
        }
        if read.limit == 0 {
            return Err(Invalid::LimitZero.into());
        }
        let after = match read.start {
            FeedStart::Oldest => SeqNo(0),
            FeedStart::After(seq) if seq > self.newest() => {
                return Err(Error::ChangesAhead { newest: self.newest() });
            }
            FeedStart::After(seq) => seq,
            FeedStart::Now => self.newest(),
        };
        let later = self.table(&read.table)?.changes.iter().filter(|change| change.seq > after);
        let changes: Vec<_> = later.take(read.limit).cloned().collect();
        let next = match changes.last() {
            Some(last) if changes.len() == read.limit => last.seq,
            Some(_) | None => after.max(self.newest()),
        };
        Ok(ChangePage { changes, next, is_ended: false })
    }

    /// Returns the sequence number after every change so far.
    pub(super) fn newest(&self) -> SeqNo {
        seq_no(self.commits, u8::MAX.into())
    }

    /// Runs one write outside of a transaction; returns the item before and after.
    fn write_one(
        &mut self,
        action: &TransactAction,
        now: Time,
    ) -> Result<(Option<Item>, Option<Item>), Error> {
        let table = self.table(action.table())?;
        let key = action.key(&table.spec.key);
        let old = table.item(&key).cloned();
        let new = decide(&table.spec, old.as_ref(), action.clone())?;
        let write = Write { table: action.table().clone(), key, new: new.clone(), in_feed: true };
        self.commit(vec![write], now, Cause::Request)?;
        Ok((old, new))
    }

    /// Returns the writes of all actions, or every reason why they fail.
    fn decide_all(&self, transaction: &TransactWrite) -> Result<Vec<Write>, Error> {
        let mut writes = Vec::new();
        let mut reasons = Vec::new();
        let mut bytes = validate::set_bytes(transaction);
        for action in &transaction.actions {
            let table = self.table(action.table())?;
            let key = action.key(&table.spec.key);
            match decide(&table.spec, table.item(&key), action.clone()) {
                Ok(new) => {
                    bytes += bytes_of(action, &key, new.as_ref());
                    let table = action.table().clone();
                    writes.push(Write { table, key, new, in_feed: true });
                    reasons.push(None);
                }
                Err(reason) => reasons.push(Some(reason)),
            }
        }
        if reasons.iter().any(Option::is_some) {
            return Err(Error::Canceled { reasons });
        }
        validate::transaction_bytes(bytes)?;
        Ok(writes)
    }

    /// Decides the additions to items that hold numbers.
    fn decide_numbers(&self, numbers: Vec<AddNumber>) -> Result<Vec<Write>, Error> {
        let item_at =
            |table: &TableName, key: &Item| Ok(self.table(table)?.item(key).cloned().map(Arc::new));
        let all = added(numbers, &|name| self.spec(name), &item_at)?.into_iter();
        let write = |Added { table, key, new, .. }| Write { table, key, new, in_feed: false };
        Ok(all.map(write).collect())
    }

    /// The only function that changes items. A write without effect is not recorded.
    fn commit(&mut self, writes: Vec<Write>, at: Time, cause: Cause) -> Result<(), Error> {
        let mut position = 0;
        for Write { table, key, new, in_feed } in writes {
            let commit = self.commits + 1;
            let table = self.table_mut(&table)?;
            if table.item(&key) != new.as_ref() {
                let stamp = Stamp { seq: seq_no(commit, position), at, cause };
                table.replace(key, new, in_feed.then_some(stamp));
                position += 1;
            }
        }
        self.commits += u128::from(position > 0);
        Ok(())
    }

    /// Whether the same transaction was committed less than ten minutes ago.
    fn is_repeated(&self, transaction: &TransactWrite, now: Time) -> Result<bool, Error> {
        let Some(token) = &transaction.token else { return Ok(false) };
        let kept = |at: Time| now.0 < at.0.saturating_add(TOKEN_TTL_MS);
        match self.tokens.iter().find(|known| known.token == *token && kept(known.at)) {
            Some(known) if known.transaction == *transaction => Ok(true),
            Some(_) => Err(Error::TokenReused { token: token.clone() }),
            None => Ok(false),
        }
    }
}

/// Applies the projection of a request.
fn project(get: &Get, item: &Item) -> Item {
    match &get.projection {
        Some(projection) => projection.apply(item),
        None => item.clone(),
    }
}

/// Returns what an action adds to the size of its transaction.
fn bytes_of(action: &TransactAction, key: &Item, new: Option<&Item>) -> usize {
    match action {
        TransactAction::Put(_) | TransactAction::Update(_) => new.map_or(0, Item::size),
        TransactAction::Delete(_) | TransactAction::Check(_) => key.size(),
    }
}

/// Changes of one commit are consecutive; a commit has at most 100.
fn seq_no(commit: u128, position: u128) -> SeqNo {
    SeqNo(commit << 8 | position)
}
