//! Messages of PostgreSQL's wire protocol, version 3: a letter, a length that counts itself, and a body.
//!
//! Both ends are hostile: a length is believed only as far as bytes follow it.

use std::io::{self, Read};

/// The longest message that is passed on; PostgreSQL's own bound is one byte less than a gibibyte.
const LONGEST: usize = 0x3fff_ffff;

/// The longest first message of a client: `MAX_STARTUP_PACKET_LENGTH` of PostgreSQL 15.
const LONGEST_STARTUP: usize = 10_000;

/// One message of either side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) kind: u8,
    pub(super) body: Vec<u8>,
}

impl Message {
    pub(super) fn new(kind: u8, body: Vec<u8>) -> Self {
        Message { kind, body }
    }

    /// Returns a message whose body is a text.
    pub(super) fn text(kind: u8, text: &[u8]) -> Self {
        Message { kind, body: strings(&[text]) }
    }

    /// Returns a `Parse` without types of parameters.
    pub(super) fn parse(name: &[u8], sql: &[u8]) -> Self {
        let mut body = strings(&[name, sql]);
        body.extend([0, 0]);
        Message { kind: b'P', body }
    }

    /// Returns a `Bind` of the unnamed statement to the unnamed portal, without parameters.
    pub(super) fn bind() -> Self {
        Message { kind: b'B', body: vec![0; 8] }
    }

    /// Returns what a server says that refuses something.
    pub(super) fn error(severity: &str, code: &str, message: &str) -> Self {
        let mut body = Vec::new();
        for (field, value) in [(b'S', severity), (b'V', severity), (b'C', code), (b'M', message)] {
            body.push(field);
            body.extend(strings(&[value.as_bytes()]));
        }
        body.push(0);
        Message { kind: b'E', body }
    }

    /// Returns the text that begins at `start` of the body and ends with a zero, and where the rest begins.
    pub(super) fn string_at(&self, start: usize) -> Option<(&[u8], usize)> {
        let rest = self.body.get(start..)?;
        let length = rest.iter().position(|byte| *byte == 0)?;
        Some((rest.get(..length)?, start + length + 1))
    }

    pub(super) fn length(&self) -> usize {
        self.body.len() + 5
    }

    pub(super) fn write_to(&self, out: &mut Vec<u8>) {
        out.push(self.kind);
        // What is longer was not read.
        out.extend((self.body.len() as u32 + 4).to_be_bytes());
        out.extend(&self.body);
    }
}

/// Returns texts, each with its zero.
pub(super) fn strings(texts: &[&[u8]]) -> Vec<u8> {
    let mut all = Vec::new();
    for text in texts {
        all.extend(*text);
        all.push(0);
    }
    all
}

/// Reads a message; `None` if the other end closed the connection before it.
pub(super) fn read_message(from: &mut impl Read) -> io::Result<Option<Message>> {
    let mut kind = [0];
    if from.read(&mut kind)? == 0 {
        return Ok(None);
    }
    let body = read_body(from, LONGEST)?;
    Ok(Some(Message { kind: kind[0], body }))
}

/// Reads what a client sends first, which has no letter: a number, and what belongs to it.
pub(super) fn read_startup(from: &mut impl Read) -> io::Result<(u32, Vec<u8>)> {
    let mut body = read_body(from, LONGEST_STARTUP)?;
    let Some((number, _)) = body.split_first_chunk::<4>() else {
        return Err(bad("a first message is too short"));
    };
    let number = u32::from_be_bytes(*number);
    body.drain(..4);
    Ok((number, body))
}

fn read_body(from: &mut impl Read, longest: usize) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = (u32::from_be_bytes(length) as usize).checked_sub(4).filter(|length| *length <= longest);
    let Some(length) = length else { return Err(bad("a message has a length that cannot be")) };
    let mut body = Vec::new();
    from.take(length as u64).read_to_end(&mut body)?;
    match body.len() == length {
        true => Ok(body),
        false => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

pub(super) fn bad(words: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, words.to_owned())
}
