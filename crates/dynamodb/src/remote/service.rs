//! The service as its calls share it, and how they send.

use std::error::Error as StdError;
use std::future::Future;
use std::time::Duration;

use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use keyloom_store::Error;

use super::RemoteOptions;
use super::capacity::Meter;
use super::connection::Connection;
use super::retry::{Backoff, Fate};
use super::specs::KnownSpecs;

/// Clients, what is known of the tables, and what was consumed.
#[derive(Debug)]
pub(super) struct Service {
    pub(super) connection: Connection,
    pub(super) specs: KnownSpecs,
    pub(super) meter: Meter,
    attempts_max: u32,
    delay: Duration,
}

impl Service {
    pub(super) async fn open(options: RemoteOptions) -> Result<Service, Error> {
        Ok(Service {
            connection: Connection::open(&options).await?,
            specs: KnownSpecs::default(),
            meter: Meter::default(),
            attempts_max: options.attempts_max,
            delay: options.delay,
        })
    }

    /// Waits between the attempts at one request.
    pub(super) fn backoff(&self) -> Backoff {
        self.backoff_of(self.attempts_max)
    }

    pub(super) fn backoff_of(&self, attempts_max: u32) -> Backoff {
        Backoff::new(attempts_max, self.delay)
    }

    /// Sends what can be done twice, until it is answered or refused.
    pub(super) async fn ask<T, E, F>(
        &self,
        send: impl Fn() -> F,
    ) -> Result<T, SdkError<E, HttpResponse>>
    where
        E: ProvideErrorMetadata + StdError + 'static,
        F: Future<Output = Result<T, SdkError<E, HttpResponse>>>,
    {
        repeat(&mut self.backoff(), send, |error| Fate::of(error).passes()).await
    }

    /// Sends a write. It is sent again only if it was surely not done: a repeated put can undo what
    /// another writer did in between, and a repeated addition counts twice.
    pub(super) async fn write<T, E, F>(
        &self,
        send: impl Fn() -> F,
    ) -> Result<T, SdkError<E, HttpResponse>>
    where
        E: ProvideErrorMetadata + StdError + 'static,
        F: Future<Output = Result<T, SdkError<E, HttpResponse>>>,
    {
        repeat(&mut self.backoff(), send, |error| Fate::of(error) == Fate::Postponed).await
    }
}

/// Sends something again as long as there are attempts and its failure allows it.
pub(super) async fn repeat<T, E, F>(
    backoff: &mut Backoff,
    send: impl Fn() -> F,
    mut is_again: impl FnMut(&E) -> bool,
) -> Result<T, E>
where
    F: Future<Output = Result<T, E>>,
{
    loop {
        match send().await {
            Err(error) if is_again(&error) && backoff.wait().await => {}
            result => return result,
        }
    }
}
