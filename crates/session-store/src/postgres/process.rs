//! Which process of the server a connection was promised.
//!
//! A server names the process that serves a connection when it is made, so that it can be told to cancel. A pooler names
//! one of its own invention, because it may give the next transaction to another process: so it is known for what it is, by
//! whatever sockets one reaches it. What only passes bytes on, such as a tunnel, leaves the name as it is.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::Client;
use tokio_postgres::tls::{ChannelBinding, TlsConnect, TlsStream};

/// Returns the number of the process, from the request to cancel that would be sent: nothing else in the driver tells it.
pub(super) async fn promised(client: &Client) -> Option<i32> {
    let written = Arc::new(Mutex::new(Vec::new()));
    let paper = Paper(Arc::clone(&written));
    client.cancel_token().cancel_query_raw(paper, AsItIs).await.ok()?;
    let written = written.lock().unwrap_or_else(PoisonError::into_inner);
    // Length, code, process and secret, four bytes each: postgresql.org/docs/15/protocol-message-formats.html.
    let number = written.get(written.len().checked_sub(8)?..)?.get(..4)?;
    Some(i32::from_be_bytes(number.try_into().ok()?))
}

/// What takes a request that is not sent.
struct Paper(Arc<Mutex<Vec<u8>>>);

impl AsyncRead for Paper {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        // Whoever asks for TLS first is told that it can be had.
        into.put_slice(b"S");
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Paper {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(from);
        Poll::Ready(Ok(from.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl TlsStream for Paper {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

struct AsItIs;

impl TlsConnect<Paper> for AsItIs {
    type Stream = Paper;
    type Error = Infallible;
    type Future = Ready<Result<Paper, Infallible>>;

    fn connect(self, paper: Paper) -> Self::Future {
        ready(Ok(paper))
    }
}
