//! What a caller wants of one entity, and the transition that makes it so.

use keyloom_model::{DefaultValue, EntityKey, IdSource, Image, OwnRow};
use keyloom_value::Item;

use super::{References, Transition, WriteContext};
use crate::change::Author;
use crate::error::Error;
use crate::import::Existing;

/// As many bytes as the fields of an entity can have: a row has 400 KB, and its keys, its places in
/// as many lists as there can be and the mark of a deletion must always fit beside them.
const FIELDS_BYTES_MAX: usize = 320 * 1024;

/// What a caller wants of one entity.
#[derive(Clone, Debug)]
pub(crate) enum Intent {
    /// A new one.
    Create { key: EntityKey, document: Item, author: Author },
    /// Some fields become others.
    Update { key: EntityKey, patch: Item, expected: Option<String>, author: Author },
    /// All fields become these.
    Put { key: EntityKey, document: Item, expected: Option<String>, author: Author },
    /// It is there with these fields, whoever makes its ids.
    Import { key: EntityKey, document: Item, existing: Existing },
    /// It goes.
    Delete { key: EntityKey, expected: Option<String> },
    /// It goes, because its time has come.
    Expire { key: EntityKey },
}

/// What becomes of an entity.
pub(crate) enum Decision {
    /// It becomes another.
    Changes(Box<Transition>),
    /// It stays as it was read.
    Stays(Option<OwnRow>),
}

impl Decision {
    /// The same, with lists of references as they are.
    fn trusted(self) -> Decision {
        match self {
            Decision::Changes(change) => Decision::Changes(Box::new(Transition {
                references: References::Trusted,
                ..*change
            })),
            Decision::Stays(row) => Decision::Stays(row),
        }
    }
}

impl Intent {
    pub(crate) fn key(&self) -> &EntityKey {
        match self {
            Intent::Create { key, .. }
            | Intent::Update { key, .. }
            | Intent::Put { key, .. }
            | Intent::Import { key, .. }
            | Intent::Delete { key, .. }
            | Intent::Expire { key } => key,
        }
    }
}

