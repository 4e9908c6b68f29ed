//! Memory for the bodies of requests, shared by all clients.
//!
//! Bodies take room for the bytes that have arrived, not for those that were announced. When there
//! is none left, a client that takes more than its share is refused, and the others wait.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// Room for bodies.
#[derive(Debug)]
pub(crate) struct Room {
    total: usize,
    taken: Mutex<Taken>,
    /// Told when room is given back, and when shares change.
    changed: Notify,
}

#[derive(Debug, Default)]
struct Taken {
    bytes: usize,
    /// Bytes and bodies of each client that has any.
    clients: HashMap<IpAddr, Share>,
    /// Bodies that wait for room.
    waiting: usize,
    /// Bodies that have room or wait for it.
    bodies: usize,
}

#[derive(Debug, Default)]
struct Share {
    bytes: usize,
    bodies: usize,
}

/// The room of one body, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    room: Arc<Room>,
    client: IpAddr,
    bytes: usize,
}

/// There is no room, and waiting would be in vain or at the expense of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoRoom;

impl Room {
    pub(crate) fn new(total: usize) -> Room {
        Room { total, taken: Mutex::default(), changed: Notify::new() }
    }

    /// Bytes that are taken.
    pub(crate) fn taken_bytes(&self) -> usize {
        self.taken().bytes
    }

    /// Room for a body of a client, nothing at first.
    pub(crate) fn enter(self: &Arc<Self>, client: IpAddr) -> Held {
        let mut taken = self.taken();
        taken.bodies += 1;
        taken.clients.entry(client).or_default().bodies += 1;
        // With another client, the shares of all others are smaller.
        self.changed.notify_waiters();
        Held { room: self.clone(), client, bytes: 0 }
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    /// Takes room for so many bytes more.
    pub(crate) async fn grow(&mut self, bytes: usize) -> Result<(), NoRoom> {
        let room = self.room.clone();
        loop {
            let changed = room.changed.notified();
            if self.take(bytes)? {
                return Ok(());
            }
            let _waiting = Waiting::begin(&room)?;
            changed.await;
        }
    }

    /// False if it has to be waited for.
    fn take(&mut self, bytes: usize) -> Result<bool, NoRoom> {
        let mut guard = self.room.taken();
        let taken = &mut *guard;
        let clients = taken.clients.len();
        let Some(share) = taken.clients.get_mut(&self.client) else { return Err(NoRoom) };
        let wanted = share.bytes + bytes;
        if taken.bytes + bytes > self.room.total {
            let is_greedy = clients > 1 && wanted > self.room.total / clients;
            return if is_greedy { Err(NoRoom) } else { Ok(false) };
        }
        share.bytes = wanted;
        taken.bytes += bytes;
        self.bytes += bytes;
        Ok(true)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut taken = self.room.taken();
        taken.bytes -= self.bytes;
        taken.bodies -= 1;
        if let Some(share) = taken.clients.get_mut(&self.client) {
            share.bytes -= self.bytes;
            share.bodies -= 1;
            if share.bodies == 0 {
                taken.clients.remove(&self.client);
            }
        }
        drop(taken);
        self.room.changed.notify_waiters();
    }
}

/// A body that waits for room.
struct Waiting<'r>(&'r Room);

impl Waiting<'_> {
    /// Refuses where all others wait too: nobody would ever give room back.
    fn begin(room: &Room) -> Result<Waiting<'_>, NoRoom> {
        let mut taken = room.taken();
        if taken.waiting + 1 >= taken.bodies {
            return Err(NoRoom);
        }
        taken.waiting += 1;
        Ok(Waiting(room))
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.taken().waiting -= 1;
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
        future: Pin<&mut impl Future<Output = Result<(), NoRoom>>>,
    ) -> Poll<Result<(), NoRoom>> {
        future.poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn bodies_wait_for_others_to_end() {
        let room = Arc::new(Room::new(100));
        let (mut first, mut second) = (room.enter(client(1)), room.enter(client(1)));
        assert_eq!(poll(pin!(first.grow(80))), Poll::Ready(Ok(())));
        {
            let mut grow = pin!(second.grow(30));
            assert_eq!(poll(grow.as_mut()), Poll::Pending);
            drop(first);
            assert_eq!(poll(grow), Poll::Ready(Ok(())));
        }
        assert_eq!(room.taken_bytes(), 30);
        drop(second);
        assert_eq!((room.taken_bytes(), room.taken().clients.len()), (0, 0));
    }

    #[test]
    fn who_takes_more_than_its_share_is_refused_when_another_comes() {
        let room = Arc::new(Room::new(100));
        let (mut greedy, mut more) = (room.enter(client(1)), room.enter(client(1)));
        assert_eq!(poll(pin!(greedy.grow(100))), Poll::Ready(Ok(())));
        let mut waits = pin!(more.grow(1));
        assert_eq!(poll(waits.as_mut()), Poll::Pending);
        let mut polite = room.enter(client(2));
        assert_eq!(poll(waits), Poll::Ready(Err(NoRoom)), "it has all, and there are two");
        let mut grow = pin!(polite.grow(50));
        assert_eq!(poll(grow.as_mut()), Poll::Pending);
        drop(greedy);
        assert_eq!(poll(grow), Poll::Ready(Ok(())));
    }

    #[test]
    fn bodies_do_not_wait_for_each_other() {
        let room = Arc::new(Room::new(100));
        let (mut first, mut second) = (room.enter(client(1)), room.enter(client(1)));
        assert_eq!(poll(pin!(first.grow(50))), Poll::Ready(Ok(())));
        assert_eq!(poll(pin!(second.grow(50))), Poll::Ready(Ok(())));
        let mut waits = pin!(first.grow(1));
        assert_eq!(poll(waits.as_mut()), Poll::Pending);
        assert_eq!(poll(pin!(second.grow(1))), Poll::Ready(Err(NoRoom)));
        drop(second);
        assert_eq!(poll(waits), Poll::Ready(Ok(())));
    }
}
