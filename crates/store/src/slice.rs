//! Time slices: how long a computation may keep a thread before it yields.
//!
//! A runner of many computations on few threads polls each within a [`Slice`]; computations reach a
//! [`yield_point`] wherever they may stop. Outside of a slice a yield point does nothing. This file
//! reads no clock: a function of the runner says whether the slice is over.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

thread_local! {
    static CURRENT: Cell<Option<Current>> = const { Cell::new(None) };
}

/// One turn of a computation on a thread.
#[derive(Clone, Copy, Debug)]
pub struct Slice {
    is_over: fn() -> bool,
    calls: Calls,
}

/// The result of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlicePoll<T> {
    /// The computation has finished.
    Ready(T),
    /// It could continue, but its slice is over.
    Yielded,
    /// It waits for something else.
    Waiting,
}

/// What the end of a slice means for a long read of an [`Engine`](crate::Engine).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Calls {
    /// The read is finished first.
    Finished,
    /// The read is abandoned, and restarted in a later slice.
    Interrupted,
}

/// The slice of this thread.
#[derive(Clone, Copy)]
struct Current {
    slice: Slice,
    has_yielded: bool,
}

impl Slice {
    /// Creates a slice that ends at the first yield point at which `is_over` returns true. From
    /// then on it must return true until the slice has ended.
    pub fn new(is_over: fn() -> bool) -> Slice {
        Slice { is_over, calls: Calls::Finished }
    }

    /// Creates a slice for a thread that must not be blocked: a long read of an engine is abandoned
    /// when the slice is over, and restarts in the next one. So the next one must not be such a
    /// slice, or the read may never finish.
    pub fn interrupting(is_over: fn() -> bool) -> Slice {
        Slice { is_over, calls: Calls::Interrupted }
    }

    /// Polls a future within this slice. If it yields, it has woken its waker.
    pub fn poll<F: Future + ?Sized>(
        self,
        future: Pin<&mut F>,
        context: &mut Context<'_>,
    ) -> SlicePoll<F::Output> {
        let restore = Restore(CURRENT.replace(Some(Current { slice: self, has_yielded: false })));
        let polled = future.poll(context);
        let has_yielded = CURRENT.get().is_some_and(|current| current.has_yielded);
        drop(restore);
        match polled {
            Poll::Ready(output) => SlicePoll::Ready(output),
            Poll::Pending if has_yielded => SlicePoll::Yielded,
            Poll::Pending => SlicePoll::Waiting,
        }
    }
}

/// Restores the thread's previous slice, even if a computation panics.
struct Restore(Option<Current>);

impl Drop for Restore {
    fn drop(&mut self) {
        CURRENT.set(self.0);
    }
}

/// Yields the thread if its current slice is over.
///
/// Call it in every loop whose length a client decides, but never while holding a snapshot that
/// would otherwise be dropped soon: a parked computation waits until others have had their turn.
pub fn yield_point() -> impl Future<Output = ()> + Send {
    let mut has_yielded = false;
    poll_fn(move |context| {
        let is_over = |current: Current| (current.slice.is_over)();
        match !has_yielded && CURRENT.get().is_some_and(is_over) {
            true => has_yielded = true,
            false => return Poll::Ready(()),
        }
        yielded(context)
    })
}

/// Leaves an interrupting slice: what follows is long and has no yield points.
pub(crate) fn leave_interrupting() -> impl Future<Output = ()> + Send {
    let mut has_left = false;
    poll_fn(move |context| {
        let is_interrupting = |current: Current| current.slice.calls == Calls::Interrupted;
        match !has_left && CURRENT.get().is_some_and(is_interrupting) {
            true => has_left = true,
            false => return Poll::Ready(()),
        }
        yielded(context)
    })
}

/// Runs a read that gives up when its interrupt fires, again and again until it does not fire.
pub(crate) async fn interruptible<T>(read: impl Fn(&Interrupt) -> T) -> T {
    loop {
        yield_point().await;
        let interrupt = Interrupt::of_slice();
        let answer = read(&interrupt);
        if !interrupt.has_fired.get() {
            return answer;
        }
    }
}

/// Tells a read to give up. Its result is then discarded.
pub(crate) struct Interrupt {
    is_over: Option<fn() -> bool>,
    checks: Cell<u32>,
    has_fired: Cell<bool>,
}

impl Interrupt {
    /// Rows between two calls of `is_over`: reading the clock costs as much as a small row.
    const EVERY: u32 = 8;

    pub(crate) fn never() -> Interrupt {
        Interrupt { is_over: None, checks: Cell::new(0), has_fired: Cell::new(false) }
    }

    fn of_slice() -> Interrupt {
        let slice = CURRENT.get().map(|current| current.slice);
        let slice = slice.filter(|slice| slice.calls == Calls::Interrupted);
        Interrupt { is_over: slice.map(|slice| slice.is_over), ..Interrupt::never() }
    }

