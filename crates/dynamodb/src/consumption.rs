//! Consumed capacity, and for which work it was consumed.
//!
//! Whoever runs some work on a remote store measures it with [`Consumption::measure`]: every request
//! that the work sends is added, on whichever thread it is sent.

use std::cell::RefCell;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

thread_local! {
    /// The work that is being polled on this thread.
    static CURRENT: RefCell<Option<Arc<Consumption>>> = const { RefCell::new(None) };
}

/// Units that requests have consumed, as reported by the service. Counts in halves: an eventually
/// consistent read costs half a unit.
#[derive(Debug, Default)]
pub struct Consumption {
    read_halves: AtomicU64,
    write_halves: AtomicU64,
}

impl Consumption {
    /// Read request units so far.
    pub fn read_units(&self) -> f64 {
        units(&self.read_halves)
    }

    /// Write request units so far.
    pub fn write_units(&self) -> f64 {
        units(&self.write_halves)
    }

    /// Runs work, and adds what its requests consume. Work within it that is measured on its own is not
    /// added.
    pub fn measure<F: Future>(self: Arc<Self>, work: F) -> impl Future<Output = F::Output> {
        Measured { consumption: self, work: Box::pin(work) }
    }

    /// The work that is being polled on this thread, if it is measured.
    #[cfg(feature = "remote")]
    pub(crate) fn current() -> Option<Arc<Consumption>> {
        CURRENT.with_borrow(Clone::clone)
    }

    #[cfg(feature = "remote")]
    pub(crate) fn add_read(&self, halves: u64) {
        self.read_halves.fetch_add(halves, Ordering::Relaxed);
    }

    #[cfg(feature = "remote")]
    pub(crate) fn add_written(&self, halves: u64) {
        self.write_halves.fetch_add(halves, Ordering::Relaxed);
    }
}

fn units(halves: &AtomicU64) -> f64 {
    halves.load(Ordering::Relaxed) as f64 / 2.0
}

/// Work that is measured.
struct Measured<F> {
    consumption: Arc<Consumption>,
    work: Pin<Box<F>>,
}

impl<F: Future> Future for Measured<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let _during = During::new(self.consumption.clone());
        self.work.as_mut().poll(context)
    }
}

/// Restores, when it is dropped, what was measured on this thread before.
struct During {
    before: Option<Arc<Consumption>>,
}

impl During {
    fn new(consumption: Arc<Consumption>) -> During {
        During { before: CURRENT.replace(Some(consumption)) }
    }
}

impl Drop for During {
    fn drop(&mut self) {
        CURRENT.set(self.before.take());
    }
}
