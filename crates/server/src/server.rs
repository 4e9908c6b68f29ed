//! Listening, accepting and stopping.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use crate::connection::{self, Host, Stop};
use crate::race::{Either, race};
use crate::{App, Config, ServerError, tls};

/// How long to wait when the system has no connection to give, as when too many files are open.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A server that listens.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    host: Host,
    tls: Option<TlsAcceptor>,
}

impl Server {
    /// Starts to listen. Connections are accepted when [`Server::run`] runs.
    ///
    /// # Errors
    ///
    /// If the address is taken, a file of TLS cannot be used, or the app is open to anybody and
    /// the address is not of this machine alone.
    pub async fn bind(config: Config, app: App) -> Result<Server, ServerError> {
        let address = config.listen;
        if app.service.is_open() && !address.ip().is_loopback() {
            return Err(ServerError::Open { address });
        }
        let tls = config.tls.as_ref().map(tls::acceptor).transpose()?;
        let failed = |cause| ServerError::Listen { address, cause };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Server { listener, address, host: Host::new(app, config.limits), tls })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` is ready; then answers what is under way, within the time that the
    /// limits give, and returns.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let (stopping, stopped) = watch::channel(Stop::No);
        let mut connections = JoinSet::new();
        if let Either::Left(()) = race(stop, self.accept(&mut connections, &stopped)).await {
            drop(self.listener);
            // Who no longer listens has ended already.
            let _ = stopping.send(Stop::Yes);
            self.host.app.service.stop();
            let ended = async { while connections.join_next().await.is_some() {} };
            let _ = timeout(self.host.limits.stop_time, ended).await;
        }
        connections.abort_all();
    }

    /// Boxed, so that serving a connection is compiled here and not with every program.
    fn accept<'a>(
        &'a self,
        connections: &'a mut JoinSet<()>,
        stopped: &'a watch::Receiver<Stop>,
    ) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        let places = Arc::new(Semaphore::new(self.host.limits.connections));
        Box::pin(async move {
            loop {
                // The semaphore is never closed.
                let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
                let Ok((stream, _)) = self.listener.accept().await else {
                    sleep(ACCEPT_PAUSE).await;
                    continue;
                };
                while connections.try_join_next().is_some() {}
                let serve = self.serve(stream, stopped.clone());
                connections.spawn(async move {
                    serve.await;
                    drop(place);
                });
            }
        })
    }

    fn serve(
        &self,
        stream: TcpStream,
        stopped: watch::Receiver<Stop>,
    ) -> impl Future<Output = ()> + Send + use<> {
        let (host, tls) = (self.host.clone(), self.tls.clone());
        async move {
            // Answers are small and waited for: better sent at once than together.
            let _ = stream.set_nodelay(true);
            match tls {
                None => connection::serve(stream, host, stopped).await,
                Some(tls) => {
                    // A client that does not finish its handshake gets no answer.
                    let handshake = timeout(host.limits.body_time, tls.accept(stream)).await;
                    if let Ok(Ok(stream)) = handshake {
                        connection::serve(stream, host, stopped).await;
                    }
                }
            }
        }
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("address", &self.address).finish_non_exhaustive()
    }
}
