//! A server on a free port, and requests written byte by byte.

use std::io::{BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use keyloom_dynamodb::{Endpoint, EndpointOptions};
use keyloom_server::{App, Config, Credentials, DynamoDb, Limits, Server, TlsFiles};
use keyloom_store::MemoryStore;
use keyloom_testkit::ManualClock;
use tokio::sync::oneshot;

/// A server that stops when it is dropped.
pub(crate) struct Rig {
    pub(crate) address: SocketAddr,
    pub(crate) clock: ManualClock,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// How to start a server.
pub(crate) struct Setup {
    pub(crate) credentials: Option<Credentials>,
    pub(crate) limits: Limits,
    pub(crate) tls: Option<TlsFiles>,
}

impl Default for Setup {
    fn default() -> Setup {
        Setup { credentials: None, limits: short_limits(), tls: None }
    }
}

/// Limits of a second, so that tests of time-outs end soon.
pub(crate) fn short_limits() -> Limits {
    let second = Duration::from_secs(1);
    Limits { head_time: second, body_time: second, stop_time: second, ..Limits::default() }
}

/// On a port of its own.
pub(crate) fn config(limits: Limits, tls: Option<TlsFiles>) -> Config {
    let listen = SocketAddr::from(([127, 0, 0, 1], 0));
    Config { listen, tls, limits, cors_origins: vec![] }
}

impl Rig {
    pub(crate) fn start(setup: Setup) -> Rig {
        let clock = ManualClock::new();
        let store = Arc::new(MemoryStore::new(Arc::new(clock.clone())));
        let endpoint = Endpoint::new(store, EndpointOptions::default());
        let app = DynamoDb::new(endpoint, setup.credentials, Arc::new(clock.clone()));
        Rig::serve(app.into(), clock, config(setup.limits, setup.tls))
    }

    /// Serves any app, which uses this clock.
    pub(crate) fn serve(app: App, clock: ManualClock, config: Config) -> Rig {
        let (stop, stopped) = oneshot::channel();
        let (tell, told) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
            runtime.unwrap().block_on(async {
                let server = Server::bind(config, app).await.unwrap();
                tell.send(server.address()).unwrap();
                server.run(async { drop(stopped.await) }).await;
            });
        });
        let address = told.recv().unwrap();
        Rig { address, clock, stop: Some(stop), thread: Some(thread) }
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    /// Sends bytes, which need not be a valid request, and reads the response.
    pub(crate) fn send(&self, request: &[u8]) -> Answer {
        let mut stream = self.connect();
        stream.write_all(request).unwrap();
        Answer::read(&mut stream)
    }

    /// A connection for several requests.
    pub(crate) fn client(&self) -> Client {
        Client::over(self.connect())
    }

    /// Starts stopping the server.
    pub(crate) fn stop(&mut self) {
        drop(self.stop.take());
    }

    /// Waits until it has stopped.
    pub(crate) fn join(&mut self) {
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        self.stop();
        self.join();
    }
}

/// A persistent connection.
pub(crate) struct Client {
    stream: BufReader<TcpStream>,
}

impl Client {
    pub(crate) fn over(stream: TcpStream) -> Client {
        Client { stream: BufReader::new(stream) }
    }

    pub(crate) fn send(&mut self, request: &[u8]) -> Answer {
        self.stream.get_mut().write_all(request).unwrap();
        match request.starts_with(b"HEAD ") {
            true => Answer::read_head(&mut self.stream),
            false => Answer::read(&mut self.stream),
        }
    }
}

/// A request with a target, more headers and a body.
pub(crate) fn post(target: &str, headers: &str, body: &str) -> Vec<u8> {
    format!(
        "POST / HTTP/1.1\r\nHost: localhost:8000\r\nContent-Type: application/x-amz-json-1.0\r\n\
         X-Amz-Target: {target}\r\nContent-Length: {}\r\n{headers}\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// A response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// Reads one response; its status is 0 if the connection ends first.
    pub(crate) fn read(stream: &mut impl Read) -> Answer {
        let mut answer = Answer::read_head(stream);
        let length = answer.header("content-length").map_or(0, |length| length.parse().unwrap());
        answer.body.resize(length, 0);
        stream.read_exact(&mut answer.body).unwrap();
        answer
    }

    /// Reads only the head of a response.
    pub(crate) fn read_head(stream: &mut impl Read) -> Answer {
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") {
            match stream.read(&mut byte) {
                Ok(1) => head.push(byte[0]),
                _ => return Answer { status: 0, head: String::new(), body: vec![] },
            }
        }
        let head = String::from_utf8(head).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, head, body: vec![] }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.filter(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value).next()
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }
}
