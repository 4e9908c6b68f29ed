//! State that all connections of a server share.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use hyper::http::Extensions;

use super::body_memory::BodyMemory;
use super::connections::{Activity, Connections};
use super::streams::Streams;
use crate::Limits;
use crate::fair::Pool;

/// The limits of a server, and their current use.
#[derive(Debug)]
pub(crate) struct Edge {
    pub(crate) limits: Limits,
    pub(crate) connections: Arc<Connections>,
    pub(crate) body_memory: Arc<BodyMemory>,
    pub(crate) streams: Arc<Streams>,
    /// Runs requests that take long.
    pub(crate) pool: Pool,
}

/// Where a request came from, and its id: an extension of every request.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    pub(crate) edge: Arc<Edge>,
    pub(crate) client: SocketAddr,
    /// Assigned when the request is [observed](super::observe).
    pub(crate) request_id: Arc<str>,
    activity: Option<Arc<Activity>>,
}

impl Edge {
    pub(crate) fn new(limits: Limits) -> Edge {
        let (total, of_client) = (limits.connections, limits.connections_per_client);
        let connections = Arc::new(Connections::new(total, of_client));
        let body_memory = Arc::new(BodyMemory::new(limits.bodies_bytes));
        let streams = Arc::new(Streams::new(limits.streams, limits.streams_per_client));
        Edge { limits, connections, body_memory, streams, pool: Pool::default() }
    }
}

impl Origin {
    pub(crate) fn new(edge: Arc<Edge>, client: SocketAddr, activity: Arc<Activity>) -> Origin {
        Origin { edge, client, request_id: Arc::default(), activity: Some(activity) }
    }

    /// The origin of a request. One that came over no connection counts as local.
    pub(crate) fn of(extensions: &Extensions) -> Origin {
        extensions.get::<Origin>().cloned().unwrap_or_else(|| Origin {
            edge: Arc::new(Edge::new(Limits::default())),
            client: SocketAddr::from(([127, 0, 0, 1], 0)),
            request_id: Arc::default(),
            activity: None,
        })
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
