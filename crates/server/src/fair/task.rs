//! A future that takes turns in the pool.
//!
//! ```text
//!             turn                    wake
//!   Queued ---------> Running ... Waiting ---> Queued
//!     ^                  | yields, or is woken meanwhile
//!     +------------------+
//! ```
//!
//! It can be cancelled in every stage. Its future is then dropped: at once, or, if it is running, at the
//! end of its turn, which is its next yield point.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Wake, Waker};
use std::time::{Duration, Instant};

use keyloom_store::SlicePoll;
use tokio::runtime::Handle;

use super::queue::Ticket;
use super::run_queue::RunQueue;
use super::turn::Turn;

/// A future that sends its result itself and catches its own panics.
pub(super) type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

pub(super) struct Task {
    queue: Arc<RunQueue<Arc<Task>>>,
    /// The runtime it was started on: timers and sockets need it.
    runtime: Option<Handle>,
    is_cancelled: Arc<AtomicBool>,
    state: Mutex<State>,
}

struct State {
    stage: Stage,
    /// How long it has run so far.
    used: Duration,
    /// `None` while it runs, and when it is done.
    work: Option<Work>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Queued(Ticket),
    Running { is_woken: bool },
    Waiting,
    Done,
}

impl Task {
    /// Queues a task that has run for `used` already.
    pub(super) fn enqueue(
        queue: &Arc<RunQueue<Arc<Task>>>,
        work: Work,
        used: Duration,
    ) -> Arc<Task> {
        let task = Arc::new(Task {
            queue: Arc::clone(queue),
            runtime: Handle::try_current().ok(),
            is_cancelled: Arc::default(),
            state: Mutex::new(State { stage: Stage::Waiting, used, work: Some(work) }),
        });
        task.wake_by_ref();
        task
    }

    /// Runs for a slice. Afterwards the task is done, waiting, or queued again.
    pub(super) fn take_turn(self: &Arc<Task>, slice: Duration) {
        let mut state = self.state();
        let Some(mut work) = state.work.take() else { return };
        state.stage = Stage::Running { is_woken: false };
        drop(state);

        let started = Instant::now();
        let is_cancelled = Some(Arc::clone(&self.is_cancelled));
        let turn = Turn { until: started + slice, is_cancelled };
        let waker = Waker::from(Arc::clone(self));
        let polled = {
            let _runtime = self.runtime.as_ref().map(Handle::enter);
            turn.poll_pooled(work.as_mut(), &mut Context::from_waker(&waker))
        };
        let used = started.elapsed();
        match polled {
            SlicePoll::Ready(()) => self.state().stage = Stage::Done,
            SlicePoll::Yielded | SlicePoll::Waiting => self.end_turn(work, used),
        }
    }

    /// Ends a turn that did not finish the work. Cancelled work is dropped without the lock: its
    /// destructor may do anything.
    fn end_turn(self: &Arc<Task>, work: Work, used: Duration) {
        let mut state = self.state();
        state.used += used;
        if self.is_cancelled.load(Ordering::Relaxed) {
            state.stage = Stage::Done;
            drop(state);
            drop(work);
            return;
        }
        state.work = Some(work);
        let is_woken = matches!(state.stage, Stage::Running { is_woken: true });
        state.stage = Stage::Waiting;
        if is_woken {
            self.queue_up(&mut state);
        }
    }

    /// Cancels the task: nobody waits for its result.
    pub(super) fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Relaxed);
        let mut state = self.state();
        if let Stage::Queued(ticket) = state.stage {
            self.queue.remove(ticket);
        }
        if let Some(work) = state.work.take() {
            state.stage = Stage::Done;
            drop(state);
            drop(work);
        }
    }

    fn queue_up(self: &Arc<Task>, state: &mut State) {
        // A closed pool takes no tasks: this one is dropped with the pool.
        state.stage = match self.queue.push(state.used, Arc::clone(self)) {
            Some(ticket) => Stage::Queued(ticket),
            None => Stage::Waiting,
        };
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics while the lock is held, and every stage would be consistent if it did.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let mut state = self.state();
        match state.stage {
            Stage::Waiting => self.queue_up(&mut state),
            Stage::Running { .. } => state.stage = Stage::Running { is_woken: true },
            Stage::Queued(_) | Stage::Done => {}
        }
    }
}
