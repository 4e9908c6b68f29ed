//! Why a database did not do what it was asked.

use std::fmt::Display;

use keyloom_model::{EntityKey, FieldError, FieldType, KeyTooLong, ModelError, Refusal};
use keyloom_query::{CursorError, Error as QueryError, RequestError};
use keyloom_value::Value;

/// Why a database did not do what it was asked.
///
/// Nothing was changed then, with these exceptions: a backfill and a repair have done what they had
/// done before; what stood in the way and had expired may have been put away; and a deletion of
/// very many entities that was decided when the store failed will be brought to its end.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The model has errors.
    #[error("{}", keyloom_model::render(.0, "model.toml"))]
    Model(Vec<ModelError>),
    /// The data was written under a model that cannot become this one.
    #[error("The model cannot be changed like this; nothing was touched.{}", lines(.0))]
    Evolution(Vec<Refusal>),
    /// The model has no such thing: an entity, a list, a field.
    #[error("{}", unknown(.what, .help.as_deref()))]
    Unknown {
        /// What was looked for, as in "`task` has no list `opn`".
        what: String,
        /// What could have been meant.
        help: Option<String>,
    },
    /// The document breaks rules of the model.
    #[error("This is no `{entity}`.{}", lines(.errors.iter().map(sentence)))]
    Fields {
        /// The kind of entity it is for.
        entity: String,
        /// Every rule that it breaks.
        errors: Vec<FieldError>,
    },
    /// The document cannot be read, or cannot be read as what was asked for.
    #[error("The document cannot be read: {}", sentence(.0))]
    Document(crate::DocumentError),
    /// There is no such entity.
    #[error("There is no `{entity}` with the id `{id}`.")]
    NotFound {
        /// Its kind.
        entity: String,
        /// Its id.
        id: String,
    },
    /// An entity with this id is there already.
    #[error("There is a `{entity}` with the id `{id}` already: choose another id.")]
    Exists {
        /// Its kind.
        entity: String,
        /// Its id.
        id: String,
    },
    /// Another entity has a value that must be unique.
    #[error("{}", taken((.entity, .fields), .id.as_ref().zip(.owner.as_ref())))]
    UniqueViolation {
        /// The kind of both.
        entity: String,
        /// The fields that together are unique.
        fields: Vec<String>,
        /// The id of the one that cannot have the value, if it is there already: the model was
        /// changed, and two that are there would not be unique.
        id: Option<String>,
        /// The id of the other one, if it is known.
        owner: Option<String>,
    },
    /// The entity has another version than was expected: read it again.
    #[error(
        "The `{entity}` `{id}` was changed meanwhile and is at version `{found}`: read it \
         again and decide anew."
    )]
    VersionMismatch {
        /// Its kind.
        entity: String,
        /// Its id.
        id: String,
        /// The version it has.
        found: String,
    },
    /// It cannot be deleted: others refer to it.
    #[error(
        "The `{entity}` `{id}` cannot be deleted: a `{by_entity}` refers to it with \
         `{by_field}`. Delete or change what refers to it first."
    )]
    InUse {
        /// Its kind.
        entity: String,
        /// Its id.
        id: String,
        /// The kind of one that refers to it.
        by_entity: String,
        /// With which field.
        by_field: String,
    },
    /// A field refers to an entity that is not there.
    #[error(
        "`{field}` of `{entity}` refers to the `{target}` `{id}`, which is not there: \
         create it first, or refer to another."
    )]
    TargetGone {
        /// The kind of entity that refers.
        entity: String,
        /// With which field.
        field: String,
        /// To which kind.
        target: String,
        /// To which id.
        id: String,
    },
    /// Several changes of one transaction are about the same entity.
    #[error("Two changes of one transaction are about the entity `{id}`: make them one.")]
    SameTwice {
        /// Its id.
        id: String,
    },
    /// The entity belongs to tenants, and none was named; or it does not, and one was.
    #[error("{}", .problem.text(.entity))]
    Tenant {
        /// Its kind.
        entity: String,
        /// What is wrong, and what to do.
        problem: TenantProblem,
    },
    /// An id is missing or must not be there.
    #[error("{}", .problem.text(.entity))]
    Id {
        /// The kind of entity.
        entity: String,
        /// What is wrong.
        problem: IdProblem,
    },
    /// The changes touch more rows than one transaction can.
    #[error(
        "The changes touch {rows} rows, and one transaction has at most {rows_max}: make \
         several transactions of them."
    )]
    TooLarge {
        /// How many.
        rows: usize,
        /// How many there can be.
        rows_max: usize,
    },
    /// The fields of an entity are larger than a row can be, with room for its keys.
    #[error(
        "The fields of this `{entity}` take {bytes} bytes, and at most {bytes_max} can be \
         kept: shorten them, or make several entities of them."
    )]
    EntityTooLarge {
        /// Its kind.
        entity: String,
        /// How large they are.
        bytes: usize,
        /// How large they can be.
        bytes_max: usize,
    },
    /// What the entities are after changes that happen once is larger than a row that keeps it.
    #[error(
        "What these changes answer takes {bytes} bytes, and at most {bytes_max} can be \
         kept for a repeat: make several requests of them, each with a key of its own."
    )]
    AnswerTooLarge {
        /// How large it is.
        bytes: usize,
        /// How large it can be.
        bytes_max: usize,
    },
    /// A tree has more entities than are read for one call: lower the limit, or ask for less.
    #[error(
        "There are more than {entities_max} entities in this tree: lower `limit`, or ask \
         for less in `with`."
    )]
    TreeTooLarge {
        /// How many it can have.
        entities_max: usize,
    },
    /// Other changes have happened with this key.
    #[error(
        "Other changes have happened with the key `{key}`: use another key for another \
         request."
    )]
    KeyReused {
        /// The key.
        key: String,
    },
    /// A key for changes that happen once is empty or too long.
    #[error("A key has 1 to {bytes_max} bytes, and this one has {bytes}: use another one.")]
    KeyUnfit {
        /// How long it is.
        bytes: usize,
        /// How long it can be.
        bytes_max: usize,
    },
    /// Values do not fit into a key.
    #[error("{0}")]
    KeyTooLong(KeyTooLong),
    /// The model has no jobs.
    #[error(
        "The model has no jobs: write `jobs = true` above its first table, or name with `on` what is \
         called after changes."
    )]
    NoJobs,
    /// A job is in no state in which this can be done to it.
    #[error("The job `{id}` cannot be {wanted}: it is {status}.")]
    JobState {
        /// Its id.
        id: String,
        /// Its status.
        status: String,
        /// What was to be done, as in "canceled".
        wanted: &'static str,
    },
    /// Changes that a consumer has not seen are not kept any more.
    #[error("{}", behind(.consumer, *.seen_ms, *.oldest_ms))]
    Behind {
        /// Its name.
        consumer: String,
        /// When the last change happened that it has seen, in milliseconds since 1970.
        seen_ms: i64,
        /// When the oldest change happened that is kept, if there is one.
        oldest_ms: Option<i64>,
    },
    /// What is asked for is still being built since the model was changed: ask again later.
    #[error("{what} is still being built since the model was changed: ask again later.")]
    Building {
        /// The list or unique.
        what: String,
    },
    /// The database was opened with another model since: open it again with that one.
    #[error("The database was opened with another model since: open it again with that one.")]
    ModelChanged,
    /// The request itself is wrong: a limit, a range.
    #[error("{0}")]
    Request(RequestError),
    /// The cursor is not one of this question: ask for the first page.
    #[error("{0}")]
    Cursor(CursorError),
    /// The store left rows of a batch unanswered, several times: ask again later.
    #[error("The store left {rows} rows unanswered, several times: ask again later.")]
    Unanswered {
        /// How many rows.
        rows: usize,
    },
    /// Others changed the same entities all the time: try again.
    #[error("Others changed the same entities all the time: try again.")]
    Contended,
    /// Rows are not what they should be: verify and repair.
    #[error("{what}")]
    Damaged {
        /// Which, and how.
        what: String,
    },
    /// There is no randomness to make ids from.
    #[error("The system gives no random bytes to make ids from: {}", sentence(.reason))]
    Entropy {
        /// What the system said.
        reason: String,
    },
    /// The store failed.
    #[error("{0}")]
    Store(#[from] keyloom_store::Error),
}

