//! Applies an intent to an entity that was read: the result is a transition, or the reason for
//! refusing it. Pure: it uses layouts, stamps and the time, and reads nothing.

use keyloom_model::{
    DefaultValue, Entity, EntityKey, FieldError, FieldId, IdSource, Image, OwnRow, Tenancy,
};
use keyloom_value::Item;

use super::{Author, Existing, Intent, Numbering, References, Transition};
use crate::error::{Error, TenantProblem};
use crate::schema::Layouts;
use crate::stamp::Stamps;

/// The limit of an entity's fields. A row has 400 KB, and the entity's keys, its index keys in the
/// maximum number of lists and a tombstone must always fit beside the fields.
const FIELDS_BYTES_MAX: usize = 320 * 1024;

/// Applies intents to entities.
#[derive(Clone, Copy)]
pub(crate) struct Admission<'a> {
    pub(crate) layouts: &'a Layouts,
    pub(crate) stamps: &'a Stamps,
    pub(crate) now_ms: i64,
}

/// The result of applying an intent.
pub(crate) enum Decision {
    /// The entity changes.
    Change(Box<Transition>),
    /// The entity stays as it was read.
    Unchanged(Option<OwnRow>),
}

/// A document and its author; `before` are the fields that it replaces.
#[derive(Clone, Copy)]
struct Submission<'s> {
    document: &'s Item,
    before: Option<&'s Item>,
    author: Author,
}

impl Decision {
    fn change(key: &EntityKey, before: Option<OwnRow>, after: Option<Image>) -> Decision {
        Decision::Change(Transition::new(key.clone(), before, after).into())
    }

    /// The same, with a number from where it says.
    fn numbered(mut self, numbering: Numbering) -> Decision {
        if let Decision::Change(change) = &mut self {
            change.numbering = numbering;
        }
        self
    }

    /// The same, without checking lists of references.
    fn trusted(mut self) -> Decision {
        if let Decision::Change(change) = &mut self {
            change.references = References::Trusted;
        }
        self
    }
}

impl<'a> Admission<'a> {
    /// Applies an intent to an entity that was read.
    pub(crate) fn decide(
        &self,
        intent: &Intent,
        before: Option<OwnRow>,
    ) -> Result<Decision, Error> {
        let key = intent.key();
        match intent {
            Intent::Create { document, author, .. } => match before {
                Some(_) => Err(self.exists(key)),
                None => self.create(key, document, *author),
            },
            Intent::Update { patch, expected, author, .. } => {
                let before = self.at_version(key, before, expected.as_deref())?;
                let fields = self.layouts.upgraded(before.clone()).fields;
                let submission =
                    Submission { document: patch, before: Some(&fields), author: *author };
                let patched = self.patched(key, submission)?;
                self.check(key, |entity| entity.check_transitions(&fields, &patched))?;
                self.replace(before, &fields, self.touched(key, &fields, patched))
            }
            Intent::Put { document, expected, author, .. } => {
                let is_given = self.entity(key).id_source == IdSource::Given;
                if before.is_none() && is_given && expected.is_none() {
                    return self.create(key, document, *author);
                }
                let before = self.at_version(key, before, expected.as_deref())?;
                let fields = self.layouts.upgraded(before.clone()).fields;
                let submission = Submission { document, before: Some(&fields), author: *author };
                let admitted = self.with_number(key, &fields, self.admitted(key, submission)?);
                self.check(key, |entity| entity.check_transitions(&fields, &admitted))?;
                self.replace(before, &fields, self.touched(key, &fields, admitted))
            }
            Intent::Import { document, existing, .. } => {
                let decision = match before {
                    Some(before) => self.import_over(before, document, *existing),
                    None => self.import_new(key, document),
                };
                let decision = decision?.trusted();
                Ok(match self.number_field(key).is_some_and(|name| document.contains(name)) {
                    true => decision.numbered(Numbering::Given),
                    false => decision,
                })
            }
            Intent::Delete { expected, .. } => {
                let before = self.at_version(key, before, expected.as_deref())?;
                Ok(Decision::change(key, Some(before), None))
            }
            Intent::Expire { .. } => match before {
                Some(before) => Ok(Decision::change(key, Some(before), None)),
                None => Ok(Decision::Unchanged(None)),
            },
        }
    }

