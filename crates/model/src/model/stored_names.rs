//! The names of fields in rows and keys. A field that is renamed keeps the name that it has there, so
//! that renaming rewrites nothing.

use std::collections::{BTreeMap, BTreeSet};

use keyloom_value::{Item, Name, Value};

use super::{Entity, FieldId, Model, Retype};

const FIELDS: &str = "fields";
const RETIRED: &str = "retired";

/// How fields are named in rows, where that cannot be told from the model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredNames(BTreeMap<String, EntityNames>);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct EntityNames {
    /// Of fields that are named differently in rows.
    fields: BTreeMap<String, String>,
    /// Names that fields had which no longer exist.
    retired: BTreeSet<String>,
}

impl StoredNames {
    /// Whether every field is named in rows as in the model.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The stored form.
    pub fn to_item(&self) -> Item {
        let entity = |names: &EntityNames| {
            let fields = names.fields.iter();
            let fields =
                fields.map(|(name, stored)| (Name::from(name), Value::from(stored.as_str())));
            let retired = names.retired.iter().map(|name| Value::from(name.as_str()));
            Value::M(Item::from([
                (FIELDS, Value::M(fields.collect())),
                (RETIRED, Value::L(retired.collect())),
            ]))
        };
        self.0.iter().map(|(name, names)| (Name::from(name), entity(names))).collect()
    }

    /// Reads the stored form; `None` if it is damaged.
    pub fn read(item: &Item) -> Option<StoredNames> {
        let text = |value: &Value| value.as_s().map(str::to_owned);
        let entity = |(name, names): (&Name, &Value)| {
            let Value::M(names) = names else { return None };
            let (Value::M(fields), Value::L(retired)) = (names.get(FIELDS)?, names.get(RETIRED)?)
            else {
                return None;
            };
            let field =
                |(name, stored): (&Name, &Value)| Some((name.as_str().to_owned(), text(stored)?));
            let fields = fields.iter().map(field).collect::<Option<_>>()?;
            let retired = retired.iter().map(text).collect::<Option<_>>()?;
            Some((name.as_str().to_owned(), EntityNames { fields, retired }))
        };
        item.iter().map(entity).collect::<Option<_>>().map(StoredNames)
    }
}

impl Model {
    /// How its fields are named in rows, where that cannot be told from the model.
    pub fn stored_names(&self) -> StoredNames {
        let renamed = |entity: &Entity| {
            let fields = entity.fields.iter().filter(|field| field.stored != field.name);
            let fields = fields.map(|field| (field.name.clone(), field.stored.clone())).collect();
            EntityNames { fields, retired: entity.retired.clone() }
        };
        let entities = self.entities().filter(|(_, entity)| entity.has_other_names());
        StoredNames(entities.map(|(_, entity)| (entity.name.clone(), renamed(entity))).collect())
    }

    /// The same model for rows in which fields are named so.
    #[must_use]
    pub fn with_stored_names(mut self, names: &StoredNames) -> Model {
        for entity in self.entities_mut() {
            let Some(names) = names.0.get(&entity.name) else { continue };
            entity.retired = names.retired.clone();
            for field in &mut entity.fields {
                let stored = names.fields.get(&field.name);
                field.stored = stored.unwrap_or(&field.name).clone();
            }
            entity.order_by_stored_names();
        }
        self
    }

    /// The same model for the rows of an earlier one: fields that it had are named in rows as before,
    /// and others, also those whose values are converted, as no field of their entity ever was.
    #[must_use]
    pub fn following(mut self, earlier: &Model) -> Model {
        for entity in self.entities_mut() {
            if let Some(id) = earlier.find(&entity.name) {
                entity.follow(earlier.entity(id));
            }
        }
        self
    }
}

impl Entity {
    fn follow(&mut self, earlier: &Entity) {
        let ids: Vec<FieldId> = self.fields().map(|(id, _)| id).collect();
        let kept = |id: FieldId| {
            let field = earlier.field(self.counterpart(id, earlier)?);
            // Values of another form are beside the old ones until these go.
            let is_kept = field.of.retype(&self.field(id).of) != Retype::Converted;
            is_kept.then(|| field.stored.clone())
        };
        let kept: Vec<Option<String>> = ids.into_iter().map(kept).collect();
        let before = earlier.fields.iter().map(|field| field.stored.clone());
        let before: BTreeSet<String> = before.chain(earlier.retired.iter().cloned()).collect();
        let mut taken = before.clone();
        for (field, kept) in self.fields.iter_mut().zip(kept) {
            field.stored = kept.unwrap_or_else(|| free_name(&field.name, &taken));
            taken.insert(field.stored.clone());
        }
        let is_used = |name: &String| self.fields.iter().any(|field| field.stored == *name);
        self.retired = before.into_iter().filter(|name| !is_used(name)).collect();
        self.order_by_stored_names();
    }

    /// Fields whose order of declaration has no meaning are in keys in the order of their names there,
    /// which does not change when one is renamed.
    fn order_by_stored_names(&mut self) {
        let Entity { fields, lists, counts, .. } = self;
        let facets = lists.iter_mut().map(|list| &mut list.facets);
        let counted = counts
            .iter_mut()
            .flat_map(|count| [&mut count.split, &mut count.sums, &mut count.min, &mut count.max]);
        for ids in facets.chain(counted) {
            ids.sort_by_key(|id| &fields[id.index()].stored);
        }
    }
}

/// No field can be declared with a `~`.
fn free_name(name: &str, taken: &BTreeSet<String>) -> String {
    let numbered = (2_u32..).map(|number| format!("{name}~{number}"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    names.find(|name| !taken.contains(name)).unwrap_or_else(|| name.to_owned())
}
