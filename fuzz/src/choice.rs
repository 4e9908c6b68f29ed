//! Selects a parser by the first byte.

/// Returns the first byte, which selects the parser, and the rest.
pub(crate) fn chosen(input: &[u8]) -> Option<(u8, &[u8])> {
    input.split_first().map(|(choice, rest)| (*choice, rest))
}
