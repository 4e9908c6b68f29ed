//! The threads of the pool, and how a future gets to run on them.

use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::Poll;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use keyloom_store::SlicePoll;
use tokio::sync::oneshot;

use super::run_queue::RunQueue;
use super::task::{Task, Work};
use super::turn::Turn;
use crate::cores::cores;

/// How long a future runs where it is awaited: longer than reading an entity or a usual page takes (a
/// page of 20 takes about 100 µs), short for the requests that wait for the same thread.
const FIRST_SLICE: Duration = Duration::from_micros(300);
/// How long a turn in the pool is: long compared to the few microseconds of a task switch.
const SLICE: Duration = Duration::from_millis(1);

/// Threads on which futures take turns. The first future that needs them starts them; dropping the
/// pool ends them.
pub(crate) struct Pool {
    options: PoolOptions,
    queue: Arc<RunQueue<Arc<Task>>>,
    threads: OnceLock<Vec<JoinHandle<()>>>,
}

/// The number of threads and the lengths of turns.
#[derive(Clone, Copy, Debug)]
pub(super) struct PoolOptions {
    pub(super) threads: usize,
    pub(super) first_slice: Duration,
    pub(super) slice: Duration,
}

/// What is known about the cost of a future before it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weight {
    /// It may finish within the first slice.
    Light,
    /// It will not.
    Heavy,
}

/// Parsing a body of this size takes longer than the first slice, and has no yield point.
const HEAVY_BODY_BYTES: usize = 32 * 1024;

impl Weight {
    /// The weight of a request with a body of `bytes`.
    pub(crate) fn of_body(bytes: usize) -> Weight {
        if bytes < HEAVY_BODY_BYTES { Weight::Light } else { Weight::Heavy }
    }
}

/// How much lower the priority of the pool's threads is.
#[cfg(target_os = "linux")]
const NICE: i32 = 5;

type Outcome<T> = Result<T, Box<dyn Any + Send>>;

impl Default for Pool {
    /// One thread per core.
    fn default() -> Pool {
        Pool::new(PoolOptions { threads: cores(), first_slice: FIRST_SLICE, slice: SLICE })
    }
}

impl Pool {
    pub(super) fn new(options: PoolOptions) -> Pool {
        Pool { options, queue: Arc::new(RunQueue::new()), threads: OnceLock::new() }
    }

    /// Runs a future: a light one here for a first slice, the rest in the pool. Dropping the returned
    /// future cancels it. If it panics, so does this.
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
            // No thread could be started: run it here, unfairly.
            return future.await;
        }
        self.wait_for(future, self.options.first_slice).await
    }

    /// Runs the first slice. Returns `None` if the future did not finish in it.
    async fn run_inline<F: Future>(&self, mut future: Pin<&mut F>) -> Option<F::Output> {
        let mut left = self.options.first_slice;
        poll_fn(|context| {
            let started = Instant::now();
            let polled = Turn::poll_inline(started + left, future.as_mut(), context);
            // A future that waits here, for a commit or a timer, gets no second first slice.
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
            // The receiver of the result can rely on everything the future held being released.
            drop(future);
            // The caller may be gone.
            let _ = sender.send(outcome);
        });
        let _cancel = Cancel(Task::enqueue(&self.queue, work, used));
        match receiver.await {
            Ok(Ok(output)) => output,
            Ok(Err(panic)) => resume_unwind(panic),
            // A task that is waited for ends without a result only if a destructor panics.
            Err(_) => resume_unwind(Box::new("a task of the pool panicked in a destructor")),
        }
    }

    /// Starts the threads on first use. Returns how many there are.
    fn start(&self) -> usize {
        let threads = self.threads.get_or_init(|| {
            let spawn = |number: usize| {
                let (queue, slice) = (Arc::clone(&self.queue), self.options.slice);
                let thread = thread::Builder::new().name(format!("keyloom-read-{number}"));
                let run = move || {
                    yield_to_connections();
                    work(&queue, slice);
                };
                thread.spawn(run).ok()
            };
            (0..self.options.threads).filter_map(spawn).collect()
        });
        threads.len()
    }
}

/// Cancels a task on drop, unless it is done.
struct Cancel(Arc<Task>);

impl Drop for Cancel {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // Tasks are dropped without the lock.
        drop(self.queue.close());
        // A task can hold the last reference to the pool: a thread must not join itself.
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

/// Has the system prefer the threads that serve connections, when they wake up, to this one: its turn is longer than
/// they need. On Linux the priority is that of a thread; elsewhere, of the process.
fn yield_to_connections() {
    #[cfg(target_os = "linux")]
    {
        if let Err(error) = rustix::process::nice(NICE) {
            tracing::debug!(%error, "the threads of the fair pool keep their priority");
        }
    }
}

/// The loop of a thread of the pool.
fn work(queue: &RunQueue<Arc<Task>>, slice: Duration) {
    while let Some(task) = queue.next() {
        // Tasks catch their own panics, except those of destructors.
        let _ = catch_unwind(AssertUnwindSafe(|| task.take_turn(slice)));
    }
}

#[cfg(test)]
impl Pool {
    pub(super) fn queue(&self) -> std::sync::Weak<RunQueue<Arc<Task>>> {
        Arc::downgrade(&self.queue)
    }
}
