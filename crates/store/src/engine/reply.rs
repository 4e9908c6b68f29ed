//! A one-shot channel from a thread to a future. Needs no async runtime.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// Sends the answer. If it is dropped without sending, the receiver gets `None`.
#[derive(Debug)]
pub(crate) struct Sender<T>(Arc<Mutex<Slot<T>>>);

/// Waits for the answer: `None` if the sender is gone.
#[derive(Debug)]
pub(crate) struct Receiver<T>(Arc<Mutex<Slot<T>>>);

#[derive(Debug)]
enum Slot<T> {
    Waiting(Option<Waker>),
    Answered(T),
    Over,
}

pub(crate) fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let slot = Arc::new(Mutex::new(Slot::Waiting(None)));
    (Sender(Arc::clone(&slot)), Receiver(slot))
}

impl<T> Sender<T> {
    pub(crate) fn send(self, answer: T) {
        finish(&self.0, Slot::Answered(answer));
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        if matches!(*lock(&self.0), Slot::Waiting(_)) {
            finish(&self.0, Slot::Over);
        }
    }
}

impl<T> Future for Receiver<T> {
    type Output = Option<T>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        let mut slot = lock(&self.0);
        match &mut *slot {
            Slot::Waiting(waker) => {
                *waker = Some(context.waker().clone());
                Poll::Pending
            }
            Slot::Answered(_) | Slot::Over => match std::mem::replace(&mut *slot, Slot::Over) {
                Slot::Answered(answer) => Poll::Ready(Some(answer)),
                Slot::Waiting(_) | Slot::Over => Poll::Ready(None),
            },
        }
    }
}

fn finish<T>(slot: &Mutex<Slot<T>>, end: Slot<T>) {
    let before = std::mem::replace(&mut *lock(slot), end);
    if let Slot::Waiting(Some(waker)) = before {
        waker.wake();
    }
}

fn lock<T>(slot: &Mutex<Slot<T>>) -> MutexGuard<'_, Slot<T>> {
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Blocks this thread until a future completes.
pub(crate) fn wait<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(std::thread::Thread);
    impl std::task::Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = std::pin::pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(answer) => return answer,
            Poll::Pending => std::thread::park(),
        }
    }
}
