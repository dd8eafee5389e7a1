//! Puts new bytes in the place of a file, whole or not at all.
//!
//! A temporary file beside it is written, flushed to the disk and renamed. Everything goes through open folders, so a
//! folder that is swapped for a link meanwhile leads nowhere. A crash can leave `.trunkline-….tmp` behind, never half a
//! file; the next write into that folder clears it away. A temporary file is locked for as long as its writer lives, which
//! is how another one knows whose writer is dead.

use std::collections::hash_map::RandomState;
use std::fs::File;
use std::hash::{BuildHasher, Hasher};
use std::io::Write;
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, Dir, FlockOperation, Mode, OFlags, Stat};
use rustix::io::Errno;
use trunkline_runtime::resolve_queue::Outcome;

use crate::fingerprint;
use crate::root::{Inside, Root, open_folder_at, read_at};

/// Writes `content` if the file still has the digest `before`, or is still absent for `None`.
pub(crate) fn replace(root: &Root, inside: &Inside, before: Option<&str>, content: &[u8]) -> Outcome {
    let (parent, name) = inside.split();
    let mut made = Vec::new();
    let ended = open_or_make(root, parent, before.is_none(), &mut made)
        .map_err(|errno| Undone::new("its folder cannot be opened", errno))
        .and_then(|folder| write_in(&folder, name, inside.as_str(), before, content));
    match ended {
        Ok(outcome) => outcome,
        Err(Undone(reason)) => {
            for (folder, name) in made.iter().rev() {
                // Somebody else may have put something in; then it stays.
                let _ = rustix::fs::unlinkat(folder, name, AtFlags::REMOVEDIR);
            }
            Outcome::Failed { reason }
        }
    }
}

/// Nothing was changed.
struct Undone(String);

impl Undone {
    fn new(what: &str, errno: Errno) -> Self {
        Undone(format!("{what}: {}", std::io::Error::from(errno)))
    }
}

fn write_in(
    folder: &OwnedFd,
    name: &str,
    path: &str,
    before: Option<&str>,
    content: &[u8],
) -> Result<Outcome, Undone> {
    let old = look(folder, name, path, before)?;
    clear_leftovers(folder);
    let (temporary, file) = create(folder, old.as_ref())?;
    let written = fill(&file, content, old.as_ref())
        // Once more, as late as possible: writing and flushing took a while.
        .and_then(|()| look(folder, name, path, before))
        .and_then(|_| match before {
            Some(_) => rustix::fs::renameat(folder, &temporary, folder, name)
                .map_err(|errno| Undone::new("it cannot be replaced", errno)),
            None => put_new(folder, &temporary, name),
        });
    if let Err(undone) = written {
        let _ = rustix::fs::unlinkat(folder, &temporary, AtFlags::empty());
        return Err(undone);
    }
    match flush(folder) {
        Ok(()) => Ok(Outcome::Applied),
        Err(errno) => Ok(Outcome::Unknown {
            reason: format!("it is written but may not survive a power cut: {}", std::io::Error::from(errno)),
        }),
    }
}

/// Checks that the file is as it was; returns its metadata.
fn look(folder: &OwnedFd, name: &str, path: &str, before: Option<&str>) -> Result<Option<Stat>, Undone> {
    let found = read_at(folder, name, path).map_err(|error| Undone(error.to_string()))?;
    match (before, found) {
        (None, None) => Ok(None),
        (None, Some(_)) => Err(Undone(format!("{path} exists now"))),
        (Some(_), None) => Err(Undone(format!("{path} is gone"))),
        (Some(before), Some(found)) if fingerprint::digest(&found.bytes) == before => Ok(Some(found.stat)),
        (Some(_), Some(_)) => Err(Undone(format!("{path} has changed since the proposal was made"))),
    }
}

fn create(folder: &OwnedFd, old: Option<&Stat>) -> Result<(String, File), Undone> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    // Beside an old file nobody may read more than before, not even for a moment; a new one gets what the umask leaves.
    let mode = if old.is_some() { Mode::RUSR | Mode::WUSR } else { Mode::from_raw_mode(0o666) };
    // The workspace knows names of this form and does not commit them. A fresh hasher has random keys: enough for a name that nobody else has.
    let name = format!(".trunkline-{:016x}.tmp", RandomState::new().build_hasher().finish());
    let file = rustix::fs::openat(folder, &name, flags, mode)
        .map_err(|errno| Undone::new("a temporary file cannot be made in its folder", errno))?;
    // Where there are no locks, nobody gets one for clearing away either.
    let _ = rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive);
    Ok((name, File::from(file)))
}

