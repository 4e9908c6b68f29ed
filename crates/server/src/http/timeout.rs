//! Time limits that cost nothing where there is nothing to wait for.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use futures_util::future::poll_immediate;
use tokio::time::error::Elapsed;

/// As tokio's, but without a timer for a future that is ready at once, as that of a usual request is.
pub(crate) async fn timeout<F: Future>(time: Duration, future: F) -> Result<F::Output, Elapsed> {
    let mut future = pin!(future);
    match poll_immediate(future.as_mut()).await {
        Some(output) => Ok(output),
        None => tokio::time::timeout(time, future).await,
    }
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
        assert_eq!(answered.ok(), Some(7));
    }

    #[test]
    fn a_future_that_waits_is_given_up() {
        let runtime = Builder::new_current_thread().enable_time().build().unwrap();
        let answered = runtime.block_on(timeout(Duration::ZERO, pending::<()>()));
        assert!(answered.is_err());
    }
}
