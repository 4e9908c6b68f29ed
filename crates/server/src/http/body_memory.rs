//! Memory for request bodies, shared by all clients.
//!
//! Bodies reserve memory for the bytes that have arrived, not for those that were announced. When none is
//! left, a client that uses more than its share is refused, and the others wait.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// The memory for request bodies.
#[derive(Debug)]
pub(crate) struct BodyMemory {
    total: usize,
    usage: Mutex<Usage>,
    /// Notified when memory is released, and when shares change.
    changed: Notify,
}

#[derive(Debug, Default)]
struct Usage {
    bytes: usize,
    /// Bytes and bodies of each client that has any.
    clients: HashMap<IpAddr, Share>,
    /// Bodies that wait for memory.
    waiting: usize,
    /// All bodies.
    bodies: usize,
}

#[derive(Debug, Default)]
struct Share {
    bytes: usize,
    bodies: usize,
}

/// The memory of one body, released on drop.
#[derive(Debug)]
pub(crate) struct Reservation {
    memory: Arc<BodyMemory>,
    client: IpAddr,
    bytes: usize,
}

/// There is no memory left, and waiting could not help or would be at the expense of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MemoryFull;

impl BodyMemory {
    pub(crate) fn new(total: usize) -> BodyMemory {
        BodyMemory { total, usage: Mutex::default(), changed: Notify::new() }
    }

    /// The number of reserved bytes.
    pub(crate) fn used_bytes(&self) -> usize {
        self.usage().bytes
    }

    /// Starts a reservation for a body of a client, with no bytes yet.
    pub(crate) fn reserve(self: &Arc<Self>, client: IpAddr) -> Reservation {
        let mut usage = self.usage();
        usage.bodies += 1;
        usage.clients.entry(client).or_default().bodies += 1;
        // A new client makes the shares of all others smaller.
        self.changed.notify_waiters();
        Reservation { memory: self.clone(), client, bytes: 0 }
    }

    fn usage(&self) -> MutexGuard<'_, Usage> {
        self.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reservation {
    /// Reserves `bytes` more, waiting for other bodies to end if necessary.
    pub(crate) async fn grow(&mut self, bytes: usize) -> Result<(), MemoryFull> {
        let memory = self.memory.clone();
        loop {
            let changed = memory.changed.notified();
            if self.try_grow(bytes)? {
                return Ok(());
            }
            let _waiting = Waiting::begin(&memory)?;
            changed.await;
        }
    }

    /// Reserves `bytes` more. Returns false if it has to wait.
    fn try_grow(&mut self, bytes: usize) -> Result<bool, MemoryFull> {
        let mut guard = self.memory.usage();
        let usage = &mut *guard;
        let clients = usage.clients.len();
        let Some(share) = usage.clients.get_mut(&self.client) else { return Err(MemoryFull) };
        let wanted = share.bytes + bytes;
        if usage.bytes + bytes > self.memory.total {
            let is_greedy = clients > 1 && wanted > self.memory.total / clients;
            return if is_greedy { Err(MemoryFull) } else { Ok(false) };
        }
        share.bytes = wanted;
        usage.bytes += bytes;
        self.bytes += bytes;
        Ok(true)
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut usage = self.memory.usage();
        usage.bytes -= self.bytes;
        usage.bodies -= 1;
        if let Some(share) = usage.clients.get_mut(&self.client) {
            share.bytes -= self.bytes;
            share.bodies -= 1;
            if share.bodies == 0 {
                usage.clients.remove(&self.client);
            }
        }
        drop(usage);
        self.memory.changed.notify_waiters();
    }
}

/// Counts a body as waiting until it is dropped.
struct Waiting<'r>(&'r BodyMemory);

impl Waiting<'_> {
    /// Fails if all other bodies wait, too: none would ever release memory.
    fn begin(memory: &BodyMemory) -> Result<Waiting<'_>, MemoryFull> {
        let mut usage = memory.usage();
        if usage.waiting + 1 >= usage.bodies {
            return Err(MemoryFull);
        }
        usage.waiting += 1;
        Ok(Waiting(memory))
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.usage().waiting -= 1;
    }
}

#[cfg(test)]
mod tests {
    use std::pin::{Pin, pin};
    use std::task::{Context, Poll, Waker};

    use super::*;

    fn client(number: u8) -> IpAddr {
        IpAddr::from([127, 0, 0, number])
    }

    fn poll(
        future: Pin<&mut impl Future<Output = Result<(), MemoryFull>>>,
    ) -> Poll<Result<(), MemoryFull>> {
        future.poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn bodies_wait_for_others_to_end() {
        let memory = Arc::new(BodyMemory::new(100));
        let (mut first, mut second) = (memory.reserve(client(1)), memory.reserve(client(1)));
        assert_eq!(poll(pin!(first.grow(80))), Poll::Ready(Ok(())));
        {
            let mut grow = pin!(second.grow(30));
            assert_eq!(poll(grow.as_mut()), Poll::Pending);
            drop(first);
            assert_eq!(poll(grow), Poll::Ready(Ok(())));
        }
        assert_eq!(memory.used_bytes(), 30);
        drop(second);
        assert_eq!((memory.used_bytes(), memory.usage().clients.len()), (0, 0));
    }

    #[test]
    fn a_client_above_its_share_is_refused_when_another_arrives() {
        let memory = Arc::new(BodyMemory::new(100));
        let (mut greedy, mut more) = (memory.reserve(client(1)), memory.reserve(client(1)));
        assert_eq!(poll(pin!(greedy.grow(100))), Poll::Ready(Ok(())));
        let mut waits = pin!(more.grow(1));
        assert_eq!(poll(waits.as_mut()), Poll::Pending);
        let mut polite = memory.reserve(client(2));
        assert_eq!(
            poll(waits),
            Poll::Ready(Err(MemoryFull)),
            "it uses all, and there are two clients"
        );
        let mut grow = pin!(polite.grow(50));
        assert_eq!(poll(grow.as_mut()), Poll::Pending);
        drop(greedy);
        assert_eq!(poll(grow), Poll::Ready(Ok(())));
    }

    #[test]
    fn bodies_do_not_deadlock_waiting_for_each_other() {
        let memory = Arc::new(BodyMemory::new(100));
        let (mut first, mut second) = (memory.reserve(client(1)), memory.reserve(client(1)));
        assert_eq!(poll(pin!(first.grow(50))), Poll::Ready(Ok(())));
        assert_eq!(poll(pin!(second.grow(50))), Poll::Ready(Ok(())));
        let mut waits = pin!(first.grow(1));
        assert_eq!(poll(waits.as_mut()), Poll::Pending);
        assert_eq!(poll(pin!(second.grow(1))), Poll::Ready(Err(MemoryFull)));
        drop(second);
        assert_eq!(poll(waits), Poll::Ready(Ok(())));
    }
}
