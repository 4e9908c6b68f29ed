//! A table with the layout of a model, on every store, filled with the rows of `Layout::rows`.

use std::sync::Arc;

use keyloom_model::{DeltaChange, EntityId, EntityKey, Image, Layout, ListId, Matching};
use keyloom_query::{CursorKey, Reader};
use keyloom_store::{
    Background, ColumnSpec, Delete, Engine, IndexProjection, IndexScope, IndexSpec, KeySchema,
    KeyType, Membership, MemoryStore, Options, Put, SetChange, SetName, Store, TableName,
    TableSpec, TransactAction, TransactWrite, UpdateItem,
};
use keyloom_testkit::{ManualClock, SimDisk};
use keyloom_value::{Item, KeyBytes, Name, Value};
use pollster::FutureExt;

/// The time of all reads.
pub(crate) const NOW_MS: i64 = 1_700_000_000_000;

/// Creates a store without tables.
type Make = fn() -> Arc<dyn Store>;

/// The stores, which must return the same.
pub(crate) const STORES: &[(&str, Make)] = &[("memory", memory), ("engine", engine)];

fn memory() -> Arc<dyn Store> {
    Arc::new(MemoryStore::new(Arc::new(ManualClock::new())))
}

fn engine() -> Arc<dyn Store> {
    let options = Options {
        background: Background::Manual,
        memory_bytes: 8 << 20,
        clock: Arc::new(ManualClock::new()),
        disk: Arc::new(SimDisk::new(0)),
        ..Options::default()
    };
    Arc::new(Engine::open("/data", options).unwrap())
}

/// A table and its layout.
pub(crate) struct Rig {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) table: TableName,
    pub(crate) layout: Layout,
    pub(crate) cursors: CursorKey,
}

impl Rig {
    pub(crate) fn new(make: Make, model: &str) -> Rig {
        Rig::keeping(make, model, Matching::Sets)
    }

    /// A table whose posting lists are kept in this form.
    pub(crate) fn keeping(make: Make, model: &str, matching: Matching) -> Rig {
        let model = keyloom_model::check(model).unwrap_or_else(|errors| panic!("{}", errors[0]));
        let layout = Layout::new(model, 1, &Item::new()).keeping(matching);
        let (store, table) = (make(), TableName::new("data").unwrap());
        let key = KeySchema::partition("PK", KeyType::B).and_sort("SK", KeyType::B);
        let mut spec = TableSpec::new(table.clone(), key);
        for number in 0..layout.slot_count() {
            let slot = keyloom_model::Slot::new(u8::try_from(number).unwrap());
            let key = KeySchema::partition(slot.partition().as_str(), KeyType::B)
                .and_sort(slot.sort().as_str(), KeyType::B);
            let name = TableName::new(&slot.name()).unwrap();
            let (scope, projection) = (IndexScope::Global, IndexProjection::Keys);
            spec.indexes.push(IndexSpec { name, scope, key, projection });
        }
        for column in layout.lists().columns() {
            spec.columns.push(ColumnSpec {
                name: TableName::new(&column.name).unwrap(),
                partition: column.partition,
                prefix: column.prefix.into_vec(),
                ordinal: column.ordinal,
                value: column.value,
                parts: column.order.iter().map(part).collect(),
            });
        }
        store.create_table(spec).block_on().unwrap();
        Rig { store, table, layout, cursors: CursorKey::new([7; 32]) }
    }

    /// Runs a test on every store.
    pub(crate) fn each(model: &str, test: impl Fn(&Rig)) {
        for (name, make) in STORES {
            println!("on {name}");
            test(&Rig::new(*make, model));
        }
    }

