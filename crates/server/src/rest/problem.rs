//! Problems: error responses as RFC 9457 defines them. The codes are stable; the texts are for people.

use hyper::StatusCode;
use serde_json::{Map, Value, json};

use crate::http::refusal::Refusal;

/// Why a request failed.
#[derive(Clone, Debug)]
pub struct Problem {
    kind: Kind,
    detail: String,
    errors: Vec<FieldProblem>,
    /// The supported methods of a path, if the requested one is not.
    allow: Option<String>,
    /// When to retry, if that can help.
    retry_secs: Option<u32>,
    /// The internal cause, for the log only.
    cause: Option<String>,
}

/// A problem with one field of a document.
#[derive(Clone, Debug)]
pub(super) struct FieldProblem {
    /// Its path, as in `address.lines[2]`.
    pub(super) field: String,
    /// What is wrong and how to fix it.
    pub(super) detail: String,
}

/// What is fixed about a kind.
struct Facts {
    status: u16,
    code: &'static str,
    title: &'static str,
    remedy: &'static str,
}

macro_rules! kinds {
    ($($name:ident $status:literal $code:literal $title:literal $remedy:literal)*) => {
        /// The kinds of problems. A code never changes its meaning.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Kind { $(#[doc = $title] $name,)* }

        impl Kind {
            /// All kinds, in the order of their statuses.
            pub const ALL: &[Kind] = &[$(Kind::$name,)*];

            fn facts(self) -> Facts {
                let (status, code, title, remedy) =
                    match self { $(Kind::$name => ($status, $code, $title, $remedy),)* };
                Facts { status, code, title, remedy }
            }
        }
    };
}

kinds! {
    BadUri 400 "bad-uri"
        "The path or the query is malformed."
        "Encode the path and the parameters as a URL: `<` is `%3C`, a space is `%20`."
    BadDocument 400 "bad-document"
        "The body is malformed."
        "Send valid JSON of the form that `/docs` shows; `detail` names the position."
    BadParameter 400 "bad-parameter"
        "A parameter is invalid."
        "`detail` names the parameter and what it accepts."
    BadHeader 400 "bad-header"
        "A header is invalid."
        "`detail` names the header and what it accepts."
    BadCursor 400 "bad-cursor"
        "The cursor does not belong to this query."
        "Use a cursor with the same query, filters and tenant as the page it came from; otherwise start without one."
    TenantNeeded 400 "tenant-needed"
        "The request needs a tenant."
        "Name the tenant in the header `Keyloom-Tenant`, or use a token that is limited to one."
    Unauthorized 401 "unauthorized"
        "The request needs a valid token."
        "Send `Authorization: Bearer TOKEN` with a token that is neither expired nor revoked."
    Forbidden 403 "forbidden"
        "The token does not allow this."
        "Use a token with the role that `/docs` names for the operation, or change the access rules of the model."
    NotFound 404 "not-found"
        "Not found."
        "Check the path and the id. An entity that the caller may not read is not found either."
    BadMethod 405 "bad-method"
        "The path does not support this method."
        "Use one of the methods in the header `Allow`."
    Timeout 408 "timeout"
        "The request took too long to arrive."
        "Send the body without pauses; the limit is `--body-timeout`."
    Taken 409 "taken"
        "A unique value is already in use."
        "Choose another value, or find the entity that has it: the value is a parameter of a `GET`."
    Exists 409 "exists"
        "The id is already in use."
        "Choose another id, or replace the entity with `PUT`."
    InUse 409 "in-use"
        "Other entities refer to it."
        "Delete or change those first, or declare `cascade` or `clear` in the model."
    VersionConflict 409 "version-conflict"
        "The version in the body is not the current one."
        "Read the entity again, apply the change to it, and send it with the new version."
    WrongState 409 "wrong-state"
        "Not possible in the current state."
        "Read the job or the operation again: it has ended, or is running, meanwhile."
    KeyReused 409 "key-reused"
        "The idempotency key was used for another request."
        "Use a new `Idempotency-Key` for each change, and the same one only to repeat it."
    ChangesGone 410 "changes-gone"
        "Changes after this position are no longer retained."
        "Read the data again, then follow `/changes` without a position."
    PositionUnknown 410 "position-unknown"
        "The position does not belong to this database."
        "Read the data again, then follow `/changes` without a position."
    VersionMismatch 412 "version-mismatch"
        "The version is not the expected one."
        "Read the entity again, and repeat the change with its current `ETag` in `If-Match`."
    BodyTooLarge 413 "body-too-large"
        "The body exceeds the size limit."
        "Send less at once; the limit is `--max-body`."
    BadMediaType 415 "bad-media-type"
        "The body is not JSON."
        "Send JSON with `Content-Type: application/json`, uncompressed or with gzip."
    WrongHost 421 "wrong-host"
        "The request was meant for another host."
        "Without tokens, use `localhost` or a loopback address; otherwise create a token."
    Invalid 422 "invalid"
        "The document violates the model."
        "`errors` has each field with what it accepts."
    TargetGone 422 "target-gone"
        "It refers to an entity that does not exist."
        "Create the entity that it refers to first, or name both in one `/transaction`."
    TooLarge 422 "too-large"
        "It exceeds a size limit."
        "`detail` names the limit: split the change, or store less in one entity."
    Internal 500 "internal"
        "Internal server error."
        "Report the `request_id` to the operator: the server's log has the cause."
    Busy 503 "busy"
        "The server is busy: retry."
        "Wait for the seconds in `Retry-After`, then repeat the request. Without that header, a change may have been applied: repeat it with the same `Idempotency-Key`."
    Building 503 "building"
        "Index rows are being rebuilt after a model change."
        "Retry later; `keyloom status` and the metric `keyloom_operations_left` show the progress."
    WritesRefused 503 "writes-refused"
        "Writes are temporarily refused; reads still work."
        "Free disk space, or repair the disk: the server's log has the cause. Writes resume without a restart."
    Overdue 503 "overdue"
        "The request timed out."
        "A change was applied completely or not at all: read before you repeat it. Ask for fewer results at once, or raise `--answer-timeout`."
}

