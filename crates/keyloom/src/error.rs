//! Why a database did not do what it was asked.

use std::fmt;

use keyloom_model::{EntityKey, FieldError, FieldType, KeyTooLong, ModelError, Refusal};
use keyloom_query::{CursorError, Error as QueryError, RequestError};
use keyloom_value::Value;

/// Why a database did not do what it was asked.
///
/// Nothing was changed then, with these exceptions: a backfill and a repair have done what they had
/// done before; what stood in the way and had expired may have been put away; and a deletion of
/// very many entities that was decided when the store failed will be brought to its end.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Error {
    /// The model has errors.
    Model(Vec<ModelError>),
    /// The data was written under a model that cannot become this one.
    Evolution(Vec<Refusal>),
    /// The model has no such thing: an entity, a list, a field.
    Unknown {
        /// What was looked for, as in "`task` has no list `opn`".
        what: String,
        /// What could have been meant.
        help: Option<String>,
    },
    /// The document breaks rules of the model.
    Fields {
        /// The kind of entity it is for.
        entity: String,
        /// Every rule that it breaks.
        errors: Vec<FieldError>,
    },
    /// The document cannot be read, or cannot be read as what was asked for.
    Document(crate::DocumentError),
    /// There is no such entity.
    NotFound {
        /// Its kind.
        entity: String,
        /// Its id.
        id: String,
    },
    /// An entity with this id is there already.
    Exists {
        /// Its kind.
        entity: String,
        /// Its id.
        id: String,
    },
    /// Another entity has a value that must be unique.
    Taken {
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
    VersionMismatch {
        /// Its kind.
        entity: String,
        /// Its id.
        id: String,
        /// The version it has.
        found: String,
    },
    /// It cannot be deleted: others refer to it.
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
    SameTwice {
        /// Its id.
        id: String,
    },
    /// The entity belongs to tenants, and none was named; or it does not, and one was.
    Tenant {
        /// Its kind.
        entity: String,
        /// What is wrong, and what to do.
        problem: TenantProblem,
    },
    /// An id is missing or must not be there.
    Id {
        /// The kind of entity.
        entity: String,
        /// What is wrong.
        problem: IdProblem,
    },
    /// The changes touch more rows than one transaction can.
    TooLarge {
        /// How many.
        rows: usize,
        /// How many there can be.
        rows_max: usize,
    },
    /// The fields of an entity are larger than a row can be, with room for its keys.
    EntityTooLarge {
        /// Its kind.
        entity: String,
        /// How large they are.
        bytes: usize,
        /// How large they can be.
        bytes_max: usize,
    },
    /// What the entities are after changes that happen once is larger than a row that keeps it.
    AnswerTooLarge {
        /// How large it is.
        bytes: usize,
        /// How large it can be.
        bytes_max: usize,
    },
    /// A tree has more entities than are read for one call: lower the limit, or ask for less.
    TreeTooLarge {
        /// How many it can have.
        entities_max: usize,
    },
    /// Other changes have happened with this key.
    KeyReused {
        /// The key.
        key: String,
    },
    /// A key for changes that happen once is empty or too long.
    KeyUnfit {
        /// How long it is.
        bytes: usize,
        /// How long it can be.
        bytes_max: usize,
    },
    /// Values do not fit into a key.
    KeyTooLong(KeyTooLong),
    /// The model has no jobs.
    NoJobs,
    /// A job is in no state in which this can be done to it.
    JobState {
        /// Its id.
        id: String,
        /// Its status.
        status: String,
        /// What was to be done, as in "canceled".
        wanted: &'static str,
    },
    /// Changes that a consumer has not seen are not kept any more.
    Behind {
        /// Its name.
        consumer: String,
        /// When the last change happened that it has seen, in milliseconds since 1970.
        seen_ms: i64,
        /// When the oldest change happened that is kept, if there is one.
        oldest_ms: Option<i64>,
    },
    /// What is asked for is still being built since the model was changed: ask again later.
    Building {
        /// The list or unique.
        what: String,
    },
    /// The database was opened with another model since: open it again with that one.
    ModelChanged,
    /// The request itself is wrong: a limit, a range.
    Request(RequestError),
    /// The cursor is not one of this question: ask for the first page.
    Cursor(CursorError),
    /// The store left rows of a batch unanswered, several times: ask again later.
    Unanswered {
        /// How many rows.
        rows: usize,
    },
    /// Others changed the same entities all the time: try again.
    Contended,
    /// Rows are not what they should be: verify and repair.
    Damaged {
        /// Which, and how.
        what: String,
    },
    /// There is no randomness to make ids from.
    Entropy {
        /// What the system said.
        reason: String,
    },
    /// The store failed.
    Store(keyloom_store::Error),
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

const BUILDING: &str = "is still being built since the model was changed: ask again later.";
const NO_JOBS: &str = "The model has no jobs: write `jobs = true` above its first table, or name with \
                       `on` what is called after changes.";
const MODEL_CHANGED: &str =
    "The database was opened with another model since: open it again with that one.";
const NO_ENTROPY: &str = "The system gives no random bytes to make ids from:";

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Model(errors) => f.write_str(&keyloom_model::render(errors, "model.toml")),
            Error::Evolution(refusals) => {
                write!(f, "The model cannot be changed like this; nothing was touched.")?;
                refusals.iter().try_for_each(|refusal| write!(f, "\n- {refusal}"))
            }
            Error::Unknown { what, help } => match help {
                Some(help) => write!(f, "{what}: {}", sentence(help)),
                None => write!(f, "{}", sentence(what)),
            },
            Error::Fields { entity, errors } => {
                write!(f, "This is no `{entity}`.")?;
                errors.iter().try_for_each(|error| write!(f, "\n- {}", sentence(error)))
            }
            Error::Document(error) => {
                write!(f, "The document cannot be read: {}", sentence(error))
            }
            Error::NotFound { entity, id } => {
                write!(f, "There is no `{entity}` with the id `{id}`.")
            }
            Error::Exists { entity, id } => {
                write!(f, "There is a `{entity}` with the id `{id}` already: choose another id.")
            }
            Error::Taken { entity, fields, id, owner } => {
                write_taken(f, (entity, fields), id.as_ref().zip(owner.as_ref()))
            }
            Error::VersionMismatch { entity, id, found } => write!(
                f,
                "The `{entity}` `{id}` was changed meanwhile and is at version `{found}`: read it \
                 again and decide anew."
            ),
            Error::InUse { entity, id, by_entity, by_field } => write!(
                f,
                "The `{entity}` `{id}` cannot be deleted: a `{by_entity}` refers to it with \
                 `{by_field}`. Delete or change what refers to it first."
            ),
            Error::TargetGone { entity, field, target, id } => write!(
                f,
                "`{field}` of `{entity}` refers to the `{target}` `{id}`, which is not there: \
                 create it first, or refer to another."
            ),
            Error::SameTwice { id } => write!(
                f,
                "Two changes of one transaction are about the entity `{id}`: make them one."
            ),
            Error::Tenant { entity, problem } => problem.write(f, entity),
            Error::Id { entity, problem } => problem.write(f, entity),
            Error::TooLarge { .. }
            | Error::EntityTooLarge { .. }
            | Error::AnswerTooLarge { .. }
            | Error::TreeTooLarge { .. }
            | Error::KeyReused { .. }
            | Error::KeyUnfit { .. }
            | Error::KeyTooLong(_)
            | Error::NoJobs
            | Error::JobState { .. }
            | Error::Behind { .. }
            | Error::Building { .. }
            | Error::ModelChanged
            | Error::Request(_)
            | Error::Cursor(_)
            | Error::Unanswered { .. }
            | Error::Contended
            | Error::Damaged { .. }
            | Error::Entropy { .. }
            | Error::Store(_) => self.write_not_now(f),
        }
    }
}

