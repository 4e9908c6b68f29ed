//! Events: one change of one entity, with the entity before and after, read from a row change.

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

/// An entity was created, updated or deleted, whatever caused it: a request, a cascade, or expiry.
///
/// [`Db::events`](crate::Db::events) and [`Handlers`](super::Handlers) have examples.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Event {
    /// The name of the entity's kind.
    pub entity: String,
    /// Its name in keys, which stays when it is renamed.
    pub(crate) stored: String,
    /// Its id.
    pub id: String,
    /// Its tenant, if it has one.
    pub tenant: Option<Value>,
    /// How it changed.
    pub change: TriggeringChange,
    /// The entity before; none if it was created.
    pub old: Option<Record>,
    /// The entity after; none if it was deleted.
    pub new: Option<Record>,
    /// Its position in the feed: reading continues after it.
    pub position: Position,
    /// When it happened, in milliseconds since 1970.
    pub time_ms: i64,
}

/// A row change and the shard of the feed that it is in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FeedChange<'c> {
    pub(crate) shard: &'c ShardId,
    pub(crate) change: &'c Change,
}

/// What a row change did to an entity.
pub(crate) struct RowsChange {
    key: EntityKey,
    kind: TriggeringChange,
    pub(crate) old: Option<OwnRow>,
    pub(crate) new: Option<OwnRow>,
}

impl Event {
    /// Returns the event as JSON, the form that webhooks, streams and retried events share.
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

    /// Parses what [`Event::to_json`] wrote, under the current model.
    pub(crate) fn from_json(schema: &Arc<Schema>, json: &str) -> Result<Event, Error> {
        let unreadable = || Error::damaged("An event that is stored as JSON cannot be read.");
        let item = own_json_to_item(json).map_err(Error::Document)?;
        let text = |name| item.get(name).and_then(Value::as_s).ok_or_else(unreadable);
        let model = schema.model();
        let entity = model.find_formerly(text("entity")?).ok_or_else(unreadable)?;
        let key = EntityKey {
            entity,
            tenant: item.get("tenant").filter(|tenant| **tenant != Value::Null).cloned(),
            id: text("id")?.to_owned(),
        };
        let time = item.get("time").map(|time| FieldType::Time.to_stored(time));
        let time_ms = time.and_then(|time| time.as_n().and_then(|time| time.to_i64()));
        let image = |name| read_image(schema, &key, item.get(name), time_ms.unwrap_or_default());
        Ok(Event {
            entity: model.entity(entity).name.clone(),
            stored: model.entity(entity).stored.clone(),
            id: key.id.clone(),
            tenant: key.tenant.clone(),
            change: read_change(text("change")?).ok_or_else(unreadable)?,
            old: image("old")?,
            new: image("new")?,
            position: text("position")?.parse()?,
            time_ms: time_ms.ok_or_else(unreadable)?,
        })
    }

    /// Converts a row change to an event. Returns none if the row is not an entity's own, or if the
    /// entity is unchanged: a deletion has marked it, or a backfill has rewritten it.
    ///
    /// # Errors
    ///
    /// If the row cannot be read, or was written under a model that is not this one.
    pub(crate) fn of(schema: &Arc<Schema>, at: FeedChange<'_>) -> Result<Option<Event>, Error> {
        Ok(RowsChange::of(schema, at)?.map(|change| Event::new(schema, at, change)))
    }

    /// Converts a row change to an event that readers of the feed see: of any tenant, and not of a job.
    /// Reading continues after it at the position, which moves past it.
    pub(crate) fn in_feed(
        schema: &Arc<Schema>,
        at: FeedChange<'_>,
        position: &mut Position,
    ) -> Result<Option<Event>, Error> {
        let Some(mut event) = Event::of(schema, at)? else { return Ok(None) };
        if event.entity_id(schema) == schema.model().jobs() {
            return Ok(None);
        }
        position.0.insert(at.shard.clone(), at.change.seq);
        event.position = position.clone();
        Ok(Some(event))
    }

