//! The open connections: how many one client and all clients may have, and which one is closed for a new
//! one.
//!
//! With a limit alone, whoever opens the most idle connections could lock everybody else out. So a new
//! connection closes an idle one: of the client with the most connections, the one on which no byte has
//! moved for the longest time. If that client has none that is idle, the new connection waits. A connection on
//! which a request waits to be read is not idle: on a busy machine it would be closed before its first answer.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, Semaphore};
use tokio::time::sleep;

/// How many new connections may wait to be admitted. They have file handles of their own.
const WAITING_MAX: usize = 64;
/// How often, and how many times, a waiting connection tries to be admitted: for two seconds.
const RETRY_EVERY: Duration = Duration::from_millis(5);
const RETRIES: usize = 400;

/// All open connections.
#[derive(Debug)]
pub(crate) struct Connections {
    total_max: usize,
    client_max: usize,
    began: Instant,
    open: Mutex<Open>,
    waiting: Semaphore,
}

#[derive(Debug, Default)]
struct Open {
    next: u64,
    connections: HashMap<u64, (IpAddr, Arc<Activity>)>,
    by_client: HashMap<IpAddr, usize>,
}

/// What a client has sent before its connection is admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum First {
    Nothing,
    Sent,
}

/// What a connection is doing.
#[derive(Debug)]
pub(crate) struct Activity {
    began: Instant,
    /// When the last byte moved, in microseconds since `began`.
    moved_us: AtomicU64,
    /// Whether the server works on a request. Otherwise it waits for the client.
    is_busy: AtomicBool,
    /// Whether the client had sent something when it was admitted, and nothing of it has been read.
    is_unread: AtomicBool,
    close: Notify,
}

/// Counts a connection as open until it is dropped.
#[derive(Debug)]
pub(crate) struct ConnectionPermit {
    connections: Arc<Connections>,
    number: u64,
    pub(crate) activity: Arc<Activity>,
}

impl Connections {
    pub(crate) fn new(total_max: usize, client_max: usize) -> Connections {
        let waiting = Semaphore::new(WAITING_MAX);
        Connections {
            total_max,
            client_max,
            began: Instant::now(),
            open: Mutex::default(),
            waiting,
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.open().connections.len()
    }

    /// Admits a new connection. While every connection that could be closed is busy, a few new ones wait
    /// for a moment. Returns `None` if none becomes idle in time.
    pub(crate) async fn admit(
        self: &Arc<Self>,
        client: IpAddr,
        first: impl Fn() -> First,
    ) -> Option<ConnectionPermit> {
        if let Some(permit) = self.try_admit(client, first()) {
            return Some(permit);
        }
        let _waiting = self.waiting.try_acquire().ok()?;
        for _ in 0..RETRIES {
            sleep(RETRY_EVERY).await;
            if let Some(permit) = self.try_admit(client, first()) {
                return Some(permit);
            }
        }
        None
    }

    fn try_admit(self: &Arc<Self>, client: IpAddr, first: First) -> Option<ConnectionPermit> {
        let mut open = self.open();
        if open.of(client) >= self.client_max {
            open.close_idlest(client)?;
        } else if open.connections.len() >= self.total_max {
            let greediest = open.greediest()?;
            open.close_idlest(greediest)?;
        }
        let number = open.next;
        open.next += 1;
        let activity = Arc::new(Activity::new(self.began, first));
        open.connections.insert(number, (client, activity.clone()));
        *open.by_client.entry(client).or_default() += 1;
        Some(ConnectionPermit { connections: self.clone(), number, activity })
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        // Nothing panics between two changes that belong together.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    fn of(&self, client: IpAddr) -> usize {
        self.by_client.get(&client).copied().unwrap_or_default()
    }

    /// The client with the most connections.
    fn greediest(&self) -> Option<IpAddr> {
        self.by_client.iter().max_by_key(|(_, count)| **count).map(|(client, _)| *client)
    }

    /// Closes the idlest connection of a client. Returns `None` if all are busy.
    fn close_idlest(&mut self, client: IpAddr) -> Option<()> {
        let of_client = self.connections.iter().filter(|(_, (of, _))| *of == client);
        let idle = of_client.filter(|(_, (_, activity))| !activity.is_busy());
        let (number, _) = idle.min_by_key(|(_, (_, activity))| activity.moved_us())?;
        let number = *number;
        // It no longer counts, although its task has not ended yet.
        let (client, activity) = self.remove(number)?;
        tracing::debug!(%client, "closing an idle connection for a new one");
        activity.close.notify_one();
        Some(())
    }

    fn remove(&mut self, number: u64) -> Option<(IpAddr, Arc<Activity>)> {
        let (client, activity) = self.connections.remove(&number)?;
        if let Some(count) = self.by_client.get_mut(&client) {
            *count -= 1;
            if *count == 0 {
                self.by_client.remove(&client);
            }
        }
        Some((client, activity))
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.connections.open().remove(self.number);
    }
}

impl Activity {
    fn new(began: Instant, first: First) -> Activity {
        let activity = Activity {
            began,
            moved_us: AtomicU64::new(0),
            is_busy: AtomicBool::new(false),
            is_unread: AtomicBool::new(false),
            close: Notify::new(),
        };
        activity.moved();
        activity.is_unread.store(first == First::Sent, Ordering::Relaxed);
        activity
    }

