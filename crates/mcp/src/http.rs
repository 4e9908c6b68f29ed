//! Tools over streamable HTTP, at `/mcp`.
//!
//! With a token of its own, or for a server without tokens, this listens on loopback only: whoever can
//! connect can read. Other addresses need clients that send their own token, which is passed on. Requests
//! that a page in a browser could have sent under a name of its own are refused by their headers `Host` and
//! `Origin`.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::handler::{Handler, Who};
use crate::limits::MESSAGE_BYTES_MAX;
use crate::options::McpOptions;
use crate::token::Token;
use crate::upstream::Upstream;

/// The path of the protocol.
const PATH: &str = "/mcp";
/// Connections at a time; others wait to be accepted.
const CONNECTIONS_MAX: usize = 256;
/// How long the head of a request may take to arrive, and a connection may be idle.
const HEAD_TIME: Duration = Duration::from_secs(60);
/// How long a request may take, with its body and the requests to the Keyloom server.
const REQUEST_TIME: Duration = Duration::from_secs(120);
/// How long to wait after a failed accept, such as when too many files are open.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// How long requests in progress may take when it stops.
const STOP_TIME: Duration = Duration::from_secs(5);
/// Pages that may use it: those of this machine.
const ORIGINS: [&str; 6] = [
    "http://localhost:*",
    "https://localhost:*",
    "http://127.0.0.1:*",
    "https://127.0.0.1:*",
    "http://[::1]:*",
    "https://[::1]:*",
];

type Body = BoxBody<Bytes, Infallible>;
type Protocol = StreamableHttpService<Handler, NeverSessionManager>;

/// A bound address, and what is served there.
pub struct McpListener {
    listener: TcpListener,
    address: SocketAddr,
    served: Served,
}

impl std::fmt::Debug for McpListener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("McpListener").field("address", &self.address).finish_non_exhaustive()
    }
}

/// What is served.
#[derive(Clone)]
struct Served {
    protocol: Protocol,
    who: Who,
}

impl McpListener {
    /// Binds an address; port 0 picks a free one. [`serve_http`] accepts connections.
    ///
    /// # Errors
    ///
    /// If the options are invalid, the address cannot be bound, or it is not a loopback address although
    /// there is a token: whoever can connect could use it.
    pub async fn bind(options: McpOptions, address: SocketAddr) -> Result<McpListener, String> {
        let who = if address.ip().is_loopback() { Who::Local } else { Who::Bearers };
        if who == Who::Bearers && options.token.is_some() {
            return Err(format!(
                "{address} is not a loopback address: everybody who can connect could use the token. \
                 Listen on 127.0.0.1, or remove the token and let clients send their own."
            ));
        }
        let upstream = Arc::new(Upstream::new(&options)?);
        let failed = |error| format!("cannot listen on {address}: {error}.");
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let handler = Handler::new(upstream, options.token, who);
        let served = Served { protocol: protocol(handler, who), who };
        Ok(McpListener { listener, address, served })
    }

    /// The URL of the protocol.
    pub fn url(&self) -> String {
        format!("http://{}{PATH}", self.address)
    }
}

/// Without sessions: every request carries all it needs, so there is nothing that clients could fill.
fn protocol(handler: Handler, who: Who) -> Protocol {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(MESSAGE_BYTES_MAX)
        .with_allowed_origins(ORIGINS)
        .enforce_origin_validation();
    let config = match who {
        Who::Local => config,
        // Under which names it is reached is not known here. A page that resolves a name of its own to
        // this address has no token.
        Who::Bearers => config.disable_allowed_hosts(),
    };
    StreamableHttpService::new(move || Ok(handler.clone()), Arc::default(), config)
}

/// Serves tools until `stop` completes.
pub async fn serve_http(listener: McpListener, stop: impl Future<Output = ()>) {
    let McpListener { listener, served, .. } = listener;
    let mut connections = JoinSet::new();
    tokio::select! {
        () = stop => {}
        () = accept(&listener, &served, &mut connections) => {}
    }
    drop(listener);
    let ended = async { while connections.join_next().await.is_some() {} };
    let _ = timeout(STOP_TIME, ended).await;
}

async fn accept(listener: &TcpListener, served: &Served, connections: &mut JoinSet<()>) {
    let permits = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        // The semaphore is never closed.
        let Ok(permit) = permits.clone().acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            sleep(ACCEPT_PAUSE).await;
            continue;
        };
        while connections.try_join_next().is_some() {}
        let served = served.clone();
        connections.spawn(async move {
            connection(stream, served).await;
            drop(permit);
        });
    }
}

async fn connection(stream: TcpStream, served: Served) {
    // Responses are small and awaited: send them without delay.
    let _ = stream.set_nodelay(true);
    let answer = service_fn(move |request| {
        let served = served.clone();
        async move { Ok::<_, Infallible>(served.answer(request).await) }
    });
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .serve_connection(TokioIo::new(stream), answer);
    // A broken connection is the client's.
    let _ = serving.await;
}

impl Served {
    async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        if request.uri().path() != PATH {
            let message = format!("Not found: the protocol is served at {PATH}.");
            return refusal(StatusCode::NOT_FOUND, &message);
        }
        match (self.who, Token::of_request(request.headers())) {
            (_, Err(message)) => return unauthorized(&message),
            (Who::Bearers, Ok(None)) => {
                return unauthorized(
                    "Send a token of the Keyloom server as `Authorization: Bearer TOKEN`.",
                );
            }
            (Who::Bearers, Ok(Some(_))) | (Who::Local, Ok(_)) => {}
        }
        match timeout(REQUEST_TIME, self.protocol.handle(request)).await {
            Ok(response) => response,
            Err(_) => refusal(StatusCode::REQUEST_TIMEOUT, "The request took too long."),
        }
    }
}

fn unauthorized(message: &str) -> Response<Body> {
    let mut response = refusal(StatusCode::UNAUTHORIZED, message);
    response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    response
}

fn refusal(status: StatusCode, message: &str) -> Response<Body> {
    let mut response = Response::new(Full::new(Bytes::from(format!("{message}\n"))).boxed());
    *response.status_mut() = status;
    let text = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, text);
    response
}
