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
/// The one in it that counts most: it is looked at before all others.
const TOOLS: &str = "tools";
/// So many entries are looked at there; with more of them no definition is read.
const MOST_TOOLS: usize = 10_000;
/// So many entries are looked at beside them; more than that nobody lays there.
const MOST: usize = 2_000;
/// So deep is looked.
const DEEPEST: usize = 8;

/// How the folder looked, without reading what is in its files.
#[derive(PartialEq, Eq)]
pub(crate) struct Look {
    seen: [u8; 32],
    /// Whether all of it was looked at.
    is_whole: bool,
}

/// Looks how it is.
pub(crate) fn look(root: &Root) -> Look {
    let (folder, tools) = (root.path().join(FOLDER), root.path().join(FOLDER).join(TOOLS));
    let mut noted = Noted { seen: Sha256::new(), left: MOST_TOOLS, is_whole: true };
    noted.note(&tools, DEEPEST, None);
    noted.left = MOST;
    noted.note(&folder, DEEPEST, Some(&tools));
    Look { seen: noted.seen.finalize().into(), is_whole: noted.is_whole }
}

/// Says whether it has changed since, and whether that can be said; nothing if it has not.
pub(crate) fn told(root: &Root, before: Look) -> String {
    let after = look(root);
    if after != before {
        return format!(
            "[{FOLDER} was changed while this ran; a tool that is declared there is not used before a person has trusted it]\n"
        );
    }
    match after.is_whole {
        true => String::new(),
        false => {
            format!("[{FOLDER} has too many files or folders to tell whether this has changed one of them]\n")
        }
    }
}

struct Noted {
    seen: Sha256,
    left: usize,
    is_whole: bool,
}

impl Noted {
    fn note(&mut self, path: &Path, levels: usize, but: Option<&Path>) {
        let Ok(found) = fs::symlink_metadata(path) else { return };
        self.seen.update(path.as_os_str().as_encoded_bytes());
        self.seen.update([0]);
        note_one(&found, &mut self.seen);
        if !found.is_dir() {
            return;
        }
        if levels == 0 {
            self.is_whole = false;
            return;
        }
        // One more than is looked at, so that it shows.
        let listed = fs::read_dir(path).into_iter().flatten().flatten().take(self.left + 1);
        let mut names: Vec<_> = listed.map(|entry| entry.file_name()).collect();
        names.sort();
        for name in names {
            let path = path.join(name);
            if but == Some(&path) {
                continue;
            }
            if self.left == 0 {
                self.is_whole = false;
                return;
            }
            self.left -= 1;
            self.note(&path, levels - 1, None);
        }
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
