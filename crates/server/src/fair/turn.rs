//! One turn of a future on the current thread, and when it is over.

use std::cell::RefCell;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Context;
use std::time::Instant;

use keyloom_store::{Slice, SlicePoll};

thread_local! {
    static TURN: RefCell<Option<Turn>> = const { RefCell::new(None) };
}

/// What ends a turn: its time, or cancellation.
pub(super) struct Turn {
    pub(super) until: Instant,
    pub(super) is_cancelled: Option<Arc<AtomicBool>>,
}

impl Turn {
    /// Polls on a thread that accepts and answers requests.
    pub(super) fn poll_inline<F: Future + ?Sized>(
        until: Instant,
        future: Pin<&mut F>,
        context: &mut Context<'_>,
    ) -> SlicePoll<F::Output> {
        let turn = Turn { until, is_cancelled: None };
        turn.poll(Slice::interrupting(is_over), future, context)
    }

    /// Polls on a thread of the pool.
    pub(super) fn poll_pooled<F: Future + ?Sized>(
        self,
        future: Pin<&mut F>,
        context: &mut Context<'_>,
    ) -> SlicePoll<F::Output> {
        self.poll(Slice::new(is_over), future, context)
    }

    fn poll<F: Future + ?Sized>(
        self,
        slice: Slice,
        future: Pin<&mut F>,
        context: &mut Context<'_>,
    ) -> SlicePoll<F::Output> {
        let _restore = Restore(TURN.replace(Some(self)));
        slice.poll(future, context)
    }
}

/// Restores the previous turn of the thread on drop, also when a future panics.
struct Restore(Option<Turn>);

impl Drop for Restore {
    fn drop(&mut self) {
        TURN.set(self.0.take());
    }
}

fn is_over() -> bool {
    TURN.with_borrow(|turn| {
        turn.as_ref().is_some_and(|turn| {
            let is_cancelled = |flag: &Arc<AtomicBool>| flag.load(Ordering::Relaxed);
            turn.is_cancelled.as_ref().is_some_and(is_cancelled) || Instant::now() >= turn.until
        })
    })
}
