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

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident $status:literal $code:literal $title:literal)*) => {
        /// The kinds of problems. A code never changes its meaning.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Kind { $(#[doc = $title] $name,)* }

        impl Kind {
            /// All kinds, in the order of their statuses.
            pub const ALL: &[Kind] = &[$(Kind::$name,)*];

            fn facts(self) -> (u16, &'static str, &'static str) {
                match self { $(Kind::$name => ($status, $code, $title),)* }
            }
        }
    };
}

kinds! {
    BadUri           400 "bad-uri"            "The path or the query is malformed."
    BadDocument      400 "bad-document"       "The body is malformed."
    BadParameter     400 "bad-parameter"      "A parameter is invalid."
    BadHeader        400 "bad-header"         "A header is invalid."
    BadCursor        400 "bad-cursor"         "The cursor does not belong to this query."
    TenantNeeded     400 "tenant-needed"      "The request needs a tenant."
    Unauthorized     401 "unauthorized"       "The request needs a valid token."
    Forbidden        403 "forbidden"          "The token does not allow this."
    NotFound         404 "not-found"          "Not found."
    BadMethod        405 "bad-method"         "The path does not support this method."
    Timeout          408 "timeout"            "The request took too long to arrive."
    Taken            409 "taken"              "A unique value is already in use."
    Exists           409 "exists"             "The id is already in use."
    InUse            409 "in-use"             "Other entities refer to it."
    VersionConflict  409 "version-conflict"   "The version in the body is not the current one."
    WrongState       409 "wrong-state"        "Not possible in the current state."
    KeyReused        409 "key-reused"         "The idempotency key was used for another request."
    ChangesGone      410 "changes-gone"       "Changes after this position are no longer retained."
    PositionUnknown  410 "position-unknown"   "The position does not belong to this database."
    VersionMismatch  412 "version-mismatch"   "The version is not the expected one."
    BodyTooLarge     413 "body-too-large"     "The body exceeds the size limit."
    BadMediaType     415 "bad-media-type"     "The body is not JSON."
    WrongHost        421 "wrong-host"         "The request was meant for another host."
    Invalid          422 "invalid"            "The document violates the model."
    TargetGone       422 "target-gone"        "It refers to an entity that does not exist."
    TooLarge         422 "too-large"          "It exceeds a size limit."
    Internal         500 "internal"           "Internal server error."
    Busy             503 "busy"               "The server is busy: retry."
    Building         503 "building"           "Index rows are being rebuilt after a model change."
    WritesRefused    503 "writes-refused"     "Writes are temporarily refused; reads still work."
    Overdue          503 "overdue"            "The request timed out."
}

impl Kind {
    /// The code, which identifies the problem for programs.
    pub fn code(self) -> &'static str {
        self.facts().1
    }

    /// The HTTP status.
    pub fn status(self) -> u16 {
        self.facts().0
    }

    /// The meaning, in a sentence.
    pub fn title(self) -> &'static str {
        self.facts().2
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
        let (status, code, title) = self.kind.facts();
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
