//! Keyloom as a contender, through the store trait.

use std::path::Path;
use std::sync::Arc;
use std::thread;

use keyloom_store::{
    BatchAction, BatchWrite, Durability, Engine, Error, Get, KeySchema, KeyType, Options, Put,
    Query, Store, TableName, TableSpec,
};
use keyloom_value::{Item, KeyCondition, KeyTest, Name, Value};
use pollster::block_on;

use crate::rows::RANGE_ROWS;
use crate::{Contender, Found, Outcome, Row, RowKey, Rows};

/// The most rows of one batch write.
const BATCH_ROWS: usize = 25;
/// The number of loading threads.
const LOADERS: usize = 16;

/// A table with a partition key `pk` and a sort key `sk`, both strings, and bytes in `body`.
pub(crate) struct Keyloom {
    engine: Arc<Engine>,
    /// The engine as a trait object, as users call it.
    store: Arc<dyn Store>,
    table: TableName,
    pk: Name,
    sk: Name,
    body: Name,
}

impl Keyloom {
    /// Opens a store with the same memory as the others, and creates its table if it is missing.
    pub(crate) fn open(
        directory: &Path,
        durability: Durability,
        memory_bytes: usize,
    ) -> Outcome<Keyloom> {
        let options = Options { durability, memory_bytes, ..Options::default() };
        let engine = Arc::new(Engine::open(directory, options)?);
        let store: Arc<dyn Store> = Arc::clone(&engine) as _;
        let table = TableName::new("rows")?;
        let key = KeySchema::partition("pk", KeyType::S).and_sort("sk", KeyType::S);
        match block_on(store.create_table(TableSpec::new(table.clone(), key))) {
            Ok(_) | Err(Error::TableExists { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        let [pk, sk, body] = ["pk", "sk", "body"].map(Name::from);
        Ok(Keyloom { engine, store, table, pk, sk, body })
    }

    fn key(&self, key: &RowKey) -> Item {
        Item::from([
            (self.pk.clone(), Value::from(key.partition())),
            (self.sk.clone(), Value::from(key.position())),
        ])
    }

    fn item(&self, row: Row<'_>) -> Item {
        let mut item = self.key(&row.key);
        item.insert(self.body.clone(), Value::B(row.body.to_vec()));
        item
    }

    /// Moves the body out of the item: the store has already copied it.
    fn body(&self, mut item: Item) -> Outcome<Vec<u8>> {
        match item.remove(self.body.as_str()) {
            Some(Value::B(bytes)) => Ok(bytes),
            Some(_) | None => Err("A row has no body of bytes.".into()),
        }
    }

    fn write_batch(&self, rows: &[Row<'_>]) -> Outcome<()> {
        let put = |row: &Row<'_>| BatchAction::Put(self.table.clone(), self.item(*row));
        let mut batch = BatchWrite { actions: rows.iter().map(put).collect() };
        while !batch.actions.is_empty() {
            batch = block_on(self.store.batch_write(batch))?;
        }
        Ok(())
    }
}

impl Contender for Keyloom {
    fn load(&self, rows: &Rows) -> Outcome<()> {
        let rows: Vec<Row<'_>> = rows.all().collect();
        let share = rows.len().div_ceil(LOADERS).max(1);
        thread::scope(|scope| {
            let load = |rows: &'_ [Row<'_>]| -> Outcome<()> {
                rows.chunks(BATCH_ROWS).try_for_each(|batch| self.write_batch(batch))
            };
            let loaders: Vec<_> =
                rows.chunks(share).map(|rows| scope.spawn(move || load(rows))).collect();
            loaders
                .into_iter()
                .try_for_each(|loader| loader.join().map_err(|_| "A loader panicked.")?)
        })?;
        Ok(self.engine.checkpoint()?)
    }

    fn get(&self, key: &RowKey) -> Outcome<Option<Vec<u8>>> {
        let item = block_on(self.store.get(Get::new(&self.table, self.key(key))))?;
        item.map(|item| self.body(item)).transpose()
    }

    fn range20(&self, from: &RowKey) -> Outcome<Found> {
        let position = KeyTest::GreaterOrEqual(Value::from(from.position()));
        let range = KeyCondition::equal(&self.pk, from.partition()).and(&self.sk, position);
        let mut query = Query::new(&self.table, range);
        query.limit = Some(RANGE_ROWS as u32);
        let page = block_on(self.store.query(query))?;
        Ok(Found::Items(page.items))
    }

    fn put(&self, row: Row<'_>) -> Outcome<()> {
        block_on(self.store.put(Put::new(&self.table, self.item(row))))?;
        Ok(())
    }
}
