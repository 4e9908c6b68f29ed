//! A small mail server (RFC 5321) on 127.0.0.1 that accepts every mail and relays none. It has no TLS and
//! no authentication. Connections, commands, bytes and time are limited.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::inbox::{MESSAGE_BYTES_MAX, TooLarge};

const CONNECTIONS_MAX: usize = 32;
/// The time limit of a connection.
const SESSION_TIME: Duration = Duration::from_secs(30);
const COMMANDS_MAX: usize = 100;
/// RFC 5321 requires 512.
const COMMAND_BYTES_MAX: usize = 2048;
/// A mail that is too large is read to its end, so that the client sees the refusal, but only up to
/// this limit.
const DATA_BYTES_MAX: usize = 64 * MESSAGE_BYTES_MAX;
/// The pause after an error of `accept`.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Handles received mail.
pub(super) trait MailHandler: Send + Sync + 'static {
    /// Handles a mail to a recipient.
    fn handle(&self, to: &str, data: &[u8]) -> Result<(), TooLarge>;
}

/// A mail server that runs until it is dropped.
pub(super) struct MailServer {
    address: SocketAddr,
    is_stopped: Arc<AtomicBool>,
}

impl MailServer {
    /// Starts a server on a free port.
    pub(super) fn start(handler: Arc<dyn MailHandler>) -> io::Result<MailServer> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let is_stopped = Arc::new(AtomicBool::new(false));
        let stopped = is_stopped.clone();
        let thread = std::thread::Builder::new().name("receiver-mail".to_owned());
        thread.spawn(move || accept(&listener, &handler, &stopped))?;
        Ok(MailServer { address, is_stopped })
    }

    /// Its URL, as for `--smtp`.
    pub(super) fn url(&self) -> String {
        format!("smtp://{}", self.address)
    }
}

impl Drop for MailServer {
    fn drop(&mut self) {
        self.is_stopped.store(true, Ordering::Relaxed);
        // Wakes the thread, which blocks on `accept`.
        let _ = TcpStream::connect_timeout(&self.address, Duration::from_secs(1));
    }
}

fn accept(listener: &TcpListener, handler: &Arc<dyn MailHandler>, is_stopped: &AtomicBool) {
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
        let (handler, open) = (handler.clone(), Open(connections.clone()));
        let thread = std::thread::Builder::new().name("receiver-mail-talk".to_owned());
        // If no thread can be started, the connection closes.
        let _ = thread.spawn(move || {
            let _open = open;
            // Errors are those of the connection: nobody is left to reply to.
            let _ = converse(stream, &*handler);
        });
    }
}

/// Counts a connection while it is open.
struct Open(Arc<AtomicUsize>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A connection with a deadline, however slowly the client sends.
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

fn converse(stream: TcpStream, handler: &dyn MailHandler) -> io::Result<()> {
    let until = Instant::now() + SESSION_TIME;
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
                    Data::Whole(data) => (session.mail(&data, handler), false),
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

/// Reads a line with its end, truncated to `bytes_max`; none if the client has closed the connection.
fn line(client: &mut impl BufRead, bytes_max: usize) -> io::Result<Option<Vec<u8>>> {
    let mut line = vec![];
    client.take(bytes_max as u64).read_until(b'\n', &mut line)?;
    Ok((!line.is_empty()).then_some(line))
}

/// The content of a mail.
enum Data {
    Whole(Vec<u8>),
    TooLarge,
    /// The client has disconnected, or exceeded the limit.
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
        // The client doubles a dot at the start of a line.
        let dots = usize::from(is_start && line.starts_with(b"."));
        is_start = line.ends_with(b"\n");
        bytes += line.len();
        if bytes <= MESSAGE_BYTES_MAX {
            data.extend_from_slice(&line[dots..]);
        }
    }
    Ok(Data::Cut)
}

/// A reply to a command.
#[derive(Debug, PartialEq, Eq)]
enum Reply {
    /// Continue after this.
    Go(&'static str),
    /// Close the connection after this.
    Close(&'static str),
    /// Read the content of a mail.
    Data,
}

/// The state of a connection: sender and recipient of the next mail.
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

    /// Accepts one recipient per mail, as the service sends it.
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

    fn mail(&mut self, data: &[u8], handler: &dyn MailHandler) -> &'static str {
        let to = std::mem::take(self).to.unwrap_or_default();
        match handler.handle(&to, data) {
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
