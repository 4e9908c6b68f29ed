//! Questions that make no sense, and the checks that find them.

use keyloom_model::{Entity, EntityId, FieldId, FieldType, Layout};
use keyloom_value::Value;

/// What is wrong with a question.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// Too few or too many entities are asked for at once.
    #[error("A limit of {limit} cannot be: ask for 1 to {limit_max}.")]
    Limit {
        /// How many were asked for.
        limit: u32,
        /// How many can be.
        limit_max: u32,
    },
    /// The entity belongs to tenants, and none is named.
    #[error("Every `{entity}` belongs to a tenant: say whose to read.")]
    TenantMissing {
        /// The entity.
        entity: String,
    },
    /// All tenants share the entity, and one is named.
    #[error("All tenants share `{entity}`: ask without a tenant.")]
    TenantGiven {
        /// The entity.
        entity: String,
    },
    /// There are not as many values as fields.
    #[error("{what} takes {expected} values, and {given} were given.")]
    Values {
        /// What they are for.
        what: String,
        /// How many fields there are.
        expected: usize,
        /// How many values were given.
        given: usize,
    },
    /// More fields are restricted than the list is ordered by.
    #[error(
        "The list `{list}` is ordered by {fields} fields, and {restricted} were \
         restricted: restrict the first ones only."
    )]
    RangeTooLong {
        /// The list.
        list: String,
        /// How many fields it is ordered by.
        fields: usize,
        /// How many were restricted.
        restricted: usize,
    },
    /// A value cannot be one of its field.
    #[error("A value that was given for `{field}` is not of the type {expected}.")]
    Value {
        /// The field, or what stands in its place.
        field: String,
        /// What it takes.
        expected: &'static str,
    },
    /// A filter by tags is of a field that holds none.
    #[error("`{field}` holds no tags: look for tags in a field of the type `tags`.")]
    NotTags {
        /// The field.
        field: String,
    },
    /// A filter by a facet is of a field that is no facet of the list.
    #[error("`{field}` is no facet of the list `{list}`: declare it in `facets` of that list.")]
    NotAFacet {
        /// The list.
        list: String,
        /// The field.
        field: String,
    },
    /// A filter has too many tests, or they are too deep in each other.
    #[error("A filter has at most {tests} tests, {depth} deep: ask for less.")]
    FilterTooLarge {
        /// How deep they can be.
        depth: usize,
        /// How many there can be.
        tests: usize,
    },
    /// It is not known how many entities are in a list, or in a range of one.
    #[error(
        "How many there are is known only of whole lists of entities with tags or facets, \
         and `{list}` is none: count what you read."
    )]
    NoTotal {
        /// The list.
        list: String,
    },
    /// A count is not told by this field, or it is named twice.
    #[error("{}", not_split(.count, .field, *.is_twice))]
    NotSplit {
        /// The count.
        count: String,
        /// The field.
        field: String,
        /// Whether it is named twice.
        is_twice: bool,
    },
    /// The one is no parent of the other.
    #[error("`{child}` is not a child of `{parent}`.")]
    NotAChild {
        /// The entity that was given as a parent.
        parent: String,
        /// The entity that was asked for as a child.
        child: String,
    },
}

fn not_split(count: &str, field: &str, is_twice: bool) -> String {
    if is_twice {
        return format!("`{field}` is named twice: give one value of it, or all of them.");
    }
    format!("The count `{count}` is not told by `{field}`: declare it in `split` of that count.")
}

/// A limit of entities.
pub(crate) fn check_limit(limit: u32) -> Result<(), RequestError> {
    const LIMIT_MAX: u32 = 1000;
    match limit {
        1..=LIMIT_MAX => Ok(()),
        _ => Err(RequestError::Limit { limit, limit_max: LIMIT_MAX }),
    }
}

/// A tenant is named if the entity has one, and only then.
pub(crate) fn check_tenant(
    layout: &Layout,
    id: EntityId,
    tenant: Option<&Value>,
) -> Result<(), RequestError> {
    let entity = || layout.model().entity(id).name.clone();
    match (layout.has_tenant(id), tenant) {
        (false, None) | (true, Some(Value::S(_) | Value::N(_))) => Ok(()),
        (true, Some(_)) => {
            let field = format!("the tenant of {}", entity());
            Err(RequestError::Value { field, expected: "text or int" })
        }
        (true, None) => Err(RequestError::TenantMissing { entity: entity() }),
        (false, Some(_)) => Err(RequestError::TenantGiven { entity: entity() }),
    }
}

/// One value for each field, each of the field's type.
pub(crate) fn check_values(
    entity: &Entity,
    what: impl FnOnce() -> String,
    fields: &[FieldId],
    values: &[Value],
) -> Result<(), RequestError> {
    if fields.len() != values.len() {
        let (expected, given) = (fields.len(), values.len());
        return Err(RequestError::Values { what: what(), expected, given });
    }
    fields.iter().zip(values).try_for_each(|(field, value)| check_value(entity, *field, value))
}

/// The value is of the field's type. What its range is makes no difference: nothing has it then.
pub(crate) fn check_value(
    entity: &Entity,
    field: FieldId,
    value: &Value,
) -> Result<(), RequestError> {
    let field = entity.field(field);
    let fits = match (&field.of, value) {
        (FieldType::Text(_) | FieldType::Ref(..), Value::S(_)) => true,
        (FieldType::Enum(members), Value::S(word)) => members.contains(word),
        (FieldType::Int(_) | FieldType::Number(_) | FieldType::Time, Value::N(_)) => true,
        (FieldType::Bool, Value::Bool(_)) => true,
        (FieldType::Bytes(_), Value::B(_)) => true,
        // Types that cannot be part of a key, and values of other types.
        _ => false,
    };
    if fits {
        return Ok(());
    }
    Err(RequestError::Value { field: field.name.clone(), expected: field.of.name() })
}
