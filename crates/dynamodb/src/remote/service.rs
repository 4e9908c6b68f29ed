//! The service as its calls share it.

use super::RemoteOptions;
use super::capacity::Meter;
use super::connection::Connection;
use super::retry::Backoff;
use super::specs::KnownSpecs;

/// Clients, what is known of the tables, and what was consumed.
#[derive(Debug)]
pub(super) struct Service {
    pub(super) connection: Connection,
    pub(super) specs: KnownSpecs,
    pub(super) meter: Meter,
    attempts_max: u32,
}

impl Service {
    pub(super) async fn open(options: RemoteOptions) -> Service {
        Service {
            connection: Connection::open(&options).await,
            specs: KnownSpecs::default(),
            meter: Meter::default(),
            attempts_max: options.attempts_max,
        }
    }

    pub(super) fn backoff(&self) -> Backoff {
        Backoff::new(self.attempts_max)
    }
}
