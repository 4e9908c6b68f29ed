//! What an entity must have to be on a page: tags, values of facets, ranges, combined. Filters are resolved
//! against the model once, when they are made.

use std::collections::{BTreeMap, BTreeSet};

use keyloom_model::{Entity, Field, FieldId, FieldType, Image, ListId, Presence, SearchId, Term};
use keyloom_value::Value;

use crate::request_error::check_value;
use crate::{RequestError, ValueRange};

/// What an entity must have. [`Filters`] makes filters: each is checked against the model, and in
/// normal form. That is as short as it can be: nothing twice, no AND directly in an AND, no OR in an
/// OR, no NOT in a NOT, no AND or OR of one part, and no test that everything passes, unless it is
/// all of the filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Filter {
    /// A tag, in a field that holds tags.
    #[non_exhaustive]
    Tag {
        /// The field.
        field: FieldId,
        /// The key of the tag.
        key: String,
        /// Its value.
        value: String,
    },
    /// Any tag of a key, in a field that holds tags.
    #[non_exhaustive]
    TagKey {
        /// The field.
        field: FieldId,
        /// The key.
        key: String,
    },
    /// A value of a facet of the list.
    #[non_exhaustive]
    Facet {
        /// The field.
        field: FieldId,
        /// Its value.
        value: Value,
    },
    /// A number or time within a range, in a field that lists can be filtered by.
    #[non_exhaustive]
    Range {
        /// The field.
        field: FieldId,
        /// The range.
        range: ValueRange,
    },
    /// Any value of a field that lists can be filtered by.
    #[non_exhaustive]
    Present {
        /// The field.
        field: FieldId,
    },
    /// A term of a search.
    #[non_exhaustive]
    Term {
        /// The search.
        search: SearchId,
        /// The term.
        term: Term,
    },
    /// All of these. Without parts, everything passes.
    #[non_exhaustive]
    All(Vec<Filter>),
    /// At least one of these. Without parts, nothing passes.
    #[non_exhaustive]
    Any(Vec<Filter>),
    /// Not this.
    #[non_exhaustive]
    Not(Box<Filter>),
}

/// Makes the filters of one list.
#[derive(Clone, Copy, Debug)]
pub struct Filters<'m> {
    /// The entity.
    pub entity: &'m Entity,
    /// Its list: facets are those of this list.
    pub list: ListId,
}

/// How deep filters can be in each other, and how many tests they can have in all.
const DEPTH_MAX: usize = 16;
const TESTS_MAX: usize = 300;
/// A range reads as many lists as this many tests, or more.
const RANGE_TESTS: usize = 10;

const TOO_LARGE: RequestError = RequestError::FilterTooLarge { depth: DEPTH_MAX, tests: TESTS_MAX };

const EVERYTHING: Filter = Filter::All(vec![]);
const NOTHING: Filter = Filter::Any(vec![]);