    /// Whether the database of a tenant, or of all, has the entity.
    pub(crate) fn is_seen_by(&self, tenant: Option<&Value>) -> bool {
        match (tenant, &self.tenant) {
            (None, _) | (_, None) => true,
            (Some(tenant), Some(of)) => tenant == of,
        }
    }

    /// Returns what is known of a change that cannot be read.
    pub(crate) fn unreadable(schema: &Arc<Schema>, at: FeedChange<'_>, key: EntityKey) -> Event {
        let kind = TriggeringChange::Update;
        Event::new(schema, at, RowsChange { key, kind, old: None, new: None })
    }

    fn new(schema: &Arc<Schema>, at: FeedChange<'_>, change: RowsChange) -> Event {
        let record = |row| Record::new(schema, schema.layouts.upgraded(row));
        let entity = schema.model().entity(change.key.entity);
        Event {
            entity: entity.name.clone(),
            stored: entity.stored.clone(),
            id: change.key.id,
            tenant: change.key.tenant,
            change: change.kind,
            old: change.old.map(record),
            new: change.new.map(record),
            position: Position::of(at.shard, at.change.seq),
            time_ms: i64::try_from(at.change.at.0).unwrap_or(i64::MAX),
        }
    }

    /// The kind of its entity.
    pub(crate) fn entity_id(&self, schema: &Schema) -> Option<EntityId> {
        schema.model().find(&self.entity)
    }
}

impl RowsChange {
    /// What a row change did to an entity; none as for [`Event::of`].
    pub(crate) fn of(schema: &Schema, at: FeedChange<'_>) -> Result<Option<RowsChange>, Error> {
        let Some(key) = entity_of(schema, &at.change.key) else {
            return RowsChange::of_deletion(schema, at);
        };
        let old = read_row(schema, &key, at.change.old.as_ref())?;
        let new = read_row(schema, &key, at.change.new.as_ref())?;
        let kind = match (&old, &new) {
            (None, None) => return Ok(None),
            (Some(old), Some(new)) if old.image.version == new.image.version => return Ok(None),
            (None, Some(_)) => TriggeringChange::Insert,
            (Some(_), Some(_)) => TriggeringChange::Update,
            // The deletion itself was its event.
            (Some(old), None) if old.pending.is_root() => return Ok(None),
            (Some(_), None) => TriggeringChange::Delete,
        };
        Ok(Some(RowsChange { key, kind, old, new }))
    }

    /// The deletion of an entity, as the record of a large deletion says that it was requested. What goes
    /// with it follows as rows are removed.
    fn of_deletion(schema: &Schema, at: FeedChange<'_>) -> Result<Option<RowsChange>, Error> {
        let change = at.change;
        let Some(Value::M(root)) = change.new.as_ref().and_then(|new| new.get(DELETED_ROOT)) else {
            return Ok(None);
        };
        let is_repeated = change.old.as_ref().is_none_or(|old| old.contains(DELETED_ROOT));
        let partition = change.key.get(PARTITION).and_then(Value::as_b);
        if is_repeated || partition != Some(deletion_key("").partition.as_bytes()) {
            return Ok(None);
        }
        let Some(key) = entity_of(schema, root) else { return Ok(None) };
        let old = read_row(schema, &key, Some(root))?;
        let kind = TriggeringChange::Delete;
        Ok(Some(RowsChange { key, kind, old, new: None }))
    }
}

/// Returns what the row with this key is.
pub(crate) fn row_name(schema: &Schema, key: &Item) -> Option<RowName> {
    let part = |name| key.get(name).and_then(Value::as_b);
    schema.layouts.current.row_name(part(PARTITION)?, part(SORT)?)
}

/// Returns the entity whose own row has this key.
pub(crate) fn entity_of(schema: &Schema, key: &Item) -> Option<EntityKey> {
    match row_name(schema, key)? {
        RowName::Own(key) => Some(key),
        RowName::Link { .. }
        | RowName::Guard { .. }
        | RowName::Presence { .. }
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
