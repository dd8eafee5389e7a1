//! Sessions as lines of JSON, to be moved, kept and read by others.
//!
//! The first line says what the file is and how many records follow, so a file that was cut off is noticed even if it
//! was cut between two lines. The form is described in `docs/format.md`.

use std::io::{self, BufRead, Write};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use trunkline_message_tree::{Entry, Timestamp};

use crate::tally::check_body;
use crate::{Log, Note, Record, SessionInfo, StoreError};

/// The version of the form that [`export`] writes. [`import`] reads it and all before it.
pub const FORMAT_VERSION: u32 = 1;

/// A longer line is refused before it is all in memory. The largest that a provider or a tool gives is far below.
const LINE_LIMIT: u64 = 256 * 1024 * 1024;

/// Writes a session as lines of JSON: a header, then one record a line.
///
/// Letters in the inbox are not part of the log and are not written.
///
/// # Errors
///
/// What `out` says; [`io::ErrorKind::InvalidData`] if a note's body is not JSON on one line, which no store gives.
pub fn export(log: &Log, out: &mut impl Write) -> io::Result<()> {
    write_line(out, &HeaderOut { trunkline: KIND, version: FORMAT_VERSION, session: &log.info })?;
    for (seq, record) in &log.records {
        match record {
            Record::Entry(entry) => write_line(out, &EntryOut { seq: *seq, entry })?,
            Record::Note(Note { layer, kind, at, body }) => {
                let body = check_body(body).map_err(|reason| {
                    io::Error::new(io::ErrorKind::InvalidData, format!("the body of record {seq}: {reason}"))
                })?;
                write_line(out, &NoteOut { seq: *seq, entry: NOTE, layer, kind, at: *at, body })?;
            }
        }
    }
    Ok(())
}

/// Reads what [`export`] wrote, line by line.
///
/// Unknown fields are passed over; notes of unknown layers are kept like any other. A file of a newer version is refused,
/// because what it says could be misread.
///
/// # Errors
///
/// Any [`ImportError`]. Nothing is guessed: one bad line refuses the file.
pub fn import(from: impl BufRead) -> Result<Log, ImportError> {
    let mut lines = Lines { from, number: 0, line: Vec::new() };
    let info = read_header(lines.next()?)?;
    let mut records = Vec::new();
    while let Some((line, text)) = lines.next()? {
        let start: Start = read(line, text)?;
        let record = match start.entry.as_str() {
            "node" | "move" => Record::Entry(read(line, text)?),
            NOTE => Record::Note(read::<NoteIn<'_>>(line, text)?.into_note()),
            _ => return Err(ImportError::UnknownRecord { line, entry: start.entry }),
        };
        records.push((start.seq, record));
    }
    let found = records.len() as u64;
    if found < info.records {
        return Err(ImportError::CutOff { found, expected: info.records });
    }
    let log = Log { info, records };
    log.check().map_err(|source| ImportError::Misfit { source: Box::new(source) })?;
    Ok(log)
}

/// Why lines of JSON are not a session.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The file could not be read.
    #[error("cannot read line {line}")]
    Io {
        /// The line, from 1.
        line: u64,
        /// What the reader said.
        source: io::Error,
    },
    /// The first line is not the header of a session.
    #[error("not an exported session: line 1 should start with {{\"trunkline\":\"session\"")]
    NotOurs,
    /// A newer version of the program wrote the file.
    #[error("written in version {found} of the form, this program reads up to {known}")]
    Newer {
        /// The version of the file.
        found: u32,
        /// The newest that is known here.
        known: u32,
    },
    /// A line cannot be read.
    #[error("line {line}, column {column}: {reason}")]
    Line {
        /// The line, from 1.
        line: u64,
        /// The byte in the line, from 1.
        column: usize,
        /// What the parser said.
        reason: String,
    },
    /// A line holds a kind of record that this version of the form does not have.
    #[error("line {line} is neither a node nor a move nor a note, but {entry:?}")]
    UnknownRecord {
        /// The line, from 1.
        line: u64,
        /// What it says it is.
        entry: String,
    },
    /// There are fewer records than the header promises.
    #[error("the file was cut off: {found} of {expected} records")]
    CutOff {
        /// How many there are.
        found: u64,
        /// How many there should be.
        expected: u64,
    },
    /// Every line can be read, but together they are not a session.
    #[error("the records do not fit each other")]
    Misfit {
        /// What is wrong; names the record.
        source: Box<StoreError>,
    },
}

