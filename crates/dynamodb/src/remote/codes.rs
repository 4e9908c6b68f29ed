//! The service's error codes that decide what happens next.

pub(super) const VALIDATION: &str = "ValidationException";
pub(super) const NOT_FOUND: &str = "ResourceNotFoundException";
pub(super) const IN_USE: &str = "ResourceInUseException";
pub(super) const CONFLICT: &str = "TransactionConflictException";
pub(super) const IN_PROGRESS: &str = "TransactionInProgressException";
pub(super) const TOKEN_REUSED: &str = "IdempotentParameterMismatchException";
pub(super) const EXPIRED: &str = "ExpiredIteratorException";
pub(super) const TRIMMED: &str = "TrimmedDataAccessException";
