//! Errors of a database. Each message says what is wrong, where, and how to fix it.

use std::fmt::Display;

use keyloom_model::{
    EntityKey, FieldError, FieldType, KeyTooLong, ModelError, Refusal, SumTooLong,
};
use keyloom_query::{CursorError, Error as QueryError, RequestError};
use keyloom_value::Value;

/// An error of a database.
///
/// A call that fails changes nothing, with these exceptions: a backfill or a repair keeps what it
/// had done before; expired entities that were in the way may have been deleted; and a deletion of
/// very many entities that was already decided when the store failed will still complete.
///
/// ```
/// # use std::sync::Arc;
/// # use keyloom::{Db, Error};
/// # use keyloom_store::{MemoryStore, SystemClock};
/// # use serde_json::json;
/// # pollster::block_on(async {
/// # let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
/// let model = r#"
///     [entity.person]
///     fields.email = "text"
///     unique = ["email"]
/// "#;
/// let db = Db::open(model, store).await?;
/// let ann = json!({ "email": "ann@example.com" });
/// db.create("person", &ann).await?;
/// let refused = db.create("person", &ann).await;
/// assert!(matches!(refused, Err(Error::UniqueViolation { .. })));
/// # Ok::<(), keyloom::Error>(())
/// # }).expect("the example runs");
/// ```
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The model has errors.
    #[error("{}", keyloom_model::render(.0, "model.toml"))]
    Model(Vec<ModelError>),
    /// The stored data was written under a model that cannot become this one.
    #[error("The stored data does not fit the new model; nothing was changed.{}", lines(.0))]
    Evolution(Vec<Refusal>),
    /// The model has no entity, list, field, … of this name.
    #[error("{}", unknown(.what, .help.as_deref()))]
    Unknown {
        /// What is wrong, as in "`task` has no list `opn`".
        what: String,
        /// How to fix it, such as a similar name.
        help: Option<String>,
    },
    /// The document breaks rules of the model.
    #[error("Invalid `{entity}`:{}", lines(.errors.iter().map(sentence)))]
    Fields {
        /// The kind of entity it is for.
        entity: String,
        /// Every violation.
        errors: Vec<FieldError>,
    },
    /// The document cannot be read, or does not fit the requested type.
    #[error("Invalid document: {}", sentence(.0))]
    Document(crate::DocumentError),
    /// No entity has this id.
    #[error("Not found: `{entity}` with id `{id}`.")]
    NotFound {
        /// Its kind.
        entity: String,
        /// Its id.
        id: String,
    },
    /// The access rules of the model do not allow it.
    #[error("Forbidden: {what}.")]
    Forbidden {
        /// What is not allowed, as in "the access rules do not let this user read `task`".
        what: String,
    },
    /// An entity with this id already exists.
    #[error("A `{entity}` with id `{id}` already exists: choose another id.")]
    Exists {
        /// Its kind.
        entity: String,
        /// Its id.
        id: String,
    },
    /// Another entity already has a value that must be unique.
    #[error("{}", unique_violation(.entity, .fields, .id.as_deref().zip(.owner.as_deref())))]
    UniqueViolation {
        /// The kind of both.
        entity: String,
        /// The fields that together are unique.
        fields: Vec<String>,
        /// The id of the entity that cannot have the value, if it exists already: the model was
        /// changed, and two existing entities would not be unique.
        id: Option<String>,
        /// The id of the entity that has the value, if known.
        owner: Option<String>,
    },
    /// The entity does not have the expected version: read it again.
    #[error(
        "Version mismatch: the `{entity}` `{id}` is at version `{found}`. Read it again and retry."
    )]
    VersionMismatch {
        /// Its kind.
        entity: String,
        /// Its id.
        id: String,
        /// The version it has.
        found: String,
    },
    /// The entity cannot be deleted, because others refer to it.
    #[error(
        "Cannot delete the `{entity}` `{id}`: the field `{by_field}` of a `{by_entity}` refers to it. \
         Delete or change what refers to it first."
    )]
    InUse {
        /// Its kind.
        entity: String,
        /// Its id.
        id: String,
        /// The kind of an entity that refers to it.
        by_entity: String,
        /// The field that refers to it.
        by_field: String,
    },
    /// A field refers to an entity that does not exist.
    #[error(
        "`{field}` of `{entity}` refers to the `{target}` `{id}`, which does not exist: \
         create it first, or refer to another."
    )]
    TargetGone {
        /// The kind of the entity that refers.
        entity: String,
        /// The field that refers.
        field: String,
        /// The kind that it refers to.
        target: String,
        /// The id that it refers to.
        id: String,
    },
    /// Several changes of one transaction target the same entity.
    #[error("Two changes of one transaction target the entity `{id}`: combine them into one.")]
    SameTwice {
        /// Its id.
        id: String,
    },
    /// Several changes of one transaction have the same name.
    #[error("Two changes of one transaction have the name `{name}`: choose another name.")]
    NameTwice {
        /// The name.
        name: String,
    },
    /// The tenant is missing, invalid, or not the one of the document.
    #[error("{}", .problem.text(.entity))]
    Tenant {
        /// Its kind.
        entity: String,
        /// What is wrong.
        problem: TenantProblem,
    },
    /// The id is missing, unexpected, or not the one of the document.
    #[error("{}", .problem.text(.entity))]
    Id {
        /// The kind of entity.
        entity: String,
        /// What is wrong.
        problem: IdProblem,
    },
    /// The changes touch more rows than fit into one transaction.
    #[error(
        "The transaction touches {rows} rows, and the limit is {rows_max}: split it into several \
         transactions."
    )]
    TooLarge {
        /// The number of rows.
        rows: usize,
        /// The limit.
        rows_max: usize,
    },
    /// The fields of an entity do not fit into a row.
    #[error(
        "The fields of the `{entity}` take {bytes} bytes, and the limit is {bytes_max}: shorten them, \
         or split the entity."
    )]
    EntityTooLarge {
        /// Its kind.
        entity: String,
        /// The size of the fields.
        bytes: usize,
        /// The limit.
        bytes_max: usize,
    },
    /// The result of idempotent changes does not fit into the row that stores it.
    #[error(
        "The result of these changes takes {bytes} bytes, and at most {bytes_max} can be stored under \
         an idempotency key: split them into several requests, each with its own key."
    )]
    AnswerTooLarge {
        /// The size of the result.
        bytes: usize,
        /// The limit.
        bytes_max: usize,
    },
    /// A tree has more entities than one call reads: lower the limit, or request less.
    #[error(
        "The tree has more than {entities_max} entities, lists and counters: lower `limit`, or request \
         less in `with`."
    )]
    TreeTooLarge {
        /// The limit.
        entities_max: usize,
    },
    /// The idempotency key was used for other changes.
    #[error("The idempotency key `{key}` was used for another request: use a new key.")]
    KeyReused {
        /// The key.
        key: String,
    },
    /// An idempotency key is empty or too long.
    #[error("Invalid idempotency key: it has {bytes} bytes, and must have 1 to {bytes_max}.")]
    KeyUnfit {
        /// The length of the key.
        bytes: usize,
        /// The limit.
        bytes_max: usize,
    },
    /// Values do not fit into a key.
    #[error("{0}")]
    KeyTooLong(KeyTooLong),
    /// A sum of a count would not be exact: see [`SumTooLong`].
    #[error("Cannot be written: {0}.")]
    SumTooLong(SumTooLong),
    /// The model has no jobs.
    #[error(
        "The model has no jobs: add `jobs = true` above its first table, or declare handlers with `on`."
    )]
    NoJobs,
    /// The status of a job does not allow this.
    #[error("The job `{id}` cannot be {wanted}: its status is `{status}`.")]
    JobState {
        /// Its id.
        id: String,
        /// Its status.
        status: String,
        /// What was requested, as in "canceled".
        wanted: &'static str,
    },
    /// The state of a bulk operation does not allow this.
    #[error("The operation `{id}` cannot be canceled: its state is `{state}`.")]
    OperationEnded {
        /// Its id.
        id: String,
        /// Its state.
        state: crate::bulk::BulkState,
    },
    /// A tenant has as many unfinished bulk operations as it can have.
    #[error(
        "{operations_max} bulk operations are unfinished, which is the limit: retry when one of them \
         has ended, or cancel one."
    )]
    TooManyOperations {
        /// The limit.
        operations_max: u64,
    },
    /// Changes that a consumer has not seen are no longer available.
    #[error("{}", behind(.consumer, *.seen_ms, *.oldest_ms))]
    Behind {
        /// Its name.
        consumer: String,
        /// The time of the last change that it has seen, in milliseconds since 1970.
        seen_ms: i64,
        /// The time of the oldest change that is available, if there is one.
        oldest_ms: Option<i64>,
    },
    /// What a query needs is still being built after a change of the model: retry later.
    #[error("{what} is still being built after a change of the model: retry later.")]
    Building {
        /// The list or unique.
        what: String,
    },
    /// Another process has changed the model, and this version cannot read the new one: it does not
    /// write any more. Also the result of a background operation that met the change: call it again.
    #[error(
        "The model of the database has changed, and this process runs an older one: it does not \
         write. Replace it with a version that has the new model, or retry with another process."
    )]
    ModelChanged,
    /// The model was replaced by a newer one, and processes share the store.
    #[error("{}", older_model(*.since_ms))]
    OlderModel {
        /// When the newer model was created, in milliseconds since 1970.
        since_ms: i64,
    },
    /// The lists of a model need more indexes than a table of this store can have.
    #[error(
        "The lists of an entity need {needed} indexes, and a table of this store has at most {limit}: \
         declare fewer lists, or use a store without this limit, such as the embedded engine."
    )]
    TooManyIndexes {
        /// How many the model needs.
        needed: usize,
        /// The limit of the store.
        limit: usize,
    },
    /// The table is being filled by a copy that is not finished.
    #[error(
        "The table holds an unfinished copy: run the same `keyloom copy` again to finish it, or remove \
         the data and copy again."
    )]
    UnfinishedCopy,
    /// A copy cannot begin, continue or end.
    #[error("{reason}")]
    Copy {
        /// What is wrong, and how to fix it.
        reason: String,
    },
    /// The request itself is invalid: a limit, a range.
    #[error("{0}")]
    Request(RequestError),
    /// The cursor does not belong to this query: start from the first page.
    #[error("{0}")]
    Cursor(CursorError),
    /// The store repeatedly left rows of a batch unprocessed: retry later.
    #[error("The store repeatedly left {rows} rows unprocessed: retry later.")]
    Unanswered {
        /// The number of rows.
        rows: usize,
    },
    /// Every attempt conflicted with other writes, until the deadline: retry later.
    #[error("Too many concurrent writes to the same entities: retry later.")]
    Contended,
    /// The table contains invalid rows: verify and repair the data.
    #[error("{what}")]
    Damaged {
        /// Which rows, and what is wrong with them.
        what: String,
    },
    /// The source of randomness failed.
    #[error("Cannot read random bytes for ids: {}", sentence(.reason))]
    Entropy {
        /// The system's message.
        reason: String,
    },
    /// The store failed.
    #[error("{0}")]
    Store(#[from] keyloom_store::Error),
}