    /// Returns the row if it exists and has the expected version.
    pub(crate) fn at_version(
        &self,
        key: &EntityKey,
        before: Option<OwnRow>,
        expected: Option<&str>,
    ) -> Result<OwnRow, Error> {
        let before = before.ok_or_else(|| self.not_found(key))?;
        match expected {
            Some(expected) if expected != before.image.version => Err(Error::VersionMismatch {
                entity: self.entity(key).name.clone(),
                id: key.id.clone(),
                found: before.image.version,
            }),
            Some(_) | None => Ok(before),
        }
    }

    pub(crate) fn exists(&self, key: &EntityKey) -> Error {
        Error::Exists { entity: self.entity(key).name.clone(), id: key.id.clone() }
    }

    fn not_found(&self, key: &EntityKey) -> Error {
        Error::NotFound { entity: self.entity(key).name.clone(), id: key.id.clone() }
    }

    /// A new entity.
    fn create(&self, key: &EntityKey, document: &Item, author: Author) -> Result<Decision, Error> {
        let mut fields = self.admitted(key, Submission { document, before: None, author })?;
        self.check(key, |entity| entity.check_initials(&fields))?;
        if let Some(name) = self.updated_field(key) {
            fields.insert(name, DefaultValue::Now.value(self.now_ms));
        }
        self.created(key, fields)
    }

    /// A new entity with these fields.
    fn created(&self, key: &EntityKey, fields: Item) -> Result<Decision, Error> {
        let numbering = match self.number_field(key) {
            None => Numbering::Kept,
            Some(name) if fields.contains(name) => Numbering::Given,
            Some(_) => Numbering::Next,
        };
        let decision = Decision::change(key, None, Some(self.image(key, fields)?));
        Ok(decision.numbered(numbering))
    }

    /// Checks a rule of an entity. Imports are not checked: they bring states that exist already.
    fn check(
        &self,
        key: &EntityKey,
        rule: impl FnOnce(&Entity) -> Result<(), Vec<FieldError>>,
    ) -> Result<(), Error> {
        let entity = self.entity(key);
        rule(entity).map_err(|errors| Error::Fields { entity: entity.name.clone(), errors })
    }

    /// Fields with the time of their change, if they change at all. The time is that of this attempt:
    /// it follows the change that was read, even if the call began before that one.
    fn touched(&self, key: &EntityKey, old: &Item, mut new: Item) -> Item {
        let Some(name) = self.updated_field(key) else { return new };
        if let Some(then) = old.get(name) {
            new.insert(name, then.clone());
        }
        if *old != new {
            let now_ms = i64::try_from(self.stamps.clock().now().0).unwrap_or(i64::MAX);
            new.insert(name, DefaultValue::Now.value(now_ms));
        }
        new
    }

    /// A new entity with the times of its entry.
    fn import_new(&self, key: &EntityKey, document: &Item) -> Result<Decision, Error> {
        let submission = Submission { document, before: None, author: Author::Service };
        let fields = self.admitted(key, submission)?;
        self.created(key, fields)
    }

    /// Applies an imported document to an existing entity: nothing changes if the fields are the same.
    fn import_over(
        &self,
        before: OwnRow,
        document: &Item,
        existing: Existing,
    ) -> Result<Decision, Error> {
        let key = before.image.key.clone();
        let old = self.layouts.upgraded(before.clone()).fields;
        let is_dated = self.updated_field(&key).is_some_and(|name| document.contains(name));
        let mut document = document.clone();
        for field in &self.entity(&key).fields {
            // Keep the time of the first import.
            if field.default == Some(DefaultValue::Now)
                && !document.contains(&field.name)
                && let Some(then) = old.get(&field.name)
            {
                document.insert(field.name.as_str(), then.clone());
            }
        }
        let submission =
            Submission { document: &document, before: Some(&old), author: Author::Service };
        let mut fields = self.with_number(&key, &old, self.admitted(&key, submission)?);
        if !is_dated {
            fields = self.touched(&key, &old, fields);
        }
        match (self.replace(before, &old, fields)?, existing) {
            (Decision::Change(_), Existing::Keep) => Err(self.exists(&key)),
            (decision, Existing::Keep | Existing::Replace) => Ok(decision),
        }
    }

    /// Gives an entity other fields; it is unchanged if they are the same.
    fn replace(&self, before: OwnRow, old: &Item, new: Item) -> Result<Decision, Error> {
        if *old == new {
            return Ok(Decision::Unchanged(Some(before)));
        }
        let key = before.image.key.clone();
        self.check_tenant(&key, &new)?;
        let numbering = self.numbering(&key, old, &new);
        let after = self.image(&key, new)?;
        Ok(Decision::change(&key, Some(before), Some(after)).numbered(numbering))
    }