/// What is wrong about a tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TenantProblem {
    /// None was named.
    Missing,
    /// It is no value of the tenant field.
    Unfit,
    /// The document names another one.
    Other,
}

/// What is wrong about an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdProblem {
    /// The caller gives ids of this kind, and gave none that is a text.
    Missing,
    /// Ids of this kind are made, and one was given.
    Given,
    /// The document has another id than the one it is for.
    Other,
}

impl TenantProblem {
    fn text(self, entity: &str) -> String {
        match self {
            TenantProblem::Missing => {
                format!("Every `{entity}` belongs to a tenant: say which with `Db::tenant`.")
            }
            TenantProblem::Unfit => {
                format!(
                    "The tenant is not a value of the tenant field of `{entity}`: give \
                     `Db::tenant` one that is."
                )
            }
            TenantProblem::Other => format!(
                "The `{entity}` names another tenant than the one it is written for: leave the \
                 field out."
            ),
        }
    }
}

impl IdProblem {
    fn text(self, entity: &str) -> String {
        match self {
            IdProblem::Missing => {
                format!("Every `{entity}` is given its id: put a text into `id`.")
            }
            IdProblem::Given => {
                format!("The id of a `{entity}` is made for it: leave `id` out.")
            }
            IdProblem::Other => {
                format!("The `id` in the document is not the id of the `{entity}`: leave it out.")
            }
        }
    }
}

