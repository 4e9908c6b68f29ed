//! Posting to other servers over HTTP, with or without TLS: each time over a connection of its own,
//! within a time, and with an answer of bounded size. It follows no redirects and keeps no cookies.

use std::fmt;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{CONTENT_TYPE, HOST, HeaderName, HeaderValue, USER_AGENT};
use hyper::{Method, Request, Response, Uri};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::race::{Either, race};
use crate::tls::client_tls;

/// As much of an answer as is kept.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// How things are posted.
#[derive(Clone, Debug)]
pub struct PostOptions {
    /// How long one may take, from looking up the name to the end of the answer.
    pub time: Duration,
    /// Which addresses may be reached.
    pub reach: Reach,
    /// Certificates in PEM that are trusted beside those of the machine.
    pub trusted: Option<PathBuf>,
}

/// Which addresses may be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// All that the machine reaches.
    Anywhere,
    /// Those of the internet alone. So whoever may only say where to post cannot reach what trusts
    /// this machine or its network.
    Public,
}

impl Default for PostOptions {
    /// Ten seconds, to anywhere.
    fn default() -> PostOptions {
        PostOptions { time: Duration::from_secs(10), reach: Reach::Anywhere, trusted: None }
    }
}

/// Posts to other servers. Clones share everything.
#[derive(Clone)]
pub struct Post {
    tls: TlsConnector,
    time: Duration,
    reach: Reach,
}

/// Something to be posted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Letter {
    /// `https://host/path` or `http://...`.
    pub address: String,
    /// Headers beside those that every request has; JSON is what a body is without `content-type`.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// What a server answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Posted {
    /// The status.
    pub status: u16,
    /// The body; none of one that is longer than 64 KiB.
    pub body: Vec<u8>,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostError {
    /// A sentence: what, where.
    pub message: String,
    /// Whether it would fail again, because of what was to be posted or where to.
    pub is_lasting: bool,
}

impl Posted {
    /// Whether it was taken: any status from 200 to 299.
    pub fn is_taken(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Whether it was refused for good: trying again is for servers that are busy or broken.
    pub fn is_refused(&self) -> bool {
        !self.is_taken() && self.status < 500 && ![408, 425, 429].contains(&self.status)
    }
}

impl Post {
    /// Something that posts.
    ///
    /// # Errors
    ///
    /// If certificates that are to be trusted cannot be read.
    pub fn new(options: PostOptions) -> Result<Post, String> {
        let tls = TlsConnector::from(client_tls(options.trusted.as_deref())?);
        Ok(Post { tls, time: options.time, reach: options.reach })
    }

    /// Posts something, and waits for the answer. It must be called on a tokio runtime.
    ///
    /// # Errors
    ///
    /// If there is no answer in time, or nothing can be posted there at all.
    pub async fn post(&self, letter: Letter) -> Result<Posted, PostError> {
        let address = letter.address.clone();
        match timeout(self.time, self.exchange(letter)).await {
            Ok(answer) => answer,
            Err(_) => {
                let seconds = self.time.as_secs_f32();
                Err(passing(format!("`{address}` did not answer within {seconds} seconds.")))
            }
        }
    }

    async fn exchange(&self, letter: Letter) -> Result<Posted, PostError> {
        let place = Place::of(&letter.address)?;
        let request = request(&place, letter)?;
        let stream = self.connect(&place).await?;
        let answer = match place.is_tls {
            false => send(stream, request).await,
            true => {
                let name = ServerName::try_from(place.host.clone())
                    .map_err(|_| lasting(format!("`{}` is no name for TLS.", place.host)))?;
                let stream = self.tls.connect(name, stream).await;
                let stream = stream.map_err(|error| place.unreachable(&error))?;
                send(stream, request).await
            }
        };
        answer.map_err(|error| place.unreachable(&error))
    }

    async fn connect(&self, place: &Place) -> Result<TcpStream, PostError> {
        let found = lookup_host((place.host.as_str(), place.port)).await;
        let found = found.map_err(|error| place.unreachable(&error))?;
        let allowed = |address: &SocketAddr| match self.reach {
            Reach::Anywhere => true,
            Reach::Public => is_public(address.ip()),
        };
        let addresses: Vec<SocketAddr> = found.filter(allowed).collect();
        if addresses.is_empty() {
            let host = &place.host;
            return Err(lasting(format!(
                "`{host}` is in a private network, and only public addresses may be reached."
            )));
        }
        let stream = TcpStream::connect(&addresses[..]).await;
        stream.map_err(|error| place.unreachable(&error))
    }
}

/// Sends a request and takes in the answer, while the connection is driven.
async fn send(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    request: Request<Full<Bytes>>,
) -> Result<Posted, hyper::Error> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let exchange = async move { Ok(taken_in(sender.send_request(request).await?).await) };
    driven(connection, exchange).await
}

/// What comes of an exchange; a connection that ends first has been told why.
async fn driven(
    connection: impl Future<Output = Result<(), hyper::Error>>,
    exchange: impl Future<Output = Result<Posted, hyper::Error>>,
) -> Result<Posted, hyper::Error> {
    let mut exchange = std::pin::pin!(exchange);
    match race(exchange.as_mut(), connection).await {
        Either::Left(answer) => answer,
        Either::Right(ended) => {
            ended?;
            exchange.await
        }
    }
}

async fn taken_in(response: Response<Incoming>) -> Posted {
    let status = response.status().as_u16();
    let body = Limited::new(response.into_body(), ANSWER_BYTES_MAX).collect().await;
    // The status alone says whether it was taken.
    Posted { status, body: body.map_or_else(|_| vec![], |body| body.to_bytes().to_vec()) }
}

