//! Writes and tables in strict mode.

use std::sync::Arc;

use keyloom_store::{
    Alteration, Answer, BatchAction, BatchWrite, ChangePage, Delete, Error, Get, Put, Read,
    ReadChanges, SeqNo, Shard, ShardId, Store, TableDescription, TableName, TableSpec,
    TransactAction, TransactWrite, UpdateItem,
};
use keyloom_value::Item;

use super::charge::{Charge, ImageChange};
use super::conflicts::{Flight, ItemKey, Refused};
use super::refusal::{self, code, refused};
use super::shards::StreamShard;
use super::store::{Strict, TRANSACTION_LATENCY};

const PUT: &str = "PutItem";
const UPDATE: &str = "UpdateItem";
const DELETE: &str = "DeleteItem";
const BATCH: &str = "BatchWriteItem";
const TRANSACT: &str = "TransactWriteItems";

/// How many units an action of a transaction takes, for one of a single request.
const TRANSACTION_UNITS: f64 = 2.0;

/// A write of one item, for admission.
struct SingleWrite<'w> {
    operation: &'static str,
    table: &'w TableName,
    /// The item, or its key.
    item: &'w Item,
}

/// The image after an action.
enum After<'a> {
    Put(&'a Item),
    Updated(&'a UpdateItem),
    Deleted,
    Same,
}

impl After<'_> {
    fn of(self, old: Option<&Item>) -> Option<Item> {
        match self {
            After::Put(item) => Some(item.clone()),
            After::Updated(update) if old.is_none() && update.update.only_removes() => None,
            After::Updated(update) => {
                let before = old.unwrap_or(&update.key);
                Some(update.update.apply(before).unwrap_or_else(|_| before.clone()))
            }
            After::Deleted => None,
            After::Same => old.cloned(),
        }
    }
}

impl Strict {
    /// Returns the images of a write. An invalid request has none: the store refuses it.
    async fn images(&self, spec: &TableSpec, item: &Item, after: After<'_>) -> Option<ImageChange> {
        let key = spec.key.of(item);
        let old = self.inner.get(Get::new(&spec.name, key.clone())).await.ok()?;
        let new = after.of(old.as_ref());
        Some(ImageChange { key, old, new })
    }

    /// Admits a write of one item: it must not meet a transaction, and there must be capacity. None
    /// if there is no such table.
    async fn admit_item(
        &self,
        write: SingleWrite<'_>,
        after: After<'_>,
    ) -> Result<Option<Flight>, Error> {
        let Some(spec) = self.spec(write.table).await? else { return Ok(None) };
        let flight = self.conflicts.write(ItemKey::new(write.table, &spec.key, write.item));
        let flight = flight.ok_or_else(|| refusal::conflict(write.operation))?;
        if let Some(change) = self.images(&spec, write.item, after).await {
            let charged = self.charge(&spec, &Charge::write(&spec, &change));
            charged.map_err(|throttled| throttled.error(write.operation))?;
        }
        Ok(Some(flight))
    }

    /// Admits a single write, and returns when it is to be applied.
    async fn admit_write(
        &self,
        write: SingleWrite<'_>,
        after: After<'_>,
    ) -> Result<Option<Flight>, Error> {
        let flight = self.admit_item(write, after).await?;
        self.wait(1).await;
        self.lag.before_write(&*self.inner, self.clock.now()).await?;
        Ok(flight)
    }

    async fn admit_batch_action(&self, action: &BatchAction) -> Result<Option<Flight>, Error> {
        let (table, item, after) = match action {
            BatchAction::Put(table, item) => (table, item, After::Put(item)),
            BatchAction::Delete(table, key) => (table, key, After::Deleted),
        };
        self.admit_item(SingleWrite { operation: BATCH, table, item }, after).await
    }

    /// Returns what an action of a transaction consumes.
    async fn action_charges(&self, spec: &TableSpec, action: &TransactAction) -> Vec<Charge> {
        let after = match action {
            TransactAction::Put(put) => After::Put(&put.item),
            TransactAction::Update(update) => After::Updated(update),
            TransactAction::Delete(_) => After::Deleted,
            TransactAction::Check(_) => After::Same,
        };
        let change = self.images(spec, image(action), after).await;
        let charges = change.iter().flat_map(|change| Charge::write(spec, change));
        charges.map(|charge| charge.times(TRANSACTION_UNITS)).collect()
    }

