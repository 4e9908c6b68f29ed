//! Changing entities: one at a time, or several together.

use keyloom_model::{EntityId, IdSource, check_id};
use keyloom_value::{Item, Value};
use serde::Serialize;

use crate::Record;
use crate::answer::Answer;
use crate::db::{Db, find_entity};
use crate::document::to_item;
use crate::error::{Error, IdProblem};
use crate::events::overflow::{keys_of_deleted, removal};
use crate::schema::Schema;
use crate::write::{ACTIONS_MAX, Intent, PlannedAction, WriteRequest};

/// A change of one entity, to be made together with others by [`Db::transact`].
#[derive(Clone, Debug)]
pub struct Change {
    entity: String,
    id: Option<String>,
    kind: Kind,
    expected: Option<String>,
    author: Author,
}

/// Who makes a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Author {
    /// The program that has the database: it can set every field.
    Service,
    /// Somebody outside of it, who cannot set read-only fields.
    Client,
}

#[derive(Clone, Debug)]
enum Kind {
    Create(Item),
    Update(Item),
    Put(Item),
    Delete,
}

impl Change {
    /// A new entity. If its kind has given ids, the document has one in `id`.
    ///
    /// # Errors
    ///
    /// If the document is not made of fields with names.
    pub fn create<T: Serialize + ?Sized>(entity: &str, document: &T) -> Result<Change, Error> {
        Ok(Change::create_item(entity, item(document)?))
    }

    /// As [`Change::create`], of a document that is an item already.
    pub fn create_item(entity: &str, document: Item) -> Change {
        Change::of(entity, None, Kind::Create(document))
    }

    /// Some fields become others, as in a JSON merge patch: what is null goes, what is not named
    /// stays.
    ///
    /// # Errors
    ///
    /// As [`Change::create`].
    pub fn update<T: Serialize + ?Sized>(
        entity: &str,
        id: &str,
        patch: &T,
    ) -> Result<Change, Error> {
        Ok(Change::update_item(entity, id, item(patch)?))
    }

    /// As [`Change::update`], by a patch that is an item already.
    pub fn update_item(entity: &str, id: &str, patch: Item) -> Change {
        Change::of(entity, Some(id), Kind::Update(patch))
    }

    /// All fields become these; what is not named gets its default or goes. Where ids are given,
    /// it makes the entity if it is not there.
    ///
    /// # Errors
    ///
    /// As [`Change::create`].
    pub fn put<T: Serialize + ?Sized>(
        entity: &str,
        id: &str,
        document: &T,
    ) -> Result<Change, Error> {
        Ok(Change::put_item(entity, id, item(document)?))
    }

    /// As [`Change::put`], of a document that is an item already.
    pub fn put_item(entity: &str, id: &str, document: Item) -> Change {
        Change::of(entity, Some(id), Kind::Put(document))
    }

    /// The entity goes, and with it what its references and children say.
    pub fn delete(entity: &str, id: &str) -> Change {
        Change::of(entity, Some(id), Kind::Delete)
    }

    /// Only if the entity has this version.
    #[must_use]
    pub fn expecting(mut self, version: &str) -> Change {
        self.expected = Some(version.to_owned());
        self
    }

    /// Made for a client of the service: read-only fields keep their values. A document that gives
    /// one of them another value is refused with [`Error::Fields`]. A [`put`](Change::put) that
    /// omits them leaves them as they are.
    #[must_use]
    pub fn from_client(mut self) -> Change {
        self.author = Author::Client;
        self
    }

    pub(crate) fn entity(&self) -> &str {
        &self.entity
    }

    pub(crate) fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    pub(crate) fn expected(&self) -> Option<&str> {
        self.expected.as_deref()
    }

    pub(crate) fn is_deletion_of(&self, entity: &str) -> bool {
        matches!(self.kind, Kind::Delete) && self.entity == entity
    }

    /// What it does, and with which document.
    pub(crate) fn kind(&self) -> (&'static str, Option<&Item>) {
        match &self.kind {
            Kind::Create(document) => ("create", Some(document)),
            Kind::Update(patch) => ("update", Some(patch)),
            Kind::Put(document) => ("put", Some(document)),
            Kind::Delete => ("delete", None),
        }
    }

    /// A `version` in a document is expected of the entity.
    fn of(entity: &str, id: Option<&str>, kind: Kind) -> Change {
        let (entity, id) = (entity.to_owned(), id.map(str::to_owned));
        let mut change = Change { entity, id, kind, expected: None, author: Author::Service };
        let expected = match &mut change.kind {
            Kind::Create(document) => {
                document.remove("version");
                None
            }
            Kind::Update(document) | Kind::Put(document) => document.remove("version"),
            Kind::Delete => None,
        };
        change.expected = match expected {
            None | Some(Value::Null) => None,
            Some(Value::S(version)) => Some(version),
            // No version is anything but a text, so this one cannot match.
            Some(other) => Some(other.to_string()),
        };
        change
    }
}

fn item<T: Serialize + ?Sized>(document: &T) -> Result<Item, Error> {
    to_item(document).map_err(Error::Document)
}

impl Db {
    /// Makes an entity.
    ///
    /// # Errors
    ///
    /// If it breaks a rule of the model: [`Error::Fields`], [`Error::UniqueViolation`], [`Error::Exists`],
    /// [`Error::TargetGone`].
    pub async fn create<T: Serialize + ?Sized>(
        &self,
        entity: &str,
        document: &T,
    ) -> Result<Record, Error> {
        self.change(Change::create(entity, document)?).await
    }

