//! A small mail server (RFC 5321) on 127.0.0.1 that takes every mail and sends none on. It has no
//! TLS and no users. What a client can take is bounded: connections, commands, bytes and time.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::inbox::{MESSAGE_BYTES_MAX, TooLarge};

const CONNECTIONS_MAX: usize = 32;
/// How long one conversation may take.
const CONVERSATION_TIME: Duration = Duration::from_secs(30);
const COMMANDS_MAX: usize = 100;
/// RFC 5321 asks for 512.
const COMMAND_BYTES_MAX: usize = 2048;
/// A mail that is too large is read to its end, so that the client sees the refusal. This is where
/// patience ends.
const DATA_BYTES_MAX: usize = 64 * MESSAGE_BYTES_MAX;
/// How long to wait after a connection could not be accepted.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What the server does with a mail.
pub(super) trait TakeMail: Send + Sync + 'static {
    /// Takes a mail to a recipient.
    fn take(&self, to: &str, data: &[u8]) -> Result<(), TooLarge>;
}

/// A mail server that runs until it is dropped.
pub(super) struct MailServer {
    address: SocketAddr,
    is_stopped: Arc<AtomicBool>,
}

impl MailServer {
    /// Starts a server on a free port.
    pub(super) fn start(taker: Arc<dyn TakeMail>) -> io::Result<MailServer> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let is_stopped = Arc::new(AtomicBool::new(false));
        let stopped = is_stopped.clone();
        let thread = std::thread::Builder::new().name("receiver-mail".to_owned());
        thread.spawn(move || accept(&listener, &taker, &stopped))?;
        Ok(MailServer { address, is_stopped })
    }

    /// Where it listens, as `--smtp` takes it.
    pub(super) fn url(&self) -> String {
        format!("smtp://{}", self.address)
    }
}

impl Drop for MailServer {
    fn drop(&mut self) {
        self.is_stopped.store(true, Ordering::Relaxed);
        // The thread waits for a connection: this is one.
        let _ = TcpStream::connect_timeout(&self.address, Duration::from_secs(1));
    }
}

fn accept(listener: &TcpListener, taker: &Arc<dyn TakeMail>, is_stopped: &AtomicBool) {
    let connections = Arc::new(AtomicUsize::new(0));
    for stream in listener.incoming() {
        if is_stopped.load(Ordering::Relaxed) {
            return;
        }
        let Ok(mut stream) = stream else {
            std::thread::sleep(ACCEPT_PAUSE);
            continue;
        };
        if connections.load(Ordering::Relaxed) >= CONNECTIONS_MAX {
            let _ = stream.write_all(b"421 Too many connections\r\n");
            continue;
        }
        connections.fetch_add(1, Ordering::Relaxed);
        let (taker, open) = (taker.clone(), Open(connections.clone()));
        let thread = std::thread::Builder::new().name("receiver-mail-talk".to_owned());
        // If there is no thread to be had, the client sees the connection close.
        let _ = thread.spawn(move || {
            let _open = open;
            // Whoever breaks the connection off gets no answer.
            let _ = talk(stream, &*taker);
        });
    }
}

/// Counts a connection as long as it is open.
struct Open(Arc<AtomicUsize>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A connection that ends at a time, however slowly the client sends.
struct Timed {
    stream: TcpStream,
    until: Instant,
}

impl Timed {
    fn left(&self) -> io::Result<Option<Duration>> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(Some(left)) }
    }
}

impl Read for Timed {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.left()?)?;
        self.stream.read(bytes)
    }
}

impl Write for Timed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(self.left()?)?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

fn talk(stream: TcpStream, taker: &dyn TakeMail) -> io::Result<()> {
    let until = Instant::now() + CONVERSATION_TIME;
    let mut client = BufReader::new(Timed { stream, until });
    client.get_mut().write_all(b"220 receiver.localhost ESMTP\r\n")?;
    let mut session = Session::default();
    for _ in 0..COMMANDS_MAX {
        let Some(line) = line(&mut client, COMMAND_BYTES_MAX)? else { return Ok(()) };
        let reply = match line.ends_with(b"\n") {
            true => session.command(&String::from_utf8_lossy(&line)),
            false => Reply::Close("500 Line too long"),
        };
        let (text, is_last) = match reply {
            Reply::Go(text) => (text, false),
            Reply::Close(text) => (text, true),
            Reply::Data => {
                client.get_mut().write_all(b"354 End data with <CR><LF>.<CR><LF>\r\n")?;
                match data(&mut client)? {
                    Data::Whole(data) => (session.mail(&data, taker), false),
                    Data::TooLarge => (session.too_large(), false),
                    Data::Cut => return Ok(()),
                }
            }
        };
        client.get_mut().write_all(format!("{text}\r\n").as_bytes())?;
        if is_last {
            return Ok(());
        }
    }
    client.get_mut().write_all(b"421 Too many commands\r\n")
}

