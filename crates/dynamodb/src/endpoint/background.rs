//! Runs copies of tables: a short one as part of its request, a long one on a thread of its own.

use std::thread;

use crate::wire::{Fault, FaultCode};

/// A copy of this many items is made before its request is answered.
const ITEMS_AT_ONCE: u64 = 10_000;

/// Runs a copy of about this many items; returns whether it is complete.
pub(super) async fn run(
    items: u64,
    copy: impl Future<Output = Result<(), Fault>> + Send + 'static,
) -> Result<bool, Fault> {
    if items <= ITEMS_AT_ONCE {
        return copy.await.map(|()| true);
    }
    let thread = thread::Builder::new().name("keyloom-copy".to_owned());
    // A copy that fails removes what it has made.
    let spawned = thread.spawn(move || drop(pollster::block_on(copy)));
    match spawned {
        Ok(_) => Ok(false),
        Err(error) => Err(Fault::new(FaultCode::InternalServerError, error.to_string())),
    }
}
