//! Clients that take all they can get, and somebody who wants something small beside them.

use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::load::{Request, get};
use crate::served::Served;

/// What the crowd does on each of its connections.
#[derive(Clone, Copy)]
pub(crate) enum Attack {
    Nothing,
    Idle,
    AnnouncedBodies,
    UnreadAnswers,
    Streams,
}

impl Attack {
    pub(crate) const ALL: [Attack; 5] = [
        Attack::Nothing,
        Attack::Idle,
        Attack::AnnouncedBodies,
        Attack::UnreadAnswers,
        Attack::Streams,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Attack::Nothing => "nobody",
            Attack::Idle => "1,100 idle connections",
            Attack::AnnouncedBodies => "256 announced bodies of 8 MiB",
            Attack::UnreadAnswers => "1,100 connections that never read",
            Attack::Streams => "1,100 event streams",
        }
    }

    fn connections(self) -> usize {
        match self {
            Attack::Nothing => 0,
            Attack::AnnouncedBodies => 256,
            Attack::Idle | Attack::UnreadAnswers | Attack::Streams => 1100,
        }
    }

    fn bytes(self) -> Vec<u8> {
        match self {
            Attack::Nothing | Attack::Idle => vec![],
            Attack::AnnouncedBodies => {
                b"POST /tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
                  Content-Length: 8388608\r\n\r\n"
                    .to_vec()
            }
            Attack::UnreadAnswers => {
                b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(200)
            }
            Attack::Streams => b"GET /changes HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(),
        }
    }

    /// The connections, which end when they are dropped.
    fn begin(self, port: u16) -> Vec<TcpStream> {
        let bytes = self.bytes();
        let open = |_| {
            let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
            stream.set_nonblocking(true).ok()?;
            // As much as the system takes; the server may have closed it already.
            let _ = stream.write(&bytes);
            Some(stream)
        };
        (0..self.connections()).filter_map(open).collect()
    }
}

/// p50 and p99 of a light request beside an attack. Every tenth is on a new connection.
pub(crate) fn round(server: &Served, attack: Attack, round: Duration) -> (Duration, Duration) {
    let crowd = attack.begin(server.port());
    let (started, mut latencies, mut client) = (Instant::now(), vec![], server.client());
    while started.elapsed() < round {
        let path = Request::Get.path(&server.ids, latencies.len());
        let asked = Instant::now();
        if latencies.len().is_multiple_of(10) {
            client = server.client();
        }
        get(&mut client, &path);
        latencies.push(asked.elapsed());
        // An attack goes on for as long as its connections are open, whatever the pace here.
        std::thread::sleep(Duration::from_micros(200));
    }
    drop(crowd);
    latencies.sort_unstable();
    let at = |part: usize| latencies[(latencies.len() - 1) * part / 100];
    (at(50), at(99))
}