/// What is wrong with a tenant.
///
/// ```
/// # use std::sync::Arc;
/// # use keyloom::{Db, Error, TenantProblem};
/// # use keyloom_store::{MemoryStore, SystemClock};
/// # use serde_json::json;
/// # let model = "[entity.task]\ntenant = \"team\"\nfields.team = \"text\"\n\
/// #     fields.name = \"text\"";
/// # pollster::block_on(async {
/// # let db = Db::open(model, Arc::new(MemoryStore::new(Arc::new(SystemClock)))).await?;
/// // `Db::tenant` selects one.
/// let refused = db.create("task", &json!({ "name": "cook" })).await;
/// assert!(matches!(refused, Err(Error::Tenant { problem: TenantProblem::Missing, .. })));
/// # Ok::<(), keyloom::Error>(())
/// # }).expect("the example runs");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TenantProblem {
    /// No tenant is selected.
    Missing,
    /// The tenant is not a value of the tenant field.
    Unfit,
    /// The document names another tenant.
    Other,
}

/// What is wrong with an id.
///
/// ```
/// # use std::sync::Arc;
/// # use keyloom::{Db, Error, IdProblem};
/// # use keyloom_store::{MemoryStore, SystemClock};
/// # use serde_json::json;
/// # let model = "[entity.task]\nfields.name = \"text\"";
/// # pollster::block_on(async {
/// # let db = Db::open(model, Arc::new(MemoryStore::new(Arc::new(SystemClock)))).await?;
/// let refused = db.create("task", &json!({ "id": "mine", "name": "cook" })).await;
/// assert!(matches!(refused, Err(Error::Id { problem: IdProblem::Given, .. })));
/// # Ok::<(), keyloom::Error>(())
/// # }).expect("the example runs");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdProblem {
    /// Callers choose the ids of this kind, and the document has none that is a text.
    Missing,
    /// Ids of this kind are generated, and the document has one.
    Given,
    /// The document has another id than the entity.
    Other,
}

