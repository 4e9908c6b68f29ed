//! Wakes futures when something may have happened. Needs no async runtime.

use std::future::poll_fn;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

/// Futures that wait.
#[derive(Debug, Default)]
pub(crate) struct Signal(Mutex<Vec<Waker>>);

impl Signal {
    /// Wakes everybody who waits.
    pub(crate) fn notify(&self) {
        let woken = std::mem::take(&mut *self.lock());
        woken.into_iter().for_each(Waker::wake);
    }

    /// Waits until something holds. It is tested now, and after each notification.
    pub(crate) async fn wait_until(&self, holds: impl Fn() -> bool + Send) {
        poll_fn(|context| {
            // Before the test: a notification after it wakes this future.
            let mut waiting = self.lock();
            if !waiting.iter().any(|waker| waker.will_wake(context.waker())) {
                waiting.push(context.waker().clone());
            }
            drop(waiting);
            if holds() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Waker>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
