//! A cassette on disk that exchanges are appended to.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use crate::{Cassette, Exchange, Record};

/// A cassette in a file. Each exchange is written as one whole line when it ends.
///
/// Only its owner may read a file that is made here: answers are as private as what was asked.
pub struct CassetteFile {
    state: Mutex<State>,
}

struct State {
    file: File,
    // What went wrong first.
    fault: Option<io::Error>,
    // Nothing is written after a fault: half a line may be in the file, and what followed it could not be read.
    broken: bool,
}

impl CassetteFile {
    /// Opens a cassette, or makes one. What is in it stays; a last line that was not written to its end goes.
    ///
    /// # Errors
    ///
    /// Whatever the file system says, and [`io::ErrorKind::InvalidData`] with a
    /// [`CassetteError`](crate::CassetteError) for a file that is no cassette.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(path)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let head = Cassette::head();
        // A head that was not written to its end is as good as none.
        if head.as_bytes().starts_with(&bytes) && bytes.len() < head.len() {
            file.set_len(0)?;
            file.write_all(head.as_bytes())?;
            return Ok(CassetteFile::new(file));
        }
        let invalid = |fault: Box<dyn std::error::Error + Send + Sync>| {
            io::Error::new(io::ErrorKind::InvalidData, fault)
        };
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let (lines, last) = bytes.split_at(whole);
        let lines = str::from_utf8(lines).map_err(|fault| invalid(fault.into()))?;
        let text = format!("{lines}{}", String::from_utf8_lossy(last));
        let torn = Cassette::parse(&text).map_err(|fault| invalid(fault.into()))?.torn;
        if torn {
            file.set_len(u64::try_from(whole).map_err(|fault| invalid(fault.into()))?)?;
        } else if !last.is_empty() {
            file.write_all(b"\n")?;
        }
        Ok(CassetteFile::new(file))
    }

    fn new(file: File) -> Self {
        CassetteFile { state: Mutex::new(State { file, fault: None, broken: false }) }
    }

    /// Returns why not everything is in the file, if that is so; once.
    pub fn take_fault(&self) -> Option<io::Error> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).fault.take()
    }
}

impl Record for CassetteFile {
    fn exchange(&self, exchange: &Exchange) {
        let line = exchange.line();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !state.broken {
            state.fault = state.file.write_all(line.as_bytes()).err();
            state.broken = state.fault.is_some();
        }
    }
}
