//! Filters by tags and facets, in the names of the model.

use keyloom_model::{Entity, FieldId};
use keyloom_query as query;
use keyloom_query::Filters;
use keyloom_value::Value;

use crate::db::unknown;
use crate::error::Error;

/// What an entity must have to be on a page: see [`ListQuery::filter`](crate::ListQuery::filter).
///
/// ```
/// use keyloom::Filter;
///
/// let urgent = Filter::any([Filter::tag("priority", "high"), Filter::has_tag("deadline")]);
/// let mine = Filter::all([urgent, Filter::tag("project", "garden").not()]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Filter(Kind);

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Tag { field: Option<String>, key: String, value: Option<String> },
    Facet { field: String, value: Value },
    All(Vec<Filter>),
    Any(Vec<Filter>),
    Not(Box<Filter>),
}

impl Filter {
    /// Entities with a tag.
    pub fn tag(key: impl Into<String>, value: impl Into<String>) -> Filter {
        Filter(Kind::Tag { field: None, key: key.into(), value: Some(value.into()) })
    }

    /// Entities with a tag of this key, whatever its value.
    pub fn has_tag(key: impl Into<String>) -> Filter {
        Filter(Kind::Tag { field: None, key: key.into(), value: None })
    }

    /// Entities with a value of a facet of the list.
    pub fn facet(field: impl Into<String>, value: impl Into<Value>) -> Filter {
        Filter(Kind::Facet { field: field.into(), value: value.into() })
    }

    /// Entities that pass all of these.
    pub fn all(filters: impl IntoIterator<Item = Filter>) -> Filter {
        Filter(Kind::All(filters.into_iter().collect()))
    }

    /// Entities that pass at least one of these.
    pub fn any(filters: impl IntoIterator<Item = Filter>) -> Filter {
        Filter(Kind::Any(filters.into_iter().collect()))
    }

    /// Entities that do not pass this.
    #[expect(clippy::should_implement_trait, reason = "it reads as the words do, after a filter")]
    #[must_use]
    pub fn not(self) -> Filter {
        Filter(Kind::Not(Box::new(self)))
    }

    /// Looks for the tag in the field of this name, for entities with several fields of tags.
    #[must_use]
    pub fn in_field(mut self, name: &str) -> Filter {
        if let Kind::Tag { field, .. } = &mut self.0 {
            *field = Some(name.to_owned());
        }
        self
    }

    /// Whether the filter tests only one facet.
    pub(crate) fn is_by_facet(&self, name: &str) -> bool {
        match &self.0 {
            Kind::Facet { field, .. } => field == name,
            Kind::Tag { .. } => false,
            Kind::All(filters) | Kind::Any(filters) => {
                !filters.is_empty() && filters.iter().all(|filter| filter.is_by_facet(name))
            }
            Kind::Not(filter) => filter.is_by_facet(name),
        }
    }

    fn resolve(&self, filters: Filters<'_>) -> Result<query::Filter, Error> {
        let all = |parts: &[Filter]| {
            parts.iter().map(|part| part.resolve(filters)).collect::<Result<Vec<_>, Error>>()
        };
        let entity = filters.entity;
        let resolved = match &self.0 {
            Kind::Tag { field, key, value } => {
                let field = tag_field(entity, field.as_deref())?;
                match value {
                    Some(value) => filters.tag(field, key, value),
                    None => filters.tag_key(field, key),
                }
            }
            Kind::Facet { field: name, value } => {
                let field = entity.find_field(name).ok_or_else(|| no_field(entity, name))?;
                filters.facet(field, entity.field(field).of.to_stored(value))
            }
            Kind::All(parts) => filters.all(all(parts)?),
            Kind::Any(parts) => filters.any(all(parts)?),
            Kind::Not(part) => Ok(part.resolve(filters)?.not()),
        };
        Ok(resolved.map_err(query::Error::from)?)
    }
}

/// Resolves filters that must all hold against the model. None if everything passes them.
pub(crate) fn resolve_all(
    all: &[Filter],
    filters: Filters<'_>,
) -> Result<Option<query::Filter>, Error> {
    let parts = all.iter().map(|filter| filter.resolve(filters));
    let parts = parts.collect::<Result<_, Error>>()?;
    Ok(filters.all(parts).map_err(query::Error::from)?.if_selective())
}

/// Returns the field that holds the tags.
pub(crate) fn tag_field(entity: &Entity, name: Option<&str>) -> Result<FieldId, Error> {
    if let Some(name) = name {
        return entity.find_field(name).ok_or_else(|| no_field(entity, name));
    }
    let fields: Vec<FieldId> = entity.tag_fields().collect();
    match fields[..] {
        [field] => Ok(field),
        [] => Err(Error::Unknown {
            what: format!("`{}` has no tags", entity.name),
            help: Some("declare a field of the type `tags`".to_owned()),
        }),
        _ => Err(Error::Unknown {
            what: format!("`{}` has several fields with tags", entity.name),
            help: Some("say in which one to look, with `in_field`".to_owned()),
        }),
    }
}

fn no_field(entity: &Entity, name: &str) -> Error {
    let what = format!("`{}` has no field `{name}`", entity.name);
    unknown(what, name, entity.fields.iter().map(|field| field.name.as_str()))
}