    /// How an entity that changes comes to its number: it keeps it, unless it moves to another sequence.
    fn numbering(&self, key: &EntityKey, old: &Item, new: &Item) -> Numbering {
        let entity = self.entity(key);
        let Some(sequence) = &entity.sequence else { return Numbering::Kept };
        let differs = |field: &FieldId| {
            let name = &entity.field(*field).name;
            old.get(name) != new.get(name)
        };
        match new.contains(&entity.field(sequence.field).name) {
            true if differs(&sequence.field) => Numbering::Given,
            true if !sequence.by.iter().any(differs) => Numbering::Kept,
            true | false => Numbering::Next,
        }
    }

    /// Fields of a whole document, which need not repeat the number.
    fn with_number(&self, key: &EntityKey, old: &Item, mut new: Item) -> Item {
        if let Some(name) = self.number_field(key)
            && let Some(number) = old.get(name)
            && !new.contains(name)
        {
            new.insert(name, number.clone());
        }
        new
    }

    /// Returns the checked fields of a document.
    fn admitted(&self, key: &EntityKey, submission: Submission<'_>) -> Result<Item, Error> {
        let Submission { document, before, author } = submission;
        let entity = self.entity(key);
        let document = self.with_tenant(key, document)?;
        let admitted = match author {
            Author::Service => entity.admit(&document, self.now_ms),
            Author::Client => entity.admit_client(&document, before, self.now_ms),
        };
        admitted.map_err(|errors| Error::Fields { entity: entity.name.clone(), errors })
    }

    /// Returns the checked fields of an entity after a patch.
    fn patched(&self, key: &EntityKey, submission: Submission<'_>) -> Result<Item, Error> {
        let Submission { document: patch, before, author } = submission;
        let (entity, none) = (self.entity(key), Item::default());
        let fields = before.unwrap_or(&none);
        let patched = match author {
            Author::Service => entity.admit_patch(fields, patch),
            Author::Client => entity.admit_client_patch(fields, patch),
        };
        patched.map_err(|errors| Error::Fields { entity: entity.name.clone(), errors })
    }

    /// Returns the image of an entity with these fields and a new version.
    fn image(&self, key: &EntityKey, fields: Item) -> Result<Image, Error> {
        let (bytes, bytes_max) = (fields.size(), FIELDS_BYTES_MAX);
        if bytes > bytes_max {
            let entity = self.entity(key).name.clone();
            return Err(Error::EntityTooLarge { entity, bytes, bytes_max });
        }
        Ok(Image { key: key.clone(), version: self.stamps.next()?, ordinal: None, fields })
    }

    /// Adds the tenant of the key to a document that does not name it.
    fn with_tenant(&self, key: &EntityKey, document: &Item) -> Result<Item, Error> {
        let mut document = document.clone();
        if let Some(name) = self.tenant_field(key)
            && let Some(tenant) = &key.tenant
            && !document.contains(name)
        {
            document.insert(name, tenant.clone());
        }
        self.check_tenant(key, &document)?;
        Ok(document)
    }

    /// An entity never moves to another tenant.
    fn check_tenant(&self, key: &EntityKey, fields: &Item) -> Result<(), Error> {
        let Some(name) = self.tenant_field(key) else { return Ok(()) };
        if fields.get(name) == key.tenant.as_ref() {
            return Ok(());
        }
        let entity = self.entity(key).name.clone();
        Err(Error::Tenant { entity, problem: TenantProblem::Other })
    }

    fn tenant_field(&self, key: &EntityKey) -> Option<&'a str> {
        let entity = self.entity(key);
        match entity.tenancy {
            Tenancy::Own(field) => Some(entity.field(field).name.as_str()),
            Tenancy::Shared | Tenancy::Inherited(_) => None,
        }
    }

    /// The field with the time of the last change.
    fn updated_field(&self, key: &EntityKey) -> Option<&'a str> {
        let entity = self.entity(key);
        entity.updated.map(|field| entity.field(field).name.as_str())
    }

    /// The field with the number that a sequence assigns.
    fn number_field(&self, key: &EntityKey) -> Option<&'a str> {
        let entity = self.entity(key);
        entity.sequence.as_ref().map(|sequence| entity.field(sequence.field).name.as_str())
    }

    fn entity(&self, key: &EntityKey) -> &'a Entity {
        self.layouts.current.model().entity(key.entity)
    }
}