/// An address, taken apart.
#[derive(Debug)]
struct Place {
    is_tls: bool,
    host: String,
    port: u16,
    /// As the header `host` has it.
    authority: String,
    path: String,
}

impl Place {
    fn of(address: &str) -> Result<Place, PostError> {
        let unfit = |why: &str| lasting(format!("`{address}` is no address to post to: {why}."));
        let uri: Uri = address.parse().map_err(|_| unfit("it is no URL"))?;
        let is_tls = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            Some(_) | None => return Err(unfit("it does not begin with http:// or https://")),
        };
        let authority = uri.authority().ok_or_else(|| unfit("it names no host"))?;
        if authority.as_str().contains('@') {
            return Err(unfit("it names a user, which is not sent"));
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        if host.is_empty() {
            return Err(unfit("it names no host"));
        }
        let port = match (authority.port_u16(), authority.as_str().len() > authority.host().len()) {
            (Some(port), _) => port,
            (None, true) => return Err(unfit("its port is none")),
            (None, false) => [80, 443][usize::from(is_tls)],
        };
        let path = uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
        Ok(Place { is_tls, host, port, authority: authority.to_string(), path })
    }

    fn unreachable(&self, why: &dyn fmt::Display) -> PostError {
        passing(format!("`{}` cannot be reached: {why}.", self.authority))
    }
}

fn request(place: &Place, letter: Letter) -> Result<Request<Full<Bytes>>, PostError> {
    let mut request = Request::new(Full::new(Bytes::from(letter.body)));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = place.path.parse().map_err(|_| lasting("The path is no path."))?;
    let headers = request.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(USER_AGENT, HeaderValue::from_static("keyloom"));
    let host = HeaderValue::from_str(&place.authority);
    headers.insert(HOST, host.map_err(|_| lasting("The host is no host."))?);
    for (name, value) in &letter.headers {
        let unfit = || lasting(format!("The header `{name}` cannot be sent."));
        let value = HeaderValue::from_str(value).map_err(|_| unfit())?;
        headers.insert(HeaderName::try_from(name.as_str()).map_err(|_| unfit())?, value);
    }
    Ok(request)
}

/// Whether an address is one of the internet, and neither this machine's nor its network's.
fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => {
            let [first, second, ..] = v4.octets();
            // 100.64.0.0/10 is between a provider and its customers; 0.0.0.0/8 is this network,
            // 240.0.0.0/4 nobody's.
            let is_shared = first == 100 && (64..128).contains(&second);
            let is_special = v4.is_loopback() || v4.is_private() || v4.is_link_local();
            !(is_special || is_shared || first == 0 || v4.is_multicast() || first >= 240)
        }
        IpAddr::V6(v6) => {
            let first = v6.segments()[0];
            // Global unicast is 2000::/3; 64:ff9b::/96 and 2002::/16 lead to any address of IPv4.
            (0x2000..0x4000).contains(&first) && first != 0x2002
        }
    }
}

fn passing(message: impl Into<String>) -> PostError {
    PostError { message: message.into(), is_lasting: false }
}

fn lasting(message: impl Into<String>) -> PostError {
    PostError { message: message.into(), is_lasting: true }
}

impl fmt::Display for PostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for PostError {}

impl fmt::Debug for Post {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Post").field("time", &self.time).field("reach", &self.reach).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_apart() {
        for (address, expected) in [
            ("http://a.example", Some((false, "a.example", 80, "/"))),
            ("https://a.example:8443/x?y=1", Some((true, "a.example", 8443, "/x?y=1"))),
            ("https://[::1]/x", Some((true, "::1", 443, "/x"))),
            ("ftp://a.example", None),
            ("a.example/x", None),
            ("https://user:word@a.example", None),
            ("https://", None),
            ("", None),
            ("http://a b/", None),
            ("http://a.example:99999/", None),
        ] {
            let found = Place::of(address);
            let found =
                found.as_ref().map(|p| (p.is_tls, p.host.as_str(), p.port, p.path.as_str()));
            assert_eq!(found.ok(), expected, "{address}");
        }
    }

    #[test]
    fn private_addresses_are_told_from_public_ones() {
        for (address, expected) in [
            ("8.8.8.8", true),
            ("2606:4700::1111", true),
            ("127.0.0.1", false),
            ("10.1.2.3", false),
            ("172.16.0.1", false),
            ("192.168.1.1", false),
            ("169.254.169.254", false),
            ("100.64.0.1", false),
            ("100.128.0.1", true),
            ("0.0.0.0", false),
            ("224.0.0.1", false),
            ("255.255.255.255", false),
            ("::1", false),
            ("::", false),
            ("fe80::1", false),
            ("fd00::1", false),
            ("::ffff:10.0.0.1", false),
            ("::ffff:8.8.8.8", true),
            ("64:ff9b::a00:1", false),
            ("2002:a00:1::", false),
        ] {
            assert_eq!(is_public(address.parse().unwrap()), expected, "{address}");
        }
    }

    #[test]
    fn statuses_say_whether_trying_again_makes_sense() {
        let of = |status| {
            let posted = Posted { status, body: vec![] };
            (posted.is_taken(), posted.is_refused())
        };
        for taken in [200, 202, 204] {
            assert_eq!(of(taken), (true, false), "{taken}");
        }
        for refused in [301, 308, 400, 401, 403, 404, 410, 422] {
            assert_eq!(of(refused), (false, true), "{refused}");
        }
        for passing in [408, 425, 429, 500, 502, 503, 504] {
            assert_eq!(of(passing), (false, false), "{passing}");
        }
    }
}