    pub(crate) fn reader(&self) -> Reader<'_> {
        Reader {
            store: self.store.as_ref(),
            table: &self.table,
            layout: &self.layout,
            now_ms: NOW_MS,
            noted: None,
        }
    }

    pub(crate) fn entity(&self, name: &str) -> EntityId {
        self.layout.model().find(name).unwrap()
    }

    pub(crate) fn list(&self, entity: &str, list: &str) -> (EntityId, ListId) {
        let entity = self.entity(entity);
        (entity, self.layout.model().entity(entity).find_list(list).unwrap())
    }

    /// The key of an entity without a tenant.
    pub(crate) fn key(&self, entity: &str, id: &str) -> EntityKey {
        EntityKey { entity: self.entity(entity), tenant: None, id: id.to_owned() }
    }

    pub(crate) fn image<const N: usize>(
        &self,
        entity: &str,
        id: &str,
        fields: [(&str, Value); N],
    ) -> Image {
        let fields = fields.into_iter().map(|(name, value)| (Name::from(name), value));
        let (key, version) = (self.key(entity, id), "1".to_owned());
        Image { key, version, ordinal: None, fields: fields.collect() }
    }

    /// Puts all rows of an entity.
    pub(crate) fn put(&self, image: &Image) {
        for row in self.layout.rows(image).unwrap() {
            self.put_row(row.item);
        }
    }

    /// Puts all rows of an entity that has an ordinal, and adds it to its posting lists.
    pub(crate) fn put_with_postings(&self, image: &Image) {
        self.put(image);
        let ordinal = image.ordinal.expect("it has an ordinal");
        let change = |name: KeyBytes| SetChange {
            table: self.table.clone(),
            set: SetName::new(name.as_bytes()).unwrap(),
            ordinals: vec![ordinal],
            becomes: Membership::In,
        };
        if self.layout.matching() == Matching::Chunks {
            self.append_delta(image, ordinal);
            return;
        }
        let sets = self.layout.postings().of(image).unwrap().into_iter().map(change).collect();
        let transaction = TransactWrite { sets, ..TransactWrite::default() };
        self.store.transact_write(transaction).block_on().unwrap();
    }

    /// Adds an entity to its posting lists by a delta, as a write does.
    fn append_delta(&self, image: &Image, ordinal: u64) {
        let names = self.layout.postings().of(image).unwrap().into_iter();
        let joined = names.map(KeyBytes::into_vec).collect();
        let change = DeltaChange { stamp: image.key.id.clone(), joined, left: vec![] };
        let (entity, tenant) = (image.key.entity, image.key.tenant.as_ref());
        let key = self.layout.chunks().delta_key(entity, tenant, ordinal).to_item();
        let update = UpdateItem::new(&self.table, key, change.append());
        self.store.update(update).block_on().unwrap();
    }

    /// Puts the own rows of entities, which have the index keys of lists.
    pub(crate) fn put_own(&self, images: &[Image]) {
        for batch in images.chunks(25) {
            let own = batch.iter().map(|image| self.layout.rows(image).unwrap().remove(0).item);
            let put = |item| keyloom_store::BatchAction::Put(self.table.clone(), item);
            let batch = keyloom_store::BatchWrite { actions: own.map(put).collect() };
            assert_eq!(self.store.batch_write(batch).block_on().unwrap().actions, []);
        }
    }

    pub(crate) fn put_row(&self, row: Item) {
        self.store.put(Put::new(&self.table, row)).block_on().unwrap();
    }

    /// Deletes all rows of an entity.
    pub(crate) fn delete(&self, image: &Image) {
        for row in self.layout.rows(image).unwrap() {
            self.store.delete(Delete::new(&self.table, row.key.to_item())).block_on().unwrap();
        }
    }

    /// Changes an entity from one image to another, in one transaction.
    pub(crate) fn change(&self, old: &Image, new: &Image) {
        let (old, new) = (self.layout.rows(old).unwrap(), self.layout.rows(new).unwrap());
        let gone = old.iter().filter(|row| !new.iter().any(|other| other.key == row.key));
        let gone = gone.map(|row| Delete::new(&self.table, row.key.to_item()));
        let puts = new.iter().map(|row| Put::new(&self.table, row.item.clone()));
        let actions = gone.map(TransactAction::Delete).chain(puts.map(TransactAction::Put));
        let transaction = TransactWrite::new(actions.collect());
        self.store.transact_write(transaction).block_on().unwrap();
    }

    /// Puts all rows of an entity, marked by a deletion.
    pub(crate) fn put_marked(&self, image: &Image, deletion: &str) {
        let pending = keyloom_model::Pending::NONE.with_entity(deletion);
        for mut row in self.layout.rows_with(image, &pending).unwrap() {
            row.item.insert(keyloom_model::attribute::DELETION, deletion);
            self.put_row(row.item);
        }
    }
}

fn part(direction: &keyloom_model::Direction) -> keyloom_store::Direction {
    match direction {
        keyloom_model::Direction::Ascending => keyloom_store::Direction::Forward,
        keyloom_model::Direction::Descending => keyloom_store::Direction::Backward,
    }
}
