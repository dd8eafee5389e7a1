//! The body of a request as the HTTP client wants it: shared pieces of known length.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};

use crate::Body;

/// Hands out the pieces of a body, one after the other. Nothing is copied, so each attempt makes its own.
pub(super) struct Chunks {
    left: std::vec::IntoIter<Bytes>,
    // Of all pieces that are left. Known beforehand, so that a length is sent and no chunked encoding, which some
    // servers refuse.
    length: u64,
}

impl Chunks {
    pub(super) fn of(body: &Body) -> Self {
        Chunks { left: body.chunks().to_vec().into_iter(), length: body.len() as u64 }
    }
}

impl http_body::Body for Chunks {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = self.left.next();
        self.length -= next.as_ref().map_or(0, |bytes| bytes.len() as u64);
        Poll::Ready(next.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.length == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.length)
    }
}
