//! Simulated time: a clock, and an executor that advances it when everybody sleeps.

use std::collections::{BTreeMap, VecDeque};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use keyloom_store::{Clock, Time};

use crate::ManualClock;

/// A clock that stands still while anybody has something to do, and then jumps to the next time at
/// which somebody wakes up. Hours pass in milliseconds, and the same futures always take turns in
/// the same order. Clones share one time.
#[derive(Clone, Debug, Default)]
pub struct SimClock(Arc<Mutex<Sleepers>>);

#[derive(Debug, Default)]
struct Sleepers {
    now_us: u64,
    /// By the time at which they wake up, and among those in the order in which they fell asleep.
    wakers: BTreeMap<(u64, u64), Waker>,
    count: u64,
}

/// The tasks that can run, in order.
type Ready = Arc<Mutex<VecDeque<usize>>>;

struct TaskWaker {
    task: usize,
    ready: Ready,
}

impl SimClock {
    /// Creates a clock that starts at [`ManualClock::START`].
    pub fn new() -> SimClock {
        let clock = SimClock::default();
        clock.lock().now_us = ManualClock::START.0 * 1000;
        clock
    }

    /// Runs futures until all are done. Returns their results in order.
    ///
    /// # Panics
    ///
    /// If none can continue and nobody sleeps: they wait for each other.
    pub fn run<'f, T>(&self, futures: Vec<Pin<Box<dyn Future<Output = T> + 'f>>>) -> Vec<T> {
        let ready: Ready = Arc::new(Mutex::new((0..futures.len()).collect()));
        let mut tasks: Vec<_> = futures.into_iter().map(Some).collect();
        let mut results: Vec<Option<T>> = tasks.iter().map(|_| None).collect();
        while tasks.iter().any(Option::is_some) {
            let next = lock(&ready).pop_front();
            let Some(task) = next else {
                assert!(self.wake_next(), "all futures wait, and nobody sleeps");
                continue;
            };
            let waker = Waker::from(Arc::new(TaskWaker { task, ready: ready.clone() }));
            let Some(future) = &mut tasks[task] else { continue };
            if let Poll::Ready(result) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
                results[task] = Some(result);
                tasks[task] = None;
            }
        }
        results.into_iter().flatten().collect()
    }

    /// Advances to the next time at which somebody wakes up, and wakes them.
    fn wake_next(&self) -> bool {
        let mut sleepers = self.lock();
        let Some(((at, _), waker)) = sleepers.wakers.pop_first() else { return false };
        sleepers.now_us = sleepers.now_us.max(at);
        drop(sleepers);
        waker.wake();
        true
    }

    fn lock(&self) -> MutexGuard<'_, Sleepers> {
        lock(&self.0)
    }
}

impl Clock for SimClock {
    fn now(&self) -> Time {
        Time(self.lock().now_us / 1000)
    }

    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let us = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        let (clock, until) = (self.clone(), self.lock().now_us.saturating_add(us));
        let mut place = None;
        Box::pin(std::future::poll_fn(move |context| {
            let mut sleepers = clock.lock();
            if let Some(place) = place.take() {
                sleepers.wakers.remove(&place);
            }
            if sleepers.now_us >= until {
                return Poll::Ready(());
            }
            sleepers.count += 1;
            let at = (until, sleepers.count);
            sleepers.wakers.insert(at, context.waker().clone());
            place = Some(at);
            Poll::Pending
        }))
    }
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        let mut ready = lock(&self.ready);
        if !ready.contains(&self.task) {
            ready.push_back(self.task);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_passes_while_everybody_sleeps() {
        let clock = SimClock::new();
        let start = clock.now();
        let sleeper = |seconds: u64| {
            let clock = clock.clone();
            let future: Pin<Box<dyn Future<Output = u64>>> = Box::pin(async move {
                clock.sleep(Duration::from_secs(seconds)).await;
                clock.sleep(Duration::from_secs(seconds)).await;
                clock.now().0 - start.0
            });
            future
        };
        assert_eq!(
            clock.run(vec![sleeper(1800), sleeper(1), sleeper(60)]),
            [3_600_000, 2000, 120_000]
        );
    }
}
