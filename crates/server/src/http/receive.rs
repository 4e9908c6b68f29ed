//! Receives request bodies completely. An app calls it only once it knows the sender.

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::Body as _;

use super::body_memory::{MemoryFull, Reservation};
use super::edge::Origin;
use super::refusal::Refusal;
use super::timeout::timeout;

/// A body, and its memory reservation.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) bytes: Bytes,
    /// `None` for an empty body.
    _reservation: Option<Reservation>,
}

impl Received {
    /// A body that the reservation covers.
    pub(crate) fn new(bytes: Bytes, reservation: Reservation) -> Received {
        Received { bytes, _reservation: Some(reservation) }
    }
}

/// Receives a body within the limits.
pub(crate) async fn receive(origin: &Origin, body: Body) -> Result<Received, Refusal> {
    let limits = &origin.edge.limits;
    if body.size_hint().lower() > limits.body_bytes as u64 {
        return Err(Refusal::TooLarge);
    }
    if body.is_end_stream() {
        return Ok(Received { bytes: Bytes::new(), _reservation: None });
    }
    let reservation = origin.edge.body_memory.reserve(origin.ip());
    // Meanwhile the server waits for the client.
    origin.set_busy(false);
    let collected = timeout(limits.body_time, collect(body, reservation, limits.body_bytes)).await;
    origin.set_busy(true);
    collected.unwrap_or(Err(Refusal::TooSlow))
}

async fn collect(
    mut body: Body,
    mut reservation: Reservation,
    bytes_max: usize,
) -> Result<Received, Refusal> {
    let mut bytes = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Refusal::Incomplete)?;
        let Ok(data) = frame.into_data() else { continue };
        if bytes.len() + data.len() > bytes_max {
            return Err(Refusal::TooLarge);
        }
        reservation.grow(data.len()).await.map_err(|MemoryFull| Refusal::MemoryFull)?;
        // Most bodies arrive in one piece, which need not be copied.
        if bytes.is_empty() && body.is_end_stream() {
            return Ok(Received::new(data, reservation));
        }
        bytes.extend_from_slice(&data);
    }
    Ok(Received::new(bytes.freeze(), reservation))
}