impl Filters<'_> {
    /// Entities with a tag.
    ///
    /// # Errors
    ///
    /// If the field holds no tags.
    pub fn tag(&self, field: FieldId, key: &str, value: &str) -> Result<Filter, RequestError> {
        self.check_tags(field)?;
        Ok(Filter::Tag { field, key: key.to_owned(), value: value.to_owned() })
    }

    /// Entities with any tag of a key.
    ///
    /// # Errors
    ///
    /// If the field holds no tags.
    pub fn tag_key(&self, field: FieldId, key: &str) -> Result<Filter, RequestError> {
        self.check_tags(field)?;
        Ok(Filter::TagKey { field, key: key.to_owned() })
    }

    /// Entities with a value of a facet.
    ///
    /// # Errors
    ///
    /// If the field is no facet of the list, or the value is not of its type.
    pub fn facet(&self, field: FieldId, value: Value) -> Result<Filter, RequestError> {
        let list = self.entity.list(self.list);
        if !list.facets.contains(&field) {
            let field = self.entity.field(field).name.clone();
            return Err(RequestError::NotAFacet { list: list.name.clone(), field });
        }
        check_value(self.entity, field, &value)?;
        Ok(Filter::Facet { field, value })
    }

    /// Entities with a number or time within a range.
    ///
    /// # Errors
    ///
    /// If the field is not in the `filters` of the entity, or has no ranges.
    pub fn range(&self, field: FieldId, range: ValueRange) -> Result<Filter, RequestError> {
        self.check_filter(field)?;
        let declared = self.entity.field(field);
        if !declared.has_slices() {
            return Err(RequestError::NoRanges { field: declared.name.clone() });
        }
        Ok(if range.is_empty() { NOTHING } else { Filter::Range { field, range } })
    }

    /// Entities with any value of a field.
    ///
    /// # Errors
    ///
    /// If the field is not in the `filters` of the entity.
    pub fn present(&self, field: FieldId) -> Result<Filter, RequestError> {
        self.check_filter(field)?;
        Ok(Filter::Present { field })
    }

    /// Entities whose texts have all words of a text; the last one may be the beginning of a word.
    ///
    /// # Errors
    ///
    /// If the text has more words than a filter can have tests.
    pub fn search(&self, search: SearchId, text: &str) -> Result<Filter, RequestError> {
        let term = |term: Term| Filter::Term { search, term };
        let wanted = self.entity.search(search).wanted(text);
        let words = wanted.into_iter().map(|any| self.any(any.into_iter().map(term).collect()));
        self.all(words.collect::<Result<_, RequestError>>()?)
    }

    /// Entities that pass all of these.
    ///
    /// # Errors
    ///
    /// If there are more of them than a filter can have tests.
    pub fn all(&self, filters: Vec<Filter>) -> Result<Filter, RequestError> {
        let parts = parts_of(filters, |filter| match filter {
            Filter::All(inner) => Ok(inner),
            other => Err(other),
        })?;
        let parts = intersect_ranges(parts);
        Ok(match parts.contains(&NOTHING) {
            true => NOTHING,
            false => one_or(parts, Filter::All),
        })
    }

    /// Entities that pass at least one of these.
    ///
    /// # Errors
    ///
    /// If there are more of them than a filter can have tests.
    pub fn any(&self, filters: Vec<Filter>) -> Result<Filter, RequestError> {
        let parts = parts_of(filters, |filter| match filter {
            Filter::Any(inner) => Ok(inner),
            other => Err(other),
        })?;
        Ok(match parts.contains(&EVERYTHING) || names_all_values(self.entity, &parts) {
            true => EVERYTHING,
            false => one_or(parts, Filter::Any),
        })
    }

    fn check_filter(&self, field: FieldId) -> Result<(), RequestError> {
        match self.entity.filters.contains(&field) {
            true => Ok(()),
            false => {
                let field = self.entity.field(field).name.clone();
                Err(RequestError::NotAFilter { entity: self.entity.name.clone(), field })
            }
        }
    }

    fn check_tags(&self, field: FieldId) -> Result<(), RequestError> {
        let field = self.entity.field(field);
        match field.of == FieldType::Tags {
            true => Ok(()),
            false => Err(RequestError::NotTags { field: field.name.clone() }),
        }
    }
}

impl Filter {
    /// Entities that do not pass this.
    #[expect(clippy::should_implement_trait, reason = "named as the other combinations are")]
    #[must_use]
    pub fn not(self) -> Filter {
        match self {
            Filter::Not(inner) => *inner,
            everything if everything == EVERYTHING => NOTHING,
            nothing if nothing == NOTHING => EVERYTHING,
            other => Filter::Not(Box::new(other)),
        }
    }

    /// The filter, unless everything passes it.
    pub fn if_selective(self) -> Option<Filter> {
        Some(self).filter(|filter| *filter != EVERYTHING)
    }

