//! One change of one entity, as the feed tells it: with the entity before and after.

use std::sync::Arc;

use keyloom_model::attribute::{PARTITION, SORT};
use keyloom_model::{EntityId, EntityKey, FieldType, Image, OwnRow, RowName, TriggeringChange};
use keyloom_query::deletion_key;
use keyloom_store::{Change, ShardId};
use keyloom_value::{Item, Value};

use super::Position;
use crate::document::{item_to_json, own_json_to_item};
use crate::error::Error;
use crate::record::Record;
use crate::schema::Schema;
use crate::write::ROOT as DELETED_ROOT;

/// An entity was created, changed or deleted, in whatever way: by a request, by a cascade, because
/// its time had come.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Event {
    /// The kind of entity.
    pub entity: String,
    /// Its id.
    pub id: String,
    /// Its tenant, if it has one.
    pub tenant: Option<Value>,
    /// What happened to it.
    pub change: TriggeringChange,
    /// What it was before; none if it was created.
    pub old: Option<Record>,
    /// What it is since; none if it was deleted.
    pub new: Option<Record>,
    /// Where it is in the feed: whoever reads on from here has seen it.
    pub position: Position,
    /// When it happened, in milliseconds since 1970.
    pub time_ms: i64,
}

impl Event {
    /// The event as JSON: one text for webhooks, streams, and events that wait to be handled again.
    pub fn to_json(&self) -> String {
        let image = |record: &Option<Record>| {
            record.as_ref().map_or(Value::Null, |record| Value::M(record.shown()))
        };
        item_to_json(&Item::from([
            ("entity", Value::from(self.entity.as_str())),
            ("id", Value::from(self.id.as_str())),
            ("tenant", self.tenant.clone().unwrap_or(Value::Null)),
            ("change", Value::from(self.change.as_str())),
            ("old", image(&self.old)),
            ("new", image(&self.new)),
            ("position", Value::from(self.position.to_string())),
            ("time", FieldType::Time.to_external(&Value::from(self.time_ms))),
        ]))
    }

    /// Reads what [`Event::to_json`] wrote, as the model of today has it.
    pub(crate) fn from_json(schema: &Arc<Schema>, json: &str) -> Result<Event, Error> {
        let unreadable = || Error::damaged("An event that is kept as JSON cannot be read.");
        let item = own_json_to_item(json).map_err(Error::Document)?;
        let text = |name| item.get(name).and_then(Value::as_s).ok_or_else(unreadable);
        let entity = schema.model().find(text("entity")?).ok_or_else(unreadable)?;
        let key = EntityKey {
            entity,
            tenant: item.get("tenant").filter(|tenant| **tenant != Value::Null).cloned(),
            id: text("id")?.to_owned(),
        };
        let time = item.get("time").map(|time| FieldType::Time.to_stored(time));
        let time_ms = time.and_then(|time| time.as_n().and_then(|time| time.to_i64()));
        let image = |name| read_image(schema, &key, item.get(name), time_ms.unwrap_or_default());
        Ok(Event {
            entity: text("entity")?.to_owned(),
            id: key.id.clone(),
            tenant: key.tenant.clone(),
            change: read_change(text("change")?).ok_or_else(unreadable)?,
            old: image("old")?,
            new: image("new")?,
            position: text("position")?.parse()?,
            time_ms: time_ms.ok_or_else(unreadable)?,
        })
    }

    /// The event that a change of a row is. None if it is no entity's own row, or if the entity is
    /// the same as before: a deletion has marked it, or it was written anew.
    ///
    /// # Errors
    ///
    /// If the row cannot be read, or was written under a model that is not this one.
    pub(crate) fn of(
        schema: &Arc<Schema>,
        shard: &ShardId,
        change: &Change,
    ) -> Result<Option<Event>, Error> {
        let Some(key) = entity_of(schema, &change.key) else {
            return Event::of_deletion(schema, shard, change);
        };
        let old = read_row(schema, &key, change.old.as_ref())?;
        let new = read_row(schema, &key, change.new.as_ref())?;
        let kind = match (&old, &new) {
            (None, None) => return Ok(None),
            (Some(old), Some(new)) if old.image.version == new.image.version => return Ok(None),
            (None, Some(_)) => TriggeringChange::Insert,
            (Some(_), Some(_)) => TriggeringChange::Update,
            // It was told when its deletion happened.
            (Some(old), None) if old.pending.is_root() => return Ok(None),
            (Some(_), None) => TriggeringChange::Delete,
        };
        Ok(Some(Event::new(schema, (key, kind), (old, new), (shard, change))))
    }

