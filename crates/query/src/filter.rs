//! What an entity must have to be on a page: tags and values of facets, combined.

use keyloom_model::{Entity, FieldId, FieldType, Image, ListId};
use keyloom_value::Value;

use crate::RequestError;
use crate::request_error::check_values;

/// What an entity must have. Facets are those of the list that is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Filter {
    /// A tag, in a field that holds tags.
    Tag {
        /// The field.
        field: FieldId,
        /// The key of the tag.
        key: String,
        /// Its value.
        value: String,
    },
    /// Any tag of a key, in a field that holds tags.
    TagKey {
        /// The field.
        field: FieldId,
        /// The key.
        key: String,
    },
    /// A value of a facet.
    Facet {
        /// The field.
        field: FieldId,
        /// Its value.
        value: Value,
    },
    /// All of these; everything has none.
    All(Vec<Filter>),
    /// At least one of these; nothing has none.
    Any(Vec<Filter>),
    /// Not this.
    Not(Box<Filter>),
}

/// How deep filters can be in each other, and how many tests they can have in all.
const DEPTH_MAX: usize = 16;
const TESTS_MAX: usize = 300;

impl Filter {
    /// Whether the filter can be asked of a list.
    pub(crate) fn check(&self, entity: &Entity, list: ListId) -> Result<(), RequestError> {
        if self.depth_and_tests(0).is_none_or(|tests| tests > TESTS_MAX) {
            return Err(RequestError::FilterTooLarge { depth: DEPTH_MAX, tests: TESTS_MAX });
        }
        self.check_tests(entity, list)
    }

    fn check_tests(&self, entity: &Entity, list: ListId) -> Result<(), RequestError> {
        match self {
            Filter::Tag { field, .. } | Filter::TagKey { field, .. } => {
                let declared = entity.field(*field);
                match declared.of == FieldType::Tags {
                    true => Ok(()),
                    false => Err(RequestError::NotTags { field: declared.name.clone() }),
                }
            }
            Filter::Facet { field, value } => {
                let declared = entity.list(list);
                if !declared.facets.contains(field) {
                    let (list, field) = (declared.name.clone(), entity.field(*field).name.clone());
                    return Err(RequestError::NotAFacet { list, field });
                }
                let what = || "A facet".to_owned();
                check_values(entity, what, std::slice::from_ref(field), std::slice::from_ref(value))
            }
            Filter::All(filters) | Filter::Any(filters) => {
                filters.iter().try_for_each(|filter| filter.check_tests(entity, list))
            }
            Filter::Not(filter) => filter.check_tests(entity, list),
        }
    }

    /// How many tests there are; none if they are too deep.
    fn depth_and_tests(&self, depth: usize) -> Option<usize> {
        if depth > DEPTH_MAX {
            return None;
        }
        match self {
            Filter::Tag { .. } | Filter::TagKey { .. } | Filter::Facet { .. } => Some(1),
            Filter::All(filters) | Filter::Any(filters) => {
                filters.iter().map(|filter| filter.depth_and_tests(depth + 1)).sum()
            }
            Filter::Not(filter) => filter.depth_and_tests(depth + 1),
        }
    }

    /// Whether an entity passes. What its own row says counts, whatever it was found by.
    pub(crate) fn holds(&self, entity: &Entity, image: &Image) -> bool {
        let tag = |field: &FieldId, key: &str| match image.fields.get(&entity.field(*field).name) {
            Some(Value::M(tags)) => tags.get(key).and_then(Value::as_s).map(str::to_owned),
            Some(_) | None => None,
        };
        match self {
            Filter::Tag { field, key, value } => tag(field, key).as_ref() == Some(value),
            Filter::TagKey { field, key } => tag(field, key).is_some(),
            Filter::Facet { field, value } => {
                image.fields.get(&entity.field(*field).name) == Some(value)
            }
            Filter::All(filters) => filters.iter().all(|filter| filter.holds(entity, image)),
            Filter::Any(filters) => filters.iter().any(|filter| filter.holds(entity, image)),
            Filter::Not(filter) => !filter.holds(entity, image),
        }
    }

    /// A text that is the same for filters that say the same, but for order and repetition.
    pub(crate) fn canonical(&self, entity: &Entity) -> String {
        let name = |field: &FieldId| &entity.field(*field).name;
        let all = |word: &str, filters: &[Filter]| {
            let mut texts: Vec<String> =
                filters.iter().map(|filter| filter.canonical(entity)).collect();
            texts.sort();
            texts.dedup();
            match &texts[..] {
                [only] => only.clone(),
                texts => format!("{word}({})", texts.concat()),
            }
        };
        match self {
            Filter::Tag { field, key, value } => {
                format!("tag({},{}:{key},{}:{value})", name(field), key.len(), value.len())
            }
            Filter::TagKey { field, key } => format!("key({},{}:{key})", name(field), key.len()),
            Filter::Facet { field, value } => {
                let value = value.to_string();
                format!("facet({},{}:{value})", name(field), value.len())
            }
            Filter::All(filters) => all("all", filters),
            Filter::Any(filters) => all("any", filters),
            Filter::Not(filter) => format!("not({})", filter.canonical(entity)),
        }
    }
}
