//! The open streams: how many one client and all clients may have. Live queries that run without a client are
//! counted in the same way.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The open streams.
#[derive(Debug)]
pub(crate) struct Streams {
    total_max: usize,
    client_max: usize,
    by_client: Mutex<HashMap<IpAddr, usize>>,
}

/// Counts a stream as open until it is dropped.
#[derive(Debug)]
pub(crate) struct StreamPermit {
    streams: Arc<Streams>,
    client: IpAddr,
}

impl Streams {
    pub(crate) fn new(total_max: usize, client_max: usize) -> Streams {
        Streams { total_max, client_max, by_client: Mutex::default() }
    }

    pub(crate) fn count(&self) -> usize {
        self.by_client().values().sum()
    }

    /// Admits another stream of a client, within the limits.
    pub(crate) fn enter(self: &Arc<Self>, client: IpAddr) -> Option<StreamPermit> {
        let mut by_client = self.by_client();
        let total: usize = by_client.values().sum();
        let of_client = by_client.get(&client).copied().unwrap_or_default();
        if total >= self.total_max || of_client >= self.client_max {
            return None;
        }
        by_client.insert(client, of_client + 1);
        Some(StreamPermit { streams: self.clone(), client })
    }

    fn by_client(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.by_client.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        let mut by_client = self.streams.by_client();
        if let Some(count) = by_client.get_mut(&self.client) {
            *count -= 1;
            if *count == 0 {
                by_client.remove(&self.client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_limited_per_client_and_in_total() {
        let streams = Arc::new(Streams::new(3, 2));
        let client = |number: u8| IpAddr::from([127, 0, 0, number]);
        let first = streams.enter(client(1)).unwrap();
        let _second = streams.enter(client(1)).unwrap();
        assert!(streams.enter(client(1)).is_none());
        let _third = streams.enter(client(2)).unwrap();
        assert!(streams.enter(client(3)).is_none());
        drop(first);
        assert!(streams.enter(client(3)).is_some());
        assert_eq!(streams.count(), 2);
    }
}