impl TenantProblem {
    fn text(self, entity: &str) -> String {
        match self {
            TenantProblem::Missing => {
                format!("A `{entity}` belongs to a tenant: select one with `Db::tenant`.")
            }
            TenantProblem::Unfit => {
                format!(
                    "The tenant is not a valid value of the tenant field of `{entity}`: pass another \
                     to `Db::tenant`."
                )
            }
            TenantProblem::Other => format!(
                "The `{entity}` names another tenant than the selected one: omit the tenant field."
            ),
        }
    }
}

impl IdProblem {
    fn text(self, entity: &str) -> String {
        match self {
            IdProblem::Missing => {
                format!("Missing id: set `id` of the `{entity}` to a text.")
            }
            IdProblem::Given => {
                format!("Unexpected id: the ids of `{entity}` are generated. Omit `id`.")
            }
            IdProblem::Other => {
                format!("The `id` in the document is not the id of the `{entity}`: omit it.")
            }
        }
    }
}

/// A value is not unique: that of a new entity, or those of two existing ones.
fn unique_violation(entity: &str, fields: &[String], existing: Option<(&str, &str)>) -> String {
    let names = names(fields);
    match existing {
        Some((id, owner)) => format!(
            "The `{entity}` `{id}` and the `{entity}` `{owner}` have the same {names}, which must be \
             unique: change or delete one of them."
        ),
        None => format!(
            "Another `{entity}` already has this {names}, which must be unique: choose another value."
        ),
    }
}

