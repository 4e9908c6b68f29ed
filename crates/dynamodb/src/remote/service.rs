//! The state that all calls share, and how they send requests.

use std::error::Error as StdError;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use keyloom_store::{Clock, Error};

use super::RemoteOptions;
use super::connection::Connection;
use super::retry::{Backoff, Outcome};
use super::spec_cache::SpecCache;
use super::stream_cache::StreamCache;
use crate::consumption::Consumption;

/// SDK clients, cached table specs, and consumed capacity.
#[derive(Debug)]
pub(super) struct Service {
    pub(super) connection: Connection,
    pub(super) specs: SpecCache,
    pub(super) streams: StreamCache,
    /// What all requests have consumed.
    pub(super) consumption: Arc<Consumption>,
    pub(super) clock: Arc<dyn Clock>,
    attempts_max: u32,
    delay: Duration,
}

impl Service {
    pub(super) async fn open(options: RemoteOptions) -> Result<Service, Error> {
        Ok(Service {
            connection: Connection::open(&options).await?,
            specs: SpecCache::default(),
            streams: StreamCache::default(),
            consumption: Arc::default(),
            clock: options.clock,
            attempts_max: options.attempts_max,
            delay: options.delay,
        })
    }

    /// Returns the backoff of one request.
    pub(super) fn backoff(&self) -> Backoff {
        self.backoff_of(self.attempts_max)
    }

    /// Returns the backoff of one transaction.
    pub(super) fn conflict_backoff(&self) -> Backoff {
        Backoff::of_transactions(self.attempts_max, self.delay)
    }

    pub(super) fn backoff_of(&self, attempts_max: u32) -> Backoff {
        Backoff::new(attempts_max, self.delay)
    }

    /// Sends an idempotent request, with retries.
    pub(super) async fn send_read<T, E, F>(
        &self,
        send: impl Fn() -> F,
    ) -> Result<T, SdkError<E, HttpResponse>>
    where
        E: ProvideErrorMetadata + StdError + 'static,
        F: Future<Output = Result<T, SdkError<E, HttpResponse>>>,
    {
        retry(&mut self.backoff(), send, |error| Outcome::of(error).may_succeed_later()).await
    }

    /// Sends a write. It is retried only if it was certainly not applied: a repeated put can undo
    /// another writer's change, and a repeated addition counts twice.
    pub(super) async fn send_write<T, E, F>(
        &self,
        send: impl Fn() -> F,
    ) -> Result<T, SdkError<E, HttpResponse>>
    where
        E: ProvideErrorMetadata + StdError + 'static,
        F: Future<Output = Result<T, SdkError<E, HttpResponse>>>,
    {
        retry(&mut self.backoff(), send, |error| Outcome::of(error) == Outcome::Transient).await
    }
}

/// Sends a request until it succeeds, is not retryable, or attempts run out.
pub(super) async fn retry<T, E, F>(
    backoff: &mut Backoff,
    send: impl Fn() -> F,
    mut is_retryable: impl FnMut(&E) -> bool,
) -> Result<T, E>
where
    F: Future<Output = Result<T, E>>,
{
    loop {
        match send().await {
            Err(error) if is_retryable(&error) && backoff.wait().await => {}
            result => return result,
        }
    }
}
