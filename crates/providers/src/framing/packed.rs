//! Bodies that are packed although nobody asked for it.
//!
//! Told by content: some proxies pack and do not say so, and a transport that unpacks by header has done so before we see
//! the bytes. What comes out is handed on in small pieces, so that a few bytes that unpack to gigabytes never stand in
//! memory; the limits of one event hold as for any body.

use flate2::{Crc, Decompress, FlushDecompress, Status};

use crate::DecodeError;

// The first of the two bytes that begin a gzip body (RFC 1952, 2.3.1); no text begins with it.
const MAGIC: u8 = 0x1f;
const PIECE: usize = 16 * 1024;
// A header may name a file; that of an honest server has ten bytes.
const HEADER_LIMIT: usize = 4 * 1024;

/// Hands bytes on as they are, or unpacked if they are packed.
#[derive(Default)]
pub(crate) enum Unpack {
    #[default]
    Unknown,
    Plain,
    Gzip(Box<Gzip>),
}

impl Unpack {
    /// Takes in the next bytes and hands on what they say.
    pub(crate) fn push(
        &mut self,
        bytes: &[u8],
        mut give: impl FnMut(&[u8]) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        if let (Unpack::Unknown, Some(first)) = (&self, bytes.first()) {
            *self = if *first == MAGIC { Unpack::Gzip(Box::default()) } else { Unpack::Plain };
        }
        match self {
            Unpack::Unknown => Ok(()),
            Unpack::Plain => give(bytes),
            Unpack::Gzip(gzip) => gzip.push(bytes, &mut give),
        }
    }

    /// Returns whether a packed body has ended before its end.
    pub(crate) fn is_cut(&self) -> bool {
        matches!(self, Unpack::Gzip(gzip) if matches!(gzip.step, Step::Header(_) | Step::Body))
    }
}

/// Returns a whole body unpacked, at most `limit` bytes of it; as it is if it is not packed or damaged.
pub(crate) fn unpacked(body: &[u8], limit: usize) -> Vec<u8> {
    let mut whole = Vec::new();
    let outcome = Unpack::default().push(body, |bytes| {
        whole.extend(bytes.iter().take(limit - whole.len()));
        // More is not worth the work.
        if whole.len() < limit { Ok(()) } else { Err(DecodeError::TooLarge { limit }) }
    });
    if whole.is_empty() && outcome.is_err() { body.iter().take(limit).copied().collect() } else { whole }
}

/// A gzip body, read as it comes.
pub(crate) struct Gzip {
    step: Step,
    inflate: Decompress,
    sum: Crc,
    out: Vec<u8>,
}

enum Step {
    Header(Vec<u8>),
    Body,
    Trailer(Vec<u8>),
    /// What follows is not ours.
    Over,
}

impl Default for Gzip {
    fn default() -> Self {
        Gzip {
            step: Step::Header(Vec::new()),
            inflate: Decompress::new(false),
            sum: Crc::new(),
            out: vec![0; PIECE],
        }
    }
}

impl Gzip {
    fn push(
        &mut self,
        bytes: &[u8],
        give: &mut impl FnMut(&[u8]) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        let mut rest = bytes;
        while let [first, after @ ..] = rest {
            match &mut self.step {
                Step::Header(header) => {
                    rest = after;
                    header.push(*first);
                    if is_whole_header(header)? {
                        self.step = Step::Body;
                    }
                }
                Step::Body => rest = self.inflate(rest, give)?,
                Step::Trailer(trailer) => {
                    rest = after;
                    trailer.push(*first);
                    if let [a, b, c, d, e, f, g, h] = *trailer.as_slice() {
                        let (sum, length) =
                            (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
                        if (sum, length) != (self.sum.sum(), self.sum.amount()) {
                            return Err(damaged("its checksum is another"));
                        }
                        self.step = Step::Over;
                    }
                }
                // A body may have several members, one after the other.
                Step::Over if *first == MAGIC => *self = Gzip::default(),
                Step::Over => return Ok(()),
            }
        }
        Ok(())
    }

    /// Hands on what the bytes unpack to, and returns those behind the member's end.
    fn inflate<'a>(
        &mut self,
        bytes: &'a [u8],
        give: &mut impl FnMut(&[u8]) -> Result<(), DecodeError>,
    ) -> Result<&'a [u8], DecodeError> {
        let mut rest = bytes;
        loop {
            let (before_in, before_out) = (self.inflate.total_in(), self.inflate.total_out());
            let status = self
                .inflate
                .decompress(rest, &mut self.out, FlushDecompress::None)
                .map_err(|fault| damaged(&fault.to_string()))?;
            let taken = usize::try_from(self.inflate.total_in() - before_in).unwrap_or(rest.len());
            let made = usize::try_from(self.inflate.total_out() - before_out).unwrap_or_default();
            rest = rest.get(taken..).unwrap_or_default();
            let piece = self.out.get(..made).unwrap_or_default();
            self.sum.update(piece);
            if !piece.is_empty() {
                give(piece)?;
            }
            if status == Status::StreamEnd {
                self.step = Step::Trailer(Vec::new());
                return Ok(rest);
            }
            // With room left in the piece, all that came is out.
            if (rest.is_empty() && made < self.out.len()) || (taken == 0 && made == 0) {
                return Ok(&[]);
            }
        }
    }
}

/// Returns whether the header is complete (RFC 1952, 2.3).
fn is_whole_header(header: &[u8]) -> Result<bool, DecodeError> {
    const EXTRA: u8 = 4;
    const NAME: u8 = 8;
    const COMMENT: u8 = 16;
    const SUM: u8 = 2;
    if !b"\x1f\x8b\x08".starts_with(header.get(..3).unwrap_or(header)) {
        return Err(damaged("its header is none"));
    }
    if header.len() > HEADER_LIMIT {
        return Err(damaged("its header has no end"));
    }
    let (Some(flags), Some(mut rest)) = (header.get(3), header.get(10..)) else { return Ok(false) };
    if flags & EXTRA != 0 {
        let [low, high, extra @ ..] = rest else { return Ok(false) };
        let Some(after) = extra.get(usize::from(u16::from_le_bytes([*low, *high]))..) else {
            return Ok(false);
        };
        rest = after;
    }
    for text in [NAME, COMMENT] {
        if flags & text != 0 {
            let Some(end) = rest.iter().position(|byte| *byte == 0) else { return Ok(false) };
            rest = rest.get(end + 1..).unwrap_or_default();
        }
    }
    Ok(flags & SUM == 0 || rest.len() >= 2)
}

fn damaged(reason: &str) -> DecodeError {
    DecodeError::malformed(format_args!("the packed body is damaged, {reason}"), "gzip")
}
