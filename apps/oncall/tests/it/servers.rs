//! Real servers that receive messages, each in a thread: one for HTTP, one for SMTP. They forward messages
//! through a channel, so that tests need not sleep.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::Value as Json;

/// The time limit of every wait; reached only if something is broken.
pub(crate) const DEADLINE: Duration = Duration::from_secs(240);

/// The messages of a server.
pub(crate) struct Inbox<T> {
    pub(crate) port: u16,
    came: Receiver<T>,
}

impl<T> Inbox<T> {
    /// The next message.
    pub(crate) fn next(&self) -> T {
        self.came.recv_timeout(DEADLINE).expect("a message comes")
    }

    /// The remaining messages so far.
    pub(crate) fn rest(&self) -> Vec<T> {
        self.came.try_iter().collect()
    }
}

fn serve<T: Send + 'static>(
    conversation: impl Fn(TcpStream, &Sender<T>) -> std::io::Result<()> + Send + 'static,
) -> Inbox<T> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (tell, came) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A broken connection is that of a killed process.
            let _ = conversation(stream, &tell);
        }
    });
    Inbox { port, came }
}

/// A request.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) text: String,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers.find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Json {
        serde_json::from_str(&self.text).expect("it is JSON")
    }
}

/// Accepts everything, except that it responds to `/STATUS` with that status.
pub(crate) fn http() -> Inbox<Request> {
    serve(|stream, tell| {
        let mut reader = BufReader::new(stream);
        let (first, headers) = head(&mut reader)?;
        let path = first.split(' ').nth(1).unwrap_or("").to_owned();
        let mut request = Request { path, headers, text: String::new() };
        let length = request.header("content-length").and_then(|length| length.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        reader.read_exact(&mut body)?;
        request.text = String::from_utf8(body).unwrap();
        let status: u16 = request.path.trim_matches('/').parse().unwrap_or(200);
        let _ = tell.send(request);
        let body = r#"{"id":"call-7"}"#;
        let length = body.len();
        write!(reader.get_mut(), "HTTP/1.1 {status} X\r\ncontent-length: {length}\r\n\r\n{body}")
    })
}

fn head(reader: &mut impl BufRead) -> std::io::Result<(String, Vec<(String, String)>)> {
    let mut lines = reader.lines();
    let mut line = || lines.next().unwrap_or_else(|| Ok(String::new()));
    let first = line()?;
    let mut headers = vec![];
    loop {
        let line = line()?;
        match line.split_once(':') {
            Some((name, value)) => {
                headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
            }
            None => return Ok((first, headers)),
        }
    }
}

/// A mail.
#[derive(Debug)]
pub(crate) struct Letter {
    pub(crate) to: String,
    pub(crate) text: String,
}

/// A mail server that permanently refuses mail to `nobody@...`.
pub(crate) fn smtp() -> Inbox<Letter> {
    serve(|mut stream, tell| {
        write!(stream, "220 mail.example ESMTP\r\n")?;
        take_mail(stream, tell, None).map(drop)
    })
}

/// A mail server that requires TLS and the test's password. `certificate` and `key` are file names.
pub(crate) fn smtp_with_tls(certificate: &str, key: &str) -> Inbox<Letter> {
    let certificates = vec![CertificateDer::from_pem_file(certificate).unwrap()];
    let key = PrivateKeyDer::from_pem_file(key).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(certificates, key)
        .unwrap();
    let config = Arc::new(config);
    serve(move |mut stream, tell| {
        write!(stream, "220 mail.example ESMTP\r\n")?;
        let plain = take_mail(stream, tell, Some("530 5.7.0 Say STARTTLS first"))?;
        let Some(stream) = plain else { return Ok(()) };
        let connection = ServerConnection::new(config.clone()).map_err(std::io::Error::other)?;
        let stream = StreamOwned::new(connection, stream);
        take_mail(stream, tell, Some("535 5.7.8 Say who you are")).map(drop)
    })
}

/// `AUTH PLAIN` of the user `ada` with the password `hush`.
const CREDENTIALS: &str = "AGFkYQBodXNo";

/// Handles a client. With `refusal`, it accepts mail only after the right credentials; it returns the
/// connection if the client starts TLS.
fn take_mail<S: Read + Write>(
    stream: S,
    tell: &Sender<Letter>,
    mut refusal: Option<&str>,
) -> std::io::Result<Option<S>> {
    let mut reader = BufReader::new(stream);
    let mut to = String::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let verb = line.get(..4).unwrap_or("").to_ascii_uppercase();
        let answer = match (verb.as_str(), refusal) {
            ("EHLO", Some(_)) => "250-mail.example\r\n250-STARTTLS\r\n250 AUTH PLAIN",
            ("STAR", Some(_)) => {
                write!(reader.get_mut(), "220 go on\r\n")?;
                return Ok(Some(reader.into_inner()));
            }
            ("AUTH", Some(_)) if line.trim_end() == format!("AUTH PLAIN {CREDENTIALS}") => {
                refusal = None;
                "235 welcome"
            }
            ("AUTH" | "MAIL", Some(refusal)) => refusal,
            ("RCPT", _) if line.contains("nobody@") => "550 5.1.1 There is nobody of this name",
            ("RCPT", _) => {
                to = line.split(['<', '>']).nth(1).unwrap_or("").to_owned();
                "250 ok"
            }
            ("DATA", _) => {
                write!(reader.get_mut(), "354 go on\r\n")?;
                let text = until_dot(&mut reader)?;
                let _ = tell.send(Letter { to: to.clone(), text });
                "250 taken"
            }
            ("QUIT", _) => "221 bye",
            _ => "250 ok",
        };
        write!(reader.get_mut(), "{answer}\r\n")?;
        reader.get_mut().flush()?;
    }
}

/// Reads a mail up to its final dot.
fn until_dot(reader: &mut impl BufRead) -> std::io::Result<String> {
    let mut text = String::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line == ".\r\n" {
            return Ok(text.replace("\r\n", "\n"));
        }
        text.push_str(line.strip_prefix('.').unwrap_or(&line));
    }
}

/// An HTTP response.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Json {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("it is JSON: {}", self.body))
    }
}

/// Sends a request as the domain `acme`.
pub(crate) fn ask(url: &str, method: &str, path: &str, body: Option<&Json>) -> Answer {
    ask_with(url, (method, path), &[("keyloom-tenant", "acme")], body)
}

/// Sends a request with these headers.
pub(crate) fn ask_with(
    url: &str,
    (method, path): (&str, &str),
    headers: &[(&str, &str)],
    body: Option<&Json>,
) -> Answer {
    let host = url.strip_prefix("http://").expect("plain HTTP");
    let mut stream = TcpStream::connect(host).expect("it listens");
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    let body = body.map(Json::to_string).unwrap_or_default();
    let mut request = format!("{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n");
    for (name, value) in headers {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    let length = body.len();
    request
        .push_str(&format!("content-type: application/json\r\ncontent-length: {length}\r\n\r\n"));
    stream.write_all(format!("{request}{body}").as_bytes()).unwrap();
    let mut reader = BufReader::new(stream);
    let (first, head) = head(&mut reader).unwrap();
    let mut body = String::new();
    reader.read_to_string(&mut body).unwrap();
    let status = first.split(' ').nth(1).and_then(|status| status.parse().ok());
    Answer { status: status.expect("a status"), head, body }
}
