//! Why a cursor is refused.

/// Why a cursor cannot be used. Without one, a list is read from its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CursorError {
    /// The text is not a cursor at all.
    #[error(
        "This is not a cursor: give the text of `next` or `previous` as it was, or none for the start."
    )]
    NotACursor,
    /// The text looks like a cursor but was not made here as it is.
    #[error(
        "The cursor was changed, or made by another store: give the text of `next` or `previous` as it \
         was, or none for the start."
    )]
    Changed,
    /// It is a cursor of another list, tenant, range, direction or model.
    #[error(
        "The cursor is of another query, of another tenant, or from before the model changed: ask what \
         was asked when it was given, or start without a cursor."
    )]
    OtherQuery,
}
