//! Listening, accepting and stopping.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::header::HeaderValue;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::cores::cores;
use crate::http::connection::{self, Stop, Watched};
use crate::http::connections::First;
use crate::http::edge::{Edge, Origin};
use crate::http::layers::Layers;
use crate::http::threads::Threads;
use crate::race::{Either, race};
use crate::tls::Certificate;
use crate::{App, Config, Limits, ServerError};

/// How long to wait after a failed accept, such as when too many files are open.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// File handles reserved for data files and outgoing connections, and for the event loop of each core.
const OTHER_HANDLES: usize = 256;
const CORE_HANDLES: usize = 4;

/// A listening server.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    layers: Arc<Layers>,
    edge: Arc<Edge>,
    certificate: Option<Arc<Certificate>>,
}

impl Server {
    /// Binds the address. [`Server::run`] accepts connections.
    ///
    /// # Errors
    ///
    /// If the address is in use, a TLS file cannot be used, an origin is invalid, or the app needs no
    /// authentication and the address is not a loopback address.
    pub async fn bind(config: Config, app: App) -> Result<Server, ServerError> {
        let address = config.listen;
        if app.0.is_open() && !address.ip().is_loopback() {
            return Err(ServerError::Open { address });
        }
        let certificate = config.tls.as_ref().map(Certificate::load).transpose()?.map(Arc::new);
        let origins = config.cors_origins.iter().map(|origin| cors_origin(origin));
        let origins = origins.collect::<Result<Vec<_>, _>>()?;
        let failed = |cause| ServerError::Listen { address, cause };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let layers = Arc::new(Layers::around(app, &origins));
        let edge = Arc::new(Edge::new(within_handles(config.limits)));
        Ok(Server { listener, address, layers, edge, certificate })
    }

    /// The address it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns a function that reloads the TLS files while the server runs. If they cannot be used, it
    /// returns an error and changes nothing.
    pub fn reload(&self) -> impl Fn() -> Result<(), ServerError> + Send + Sync + use<> {
        let certificate = self.certificate.clone();
        move || certificate.as_ref().map_or(Ok(()), |certificate| certificate.reload())
    }

    /// Serves until `stop` completes; then answers the requests in progress, within
    /// [`Limits::stop_time`], and returns.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let (stopping, stopped) = watch::channel(Stop::No);
        let (threads, mut connections) = (Threads::start(), JoinSet::new());
        let accept = self.accept(&threads, &mut connections, &stopped);
        if let Either::Left(()) = race(stop, accept).await {
            drop(self.listener);
            // Fails if all connections have ended.
            let _ = stopping.send(Stop::Yes);
            self.layers.app().stop();
            let ended = async { while connections.join_next().await.is_some() {} };
            let _ = timeout(self.edge.limits.stop_time, ended).await;
        }
        connections.abort_all();
    }

    /// Boxed, so that this code is compiled once here and not in every program.
    fn accept<'a>(
        &'a self,
        threads: &'a Threads,
        connections: &'a mut JoinSet<()>,
        stopped: &'a watch::Receiver<Stop>,
    ) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        Box::pin(async move {
            loop {
                let Ok((stream, client)) = self.listener.accept().await else {
                    sleep(ACCEPT_PAUSE).await;
                    continue;
                };
                while connections.try_join_next().is_some() {}
                // Without its registration here, so that the thread can register it.
                let Ok(stream) = stream.into_std() else { continue };
                threads.serve(connections, self.serve(stream, client, stopped.clone()));
            }
        })
    }

    fn serve(
        &self,
        stream: std::net::TcpStream,
        client: SocketAddr,
        stopped: watch::Receiver<Stop>,
    ) -> impl Future<Output = ()> + Send + use<> {
        let (layers, edge) = (self.layers.clone(), self.edge.clone());
        let tls = self.certificate.as_ref().map(|certificate| certificate.acceptor());
        async move {
            // The socket does not block.
            let first = || match stream.peek(&mut [0]) {
                Ok(1) => First::Sent,
                _ => First::Nothing,
            };
            // Closes the connection of a client that is not admitted; it can retry.
            let Some(permit) = edge.connections.admit(client.ip(), first).await else { return };
            let Ok(stream) = TcpStream::from_std(stream) else { return };
            let head_time = edge.limits.head_time;
            let origin = Origin::new(edge, client, permit.activity.clone());
            // Responses are small and awaited: send them without delay.
            let _ = stream.set_nodelay(true);
            let stream = Watched { stream, activity: permit.activity.clone() };
            let from = (origin, permit.activity.clone());
            match tls {
                None => connection::serve(stream, layers, from, stopped).await,
                Some(tls) => {
                    // Closes the connection if the handshake fails or takes too long.
                    let handshake = timeout(head_time, tls.accept(stream));
                    let handshake = race(permit.activity.closed(), handshake).await;
                    if let Either::Right(Ok(Ok(stream))) = handshake {
                        connection::serve(stream, layers, from, stopped).await;
                    }
                }
            }
            drop(permit);
        }
    }
}

fn cors_origin(origin: &str) -> Result<HeaderValue, ServerError> {
    let is_origin = origin == "*"
        || origin.split_once("://").is_some_and(|(scheme, host)| {
            ["http", "https"].contains(&scheme) && !host.is_empty() && !host.contains('/')
        });
    let value = HeaderValue::from_str(origin).ok().filter(|_| is_origin);
    value.ok_or_else(|| ServerError::Origin { origin: origin.to_owned() })
}

/// Limits the connections to the number of file handles.
fn within_handles(limits: Limits) -> Limits {
    let others = OTHER_HANDLES + CORE_HANDLES * cores();
    let wanted = limits.connections + others;
    // The soft limit is often 1,024 although the hard limit is much higher.
    let handles = rlimit::increase_nofile_limit(wanted as u64).unwrap_or(1024);
    let handles = usize::try_from(handles).unwrap_or(usize::MAX);
    let connections = limits.connections.min(handles.saturating_sub(others)).max(1);
    if connections < limits.connections {
        tracing::warn!(handles, connections, "connection limit reduced: too few file handles");
    }
    Limits { connections, ..limits }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("address", &self.address).finish_non_exhaustive()
    }
}
