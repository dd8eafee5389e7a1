//! What the bytes of a connection go over: TCP, a socket of this machine, or TLS on TCP.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
#[cfg(unix)]
use tokio::net::UnixStream;
use tokio_postgres::tls::{ChannelBinding, TlsConnect, TlsStream};

/// The half of a connection that reads and writes; it has to be polled for the client to get answers.
pub(in super::super) type Connection = tokio_postgres::Connection<Wire, Wire>;

/// One type for all kinds, so that there is one kind of connection.
pub(in super::super) enum Wire {
    Tcp(TcpStream),
    #[cfg(unix)]
    Unix(UnixStream),
    Tls(Box<Secured>),
}

pub(in super::super) struct Secured {
    pub(super) stream: tokio_rustls::client::TlsStream<TcpStream>,
    /// What SCRAM binds the connection to.
    pub(super) end_point: Option<Vec<u8>>,
}

macro_rules! on {
    ($wire:expr, $stream:ident => $what:expr) => {
        match $wire.get_mut() {
            Wire::Tcp(stream) => {
                let $stream = Pin::new(stream);
                $what
            }
            #[cfg(unix)]
            Wire::Unix(stream) => {
                let $stream = Pin::new(stream);
                $what
            }
            Wire::Tls(secured) => {
                let $stream = Pin::new(&mut secured.stream);
                $what
            }
        }
    };
}

impl AsyncRead for Wire {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        on!(self, stream => stream.poll_read(context, into))
    }
}

impl AsyncWrite for Wire {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        on!(self, stream => stream.poll_write(context, from))
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        on!(self, stream => stream.poll_flush(context))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        on!(self, stream => stream.poll_shutdown(context))
    }
}

impl TlsStream for Wire {
    fn channel_binding(&self) -> ChannelBinding {
        match self {
            Wire::Tls(secured) => match &secured.end_point {
                Some(end_point) => ChannelBinding::tls_server_end_point(end_point.clone()),
                None => ChannelBinding::none(),
            },
            _ => ChannelBinding::none(),
        }
    }
}

/// The wire is made before tokio-postgres gets it: it has no word for what `sslmode` can ask.
pub(super) struct Made;

impl TlsConnect<Wire> for Made {
    type Stream = Wire;
    type Error = Infallible;
    type Future = Ready<Result<Wire, Infallible>>;

    fn connect(self, wire: Wire) -> Self::Future {
        ready(Ok(wire))
    }
}
