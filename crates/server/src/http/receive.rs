//! Bodies of requests, received whole. An app asks for one only when it knows whose it is.

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::Body as _;
use tokio::time::timeout;

use super::edge::Origin;
use super::refusal::Refusal;
use super::room::{Held, NoRoom};

/// A body, and the room that it takes until it is dropped.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) bytes: Bytes,
    /// None for an empty body.
    _held: Option<Held>,
}

/// Receives a body within the limits.
pub(crate) async fn receive(origin: &Origin, body: Body) -> Result<Received, Refusal> {
    let limits = &origin.edge.limits;
    if body.size_hint().lower() > limits.body_bytes as u64 {
        return Err(Refusal::TooLarge);
    }
    if body.is_end_stream() {
        return Ok(Received { bytes: Bytes::new(), _held: None });
    }
    let held = origin.edge.room.enter(origin.ip());
    // Whoever is slow now is the client.
    origin.set_busy(false);
    let collected = timeout(limits.body_time, collect(body, held, limits.body_bytes)).await;
    origin.set_busy(true);
    collected.unwrap_or(Err(Refusal::TooSlow))
}

async fn collect(mut body: Body, mut held: Held, bytes_max: usize) -> Result<Received, Refusal> {
    let mut bytes = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Refusal::Broken)?;
        let Ok(data) = frame.into_data() else { continue };
        if bytes.len() + data.len() > bytes_max {
            return Err(Refusal::TooLarge);
        }
        held.grow(data.len()).await.map_err(|NoRoom| Refusal::NoRoom)?;
        bytes.extend_from_slice(&data);
    }
    Ok(Received { bytes: bytes.freeze(), _held: Some(held) })
}
