//! Clients that follow queries, all on one thread.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::runtime::Builder;
use tokio::time::sleep;

use crate::served::Served;
use crate::service::Service;
use crate::{Done, Setting, micros};

/// How long after the last write events still count.
const LINGER: Duration = Duration::from_secs(2);

pub(crate) struct Followers {
    thread: JoinHandle<()>,
    times: Arc<Mutex<Vec<Done>>>,
    is_over: Arc<AtomicBool>,
}

impl Followers {
    /// Opens all streams; returns when each has its first page.
    pub(crate) fn open(
        served: &Served,
        setting: Setting,
        start: Instant,
    ) -> Result<Followers, String> {
        let (times, is_over) = (Arc::default(), Arc::new(AtomicBool::new(false)));
        let open = Arc::new(AtomicUsize::new(0));
        let thread = {
            let (service, port) = (served.service, served.port());
            let (times, is_over, open) =
                (Arc::clone(&times), Arc::clone(&is_over), Arc::clone(&open));
            std::thread::spawn(move || {
                let runtime =
                    Builder::new_current_thread().enable_all().build().expect("a runtime");
                runtime.block_on(async {
                    let mut clients = vec![];
                    for client in 0..setting.clients {
                        let owner = client % setting.queries;
                        let stream = connect(port, &service.stream(owner)).await;
                        let of = Of { service, owner, port };
                        let client =
                            Client { of, stream, times: Arc::clone(&times), start, last: 0 };
                        clients.push(tokio::spawn(client.follow(Arc::clone(&open))));
                    }
                    while !is_over.load(Ordering::Acquire) {
                        sleep(Duration::from_millis(100)).await;
                        let failed = clients.iter().find(|client| client.is_finished());
                        assert!(failed.is_none(), "a client has failed");
                    }
                });
            })
        };
        let begun = Instant::now();
        while open.load(Ordering::Acquire) < setting.clients {
            if begun.elapsed() > Duration::from_secs(120) {
                return Err(format!("only {} streams have begun", open.load(Ordering::Acquire)));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(Followers { thread, times, is_over })
    }

    /// The changes that clients have received.
    pub(crate) fn join(self) -> Vec<Done> {
        std::thread::sleep(LINGER);
        self.is_over.store(true, Ordering::Release);
        self.thread.join().expect("the clients end");
        std::mem::take(&mut *self.times.lock().expect("no client has failed"))
    }
}

async fn connect(port: u16, path: &str) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.expect("the server listens");
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("a request is sent");
    stream
}

/// What a client follows.
#[derive(Clone, Copy)]
struct Of {
    service: Service,
    owner: usize,
    port: u16,
}

impl Of {
    /// Completes a subscription, after the first event.
    async fn subscribe(self, first_event: &[u8]) {
        let first_event = String::from_utf8_lossy(first_event);
        let Some(body) = self.service.subscription(&first_event, self.owner) else { return };
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).await.expect("it listens");
        let head = "POST /api/realtime HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
                    Content-Type: application/json";
        let request = format!("{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        stream.write_all(request.as_bytes()).await.expect("a request is sent");
        let mut response = vec![];
        stream.read_to_end(&mut response).await.expect("a response");
        assert!(response.starts_with(b"HTTP/1.1 204"), "{}", String::from_utf8_lossy(&response));
    }
}

struct Client {
    of: Of,
    stream: TcpStream,
    times: Arc<Mutex<Vec<Done>>>,
    start: Instant,
    /// When the last change that was received was sent.
    last: u64,
}

impl Client {
    async fn follow(mut self, open: Arc<AtomicUsize>) {
        let (mut text, mut has_begun) = (Vec::with_capacity(16 * 1024), false);
        loop {
            let read = self.stream.read_buf(&mut text).await.expect("the stream goes on");
            assert!(read > 0, "the server ends a stream");
            let mut done = 0;
            while let Some(length) = text[done..].windows(2).position(|pair| pair == b"\n\n") {
                let event = &text[done..done + length];
                done += length + 2;
                if has_begun {
                    self.note(event);
                } else if event.windows(5).any(|window| window == b"data:") {
                    self.of.subscribe(event).await;
                    has_begun = true;
                    open.fetch_add(1, Ordering::AcqRel);
                }
            }
            text.drain(..done);
        }
    }

    /// Notes how long a change has taken. What enters or leaves, and what makes room for others, is a
    /// consequence of one: it was sent earlier.
    fn note(&mut self, event: &[u8]) {
        let event = String::from_utf8_lossy(event);
        let Some(sent) = sent(&event).filter(|_| self.of.service.is_change(&event)) else { return };
        if sent > self.last {
            self.last = sent;
            let done = Done { sent, at: micros(self.start) };
            self.times.lock().expect("no client has failed").push(done);
        }
    }
}

/// The member `sent` of the task in an event.
fn sent(event: &str) -> Option<u64> {
    let (_, rest) = event.rsplit_once(r#""sent":"#)?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok()
}
