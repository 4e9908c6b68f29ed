//! A conversation with a mail server (RFC 5321), as a client: one connection for one mail, with TLS
//! from the start, after `STARTTLS` or not at all. It blocks, and ends by its deadline.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};

/// How long one conversation may take.
const TIME: Duration = Duration::from_secs(30);
/// As long as a line of a reply can be, and as many as one can have.
const LINE_BYTES_MAX: usize = 2048;
const LINES_MAX: usize = 100;

/// A mail server.
#[derive(Clone)]
pub(super) struct Server {
    host: String,
    port: u16,
    security: Security,
    user: Option<(String, String)>,
    tls: Arc<ClientConfig>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Security {
    None,
    StartTls,
    Tls,
}

/// A mail that is ready to be sent.
#[derive(Clone, Debug)]
pub(super) struct Envelope {
    pub(super) from: String,
    pub(super) to: String,
    /// Head and text, with lines that end as the protocol wants it.
    pub(super) data: String,
}

/// Why a mail was not sent.
#[derive(Debug)]
pub(super) enum Unsent {
    /// The server will never take it.
    Refused(String),
    /// It may, later.
    Failed(String),
}

impl Server {
    /// The server of an address: `smtps://host`, `smtp+starttls://host`, `smtp://host`.
    pub(super) fn new(
        address: &str,
        user: Option<(String, String)>,
        tls: Arc<ClientConfig>,
    ) -> Result<Server, String> {
        let unfit = |why: &str| {
            format!(
                "`{address}` is no mail server: {why}. Write `smtps://host`, \
                 `smtp+starttls://host` or, without TLS, `smtp://host:25`."
            )
        };
        let (scheme, place) = address.split_once("://").ok_or_else(|| unfit("it is no URL"))?;
        let (security, usual) = match scheme {
            "smtps" => (Security::Tls, 465),
            "smtp+starttls" => (Security::StartTls, 587),
            "smtp" => (Security::None, 25),
            _ => return Err(unfit("it begins with none of these")),
        };
        let place = place.trim_end_matches('/');
        let (host, port) = match place.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => {
                (host, port.parse().map_err(|_| unfit("its port is none"))?)
            }
            Some(_) | None => (place, usual),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        if host.is_empty() || host.contains(['@', '/']) {
            return Err(unfit("it names no host"));
        }
        if user.is_some() && security == Security::None {
            return Err(unfit("a password is only sent over TLS"));
        }
        Ok(Server { host, port, security, user, tls })
    }

    /// Sends a mail.
    pub(super) fn send(&self, mail: &Envelope) -> Result<(), Unsent> {
        let until = Instant::now() + TIME;
        let failed = |error: io::Error| {
            Unsent::Failed(format!("The mail server {} cannot be used: {error}.", self.host))
        };
        let mut talk = self.greeted(until).map_err(failed)?;
        for command in
            [format!("MAIL FROM:<{}>", mail.from), format!("RCPT TO:<{}>", mail.to), "DATA".into()]
        {
            talk.ask(&command).map_err(failed)?.check()?;
        }
        talk.say(&stuffed(&mail.data)).map_err(failed)?;
        talk.reply().map_err(failed)?.check()?;
        // It is taken, whatever comes of saying goodbye.
        let _ = talk.ask("QUIT");
        Ok(())
    }

    /// A connection on which mail can be sent.
    fn greeted(&self, until: Instant) -> io::Result<Talk> {
        let socket = connect(&self.host, self.port, until)?;
        let mut talk = Talk { stream: Box::new(socket.try_clone()?), socket, until };
        if self.security == Security::Tls {
            talk = self.secured(talk)?;
        }
        talk.reply()?.accepted()?;
        talk.ask("EHLO keyloom")?.accepted()?;
        if self.security == Security::StartTls {
            talk.ask("STARTTLS")?.accepted()?;
            talk = self.secured(talk)?;
            talk.ask("EHLO keyloom")?.accepted()?;
        }
        if let Some((user, password)) = &self.user {
            let plain = STANDARD.encode(format!("\0{user}\0{password}").as_bytes());
            talk.ask(&format!("AUTH PLAIN {plain}"))?.accepted()?;
        }
        Ok(talk)
    }