    /// Records that bytes were read or written.
    pub(crate) fn moved(&self) {
        let now = u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.moved_us.store(now, Ordering::Relaxed);
        self.is_unread.store(false, Ordering::Relaxed);
    }

    fn moved_us(&self) -> u64 {
        self.moved_us.load(Ordering::Relaxed)
    }

    /// Marks the connection as busy: the server works on a request, so it is not idle.
    pub(crate) fn set_busy(&self, is_busy: bool) {
        self.is_busy.store(is_busy, Ordering::Relaxed);
    }

    fn is_busy(&self) -> bool {
        self.is_busy.load(Ordering::Relaxed) || self.is_unread.load(Ordering::Relaxed)
    }

    /// Completes when the connection is to be closed.
    pub(crate) async fn closed(&self) {
        self.close.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn client(number: u8) -> IpAddr {
        IpAddr::from([127, 0, 0, number])
    }

    fn is_closed(permit: &ConnectionPermit) -> bool {
        let permit = permit.activity.clone();
        let closed = async move { tokio::time::timeout(Duration::ZERO, permit.closed()).await };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(closed).is_ok()
    }

    #[test]
    fn a_new_connection_closes_the_idlest_one_of_the_client_with_the_most() {
        let connections = Arc::new(Connections::new(4, 3));
        let admit = |number| connections.try_admit(client(number), First::Nothing).unwrap();
        let polite = admit(1);
        let greedy: Vec<ConnectionPermit> = (0..3).map(|_| admit(2)).collect();
        for (permit, moved_us) in greedy.iter().zip([30, 10, 20]) {
            permit.activity.moved_us.store(moved_us, Ordering::Relaxed);
        }
        // The client that has too many loses one of its own.
        let fourth = admit(2);
        fourth.activity.moved_us.store(40, Ordering::Relaxed);
        let closed: Vec<bool> = greedy.iter().map(is_closed).collect();
        assert_eq!(closed, [false, true, false]);
        // Another client's connection closes one of the same client, too.
        let other = admit(3);
        assert!(is_closed(&greedy[2]) && !is_closed(&greedy[0]));
        assert!(!is_closed(&polite) && !is_closed(&fourth) && !is_closed(&other));
        assert_eq!(connections.count(), 4);
    }

    #[test]
    fn a_busy_connection_is_not_closed() {
        let connections = Arc::new(Connections::new(2, 2));
        let admit = |number| connections.try_admit(client(number), First::Nothing);
        let permits: Vec<ConnectionPermit> = (0..2).map(|_| admit(1).unwrap()).collect();
        permits.iter().for_each(|permit| permit.activity.set_busy(true));
        assert!(admit(1).is_none());
        assert!(admit(2).is_none());
        permits[1].activity.set_busy(false);
        let third = admit(2).unwrap();
        assert!(is_closed(&permits[1]) && !is_closed(&permits[0]));
        drop((permits, third));
        assert_eq!(connections.count(), 0);
        assert!(connections.open().by_client.is_empty());
    }

    #[test]
    fn a_connection_is_not_closed_before_what_its_client_has_sent_is_read() {
        let connections = Arc::new(Connections::new(1, 1));
        let first = connections.try_admit(client(1), First::Sent).unwrap();
        assert!(connections.try_admit(client(2), First::Sent).is_none());
        first.activity.moved();
        let second = connections.try_admit(client(2), First::Sent);
        assert!(second.is_some() && is_closed(&first));
    }

    #[test]
    fn a_new_connection_waits_for_a_busy_one() {
        let connections = Arc::new(Connections::new(1, 1));
        let busy = connections.try_admit(client(1), First::Nothing).unwrap();
        busy.activity.set_busy(true);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let admitted = runtime.block_on(async {
            let waiting = {
                let connections = connections.clone();
                tokio::spawn(async move { connections.admit(client(2), || First::Sent).await })
            };
            while connections.waiting.available_permits() == WAITING_MAX {
                tokio::task::yield_now().await;
            }
            busy.activity.set_busy(false);
            waiting.await.unwrap()
        });
        assert!(admitted.is_some() && is_closed(&busy));
    }
}
