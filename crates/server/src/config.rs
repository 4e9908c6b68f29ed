//! Where to listen, and how much a client can take.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// How to listen.
#[derive(Clone, Debug)]
pub struct Config {
    /// The address; port 0 takes any that is free.
    pub listen: SocketAddr,
    /// Speak TLS with this certificate.
    pub tls: Option<TlsFiles>,
    /// What a client can take.
    pub limits: Limits,
    /// Origins whose pages a browser lets read answers, such as `https://example.com`; `*` for all.
    pub cors_origins: Vec<String>,
}

/// A certificate and its key, both in PEM.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// The certificate, followed by those that vouch for it.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

/// What a client can take of a server.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at once; less if the system gives fewer file handles. For one more, the
    /// connection is closed on which nothing has moved for the longest time, of the client that
    /// has the most.
    pub connections: usize,
    /// Connections of one client address.
    pub connections_per_client: usize,
    /// Streams of changes at once.
    pub streams: usize,
    /// Streams of one client address.
    pub streams_per_client: usize,
    /// Bytes of a body. DynamoDB's own limit is 16 MB.
    pub body_bytes: usize,
    /// Bytes of all bodies together, as far as they have arrived; a body that does not fit waits
    /// for others to end. Bodies are kept whole, because a signature is about all of one.
    pub bodies_bytes: usize,
    /// Bytes of a request's head.
    pub head_bytes: usize,
    /// Headers of a request.
    pub headers: usize,
    /// How long a connection may be idle, and how long a request's head may take.
    pub head_time: Duration,
    /// How long a body may take.
    pub body_time: Duration,
    /// How long the server may take for an answer.
    pub answer_time: Duration,
    /// How long a client may take nothing of an answer.
    pub write_time: Duration,
    /// How long requests under way may take once the server is told to stop.
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
