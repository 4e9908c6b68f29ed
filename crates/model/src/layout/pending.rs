//! What deletions that are too large for one transaction are about to take from an entity. The
//! entity's own row records it, and it implies rows as the entity itself does: they tell readers
//! what to leave out from the moment the deletion takes effect.
//!
//! ```text
//! "p", entity, [tenant], deletion and field   a posting list: entities that go, or lose the field
//! key of a counter, deletions                 how much of it they take
//! "w", entity, board, [tenant], by            value, deletions: how much of a score they take
//! key of a leaderboard entry, deletions       which entries they take, in its index
//! ```

use std::collections::{BTreeMap, BTreeSet};

use keyloom_value::Value;

use super::{Image, KeyTooLong};
use crate::model::Entity;

/// Stands for the entity itself. Names of fields are in lower case.
pub(super) const ENTITY: &str = "E";
/// Marks the entity whose deletion was requested.
const ROOT: &str = "R";

/// The longest name of a deletion.
pub(super) const DELETION_BYTES_MAX: usize = 26;

/// What deletions are about to take from an entity: the entity itself, or references to deleted
/// entities. Fields have their names in rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pending(BTreeMap<String, String>);

impl Pending {
    /// Nothing.
    pub const NONE: Pending = Pending(BTreeMap::new());

    /// Whether no deletion takes anything.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a deletion that takes the entity.
    #[must_use]
    pub fn with_entity(mut self, deletion: &str) -> Pending {
        self.0.insert(ENTITY.to_owned(), deletion.to_owned());
        self
    }

    /// Adds a deletion of the entity that was requested itself.
    #[must_use]
    pub fn with_root(mut self, deletion: &str) -> Pending {
        self.0.insert(ROOT.to_owned(), deletion.to_owned());
        self.with_entity(deletion)
    }

    /// Adds a deletion that clears a field.
    #[must_use]
    pub fn with_field(mut self, field: &str, deletion: &str) -> Pending {
        self.0.insert(field.to_owned(), deletion.to_owned());
        self
    }

    /// Removes what a deletion takes.
    #[must_use]
    pub fn without(mut self, deletion: &str) -> Pending {
        self.0.retain(|_, by| by != deletion);
        self
    }

    /// Keeps only the fields that pass a test.
    #[must_use]
    pub fn fields_if(mut self, mut test: impl FnMut(&str, &str) -> bool) -> Pending {
        self.0.retain(|field, by| is_entity(field) || test(field, by));
        self
    }

    /// Keeps only the fields.
    #[must_use]
    pub fn only_fields(mut self) -> Pending {
        self.0.retain(|field, _| !is_entity(field));
        self
    }

    /// The deletion that takes the entity.
    pub fn entity(&self) -> Option<&str> {
        self.0.get(ENTITY).map(String::as_str)
    }

    /// Whether the deletion of the entity itself was requested.
    pub fn is_root(&self) -> bool {
        self.0.contains_key(ROOT)
    }

    /// The deletion that clears a field.
    pub fn field(&self, field: &str) -> Option<&str> {
        self.0.get(field).map(String::as_str)
    }

    /// The fields that deletions clear, with the deletions.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &str)> {
        let fields = self.0.iter().filter(|(field, _)| !is_entity(field));
        fields.map(|(field, by)| (field.as_str(), by.as_str()))
    }

    /// Every deletion that takes something.
    pub fn deletions(&self) -> BTreeSet<&str> {
        self.0.values().map(String::as_str).collect()
    }

    /// The entity after some of the deletions have taken effect; `None` if one of them takes it. Its
    /// version is the last of them: the same for every reader, and the one that is written later.
    pub fn settled(
        &self,
        (image, entity): (&Image, &Entity),
        has_happened: impl Fn(&str) -> bool,
    ) -> Option<Image> {
        if self.entity().is_some_and(&has_happened) {
            return None;
        }
        let mut settled = image.clone();
        let cleared = self.fields().filter(|(_, by)| has_happened(by));
        let mut last = None;
        for (field, by) in cleared {
            let Some(field) = entity.find_stored(field) else { continue };
            if settled.fields.remove(&entity.field(field).name).is_some() {
                last = last.max(Some(by));
            }
        }
        if let Some(last) = last {
            settled.version = last.to_owned();
        }
        Some(settled)
    }

    /// The same with the fields of an entity under their names in the model.
    #[must_use]
    pub fn with_model_names(&self, entity: &Entity) -> Pending {
        let name = |stored: &String| match entity.find_stored(stored) {
            Some(field) => entity.field(field).name.clone(),
            None => stored.clone(),
        };
        Pending(self.0.iter().map(|(field, by)| (name(field), by.clone())).collect())
    }

    /// Encodes it for the own row.
    pub fn to_value(&self) -> Value {
        let entries = self.0.iter().map(|(field, by)| (field.as_str(), Value::from(by.as_str())));
        Value::M(entries.map(|(field, by)| (keyloom_value::Name::from(field), by)).collect())
    }

    /// Decodes it; `None` if the value is damaged.
    pub(super) fn read(value: Option<&Value>) -> Option<Pending> {
        let Some(value) = value else { return Some(Pending::NONE) };
        let Value::M(entries) = value else { return None };
        let entry = |(field, by): (&keyloom_value::Name, &Value)| {
            Some((field.as_str().to_owned(), by.as_s()?.to_owned()))
        };
        entries.iter().map(entry).collect::<Option<_>>().map(Pending)
    }

    /// For everything that `what` returns of an image: the deletions that take it.
    pub(super) fn takers<T: Ord>(
        &self,
        (image, entity): (&Image, &Entity),
        what: impl Fn(&Image) -> Result<Vec<T>, KeyTooLong>,
    ) -> Result<BTreeMap<T, Vec<&str>>, KeyTooLong> {
        let mut takers: BTreeMap<T, Vec<&str>> = BTreeMap::new();
        for deletion in self.deletions() {
            let left = self.settled((image, entity), |by| by == deletion);
            let left: BTreeSet<T> =
                left.map(|left| what(&left)).transpose()?.into_iter().flatten().collect();
            for one in what(image)?.into_iter().filter(|one| !left.contains(one)) {
                takers.entry(one).or_default().push(deletion);
            }
        }
        Ok(takers)
    }
}

fn is_entity(field: &str) -> bool {
    field == ENTITY || field == ROOT
}

/// One text for several deletions, whose names contain no spaces.
pub(super) fn joined(deletions: &[&str]) -> Value {
    Value::from(deletions.join(" "))
}

/// The deletions of such a text.
pub(super) fn split(deletions: &str) -> Vec<String> {
    deletions.split(' ').map(str::to_owned).collect()
}
