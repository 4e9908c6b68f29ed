//! A commit batch: writes decided one after the other, before any of them is logged.
//!
//! Each write sees the store as the writes before it in the batch leave it. Nothing here changes
//! the store: the result is a list of commits.

use std::collections::HashMap;
use std::sync::Arc;

use keyloom_value::{Item, Update};

use crate::decide::decide;
use crate::limits::TOKEN_TTL_MS;
use crate::numbers::{Added, added};
use crate::ttl::{expires_at_secs, has_expired};
use crate::{
    AddNumber, BatchAction, BatchWrite, CancelReason, Cause, Delete, Error, Feed, Put, Returns,
    SetChange, TableName, Time, TransactAction, UpdateItem, validate,
};

use super::alter::with_sets;
use super::apply::Images;
use super::derive::expired_rows;
use super::format::{
    Commit, Effect, Malformed, RowEffect, SetEffect, SpaceId, SystemKey, TableId, TableRecord,
    TokenRecord, encode_item,
};
use super::prepared::{Prepared, Target};
use super::view::View;

/// Most items that one step of expiry removes: sequence numbers of a feed leave room for 256
/// changes per commit.
const EXPIRE_ITEMS_MAX: usize = 100;

/// A decided commit, with the images that applying it needs.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) commit: Commit,
    pub(crate) images: Vec<Option<Images>>,
}

/// The writes of one commit batch so far.
pub(crate) struct CommitBatch<'a> {
    view: &'a View,
    now: Time,
    /// Items that the batch has written, by row.
    items: HashMap<Vec<u8>, Option<Arc<Item>>>,
    tokens: HashMap<String, TokenRecord>,
    /// Tables that get their first set in this batch.
    with_sets: Vec<TableId>,
    planned: Vec<Planned>,
    bytes: usize,
}

/// One item, before and after.
struct Decided {
    table: Arc<TableRecord>,
    key: Vec<u8>,
    old: Option<Arc<Item>>,
    new: Option<Arc<Item>>,
    /// `new`, if it has been encoded already.
    encoded: Option<Vec<u8>>,
    cause: Cause,
    /// Whether the change goes to the table's feed, if it has one.
    in_feed: bool,
}

impl<'a> CommitBatch<'a> {
    pub(crate) fn new(view: &'a View, now: Time) -> CommitBatch<'a> {
        CommitBatch {
            view,
            now,
            items: HashMap::new(),
            tokens: HashMap::new(),
            with_sets: Vec::new(),
            planned: Vec::new(),
            bytes: 0,
        }
    }

    /// Returns the commits, in order.
    pub(crate) fn into_planned(self) -> Vec<Planned> {
        self.planned
    }

    /// Returns the size of the items written so far.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn put(&mut self, put: Put) -> Result<Option<Item>, Error> {
        let table = Arc::clone(self.view.catalog.table(&put.table)?);
        validate::put(&table.spec, &put)?;
        if is_blind(&table, &put) {
            self.put_blindly(table, put.item)?;
            return Ok(None);
        }
        let returns = put.returns;
        let decided = self.decide_one(TransactAction::Put(put))?;
        let image = returns.of_replacing(decided.old.as_deref());
        self.commit(vec![decided], vec![]);
        Ok(image)
    }

    pub(crate) fn update(&mut self, update: UpdateItem) -> Result<Option<Item>, Error> {
        validate::update(&*self.view.catalog.spec(&update.table)?, &update)?;
        let returns = update.returns;
        // The values of an update can be large: they are copied only if the image needs their paths.
        let changes = if returns.is_of_named() { update.update.clone() } else { Update::default() };
        let decided = self.decide_one(TransactAction::Update(update))?;
        let image = decided
            .new
            .as_ref()
            .and_then(|new| returns.of_update(&changes, decided.old.as_deref(), new));
        self.commit(vec![decided], vec![]);
        Ok(image)
    }

    pub(crate) fn delete(&mut self, delete: Delete) -> Result<Option<Item>, Error> {
        validate::delete(&*self.view.catalog.spec(&delete.table)?, &delete)?;
        let returns = delete.returns;
        let decided = self.decide_one(TransactAction::Delete(delete))?;
        let image = returns.of_replacing(decided.old.as_deref());
        self.commit(vec![decided], vec![]);
        Ok(image)
    }

    pub(crate) fn batch_write(&mut self, batch: BatchWrite) -> Result<BatchWrite, Error> {
        validate::batch_write(&batch, &|name| self.view.catalog.spec(name))?;
        let mut writes = Vec::with_capacity(batch.actions.len());
        for action in batch.actions {
            let (table, item, new) = match action {
                BatchAction::Put(table, item) => (table, item.clone(), Some(Arc::new(item))),
                BatchAction::Delete(table, key) => (table, key, None),
            };
            let table = Arc::clone(self.view.catalog.table(&table)?);
            let key = table.spec.key.encode(&item)?.into_vec();
            let old = self.item(table.space, &key)?;
            writes.push(Decided {
                table,
                key,
                old,
                new,
                encoded: None,
                cause: Cause::Request,
                in_feed: true,
            });
        }
        self.commit(writes, vec![]);
        Ok(BatchWrite::default())
    }