const KIND: &str = "session";
const NOTE: &str = "note";

#[derive(Serialize)]
struct HeaderOut<'a> {
    trunkline: &'a str,
    version: u32,
    session: &'a SessionInfo,
}

#[derive(Serialize)]
struct EntryOut<'a> {
    seq: u64,
    #[serde(flatten)]
    entry: &'a Entry,
}

#[derive(Serialize)]
struct NoteOut<'a> {
    seq: u64,
    entry: &'a str,
    layer: &'a str,
    kind: &'a str,
    at: Timestamp,
    body: &'a RawValue,
}

// Read before the session itself: a newer version may describe that in another way.
#[derive(Deserialize)]
struct HeaderStart {
    trunkline: String,
    version: u32,
}

#[derive(Deserialize)]
struct HeaderIn {
    session: SessionInfo,
}

// Read before the rest, because it says what the rest is.
#[derive(Deserialize)]
struct Start {
    seq: u64,
    entry: String,
}

#[derive(Deserialize)]
struct NoteIn<'a> {
    layer: String,
    kind: String,
    at: Timestamp,
    #[serde(borrow)]
    body: &'a RawValue,
}

impl NoteIn<'_> {
    fn into_note(self) -> Note {
        Note { layer: self.layer, kind: self.kind, at: self.at, body: self.body.get().to_owned() }
    }
}

fn read_header(first: Option<(u64, &str)>) -> Result<SessionInfo, ImportError> {
    let (line, text) = first.ok_or(ImportError::NotOurs)?;
    let start: HeaderStart = serde_json::from_str(text).map_err(|_| ImportError::NotOurs)?;
    if start.trunkline != KIND || start.version == 0 {
        return Err(ImportError::NotOurs);
    }
    if start.version > FORMAT_VERSION {
        return Err(ImportError::Newer { found: start.version, known: FORMAT_VERSION });
    }
    Ok(read::<HeaderIn>(line, text)?.session)
}

fn read<'a, T: Deserialize<'a>>(line: u64, text: &'a str) -> Result<T, ImportError> {
    serde_json::from_str(text).map_err(|error| {
        // The parser counts lines in what it was given, which is one line.
        let place = format!(" at line {} column {}", error.line(), error.column());
        let reason = error.to_string();
        let reason = reason.strip_suffix(&place).unwrap_or(&reason).to_owned();
        ImportError::Line { line, column: error.column(), reason }
    })
}

fn write_line(out: &mut impl Write, line: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, line)?;
    out.write_all(b"\n")
}

/// Lines with their numbers, read into one buffer.
struct Lines<R> {
    from: R,
    number: u64,
    line: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    /// Returns the next line that is not blank.
    fn next(&mut self) -> Result<Option<(u64, &str)>, ImportError> {
        loop {
            self.line.clear();
            self.number += 1;
            let line = self.number;
            let fault = |source| ImportError::Io { line, source };
            let mut bounded = io::Read::take(io::Read::by_ref(&mut self.from), LINE_LIMIT);
            if bounded.read_until(b'\n', &mut self.line).map_err(fault)? == 0 {
                return Ok(None);
            }
            if self.line.len() as u64 == LINE_LIMIT {
                let column = self.line.len();
                return Err(ImportError::Line {
                    line,
                    column,
                    reason: format!("the line is longer than {LINE_LIMIT} bytes"),
                });
            }
            if !self.line.trim_ascii().is_empty() {
                break;
            }
        }
        let text = std::str::from_utf8(self.line.trim_ascii_end());
        let text = text.map_err(|source| ImportError::Io {
            line: self.number,
            source: io::Error::new(io::ErrorKind::InvalidData, source),
        })?;
        Ok(Some((self.number, text)))
    }
}