/// A value is not unique: of one that comes, or of two that are there.
fn taken((entity, fields): (&str, &[String]), both: Option<(&String, &String)>) -> String {
    let names = names(fields);
    match both {
        Some((id, owner)) => format!(
            "The `{entity}` `{id}` and the `{entity}` `{owner}` have the same {names}, which must \
             be unique: change or delete one of them."
        ),
        None => format!(
            "Another `{entity}` has this {names} already, which must be unique: choose another."
        ),
    }
}

/// What is lost to a consumer, as far as it is known, and the way out.
fn behind(consumer: &str, seen_ms: i64, oldest_ms: Option<i64>) -> String {
    let time = |ms: i64| match FieldType::Time.to_external(&Value::from(ms)) {
        Value::S(text) => text,
        other => other.to_string(),
    };
    let (seen, oldest) = (time(seen_ms), oldest_ms.map_or_else(|| "now".to_owned(), time));
    format!(
        "The consumer `{consumer}` is too far behind: changes between {seen} and {oldest} are not kept \
         any more, or were made before the store was restored, and it has not seen them. Go on from \
         the oldest or from the newest change with `Db::resume`, and keep changes for longer."
    )
}

/// The model has no such thing.
fn unknown(what: &str, help: Option<&str>) -> String {
    match help {
        Some(help) => format!("{what}: {}", sentence(help)),
        None => sentence(what),
    }
}

/// Each on a line of its own.
fn lines<T: Display>(all: impl IntoIterator<Item = T>) -> String {
    all.into_iter().map(|one| format!("\n- {one}")).collect()
}

/// "`a`", "`a` and `b`": as a sentence has it.
fn names(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(" and ")
}

/// With a full stop, unless it ends already.
pub(crate) fn sentence(text: impl Display) -> String {
    let text = text.to_string();
    let end = if text.ends_with(['.', '?', '!']) { "" } else { "." };
    text + end
}

impl From<QueryError> for Error {
    fn from(error: QueryError) -> Error {
        match error {
            QueryError::Store(keyloom_store::Error::IndexBuilding { index, .. }) => {
                Error::Building { what: format!("The index `{index}`") }
            }
            QueryError::Store(error) => Error::Store(error),
            QueryError::Cursor(error) => Error::Cursor(error),
            QueryError::Request(error) => Error::Request(error),
            QueryError::Unanswered { rows } => Error::Unanswered { rows },
            error => Error::Damaged { what: error.to_string() },
        }
    }
}

impl Error {
    /// Rows are not what they should be.
    pub(crate) fn damaged(what: impl Display) -> Error {
        Error::Damaged { what: format!("{what} Verify and repair the data.") }
    }

    /// Of an entity that is there already, not of one that comes.
    pub(crate) fn of(self, key: &EntityKey) -> Error {
        match self {
            Error::UniqueViolation { entity, fields, owner, .. } => {
                Error::UniqueViolation { entity, fields, id: Some(key.id.clone()), owner }
            }
            error => error,
        }
    }
}

impl From<KeyTooLong> for Error {
    fn from(error: KeyTooLong) -> Error {
        Error::KeyTooLong(error)
    }
}
