//! State that all connections of a server share.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use super::body_memory::BodyMemory;
use super::connections::{Activity, Connections};
use super::streams::Streams;
use crate::Limits;
use crate::fair::Pool;

/// How many live queries may run without a client: of all clients, and of one. Beyond that, a query ends with its last
/// client: otherwise somebody who follows one after the other could have any number of them run.
const LINGERING_MAX: usize = 256;
const LINGERING_PER_CLIENT_MAX: usize = 64;

/// The limits of a server, and their current use.
#[derive(Debug)]
pub(crate) struct Edge {
    pub(crate) limits: Limits,
    pub(crate) connections: Arc<Connections>,
    pub(crate) body_memory: Arc<BodyMemory>,
    pub(crate) streams: Arc<Streams>,
    /// Live queries that run without a client. Here, so that a model that is reloaded has no others.
    pub(crate) lingering: Arc<Streams>,
    /// Runs requests that take long.
    pub(crate) pool: Pool,
}

/// Where a request came from.
#[derive(Debug)]
pub(crate) struct Origin {
    pub(crate) edge: Arc<Edge>,
    pub(crate) client: SocketAddr,
    activity: Option<Arc<Activity>>,
}

impl Edge {
    pub(crate) fn new(limits: Limits) -> Edge {
        let (total, of_client) = (limits.connections, limits.connections_per_client);
        let connections = Arc::new(Connections::new(total, of_client));
        let body_memory = Arc::new(BodyMemory::new(limits.bodies_bytes));
        let streams = Arc::new(Streams::new(limits.streams, limits.streams_per_client));
        let lingering = Arc::new(Streams::new(LINGERING_MAX, LINGERING_PER_CLIENT_MAX));
        Edge { limits, connections, body_memory, streams, lingering, pool: Pool::default() }
    }
}

impl Origin {
    pub(crate) fn new(edge: Arc<Edge>, client: SocketAddr, activity: Arc<Activity>) -> Origin {
        Origin { edge, client, activity: Some(activity) }
    }

    /// The origin of what the operator does, which comes over no connection.
    pub(crate) fn operator() -> Origin {
        Origin {
            edge: Arc::new(Edge::new(Limits::default())),
            client: SocketAddr::from(([127, 0, 0, 1], 0)),
            activity: None,
        }
    }

    pub(crate) fn ip(&self) -> IpAddr {
        self.client.ip()
    }

    /// Marks whether the server works on the request, or waits for the client.
    pub(crate) fn set_busy(&self, is_busy: bool) {
        if let Some(activity) = &self.activity {
            activity.set_busy(is_busy);
        }
    }
}
