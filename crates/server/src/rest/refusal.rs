//! What the errors of a database are to a client of HTTP: the one table that maps them.

use keyloom::{Error, FieldError, TenantProblem};

use super::call::cut;
use super::problem::{FieldProblem, Kind, Problem};

/// When to try again while nothing can be written: the engine looks every second at first.
const WRITES_RETRY_SECS: u32 = 5;

impl From<Error> for Problem {
    fn from(error: Error) -> Problem {
        let problem = Problem::new(kind(&error), detail(&error));
        match &error {
            Error::Fields { errors, .. } => {
                problem.with_errors(errors.iter().map(field_problem).collect())
            }
            Error::Store(keyloom_store::Error::WritesRefused(failure)) => {
                // What cannot pass by itself is not worth another try soon.
                let retry_secs = failure.may_pass().then_some(WRITES_RETRY_SECS);
                problem.with_retry(retry_secs).with_cause(error.to_string())
            }
            _ if problem.kind() == Kind::Internal => problem.with_cause(error.to_string()),
            _ => problem,
        }
    }
}

fn kind(error: &Error) -> Kind {
    match error {
        Error::Document(_) => Kind::BadDocument,
        Error::Unknown { .. } | Error::Request(_) => Kind::BadParameter,
        Error::Cursor(_) => Kind::BadCursor,
        Error::Tenant { problem: TenantProblem::Missing | TenantProblem::Unfit, .. } => {
            Kind::TenantNeeded
        }
        Error::NotFound { .. } => Kind::NotFound,
        Error::UniqueViolation { .. } => Kind::Taken,
        Error::Exists { .. } => Kind::Exists,
        Error::InUse { .. } => Kind::InUse,
        Error::VersionMismatch { .. } => Kind::VersionConflict,
        Error::Tenant { problem: TenantProblem::Other, .. }
        | Error::Fields { .. }
        | Error::Id { .. }
        | Error::SameTwice { .. } => Kind::Invalid,
        Error::TargetGone { .. } => Kind::TargetGone,
        Error::TooLarge { .. }
        | Error::EntityTooLarge { .. }
        | Error::AnswerTooLarge { .. }
        | Error::TreeTooLarge { .. }
        | Error::KeyTooLong(_) => Kind::TooLarge,
        Error::KeyReused { .. } => Kind::KeyReused,
        Error::JobState { .. } => Kind::WrongState,
        Error::KeyUnfit { .. } => Kind::BadHeader,
        Error::Store(keyloom_store::Error::ChangesGone { .. }) => Kind::ChangesGone,
        Error::Store(
            keyloom_store::Error::ChangesAhead { .. }
            | keyloom_store::Error::Invalid(keyloom_store::Invalid::Shard { .. }),
        ) => Kind::PositionUnknown,
        Error::Building { .. } => Kind::Building,
        Error::Contended | Error::Unanswered { .. } | Error::ModelChanged => Kind::Busy,
        Error::Store(keyloom_store::Error::WritesRefused(_)) => Kind::WritesRefused,
        // The rest is nothing that a request can cause, as far as is known.
        _ => Kind::Internal,
    }
}

/// Clients are not told what is wrong inside; the log is.
fn detail(error: &Error) -> String {
    match (kind(error), error) {
        (Kind::Internal, _) => {
            "The server could not do this, and its log says why: tell whoever runs it the request \
             id."
            .to_owned()
        }
        (Kind::WritesRefused, _) => {
            "The server cannot write its data at the moment, and its log says why. Whether this \
             request was carried out is not known; requests that only read are answered."
                .to_owned()
        }
        (_, Error::NotFound { entity, id }) => {
            format!("There is no `{entity}` with the id `{}`.", cut(id))
        }
        (_, Error::Tenant { entity, problem: TenantProblem::Missing }) => {
            format!(
                "Every `{entity}` belongs to a tenant: say which with the header `Keyloom-Tenant`."
            )
        }
        (_, Error::Tenant { entity, problem: TenantProblem::Unfit }) => format!(
            "The tenant is not a value of the tenant field of `{entity}`: give one that is with \
             the header `Keyloom-Tenant`."
        ),
        (Kind::KeyReused, _) => {
            "Another request was made with this `Idempotency-Key`: use another key for this one."
                .to_owned()
        }
        (Kind::ChangesGone, _) => "What happened after this position is not kept any more, so it \
                                   would be skipped: read anew what you need, and begin without \
                                   a position."
            .to_owned(),
        (Kind::PositionUnknown, _) => {
            "This position is of another database, or of this one before \
                                       it was restored to an earlier moment: read what you need \
                                       again, and begin without a position."
                .to_owned()
        }
        (Kind::Invalid, Error::Fields { entity, errors }) => match &errors[..] {
            [error] => format!("This is no `{entity}`: {}", sentence(error)),
            errors => {
                format!("This is no `{entity}`: {} things are wrong, see `errors`.", errors.len())
            }
        },
        _ => error.to_string(),
    }
}

fn field_problem(error: &FieldError) -> FieldProblem {
    FieldProblem { field: error.path().to_string(), detail: sentence(error) }
}

/// Errors of fields are sentences that may lack their full stop.
fn sentence(error: &FieldError) -> String {
    let text = error.to_string();
    let end = if text.ends_with(['.', '?', '!']) { "" } else { "." };
    text + end
}