fn older_model(since_ms: i64) -> String {
    format!(
        "This model is older than that of the database, which replaced it at {}: start this process \
         with the newer model. To go back to this one, allow it with `--allow-older-model` \
         (`Options::allow_older_model`).",
        time(since_ms)
    )
}

fn time(ms: i64) -> String {
    match FieldType::Time.to_external(&Value::from(ms)) {
        Value::S(text) => text,
        other => other.to_string(),
    }
}

/// Which changes a consumer has lost, as far as is known.
fn behind(consumer: &str, seen_ms: i64, oldest_ms: Option<i64>) -> String {
    let (seen, oldest) = (time(seen_ms), oldest_ms.map_or_else(|| "now".to_owned(), time));
    format!(
        "The consumer `{consumer}` is too far behind: it has not seen the changes between {seen} and \
         {oldest}, which have expired or were made before the store was restored. Resume from the \
         oldest or from the newest change with `Db::resume`, and keep changes for longer."
    )
}

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

/// "`a`", "`a` and `b`".
fn names(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(" and ")
}

/// The text with a full stop, unless it ends with one.
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
    /// The table contains invalid rows.
    pub(crate) fn damaged(what: impl Display) -> Error {
        Error::Damaged { what: format!("{what} Verify and repair the data.") }
    }

    /// Whether another model might give another result. Rows of a later revision look damaged. Taken
    /// values and missing targets are found by transactions, which check that the model is in force.
    pub(crate) fn depends_on_model(&self) -> bool {
        !matches!(
            self,
            Error::NotFound { .. }
                | Error::Exists { .. }
                | Error::VersionMismatch { .. }
                | Error::UniqueViolation { .. }
                | Error::TargetGone { .. }
                | Error::KeyReused { .. }
                | Error::KeyUnfit { .. }
                | Error::OperationEnded { .. }
                | Error::TooManyOperations { .. }
                | Error::Contended
                | Error::Unanswered { .. }
                | Error::Entropy { .. }
                | Error::Store(_)
        )
    }

    /// A unique violation of an existing entity, not of a new one.
    pub(crate) fn of(self, key: &EntityKey) -> Error {
        match self {
            Error::UniqueViolation { entity, fields, owner, .. } => {
                Error::UniqueViolation { entity, fields, id: Some(key.id.clone()), owner }
            }
            error => error,
        }
    }
}

impl From<SumTooLong> for Error {
    fn from(error: SumTooLong) -> Error {
        Error::SumTooLong(error)
    }
}

impl From<KeyTooLong> for Error {
    fn from(error: KeyTooLong) -> Error {
        Error::KeyTooLong(error)
    }
}