    pub(crate) fn transact_write(&mut self, prepared: Prepared) -> Result<(), Error> {
        let prepared = prepared.for_tables(&self.view.catalog)?;
        let Prepared { transaction, targets, bytes, fingerprint, .. } = prepared;
        let token = transaction.token.zip(fingerprint);
        if let Some((token, fingerprint)) = &token
            && let Some(known) = self.token_record(token)?
        {
            return match known.fingerprint == *fingerprint {
                true => Ok(()),
                false => Err(Error::TokenReused { token: token.clone() }),
            };
        }
        let mut decided = self.decide_all(transaction.actions, targets, bytes)?;
        decided.extend(self.decide_numbers(transaction.numbers)?);
        let mut more = self.set_effects(transaction.sets)?;
        if let Some((token, fingerprint)) = token {
            let expires = Time(self.now.0.saturating_add(TOKEN_TTL_MS));
            self.tokens.insert(token.clone(), TokenRecord { fingerprint, expires });
            more.push(Effect::Token { token, fingerprint, expires });
        }
        self.commit(decided, more);
        Ok(())
    }

    /// Removes some expired items.
    pub(crate) fn expire(&mut self) -> Result<(), Error> {
        let mut expired = Vec::new();
        for table in self.view.catalog.tables() {
            self.find_expired(table, &mut expired)?;
        }
        self.commit(expired, vec![]);
        Ok(())
    }

    fn find_expired(
        &self,
        table: &Arc<TableRecord>,
        found: &mut Vec<Decided>,
    ) -> Result<(), Error> {
        let (Some(rows), Some(attribute)) = (table.expiry_rows(), &table.spec.ttl) else {
            return Ok(());
        };
        for entry in self.view.tree.range(&expired_rows(rows.space, self.now))? {
            if found.len() >= EXPIRE_ITEMS_MAX {
                break;
            }
            let (row, _) = entry?;
            let key = expiring_key(row.value()).map_err(|why| self.view.malformed(why))?;
            let old = self.item(table.space, &key)?;
            // An earlier write of the batch may have extended its time to live.
            let at = old.as_ref().and_then(|item| expires_at_secs(attribute, item));
            if at.is_some_and(|at| has_expired(at, self.now)) {
                let table = Arc::clone(table);
                found.push(Decided {
                    table,
                    key,
                    old,
                    new: None,
                    encoded: None,
                    cause: Cause::Expiry,
                    in_feed: true,
                });
            }
        }
        Ok(())
    }

    fn decide_one(&self, action: TransactAction) -> Result<Decided, Error> {
        let target = Target::of(&action, &self.view.catalog)?;
        Ok(self.decide_action(action, target)??)
    }

    /// `bytes` is the size that the actions are known to write; updates are added as they are
    /// decided.
    fn decide_all(
        &self,
        actions: Vec<TransactAction>,
        targets: Vec<Target>,
        mut bytes: usize,
    ) -> Result<Vec<Decided>, Error> {
        debug_assert_eq!(actions.len(), targets.len(), "every action has a target");
        let mut decided = Vec::with_capacity(actions.len());
        let mut reasons = Vec::with_capacity(actions.len());
        for (action, target) in actions.into_iter().zip(targets) {
            let key_bytes = match &action {
                TransactAction::Update(update) => Some(update.key.size()),
                TransactAction::Put(_) | TransactAction::Delete(_) | TransactAction::Check(_) => {
                    None
                }
            };
            let outcome = self.decide_action(action, target)?;
            reasons.push(outcome.as_ref().err().cloned());
            if let Ok(write) = outcome {
                if let Some((key_bytes, new)) = key_bytes.zip(write.new.as_deref()) {
                    debug_assert!(new.size() >= key_bytes, "an updated item has its key");
                    bytes += new.size() - key_bytes;
                }
                decided.push(write);
            }
        }
        if reasons.iter().any(Option::is_some) {
            return Err(Error::Canceled { reasons });
        }
        validate::transaction_bytes(bytes)?;
        Ok(decided)
    }

    /// Decides the additions to items that hold numbers.
    fn decide_numbers(&self, numbers: Vec<AddNumber>) -> Result<Vec<Decided>, Error> {
        let catalog = &self.view.catalog;
        let item_at = |table: &TableName, key: &Item| {
            let table = catalog.table(table)?;
            self.item(table.space, table.spec.key.encode(key)?.as_bytes())
        };
        let all = added(numbers, &|name| catalog.spec(name), &item_at)?;
        let decided = all.into_iter().map(|Added { table, key, old, new }| {
            let table = Arc::clone(catalog.table(&table)?);
            let key = table.spec.key.encode(&key)?.into_vec();
            let new = new.map(Arc::new);
            Ok(Decided {
                table,
                key,
                old,
                new,
                encoded: None,
                cause: Cause::Request,
                in_feed: false,
            })
        });
        decided.collect()
    }

