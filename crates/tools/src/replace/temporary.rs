//! The temporary files in which new bytes wait beside their files.
//!
//! Each is locked for as long as its writer lives, which is how another one knows whose writer is dead.

use std::collections::hash_map::RandomState;
use std::fs::File;
use std::hash::{BuildHasher, Hasher};
use std::io::Write;
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, Dir, FlockOperation, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::Undone;
use crate::steps::Steps;

/// What a file gets besides its bytes.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Guise {
    /// The permission bits.
    mode: Mode,
    /// User and group; `None` for those of this process.
    owner: Option<(u32, u32)>,
}

impl Guise {
    /// A mode of nine bits, and the owner that the place of the file has.
    pub(crate) fn of_mode(mode: u32) -> Self {
        // Nine bits fit, however narrow the type is.
        Guise { mode: Mode::from_bits_truncate((mode & 0o777) as rustix::fs::RawMode), owner: None }
    }

    /// Takes the owner from another, if it has none itself.
    pub(super) fn or_owner(self, other: Option<Guise>) -> Self {
        Guise { owner: self.owner.or(other.and_then(|other| other.owner)), ..self }
    }

    /// What new bytes get: set-user-id and the like are not carried over to bytes that they were not given to.
    pub(super) fn for_new_bytes(stat: &Stat) -> Self {
        Guise { mode: Mode::from_raw_mode(stat.st_mode & 0o777), owner: Some((stat.st_uid, stat.st_gid)) }
    }

    /// What the old bytes get when they come back.
    pub(crate) fn for_old_bytes(stat: &Stat) -> Self {
        Guise { mode: Mode::from_raw_mode(stat.st_mode & 0o7777), ..Guise::for_new_bytes(stat) }
    }
}

/// New bytes, flushed to the disk, in the folder of their file.
pub(super) struct Temporary {
    pub(super) name: String,
    /// Holds the lock.
    file: File,
}

impl Temporary {
    /// Writes the bytes. What was made is removed again if that fails.
    pub(super) fn write(
        steps: &Steps,
        folder: &OwnedFd,
        path: &str,
        content: &[u8],
        guise: Option<Guise>,
    ) -> Result<Self, Undone> {
        let (name, file) = create(steps, folder, path, guise.is_some())
            .map_err(|errno| Undone::new("a temporary file cannot be made in its folder", errno))?;
        let temporary = Temporary { name, file };
        match fill(steps, path, &temporary.file, content, guise) {
            Ok(()) => Ok(temporary),
            Err(error) => {
                temporary.remove(steps, folder, path);
                Err(Undone(format!("the new content cannot be written: {error}")))
            }
        }
    }

    /// Takes it away. If that fails, the next write into the folder does.
    pub(super) fn remove(&self, steps: &Steps, folder: &OwnedFd, path: &str) {
        if steps.step("remove the temporary file of", path).is_ok() {
            let _ = rustix::fs::unlinkat(folder, &self.name, AtFlags::empty());
        }
    }
}

fn create(steps: &Steps, folder: &OwnedFd, path: &str, private: bool) -> Result<(String, File), Errno> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    // Beside an old file nobody may read more than before, not even for a moment; a new one gets what the umask leaves.
    let mode = if private { Mode::RUSR | Mode::WUSR } else { Mode::from_raw_mode(0o666) };
    // The workspace knows names of this form and does not commit them. A fresh hasher has random keys: enough for a name that nobody else has.
    let name = format!(".trunkline-{:016x}.tmp", RandomState::new().build_hasher().finish());
    steps.step("make a temporary file for", path)?;
    let file = rustix::fs::openat(folder, &name, flags, mode)?;
    // Where there are no locks, nobody gets one for clearing away either.
    let _ = rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive);
    Ok((name, File::from(file)))
}

fn fill(
    steps: &Steps,
    path: &str,
    mut file: &File,
    content: &[u8],
    guise: Option<Guise>,
) -> std::io::Result<()> {
    // In two steps, so that a test can stop between them.
    let (first, second) = content.split_at(content.len() / 2);
    steps.step("write the first half of", path)?;
    file.write_all(first)?;
    steps.step("write the second half of", path)?;
    file.write_all(second)?;
    if let Some(guise) = guise {
        keep_owner(file, guise);
        steps.step("set the mode of", path)?;
        rustix::fs::fchmod(file, guise.mode)?;
    }
    steps.step("flush", path)?;
    file.sync_all()
}

/// Gives the file to the old one's owner where that is possible, that is, mostly for root.
fn keep_owner(file: &File, guise: Guise) {
    let (Some((user, group)), Ok(new)) = (guise.owner, rustix::fs::fstat(file)) else { return };
    if (new.st_uid, new.st_gid) != (user, group) {
        let (user, group) = (rustix::fs::Uid::from_raw(user), rustix::fs::Gid::from_raw(group));
        let _ = rustix::fs::fchown(file, Some(user), Some(group));
    }
}

/// Removes the temporary files of writers that died. What cannot be removed does no harm: it is never committed.
pub(super) fn clear_leftovers(steps: &Steps, folder: &OwnedFd) {
    let Ok(entries) = Dir::read_from(folder) else { return };
    for entry in entries.flatten() {
        let Ok(name) = entry.file_name().to_str() else { continue };
        let key = name.strip_prefix(".trunkline-").and_then(|rest| rest.strip_suffix(".tmp"));
        if !key.is_some_and(|key| key.len() == 16 && key.bytes().all(|byte| byte.is_ascii_hexdigit())) {
            continue;
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let Ok(file) = rustix::fs::openat(folder, name, flags, Mode::empty()) else { continue };
        let dead = rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
        if dead && steps.step("clear away", name).is_ok() {
            let _ = rustix::fs::unlinkat(folder, name, AtFlags::empty());
        }
    }
}
