//! Why a cursor is refused.

/// Why a cursor cannot be used. Without one, a list is read from its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CursorError {
    /// The text is not a cursor at all.
    #[error("Invalid cursor: pass `next` or `previous` unchanged, or none for the first page.")]
    NotACursor,
    /// The text looks like a cursor but was not made here as it is.
    #[error(
        "The cursor was changed, or made by another store: pass `next` or `previous` unchanged, \
         or none for the first page."
    )]
    Changed,
    /// It is a cursor of another list, tenant, range, direction or model.
    #[error(
        "The cursor is of another query or tenant, or from before the model changed: repeat the \
         query that returned it, or start without a cursor."
    )]
    OtherQuery,
}
