//! Waiting for the first of two futures.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

/// The result of the future that completed first; if both did, that of the left one.
pub(crate) enum Either<L, R> {
    Left(L),
    Right(R),
}

pub(crate) async fn race<L, R>(
    left: impl Future<Output = L>,
    right: impl Future<Output = R>,
) -> Either<L, R> {
    let (mut left, mut right) = (pin!(left), pin!(right));
    poll_fn(|context| {
        if let Poll::Ready(result) = left.as_mut().poll(context) {
            return Poll::Ready(Either::Left(result));
        }
        right.as_mut().poll(context).map(Either::Right)
    })
    .await
}
