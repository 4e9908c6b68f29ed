//! Reads in strict mode.

use std::sync::Arc;

use keyloom_store::{
    Answer, BatchGet, BatchGot, Consistency, Direction, Error, Get, IndexName, Page, Query, Read,
    Scan, TableDescription, TableName, TableSpec, TransactGet,
};
use keyloom_value::{Item, KeyTest};

use super::charge::{Charge, Space};
use super::conflicts::ItemKey;
use super::refusal;
use super::store::{Strict, TRANSACTION_LATENCY};
use super::usage::Access;
use crate::units::{read_units, transact_read_units};

const GET: &str = "GetItem";
const BATCH: &str = "BatchGetItem";
const QUERY: &str = "Query";
const SCAN: &str = "Scan";
const TRANSACT: &str = "TransactGetItems";

impl Strict {
    /// Returns the store to read an item or a page from.
    fn source(&self, space: &Space, consistency: Consistency) -> Arc<dyn Read> {
        let table = &space.table;
        match (&space.index, consistency) {
            (Some(index), _) => {
                let since = self.lifecycle.index_since(table, index);
                self.replica(self.options.index_lag, since)
            }
            (None, Consistency::Eventual) => {
                self.replica(self.options.replica_lag, self.lifecycle.since(table))
            }
            (None, Consistency::Strong) => self.inner.clone(),
        }
    }

    /// Admits a read by the capacity that is left: what it consumes is known only afterwards.
    fn admit_read(&self, spec: &TableSpec, charge: &Charge) -> Result<(), refusal::Throttled> {
        self.charge(spec, std::slice::from_ref(charge))
    }

    /// Admits a read of an item. None if there is no such table.
    async fn admit_get(
        &self,
        get: &Get,
        operation: &'static str,
    ) -> Result<Option<Arc<TableSpec>>, Error> {
        let Some(spec) = self.spec(&get.table).await? else { return Ok(None) };
        let charge = Charge::page(Space::of_table(&get.table), &spec, &get.key);
        self.admit_read(&spec, &charge).map_err(|throttled| throttled.error(operation))?;
        Ok(Some(spec))
    }

    fn take(&self, spec: &TableSpec, charge: &Charge) {
        self.measured().spaces.take(charge, self.founding(spec));
    }

    /// Reads the whole item, to know its size, and returns what was requested of it.
    async fn read_item(&self, spec: &TableSpec, mut get: Get) -> Result<Option<Item>, Error> {
        let (projection, how, key) = (get.projection.take(), get.consistency, get.key.clone());
        let found = self.source(&Space::of_table(&spec.name), how).get(get).await?;
        let bytes = found.as_ref().map_or(0, Item::size);
        self.take(spec, &Charge::read(spec, &key, bytes, how));
        Ok(match (found, projection) {
            (Some(item), Some(projection)) => Some(projection.apply(&item)),
            (found, _) => found,
        })
    }

    /// Returns where an index is, which must be ready. None if there is no such table.
    async fn space(
        &self,
        table: &TableName,
        index: Option<&IndexName>,
    ) -> Result<Option<(Arc<TableSpec>, Space)>, Error> {
        let Some(spec) = self.spec(table).await? else { return Ok(None) };
        let space = Space::of_index(&spec, index);
        match &space.index {
            Some(index) if !self.lifecycle.is_index_ready(table, index, self.clock.now()) => {
                Err(Error::IndexBuilding { table: table.clone(), index: index.clone() })
            }
            _ => Ok(Some((spec, space))),
        }
    }
}

