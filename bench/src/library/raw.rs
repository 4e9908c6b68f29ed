//! The engine's side: the same rows, written and read by hand.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use keyloom_model::attribute::{OWNER, PARTITION, VERSION};
use keyloom_model::{EntityKey, Image, Layout, Reason};
use keyloom_store::{
    BatchAction, BatchGet, BatchWrite, Engine, Get, Put, Query, Read, Scan, Store, TableName,
    TransactAction, TransactWrite,
};
use keyloom_value::{Condition, Item, KeyCondition, KeyTest, Path, Value};
use pollster::block_on;

use super::work::{PAGE, Side, Work, body};
use crate::{Outcome, Random};

/// The most rows of one batch write.
const BATCH_ROWS: usize = 25;

/// An engine with the rows of comments.
pub(crate) struct Raw {
    engine: Engine,
    table: TableName,
    layout: Layout,
    /// Keys of the entities' own rows.
    keys: Vec<Item>,
    /// The position before the page reached last, with its number.
    position: Mutex<Option<(u64, Value)>>,
}

impl Raw {
    /// Copies the table with all its rows.
    pub(crate) fn copy(from: &Engine, engine: Engine, layout: Layout) -> Outcome<Raw> {
        let table = TableName::new("keyloom")?;
        let spec = block_on(from.describe_table(table.clone()))?.spec;
        block_on(engine.create_table(spec))?;
        let mut keys = vec![];
        let mut scan = Scan::new(&table);
        loop {
            let page = block_on(from.scan(scan.clone()))?;
            for rows in page.items.chunks(BATCH_ROWS) {
                let put = |row: &Item| BatchAction::Put(table.clone(), row.clone());
                let batch = BatchWrite { actions: rows.iter().map(put).collect() };
                block_on(engine.batch_write(batch))?;
            }
            let own = page.items.iter().filter(|row| row.contains("body"));
            keys.extend(own.map(key_of));
            match page.last_key {
                None => break,
                start => scan.start = start,
            }
        }
        engine.checkpoint()?;
        Ok(Raw { engine, table, layout, keys, position: Mutex::new(None) })
    }

    fn key(&self, random: &mut Random) -> Item {
        self.keys[random.below(self.keys.len() as u64) as usize].clone()
    }

    fn create(&self, image: &Image) -> Outcome<TransactWrite> {
        let free = Condition::missing(PARTITION);
        let put = |row: keyloom_model::Row| {
            let condition = match row.reason {
                Reason::Own | Reason::Link(_) | Reason::Presence | Reason::Posting => free.clone(),
                Reason::Guard(_) => {
                    let owner = row.item.get(OWNER).cloned().unwrap_or(Value::Null);
                    free.clone().or(Condition::equal(Path::from(OWNER), owner))
                }
            };
            TransactAction::Put(Put::new(&self.table, row.item).when(condition))
        };
        let actions = self.layout.rows(image)?.into_iter().map(put).collect();
        Ok(TransactWrite::new(actions))
    }

    fn update(&self, key: Item, body: String) -> Outcome<()> {
        let row = block_on(self.engine.get(Get::new(&self.table, key)))?;
        let mut row = row.ok_or("A comment is gone.")?;
        let version = row.get(VERSION).cloned().unwrap_or(Value::Null);
        row.insert("body", body);
        let unchanged = Condition::equal(Path::from(VERSION), version);
        block_on(self.engine.put(Put::new(&self.table, row).when(unchanged)))?;
        Ok(())
    }

    /// Reads a page of the list of all comments: keys from the index, then the rows.
    fn page(&self, after: Option<&Value>) -> Outcome<(Vec<Item>, Option<Value>)> {
        let comment = self.layout.model().find("comment").ok_or("There are no comments.")?;
        let list = self.layout.model().entity(comment).find_list("by_product");
        let list = list.ok_or("There is no such list.")?;
        let slot = self.layout.lists().slot(comment, list);
        let partition = self.layout.lists().partition((comment, list), None, &["42".into()])?;
        let mut key = KeyCondition::equal(slot.partition(), partition.into_vec());
        if let Some(after) = after {
            key = key.and(slot.sort(), KeyTest::Greater(after.clone()));
        }
        let mut query = Query::new(&self.table, key);
        query.index = Some(TableName::new(&slot.name())?);
        query.limit = Some(PAGE as u32);
        let page = block_on(self.engine.query(query))?;
        let gets = page.items.iter().map(|row| Get::new(&self.table, key_of(row))).collect();
        let got = block_on(self.engine.batch_get(BatchGet { gets }))?;
        let last = page.items.last().and_then(|row| row.get(slot.sort().as_str()).cloned());
        Ok((got.items.into_iter().map(|(_, row)| row).collect(), last))
    }

    fn position(&self, after: u64) -> Outcome<Option<Value>> {
        let mut kept = self.position.lock().map_err(|_| "A worker panicked.")?;
        match &*kept {
            Some((page, position)) if *page == after => return Ok(Some(position.clone())),
            Some(_) | None => {}
        }
        let mut position = None;
        for _ in 0..after {
            position = self.page(position.as_ref())?.1;
        }
        *kept = position.clone().map(|position| (after, position));
        Ok(position)
    }
}

impl Side for Raw {
    fn call(&self, work: Work, random: &mut Random) -> Outcome<Duration> {
        match work {
            Work::Create { .. } => {
                let create = self.create(&new_image(&self.layout, random)?)?;
                let start = Instant::now();
                block_on(self.engine.transact_write(create))?;
                Ok(start.elapsed())
            }
            Work::Get => {
                let get = Get::new(&self.table, self.key(random));
                let start = Instant::now();
                let found = block_on(self.engine.get(get))?;
                let elapsed = start.elapsed();
                found.ok_or("A comment is gone.")?;
                Ok(elapsed)
            }
            Work::Update => {
                let (key, body) = (self.key(random), body(random));
                let start = Instant::now();
                self.update(key, body)?;
                Ok(start.elapsed())
            }
            Work::Page { after } => {
                let position = self.position(after)?;
                let start = Instant::now();
                let (rows, _) = self.page(position.as_ref())?;
                let elapsed = start.elapsed();
                if rows.len() as u64 != PAGE {
                    return Err("A page is short.".into());
                }
                Ok(elapsed)
            }
        }
    }
}

/// The number of images created: ids ascend, like those of the library.
static IMAGES: AtomicU64 = AtomicU64::new(0);

/// Returns a new comment, later than all existing ones.
pub(crate) fn new_image(layout: &Layout, random: &mut Random) -> Outcome<Image> {
    let entity = layout.model().find("comment").ok_or("There are no comments.")?;
    let number = IMAGES.fetch_add(1, Ordering::Relaxed);
    let stamp = |random: &mut Random| format!("z{number:09x}{:016x}", random.next());
    let id = stamp(random);
    let fields = Item::from([
        ("product", Value::from("42")),
        ("slug", Value::from(stamp(random))),
        ("rating", Value::from(random.below(5) + 1)),
        ("created", Value::from(2_000_000_000_000 + number)),
        ("body", Value::from(body(random))),
    ]);
    let key = EntityKey { entity, tenant: None, id };
    Ok(Image { key, version: stamp(random), ordinal: None, fields })
}

fn key_of(row: &Item) -> Item {
    let key = ["PK", "SK"].into_iter();
    key.filter_map(|name| Some((keyloom_value::Name::from(name), row.get(name)?.clone()))).collect()
}
