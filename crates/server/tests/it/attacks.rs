//! Clients that would use up a server whose limits are the defaults. Nothing here is a matter of time: somebody
//! beside them is answered at the first attempt, although none of them has timed out.

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::{Mutex, MutexGuard, PoisonError};

use keyloom_server::{Limits, Role};
use serde_json::json;
use tokio::net::TcpSocket;

use crate::rest::ask::Ask;
use crate::rest::served::{Door, Served, Setup, app, engine};
use crate::rig::{Answer, Client, Rig};
use crate::signatures;

/// As many as took all memory for bodies when it was reserved for what is announced.
const BODIES: usize = 128;
/// More than one client may have.
const CONNECTIONS: usize = 1100;
const STREAMS: usize = 1060;
/// File handles of the largest crowd, on both ends, and of the rest of the tests.
const HANDLES: u64 = 3000;
/// Small, so that few bytes of a response are on their way.
const RECEIVE_BYTES: u32 = 4096;
const CROWD: Ipv4Addr = Ipv4Addr::LOCALHOST;
const SOMEBODY: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

/// Crowds take many file handles: one at a time.
static TURN: Mutex<()> = Mutex::new(());

/// None, with a message, if there are too few file handles.
#[expect(clippy::print_stderr, reason = "says why a test is skipped")]
fn turn() -> Option<MutexGuard<'static, ()>> {
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let has_handles = rlimit::increase_nofile_limit(HANDLES).is_ok_and(|limit| limit >= HANDLES);
    if !has_handles {
        eprintln!("Skipped: fewer than {HANDLES} file handles here.");
    }
    has_handles.then_some(turn)
}

/// A server that knows its clients, and requests to it.
struct Target<'r> {
    name: &'static str,
    rig: &'r Rig,
    /// A small request that succeeds.
    light: Vec<u8>,
    /// Announces a body, as a client that the server knows.
    announced: Vec<u8>,
    /// Announces a body, as nobody.
    anonymous: Vec<u8>,
    /// Public, with a long response.
    page: Vec<u8>,
}

/// Runs a test on a model over HTTP, and on the DynamoDB wire with credentials.
fn each(test: impl Fn(&Target<'_>)) {
    let Some(_turn) = turn() else { return };
    let (served, token) = served();
    let head = "POST /tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
                Content-Length: 8388608\r\n";
    let light = Ask::post("/tasks", &json!({"name": "a"})).bearer(&token);
    test(&Target {
        name: "REST",
        rig: &served.rig,
        light: light.bytes(),
        announced: format!("{head}Authorization: Bearer {token}\r\n\r\n").into(),
        anonymous: format!("{head}\r\n").into(),
        page: Ask::get("/openapi.json").bytes(),
    });
    drop(served);
    let rig = signatures::rig(Limits::default());
    test(&Target {
        name: "the wire",
        rig: &rig,
        light: signatures::list_tables(),
        announced: signatures::announced(8 << 20),
        anonymous: b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
                     Content-Length: 8388608\r\n\r\n"
            .to_vec(),
        page: Ask::get("/console").bytes(),
    });
}

/// The tasks application, and a token that may write.
fn served() -> (Served, String) {
    let setup = Setup { limits: Limits::default(), store: engine, ..Setup::new(Door::Closed) };
    let served = Served::start(&app("tasks"), setup);
    let token = served.token(Role::Writer, None);
    (served, token)
}

impl Target<'_> {
    /// Opens connections that send this and read nothing. The server may have closed one for another already.
    fn crowd(&self, count: usize, bytes: &[u8]) -> Vec<TcpStream> {
        let send = |_| {
            let mut stream = connect(self.rig, CROWD);
            let _ = stream.write_all(bytes);
            stream
        };
        (0..count).map(send).collect()
    }

    /// Checks that every request of another client is answered, on one connection and on new ones.
    fn assert_serves(&self, client: Ipv4Addr) {
        let connect = || Client::over(connect(self.rig, client));
        let mut regular = connect();
        for _ in 0..20 {
            for answer in [regular.send(&self.light), connect().send(&self.light)] {
                let text = String::from_utf8_lossy(&answer.body);
                assert!((200..300).contains(&answer.status), "{}: {text}", self.name);
            }
        }
    }
}

