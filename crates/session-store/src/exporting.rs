//! Sessions as lines of JSON, to be moved, kept and read by others.
//!
//! What is written was verified: an export whose records do not follow from each other, or do not come to what their session
//! says, ends in an error. Its last line closes it. The form is described in `docs/format.md`.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::value::RawValue;

use crate::digest::Hasher;
use crate::interchange::{END, FORMAT_VERSION, HeaderFields, KIND, UNSEALED_VERSION};
use crate::reading::Pages;
use crate::record::check_body;
use crate::{Digest, Header, Kept, SessionId, SessionInfo, SessionStore, Spine, StoreError, Tally};

/// Writes a session as lines of JSON: a header, then one record a line, page by page, and a line that closes it.
///
/// Letters in the inbox are not part of the log and are not written. [`Export`] writes several sessions into one file.
///
/// # Errors
///
/// [`ExportError::Store`] for what cannot be read, or is not what was written; [`ExportError::Io`] for what `out` says.
pub async fn export<S: SessionStore + ?Sized>(
    store: &S,
    session: &SessionId,
    out: &mut (impl Write + Send),
) -> Result<SessionInfo, ExportError> {
    let mut export = Export::new(1);
    let info = export.session(store, session, out).await?;
    export.finish(out)?;
    Ok(info)
}

/// Sessions on their way into one file. Its last line says how many they are and closes it: without
/// [`finish`](Export::finish) it counts as cut off.
#[derive(Debug)]
pub struct Export {
    planned: u64,
    sessions: u64,
    records: u64,
    lines: Hasher,
}

impl Export {
    /// Begins an export that is to have so many sessions. Some of them may be left out.
    pub fn new(sessions: u64) -> Self {
        Export { planned: sessions, sessions: 0, records: 0, lines: Hasher::default() }
    }

    /// Writes a session. After an error it does not count: whatever `out` has got of it has to be taken back.
    ///
    /// # Errors
    ///
    /// Those of [`export`].
    pub async fn session<S: SessionStore + ?Sized>(
        &mut self,
        store: &S,
        session: &SessionId,
        out: &mut (impl Write + Send),
    ) -> Result<SessionInfo, ExportError> {
        let info = store.info(session).await?;
        let mut out = Hashed { out, lines: self.lines.clone() };
        let header = Header::of(&info);
        let seal = Some(header.seal());
        let line = HeaderOut {
            trunkline: KIND,
            version: FORMAT_VERSION,
            of: Some(self.planned),
            session: (&header).into(),
            seal,
        };
        write_line(&mut out, &line)?;
        let mut tally = Tally::new(session, info.created_at);
        let mut pages = Pages::new(0, info.records);
        while let Some(kept) = pages.next(store, session).await? {
            tally.add_kept(session, &kept)?;
            write_record(&kept, &mut out)?;
        }
        tally.check(&info)?;
        self.lines = out.lines;
        self.sessions += 1;
        self.records = self.records.saturating_add(info.records);
        Ok(info)
    }

    /// Writes the line that closes it.
    ///
    /// # Errors
    ///
    /// What `out` says.
    pub fn finish(self, out: &mut impl Write) -> io::Result<()> {
        let Export { sessions, records, lines, .. } = self;
        let digest = lines.digest();
        write_line(out, &EndOut { trunkline: END, version: FORMAT_VERSION, sessions, records, digest })
    }
}

/// Writes the first line of a session that stands alone, in version 2 of the form: what its header says is under no digest,
/// and no line closes it. For those who write records that they have read, or made.
///
/// # Errors
///
/// What `out` says.
pub fn write_header(header: &Header, out: &mut impl Write) -> io::Result<()> {
    let (of, seal) = (None, None);
    write_line(
        out,
        &HeaderOut { trunkline: KIND, version: UNSEALED_VERSION, of, session: header.into(), seal },
    )
}

/// Writes the line of a record.
///
/// # Errors
///
/// What `out` says; [`io::ErrorKind::InvalidData`] if its body is not JSON on one line, which no store gives.
pub fn write_record(kept: &Kept, out: &mut impl Write) -> io::Result<()> {
    let seq = kept.seq;
    let body = check_body(&kept.body).map_err(|reason| {
        io::Error::new(io::ErrorKind::InvalidData, format!("the body of record {seq}: {reason}"))
    })?;
    let mut line = Line {
        seq,
        spine: &kept.spine,
        message: None,
        kind: None,
        body: None,
        base64: None,
        digest: kept.digest,
    };
    match kept.spine {
        Spine::Node { .. } => line.message = Some(body),
        Spine::Move { .. } => line.kind = Some(body),
        Spine::Note { .. } => line.body = Some(body),
        Spine::Blob { .. } => line.base64 = Some(body),
    }
    write_line(out, &line)
}

/// Why a session could not be written as lines of JSON.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// It could not be read from its store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It could not be written.
    #[error("cannot write the export")]
    Io(#[from] io::Error),
}

#[derive(Serialize)]
struct HeaderOut<'a> {
    trunkline: &'a str,
    version: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    of: Option<u64>,
    session: HeaderFields,
    #[serde(skip_serializing_if = "Option::is_none")]
    seal: Option<Digest>,
}

#[derive(Serialize)]
struct EndOut<'a> {
    trunkline: &'a str,
    version: u32,
    sessions: u64,
    records: u64,
    digest: Digest,
}

#[derive(Serialize)]
struct Line<'a> {
    seq: u64,
    #[serde(flatten)]
    spine: &'a Spine,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    base64: Option<&'a RawValue>,
    digest: Digest,
}

fn write_line(out: &mut impl Write, line: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, line)?;
    out.write_all(b"\n")
}

/// Makes the digest of what is written.
struct Hashed<'a, W> {
    out: &'a mut W,
    lines: Hasher,
}

impl<W: Write> Write for Hashed<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.lines.bytes(bytes.get(..written).unwrap_or_default());
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