    /// Changes some fields, as a JSON merge patch: what is null goes, what is not named stays.
    /// Nothing happens if nothing changes.
    ///
    /// # Errors
    ///
    /// As [`Db::create`]; [`Error::NotFound`]; and [`Error::VersionMismatch`] if the patch names
    /// another `version` than the entity has.
    pub async fn update<T: Serialize + ?Sized>(
        &self,
        entity: &str,
        id: &str,
        patch: &T,
    ) -> Result<Record, Error> {
        self.change(Change::update(entity, id, patch)?).await
    }

    /// Replaces all fields. Where ids are given, it makes the entity if it is not there.
    ///
    /// # Errors
    ///
    /// As [`Db::update`].
    pub async fn put<T: Serialize + ?Sized>(
        &self,
        entity: &str,
        id: &str,
        document: &T,
    ) -> Result<Record, Error> {
        self.change(Change::put(entity, id, document)?).await
    }

    /// Deletes an entity, and with it what its references and children say. However much that is,
    /// readers see all of it or nothing of it.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`]; [`Error::InUse`] if a reference refuses it.
    pub fn delete<'a>(&'a self, entity: &'a str, id: &'a str) -> Answer<'a, ()> {
        Box::pin(async move { self.transact(vec![Change::delete(entity, id)]).await.map(|_| ()) })
    }

    async fn change(&self, change: Change) -> Result<Record, Error> {
        let mut records = self.transact(vec![change]).await?;
        records.pop().flatten().ok_or(Error::Contended)
    }

    /// Makes several changes together or not at all. Answers for each change what the entity is
    /// afterwards; none if it is deleted.
    ///
    /// # Errors
    ///
    /// As the single changes; [`Error::TooLarge`] if they do not fit into one transaction.
    pub fn transact(&self, changes: Vec<Change>) -> Answer<'_, Vec<Option<Record>>> {
        Box::pin(async move { self.transact_with(changes, vec![]).await })
    }

    /// As [`Db::transact`], with rows that are written together with the changes. If one of them
    /// is not as its condition says, that is [`Error::Contended`].
    pub(crate) async fn transact_with(
        &self,
        changes: Vec<Change>,
        mut piggybacked: Vec<PlannedAction>,
    ) -> Result<Vec<Option<Record>>, Error> {
        let orphans = keys_of_deleted(self, &changes).await?;
        piggybacked.extend(orphans.into_iter().map(|key| removal(&self.shared.table, key)));
        let schema = self.shared.schema();
        let intents = self.intents(&schema, changes)?;
        let request = WriteRequest { intents, piggybacked, ..WriteRequest::default() };
        let executed = self.shared.executor(&schema).execute(&request).await?;
        Ok(Record::all(&schema, executed.into_iter().map(|done| done.after).collect()))
    }

    pub(crate) fn intents(
        &self,
        schema: &Schema,
        changes: Vec<Change>,
    ) -> Result<Vec<Intent>, Error> {
        let (rows, rows_max) = (changes.len(), ACTIONS_MAX);
        if rows > rows_max {
            return Err(Error::TooLarge { rows, rows_max });
        }
        changes.into_iter().map(|change| self.intent(schema, change)).collect()
    }

    fn intent(&self, schema: &Schema, change: Change) -> Result<Intent, Error> {
        let (entity, _) = find_entity(schema, &change.entity)?;
        let Change { id, kind, expected, author, .. } = change;
        match (kind, id) {
            (Kind::Create(mut document), id) => {
                let id = id.map_or_else(|| self.new_id(schema, entity, &mut document), Ok)?;
                Ok(Intent::Create { key: self.key(schema, entity, id)?, document, author })
            }
            (Kind::Update(mut patch), Some(id)) => {
                same_id(schema, entity, &id, &mut patch)?;
                Ok(Intent::Update { key: self.key(schema, entity, id)?, patch, expected, author })
            }
            (Kind::Put(mut document), Some(id)) => {
                same_id(schema, entity, &id, &mut document)?;
                given_id(schema, entity, &id)?;
                Ok(Intent::Put { key: self.key(schema, entity, id)?, document, expected, author })
            }
            (Kind::Delete, Some(id)) => {
                Ok(Intent::Delete { key: self.key(schema, entity, id)?, expected })
            }
            (Kind::Update(_) | Kind::Put(_) | Kind::Delete, None) => {
                Err(id_problem(schema, entity, IdProblem::Missing))
            }
        }
    }

    /// The id of a new entity: made, or taken from its document.
    fn new_id(
        &self,
        schema: &Schema,
        entity: EntityId,
        document: &mut Item,
    ) -> Result<String, Error> {
        let given = document.remove("id");
        match (schema.model().entity(entity).id_source, given) {
            (IdSource::Given, Some(Value::S(id))) => {
                given_id(schema, entity, &id)?;
                Ok(id)
            }
            (IdSource::Given, _) => Err(id_problem(schema, entity, IdProblem::Missing)),
            (IdSource::Generated, None | Some(Value::Null)) => self.shared.stamps.next(),
            (IdSource::Generated, Some(_)) => Err(id_problem(schema, entity, IdProblem::Given)),
        }
    }
}

fn given_id(schema: &Schema, entity: EntityId, id: &str) -> Result<(), Error> {
    let entity = &schema.model().entity(entity).name;
    check_id(id).map_err(|error| Error::Fields { entity: entity.clone(), errors: vec![error] })
}

/// A document may repeat the id that it is for, and no other.
fn same_id(schema: &Schema, entity: EntityId, id: &str, document: &mut Item) -> Result<(), Error> {
    match document.remove("id") {
        None => Ok(()),
        Some(Value::S(other)) if other == id => Ok(()),
        Some(_) => Err(id_problem(schema, entity, IdProblem::Other)),
    }
}

fn id_problem(schema: &Schema, entity: EntityId, problem: IdProblem) -> Error {
    Error::Id { entity: schema.model().entity(entity).name.clone(), problem }
}
