//! Writes a file that was not there before, whole or not at all.
//!
//! Nothing is ever replaced, and nobody else can read it: a conversation may hold secrets. The bytes go under a hidden name
//! first, because whoever is killed while writing must not leave half a session under a name that a client would read.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use uuid::Uuid;

use crate::term::fault::Fault;

/// How many names are tried before giving up; every run makes one file.
const NAMES: usize = 10_000;

/// Writes the bytes under that very name.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), Fault> {
    let hidden = Hidden::beside(path, bytes).map_err(|error| cannot(path, &error))?;
    if hidden.put(path)? {
        return Ok(());
    }
    Err(Fault::usage(format!("{} exists already", path.display()))
        .hint("name another file, or remove that one first"))
}

/// Writes the bytes under the first of the names that is free, and returns it; they are all of one folder.
pub(crate) fn write_beside(names: impl Iterator<Item = PathBuf>, bytes: &[u8]) -> Result<PathBuf, Fault> {
    let mut hidden = None;
    for path in names.take(NAMES) {
        let hidden = match &mut hidden {
            Some(hidden) => hidden,
            none => none.insert(Hidden::beside(&path, bytes).map_err(|error| cannot(&path, &error))?),
        };
        if hidden.put(&path)? {
            return Ok(path);
        }
    }
    Err(Fault::new("every name for the new file is taken").hint("name one with --out"))
}

fn cannot(path: &Path, error: &io::Error) -> Fault {
    Fault::new(format!("cannot write {}: {error}", path.display()))
        .hint("--out names a file in another folder")
}

/// A whole file under a name that nobody looks for; the name is gone when this is.
struct Hidden(PathBuf);

impl Hidden {
    fn beside(path: &Path, bytes: &[u8]) -> io::Result<Self> {
        // Not made from the final name, which may be as long as a name can be.
        let hidden = path.with_file_name(format!(".trunkline-{}.tmp", Uuid::new_v4()));
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&hidden)?;
        let hidden = Hidden(hidden);
        file.write_all(bytes)?;
        file.sync_all()?;
        Ok(hidden)
    }

    /// Gives the file its name, and returns whether that was free.
    fn put(&self, path: &Path) -> Result<bool, Fault> {
        // Unlike a rename a link never replaces what is there.
        match std::fs::hard_link(&self.0, path) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(false),
            Err(error) => return Err(cannot(path, &error)),
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        // The file is whole and has its name. A folder that cannot be synced could only forget the name in a power cut.
        let _ = File::open(folder.unwrap_or(Path::new("."))).and_then(|folder| folder.sync_all());
        Ok(true)
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