impl Kind {
    /// The code, which identifies the problem for programs.
    pub fn code(self) -> &'static str {
        self.facts().code
    }

    /// The HTTP status.
    pub fn status(self) -> u16 {
        self.facts().status
    }

    /// The meaning, in a sentence.
    pub fn title(self) -> &'static str {
        self.facts().title
    }

    /// What the client or the operator can do. The `detail` of a problem is more specific.
    pub fn remedy(self) -> &'static str {
        self.facts().remedy
    }
}

impl Problem {
    /// Creates a problem. The detail says what is wrong, where, and how to fix it.
    pub fn new(kind: Kind, detail: impl Into<String>) -> Problem {
        let retry_secs = matches!(kind, Kind::Busy | Kind::Building).then_some(1);
        let detail = detail.into();
        Problem { kind, detail, errors: vec![], allow: None, retry_secs, cause: None }
    }

    pub(super) fn with_errors(mut self, errors: Vec<FieldProblem>) -> Problem {
        self.errors = errors;
        self
    }

    pub(super) fn with_allow(mut self, methods: String) -> Problem {
        self.allow = Some(methods);
        self
    }

    pub(super) fn with_retry(mut self, seconds: Option<u32>) -> Problem {
        self.retry_secs = seconds;
        self
    }

    pub(super) fn with_cause(mut self, cause: String) -> Problem {
        self.cause = Some(cause);
        self
    }

    /// Its kind.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    pub(super) fn detail(&self) -> &str {
        &self.detail
    }

    pub(super) fn allow(&self) -> Option<&str> {
        self.allow.as_deref()
    }

    pub(super) fn retry_secs(&self) -> Option<u32> {
        self.retry_secs
    }

    pub(super) fn cause(&self) -> Option<&str> {
        self.cause.as_deref()
    }

    pub(super) fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.kind.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// Formats it as `application/problem+json`.
    pub(super) fn to_json(&self, request_id: &str) -> Value {
        let Facts { status, code, title, .. } = self.kind.facts();
        let mut problem = Map::new();
        problem.insert("type".to_owned(), json!(format!("urn:keyloom:problem:{code}")));
        problem.insert("title".to_owned(), json!(title));
        problem.insert("status".to_owned(), json!(status));
        problem.insert("code".to_owned(), json!(code));
        problem.insert("detail".to_owned(), json!(self.detail));
        if !self.errors.is_empty() {
            let error =
                |error: &FieldProblem| json!({ "field": error.field, "detail": error.detail });
            let errors: Vec<Value> = self.errors.iter().map(error).collect();
            problem.insert("errors".to_owned(), Value::Array(errors));
        }
        problem.insert("request_id".to_owned(), json!(request_id));
        Value::Object(problem)
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Problem {
        let kind = match refusal {
            Refusal::TooLarge => Kind::BodyTooLarge,
            Refusal::Incomplete => Kind::BadDocument,
            Refusal::TooSlow => Kind::Timeout,
            Refusal::UnknownEncoding => Kind::BadMediaType,
            Refusal::MemoryFull | Refusal::TooManyStreams => Kind::Busy,
            Refusal::Overdue => Kind::Overdue,
            Refusal::Panicked => Kind::Internal,
        };
        Problem::new(kind, refusal.detail())
    }
}
