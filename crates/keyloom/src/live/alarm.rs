//! Tells one waiting task that something concerns it.

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use futures_util::task::AtomicWaker;

#[derive(Debug, Default)]
pub(super) struct Alarm {
    is_raised: AtomicBool,
    waker: AtomicWaker,
}

impl Alarm {
    pub(super) fn raise(&self) {
        self.is_raised.store(true, Ordering::Release);
        self.waker.wake();
    }

    pub(super) fn lower(&self) {
        self.is_raised.store(false, Ordering::Release);
    }

    /// Waits until it is raised.
    pub(super) async fn wait(&self) {
        poll_fn(|context| {
            // Before the test, so that none is missed.
            self.waker.register(context.waker());
            match self.is_raised.load(Ordering::Acquire) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        })
        .await;
    }
}
