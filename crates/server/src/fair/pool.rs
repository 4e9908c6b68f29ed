//! The threads, and how a future comes to them.

use std::any::Any;
use std::future::poll_fn;
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::Poll;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use keyloom_store::SlicePoll;
use tokio::sync::oneshot;

use super::queue::{Queue, Ticket};
use super::task::{Task, Work};
use super::turn::Turn;

/// How much time a future gets where it is awaited: more than an entity or a usual page takes (a page
/// of 20 about 100 µs), and little for those that wait for the same thread.
const FIRST_SLICE: Duration = Duration::from_micros(300);
/// How much time a turn in the pool is: long beside the few microseconds that changing costs.
const SLICE: Duration = Duration::from_millis(1);

/// Threads on which futures take turns. They start with the first future that needs them, and end
/// when the pool is dropped.
pub(crate) struct Pool {
    options: PoolOptions,
    shared: Arc<Shared>,
    threads: OnceLock<Vec<JoinHandle<()>>>,
}

/// How many threads, and how long a turn is.
#[derive(Clone, Copy, Debug)]
pub(super) struct PoolOptions {
    pub(super) threads: usize,
    pub(super) first_slice: Duration,
    pub(super) slice: Duration,
}

/// What can be known of a future before it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weight {
    /// It may be done within a first slice.
    Light,
    /// It is not.
    Heavy,
}

/// A body of so many bytes takes longer to be read than a first slice, and without a yield point.
const HEAVY_BODY_BYTES: usize = 32 * 1024;

impl Weight {
    /// That of a request by its body.
    pub(crate) fn of_body(bytes: usize) -> Weight {
        if bytes < HEAVY_BODY_BYTES { Weight::Light } else { Weight::Heavy }
    }
}

/// What the threads and the tasks have in common.
pub(super) struct Shared {
    line: Mutex<Line>,
    /// Somebody has queued up, or the pool is closed.
    is_changed: Condvar,
}

struct Line {
    queue: Queue<Arc<Task>>,
    is_open: bool,
}

type Outcome<T> = Result<T, Box<dyn Any + Send>>;

impl Default for Pool {
    /// A thread for each core.
    fn default() -> Pool {
        let threads = thread::available_parallelism().map_or(1, NonZero::get);
        Pool::new(PoolOptions { threads, first_slice: FIRST_SLICE, slice: SLICE })
    }
}

impl Pool {
    pub(super) fn new(options: PoolOptions) -> Pool {
        let line = Line { queue: Queue::new(), is_open: true };
        let shared = Arc::new(Shared { line: Mutex::new(line), is_changed: Condvar::new() });
        Pool { options, shared, threads: OnceLock::new() }
    }

    /// Runs a future: if it seems light, here for a first slice; and then in the pool. It is
    /// cancelled when what this returns is dropped. If it panics, so does this.
    pub(crate) async fn run<F>(&self, weight: Weight, future: F) -> F::Output
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let mut future = Box::pin(future);
        if weight == Weight::Light
            && let Some(output) = self.run_inline(future.as_mut()).await
        {
            return output;
        }
        if self.start() == 0 {
            // The system has no thread to give: better late than never.
            return future.await;
        }
        self.wait_for(future, self.options.first_slice).await
    }

    /// The first slice; none if it is over.
    async fn run_inline<F: Future>(&self, mut future: Pin<&mut F>) -> Option<F::Output> {
        let mut left = self.options.first_slice;
        poll_fn(|context| {
            let started = Instant::now();
            let polled = Turn::poll_inline(started + left, future.as_mut(), context);
            // What waits here, for a commit or a timer, has no second first slice.
            left = left.saturating_sub(started.elapsed());
            match polled {
                SlicePoll::Ready(output) => Poll::Ready(Some(output)),
                SlicePoll::Yielded => Poll::Ready(None),
                SlicePoll::Waiting => Poll::Pending,
            }
        })
        .await
    }

    async fn wait_for<T: Send + 'static>(
        &self,
        mut future: Pin<Box<dyn Future<Output = T> + Send>>,
        used: Duration,
    ) -> T {
        let (sender, receiver) = oneshot::channel::<Outcome<T>>();
        let work: Work = Box::pin(async move {
            let outcome = poll_fn(|context| {
                let poll = AssertUnwindSafe(|| future.as_mut().poll(context));
                match catch_unwind(poll) {
                    Ok(polled) => polled.map(Ok),
                    Err(panic) => Poll::Ready(Err(panic)),
                }
            });
            let outcome = outcome.await;
            // Whoever gets the result may count on it that nothing is held for it any more.
            drop(future);
            // Nobody may wait for it any more.
            let _ = sender.send(outcome);
        });
        let _cancel = Cancel(Task::enqueue(&self.shared, work, used));
        match receiver.await {
            Ok(Ok(output)) => output,
            Ok(Err(panic)) => resume_unwind(panic),
            // Only a panic while it is dropped ends a task that is waited for without a result.
            Err(_) => resume_unwind(Box::new("a task of the pool panicked in a destructor")),
        }
    }

    /// Starts the threads, if they have not been; how many there are.
    fn start(&self) -> usize {
        let threads = self.threads.get_or_init(|| {
            let spawn = |number: usize| {
                let (shared, slice) = (Arc::clone(&self.shared), self.options.slice);
                let thread = thread::Builder::new().name(format!("keyloom-read-{number}"));
                thread.spawn(move || shared.work(slice)).ok()
            };
            (0..self.options.threads).filter_map(spawn).collect()
        });
        threads.len()
    }
}

/// Cancels a task, unless it is done.
struct Cancel(Arc<Task>);

impl Drop for Cancel {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // Tasks are dropped without the lock.
        drop(self.shared.close());
        // What a task holds last may be the pool itself: no thread waits for its own end.
        let threads = self.threads.take().into_iter().flatten();
        for other in threads.filter(|other| other.thread().id() != thread::current().id()) {
            let _ = other.join();
        }
    }
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Shared {
    /// What a thread of the pool does.
    fn work(&self, slice: Duration) {
        while let Some(task) = self.next() {
            // A task catches its own panics, but for those of destructors.
            let _ = catch_unwind(AssertUnwindSafe(|| task.take_turn(slice)));
        }
    }

    /// Whose turn it is; none when the pool is closed.
    fn next(&self) -> Option<Arc<Task>> {
        let mut line = self.line();
        loop {
            if !line.is_open {
                return None;
            }
            if let Some(task) = line.queue.pop() {
                return Some(task);
            }
            line = self.is_changed.wait(line).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Queues up a task; none if the pool is closed.
    pub(super) fn enter(&self, used: Duration, task: Arc<Task>) -> Option<Ticket> {
        let mut line = self.line();
        if !line.is_open {
            return None;
        }
        let ticket = line.queue.push(used, task);
        drop(line);
        self.is_changed.notify_one();
        Some(ticket)
    }

    /// Takes a task out of the queue, if it is still there.
    pub(super) fn leave(&self, ticket: Ticket) {
        let task = self.line().queue.remove(ticket);
        // Without the lock; and its canceller holds it too.
        drop(task);
    }

    fn close(&self) -> Vec<Arc<Task>> {
        let mut line = self.line();
        line.is_open = false;
        self.is_changed.notify_all();
        line.queue.clear()
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        // Nothing panics while it is held; and if so, the queue is whole.
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
impl Pool {
    pub(super) fn shared(&self) -> std::sync::Weak<Shared> {
        Arc::downgrade(&self.shared)
    }
}
