//! Greedy clients, and a client with small requests beside them.

use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::load::{Request, get};
use crate::served::Served;

/// What the attackers do on each connection.
#[derive(Clone, Copy)]
pub(crate) enum Attack {
    Nothing,
    Idle,
    AnnouncedBodies,
    UnreadResponses,
    Streams,
}

impl Attack {
    pub(crate) const ALL: [Attack; 5] = [
        Attack::Nothing,
        Attack::Idle,
        Attack::AnnouncedBodies,
        Attack::UnreadResponses,
        Attack::Streams,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Attack::Nothing => "nobody",
            Attack::Idle => "1,100 idle connections",
            Attack::AnnouncedBodies => "256 announced bodies of 8 MiB",
            Attack::UnreadResponses => "1,100 connections that never read",
            Attack::Streams => "1,100 event streams",
        }
    }

    fn connections(self) -> usize {
        match self {
            Attack::Nothing => 0,
            Attack::AnnouncedBodies => 256,
            Attack::Idle | Attack::UnreadResponses | Attack::Streams => 1100,
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
            Attack::UnreadResponses => {
                b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(200)
            }
            Attack::Streams => b"GET /changes HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(),
        }
    }

    /// Opens the connections, which close on drop.
    fn begin(self, port: u16) -> Vec<TcpStream> {
        let bytes = self.bytes();
        let open = |_| {
            let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
            stream.set_nonblocking(true).ok()?;
            // As much as the system accepts; the server may have closed the connection already.
            let _ = stream.write(&bytes);
            Some(stream)
        };
        (0..self.connections()).filter_map(open).collect()
    }
}

/// Returns p50 and p99 of a light request during an attack. Every tenth uses a new connection.
pub(crate) fn round(server: &Served, attack: Attack, round: Duration) -> (Duration, Duration) {
    let attackers = attack.begin(server.port());
    let (started, mut latencies, mut client) = (Instant::now(), vec![], server.client());
    while started.elapsed() < round {
        let path = Request::Get.path(&server.ids, latencies.len());
        let start = Instant::now();
        if latencies.len().is_multiple_of(10) {
            client = server.client();
        }
        get(&mut client, &path);
        latencies.push(start.elapsed());
        // The attack continues as long as its connections are open, whatever the rate here.
        std::thread::sleep(Duration::from_micros(200));
    }
    drop(attackers);
    latencies.sort_unstable();
    let at = |part: usize| latencies[(latencies.len() - 1) * part / 100];
    (at(50), at(99))
}
