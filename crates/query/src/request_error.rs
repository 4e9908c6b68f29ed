//! Invalid requests, and the checks that find them.

use keyloom_model::{Entity, EntityId, FieldId, FieldType, Layout};
use keyloom_value::Value;

/// What is wrong with a request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// The limit is out of range.
    #[error("The limit {limit} is out of range: use 1 to {limit_max}.")]
    Limit {
        /// The limit that was given.
        limit: u32,
        /// The greatest limit.
        limit_max: u32,
    },
    /// The entity belongs to tenants, and none was given.
    #[error("Every `{entity}` belongs to a tenant: name the one to read.")]
    TenantMissing {
        /// The entity.
        entity: String,
    },
    /// All tenants share the entity, and one was given.
    #[error("All tenants share `{entity}`: leave out the tenant.")]
    TenantGiven {
        /// The entity.
        entity: String,
    },
    /// The number of values differs from the number of fields.
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
    /// A value is not of the type of its field.
    #[error("A value of `{field}` is not of the type {expected}.")]
    Value {
        /// The field, or what stands in its place.
        field: String,
        /// The type of the field.
        expected: &'static str,
    },
    /// A filter looks for tags in a field that holds none.
    #[error("`{field}` holds no tags: look for tags in a field of the type `tags`.")]
    NotTags {
        /// The field.
        field: String,
    },
    /// A filter names a field that is not a facet of the list.
    #[error("`{field}` is not a facet of the list `{list}`: declare it in `facets` of that list.")]
    NotAFacet {
        /// The list.
        list: String,
        /// The field.
        field: String,
    },
    /// A filter names a field that lists cannot be filtered by.
    #[error(
        "Lists of `{entity}` cannot be filtered by `{field}` so: declare it in `filters` of `{entity}`."
    )]
    NotAFilter {
        /// The entity.
        entity: String,
        /// The field.
        field: String,
    },
    /// A filter gives a range of a field that has no ranges.
    #[error("`{field}` has no ranges: only numbers and times have.")]
    NoRanges {
        /// The field.
        field: String,
    },
    /// A filter has too many tests, or they are nested too deep.
    #[error("The filter is too large: use at most {tests} tests, nested at most {depth} deep.")]
    FilterTooLarge {
        /// The greatest depth.
        depth: usize,
        /// The greatest number of tests.
        tests: usize,
    },
    /// Entities of the list, or of a range of it, cannot be counted.
    #[error(
        "The list `{list}` has no total: only whole lists of entities with tags or facets have \
         one. Count what you read."
    )]
    NoTotal {
        /// The list.
        list: String,
    },
    /// A count is not split by this field, or it is named twice.
    #[error("{}", SplitProblem::new(.count, *.is_twice).describe(.field))]
    NotSplit {
        /// The count.
        count: String,
        /// The field.
        field: String,
        /// Whether it is named twice.
        is_twice: bool,
    },
    /// A count has no windows.
    #[error("The count `{count}` has no windows.")]
    NoWindows {
        /// The count.
        count: String,
    },
    /// A text is not a range of windows.
    #[error(
        "`{given}` is not a range of windows such as `2024-02-01..2024-03-01`: each end is a date or a \
         time, or left out."
    )]
    NotWindows {
        /// The text.
        given: String,
    },
    /// Windows are to be filled in a range without an end.
    #[error("Windows can only be filled between two times.")]
    OpenWindows,
    /// One entity is not a child of the other.
    #[error("`{child}` is not a child of `{parent}`.")]
    NotAChild {
        /// The entity that was given as a parent.
        parent: String,
        /// The entity that was asked for as a child.
        child: String,
    },
}

/// Why a count cannot be split by a field.
enum SplitProblem<'p> {
    NamedTwice,
    NotDeclared { count: &'p str },
}

impl<'p> SplitProblem<'p> {
    fn new(count: &'p str, is_twice: bool) -> SplitProblem<'p> {
        match is_twice {
            true => SplitProblem::NamedTwice,
            false => SplitProblem::NotDeclared { count },
        }
    }

    fn describe(&self, field: &str) -> String {
        match self {
            SplitProblem::NamedTwice => {
                format!("`{field}` is named twice: give one value of it, or all of them.")
            }
            SplitProblem::NotDeclared { count } => format!(
                "The count `{count}` is not split by `{field}`: declare it in `split` of that count."
            ),
        }
    }
}

/// Checks a limit.
pub(crate) fn check_limit(limit: u32) -> Result<(), RequestError> {
    const LIMIT_MAX: u32 = 1000;
    match limit {
        1..=LIMIT_MAX => Ok(()),
        _ => Err(RequestError::Limit { limit, limit_max: LIMIT_MAX }),
    }
}

/// Checks that a tenant is given if the entity has one, and only then.
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

/// Values that were given for fields of an entity.
pub(crate) struct GivenValues<'g> {
    pub(crate) entity: &'g Entity,
    pub(crate) fields: &'g [FieldId],
    pub(crate) values: &'g [Value],
}

impl GivenValues<'_> {
    /// Checks that there is one value for each field, each of the field's type. An error says what
    /// they are for.
    pub(crate) fn check(self, what: impl FnOnce() -> String) -> Result<(), RequestError> {
        let GivenValues { entity, fields, values } = self;
        if fields.len() != values.len() {
            let (expected, given) = (fields.len(), values.len());
            return Err(RequestError::Values { what: what(), expected, given });
        }
        fields.iter().zip(values).try_for_each(|(field, value)| check_value(entity, *field, value))
    }
}

/// Checks that a value is of the field's type. One out of the field's range is allowed: nothing has it.
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
