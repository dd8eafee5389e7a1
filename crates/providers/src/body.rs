//! The bytes of a request, in pieces that are shared with the request before.
//!
//! A history of ten megabytes is encoded once and handed to the transport without being copied; see [`Memo`](crate::Memo).

use std::fmt;

use bytes::Bytes;

/// The body of a request.
#[derive(Clone, Default)]
pub struct Body {
    chunks: Vec<Bytes>,
}

impl Body {
    /// Returns the pieces, in order; none is empty.
    pub fn chunks(&self) -> &[Bytes] {
        &self.chunks
    }

    /// Returns the length in bytes.
    pub fn len(&self) -> usize {
        self.chunks.iter().map(Bytes::len).sum()
    }

    /// Returns whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// Returns a copy in one piece.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut whole = Vec::with_capacity(self.len());
        self.chunks.iter().for_each(|chunk| whole.extend_from_slice(chunk));
        whole
    }

    pub(crate) fn push(&mut self, chunk: impl Into<Bytes>) {
        let chunk = chunk.into();
        if !chunk.is_empty() {
            self.chunks.push(chunk);
        }
    }
}

impl From<Vec<u8>> for Body {
    fn from(whole: Vec<u8>) -> Self {
        let mut body = Body::default();
        body.push(whole);
        body
    }
}

/// By content: where the pieces begin and end does not matter.
impl PartialEq for Body {
    fn eq(&self, other: &Self) -> bool {
        self.chunks.iter().flatten().eq(other.chunks.iter().flatten())
    }
}

impl Eq for Body {}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Body({:?})", String::from_utf8_lossy(&self.to_vec()))
    }
}
