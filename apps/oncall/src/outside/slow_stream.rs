//! A connection that is read byte by byte, and not for ever.
//!
//! Who reads ahead takes what came before `STARTTLS` for what came after it, and so for the words of a
//! server whose certificate was checked: anybody on the way can put it there. And whoever waits for
//! the end of a line that never comes collects it in memory.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use lettre::transport::smtp::client::AsyncTokioStream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// As many bytes as a server may send in a conversation, the certificates of TLS among them.
const BYTES_MAX: usize = 256 * 1024;

/// A connection that is read byte by byte.
#[derive(Debug)]
pub(super) struct SlowStream {
    stream: TcpStream,
    /// How many bytes may still come.
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
            return Poll::Ready(Err(io::Error::other("it talks too much")));
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