    /// Whether an entity can pass because it lacks something. Such a filter must know who has lost a
    /// reference to a deletion that is still being cleared.
    pub(crate) fn passes_without(&self) -> bool {
        match self {
            Filter::Not(_) => true,
            Filter::All(filters) | Filter::Any(filters) => {
                filters.iter().any(Filter::passes_without)
            }
            Filter::Facet { .. }
            | Filter::Range { .. }
            | Filter::Present { .. }
            | Filter::Term { .. }
            | Filter::Tag { .. }
            | Filter::TagKey { .. } => false,
        }
    }

    /// Checks that the filter is not too large to be planned.
    pub(crate) fn check_size(&self) -> Result<(), RequestError> {
        match self.count_tests(0).is_some_and(|tests| tests <= TESTS_MAX) {
            true => Ok(()),
            false => Err(TOO_LARGE),
        }
    }

    /// How many tests there are; none if they are too deep.
    fn count_tests(&self, depth: usize) -> Option<usize> {
        if depth > DEPTH_MAX {
            return None;
        }
        match self {
            Filter::Tag { .. }
            | Filter::TagKey { .. }
            | Filter::Facet { .. }
            | Filter::Term { .. }
            | Filter::Present { .. } => Some(1),
            Filter::Range { .. } => Some(RANGE_TESTS),
            Filter::All(filters) | Filter::Any(filters) => {
                filters.iter().map(|filter| filter.count_tests(depth + 1)).sum()
            }
            Filter::Not(filter) => filter.count_tests(depth + 1),
        }
    }

    /// Whether an entity passes, by its own row. That decides, whatever it was found by.
    pub(crate) fn holds(&self, entity: &Entity, image: &Image) -> bool {
        Tested { entity, image, terms: BTreeMap::new() }.passes(self)
    }

    /// A text that is the same for equal filters, whatever their order. Cursors depend on it, so it
    /// never changes.
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
            Filter::Range { field, range } => format!("range({},{range})", name(field)),
            Filter::Present { field } => format!("present({})", name(field)),
            Filter::Term { search, term } => {
                let (kind, text) = match term {
                    Term::Word(word) => ("word", word),
                    Term::Prefix(prefix) => ("prefix", prefix),
                };
                format!("{kind}({},{}:{text})", entity.search(*search).name, text.len())
            }
            Filter::All(filters) => all("all", filters),
            Filter::Any(filters) => all("any", filters),
            Filter::Not(filter) => format!("not({})", filter.canonical(entity)),
        }
    }
}

/// An entity that is tested by its own row.
struct Tested<'t> {
    entity: &'t Entity,
    image: &'t Image,
    /// The terms of the searches that were tested so far: a filter can have many, and texts are long.
    terms: BTreeMap<SearchId, BTreeSet<Term>>,
}

impl Tested<'_> {
    fn passes(&mut self, filter: &Filter) -> bool {
        match filter {
            Filter::Tag { field, key, value } => self.tag(*field, key) == Some(value),
            Filter::TagKey { field, key } => self.tag(*field, key).is_some(),
            Filter::Facet { field, value } => self.value(*field) == Some(value),
            Filter::Range { field, range } => {
                let number = self.value(*field).and_then(Value::as_n);
                number.is_some_and(|number| range.contains(number))
            }
            Filter::Present { field } => self.value(*field).is_some(),
            Filter::Term { search, term } => self.terms(*search).contains(term),
            Filter::All(filters) => filters.iter().all(|filter| self.passes(filter)),
            Filter::Any(filters) => filters.iter().any(|filter| self.passes(filter)),
            Filter::Not(filter) => !self.passes(filter),
        }
    }

    fn value(&self, field: FieldId) -> Option<&Value> {
        self.image.fields.get(&self.entity.field(field).name)
    }

    fn tag(&self, field: FieldId, key: &str) -> Option<&str> {
        match self.value(field) {
            Some(Value::M(tags)) => tags.get(key).and_then(Value::as_s),
            Some(_) | None => None,
        }
    }

    fn terms(&mut self, search: SearchId) -> &BTreeSet<Term> {
        let Tested { entity, image, terms } = self;
        terms.entry(search).or_insert_with(|| entity.search(search).terms(entity, &image.fields))
    }
}