    fn decide_action(
        &self,
        action: TransactAction,
        target: Target,
    ) -> Result<Result<Decided, CancelReason>, Error> {
        let Target { table, key, new: encoded } = target;
        let old = self.item(table.space, &key)?;
        Ok(decide(&table.spec, old.as_deref(), action).map(|new| {
            let new = new.map(Arc::new);
            Decided { table, key, old, new, encoded, cause: Cause::Request, in_feed: true }
        }))
    }

    /// Writes an item without reading the old one, because nothing depends on it.
    fn put_blindly(&mut self, table: Arc<TableRecord>, item: Item) -> Result<(), Error> {
        let key = table.spec.key.encode(&item)?.into_vec();
        let new = encode_item(&item);
        self.bytes += new.len();
        self.items.insert(table.space.row(&key), Some(Arc::new(item)));
        let cause = Cause::Request;
        let row = RowEffect { table: table.id, key, new: Some(new), cause, feed: None };
        let commit = Commit { at: self.now, effects: vec![Effect::Row(row)] };
        self.planned.push(Planned { commit, images: Vec::new() });
        Ok(())
    }

    /// Adds a commit of the actual changes, if there are any.
    fn commit(&mut self, writes: Vec<Decided>, more: Vec<Effect>) {
        let mut effects = Vec::with_capacity(writes.len());
        let mut images = Vec::with_capacity(writes.len());
        for write in writes.into_iter().filter(|write| write.old != write.new) {
            let new = write.encoded.or_else(|| write.new.as_deref().map(encode_item));
            let feed = match write.table.spec.feed {
                Feed::Images if write.in_feed => Some(write.old.as_deref().map(encode_item)),
                Feed::Off | Feed::Images => None,
            };
            let old_len = feed.as_ref().and_then(Option::as_ref).map_or(0, Vec::len);
            self.bytes += write.key.len() + new.as_ref().map_or(0, Vec::len) + old_len;
            self.items.insert(write.table.space.row(&write.key), write.new.clone());
            let (table, key, cause) = (write.table.id, write.key, write.cause);
            effects.push(Effect::Row(RowEffect { table, key, new, cause, feed }));
            images.push(Some(Images { old: write.old, new: write.new }));
        }
        effects.extend(more);
        if !effects.is_empty() {
            self.planned.push(Planned { commit: Commit { at: self.now, effects }, images });
        }
    }

    /// Turns set changes into effects. The first set of a table allocates a space for its sets.
    fn set_effects(&mut self, changes: Vec<SetChange>) -> Result<Vec<Effect>, Error> {
        let mut effects = Vec::with_capacity(changes.len());
        for change in changes {
            let table = self.view.catalog.table(&change.table)?;
            if table.set_rows().is_none() && !self.with_sets.contains(&table.id) {
                // Tables are not changed within a batch, so nothing else allocates these ids.
                let next = self.view.catalog.next_id() + self.with_sets.len() as u32;
                effects.push(Effect::SetTable(with_sets(table, SpaceId(next))));
                self.with_sets.push(table.id);
            }
            self.bytes += change.bytes();
            let (table, set) = (table.id, change.set.into_bytes());
            let (ordinals, becomes) = (change.ordinals, change.becomes);
            effects.push(Effect::Set(SetEffect { table, set, ordinals, becomes }));
        }
        Ok(effects)
    }

    /// Returns the item at a key, as the batch leaves it so far.
    fn item(&self, space: SpaceId, key: &[u8]) -> Result<Option<Arc<Item>>, Error> {
        if !self.items.is_empty()
            && let Some(item) = self.items.get(&space.row(key))
        {
            return Ok(item.clone());
        }
        Ok(self.view.item(space, key)?.map(Arc::new))
    }

    /// Returns the record of a token that has not expired.
    fn token_record(&self, token: &str) -> Result<Option<TokenRecord>, Error> {
        let known = match self.tokens.get(token) {
            Some(known) => Some(*known),
            None => {
                let row = SystemKey::Token(token.to_owned()).row();
                let row = self.view.tree.get(&row)?;
                let known = row.map(|row| TokenRecord::decode(row.value())).transpose();
                known.map_err(|why| self.view.malformed(why))?
            }
        };
        Ok(known.filter(|known| self.now < known.expires))
    }
}

/// Whether a token's record has expired. An unreadable one counts as expired.
pub(crate) fn token_expired(bytes: &[u8], now: Time) -> bool {
    TokenRecord::decode(bytes).map_or(true, |known| known.expires <= now)
}

/// Whether a put depends on nothing stored: no condition, no returned image, no derived rows.
fn is_blind(table: &TableRecord, put: &Put) -> bool {
    put.condition.is_none()
        && put.returns == Returns::Nothing
        && !table.has_derived_rows()
        && table.spec.feed == Feed::Off
}

/// Returns the item's key, which ends a row of the time-to-live list.
fn expiring_key(row: &[u8]) -> Result<Vec<u8>, Malformed> {
    let (_, rest) = SpaceId::split(row)?;
    let key = keyloom_value::KeyBytes::skip_part(rest);
    key.map(<[u8]>::to_vec).map_err(|_| Malformed("a row of the time-to-live list is malformed"))
}
