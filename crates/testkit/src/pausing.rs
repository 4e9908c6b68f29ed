//! A store that suspends its caller once before every call, so that a test can stop work, or run
//! other work, between any two calls.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use keyloom_store::Store;

use crate::front::{Front, InFront};

/// Wraps a store so that it suspends its caller before every call.
pub fn pausing(store: Arc<dyn Store>) -> Arc<dyn Store> {
    Arc::new(InFront(Pausing(store)))
}

struct Pausing(Arc<dyn Store>);

impl Front for Pausing {
    fn behind(&self) -> &dyn Store {
        &*self.0
    }

    fn before(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(Pause::default())
    }
}

/// A future that is pending once.
#[derive(Debug, Default)]
pub struct Pause {
    is_over: bool,
}

impl Future for Pause {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.is_over, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

/// Runs work up to its next pause; returns its result if it is done.
pub fn go_on<T>(work: Pin<&mut (dyn Future<Output = T> + '_)>) -> Option<T> {
    match work.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => Some(answer),
        Poll::Pending => None,
    }
}

/// Resumes work this many times and then drops it; returns its result if it was done before.
pub fn stop_after<T>(pauses: u64, work: impl Future<Output = T>) -> Option<T> {
    let mut work = std::pin::pin!(work);
    (0..=pauses).find_map(|_| go_on(work.as_mut()))
}

/// Runs work to its end, calling `between` between every two calls.
pub fn interleave<T>(work: impl Future<Output = T>, mut between: impl FnMut(usize)) -> T {
    let mut work = std::pin::pin!(work);
    let mut step = 0;
    loop {
        if let Some(answer) = go_on(work.as_mut()) {
            return answer;
        }
        between(step);
        step += 1;
    }
}
