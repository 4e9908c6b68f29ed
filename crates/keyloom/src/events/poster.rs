//! Posts events to the webhook of a consumer: those of one entity in order, others concurrently.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use super::Event;
use super::consumer::Consumer;
use super::failure::Failure;
use super::handlers::{Handlers, guarded};
use super::put_aside::Aside;
use super::retry::Retry;
use super::select::Selected;
use super::webhook::{Deliver, Delivery, WEBHOOK};
use crate::shared::Shared;

/// For how long posts begin in one step. Everything else that the worker does waits that long, and
/// for the posts that are under way then.
const POSTING_MS: i64 = 10_000;

/// What posts to the webhook of a consumer.
pub(crate) struct Poster<'p> {
    shared: &'p Shared,
    deliver: Arc<dyn Deliver>,
    address: &'p str,
    retry: Retry,
    /// After this time, no post begins.
    until_ms: i64,
}

/// An event to post.
pub(crate) struct Post<'b> {
    pub(crate) selected: &'b Selected,
    pub(crate) outcome: Outcome,
    /// Taken when it is posted.
    delivery: Option<Delivery>,
}

/// What became of an event.
pub(crate) enum Outcome {
    Delivered,
    Failed(Failure),
    /// It was not posted: an earlier event of its entity waits, or time was up.
    Waits,
}

type Lane<'b> = Vec<Post<'b>>;

impl<'b> Post<'b> {
    pub(crate) fn new(selected: &'b Selected, delivery: Delivery) -> Post<'b> {
        Post { selected, outcome: Outcome::Waits, delivery: Some(delivery) }
    }
}

impl<'p> Poster<'p> {
    /// Returns none if this program delivers no webhooks.
    pub(crate) fn new(
        shared: &'p Shared,
        handlers: &Handlers,
        address: &'p str,
    ) -> Option<Poster<'p>> {
        let retry = handlers.retry_of(WEBHOOK);
        let posting_ms = POSTING_MS.min(retry.lease_ms() / 2);
        let until_ms = shared.now_ms().saturating_add(posting_ms);
        Some(Poster { shared, deliver: handlers.deliver.clone()?, address, retry, until_ms })
    }

    pub(crate) fn retry(&self) -> Retry {
        self.retry
    }

    /// How long the consumer holds its checkpoint.
    pub(crate) fn lease_ms(&self) -> i64 {
        self.retry.lease_ms()
    }

    pub(crate) fn is_time_up(&self) -> bool {
        self.shared.now_ms() > self.until_ms
    }

    /// Returns the first delivery of an event.
    pub(crate) fn delivery(&self, consumer: &Consumer, event: &Event) -> Delivery {
        Delivery::first(self.address, &consumer.name, event)
    }

    /// Posts all lanes concurrently.
    pub(crate) async fn post_all<'b>(&self, lanes: Vec<Lane<'b>>) -> Lane<'b> {
        let lane = |lane| Box::pin(self.post_lane(lane)) as Pending<'_, Lane<'b>>;
        join_all(lanes.into_iter().map(lane).collect()).await.into_iter().flatten().collect()
    }

    /// Posts the events of a lane one after the other, until one has to be retried.
    async fn post_lane<'b>(&self, mut lane: Lane<'b>) -> Lane<'b> {
        for post in &mut lane {
            if post.selected.unreadable.is_some() {
                continue;
            }
            let Some(delivery) = post.delivery.take().filter(|_| !self.is_time_up()) else { break };
            post.outcome = match guarded(async { self.deliver.deliver(delivery).await }).await {
                Ok(()) => Outcome::Delivered,
                Err(failure) => Outcome::Failed(failure),
            };
            if self.is_retried(&post.outcome) {
                break;
            }
        }
        lane
    }

    fn is_retried(&self, outcome: &Outcome) -> bool {
        match outcome {
            Outcome::Delivered => false,
            Outcome::Waits => true,
            Outcome::Failed(failure) => {
                !Aside { failure: Some(failure.clone()), retry: self.retry }.is_dead()
            }
        }
    }
}

type Pending<'f, T> = Pin<Box<dyn Future<Output = T> + Send + 'f>>;

/// Waits for all futures, which make progress concurrently.
async fn join_all<T>(mut pending: Vec<Pending<'_, T>>) -> Vec<T> {
    let mut done: Vec<T> = vec![];
    poll_fn(|context| {
        pending.retain_mut(|future| match future.as_mut().poll(context) {
            Poll::Pending => true,
            Poll::Ready(value) => {
                done.push(value);
                false
            }
        });
        if pending.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    done
}
