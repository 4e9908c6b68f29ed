//! The state of one entity, and how its own row stores it.

use keyloom_value::{Item, Name, Number, Value};

use super::attribute::{DELETION, ORDINAL, PARTITION, PENDING, REVISION, SORT, VERSION};
use super::{EntityKey, Layout, Pending, RowName};
use crate::model::{FieldId, FieldOrigin, Literal, Test};

/// The state of one entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Which entity.
    pub key: EntityKey,
    /// Changes on every write.
    pub version: String,
    /// Its ordinal among those of its kind and tenant, in order of creation. It never changes. Only
    /// kinds with tags or facets have ordinals.
    pub ordinal: Option<u64>,
    /// Its fields except `id`, each of its declared type.
    pub fields: Item,
}

/// The content of an entity's own row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnRow {
    /// The state of the entity.
    pub image: Image,
    /// The revision of the model it was written under.
    pub revision: u32,
    /// The deletion that is about to take it, if any.
    pub deletion: Option<String>,
    /// What deletions that are too large for one transaction are about to take from it.
    pub pending: Pending,
    /// Values of fields that the model no longer has, by their names in rows. They are part of what the
    /// entity implied under the revision it was written under.
    pub retired: Item,
}

/// The content of a row does not match its key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its attribute `{attribute}` is missing or of a wrong type")]
pub struct Unreadable {
    /// The attribute that is missing or of a wrong type.
    pub attribute: &'static str,
}

impl Image {
    /// The value of a field; `id` is one.
    pub(crate) fn value(&self, layout: &Layout, field: FieldId) -> Option<Value> {
        let field = layout.model().entity(self.key.entity).field(field);
        match field.origin {
            FieldOrigin::Id => Some(Value::from(self.key.id.as_str())),
            FieldOrigin::Parent | FieldOrigin::Declared => self.fields.get(&field.name).cloned(),
        }
    }

    /// The values of some fields, if the entity has all of them and passes the tests.
    pub(super) fn values_if(
        &self,
        layout: &Layout,
        tests: &[Test],
        fields: &[FieldId],
    ) -> Option<Vec<Value>> {
        let value = |field: &FieldId| self.value(layout, *field);
        let passes = tests.iter().all(|test| passes(test, value(&test.field).as_ref()));
        passes.then(|| fields.iter().map(value).collect())?
    }
}

impl Layout {
    /// Reads an entity's own row. The fields are not validated.
    ///
    /// # Errors
    ///
    /// If it is no such row.
    pub fn read_own(&self, row: &Item) -> Result<OwnRow, Unreadable> {
        Ok(self.own(self.read_own_head(row)?, fields(row)))
    }

    /// Like [`Layout::read_own`], but consumes the row instead of copying its fields.
    ///
    /// # Errors
    ///
    /// If it is not an own row; returns the row.
    pub fn take_own(&self, row: Item) -> Result<OwnRow, Box<(Item, Unreadable)>> {
        match self.read_own_head(&row) {
            Ok(head) => Ok(self.own(head, into_fields(row))),
            Err(reason) => Err(Box::new((row, reason))),
        }
    }

    fn read_own_head(&self, row: &Item) -> Result<Head, Unreadable> {
        match self.name_of(row)? {
            RowName::Own(key) => Head::read(key, row),
            RowName::Link { .. }
            | RowName::Guard { .. }
            | RowName::Presence { .. }
            | RowName::Posting { .. }
            | RowName::Counter(_)
            | RowName::System => Err(Unreadable { attribute: SORT }),
        }
    }

    /// Reads the copy of a child in the partition of its parent, as if it were the child's own row.
    ///
    /// # Errors
    ///
    /// If it is no such row.
    pub fn read_child(&self, row: &Item) -> Result<OwnRow, Unreadable> {
        match self.name_of(row)? {
            RowName::Link { owner, .. } => Ok(self.own(Head::read(owner, row)?, fields(row))),
            RowName::Own(_)
            | RowName::Guard { .. }
            | RowName::Presence { .. }
            | RowName::Posting { .. }
            | RowName::Counter(_)
            | RowName::System => Err(Unreadable { attribute: SORT }),
        }
    }