    fn secured(&self, talk: Talk) -> io::Result<Talk> {
        let name = ServerName::try_from(self.host.clone()).map_err(io::Error::other)?;
        let connection = ClientConnection::new(self.tls.clone(), name).map_err(io::Error::other)?;
        let Talk { socket, until, .. } = talk;
        let stream = StreamOwned::new(connection, socket.try_clone()?);
        Ok(Talk { stream: Box::new(stream), socket, until })
    }
}

fn connect(host: &str, port: u16, until: Instant) -> io::Result<TcpStream> {
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, left(until)?) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// The time that is left.
fn left(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}

trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

struct Talk {
    stream: Box<dyn Stream>,
    /// The same connection, whose patience can be set.
    socket: TcpStream,
    until: Instant,
}

/// What a server says.
struct Reply {
    code: u16,
    text: String,
}

impl Talk {
    fn ask(&mut self, command: &str) -> io::Result<Reply> {
        self.say(&format!("{command}\r\n"))?;
        self.reply()
    }

    fn say(&mut self, text: &str) -> io::Result<()> {
        self.socket.set_write_timeout(Some(left(self.until)?))?;
        self.stream.write_all(text.as_bytes())?;
        self.stream.flush()
    }

    fn reply(&mut self) -> io::Result<Reply> {
        let unreadable = || io::Error::other("it does not speak SMTP");
        for _ in 0..LINES_MAX {
            let line = self.line()?;
            let code = line.get(..3).and_then(|code| code.parse().ok()).ok_or_else(unreadable)?;
            if line.as_bytes().get(3) != Some(&b'-') {
                return Ok(Reply { code, text: line });
            }
        }
        Err(unreadable())
    }

    /// Byte by byte, so that nothing is read that was sent before TLS and would be taken as sent
    /// after it.
    fn line(&mut self) -> io::Result<String> {
        let mut line = vec![];
        let mut byte = [0];
        while line.len() < LINE_BYTES_MAX {
            self.socket.set_read_timeout(Some(left(self.until)?))?;
            self.stream.read_exact(&mut byte)?;
            match byte[0] {
                b'\n' => break,
                b'\r' => {}
                other => line.push(other),
            }
        }
        Ok(String::from_utf8_lossy(&line).into_owned())
    }
}

impl Reply {
    /// An error if the server will not go on; that is not the mail's fault.
    fn accepted(self) -> io::Result<()> {
        match self.code {
            200..400 => Ok(()),
            _ => Err(io::Error::other(self.text)),
        }
    }

    /// An error if the server will not take this mail.
    fn check(self) -> Result<(), Unsent> {
        match self.code {
            200..400 => Ok(()),
            500..600 => Err(Unsent::Refused(format!("The mail server refused it: {}.", self.text))),
            _ => Err(Unsent::Failed(format!("The mail server did not take it: {}.", self.text))),
        }
    }
}

/// A dot at the beginning of a line would end the mail.
fn stuffed(data: &str) -> String {
    let mut stuffed = String::with_capacity(data.len() + 8);
    for line in data.split_inclusive('\n') {
        if line.starts_with('.') {
            stuffed.push('.');
        }
        stuffed.push_str(line);
    }
    if !stuffed.ends_with("\r\n") {
        stuffed.push_str("\r\n");
    }
    stuffed + ".\r\n"
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not the password.
        f.debug_struct("Server").field("host", &self.host).field("port", &self.port).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(address: &str) -> Result<Server, String> {
        Server::new(address, None, keyloom_server::client_tls(None).unwrap())
    }

    #[test]
    fn addresses_say_how_a_server_is_spoken_to() {
        for (address, expected) in [
            ("smtps://a.example", ("a.example", 465, Security::Tls)),
            ("smtp+starttls://a.example", ("a.example", 587, Security::StartTls)),
            ("smtp://127.0.0.1:2525/", ("127.0.0.1", 2525, Security::None)),
            ("smtp://[::1]", ("::1", 25, Security::None)),
            ("smtp://[::1]:26", ("::1", 26, Security::None)),
        ] {
            let server = server(address).unwrap();
            assert_eq!((server.host.as_str(), server.port, server.security), expected);
        }
        for address in ["a.example", "http://a.example", "smtp://", "smtp://u@a", "smtp://a:b"] {
            assert!(server(address).is_err(), "{address}");
        }
        let user = Some(("u".to_owned(), "p".to_owned()));
        let tls = keyloom_server::client_tls(None).unwrap();
        let error = Server::new("smtp://a.example", user, tls).unwrap_err();
        assert!(error.contains("a password is only sent over TLS"), "{error}");
    }

    #[test]
    fn no_line_ends_a_mail_but_the_last() {
        assert_eq!(stuffed("a\r\n.\r\n..b"), "a\r\n..\r\n...b\r\n.\r\n");
        assert_eq!(stuffed(""), "\r\n.\r\n");
    }
}
