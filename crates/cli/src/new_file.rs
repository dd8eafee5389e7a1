//! Writes a file that was not there before.
//!
//! Nothing is ever replaced, and nobody else can read it: a conversation may hold secrets.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::fault::Fault;

/// How many names are tried before giving up; every run makes one file.
const NAMES: usize = 10_000;

/// Writes the bytes under that very name.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), Fault> {
    match create(path, bytes) {
        Ok(true) => Ok(()),
        Ok(false) => Err(Fault::usage(format!("{} exists already", path.display()))
            .hint("name another file, or remove that one first")),
        Err(fault) => Err(fault),
    }
}

/// Writes the bytes under the first of the names that is free, and returns it.
pub(crate) fn write_beside(names: impl Iterator<Item = PathBuf>, bytes: &[u8]) -> Result<PathBuf, Fault> {
    for path in names.take(NAMES) {
        if create(&path, bytes)? {
            return Ok(path);
        }
    }
    Err(Fault::new("every name for the new file is taken").hint("name one with --out"))
}

/// Returns whether the name was free.
fn create(path: &Path, bytes: &[u8]) -> Result<bool, Fault> {
    let cannot = |error: std::io::Error| {
        Fault::new(format!("cannot write {}: {error}", path.display()))
            .hint("--out names a file in another folder")
    };
    let mut file = match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(false),
        Err(error) => return Err(cannot(error)),
    };
    if let Err(error) = file.write_all(bytes).and_then(|()| file.sync_all()) {
        // Ours alone, made a moment ago, and cut off: nobody should take it for a session.
        let _ = std::fs::remove_file(path);
        return Err(cannot(error));
    }
    Ok(true)
}