/// Removes the temporary files of writers that died. What cannot be removed does no harm: it is never committed.
fn clear_leftovers(folder: &OwnedFd) {
    let Ok(entries) = Dir::read_from(folder) else { return };
    for entry in entries.flatten() {
        let Ok(name) = entry.file_name().to_str() else { continue };
        let key = name.strip_prefix(".trunkline-").and_then(|rest| rest.strip_suffix(".tmp"));
        if !key.is_some_and(|key| key.len() == 16 && key.bytes().all(|byte| byte.is_ascii_hexdigit())) {
            continue;
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let Ok(file) = rustix::fs::openat(folder, name, flags, Mode::empty()) else { continue };
        if rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
            let _ = rustix::fs::unlinkat(folder, name, AtFlags::empty());
        }
    }
}

fn fill(mut file: &File, content: &[u8], old: Option<&Stat>) -> Result<(), Undone> {
    let cannot = |error: std::io::Error| Undone(format!("the new content cannot be written: {error}"));
    file.write_all(content).map_err(cannot)?;
    if let Some(old) = old {
        keep_owner(file, old);
        // Set-user-id and the like are not carried over to bytes that they were not given to.
        let mode = Mode::from_raw_mode(old.st_mode & 0o777);
        rustix::fs::fchmod(file, mode).map_err(|errno| cannot(errno.into()))?;
    }
    file.sync_all().map_err(cannot)
}

/// Gives the file to the old one's owner where that is possible, that is, mostly for root.
fn keep_owner(file: &File, old: &Stat) {
    let Ok(new) = rustix::fs::fstat(file) else { return };
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid) {
        let (owner, group) = (rustix::fs::Uid::from_raw(old.st_uid), rustix::fs::Gid::from_raw(old.st_gid));
        let _ = rustix::fs::fchown(file, Some(owner), Some(group));
    }
}

/// Gives the temporary file its name without ever replacing something.
fn put_new(folder: &OwnedFd, temporary: &str, name: &str) -> Result<(), Undone> {
    let put = match rename_new(folder, temporary, name) {
        // Not every kernel and file system has it; a hard link does the same in two steps.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            rustix::fs::linkat(folder, temporary, folder, name, AtFlags::empty())
                .and_then(|()| rustix::fs::unlinkat(folder, temporary, AtFlags::empty()).or(Ok(())))
        }
        put => put,
    };
    put.map_err(|errno| match errno {
        Errno::EXIST => Undone(format!("{name} exists now")),
        errno => Undone::new("it cannot be put in its place", errno),
    })
}

#[cfg(any(target_os = "linux", target_vendor = "apple"))]
fn rename_new(folder: &OwnedFd, temporary: &str, name: &str) -> Result<(), Errno> {
    rustix::fs::renameat_with(folder, temporary, folder, name, rustix::fs::RenameFlags::NOREPLACE)
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
fn rename_new(_folder: &OwnedFd, _temporary: &str, _name: &str) -> Result<(), Errno> {
    Err(Errno::NOSYS)
}

/// Opens the folder of a file; makes what is missing of it if `make`, and remembers what it made.
fn open_or_make(
    root: &Root,
    parent: &str,
    make: bool,
    made: &mut Vec<(OwnedFd, String)>,
) -> Result<OwnedFd, Errno> {
    let mut folder = root.open_folder("")?;
    for name in parent.split('/').filter(|name| !name.is_empty()) {
        let inner = match open_folder_at(&folder, name) {
            Err(Errno::NOENT) if make => {
                let outer = folder.try_clone().map_err(|_| Errno::MFILE)?;
                match rustix::fs::mkdirat(&folder, name, Mode::from_raw_mode(0o777)) {
                    Ok(()) => {
                        made.push((outer, name.to_owned()));
                        flush(&folder)?;
                    }
                    Err(Errno::EXIST) => {}
                    Err(errno) => return Err(errno),
                }
                open_folder_at(&folder, name)?
            }
            opened => opened?,
        };
        folder = inner;
    }
    Ok(folder)
}

fn flush(folder: &OwnedFd) -> Result<(), Errno> {
    match rustix::fs::fsync(folder) {
        // Some file systems cannot flush folders and say so like this.
        Err(Errno::INVAL) => Ok(()),
        flushed => flushed,
    }
}
