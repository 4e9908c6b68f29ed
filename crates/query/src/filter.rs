//! What an entity must have to be on a page: tags and values of facets, combined.

use keyloom_model::{Entity, Field, FieldId, FieldType, Image, ListId, Presence};
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

/// What everything passes, and what nothing does.
pub(crate) const EVERYTHING: Filter = Filter::All(vec![]);
const NOTHING: Filter = Filter::Any(vec![]);

impl Filter {
    /// Whether an entity can pass because it lacks something. Such a filter must know who has lost a
    /// reference to a deletion that is still being cleared.
    pub(crate) fn passes_without(&self) -> bool {
        match self {
            Filter::Not(_) => true,
            Filter::All(filters) | Filter::Any(filters) => {
                filters.iter().any(Filter::passes_without)
            }
            Filter::Facet { .. } | Filter::Tag { .. } | Filter::TagKey { .. } => false,
        }
    }

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

    /// The same in as few words as it takes: nothing twice, and no test that everything passes. What
    /// names all values of a facet that is never absent is no test.
    pub(crate) fn simplified(&self, entity: &Entity) -> Filter {
        match self {
            Filter::Tag { .. } | Filter::TagKey { .. } | Filter::Facet { .. } => self.clone(),
            Filter::All(filters) => {
                let all = pieces(entity, filters, |filter| match filter {
                    Filter::All(inner) => Ok(inner),
                    other => Err(other),
                });
                one_or(if all.contains(&NOTHING) { vec![NOTHING] } else { all }, Filter::All)
            }
            Filter::Any(filters) => {
                let any = pieces(entity, filters, |filter| match filter {
                    Filter::Any(inner) => Ok(inner),
                    other => Err(other),
                });
                let is_all = any.contains(&EVERYTHING) || names_all_values(entity, &any);
                one_or(if is_all { vec![EVERYTHING] } else { any }, Filter::Any)
            }
            Filter::Not(filter) => match filter.simplified(entity) {
                Filter::Not(inner) => *inner,
                everything if everything == EVERYTHING => NOTHING,
                nothing if nothing == NOTHING => EVERYTHING,
                other => Filter::Not(Box::new(other)),
            },
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

/// Filters in as few words as it takes, each once; those that `inner` opens are their own parts.
fn pieces(
    entity: &Entity,
    filters: &[Filter],
    inner: fn(Filter) -> Result<Vec<Filter>, Filter>,
) -> Vec<Filter> {
    let mut pieces = vec![];
    for filter in filters {
        let parts = inner(filter.simplified(entity)).unwrap_or_else(|other| vec![other]);
        for part in parts {
            if !pieces.contains(&part) {
                pieces.push(part);
            }
        }
    }
    pieces
}

fn one_or(mut filters: Vec<Filter>, several: fn(Vec<Filter>) -> Filter) -> Filter {
    match filters.len() {
        1 => filters.remove(0),
        _ => several(filters),
    }
}

/// Whether every entity has one of these values of some facet.
fn names_all_values(entity: &Entity, any: &[Filter]) -> bool {
    let named = |wanted: FieldId| {
        let declared = entity.field(wanted);
        let is_one = |filter: &&Filter| match filter {
            Filter::Facet { field, value } => *field == wanted && declared.check(value).is_ok(),
            _ => false,
        };
        any.iter().filter(is_one).count() as u64
    };
    let mut fields = any.iter().filter_map(|filter| match filter {
        Filter::Facet { field, .. } => Some(*field),
        _ => None,
    });
    fields.any(|field| value_count(entity.field(field)) == Some(named(field)))
}

/// How many values a field can have, if they are countable and one is always there.
fn value_count(field: &Field) -> Option<u64> {
    let count = match &field.of {
        FieldType::Bool => Some(2),
        FieldType::Enum(members) => Some(members.len() as u64),
        FieldType::Int(limits) => {
            limits.low.zip(limits.high).map(|(low, high)| high.abs_diff(low).saturating_add(1))
        }
        _ => None,
    };
    count.filter(|_| field.presence == Presence::Required)
}