impl Read for Strict {
    fn list_tables(&self) -> Answer<'_, Vec<TableName>> {
        Box::pin(async move {
            let mut tables = self.inner.list_tables().await?;
            tables.extend(self.lifecycle.all_deleted(self.clock.now()));
            tables.sort();
            Ok(tables)
        })
    }

    fn describe_table(&self, table: TableName) -> Answer<'_, TableDescription> {
        Box::pin(async move {
            if let Some(deleted) = self.lifecycle.deleted(&table, self.clock.now()) {
                return Ok(deleted);
            }
            let mut description = self.inner.describe_table(table).await?;
            self.lifecycle.describe(&mut description, self.clock.now());
            Ok(description)
        })
    }

    fn get(&self, get: Get) -> Answer<'_, Option<Item>> {
        Box::pin(async move {
            let Some(spec) = self.admit_get(&get, GET).await? else {
                return self.inner.get(get).await;
            };
            self.wait(1).await;
            self.read_item(&spec, get).await
        })
    }

    fn query(&self, query: Query) -> Answer<'_, Page> {
        Box::pin(async move {
            let Some((spec, space)) = self.space(&query.table, query.index.as_ref()).await? else {
                return self.inner.query(query).await;
            };
            let (how, start) = (query.consistency, first_key(&query));
            let charge = Charge::page(space.clone(), &spec, &start);
            self.admit_read(&spec, &charge).map_err(|throttled| throttled.error(QUERY))?;
            self.wait(1).await;
            let page = self.source(&space, how).query(query).await?;
            self.take(&spec, &charge.consuming(Access::Read, page_units(&page, how)));
            Ok(page)
        })
    }

    /// A scan consumes an equal part of every partition.
    fn scan(&self, scan: Scan) -> Answer<'_, Page> {
        Box::pin(async move {
            let Some((spec, space)) = self.space(&scan.table, scan.index.as_ref()).await? else {
                return self.inner.scan(scan).await;
            };
            let (how, start) = (scan.consistency, scan.start.clone().unwrap_or_default());
            let charge = Charge::page(space.clone(), &spec, &start);
            self.admit_read(&spec, &charge).map_err(|throttled| throttled.error(SCAN))?;
            self.wait(1).await;
            let page = self.source(&space, how).scan(scan).await?;
            let units = page_units(&page, how);
            self.measured().spaces.take_evenly(&space, units, self.founding(&spec));
            Ok(page)
        })
    }

    /// Items without capacity are returned unprocessed; if that is all of them, the batch is refused.
    fn batch_get(&self, batch: BatchGet) -> Answer<'_, BatchGot> {
        Box::pin(async move {
            let (mut admitted, mut got, mut refused) = (vec![], BatchGot::default(), None);
            for get in batch.gets.clone() {
                match self.admit_get(&get, BATCH).await {
                    Ok(Some(spec)) => admitted.push((spec, get)),
                    Ok(None) => return self.inner.batch_get(batch).await,
                    Err(error @ Error::Refused(_)) => {
                        got.unprocessed.push(get);
                        refused = Some(error);
                    }
                    Err(error) => return Err(error),
                }
            }
            if let Some(error) = refused.filter(|_| admitted.is_empty()) {
                return Err(error);
            }
            self.wait(1).await;
            // The store's own rules on batches hold for what is left of this one.
            let gets = admitted.iter().map(|(_, get)| get.clone()).collect();
            let found = self.inner.batch_get(BatchGet { gets }).await?;
            let left = found.unprocessed;
            for (spec, get) in admitted {
                if left.contains(&get) {
                    continue;
                }
                let table = get.table.clone();
                let item = self.read_item(&spec, get).await?;
                got.items.extend(item.map(|item| (table, item)));
            }
            got.unprocessed.extend(left);
            Ok(got)
        })
    }

    fn transact_get(&self, transaction: TransactGet) -> Answer<'_, Vec<Option<Item>>> {
        Box::pin(async move {
            let (mut items, mut throttled) = (vec![], vec![]);
            for get in &transaction.gets {
                let Some(spec) = self.spec(&get.table).await? else {
                    return self.inner.transact_get(transaction).await;
                };
                items.push(ItemKey::new(&get.table, &spec.key, &get.key));
                let charge = Charge::page(Space::of_table(&get.table), &spec, &get.key);
                let refused = self.admit_read(&spec, &charge).err();
                throttled.push(refused.map(|throttled| throttled.reason(TRANSACT)));
            }
            if throttled.iter().any(Option::is_some) {
                return Err(Error::Canceled { reasons: throttled });
            }
            let written = self.conflicts.written(&items);
            if written.contains(&true) {
                return Err(refusal::canceled_by_conflict(TRANSACT, &written));
            }
            self.wait(TRANSACTION_LATENCY).await;
            let whole = transaction.gets.iter().map(|get| Get { projection: None, ..get.clone() });
            let found = self.inner.transact_get(TransactGet { gets: whole.collect() }).await?;
            for (get, item) in transaction.gets.iter().zip(&found) {
                let Some(spec) = self.spec(&get.table).await? else { continue };
                let units = transact_read_units(item.as_ref().map_or(0, Item::size));
                let charge = Charge::page(Space::of_table(&get.table), &spec, &get.key);
                self.take(&spec, &charge.consuming(Access::Read, units));
            }
            let projected =
                transaction.gets.iter().zip(found).map(|(get, item)| match &get.projection {
                    Some(projection) => item.map(|item| projection.apply(&item)),
                    None => item,
                });
            Ok(projected.collect())
        })
    }
}

fn page_units(page: &Page, consistency: Consistency) -> f64 {
    read_units(usize::try_from(page.scanned_bytes).unwrap_or(usize::MAX), consistency)
}

/// Returns the first key that a query can evaluate, as far as its condition says.
fn first_key(query: &Query) -> Item {
    let first = |test: &KeyTest| match (test, query.direction) {
        (KeyTest::Between(_, high), Direction::Backward) => high.clone(),
        (KeyTest::Between(low, _), Direction::Forward) => low.clone(),
        (
            KeyTest::Equal(value)
            | KeyTest::Less(value)
            | KeyTest::LessOrEqual(value)
            | KeyTest::Greater(value)
            | KeyTest::GreaterOrEqual(value)
            | KeyTest::BeginsWith(value),
            _,
        ) => value.clone(),
    };
    let tests = query.key.tests.iter();
    let of_condition = || tests.map(|(name, test)| (name.clone(), first(test))).collect();
    query.start.clone().unwrap_or_else(of_condition)
}
