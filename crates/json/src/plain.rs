//! Finds what of a string stands for itself, in JSON texts that are read and in those that are written.

/// How many bytes are looked at together: the compiler makes vector instructions of a loop of known length.
const CHUNK_BYTES: usize = 32;

/// Returns the number of bytes before the first one that is escaped in JSON. O(n).
pub(crate) fn plain_length(bytes: &[u8]) -> usize {
    let chunks = bytes.chunks_exact(CHUNK_BYTES);
    // Without a branch in the inner loop, which would make it one byte at a time.
    let is_plain = |chunk: &&[u8]| !chunk.iter().fold(false, |any, byte| any | is_escaped(*byte));
    let skipped = CHUNK_BYTES * chunks.take_while(is_plain).count();
    let rest = bytes.get(skipped..).unwrap_or_default();
    skipped + rest.iter().position(|byte| is_escaped(*byte)).unwrap_or(rest.len())
}

/// All of them are ASCII: one byte, which is a whole character.
fn is_escaped(byte: u8) -> bool {
    matches!(byte, b'"' | b'\\' | 0..=0x1F)
}
