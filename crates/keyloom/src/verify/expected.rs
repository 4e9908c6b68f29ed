//! What rows are and what they imply, under the model in force or an earlier one that rows still
//! have. Touches nothing.

use keyloom_model::attribute::{OWNER, PARTITION, SORT};
use keyloom_model::{EntityId, EntityKey, Link, Matching, OwnRow, Row, RowKey, RowName};
use keyloom_store::SetName;
use keyloom_value::{Item, KeyBytes, Number, Value};

use super::Problem;
use crate::schema::Schema;

/// What is expected by a schema.
#[derive(Clone, Copy)]
pub(super) struct Expected<'a> {
    pub(super) schema: &'a Schema,
}

/// A row of a page, and what it is.
pub(super) struct PageRow<'p> {
    pub(super) item: &'p Item,
    pub(super) name: Option<RowName>,
    /// For an own row.
    pub(super) entity: Option<Result<Implying, Problem>>,
}

/// An entity, and all rows that it implies.
pub(super) struct Implying {
    pub(super) own: OwnRow,
    pub(super) rows: Vec<Row>,
}

/// The entity that a row belongs to, and the key of its own row.
pub(super) struct Owner {
    pub(super) key: EntityKey,
    pub(super) own_key: RowKey,
}

/// The target of a reference.
pub(super) struct Target<'a> {
    pub(super) link: &'a Link,
    /// The name of the referring field.
    pub(super) field: String,
    pub(super) id: String,
    pub(super) own_key: RowKey,
}

/// The number that an entity has from a sequence.
pub(super) struct Numbered {
    pub(super) number: i64,
    /// The row of the sequence.
    pub(super) sequence: RowKey,
}

/// A kind, of one tenant if it has tenants: its entities share ordinals.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Group {
    pub(super) entity: EntityId,
    pub(super) tenant: Option<Value>,
}

impl From<&EntityKey> for Group {
    fn from(key: &EntityKey) -> Group {
        Group { entity: key.entity, tenant: key.tenant.clone() }
    }
}

/// The name of a posting list that is kept as chunks, and an ordinal.
pub(super) type Membership = (Vec<u8>, u64);