impl Error {
    /// What is not about the content of a change: its size, its key, its moment, the store.
    fn write_not_now(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::TooLarge { rows, rows_max } => write!(
                f,
                "The changes touch {rows} rows, and one transaction has at most {rows_max}: make \
                 several transactions of them."
            ),
            Error::EntityTooLarge { entity, bytes, bytes_max } => write!(
                f,
                "The fields of this `{entity}` take {bytes} bytes, and at most {bytes_max} can be \
                 kept: shorten them, or make several entities of them."
            ),
            Error::AnswerTooLarge { bytes, bytes_max } => write!(
                f,
                "What these changes answer takes {bytes} bytes, and at most {bytes_max} can be \
                 kept for a repeat: make several requests of them, each with a key of its own."
            ),
            Error::TreeTooLarge { entities_max } => write!(
                f,
                "There are more than {entities_max} entities in this tree: lower `limit`, or ask \
                 for less in `with`."
            ),
            Error::KeyReused { key } => write!(
                f,
                "Other changes have happened with the key `{key}`: use another key for another \
                 request."
            ),
            Error::KeyUnfit { bytes, bytes_max } => write!(
                f,
                "A key has 1 to {bytes_max} bytes, and this one has {bytes}: use another one."
            ),
            Error::KeyTooLong(error) => fmt::Display::fmt(error, f),
            Error::NoJobs => f.write_str(NO_JOBS),
            Error::JobState { id, status, wanted } => {
                write!(f, "The job `{id}` cannot be {wanted}: it is {status}.")
            }
            Error::Behind { consumer, seen_ms, oldest_ms } => {
                write_behind(f, consumer, (*seen_ms, *oldest_ms))
            }
            Error::Building { what } => write!(f, "{what} {BUILDING}"),
            Error::ModelChanged => f.write_str(MODEL_CHANGED),
            Error::Request(error) => fmt::Display::fmt(error, f),
            Error::Cursor(error) => fmt::Display::fmt(error, f),
            Error::Unanswered { rows } => {
                write!(f, "The store left {rows} rows unanswered, several times: ask again later.")
            }
            Error::Contended => {
                write!(f, "Others changed the same entities all the time: try again.")
            }
            Error::Damaged { what } => f.write_str(what),
            Error::Entropy { reason } => write!(f, "{NO_ENTROPY} {}", sentence(reason)),
            Error::Store(error) => fmt::Display::fmt(error, f),
            Error::Model(_)
            | Error::Evolution(_)
            | Error::Unknown { .. }
            | Error::Fields { .. }
            | Error::Document(_)
            | Error::NotFound { .. }
            | Error::Exists { .. }
            | Error::Taken { .. }
            | Error::VersionMismatch { .. }
            | Error::InUse { .. }
            | Error::TargetGone { .. }
            | Error::SameTwice { .. }
            | Error::Tenant { .. }
            | Error::Id { .. } => Ok(()),
        }
    }
}

