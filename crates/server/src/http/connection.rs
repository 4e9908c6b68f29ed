//! One connection: receives requests and sends responses, within the limits.

use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::body::Body;
use axum::response::Response;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::watch;
use tokio_io_timeout::TimeoutStream;

use super::connections::Activity;
use super::edge::Origin;
use super::layers::Layers;

/// Whether the server has been told to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    No,
    Yes,
}

/// Serves a connection until it ends, until it is closed for a new one, or until the server stops and the
/// request in progress is answered.
pub(crate) async fn serve(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    layers: Arc<Layers>,
    (origin, activity): (Origin, Arc<Activity>),
    mut stopped: watch::Receiver<Stop>,
) {
    let (limits, origin) = (origin.edge.limits, Arc::new(origin));
    let mut stream = TimeoutStream::new(stream);
    // The timer restarts whenever the client reads something.
    stream.set_write_timeout(Some(limits.write_time));
    let service = service_fn(move |request| answer(layers.clone(), origin.clone(), request));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_time)
        .max_headers(limits.headers)
        .max_buf_size(limits.head_bytes)
        .serve_connection(TokioIo::new(Box::pin(stream)), service);
    let mut connection = pin!(connection);
    let mut stop = pin!(async move { stopped.wait_for(|stop| *stop == Stop::Yes).await.is_ok() });
    let mut closed = pin!(activity.closed());
    let mut is_stopping = false;
    poll_fn(|context| {
        if closed.as_mut().poll(context).is_ready() {
            return Poll::Ready(());
        }
        if !is_stopping && stop.as_mut().poll(context).is_ready() {
            is_stopping = true;
            connection.as_mut().graceful_shutdown();
        }
        // Errors of a connection, such as a client that disconnects, are not worth logging.
        connection.as_mut().poll(context).map(|_| ())
    })
    .await;
}

async fn answer(
    layers: Arc<Layers>,
    origin: Arc<Origin>,
    request: Request<Incoming>,
) -> Result<Response, Infallible> {
    origin.set_busy(true);
    let response = layers.answer(&origin, request.map(Body::new)).await;
    origin.set_busy(false);
    Ok(response)
}

/// A stream that records when bytes move.
pub(crate) struct Watched<S> {
    pub(crate) stream: S,
    pub(crate) activity: Arc<Activity>,
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = ready!(Pin::new(&mut self.stream).poll_read(context, buffer));
        self.activity.moved();
        Poll::Ready(read)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write(context, bytes));
        self.activity.moved();
        Poll::Ready(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write_vectored(context, slices));
        self.activity.moved();
        Poll::Ready(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
