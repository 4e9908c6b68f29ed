//! Where to listen, and the limits of clients.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// How to listen.
#[derive(Clone, Debug)]
pub struct Config {
    /// The address; port 0 picks a free port.
    pub listen: SocketAddr,
    /// Serve HTTPS with this certificate.
    pub tls: Option<TlsFiles>,
    /// The limits of clients.
    pub limits: Limits,
    /// Allowed CORS origins, such as `https://example.com`; `*` for all.
    pub cors_origins: Vec<String>,
}

/// A certificate and its key, both in PEM.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// The certificate, followed by its chain.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

/// How much of a server clients can use.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Open connections; fewer if the system has fewer file handles. A new connection beyond the limit
    /// closes the idlest connection of the client that has the most.
    pub connections: usize,
    /// Open connections of one client address.
    pub connections_per_client: usize,
    /// Open change streams.
    pub streams: usize,
    /// Open change streams of one client address.
    pub streams_per_client: usize,
    /// Size of a body. DynamoDB's own limit is 16 MB.
    pub body_bytes: usize,
    /// Size of all bodies together, as far as they have arrived; a body that does not fit waits for
    /// others to end. Bodies are held in memory, because a signature covers all of one.
    pub bodies_bytes: usize,
    /// Size of the head of a request.
    pub head_bytes: usize,
    /// Number of headers of a request.
    pub headers: usize,
    /// How long a connection may be idle, and how long the head of a request may take to arrive.
    pub head_time: Duration,
    /// How long a body may take to arrive.
    pub body_time: Duration,
    /// How long the server may take to answer.
    pub answer_time: Duration,
    /// How long a client may read nothing of a response.
    pub write_time: Duration,
    /// How long requests in progress may take when the server stops.
    pub stop_time: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connections: 4096,
            connections_per_client: 1024,
            streams: 1024,
            streams_per_client: 256,
            body_bytes: 16 * 1024 * 1024,
            bodies_bytes: 256 * 1024 * 1024,
            head_bytes: 64 * 1024,
            headers: 64,
            head_time: Duration::from_secs(60),
            body_time: Duration::from_secs(30),
            answer_time: Duration::from_secs(30),
            write_time: Duration::from_secs(30),
            stop_time: Duration::from_secs(10),
        }
    }
}
