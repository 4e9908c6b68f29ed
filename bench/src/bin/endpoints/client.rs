//! As little HTTP as one client needs: one connection, one request at a time.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;

/// A connection that is kept as long as the server keeps it.
pub(crate) struct Client {
    stream: BufReader<TcpStream>,
    port: u16,
    body: Vec<u8>,
}

impl Client {
    pub(crate) fn connect(port: u16) -> io::Result<Client> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        Ok(Client { stream: BufReader::with_capacity(64 * 1024, stream), port, body: vec![] })
    }

    /// Sends a request and reads its answer; the status. Tries once more on a new connection.
    pub(crate) fn send(&mut self, request: &[u8]) -> io::Result<u16> {
        self.send_once(request).or_else(|_| {
            *self = Client::connect(self.port)?;
            self.send_once(request)
        })
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
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line)?;
            let length = usize::from_str_radix(line.trim(), 16).map_err(io::Error::other)?;
            self.read_body(length + 2)?;
            if length == 0 {
                return Ok(());
            }
        }
    }
}

/// A whole request.
pub(crate) fn request(operation: &str, body: &str) -> Vec<u8> {
    format!(
        "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-amz-json-1.0\r\n\
         X-Amz-Target: DynamoDB_20120810.{operation}\r\nX-Amz-Date: 20260101T000000Z\r\n\
         Authorization: AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/dynamodb/aws4_request, \
         SignedHeaders=host, Signature=b\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}