    /// Whether to give up. Called before every row.
    pub(crate) fn fires(&self) -> bool {
        let Some(is_over) = self.is_over else { return false };
        self.checks.update(|checks| checks.wrapping_add(1));
        if self.checks.get().is_multiple_of(Interrupt::EVERY) && is_over() {
            self.has_fired.set(true);
        }
        self.has_fired.get()
    }
}

fn yielded(context: &Context<'_>) -> Poll<()> {
    CURRENT.set(CURRENT.get().map(|current| Current { has_yielded: true, ..current }));
    context.waker().wake_by_ref();
    Poll::Pending
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::task::{Wake, Waker};

    use super::*;

    #[derive(Default)]
    struct Wakes(AtomicU32);

    impl Wake for Wakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Polls a future in consecutive slices; returns the results, and how often it woke its waker.
    fn polls<T>(slices: &[Slice], future: impl Future<Output = T>) -> (Vec<SlicePoll<T>>, u32) {
        let wakes = Arc::new(Wakes::default());
        let waker = Waker::from(Arc::clone(&wakes));
        let mut future = pin!(future);
        let mut context = Context::from_waker(&waker);
        let polls = slices.iter().map(|slice| slice.poll(future.as_mut(), &mut context)).collect();
        (polls, wakes.0.load(Ordering::Relaxed))
    }

    #[test]
    fn a_yield_point_stops_a_computation_once_when_its_slice_is_over() {
        let (over, not_over) = (Slice::new(|| true), Slice::new(|| false));
        let twice = || async {
            yield_point().await;
            yield_point().await;
            7
        };
        assert_eq!(polls(&[not_over], twice()), (vec![SlicePoll::Ready(7)], 0));
        let stopped = vec![SlicePoll::Yielded, SlicePoll::Yielded, SlicePoll::Ready(7)];
        assert_eq!(polls(&[over, over, over], twice()), (stopped, 2));
        let stopped = vec![SlicePoll::Yielded, SlicePoll::Ready(7)];
        assert_eq!(polls(&[over, not_over], twice()), (stopped, 1));
        assert_eq!(pollster::block_on(twice()), 7, "there is no slice");
    }

    #[test]
    fn waiting_for_something_else_is_not_yielding() {
        let waits = std::future::pending::<()>();
        assert_eq!(polls(&[Slice::new(|| true)], waits), (vec![SlicePoll::Waiting], 0));
    }

    #[test]
    fn an_interrupted_read_is_restarted_and_only_a_complete_result_is_returned() {
        let attempts = Cell::new(0);
        let read = |interrupt: &Interrupt| {
            attempts.set(attempts.get() + 1);
            (0..100).take_while(|_| !interrupt.fires()).count()
        };
        let slices = [Slice::interrupting(attempts_are_over), Slice::new(|| false)];
        let (seen, _) = polls(&slices, interruptible(read));
        assert_eq!(seen, [SlicePoll::Yielded, SlicePoll::Ready(100)]);
        assert_eq!(attempts.get(), 2);
        let (seen, _) = polls(&[Slice::new(|| false)], interruptible(read));
        assert_eq!(seen, [SlicePoll::Ready(100)], "other slices interrupt nothing");
    }

    /// Returns false at the yield point before the read, and true from then on.
    fn attempts_are_over() -> bool {
        thread_local! {
            static ASKED: Cell<u32> = const { Cell::new(0) };
        }
        ASKED.replace(ASKED.get() + 1) > 0
    }

    #[test]
    fn a_slice_within_another_leaves_it_as_it_was() {
        let inner = async { polls(&[Slice::new(|| true)], yield_point()).0 };
        let outer = async {
            let inner = inner.await;
            yield_point().await;
            inner
        };
        let (seen, _) = polls(&[Slice::new(|| false)], outer);
        assert_eq!(seen, [SlicePoll::Ready(vec![SlicePoll::Yielded])]);
    }

    #[test]
    fn a_panic_leaves_no_slice_behind() {
        let panics = || polls(&[Slice::new(|| true)], async { panic!("on purpose") });
        assert!(std::panic::catch_unwind(panics).is_err());
        assert!(CURRENT.get().is_none());
    }

    #[test]
    fn a_long_operation_leaves_an_interrupting_slice() {
        let slices = [Slice::interrupting(|| false), Slice::new(|| false)];
        let (seen, wakes) = polls(&slices, leave_interrupting());
        assert_eq!((&seen[..], wakes), (&[SlicePoll::Yielded, SlicePoll::Ready(())][..], 1));
        assert_eq!(polls(&[Slice::new(|| true)], leave_interrupting()).1, 0);
    }
}
