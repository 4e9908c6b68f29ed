//! The gate of this process, where no other process shares the store. Transactions pass it, and a change
//! of the model waits until none is inside: one that was decided under the old model is not applied
//! after the change. On a shared store, permits do this (`fence.rs`).

use std::future::poll_fn;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use crate::error::Error;

/// The gate of this process.
#[derive(Debug)]
pub(crate) struct Gate(Mutex<State>);

#[derive(Debug)]
struct State {
    /// The epoch of the model in force.
    epoch: u32,
    is_closed: bool,
    /// How many transactions are being committed.
    inside: usize,
    /// Those who wait for a change of this.
    waiting: Vec<Waker>,
}

/// A transaction inside the gate, until it is dropped.
#[derive(Debug)]
pub(crate) struct Pass<'g>(&'g Gate);

/// The gate is closed, until this is dropped.
#[derive(Debug)]
pub(crate) struct Closed<'g>(&'g Gate);

/// The gate, and the epoch of the layouts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GatedBy<'a> {
    pub(crate) gate: &'a Gate,
    pub(crate) epoch: u32,
}

impl Gate {
    /// An open gate for transactions of an epoch.
    pub(crate) fn new(epoch: u32) -> Gate {
        Gate(Mutex::new(State { epoch, is_closed: false, inside: 0, waiting: vec![] }))
    }

    /// Lets a transaction pass that was decided under an epoch.
    ///
    /// # Errors
    ///
    /// [`Error::ModelChanged`] if the epoch is no longer in force, or may not be in a moment.
    pub(crate) fn enter(&self, epoch: u32) -> Result<Pass<'_>, Error> {
        let mut state = self.lock();
        if state.is_closed || state.epoch != epoch {
            return Err(Error::ModelChanged);
        }
        state.inside += 1;
        Ok(Pass(self))
    }

    /// Closes the gate, and waits until nobody is inside.
    pub(crate) async fn close(&self) -> Closed<'_> {
        self.wait(|state| !std::mem::replace(&mut state.is_closed, true)).await;
        // From here on it opens again, also if this call is dropped.
        let closed = Closed(self);
        self.wait(|state| state.inside == 0).await;
        closed
    }

    /// Waits until the gate is open; returns the epoch in force.
    pub(crate) async fn epoch_when_open(&self) -> u32 {
        self.wait(|state| !state.is_closed).await;
        self.lock().epoch
    }

    /// Waits until a state is reached.
    async fn wait(&self, mut is_reached: impl FnMut(&mut State) -> bool) {
        poll_fn(|context| {
            let mut state = self.lock();
            if is_reached(&mut state) {
                return Poll::Ready(());
            }
            state.waiting.push(context.waker().clone());
            Poll::Pending
        })
        .await
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Closed<'_> {
    /// Opens the gate for transactions of another epoch.
    pub(crate) fn open_for(self, epoch: u32) {
        self.0.lock().epoch = epoch;
    }
}

impl State {
    fn wake_all(&mut self) {
        self.waiting.drain(..).for_each(Waker::wake);
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.inside -= 1;
        if state.inside == 0 {
            state.wake_all();
        }
    }
}

impl Drop for Closed<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.is_closed = false;
        state.wake_all();
    }
}
