//! Files that are packed with zstd, as Codex packs sessions that rest.
//!
//! Told by content. What comes out is bounded while it comes: a few bytes can stand for gigabytes.

use std::borrow::Cow;

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use crate::fault::{Fault, FaultKind};

/// What a frame begins with (RFC 8878, 3.1.1).
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// The most bytes that are unpacked: sessions of 80 MB are told of, and a text is held about three times.
pub(crate) const LIMIT: usize = 512 * 1024 * 1024;

/// Unpacked the bytes are more than [`LIMIT`].
#[derive(Debug)]
pub(crate) struct TooLarge;

/// How many bytes are unpacked at a time.
const PIECE: usize = 1024 * 1024;

/// Returns bytes as they are, or unpacked if they are packed. What stands before damage is returned too.
pub(crate) fn unpacked<'a>(bytes: &'a [u8], faults: &mut Vec<Fault>) -> Result<Cow<'a, [u8]>, TooLarge> {
    if !bytes.starts_with(&MAGIC) {
        return Ok(Cow::Borrowed(bytes));
    }
    let mut out = Vec::new();
    let mut rest = bytes;
    let mut decoder = FrameDecoder::new();
    while !rest.is_empty() {
        let before = rest.len();
        let told = match decoder.init(&mut rest) {
            Ok(()) => frame(&mut decoder, &mut rest, &mut out)?,
            // Between two frames may stand what is for other programs.
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length, ..
            })) => {
                let length = usize::try_from(length).unwrap_or(usize::MAX);
                rest = rest.get(length..).unwrap_or_default();
                None
            }
            Err(error) => Some(error.to_string()),
        };
        if let Some(reason) = told {
            faults.push(Fault { line: 0, kind: FaultKind::Packed { reason } });
            break;
        }
        if rest.len() == before {
            break;
        }
    }
    Ok(Cow::Owned(out))
}

/// Unpacks one frame; returns what was wrong with it.
fn frame(
    decoder: &mut FrameDecoder,
    rest: &mut &[u8],
    out: &mut Vec<u8>,
) -> Result<Option<String>, TooLarge> {
    /// A last block with nothing in it, and room for a checksum: with it the decoder gives out what it holds back.
    const END: &[u8] = &[1, 0, 0, 0, 0, 0, 0];
    let said = usize::try_from(decoder.content_size()).unwrap_or(usize::MAX);
    if said > LIMIT {
        return Err(TooLarge);
    }
    let mut told = None;
    while !decoder.is_finished() && told.is_none() {
        if let Err(error) = decoder.decode_blocks(&mut *rest, BlockDecodingStrategy::UptoBytes(PIECE)) {
            told = Some(error.to_string());
            if !decoder.is_finished() {
                let _ = decoder.decode_blocks(END, BlockDecodingStrategy::UptoBlocks(1));
            }
        }
        take(decoder, out)?;
    }
    take(decoder, out)?;
    Ok(told)
}

/// Takes over what is unpacked, without room for more than is read.
fn take(decoder: &mut FrameDecoder, out: &mut Vec<u8>) -> Result<(), TooLarge> {
    let more = decoder.can_collect();
    let room = LIMIT.saturating_sub(out.len());
    if more > room {
        return Err(TooLarge);
    }
    if out.capacity() - out.len() < more {
        out.reserve_exact(more.max(out.len()).min(room));
    }
    // A vector takes everything.
    let _ = decoder.collect_to_writer(out);
    Ok(())
}