    /// Charges the actions of a transaction, or refuses all with the reasons of those for which
    /// there is no capacity.
    async fn charge_transaction(&self, actions: &[TransactAction]) -> Result<(), Error> {
        let (mut throttled, mut all) = (vec![], vec![]);
        for action in actions {
            let Some(spec) = self.spec(action.table()).await? else { return Ok(()) };
            let charges = self.action_charges(&spec, action).await;
            let refused = self.measured().spaces.admit(&charges, self.founding(&spec)).err();
            throttled.push(refused.map(|throttled| throttled.reason(TRANSACT)));
            all.push((spec, charges));
        }
        if throttled.iter().any(Option::is_some) {
            return Err(Error::Canceled { reasons: throttled });
        }
        for (spec, charges) in &all {
            let mut measured = self.measured();
            charges.iter().for_each(|charge| measured.spaces.take(charge, self.founding(spec)));
        }
        Ok(())
    }

    /// Records which rows a transaction touches.
    async fn record_rows(&self, actions: &[TransactAction]) -> Result<(), Error> {
        for action in actions {
            let Some(spec) = self.spec(action.table()).await? else { return Ok(()) };
            self.measured().spaces.ledger.add_row(spec.key.of(image(action)));
        }
        Ok(())
    }
}

impl Store for Strict {
    fn create_table(&self, spec: TableSpec) -> Answer<'_, TableDescription> {
        Box::pin(async move {
            self.lifecycle.check_create(&spec.name, self.clock.now())?;
            let description = self.inner.create_table(spec).await?;
            self.lifecycle.create(&description.spec.name, self.clock.now());
            Ok(description)
        })
    }

    fn alter_table(&self, table: TableName, change: Alteration) -> Answer<'_, TableDescription> {
        Box::pin(async move {
            let index = match &change {
                Alteration::AddIndex(index) => Some(index.name.clone()),
                Alteration::DropIndex(index) => Some(index.clone()),
                Alteration::AddColumn(_)
                | Alteration::DropColumn(_)
                | Alteration::SetTtl(_)
                | Alteration::SetFeed(_) => None,
            };
            if index.is_some() {
                self.lifecycle.check_index_change(&table, self.clock.now())?;
            }
            self.lifecycle.check_active(&table, "UpdateTable", self.clock.now())?;
            let altered = self.inner.alter_table(table.clone(), change).await;
            self.measured().forget_spec(&table);
            let mut description = altered?;
            if let Some(index) = &index {
                self.measured().spaces.forget_index(&table, index);
                self.lifecycle.change_index(&table, index, self.clock.now());
            }
            self.lifecycle.describe(&mut description, self.clock.now());
            Ok(description)
        })
    }

    fn drop_table(&self, table: TableName) -> Answer<'_, TableDescription> {
        Box::pin(async move {
            self.lifecycle.check_active(&table, "DeleteTable", self.clock.now())?;
            let description = self.inner.drop_table(table.clone()).await?;
            self.lifecycle.delete(description.clone(), self.clock.now());
            self.forget(&table);
            Ok(description)
        })
    }

    fn put(&self, put: Put) -> Answer<'_, Option<Item>> {
        Box::pin(async move {
            let write = SingleWrite { operation: PUT, table: &put.table, item: &put.item };
            let _flight = self.admit_write(write, After::Put(&put.item)).await?;
            self.inner.put(put).await
        })
    }

    fn update(&self, update: UpdateItem) -> Answer<'_, Option<Item>> {
        Box::pin(async move {
            let write = SingleWrite { operation: UPDATE, table: &update.table, item: &update.key };
            let _flight = self.admit_write(write, After::Updated(&update)).await?;
            self.inner.update(update).await
        })
    }

    fn delete(&self, delete: Delete) -> Answer<'_, Option<Item>> {
        Box::pin(async move {
            let write = SingleWrite { operation: DELETE, table: &delete.table, item: &delete.key };
            let _flight = self.admit_write(write, After::Deleted).await?;
            self.inner.delete(delete).await
        })
    }

    /// What meets a transaction or finds no capacity is returned unprocessed; if nothing is left and
    /// there was no capacity, the batch is refused.
    fn batch_write(&self, batch: BatchWrite) -> Answer<'_, BatchWrite> {
        Box::pin(async move {
            let (mut admitted, mut left, mut flights) = (vec![], vec![], vec![]);
            let mut refused = None;
            for action in batch.actions {
                match self.admit_batch_action(&action).await {
                    Ok(flight) => {
                        admitted.push(action);
                        flights.push(flight);
                    }
                    Err(Error::Refused(refusal)) => {
                        left.push(action);
                        let is_throttled = refusal.code.as_deref() == Some(code::THROTTLED);
                        refused = is_throttled.then_some(Error::Refused(refusal)).or(refused);
                    }
                    Err(error) => return Err(error),
                }
            }
            if admitted.is_empty() {
                return refused.map_or(Ok(BatchWrite { actions: left }), Err);
            }
            self.wait(1).await;
            self.lag.before_write(&*self.inner, self.clock.now()).await?;
            let mut unprocessed = self.inner.batch_write(BatchWrite { actions: admitted }).await?;
            unprocessed.actions.extend(left);
            Ok(unprocessed)
        })
    }

    fn transact_write(&self, transaction: TransactWrite) -> Answer<'_, ()> {
        Box::pin(async move {
            if !transaction.sets.is_empty() || !transaction.numbers.is_empty() {
                return Err(Error::Unsupported { what: "the service has no sets or numbers" });
            }
            let mut items = vec![];
            for action in &transaction.actions {
                let Some(spec) = self.spec(action.table()).await? else {
                    return self.inner.transact_write(transaction).await;
                };
                items.push(ItemKey::new(action.table(), &spec.key, image(action)));
            }
            let flight = self.conflicts.transaction(items, transaction.token.as_deref());
            let _flight = flight.map_err(|refused| match refused {
                Refused::Conflicts(taken) => refusal::canceled_by_conflict(TRANSACT, &taken),
                Refused::InProgress => in_progress(),
            })?;
            self.charge_transaction(&transaction.actions).await?;
            self.record_rows(&transaction.actions).await?;
            self.wait(TRANSACTION_LATENCY).await;
            self.lag.before_write(&*self.inner, self.clock.now()).await?;
            self.inner.transact_write(transaction).await
        })
    }

    fn snapshot(&self) -> Answer<'_, Arc<dyn Read>> {
        Box::pin(async { Err(Error::Unsupported { what: "the service has no snapshots" }) })
    }

    fn shards(&self, table: TableName) -> Answer<'_, Vec<Shard>> {
        Box::pin(async move {
            let shards = self.stream_shards(&table).await?;
            let is_listed = |id: &String| shards.iter().any(|shard| shard.id == *id);
            let parent = |shard: &StreamShard| shard.parent.clone().filter(is_listed).map(ShardId);
            let shard = |shard: &StreamShard| Shard {
                id: ShardId(shard.id.clone()),
                parent: parent(shard),
            };
            Ok(shards.iter().map(shard).collect())
        })
    }

    fn changes(&self, read: ReadChanges) -> Answer<'_, ChangePage> {
        Box::pin(async move {
            let page = self.shard_page(&read).await?;
            let next = page.next.unwrap_or(SeqNo(0));
            Ok(ChangePage { changes: page.changes, next, is_ended: page.is_ended })
        })
    }
}

fn image(action: &TransactAction) -> &Item {
    match action {
        TransactAction::Put(put) => &put.item,
        TransactAction::Update(update) => &update.key,
        TransactAction::Delete(delete) => &delete.key,
        TransactAction::Check(check) => &check.key,
    }
}

fn in_progress() -> Error {
    let message = "The transaction with the given request token is already in progress";
    refused(TRANSACT, code::IN_PROGRESS, message)
}
