//! Greedy clients, and a client with small requests beside them.

use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::api::Api;
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

    /// Whether there is such an attack: the DynamoDB API has no event streams.
    pub(crate) fn is_possible(self, api: Api) -> bool {
        match self {
            Attack::Streams => api == Api::Rest,
            Attack::Nothing | Attack::Idle | Attack::AnnouncedBodies | Attack::UnreadResponses => {
                true
            }
        }
    }

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

    fn bytes(self, api: Api) -> Vec<u8> {
        let get = |path| format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").into_bytes();
        match self {
            Attack::Nothing | Attack::Idle => vec![],
            Attack::AnnouncedBodies => {
                let path = api.written_path();
                let head = format!("POST {path} HTTP/1.1\r\nHost: localhost");
                let headers = "Content-Type: application/json\r\nContent-Length: 8388608";
                format!("{head}\r\n{headers}\r\n\r\n").into_bytes()
            }
            Attack::UnreadResponses => get(api.long_page()).repeat(200),
            Attack::Streams => get("/changes"),
        }
    }

    /// Opens the connections, which close on drop.
    fn begin(self, server: &Served) -> Vec<TcpStream> {
        let bytes = self.bytes(server.api);
        let open = |_| {
            let mut stream = TcpStream::connect(("127.0.0.1", server.port())).ok()?;
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
    let attackers = attack.begin(server);
    let (started, mut latencies, mut client) = (Instant::now(), vec![], server.client());
    while started.elapsed() < round {
        let light = server.light(latencies.len());
        let start = Instant::now();
        if latencies.len().is_multiple_of(10) {
            client = server.client();
        }
        assert_eq!(client.send(&light).expect("a response"), 200);
        latencies.push(start.elapsed());
        // The attack continues as long as its connections are open, whatever the rate here.
        std::thread::sleep(Duration::from_micros(200));
    }
    drop(attackers);
    latencies.sort_unstable();
    let at = |part: usize| latencies[(latencies.len() - 1) * part / 100];
    (at(50), at(99))
}
