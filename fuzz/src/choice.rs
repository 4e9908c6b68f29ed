//! Targets with several parsers choose by the first byte.

/// The first byte, to choose by, and the rest.
pub(crate) fn chosen(input: &[u8]) -> Option<(u8, &[u8])> {
    input.split_first().map(|(choice, rest)| (*choice, rest))
}
