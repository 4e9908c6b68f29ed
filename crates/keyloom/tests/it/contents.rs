//! What a reader sees of a database, read by every access path and compared: an entity is the same
//! by its id, in every list, with its parent and by its unique values; lists equal a filter and a
//! sort; no reference dangles.

use std::collections::BTreeMap;

use keyloom_model::{
    Direction, EntityId, EntityKey, FieldType, Layout, List, Literal, Model, OwnRow,
};
use keyloom_query::{Children, CursorKey, FamilyRequest, ListRequest, Reader, UniqueRequest};
use keyloom_store::{Read, Scan, Store, TableName};
use keyloom_value::{Item, KeyBytes, Value};
use pollster::block_on;

/// The fields of every visible entity, by kind and id.
pub(crate) type Contents = BTreeMap<(String, String), Item>;

/// What is visible in a table under a layout at a time. Only for models without tenants.
pub(crate) struct Look<'a> {
    pub(crate) store: &'a dyn Store,
    pub(crate) layout: &'a Layout,
    pub(crate) now_ms: i64,
    /// Whether lists can be read; they cannot while they are built.
    pub(crate) lists: bool,
}

pub(crate) fn table() -> TableName {
    TableName::new("keyloom").expect("a name")
}

/// The layout of the first model of a table.
pub(crate) fn first_layout(model: &str) -> Layout {
    let model = keyloom_model::check(model).expect("the model has no errors");
    Layout::new(model, 1, &Item::new())
}

/// Every row of the table, unchanged.
pub(crate) fn raw_rows(store: &dyn Store) -> Vec<Item> {
    let mut scan = Scan::new(&table());
    let mut rows = vec![];
    loop {
        let page = block_on(store.scan(scan.clone())).expect("the store answers");
        rows.extend(page.items);
        match page.last_key {
            None => return rows,
            start => scan.start = start,
        }
    }
}

