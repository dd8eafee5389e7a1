//! Whether a command has changed the folder in which a project keeps what later runs go by.
//!
//! Landlock knows no exception below a folder that may be written, so it cannot keep commands from it. What they leave there
//! counts for nothing until a person has trusted it; this says that it was done.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::root::Root;

/// The folder, seen from the project's.
pub(crate) const FOLDER: &str = ".trunkline";
/// So many entries are looked at; more than that nobody lays there.
const MOST: usize = 2_000;
/// So deep is looked.
const DEEPEST: usize = 8;

/// How the folder looked, without reading what is in its files.
#[derive(PartialEq, Eq)]
pub(crate) struct Look([u8; 32]);

/// Looks how it is.
pub(crate) fn look(root: &Root) -> Look {
    let mut seen = Sha256::new();
    let mut left = MOST;
    note(&root.path().join(FOLDER), DEEPEST, &mut left, &mut seen);
    Look(seen.finalize().into())
}

/// Says whether it has changed since; nothing if it has not.
pub(crate) fn told(root: &Root, before: Look) -> String {
    match look(root) == before {
        true => String::new(),
        false => format!(
            "[{FOLDER} was changed while this ran; a tool that is declared there is not used before a person has trusted it]\n"
        ),
    }
}

fn note(path: &Path, levels: usize, left: &mut usize, seen: &mut Sha256) {
    let Ok(found) = fs::symlink_metadata(path) else { return };
    seen.update(path.as_os_str().as_encoded_bytes());
    seen.update([0]);
    note_one(&found, seen);
    if !found.is_dir() || levels == 0 {
        return;
    }
    let listed = fs::read_dir(path).into_iter().flatten().flatten().take(*left);
    let mut names: Vec<_> = listed.map(|entry| entry.file_name()).collect();
    names.sort();
    for name in names {
        if *left == 0 {
            return;
        }
        *left -= 1;
        note(&path.join(name), levels - 1, left, seen);
    }
}

/// Whatever is done to a file moves one of these.
fn note_one(found: &Metadata, seen: &mut Sha256) {
    for number in [found.ino(), found.size(), u64::from(found.mode())] {
        seen.update(number.to_le_bytes());
    }
    for time in [found.mtime(), found.mtime_nsec(), found.ctime(), found.ctime_nsec()] {
        seen.update(time.to_le_bytes());
    }
}