impl WriteContext<'_> {
    /// What an intent means for an entity that is as it was read.
    pub(crate) fn decide(
        &self,
        intent: &Intent,
        before: Option<OwnRow>,
    ) -> Result<Decision, Error> {
        let key = intent.key();
        let changes = |before, after| {
            Ok(Decision::Changes(Transition::new(key.clone(), before, after).into()))
        };
        match intent {
            Intent::Create { document, author, .. } => match before {
                Some(_) => Err(self.exists(key)),
                None => changes(None, Some(self.created(key, document, *author)?)),
            },
            Intent::Update { patch, expected, author, .. } => {
                let before = self.at_version(key, before, expected.as_deref())?;
                let fields = self.layouts.upgraded(before.clone()).fields;
                let patched = self.admit_patch(key, (&fields, patch), *author)?;
                self.replacement(before, (&fields, patched))
            }
            Intent::Put { document, expected, author, .. } => {
                let is_given = self.entity(key).id_source == IdSource::Given;
                if before.is_none() && is_given && expected.is_none() {
                    return changes(None, Some(self.created(key, document, *author)?));
                }
                let before = self.at_version(key, before, expected.as_deref())?;
                let fields = self.layouts.upgraded(before.clone()).fields;
                let admitted = self.admit(key, (document, Some(&fields)), *author)?;
                self.replacement(before, (&fields, admitted))
            }
            Intent::Import { document, existing, .. } => {
                let turn = match before {
                    Some(before) => self.import_over(before, document, *existing),
                    None => changes(None, Some(self.created(key, document, Author::Service)?)),
                };
                turn.map(Decision::trusted)
            }
            Intent::Delete { expected, .. } => {
                changes(Some(self.at_version(key, before, expected.as_deref())?), None)
            }
            Intent::Expire { .. } => match before {
                Some(before) if self.is_expired(&before) => changes(Some(before), None),
                before => Ok(Decision::Stays(before)),
            },
        }
    }

    /// What an imported document means for an entity that is there: nothing if it says the same.
    fn import_over(
        &self,
        before: OwnRow,
        document: &Item,
        existing: Existing,
    ) -> Result<Decision, Error> {
        let key = before.image.key.clone();
        let old = self.layouts.upgraded(before.clone()).fields;
        let mut document = document.clone();
        for field in &self.entity(&key).fields {
            // The moment of the first import, not that of this one.
            if field.default == Some(DefaultValue::Now)
                && !document.contains(&field.name)
                && let Some(then) = old.get(&field.name)
            {
                document.insert(field.name.as_str(), then.clone());
            }
        }
        let fields = self.admit(&key, (&document, Some(&old)), Author::Service)?;
        match (self.replacement(before, (&old, fields))?, existing) {
            (Decision::Changes(_), Existing::Keep) => Err(self.exists(&key)),
            (turn, Existing::Keep | Existing::Replace) => Ok(turn),
        }
    }

    /// The same entity with other fields, or as it is if they are the same.
    fn replacement(&self, before: OwnRow, (old, new): (&Item, Item)) -> Result<Decision, Error> {
        if *old == new {
            return Ok(Decision::Stays(Some(before)));
        }
        let key = before.image.key.clone();
        self.same_tenant(&key, &new)?;
        let after = self.wanted(&key, new)?;
        Ok(Decision::Changes(Transition::new(key, Some(before), Some(after)).into()))
    }

    /// The row, if it is there and has the expected version.
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

    /// The image of a new entity.
    fn created(&self, key: &EntityKey, document: &Item, author: Author) -> Result<Image, Error> {
        self.wanted(key, self.admit(key, (document, None), author)?)
    }

    /// The fields of a document, which may replace those of an entity that is there.
    fn admit(
        &self,
        key: &EntityKey,
        (document, before): (&Item, Option<&Item>),
        author: Author,
    ) -> Result<Item, Error> {
        let entity = self.entity(key);
        let document = self.with_tenant(key, document)?;
        let admitted = match author {
            Author::Service => entity.admit(&document, self.now_ms),
            Author::Client => entity.admit_client(&document, before, self.now_ms),
        };
        admitted.map_err(|errors| Error::Fields { entity: entity.name.clone(), errors })
    }

    fn admit_patch(
        &self,
        key: &EntityKey,
        (fields, patch): (&Item, &Item),
        author: Author,
    ) -> Result<Item, Error> {
        let entity = self.entity(key);
        let admitted = match author {
            Author::Service => entity.admit_patch(fields, patch),
            Author::Client => entity.admit_client_patch(fields, patch),
        };
        admitted.map_err(|errors| Error::Fields { entity: entity.name.clone(), errors })
    }

    /// What a caller wants to have kept, with a version of its own.
    fn wanted(&self, key: &EntityKey, fields: Item) -> Result<Image, Error> {
        let bytes = fields.size();
        if bytes > FIELDS_BYTES_MAX {
            let entity = self.entity(key).name.clone();
            return Err(Error::EntityTooLarge { entity, bytes, bytes_max: FIELDS_BYTES_MAX });
        }
        self.image(key, fields)
    }

    /// An image with a version of its own.
    pub(crate) fn image(&self, key: &EntityKey, fields: Item) -> Result<Image, Error> {
        Ok(Image { key: key.clone(), version: self.stamp()?, number: None, fields })
    }

    fn not_found(&self, key: &EntityKey) -> Error {
        Error::NotFound { entity: self.entity(key).name.clone(), id: key.id.clone() }
    }

    pub(crate) fn exists(&self, key: &EntityKey) -> Error {
        Error::Exists { entity: self.entity(key).name.clone(), id: key.id.clone() }
    }
}
