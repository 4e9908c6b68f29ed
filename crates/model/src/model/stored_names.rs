//! The names of entities in keys, and of fields in rows and keys. What is renamed keeps the name that it
//! has there, so that renaming rewrites nothing.

use std::collections::{BTreeMap, BTreeSet};

use keyloom_value::{Item, Name, Value};

use super::{Entity, EntityId, FieldId, Model, Retype};

/// Both are in stored models.
const RENAMED: &str = "fields";
const RETIRED: &str = "retired";

/// How entities and fields are named in rows, where that cannot be told from the model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredNames {
    entities: Names,
    /// By the name of the entity in the model.
    fields: BTreeMap<String, Names>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Names {
    /// Of those that are named differently in rows.
    renamed: BTreeMap<String, String>,
    /// Names that others had which no longer exist.
    retired: BTreeSet<String>,
}

impl StoredNames {
    /// Whether everything is named in rows as in the model.
    pub fn is_empty(&self) -> bool {
        self.entities.is_empty() && self.fields.is_empty()
    }

    /// Those of entities alone.
    #[must_use]
    pub fn of_entities(&self) -> StoredNames {
        StoredNames { entities: self.entities.clone(), fields: BTreeMap::new() }
    }

    /// The stored form: of fields, then of entities if some are named differently. Versions that know no
    /// names of entities cannot read both.
    pub fn to_values(&self) -> Vec<Value> {
        let fields = self.fields.iter();
        let fields: Item =
            fields.map(|(entity, names)| (Name::from(entity), names.to_value())).collect();
        let entities = Some(&self.entities).filter(|names| !names.is_empty()).map(Names::to_value);
        std::iter::once(Value::M(fields)).chain(entities).collect()
    }

    /// Reads the stored form; `None` if it is damaged.
    pub fn read(values: &[Value]) -> Option<StoredNames> {
        let (fields, entities) = match values {
            [fields] => (fields, Names::default()),
            [fields, entities] => (fields, Names::read(entities)?),
            _ => return None,
        };
        let Value::M(fields) = fields else { return None };
        let fields = fields
            .iter()
            .map(|(entity, names)| Some((entity.as_str().to_owned(), Names::read(names)?)));
        Some(StoredNames { entities, fields: fields.collect::<Option<_>>()? })
    }
}

impl Names {
    fn is_empty(&self) -> bool {
        self.renamed.is_empty() && self.retired.is_empty()
    }

    fn to_value(&self) -> Value {
        let renamed = self.renamed.iter();
        let renamed: Item = renamed
            .map(|(name, stored)| (Name::from(name), Value::from(stored.as_str())))
            .collect();
        let retired = self.retired.iter().map(|name| Value::from(name.as_str()));
        Value::M(Item::from([(RENAMED, Value::M(renamed)), (RETIRED, Value::L(retired.collect()))]))
    }

    fn read(value: &Value) -> Option<Names> {
        let Value::M(names) = value else { return None };
        let (Value::M(renamed), Value::L(retired)) = (names.get(RENAMED)?, names.get(RETIRED)?)
        else {
            return None;
        };
        let text = |value: &Value| value.as_s().map(str::to_owned);
        let pair =
            |(name, stored): (&Name, &Value)| Some((name.as_str().to_owned(), text(stored)?));
        let renamed = renamed.iter().map(pair).collect::<Option<_>>()?;
        let retired = retired.iter().map(text).collect::<Option<_>>()?;
        Some(Names { renamed, retired })
    }
}

impl Model {
    /// How its entities and fields are named in rows, where that cannot be told from the model.
    pub fn stored_names(&self) -> StoredNames {
        let differs = |(name, stored): &(&String, &String)| name != stored;
        let owned = |(name, stored): (&String, &String)| (name.clone(), stored.clone());
        let entities = self.entities().map(|(_, entity)| (&entity.name, &entity.stored));
        let renamed = entities.filter(differs).map(owned).collect();
        let fields = self.entities().filter(|(_, entity)| entity.has_other_names());
        let fields = fields.map(|(_, entity)| {
            let names = entity.fields.iter().map(|field| (&field.name, &field.stored));
            let renamed = names.filter(differs).map(owned).collect();
            (entity.name.clone(), Names { renamed, retired: entity.retired.clone() })
        });
        let fields = fields.collect();
        StoredNames { entities: Names { renamed, retired: self.retired.clone() }, fields }
    }

    /// The same model for rows in which entities and fields are named so.
    #[must_use]
    pub fn with_stored_names(mut self, names: &StoredNames) -> Model {
        self.retired = names.entities.retired.clone();
        for entity in &mut self.entities {
            if let Some(stored) = names.entities.renamed.get(&entity.name) {
                entity.stored.clone_from(stored);
            }
            let Some(names) = names.fields.get(&entity.name) else { continue };
            entity.retired = names.retired.clone();
            for field in &mut entity.fields {
                let stored = names.renamed.get(&field.name);
                field.stored = stored.unwrap_or(&field.name).clone();
            }
            entity.order_by_stored_names();
        }
        self.index_stored_names();
        self
    }

    /// The same model for the rows of an earlier one: entities and fields that it had are named in rows as
    /// before, and others, also fields whose values are converted, as none ever was.
    #[must_use]
    pub fn following(mut self, earlier: &Model) -> Model {
        let ids: Vec<EntityId> = self.entities().map(|(id, _)| id).collect();
        let counterparts = ids.iter().map(|id| self.counterpart(*id, earlier));
        let counterparts: Vec<Option<EntityId>> = counterparts.collect();
        let before = earlier.entities.iter().map(|entity| entity.stored.clone());
        let before: BTreeSet<String> = before.chain(earlier.retired.iter().cloned()).collect();
        let mut taken = before.clone();
        for (entity, counterpart) in self.entities.iter_mut().zip(counterparts) {
            match counterpart.map(|id| earlier.entity(id)) {
                Some(earlier) => {
                    entity.stored.clone_from(&earlier.stored);
                    entity.follow(earlier);
                }
                None => entity.stored = free_name(&entity.name, '-', &taken),
            }
            taken.insert(entity.stored.clone());
        }
        let is_used = |name: &String| self.entities.iter().any(|entity| entity.stored == *name);
        self.retired = before.into_iter().filter(|name| !is_used(name)).collect();
        self.index_stored_names();
        self
    }

    fn index_stored_names(&mut self) {
        let stored = self.entities().map(|(id, entity)| (entity.stored.clone(), id));
        self.by_stored_name = stored.collect();
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
            field.stored = kept.unwrap_or_else(|| free_name(&field.name, '~', &taken));
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

/// Nothing can be declared with one of these signs. Names of entities are also in names that the store
/// checks, which have no `~`.
fn free_name(name: &str, sign: char, taken: &BTreeSet<String>) -> String {
    let numbered = (2_u32..).map(|number| format!("{name}{sign}{number}"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    names.find(|name| !taken.contains(name)).unwrap_or_else(|| name.to_owned())
}
