//! A session that comes from elsewhere: checked record by record while a store takes it in.

use std::fmt;

use crate::record::check_body;
use crate::tally::check_name;
use crate::{Header, ImportError, InboxId, Kept, Letter, Log, SessionId, SessionInfo, StoreError, Tally};

/// A chunk ends with the record that brings it to so many bytes.
const CHUNK_BYTES: usize = 4 * 1024 * 1024;

/// A session on its way into a store. [`SessionStore::restore`](crate::SessionStore::restore) takes it.
pub struct Restoring<'a> {
    header: Header,
    tally: Tally,
    rows: &'a mut (dyn Iterator<Item = Result<Kept, ImportError>> + Send),
    letters: Option<&'a mut (dyn FnMut() -> Vec<Letter> + Send)>,
}

impl<'a> Restoring<'a> {
    /// Returns a session with records that come one by one, oldest first.
    pub fn new(
        header: Header,
        rows: &'a mut (dyn Iterator<Item = Result<Kept, ImportError>> + Send),
    ) -> Self {
        let tally = Tally::new(&header.id, header.created_at);
        Restoring { header, tally, rows, letters: None }
    }

    /// Adds letters that wait in the inbox from the first moment on: nobody can open the session before they are there.
    ///
    /// They are asked for once, when all records were read, and counted from 1, whatever they are called.
    #[must_use]
    pub fn with_letters(mut self, letters: &'a mut (dyn FnMut() -> Vec<Letter> + Send)) -> Self {
        self.letters = Some(letters);
        self
    }

    /// Returns the session's name.
    pub fn session(&self) -> &SessionId {
        &self.header.id
    }

    /// Returns the session as far as it has come.
    pub fn info(&self) -> SessionInfo {
        SessionInfo::new(&self.header, &self.tally)
    }

    /// Returns the next records, some megabytes at most; none at the end, and then the whole is what its header says.
    ///
    /// # Errors
    ///
    /// [`ImportError::Store`] for a record that does not follow; [`ImportError::CutOff`]; what the reader says.
    pub fn next_chunk(&mut self) -> Result<Vec<Kept>, ImportError> {
        if self.tally.seq == 0 {
            self.header.check()?;
        }
        let mut chunk = Vec::new();
        let mut bytes = 0;
        while bytes < CHUNK_BYTES && self.tally.seq < self.header.records {
            let Some(kept) = self.rows.next() else {
                return Err(ImportError::CutOff { found: self.tally.seq, expected: self.header.records });
            };
            let kept = kept?;
            self.tally.add_kept(&self.header.id, &kept)?;
            bytes += kept.size();
            chunk.push(kept);
        }
        if chunk.is_empty() {
            self.finish()?;
        }
        Ok(chunk)
    }

    /// Returns the letters that have to be in the inbox in the moment in which the session is seen; for those who write a
    /// store, after the last chunk.
    ///
    /// # Errors
    ///
    /// [`ImportError::Store`] with [`StoreError::Body`] for a letter that [`post`](crate::SessionStore::post) would refuse.
    pub fn take_letters(&mut self) -> Result<Vec<Letter>, ImportError> {
        let mut letters = self.letters.take().map(|letters| letters()).unwrap_or_default();
        for (number, letter) in (1..).zip(&mut letters) {
            letter.id = InboxId(number);
            check_name(&letter.kind)
                .and_then(|()| check_body(&letter.body).map(drop))
                .map_err(|reason| StoreError::body(&self.header.id, &letter.kind, reason))?;
        }
        Ok(letters)
    }

    /// Reads all of it into memory instead of a store.
    ///
    /// # Errors
    ///
    /// Those of [`next_chunk`](Restoring::next_chunk).
    pub fn into_log(mut self) -> Result<Log, ImportError> {
        let mut records = Vec::new();
        loop {
            let chunk = self.next_chunk()?;
            if chunk.is_empty() {
                return Ok(Log::new(self.info(), records));
            }
            for kept in chunk {
                records.push((kept.seq, kept.record(&self.header.id)?));
            }
        }
    }

    fn finish(&mut self) -> Result<(), ImportError> {
        let bad = |seq, reason| StoreError::BadRecord { session: self.header.id.clone(), seq, reason };
        if let Some(more) = self.rows.next() {
            let seq = more?.seq;
            return Err(bad(seq, format!("the header promises {} records", self.header.records)).into());
        }
        let (header, tally) = (&self.header, &self.tally);
        if header.records == 0 {
            return Err(bad(0, "a session has at least its root".to_owned()).into());
        }
        if (header.head, header.nodes) != (tally.head, tally.nodes) {
            let reason = format!(
                "the log ends with head {} and {} nodes, its header says {} and {}",
                tally.head, tally.nodes, header.head, header.nodes
            );
            return Err(bad(tally.seq, reason).into());
        }
        match header.digest {
            Some(digest) if digest != tally.digest => Err(StoreError::BrokenChain {
                session: header.id.clone(),
                seq: tally.seq,
                expected: tally.digest,
                found: digest,
            }
            .into()),
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for Restoring<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Restoring").field("header", &self.header).finish_non_exhaustive()
    }
}
