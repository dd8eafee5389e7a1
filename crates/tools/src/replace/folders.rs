//! The open folders of the files that are written, and those among them that had to be made.

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, Mode};
use rustix::io::Errno;

use super::temporary;
use crate::root::{Root, open_folder_at};

/// Folders that were made, for taking them away again.
pub(super) struct Folders<'r> {
    root: &'r Root,
    /// Each with the folder it lies in, outermost first.
    made: Vec<(OwnedFd, String)>,
    cleared: BTreeSet<String>,
}

impl<'r> Folders<'r> {
    pub(super) fn new(root: &'r Root) -> Self {
        Folders { root, made: Vec::new(), cleared: BTreeSet::new() }
    }

    /// Opens a folder, and makes what is missing of it if `make`. What dead writers left in it is cleared away.
    pub(super) fn open(&mut self, path: &str, make: bool) -> Result<OwnedFd, Errno> {
        let mut folder = self.root.open_folder("")?;
        let mut so_far = String::new();
        for name in path.split('/').filter(|name| !name.is_empty()) {
            so_far = if so_far.is_empty() { name.to_owned() } else { format!("{so_far}/{name}") };
            folder = match open_folder_at(&folder, name) {
                Err(Errno::NOENT) if make => self.make(&folder, name, &so_far)?,
                opened => opened?,
            };
        }
        if self.cleared.insert(path.to_owned()) {
            temporary::clear_leftovers(&self.root.steps, &folder);
        }
        Ok(folder)
    }

    fn make(&mut self, outer: &OwnedFd, name: &str, path: &str) -> Result<OwnedFd, Errno> {
        let again = outer.try_clone().map_err(|_| Errno::MFILE)?;
        self.root.steps.step("make the folder", path)?;
        match rustix::fs::mkdirat(outer, name, Mode::from_raw_mode(0o777)) {
            Ok(()) => {
                self.made.push((again, name.to_owned()));
                self.root.steps.step("flush the folder of", path)?;
                flush(outer)?;
            }
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno),
        }
        open_folder_at(outer, name)
    }

    /// Takes away what was made.
    pub(super) fn unmake(&self) {
        for (folder, name) in self.made.iter().rev() {
            if self.root.steps.step("remove the folder", name).is_ok() {
                // Somebody else may have put something in; then it stays.
                let _ = rustix::fs::unlinkat(folder, name, AtFlags::REMOVEDIR);
            }
        }
    }
}

/// Brings the names in a folder to the disk.
pub(super) fn flush(folder: &OwnedFd) -> Result<(), Errno> {
    match rustix::fs::fsync(folder) {
        // Some file systems cannot flush folders and say so like this.
        Err(Errno::INVAL) => Ok(()),
        flushed => flushed,
    }
}
