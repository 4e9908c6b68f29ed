//! A minimal HTTP client: one connection, one request at a time.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;

/// A keep-alive connection.
#[derive(Debug)]
pub struct HttpClient {
    stream: BufReader<TcpStream>,
    port: u16,
    body: Vec<u8>,
}

impl HttpClient {
    /// Connects to a server on this machine.
    ///
    /// # Errors
    ///
    /// If it does not listen.
    pub fn connect(port: u16) -> io::Result<HttpClient> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        Ok(HttpClient { stream: BufReader::with_capacity(64 * 1024, stream), port, body: vec![] })
    }

    /// Sends a request, reads the response and returns its status. Retries once on a new connection.
    ///
    /// # Errors
    ///
    /// If the server does not respond.
    pub fn send(&mut self, request: &[u8]) -> io::Result<u16> {
        self.send_once(request).or_else(|_| {
            *self = HttpClient::connect(self.port)?;
            self.send_once(request)
        })
    }

    /// Returns the body of the last response.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    fn send_once(&mut self, request: &[u8]) -> io::Result<u16> {
        self.stream.get_mut().write_all(request)?;
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.ok_or_else(|| io::Error::other("no status"))?;
        let mut length = None;
        loop {
            line.clear();
            self.stream.read_line(&mut line)?;
            let header = line.trim_end();
            if header.is_empty() {
                break;
            }
            if let Some((name, value)) = header.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().ok();
            }
        }
        match length {
            Some(length) => self.read_body(length)?,
            None => self.read_chunks()?,
        }
        Ok(status)
    }

    fn read_body(&mut self, length: usize) -> io::Result<()> {
        self.body.resize(length, 0);
        self.stream.read_exact(&mut self.body)
    }

    fn read_chunks(&mut self) -> io::Result<()> {
        let mut whole = vec![];
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line)?;
            let length = usize::from_str_radix(line.trim(), 16).map_err(io::Error::other)?;
            self.read_body(length + 2)?;
            whole.extend_from_slice(&self.body[..length]);
            if length == 0 {
                self.body = whole;
                return Ok(());
            }
        }
    }
}