impl<'a> Expected<'a> {
    pub(super) fn row<'p>(&self, item: &'p Item) -> PageRow<'p> {
        let name = self.name_of(item);
        let entity = matches!(name, Some(RowName::Own(_))).then(|| self.entity(item));
        PageRow { item, name, entity }
    }

    /// Returns what a row is; none if it is nothing that a model knows.
    pub(super) fn name_of(&self, row: &Item) -> Option<RowName> {
        let key = |name| row.get(name).and_then(Value::as_b).unwrap_or_default();
        let (partition, sort) = (key(PARTITION), key(SORT));
        let layouts = &self.schema.layouts;
        let mut formers = layouts.before.values().map(|former| &former.layout);
        let current = layouts.current.row_name(partition, sort);
        current.or_else(|| formers.find_map(|layout| layout.row_name(partition, sort)))
    }

    /// Reads an own row.
    fn entity(&self, row: &Item) -> Result<Implying, Problem> {
        let own = self.schema.layouts.current.read_own(row);
        let own = own.map_err(|reason| Problem::Unreadable { reason: reason.to_string() })?;
        let rows = self.rows_of(&own)?;
        Ok(Implying { own, rows })
    }

    /// Returns every row that an entity implies, or why it is invalid.
    pub(super) fn rows_of(&self, own: &OwnRow) -> Result<Vec<Row>, Problem> {
        let layouts = &self.schema.layouts;
        let entity = self.schema.model().entity(own.image.key.entity);
        if own.revision > layouts.current.revision() {
            let revision = own.revision;
            let reason = format!(
                "it was written under revision {revision} of the model, which is not known"
            );
            return Err(Problem::Unreadable { reason });
        }
        entity.check_fields(&layouts.upgraded(own.clone()).fields).map_err(|errors| {
            Problem::WrongFields { reasons: errors.iter().map(ToString::to_string).collect() }
        })?;
        let implied = layouts.rows_before(own);
        implied.map_err(|error| Problem::WrongFields { reasons: vec![error.to_string()] })
    }

    /// The entity that a guard, a link or a posting names.
    pub(super) fn owner_of(&self, row: &Item) -> Option<Owner> {
        let layout = &self.schema.layouts.current;
        let key = layout.entity_key(row.get(OWNER).and_then(Value::as_b)?)?;
        let own_key = layout.own_key(&key);
        Some(Owner { key, own_key })
    }

    /// The targets of an entity's references, but itself: it exists, and one read cannot name a row
    /// twice.
    pub(super) fn targets_of(self, own: &OwnRow) -> impl Iterator<Item = Target<'a>> {
        let layout = &self.schema.layouts.current;
        let image = self.schema.layouts.upgraded(own.clone());
        let links = layout.references().of(image.key.entity).iter();
        links.filter_map(move |link| {
            let entity = self.schema.model().entity(image.key.entity);
            let field = entity.fields.get(link.field.index())?.name.clone();
            let id = image.fields.get(&field).and_then(Value::as_s)?.to_owned();
            let tenant = image.key.tenant.clone().filter(|_| layout.has_tenant(link.target));
            let key = EntityKey { entity: link.target, tenant, id };
            let own_key = layout.own_key(&key);
            (key != image.key).then_some(Target { link, field, id: key.id, own_key })
        })
    }

    /// The number that an entity has from a sequence.
    pub(super) fn number_of(&self, own: &OwnRow) -> Option<Numbered> {
        let entity = self.schema.model().entity(own.image.key.entity);
        let field = entity.field(entity.sequence.as_ref()?.field);
        let layouts = &self.schema.layouts;
        let image = layouts.upgraded(own.clone());
        let number =
            image.fields.get(&field.name).and_then(Value::as_n).and_then(Number::to_i64)?;
        let sequence = layouts.current.sequence_key(&image).ok()??;
        Some(Numbered { number, sequence })
    }

    /// Whether any entity adds to counters.
    pub(super) fn has_counters(&self) -> bool {
        let layouts = &self.schema.layouts;
        let formers = layouts.before.values().map(|former| &former.layout);
        formers.chain([&layouts.current]).any(|layout| {
            layout.model().entities().any(|(entity, _)| layout.counters().has_any(entity))
        })
    }

    /// The group of the entities in a posting list; none if no model has it, or no longer.
    pub(super) fn group_of(&self, list: &SetName) -> Option<Group> {
        let layouts = &self.schema.layouts;
        let formers = layouts.before.values().map(|former| &former.layout);
        let mut kept = formers.chain([&layouts.current]);
        kept.any(|layout| layout.matching() != Matching::Rows).then_some(())?;
        let entity = layouts.current.postings().entity(list.as_bytes())?;
        if !layouts.current.has_tenant(entity) {
            return Some(Group { entity, tenant: None });
        }
        let mut parts = KeyBytes::decode(list.as_bytes()).ok()?.into_iter();
        let is_of_list = matches!(parts.next()?.as_s()?, "l" | "f");
        let tenant = Some(parts.nth(if is_of_list { 2 } else { 1 })?);
        Some(Group { entity, tenant })
    }

    /// Whether a posting list belongs to an earlier model that rows still have.
    pub(super) fn is_of_earlier_model(&self, list: &SetName) -> bool {
        let mut formers = self.schema.layouts.before.values();
        formers.any(|former| former.layout.postings().entity(list.as_bytes()).is_some())
    }

    /// Whether an entity implies that it is in a posting list that is kept as chunks.
    pub(super) fn is_in_list(&self, own: Option<&OwnRow>, list: &[u8]) -> bool {
        match own.map(|own| self.schema.layouts.chunked_before(own)) {
            None => false,
            Some(Ok(implied)) => implied.contains(list),
            // Invalid fields are a finding of their own.
            Some(Err(_)) => true,
        }
    }
}