/// Connects from an address of this machine, as a client of its own.
fn connect(rig: &Rig, client: Ipv4Addr) -> TcpStream {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
    let connected = runtime.block_on(async {
        let socket = TcpSocket::new_v4()?;
        socket.set_recv_buffer_size(RECEIVE_BYTES)?;
        socket.bind(SocketAddr::from((client, 0)))?;
        socket.connect(rig.address).await?.into_std()
    });
    let stream = connected.unwrap();
    stream.set_nonblocking(false).unwrap();
    stream.set_read_timeout(Some(std::time::Duration::from_secs(20))).unwrap();
    stream
}

/// Whether the server still waits for more.
fn is_waited_for(stream: &TcpStream) -> bool {
    stream.set_nonblocking(true).unwrap();
    let peeked = stream.peek(&mut [0]);
    peeked.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
}

#[test]
fn announced_bodies_hold_up_nobody() {
    each(|target| {
        for mut stream in target.crowd(BODIES, &target.anonymous) {
            let status = Answer::read(&mut stream).status;
            assert!([400, 401].contains(&status), "{}: {status}", target.name);
        }
        let crowd = target.crowd(BODIES, &target.announced);
        target.assert_serves(CROWD);
        target.assert_serves(SOMEBODY);
        assert!(crowd.iter().all(is_waited_for), "{}", target.name);
    });
}

#[test]
fn idle_connections_hold_up_nobody() {
    each(|target| {
        let mut crowd = target.crowd(CONNECTIONS / 2, b"");
        crowd.extend(target.crowd(CONNECTIONS / 2, b"GET / HTTP/1.1\r\nHost: loc"));
        target.assert_serves(CROWD);
        target.assert_serves(SOMEBODY);
        // Those that were not closed for others.
        let waited_for = crowd.iter().filter(|stream| is_waited_for(stream)).count();
        let most = Limits::default().connections_per_client;
        assert!((1..=most).contains(&waited_for), "{}: {waited_for}", target.name);
    });
}

#[test]
fn responses_that_nobody_reads_hold_up_no_other_client() {
    each(|target| {
        let _crowd = target.crowd(CONNECTIONS, &target.page.repeat(100));
        target.assert_serves(SOMEBODY);
    });
}

#[test]
fn event_streams_of_one_client_leave_others_theirs() {
    let Some(_turn) = turn() else { return };
    let (served, token) = served();
    let open = |client| {
        let mut stream = connect(&served.rig, client);
        stream.write_all(&Ask::get("/changes").bearer(&token).bytes()).unwrap();
        (Answer::read_head(&mut stream).status, stream)
    };
    let crowd: Vec<(u16, TcpStream)> = (0..STREAMS).map(|_| open(CROWD)).collect();
    let Limits { streams_per_client, connections_per_client, .. } = Limits::default();
    let is_answered = |(number, (status, _)): (usize, &(u16, TcpStream))| match number {
        number if number < streams_per_client => *status == 200,
        number if number < connections_per_client => *status == 503,
        // Each of these has closed the idlest connection of the client, which can be a stream.
        _ => [200, 503].contains(status),
    };
    assert!(crowd.iter().enumerate().all(is_answered));
    let (status, _stream) = open(SOMEBODY);
    assert_eq!(status, 200);
    for client in [CROWD, SOMEBODY] {
        let mut client = Client::over(connect(&served.rig, client));
        for _ in 0..20 {
            let ask = Ask::post("/tasks", &json!({"name": "a"})).bearer(&token);
            client.send(&ask.bytes()).expect_json(201);
        }
    }
}
