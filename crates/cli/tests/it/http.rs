//! A minimal HTTP client: one connection, used until it breaks.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

/// A connection to a server.
pub(crate) struct Http {
    stream: BufReader<TcpStream>,
    headers: String,
}

impl Http {
    /// Connects to a URL such as `http://127.0.0.1:8080`; `headers` are sent with every request.
    pub(crate) fn connect(url: &str, headers: &str) -> Http {
        let stream = TcpStream::connect(url.strip_prefix("http://").unwrap()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Http { stream: BufReader::new(stream), headers: headers.to_owned() }
    }

    /// Sends a request and returns status and body; none if the connection breaks before the response.
    pub(crate) fn ask(&mut self, method: &str, path: &str, body: &Value) -> Option<(u16, Value)> {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n{}\r\n{body}",
            body.len(),
            self.headers
        );
        self.stream.get_mut().write_all(request.as_bytes()).ok()?;
        self.answer()
    }

    fn answer(&mut self) -> Option<(u16, Value)> {
        let (mut status, mut length) = (None, 0);
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line).ok()?;
            // A line without an end was cut off.
            let line = line.strip_suffix("\r\n")?;
            match (status, line.split_once(": ")) {
                (None, _) => status = Some(line.split(' ').nth(1)?.parse().ok()?),
                (Some(_), Some(("content-length", value))) => length = value.parse().ok()?,
                (Some(_), _) if line.is_empty() => break,
                (Some(_), _) => {}
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).ok()?;
        Some((status?, serde_json::from_slice(&body).unwrap_or(Value::Null)))
    }
}