/// Filters, each once; those that `open` takes apart are replaced by their parts. Stops at the first
/// part too many: finding duplicates takes time by the square of the number of parts.
fn parts_of(
    filters: Vec<Filter>,
    open: fn(Filter) -> Result<Vec<Filter>, Filter>,
) -> Result<Vec<Filter>, RequestError> {
    let mut parts = vec![];
    for filter in filters {
        for part in open(filter).unwrap_or_else(|other| vec![other]) {
            if !parts.contains(&part) {
                parts.push(part);
            }
            if parts.len() > TESTS_MAX {
                return Err(TOO_LARGE);
            }
        }
    }
    Ok(parts)
}

/// Filters that must hold together, with one range of each field.
fn intersect_ranges(parts: Vec<Filter>) -> Vec<Filter> {
    let mut intersected: Vec<Filter> = vec![];
    for part in parts {
        let Filter::Range { field, range } = &part else {
            intersected.push(part);
            continue;
        };
        let earlier = intersected.iter_mut().find_map(|earlier| match earlier {
            Filter::Range { field: of, range } if of == field => Some(range),
            _ => None,
        });
        match earlier {
            Some(earlier) => *earlier = earlier.and(*range),
            None => intersected.push(part),
        }
    }
    let is_empty = |part: &Filter| matches!(part, Filter::Range { range, .. } if range.is_empty());
    intersected.into_iter().map(|part| if is_empty(&part) { NOTHING } else { part }).collect()
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

#[cfg(test)]
mod tests {
    use super::*;
    use keyloom_model::check;

    /// Calls `f` with the filters of a list whose entities have tags.
    fn with_filters<T>(f: impl FnOnce(Filters<'_>, FieldId) -> T) -> T {
        let text = "[entity.task]\nfields.tags = \"tags\"\nlist.all = {}\n";
        let model = check(text).unwrap();
        let entity = model.entity(model.find("task").unwrap());
        let filters = Filters { entity, list: entity.find_list("all").unwrap() };
        f(filters, entity.find_field("tags").unwrap())
    }

    #[test]
    fn a_filter_has_at_most_300_different_tests() {
        let of = |values: std::ops::Range<usize>| {
            with_filters(|filters, tags| {
                let one = |n: usize| filters.tag(tags, "n", &n.to_string()).unwrap();
                let values: Vec<usize> = values.collect();
                let twice = values.iter().chain(&values).map(|n| one(*n)).collect();
                filters.any(twice)?.check_size()
            })
        };
        assert_eq!(of(0..300), Ok(()));
        assert_eq!(of(0..301), Err(TOO_LARGE));
    }

    /// A request of megabytes must not be compared with itself.
    #[test]
    fn a_filter_of_a_million_tests_is_refused_at_the_first_too_many() {
        with_filters(|filters, tags| {
            let mut parts: Vec<Filter> = (0..1_000_000)
                .map(|n: usize| filters.tag(tags, "n", &n.to_string()).unwrap())
                .collect();
            assert_eq!(filters.all(parts.clone()), Err(TOO_LARGE));
            parts.reverse();
            assert_eq!(filters.any(parts), Err(TOO_LARGE));
        });
    }

    #[test]
    fn a_filter_nests_at_most_16_deep() {
        let nested = |depth: usize| {
            with_filters(|filters, tags| {
                let one = |n: usize| filters.tag(tags, "n", &n.to_string()).unwrap();
                let mut filter = one(0);
                for n in 1..=depth {
                    filter = match n % 2 {
                        0 => filters.all(vec![filter, one(n)])?,
                        _ => filters.any(vec![filter, one(n)])?,
                    };
                }
                filter.check_size()
            })
        };
        assert_eq!(nested(16), Ok(()));
        assert_eq!(nested(17), Err(TOO_LARGE));
    }
}
