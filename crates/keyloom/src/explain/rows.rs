//! Everything that the table has because of one entity, and why.
//!
//! What an entity implies is what the write path would write for it (`Layout::rows`, its posting lists and
//! counters); each row is then looked up, so that a missing one shows.

use keyloom_model::{Counter, Entity, Image, Layout, Matching, Reason, Row, RowKey, Slot};
use keyloom_query::Reader;
use keyloom_store::{Direction, ReadSet, SetName};
use keyloom_value::{Item, KeyBytes, Name, Value};

use crate::answer::Answer;
use crate::db::Db;
use crate::error::Error;

/// Something that the table has because of an entity.
///
/// [`Db::entity_rows`] has an example.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct EntityRow {
    /// What it is: `entity`, `guard`, `link`, `presence`, `entry`, `index key`, `set` or `counter`.
    pub what: &'static str,
    /// Why it is there: `unique: name`, `list open`, `tag color=red`.
    pub why: String,
    /// The index that it is in; none for the table itself.
    pub index: Option<String>,
    /// The values in its partition key, or in the name of the set.
    pub partition: Vec<String>,
    /// The values in its sort key. One in descending order has a `↓` before it.
    pub sort: Vec<String>,
    /// The row as it is stored; none if it is missing, or is not a row.
    pub item: Option<Item>,
    /// Whether the table has it.
    pub is_stored: bool,
}

impl Db {
    /// Returns everything that the table has because of an entity: its own row first, then guards, links
    /// and other rows, its keys in indexes, the sets that contain it, and the counters that it adds to.
    /// None if it does not exist.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use keyloom::Db;
    /// # use keyloom_store::{MemoryStore, SystemClock};
    /// # use serde_json::json;
    /// # let model = "[entity.task]\nfields.name = \"text\"\nunique = [\"name\"]";
    /// # pollster::block_on(async {
    /// # let db = Db::open(model, Arc::new(MemoryStore::new(Arc::new(SystemClock)))).await?;
    /// let task = db.create("task", &json!({ "name": "cook" })).await?;
    /// let rows = db.entity_rows("task", task.id()).await?.expect("it exists");
    /// assert!(rows.iter().all(|row| row.is_stored));
    /// let guard = rows.iter().find(|row| row.what == "guard").expect("names are unique");
    /// assert_eq!(guard.why, "unique: name");
    /// # Ok::<(), keyloom::Error>(())
    /// # }).expect("the example runs");
    /// ```
    ///
    /// # Errors
    ///
    /// If the model has no such entity, or the store fails.
    pub fn entity_rows<'a>(
        &'a self,
        entity: &'a str,
        id: &'a str,
    ) -> Answer<'a, Option<Vec<EntityRow>>> {
        Box::pin(async move {
            let schema = self.shared.schema();
            let scope = self.scope(&schema);
            let (entity, _) = scope.entity(entity)?;
            scope.check_readable(entity)?;
            let key = scope.key(entity, id)?;
            let Some(own) = self.reader(&schema).get(&key).await? else { return Ok(None) };
            if self.visible(&schema, Some(own.clone())).await?.is_none() {
                return Ok(None);
            }
            let layouts = &schema.layouts;
            let (layout, image) = layouts.written(&own)?;
            let traces = Traces { reader: self.shared.reader(&schema), layout, image: &image };
            Ok(Some(traces.all(layouts.rows_before(&own)?).await?))
        })
    }
}

/// Finds what an entity has in the table.
struct Traces<'t> {
    reader: Reader<'t>,
    layout: &'t Layout,
    image: &'t Image,
}

