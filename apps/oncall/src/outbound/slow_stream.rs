//! A connection that is read byte by byte, up to a limit.
//!
//! A client that reads ahead takes bytes from before `STARTTLS` for bytes of the verified server, and so
//! anybody on the path can inject responses. The limit bounds the memory of a line that never ends.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use lettre::transport::smtp::client::AsyncTokioStream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// The maximum number of bytes from a server per connection, TLS certificates included.
const BYTES_MAX: usize = 256 * 1024;

/// A connection that is read byte by byte.
#[derive(Debug)]
pub(super) struct SlowStream {
    stream: TcpStream,
    /// The bytes that may still be read.
    left: usize,
}

impl SlowStream {
    pub(super) fn new(stream: TcpStream) -> SlowStream {
        SlowStream { stream, left: BYTES_MAX }
    }
}

impl AsyncTokioStream for SlowStream {
    fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.stream.peer_addr()
    }
}

impl AsyncRead for SlowStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.left == 0 {
            return Poll::Ready(Err(io::Error::other("too many bytes received")));
        }
        let mut byte = [0];
        let mut one = ReadBuf::new(&mut byte);
        ready!(Pin::new(&mut self.stream).poll_read(context, &mut one))?;
        self.left -= one.filled().len();
        buffer.put_slice(one.filled());
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for SlowStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