    fn own(&self, head: Head, attributes: Item) -> OwnRow {
        let Head { key, version, ordinal, revision, deletion, pending } = head;
        let (mut fields, mut retired) = (attributes, Item::new());
        if let Some(names) = &self.layout_of(key.entity).names_in_rows {
            let attributes = std::mem::take(&mut fields);
            for (stored, value) in attributes {
                match names.get(&stored) {
                    Some(name) => fields.insert(name.clone(), value),
                    None => retired.insert(stored, value),
                };
            }
        }
        let image = Image { key, version, ordinal, fields };
        OwnRow { image, revision, deletion, pending, retired }
    }

    /// The fields of an entity as attributes of its rows.
    pub(super) fn attributes<'i>(
        &self,
        image: &'i Image,
    ) -> impl Iterator<Item = (Name, &'i Value)> {
        let entity = self.model().entity(image.key.entity);
        let has_other_names = self.layout_of(image.key.entity).names_in_rows.is_some();
        let stored = move |name: &Name| {
            let field = entity.find_field(name.as_str()).filter(|_| has_other_names);
            field.map_or_else(|| name.clone(), |id| Name::from(&entity.field(id).stored))
        };
        image.fields.iter().map(move |(name, value)| (stored(name), value))
    }

    fn name_of(&self, row: &Item) -> Result<RowName, Unreadable> {
        let key =
            |attribute| row.get(attribute).and_then(Value::as_b).ok_or(Unreadable { attribute });
        let name = self.row_name(key(PARTITION)?, key(SORT)?);
        name.ok_or(Unreadable { attribute: PARTITION })
    }
}

/// An own row without its fields.
struct Head {
    key: EntityKey,
    version: String,
    ordinal: Option<u64>,
    revision: u32,
    deletion: Option<String>,
    pending: Pending,
}

impl Head {
    fn read(key: EntityKey, row: &Item) -> Result<Head, Unreadable> {
        let wrong = |attribute| Unreadable { attribute };
        let version = row.get(VERSION).and_then(Value::as_s).ok_or(wrong(VERSION))?.to_owned();
        let revision = row.get(REVISION).and_then(Value::as_n).and_then(Number::to_i64);
        let revision = revision.and_then(|n| u32::try_from(n).ok()).ok_or(wrong(REVISION))?;
        let deletion = match row.get(DELETION) {
            None => None,
            Some(Value::S(task)) => Some(task.clone()),
            Some(_) => return Err(wrong(DELETION)),
        };
        let ordinal = match row.get(ORDINAL) {
            None => None,
            Some(ordinal) => {
                let ordinal = ordinal.as_n().and_then(Number::to_i64);
                Some(ordinal.and_then(|n| u64::try_from(n).ok()).ok_or(wrong(ORDINAL))?)
            }
        };
        let pending = Pending::read(row.get(PENDING)).ok_or(wrong(PENDING))?;
        Ok(Head { key, version, ordinal, revision, deletion, pending })
    }
}

/// Attributes that begin with a lower-case letter are fields.
fn is_field(name: &Name) -> bool {
    name.as_str().starts_with(|first: char| first.is_ascii_lowercase())
}

fn fields(row: &Item) -> Item {
    let fields = row.iter().filter(|(name, _)| is_field(name));
    fields.map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn into_fields(row: Item) -> Item {
    row.into_iter().filter(|(name, _)| is_field(name)).collect()
}

fn passes(test: &Test, value: Option<&Value>) -> bool {
    match (&test.value, value) {
        (Literal::Text(expected), Some(Value::S(text))) => expected == text,
        (Literal::Int(expected) | Literal::Time(expected), Some(Value::N(number))) => {
            number.to_i64() == Some(*expected)
        }
        (Literal::Number(expected), Some(Value::N(number))) => expected == number,
        (Literal::Bool(expected), Some(Value::Bool(truth))) => expected == truth,
        (
            Literal::Text(_)
            | Literal::Int(_)
            | Literal::Number(_)
            | Literal::Bool(_)
            | Literal::Time(_)
            | Literal::EmptyList
            | Literal::EmptyMap,
            _,
        ) => false,
    }
}