impl Look<'_> {
    /// Everything that is visible. Panics if two access paths disagree.
    pub(crate) fn contents(&self) -> Contents {
        let table = table();
        let reader = Reader {
            store: self.store as &dyn Read,
            table: &table,
            layout: self.layout,
            now_ms: self.now_ms,
            noted: None,
        };
        let mut seen: Vec<OwnRow> = vec![];
        for row in raw_rows(self.store) {
            let Ok(own) = self.layout.read_own(&row) else { continue };
            if let Some(row) = block_on(reader.get(&own.image.key)).expect("an entity is read") {
                seen.push(row);
            }
        }
        for row in &seen {
            self.check_references(row, &seen);
            self.check_family(&reader, row, &seen);
            self.check_uniques(&reader, row);
        }
        if self.lists {
            self.check_lists(&reader, &seen);
        }
        let name = |row: &OwnRow| self.model().entity(row.image.key.entity).name.clone();
        let entry = |row: OwnRow| ((name(&row), row.image.key.id.clone()), row.image.fields);
        seen.into_iter().map(entry).collect()
    }

    fn model(&self) -> &Model {
        self.layout.model()
    }

    fn check_references(&self, row: &OwnRow, seen: &[OwnRow]) {
        let entity = self.model().entity(row.image.key.entity);
        for link in self.layout.references().of(row.image.key.entity) {
            let name = &entity.field(link.field).name;
            let Some(id) = row.image.fields.get(name).and_then(Value::as_s) else { continue };
            let key = EntityKey { entity: link.target, tenant: None, id: id.to_owned() };
            let is_there = seen.iter().any(|other| other.image.key == key);
            assert!(is_there, "`{name}` of {:?} refers to what is not seen: {id}", row.image);
        }
    }

    fn check_family(&self, reader: &Reader<'_>, row: &OwnRow, seen: &[OwnRow]) {
        let parent = &row.image.key;
        for (child, entity) in self.model().entities() {
            let Some(field) = entity.parent else { continue };
            if !matches!(entity.field(field).of, FieldType::Ref(of, _) if of == parent.entity) {
                continue;
            }
            let request = FamilyRequest {
                parent: parent.clone(),
                children: Children::Of(child),
                limit: 1000,
            };
            let family = block_on(reader.family(&request, &CursorKey::new([0; 32])));
            let family = family.expect("a family is read").expect("the parent is seen");
            let name = &entity.field(field).name;
            let is_child = |row: &&OwnRow| {
                row.image.key.entity == child
                    && row.image.fields.get(name).and_then(Value::as_s) == Some(&parent.id)
            };
            let mut expected: Vec<_> = seen.iter().filter(is_child).map(|row| &row.image).collect();
            expected.sort_by(|left, right| left.key.id.cmp(&right.key.id));
            let found: Vec<_> = family.children.iter().map(|row| &row.image).collect();
            assert_eq!(found, expected, "the children of {parent:?}");
        }
    }

    fn check_uniques(&self, reader: &Reader<'_>, row: &OwnRow) {
        if !self.lists {
            return;
        }
        let entity = self.model().entity(row.image.key.entity);
        for (id, unique) in entity.uniques() {
            let fields = unique.within.iter().chain(&unique.fields);
            let values =
                fields.map(|field| row.image.fields.get(&entity.field(*field).name).cloned());
            let Some(values) = values.collect::<Option<Vec<Value>>>() else { continue };
            let (entity, tenant) = (row.image.key.entity, None);
            let request = UniqueRequest { entity, tenant, unique: id, values };
            let found = block_on(reader.find(&request));
            let found = found.expect("a unique value is looked up").map(|found| found.image);
            assert_eq!(found.as_ref(), Some(&row.image), "by {:?}", request.values);
        }
    }

    fn check_lists(&self, reader: &Reader<'_>, seen: &[OwnRow]) {
        for (entity, declared) in self.model().entities() {
            for (id, list) in declared.lists() {
                let mut expected: BTreeMap<Vec<u8>, (Vec<Value>, Vec<&OwnRow>)> = BTreeMap::new();
                for row in seen.iter().filter(|row| row.image.key.entity == entity) {
                    let Some((by, _)) = self.place(entity, list, row) else { continue };
                    let key: Vec<u8> = by.iter().flat_map(key_of).collect();
                    expected.entry(key).or_insert_with(|| (by, vec![])).1.push(row);
                }
                if list.by.is_empty() {
                    expected.entry(vec![]).or_default();
                }
                for (by, mut rows) in expected.into_values() {
                    rows.sort_by_cached_key(|row| {
                        let (_, sort) = self.place(entity, list, row).expect("it is in the list");
                        (sort, row.image.key.id.clone())
                    });
                    let request = ListRequest { by, limit: 1000, ..ListRequest::new(entity, id) };
                    let page = block_on(reader.list(&request, &CursorKey::new([0; 32]), None));
                    let page = page.expect("a list is read");
                    let found: Vec<_> = page.rows.iter().map(|row| &row.image).collect();
                    let rows: Vec<_> = rows.iter().map(|row| &row.image).collect();
                    assert_eq!(found, rows, "the list `{}` of {:?}", list.name, request.by);
                }
            }
        }
    }

    /// The values of `by`, and a key that sorts as the list does; `None` if the entity is not in
    /// it.
    fn place(
        &self,
        entity: EntityId,
        list: &List,
        row: &OwnRow,
    ) -> Option<(Vec<Value>, Vec<Vec<u8>>)> {
        let declared = self.model().entity(entity);
        let value = |field: keyloom_model::FieldId| {
            row.image.fields.get(&declared.field(field).name).cloned()
        };
        for test in &list.filter {
            let matches = match (&test.value, value(test.field)) {
                (Literal::Bool(expected), Some(Value::Bool(found))) => *expected == found,
                (Literal::Text(expected), Some(Value::S(found))) => *expected == found,
                _ => false,
            };
            matches.then_some(())?;
        }
        let by = list.by.iter().map(|field| value(*field)).collect::<Option<Vec<Value>>>()?;
        let order = list.order.iter().map(|order| {
            let mut bytes = key_of(&value(order.field)?);
            if order.direction == Direction::Descending {
                bytes.iter_mut().for_each(|byte| *byte = !*byte);
                bytes.push(0xFF);
            }
            Some(bytes)
        });
        Some((by, order.collect::<Option<Vec<Vec<u8>>>>()?))
    }
}

fn key_of(value: &Value) -> Vec<u8> {
    let mut key = KeyBytes::new();
    let number = match value {
        Value::Bool(truth) => Value::from(i32::from(*truth)),
        other => other.clone(),
    };
    key.push(&number).expect("it has an order");
    key.into_vec()
}
