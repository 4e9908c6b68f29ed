//! Maps errors of the library to problems. Clients see no internal causes.

use keyloom::{Error, FieldError, TenantProblem};

use super::call::cut;
use super::problem::{FieldProblem, Kind, Problem};

/// When to retry while writes are refused: at first, the engine checks every second.
const WRITES_RETRY_SECS: u32 = 5;

impl From<Error> for Problem {
    fn from(error: Error) -> Problem {
        let problem = Problem::new(kind(&error), detail(&error));
        match &error {
            Error::Fields { errors, .. } => {
                problem.with_errors(errors.iter().map(field_problem).collect())
            }
            Error::Store(keyloom_store::Error::WritesRefused(failure)) => {
                // No `Retry-After` for a failure that cannot pass by itself.
                let retry_secs = failure.may_pass().then_some(WRITES_RETRY_SECS);
                problem.with_retry(retry_secs).with_cause(error.to_string())
            }
            // Repeating a change that may have been applied is for the client to decide.
            Error::Store(keyloom_store::Error::Unanswered(_)) => {
                problem.with_retry(None).with_cause(error.to_string())
            }
            Error::Store(_) if problem.kind() == Kind::Busy => {
                problem.with_cause(error.to_string())
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
        Error::Forbidden { .. } => Kind::Forbidden,
        Error::UniqueViolation { .. } => Kind::Taken,
        Error::Exists { .. } => Kind::Exists,
        Error::InUse { .. } => Kind::InUse,
        Error::VersionMismatch { .. } => Kind::VersionConflict,
        Error::Tenant { problem: TenantProblem::Other, .. }
        | Error::Fields { .. }
        | Error::Id { .. }
        | Error::NameTwice { .. }
        | Error::SameTwice { .. } => Kind::Invalid,
        Error::TargetGone { .. } => Kind::TargetGone,
        Error::TooLarge { .. }
        | Error::EntityTooLarge { .. }
        | Error::AnswerTooLarge { .. }
        | Error::TreeTooLarge { .. }
        | Error::KeyTooLong(_)
        | Error::SumTooLong(_) => Kind::TooLarge,
        Error::KeyReused { .. } => Kind::KeyReused,
        Error::JobState { .. } | Error::OperationEnded { .. } => Kind::WrongState,
        Error::KeyUnfit { .. } => Kind::BadHeader,
        Error::Store(keyloom_store::Error::ChangesGone { .. }) => Kind::ChangesGone,
        Error::Store(
            keyloom_store::Error::ChangesAhead { .. }
            | keyloom_store::Error::Invalid(keyloom_store::Invalid::Shard { .. }),
        ) => Kind::PositionUnknown,
        Error::Building { .. } => Kind::Building,
        Error::Contended
        | Error::Unanswered { .. }
        | Error::ModelChanged
        | Error::TooManyOperations { .. } => Kind::Busy,
        Error::Store(keyloom_store::Error::Refused(refusal)) if refusal.may_pass => Kind::Busy,
        Error::Store(keyloom_store::Error::Unanswered(_)) => Kind::Busy,
        Error::Store(keyloom_store::Error::WritesRefused(_)) => Kind::WritesRefused,
        // No request should cause the others.
        _ => Kind::Internal,
    }
}

/// The detail of a problem. Internal causes are logged, and not shown to clients.
fn detail(error: &Error) -> String {
    match (kind(error), error) {
        (Kind::Internal, _) => {
            "Internal server error: the server's log has the cause. Report the request id to the \
             operator of the server."
                .to_owned()
        }
        (Kind::WritesRefused, _) => {
            "The server cannot write its data at the moment; its log has the cause. It is unknown \
             whether this request was applied. Reads still work."
                .to_owned()
        }
        (_, Error::NotFound { entity, id }) => {
            format!("No `{entity}` with the id `{}` exists.", cut(id))
        }
        (_, Error::Tenant { entity, problem: TenantProblem::Missing }) => {
            format!(
                "Every `{entity}` belongs to a tenant: name it in the header `Keyloom-Tenant`."
            )
        }
        (_, Error::Tenant { entity, problem: TenantProblem::Unfit }) => format!(
            "The tenant in `Keyloom-Tenant` is not a valid value of the tenant field of `{entity}`: \
             correct the header."
        ),
        (Kind::Busy, Error::Store(keyloom_store::Error::Refused(_))) => {
            "The database is busy, and this request was not applied: retry.".to_owned()
        }
        (Kind::Busy, Error::Store(keyloom_store::Error::Unanswered(_))) => {
            "The database did not answer, and it is unknown whether this request was applied: check \
             before you retry a change, or retry it with the same `Idempotency-Key`."
                .to_owned()
        }
        (Kind::KeyReused, _) => {
            "This `Idempotency-Key` was used for another request: use a new key for each change."
                .to_owned()
        }
        (Kind::ChangesGone, _) => {
            "The changes after this position are no longer retained: read the data again, and start \
             without a position."
                .to_owned()
        }
        (Kind::PositionUnknown, _) => {
            "The position belongs to another database, or to this one before it was restored to an \
             earlier time: read the data again, and start without a position."
                .to_owned()
        }
        (Kind::Invalid, Error::Fields { entity, errors }) => match &errors[..] {
            [error] => format!("Invalid `{entity}`: {}", sentence(error)),
            errors => format!("Invalid `{entity}`: {} errors, see `errors`.", errors.len()),
        },
        _ => error.to_string(),
    }
}

fn field_problem(error: &FieldError) -> FieldProblem {
    FieldProblem { field: error.path().to_string(), detail: sentence(error) }
}

/// The message of a field error, with a full stop.
fn sentence(error: &FieldError) -> String {
    let text = error.to_string();
    let end = if text.ends_with(['.', '?', '!']) { "" } else { "." };
    text + end
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use keyloom_store::Refusal;

    use super::*;

    fn refusal(may_pass: bool) -> Arc<Refusal> {
        let (operation, code) = ("TransactWriteItems", Some("TransactionConflict".to_owned()));
        let message = "secret".to_owned();
        Arc::new(Refusal { operation, code, message, resource: None, may_pass })
    }

    #[test]
    fn a_busy_database_is_503_with_retry_after_and_without_its_cause() {
        let errors = [
            (keyloom_store::Error::Refused(refusal(true)), Some(1)),
            // It may have been applied.
            (keyloom_store::Error::Unanswered(refusal(false)), None),
        ];
        for (error, retry_secs) in errors {
            let problem = Problem::from(Error::Store(error));
            assert_eq!((problem.kind().status(), problem.retry_secs()), (503, retry_secs));
            assert!(problem.cause().is_some_and(|cause| cause.contains("secret")));
            assert!(!problem.detail().contains("secret"));
        }
        let lasting = Problem::from(Error::Store(keyloom_store::Error::Refused(refusal(false))));
        assert_eq!((lasting.kind().status(), lasting.retry_secs()), (500, None));
    }
}