/// A line with its end, or as much of it as may be; none if the client has closed the connection.
fn line(client: &mut impl BufRead, bytes_max: usize) -> io::Result<Option<Vec<u8>>> {
    let mut line = vec![];
    client.take(bytes_max as u64).read_until(b'\n', &mut line)?;
    Ok((!line.is_empty()).then_some(line))
}

/// The lines of a mail.
enum Data {
    Whole(Vec<u8>),
    TooLarge,
    /// The client has left, or does not stop.
    Cut,
}

fn data(client: &mut impl BufRead) -> io::Result<Data> {
    let (mut data, mut bytes) = (vec![], 0);
    let mut is_start = true;
    while bytes <= DATA_BYTES_MAX {
        let Some(line) = line(client, COMMAND_BYTES_MAX)? else { return Ok(Data::Cut) };
        if is_start && line == b".\r\n" {
            let is_whole = bytes <= MESSAGE_BYTES_MAX;
            return Ok(if is_whole { Data::Whole(data) } else { Data::TooLarge });
        }
        // The client adds a dot to lines that begin with one.
        let dots = usize::from(is_start && line.starts_with(b"."));
        is_start = line.ends_with(b"\n");
        bytes += line.len();
        if bytes <= MESSAGE_BYTES_MAX {
            data.extend_from_slice(&line[dots..]);
        }
    }
    Ok(Data::Cut)
}

/// What to answer.
#[derive(Debug, PartialEq, Eq)]
enum Reply {
    /// This, and go on.
    Go(&'static str),
    /// This, and close the connection.
    Close(&'static str),
    /// The lines of a mail follow.
    Data,
}

/// A conversation: who the next mail is from and to.
#[derive(Debug, Default)]
struct Session {
    is_from: bool,
    to: Option<String>,
}

impl Session {
    fn command(&mut self, line: &str) -> Reply {
        let line = line.trim_end();
        let verb = line.split([' ', ':']).next().unwrap_or_default().to_ascii_uppercase();
        match verb.as_str() {
            "EHLO" => {
                *self = Session::default();
                Reply::Go("250-receiver.localhost\r\n250-8BITMIME\r\n250 SIZE 65536")
            }
            "HELO" | "RSET" => {
                *self = Session::default();
                Reply::Go("250 OK")
            }
            "MAIL" => {
                *self = Session { is_from: true, to: None };
                Reply::Go("250 OK")
            }
            "RCPT" => self.recipient(line),
            "DATA" if self.to.is_some() => Reply::Data,
            "DATA" => Reply::Go("503 RCPT first"),
            "NOOP" => Reply::Go("250 OK"),
            "VRFY" => Reply::Go("252 Send a mail and see"),
            "QUIT" => Reply::Close("221 Bye"),
            _ => Reply::Go("502 Command not implemented"),
        }
    }

    /// One recipient is enough: the service sends each mail on its own.
    fn recipient(&mut self, line: &str) -> Reply {
        let address = line.split_once('<').and_then(|(_, rest)| rest.split_once('>'));
        match (self.is_from, &self.to, address) {
            (false, _, _) => Reply::Go("503 MAIL first"),
            (true, Some(_), _) => Reply::Go("452 Too many recipients"),
            (true, None, Some((address, _))) if address.contains('@') => {
                self.to = Some(address.to_owned());
                Reply::Go("250 OK")
            }
            (true, None, _) => Reply::Go("501 Syntax: RCPT TO:<name@host>"),
        }
    }

    fn mail(&mut self, data: &[u8], taker: &dyn TakeMail) -> &'static str {
        let to = std::mem::take(self).to.unwrap_or_default();
        match taker.take(&to, data) {
            Ok(()) => "250 OK",
            Err(TooLarge) => self.too_large(),
        }
    }

    fn too_large(&mut self) -> &'static str {
        *self = Session::default();
        "552 Message too large"
    }
}

impl fmt::Debug for MailServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MailServer").field("address", &self.address).finish()
    }
}

#[cfg(test)]
mod tests;
