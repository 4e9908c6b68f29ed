//! Changes of one entity that know what they return.

use std::fmt;
use std::marker::PhantomData;

use keyloom::{Change as Untyped, Record};

use crate::{Document, Entity, Error, Id, Patch, Reference, Version};

/// A change of one entity of the kind `E`, for a transaction. `K` is [`Creation`], [`Edit`] or [`Deletion`].
#[must_use]
pub struct Change<E, K> {
    change: Untyped,
    of: PhantomData<fn() -> (E, K)>,
}

/// The kind of changes that create an entity.
#[derive(Clone, Copy, Debug)]
pub enum Creation {}

/// The kind of changes that change an entity.
#[derive(Clone, Copy, Debug)]
pub enum Edit {}

/// The kind of changes that delete an entity.
#[derive(Clone, Copy, Debug)]
pub enum Deletion {}

/// A kind of changes; [`Creation`], [`Edit`] and [`Deletion`] are all.
pub trait Kind: sealed::Sealed + Send + Sync + 'static {
    /// What a change of this kind returns.
    type Output<E: Entity>: Send + 'static;

    /// Reads what the database returns.
    ///
    /// # Errors
    ///
    /// If a value does not fit.
    fn read<E: Entity>(record: Option<&Record>) -> Result<Self::Output<E>, Error>;
}

/// A kind of changes of entities that exist.
pub trait Existing: Kind {}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Creation {}
    impl Sealed for super::Edit {}
    impl Sealed for super::Deletion {}
}

impl Kind for Creation {
    type Output<E: Entity> = E;

    fn read<E: Entity>(record: Option<&Record>) -> Result<E, Error> {
        stored(record)
    }
}

impl Kind for Edit {
    type Output<E: Entity> = E;

    fn read<E: Entity>(record: Option<&Record>) -> Result<E, Error> {
        stored(record)
    }
}

impl Kind for Deletion {
    type Output<E: Entity> = ();

    fn read<E: Entity>(_: Option<&Record>) -> Result<(), Error> {
        Ok(())
    }
}

impl Existing for Edit {}
impl Existing for Deletion {}

/// A change that is no deletion returns the entity.
fn stored<E: Entity>(record: Option<&Record>) -> Result<E, Error> {
    let record = record.ok_or(keyloom::Error::Contended)?;
    Ok(E::from_record(record)?)
}

impl<E: Entity> Change<E, Creation> {
    /// Creates an entity.
    pub fn create(document: Document) -> Change<E, Creation> {
        Change::new(Untyped::create_item(E::NAME, document.into_item()))
    }

    /// Names the entity that is created, and returns what references of later changes in the same
    /// transaction can be set to: its id is generated only then.
    pub fn named(self, name: &str) -> (Change<E, Creation>, Reference<E>) {
        (Change::new(self.change.named(name)), Reference::Named(name.to_owned()))
    }
}

impl<E: Entity> Change<E, Edit> {
    /// Changes some fields.
    pub fn patch(id: &Id<E>, patch: Patch) -> Change<E, Edit> {
        Change::new(Untyped::update_item(E::NAME, id.as_str(), patch.into_item()))
    }

    /// Replaces all fields. Where callers choose ids, it creates the entity if it does not exist.
    pub fn replace(id: &Id<E>, document: Document) -> Change<E, Edit> {
        Change::new(Untyped::put_item(E::NAME, id.as_str(), document.into_item()))
    }
}

impl<E: Entity> Change<E, Deletion> {
    /// Deletes an entity, and applies the deletion rules of references and children.
    pub fn delete(id: &Id<E>) -> Change<E, Deletion> {
        Change::new(Untyped::delete(E::NAME, id.as_str()))
    }
}

impl<E: Entity, K: Existing> Change<E, K> {
    /// Makes the change only if the entity has this version.
    pub fn if_version(self, version: &Version) -> Change<E, K> {
        Change::new(self.change.expecting(version.as_str()))
    }
}

impl<E: Entity, K: Kind> Change<E, K> {
    /// Makes the change for a client of the program: read-only fields keep their values.
    pub fn from_client(self) -> Change<E, K> {
        Change::new(self.change.from_client())
    }

    /// The change without types.
    pub fn into_untyped(self) -> Untyped {
        self.change
    }

    fn new(change: Untyped) -> Change<E, K> {
        Change { change, of: PhantomData }
    }
}

// Derived, these would require the same of the entity.

impl<E, K> Clone for Change<E, K> {
    fn clone(&self) -> Change<E, K> {
        Change { change: self.change.clone(), of: PhantomData }
    }
}

impl<E, K> fmt::Debug for Change<E, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.change.fmt(f)
    }
}