impl Traces<'_> {
    async fn all(&self, implied: Vec<Row>) -> Result<Vec<EntityRow>, Error> {
        let counters = self.layout.counters().of(self.image)?;
        let keys = implied.iter().map(|row| &row.key);
        let keys: Vec<RowKey> =
            keys.chain(counters.iter().map(|addend| addend.counter.key())).cloned().collect();
        let mut stored = self.reader.rows_at(&keys).await?.into_iter();
        let mut looked_up = |what: (&'static str, String), key: &RowKey| {
            let (item, (what, why)) = (stored.next().flatten(), what);
            let (partition, sort) = (key.partition.as_bytes(), key.sort.as_bytes());
            let is_stored = item.is_some();
            EntityRow { item, is_stored, ..shown(what, why, partition, parts(sort)) }
        };
        let mut all: Vec<EntityRow> =
            implied.iter().map(|row| looked_up(self.reason(row), &row.key)).collect();
        let counters: Vec<EntityRow> = counters
            .iter()
            .map(|addend| looked_up(("counter", addition(&addend.counter)), addend.counter.key()))
            .collect();
        let own = all.first().and_then(|own| own.item.clone());
        all.extend(own.iter().flat_map(|own| self.index_keys(own)));
        all.extend(self.memberships().await?);
        all.extend(counters);
        Ok(all)
    }

    fn entity(&self) -> &Entity {
        self.layout.model().entity(self.image.key.entity)
    }

    fn reason(&self, row: &Row) -> (&'static str, String) {
        let entity = self.entity();
        match row.reason {
            Reason::Own => ("entity", "its fields, and its keys in indexes".to_owned()),
            Reason::Guard(id) => {
                let unique = entity.unique(id);
                let fields = unique.within.iter().chain(&unique.fields);
                let fields: Vec<&str> =
                    fields.map(|field| entity.field(*field).name.as_str()).collect();
                ("guard", format!("unique: {}", fields.join(", ")))
            }
            Reason::Link(field) if entity.parent == Some(field) => {
                ("link", format!("child of {}: a copy beside its parent", entity.field(field).name))
            }
            Reason::Link(field) => {
                ("link", format!("refers to another entity: {}", entity.field(field).name))
            }
            Reason::Presence => ("presence", "others may refer to it".to_owned()),
            Reason::Posting => {
                let name = row.key.partition.as_bytes();
                let why = self.layout.postings().reason(name);
                ("entry", why.unwrap_or_else(|| "its number".to_owned()))
            }
        }
    }

    /// The keys of the own row in indexes.
    fn index_keys(&self, own: &Item) -> Vec<EntityRow> {
        let mut keys = vec![];
        for slot in (0..).take(self.layout.slot_count()).map(Slot::new) {
            let (partition, sort) = (slot.partition(), slot.sort());
            let part = |name: &Name| own.get(name.as_str()).and_then(Value::as_b);
            let (Some(partition), Some(sort)) = (part(&partition), part(&sort)) else { continue };
            let why = self.users_of(slot).join("; ");
            let key = shown("index key", why, partition, parts(sort));
            keys.push(EntityRow { index: Some(slot.name()), is_stored: true, ..key });
        }
        keys
    }

    /// What uses an index for entities of this kind.
    fn users_of(&self, slot: Slot) -> Vec<String> {
        let (layout, id, entity) = (self.layout, self.image.key.entity, self.entity());
        let lists = entity.lists().filter(|(list, _)| layout.lists().slot(id, *list) == slot);
        let mut users: Vec<String> = lists.map(|(_, list)| format!("list {}", list.name)).collect();
        let by_facet =
            entity.lists().filter(|(list, _)| layout.facets().slot(id, *list) == Some(slot));
        users.extend(by_facet.map(|(_, list)| format!("list {} by facet", list.name)));
        let boards =
            entity.boards().filter(|(board, _)| layout.leaderboards().slot(id, *board) == slot);
        users.extend(boards.map(|(_, board)| format!("board {}", board.name)));
        if layout.expiry().slot(id) == Some(slot) {
            users.push("expiry".to_owned());
        }
        if layout.ordinals().slot(id) == Some(slot) {
            users.push("by its number".to_owned());
        }
        users
    }

    /// The posting lists that contain it, unless these are rows.
    async fn memberships(&self) -> Result<Vec<EntityRow>, Error> {
        let Some(ordinal) = self.image.ordinal else { return Ok(vec![]) };
        let names = self.layout.postings().of(self.image)?;
        let mut are_in = vec![];
        match self.layout.matching() {
            Matching::Rows => return Ok(vec![]),
            Matching::Sets => {
                for name in &names {
                    are_in.push(self.is_in_set(name, ordinal).await?);
                }
            }
            Matching::Chunks => {
                let memberships = names.iter().map(|name| (name.as_bytes().to_vec(), ordinal));
                let (memberships, key) = (memberships.collect::<Vec<_>>(), &self.image.key);
                let tenant = key.tenant.as_ref();
                are_in = self.reader.are_members(key.entity, tenant, &memberships).await?;
            }
        }
        let membership = |(name, is_stored): (&KeyBytes, bool)| {
            let why = self.layout.postings().reason(name.as_bytes()).unwrap_or_default();
            let row = shown("set", why, name.as_bytes(), vec![ordinal.to_string()]);
            EntityRow { is_stored, ..row }
        };
        Ok(names.iter().zip(are_in).map(membership).collect())
    }

    async fn is_in_set(&self, name: &KeyBytes, ordinal: u64) -> Result<bool, Error> {
        let set = SetName::new(name.as_bytes().to_vec()).map_err(keyloom_store::Error::from)?;
        let Some(sets) = self.reader.store.sets() else { return Ok(false) };
        let (table, direction) = (self.reader.table.clone(), Direction::Forward);
        let part = sets.read_set(ReadSet { table, set, from: ordinal, direction, chunks: 1 });
        Ok(part.await?.members.contains(ordinal))
    }
}

/// What adding to a counter is for.
fn addition(counter: &Counter) -> String {
    let why = match counter {
        Counter::Plain(_) => "a count",
        Counter::InOrder(_) => "the least and greatest value of a count",
        Counter::Score(_) => "a score",
        Counter::Change(_) => "the change of a score",
        Counter::Pending(_) => "what deletions are about to take",
    };
    why.to_owned()
}

/// Something at a place in the table.
fn shown(what: &'static str, why: String, partition: &[u8], sort: Vec<String>) -> EntityRow {
    let partition = parts(partition);
    EntityRow { what, why, index: None, partition, sort, item: None, is_stored: false }
}

/// The values in a key, for people.
fn parts(mut key: &[u8]) -> Vec<String> {
    let mut parts = vec![];
    while !key.is_empty() {
        let Some((part, rest)) = part(key) else {
            parts.push(Value::B(key.to_vec()).to_string());
            break;
        };
        parts.push(part);
        key = rest;
    }
    parts
}

/// The first value in a key, and the rest.
fn part(key: &[u8]) -> Option<(String, &[u8])> {
    if let Ok((value, rest)) = KeyBytes::decode_part(key) {
        return Some((text(&value), rest));
    }
    let rest = KeyBytes::skip_descending(key).ok()?;
    let turned: Vec<u8> = key[..key.len() - rest.len()].iter().map(|byte| !byte).collect();
    let (value, _) = KeyBytes::decode_part(&turned).ok()?;
    Some((format!("↓{}", text(&value)), rest))
}

fn text(value: &Value) -> String {
    value.as_s().map_or_else(|| value.to_string(), str::to_owned)
}
