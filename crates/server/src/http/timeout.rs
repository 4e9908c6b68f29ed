//! Time limits that cost nothing where there is nothing to wait for.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use tokio::time::sleep;

/// A time limit was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Overdue;

/// As tokio's, but makes a timer, which asks for the clock and the runtime, only once the future has to wait: that of a
/// usual read never does.
pub(crate) async fn timeout<F: Future>(time: Duration, future: F) -> Result<F::Output, Overdue> {
    let mut future = pin!(future);
    let mut timer = pin!(None);
    poll_fn(|context| {
        if let Poll::Ready(output) = future.as_mut().poll(context) {
            return Poll::Ready(Ok(output));
        }
        if timer.is_none() {
            timer.set(Some(sleep(time)));
        }
        let due = timer.as_mut().as_pin_mut().map(|timer| timer.poll(context));
        due.map_or(Poll::Pending, |due| due.map(|()| Err(Overdue)))
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use tokio::runtime::Builder;

    use super::*;

    #[test]
    fn a_future_that_is_ready_needs_no_timer() {
        // Outside of a runtime, there is none.
        let answered = pollster::block_on(timeout(Duration::from_secs(1), ready(7)));
        assert_eq!(answered, Ok(7));
    }

    #[test]
    fn a_future_that_waits_is_given_up() {
        let runtime = Builder::new_current_thread().enable_time().build().unwrap();
        let answered = runtime.block_on(timeout(Duration::ZERO, pending::<()>()));
        assert_eq!(answered, Err(Overdue));
    }
}
