//! Decompresses request bodies that an app has received as they were sent, because their signature
//! covers the compressed bytes.

use std::io::Read;

use bytes::Bytes;
use flate2::read::MultiGzDecoder;
use keyloom_store::yield_point;

use super::body_memory::MemoryFull;
use super::edge::Origin;
use super::receive::Received;
use super::refusal::Refusal;

/// Bytes that are decompressed before others get the thread.
const CHUNK_BYTES: usize = 64 * 1024;

/// Decompresses a body; `None` if it is not complete gzip. What comes out is within the same limits
/// as a body that was sent uncompressed.
pub(crate) async fn unpack(
    origin: &Origin,
    received: Received,
) -> Result<Option<Received>, Refusal> {
    let bytes_max = origin.edge.limits.body_bytes;
    let mut reservation = origin.edge.body_memory.reserve(origin.ip());
    let mut decoder = MultiGzDecoder::new(&*received.bytes);
    let (mut unpacked, mut chunk) = (Vec::new(), vec![0; CHUNK_BYTES]);
    loop {
        let Ok(count) = decoder.read(&mut chunk) else { return Ok(None) };
        if count == 0 {
            break;
        }
        if unpacked.len() + count > bytes_max {
            return Err(Refusal::TooLarge);
        }
        reservation.grow(count).await.map_err(|MemoryFull| Refusal::MemoryFull)?;
        unpacked.extend_from_slice(chunk.get(..count).unwrap_or_default());
        yield_point().await;
    }
    // An empty text is no gzip.
    match received.bytes.is_empty() {
        true => Ok(None),
        false => Ok(Some(Received::new(Bytes::from(unpacked), reservation))),
    }
}
