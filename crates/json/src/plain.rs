//! Finds what of a string stands for itself, in JSON texts that are read and in those that are written.

/// How many bytes are looked at together. The compiler makes vector instructions of a loop of known length.
const CHUNK_BYTES: usize = 32;

/// Returns the number of bytes before the first one that is escaped in JSON. O(n).
pub(crate) fn plain_length(bytes: &[u8]) -> usize {
    let (chunks, _) = bytes.as_chunks::<CHUNK_BYTES>();
    let is_plain = |chunk: &&[u8; CHUNK_BYTES]| {
        !chunk.iter().fold(false, |has_escaped, byte| has_escaped | is_escaped(*byte))
    };
    let skipped = CHUNK_BYTES * chunks.iter().take_while(is_plain).count();
    let rest = bytes.get(skipped..).unwrap_or_default();
    skipped + rest.iter().position(|byte| is_escaped(*byte)).unwrap_or(rest.len())
}

/// What is escaped is ASCII: one byte, which is a whole character. Without branches, which would make the loop above one
/// byte at a time.
fn is_escaped(byte: u8) -> bool {
    (byte < 0x20) | (byte == b'"') | (byte == b'\\')
}