impl TenantProblem {
    fn write(self, f: &mut fmt::Formatter<'_>, entity: &str) -> fmt::Result {
        match self {
            TenantProblem::Missing => {
                write!(f, "Every `{entity}` belongs to a tenant: say which with `Db::tenant`.")
            }
            TenantProblem::Unfit => {
                write!(
                    f,
                    "The tenant is not a value of the tenant field of `{entity}`: give \
                     `Db::tenant` one that is."
                )
            }
            TenantProblem::Other => write!(
                f,
                "The `{entity}` names another tenant than the one it is written for: leave the \
                 field out."
            ),
        }
    }
}

impl IdProblem {
    fn write(self, f: &mut fmt::Formatter<'_>, entity: &str) -> fmt::Result {
        match self {
            IdProblem::Missing => {
                write!(f, "Every `{entity}` is given its id: put a text into `id`.")
            }
            IdProblem::Given => {
                write!(f, "The id of a `{entity}` is made for it: leave `id` out.")
            }
            IdProblem::Other => {
                write!(f, "The `id` in the document is not the id of the `{entity}`: leave it out.")
            }
        }
    }
}

/// A value is not unique: of one that comes, or of two that are there.
fn write_taken(
    f: &mut fmt::Formatter<'_>,
    (entity, fields): (&str, &[String]),
    both: Option<(&String, &String)>,
) -> fmt::Result {
    let names = names(fields);
    match both {
        Some((id, owner)) => write!(
            f,
            "The `{entity}` `{id}` and the `{entity}` `{owner}` have the same {names}, which must \
             be unique: change or delete one of them."
        ),
        None => write!(
            f,
            "Another `{entity}` has this {names} already, which must be unique: choose another."
        ),
    }
}

/// What is lost to a consumer, as far as it is known, and the way out.
fn write_behind(
    f: &mut fmt::Formatter<'_>,
    consumer: &str,
    (seen_ms, oldest_ms): (i64, Option<i64>),
) -> fmt::Result {
    let time = |ms: i64| match FieldType::Time.show(&Value::from(ms)) {
        Value::S(text) => text,
        other => other.to_string(),
    };
    let oldest = oldest_ms.map_or_else(|| "now".to_owned(), time);
    write!(
        f,
        "The consumer `{consumer}` is too far behind: changes between {} and {oldest} are not kept \
         any more, and it has not seen them. Go on from the oldest or from the newest change with \
         `Db::resume`, and keep changes for longer.",
        time(seen_ms)
    )
}

/// "`a`", "`a` and `b`": as a sentence has it.
fn names(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(" and ")
}

/// With a full stop, unless it ends already.
pub(crate) fn sentence(text: impl fmt::Display) -> String {
    let text = text.to_string();
    let end = if text.ends_with(['.', '?', '!']) { "" } else { "." };
    text + end
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Store(error) => Some(error),
            _ => None,
        }
    }
}

impl From<keyloom_store::Error> for Error {
    fn from(error: keyloom_store::Error) -> Error {
        Error::Store(error)
    }
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
    pub(crate) fn damaged(what: impl fmt::Display) -> Error {
        Error::Damaged { what: format!("{what} Verify and repair the data.") }
    }

    /// Of an entity that is there already, not of one that comes.
    pub(crate) fn of(self, key: &EntityKey) -> Error {
        match self {
            Error::Taken { entity, fields, owner, .. } => {
                Error::Taken { entity, fields, id: Some(key.id.clone()), owner }
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