    /// The event that a large deletion is when it happens: that of the entity whose deletion was
    /// asked for. What goes with it is told when it is removed.
    fn of_deletion(
        schema: &Arc<Schema>,
        shard: &ShardId,
        change: &Change,
    ) -> Result<Option<Event>, Error> {
        let Some(Value::M(root)) = change.new.as_ref().and_then(|new| new.get(DELETED_ROOT)) else {
            return Ok(None);
        };
        let is_told = change.old.as_ref().is_none_or(|old| old.contains(DELETED_ROOT));
        let partition = change.key.get(PARTITION).and_then(Value::as_b);
        if is_told || partition != Some(deletion_key("").partition.as_bytes()) {
            return Ok(None);
        }
        let Some(key) = entity_of(schema, root) else { return Ok(None) };
        let old = read_row(schema, &key, Some(root))?;
        let what = (key, TriggeringChange::Delete);
        Ok(Some(Event::new(schema, what, (old, None), (shard, change))))
    }

    fn new(
        schema: &Arc<Schema>,
        (key, kind): (EntityKey, TriggeringChange),
        (old, new): (Option<OwnRow>, Option<OwnRow>),
        (shard, change): (&ShardId, &Change),
    ) -> Event {
        let record = |row| Record::new(schema, schema.layouts.upgraded(row));
        Event {
            entity: schema.model().entity(key.entity).name.clone(),
            id: key.id,
            tenant: key.tenant,
            change: kind,
            old: old.map(record),
            new: new.map(record),
            position: Position::of(shard, change.seq),
            time_ms: i64::try_from(change.at.0).unwrap_or(i64::MAX),
        }
    }

    /// What is known of a change that cannot be read.
    pub(crate) fn unreadable(
        schema: &Schema,
        key: EntityKey,
        (shard, change): (&ShardId, &Change),
    ) -> Event {
        Event {
            entity: schema.model().entity(key.entity).name.clone(),
            id: key.id,
            tenant: key.tenant,
            change: TriggeringChange::Update,
            old: None,
            new: None,
            position: Position::of(shard, change.seq),
            time_ms: i64::try_from(change.at.0).unwrap_or(i64::MAX),
        }
    }

    /// Which kind of entity it is about.
    pub(crate) fn entity_id(&self, schema: &Schema) -> Option<EntityId> {
        schema.model().find(&self.entity)
    }
}

/// Whose own row has this key.
pub(crate) fn entity_of(schema: &Schema, key: &Item) -> Option<EntityKey> {
    let part = |name| key.get(name).and_then(Value::as_b);
    match schema.layouts.current.row_name(part(PARTITION)?, part(SORT)?)? {
        RowName::Own(key) => Some(key),
        RowName::Link { .. }
        | RowName::Guard { .. }
        | RowName::Posting { .. }
        | RowName::Counter(_)
        | RowName::System => None,
    }
}

fn read_row(schema: &Schema, key: &EntityKey, row: Option<&Item>) -> Result<Option<OwnRow>, Error> {
    let Some(row) = row else { return Ok(None) };
    let layout = &schema.layouts.current;
    let own = layout.read_own(row).map_err(|unreadable| {
        let entity = &layout.model().entity(key.entity).name;
        Error::damaged(format!(
            "A change of the `{entity}` `{}` cannot be read: {unreadable}.",
            key.id
        ))
    })?;
    if own.revision > layout.revision() {
        return Err(Error::ModelChanged);
    }
    Ok(Some(own))
}

fn read_image(
    schema: &Arc<Schema>,
    key: &EntityKey,
    shown: Option<&Value>,
    now_ms: i64,
) -> Result<Option<Record>, Error> {
    let Some(Value::M(shown)) = shown else { return Ok(None) };
    let mut document = shown.clone();
    document.remove("id");
    let version = match document.remove("version") {
        Some(Value::S(version)) => version,
        Some(_) | None => String::new(),
    };
    let entity = schema.model().entity(key.entity);
    let fields = entity
        .admit(&document, now_ms)
        .map_err(|errors| Error::Fields { entity: entity.name.clone(), errors })?;
    Ok(Some(Record::new(schema, Image { key: key.clone(), version, ordinal: None, fields })))
}

fn read_change(word: &str) -> Option<TriggeringChange> {
    TriggeringChange::ALL.into_iter().find(|change| change.as_str() == word)
}
