//! What all connections of a server share.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use hyper::http::Extensions;

use super::connections::{Activity, Connections};
use super::room::Room;
use super::streams::Streams;
use crate::Limits;
use crate::fair::Pool;

/// The limits of a server, and what is taken of them.
#[derive(Debug)]
pub(crate) struct Edge {
    pub(crate) limits: Limits,
    pub(crate) connections: Arc<Connections>,
    pub(crate) room: Arc<Room>,
    pub(crate) streams: Arc<Streams>,
    /// Where answers are made that take long.
    pub(crate) pool: Pool,
}

/// Where a request came from; every request has it as an extension.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    pub(crate) edge: Arc<Edge>,
    pub(crate) client: SocketAddr,
    activity: Option<Arc<Activity>>,
}

impl Edge {
    pub(crate) fn new(limits: Limits) -> Edge {
        let (total, of_client) = (limits.connections, limits.connections_per_client);
        let connections = Arc::new(Connections::new(total, of_client));
        let room = Arc::new(Room::new(limits.bodies_bytes));
        let streams = Arc::new(Streams::new(limits.streams, limits.streams_per_client));
        Edge { limits, connections, room, streams, pool: Pool::default() }
    }
}

impl Origin {
    pub(crate) fn new(edge: Arc<Edge>, client: SocketAddr, activity: Arc<Activity>) -> Origin {
        Origin { edge, client, activity: Some(activity) }
    }

    /// Of a request; of one that came over no connection, as if from this machine.
    pub(crate) fn of(extensions: &Extensions) -> Origin {
        extensions.get::<Origin>().cloned().unwrap_or_else(|| Origin {
            edge: Arc::new(Edge::new(Limits::default())),
            client: SocketAddr::from(([127, 0, 0, 1], 0)),
            activity: None,
        })
    }

    pub(crate) fn ip(&self) -> IpAddr {
        self.client.ip()
    }

    /// Says whose turn it is: the server's, or the client's.
    pub(crate) fn set_busy(&self, is_busy: bool) {
        if let Some(activity) = &self.activity {
            activity.set_busy(is_busy);
        }
    }
}
