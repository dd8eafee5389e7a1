//! Puts new bytes in the place of files, all of them whole or none at all.
//!
//! Temporary files beside them are written and flushed to the disk, and only then renamed, one after another. Everything
//! goes through open folders, so a folder that is swapped for a link meanwhile leads nowhere. What stands in the way after
//! the first rename makes the others come back from the bytes that were read before. A crash can leave some files as
//! before and others as after, and `.trunkline-….tmp` beside them, never half a file; the next write into that folder
//! clears the latter away.

mod folders;
mod temporary;

use std::collections::HashSet;
use std::os::fd::OwnedFd;

use rustix::fs::AtFlags;
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit, setrlimit};
use trunkline_agent_traits::resolve_queue::Outcome;

use self::folders::{Folders, flush};
pub(crate) use self::temporary::Guise;
use self::temporary::Temporary;
use crate::fingerprint;
use crate::root::{FileRead, Inside, Root, read_at};

/// How many files a reason tells of one by one.
const TOLD_FILES: usize = 20;

/// Said where files stay as they are because somebody else may be at them.
const NOT_ANY_MORE: &str = "the time for it was over, or the session was taken over";

/// One file, and what is to be there instead.
pub(crate) struct Change {
    pub(crate) inside: Inside,
    /// The digest of what is there; `None` if nothing is.
    pub(crate) before: Option<String>,
    /// What will be there; `None` if the file is to be gone.
    pub(crate) content: Option<Vec<u8>>,
    /// What the new file gets besides; `None` for what the old one has, or what the umask leaves.
    pub(crate) guise: Option<Guise>,
    /// So many of its folders go with a file that is to be gone, if they are empty.
    pub(crate) folders: usize,
}

/// Makes all changes, each only if its file is still as it was; `stop` is asked until the first file is replaced.
pub(crate) fn replace(root: &Root, changes: &[Change], stop: &dyn Fn() -> bool) -> Outcome {
    make(root, changes, stop, &|| true)
}

/// As [`replace`], for as long as `may` says so, which is asked before each file: then everything stays as it is, also half
/// of it, because somebody else may be at these files by now.
pub(crate) fn replace_while(root: &Root, changes: &[Change], may: &dyn Fn() -> bool) -> Outcome {
    make(root, changes, &|| !may(), may)
}

fn make(root: &Root, changes: &[Change], stop: &dyn Fn() -> bool, may: &dyn Fn() -> bool) -> Outcome {
    make_room(changes.len());
    let mut folders = Folders::new(root);
    let mut ready = Vec::with_capacity(changes.len());
    let written = prepare(root, changes, stop, &mut folders, &mut ready).and_then(|()| {
        // Until here nothing was touched; from here on what is done has to come back.
        if !may() {
            return Err(Ended::Undone(Undone(NOT_ANY_MORE.to_owned())));
        }
        let (done, ended) = swap(root, &ready, may);
        match ended {
            Ok(()) => Ok(()),
            Err(undone) => back(root, ready.get(..=done).unwrap_or(&ready), changes, undone, may),
        }
    });
    // Those that took their place have lost their old name.
    let flushed = match &written {
        Ok(()) => {
            for change in changes.iter().filter(|change| change.content.is_none() && may()) {
                prune(root, &change.inside, change.folders);
            }
            settle(root, &ready)
        }
        Err(_) => {
            for one in &ready {
                one.drop_temporary(root);
            }
            folders.unmake();
            Ok(())
        }
    };
    match (written, flushed) {
        (Ok(()), Ok(())) => Outcome::Applied,
        (Ok(()), Err(errno)) => Outcome::Unknown {
            reason: format!("it is written but may not survive a power cut: {}", std::io::Error::from(errno)),
        },
        (Err(Ended::Undone(Undone(reason))), _) => Outcome::Failed { reason },
        (Err(Ended::Torn(reason)), _) => Outcome::Unknown { reason },
    }
}

/// Lets this process open as many files as so many changes take at once: for each the new file, which is locked, and its
/// folder. Many systems let a program open 1,024 until it asks for more. Where that is refused the changes are.
fn make_room(changes: usize) {
    /// What all else may have open.
    const ELSE: u64 = 512;
    let wanted = u64::try_from(changes).unwrap_or(u64::MAX).saturating_mul(2).saturating_add(ELSE);
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|current| current < wanted) {
        limit.current = Some(limit.maximum.map_or(wanted, |most| most.min(wanted)));
        let _ = setrlimit(Resource::Nofile, limit);
    }
}

/// Clears away what dead writers left in the folder of a file.
pub(crate) fn clear(root: &Root, inside: &Inside) {
    // That the folder is missing, or cannot be opened, is for others to find.
    let _ = Folders::new(root).open(inside.split().0, false);
}

/// Takes away the innermost folders of a file that is gone, if nothing else is in them.
pub(crate) fn prune(root: &Root, inside: &Inside, folders: usize) {
    let mut inner = inside.split().0;
    for _ in 0..folders {
        let (outer, name) = inner.rsplit_once('/').unwrap_or(("", inner));
        if name.is_empty() {
            return;
        }
        let removed = root.open_folder(outer).and_then(|folder| {
            root.steps.step("remove the folder", inner)?;
            rustix::fs::unlinkat(&folder, name, AtFlags::REMOVEDIR)
        });
        // Gone already, or never made; those around it may be there.
        if !matches!(removed, Ok(()) | Err(Errno::NOENT)) {
            return;
        }
        inner = outer;
    }
}

/// Nothing was changed, or nothing is any more.
struct Undone(String);

impl Undone {
    fn new(what: &str, errno: Errno) -> Self {
        Undone(format!("{what}: {}", std::io::Error::from(errno)))
    }

    /// Says which file it is about, if there are several.
    fn of(self, change: &Change, all: &[Change]) -> Self {
        let path = change.inside.as_str();
        match all.len() {
            0 | 1 => self,
            _ if self.0.contains(path) => self,
            _ => Undone(format!("{path}: {}", self.0)),
        }
    }
}

/// How it ended if not well.
enum Ended {
    Undone(Undone),
    /// Some of it is done and could not be taken back.
    Torn(String),
}

/// A change whose new bytes lie beside its file.
struct Ready<'c> {
    change: &'c Change,
    folder: OwnedFd,
    old: Option<FileRead>,
    /// `None` for a file that is to be gone.
    temporary: Option<Temporary>,
}

/// Looks at all files, and writes all new bytes beside them.
fn prepare<'c>(
    root: &Root,
    changes: &'c [Change],
    stop: &dyn Fn() -> bool,
    folders: &mut Folders<'_>,
    ready: &mut Vec<Ready<'c>>,
) -> Result<(), Ended> {
    let stopped = || match stop() {
        true => Err(Ended::Undone(Undone("cancelled before anything was written".to_owned()))),
        false => Ok(()),
    };
    stopped()?;
    let mut olds = Vec::with_capacity(changes.len());
    for change in changes {
        let old = root.read(&change.inside).map_err(|error| Undone(error.to_string()));
        let old = old.and_then(|old| as_before(change, old)).map_err(|undone| undone.of(change, changes));
        olds.push(old.map_err(Ended::Undone)?);
    }
    for (change, old) in changes.iter().zip(olds) {
        stopped()?;
        let one = Ready::write(root, change, old, folders).map_err(|undone| undone.of(change, changes));
        ready.push(one.map_err(Ended::Undone)?);
    }
    // Once more, as late as possible: writing and flushing took a while.
    for one in ready.iter() {
        one.look(root).map_err(|undone| Ended::Undone(undone.of(one.change, changes)))?;
    }
    stopped()
}

/// Puts everything in its place. Returns how many are there, and what stood in the way of the next.
fn swap(root: &Root, ready: &[Ready<'_>], may: &dyn Fn() -> bool) -> (usize, Result<(), Undone>) {
    for (index, one) in ready.iter().enumerate() {
        // The first was looked at a moment ago; the others have waited for their turn.
        let seen = if index == 0 { Ok(()) } else { one.look(root) };
        let allowed = || if index == 0 || may() { Ok(()) } else { Err(Undone(NOT_ANY_MORE.to_owned())) };
        if let Err(undone) = seen.and_then(|()| allowed()).and_then(|()| one.put(root)) {
            return (index, Err(undone));
        }
    }
    (ready.len(), Ok(()))
}

/// Takes back what was put in place; the last of `tried` is what failed, and may have happened nevertheless.
fn back(
    root: &Root,
    tried: &[Ready<'_>],
    all: &[Change],
    undone: Undone,
    may: &dyn Fn() -> bool,
) -> Result<(), Ended> {
    let Some((failed, before_it)) = tried.split_last() else { return Err(Ended::Undone(undone)) };
    let undone = undone.of(failed.change, all);
    let mut stuck = Vec::new();
    for one in tried.iter().rev() {
        if !may() {
            let untouched = before_it.is_empty() && State::of(root, failed.change) == State::Before;
            let Undone(reason) = undone;
            return Err(match untouched {
                true => Ended::Undone(Undone(reason)),
                false if reason == NOT_ANY_MORE => Ended::Torn(format!("{reason}. Now {}", told(root, all))),
                false => Ended::Torn(format!("{reason}; and {NOT_ANY_MORE}. Now {}", told(root, all))),
            });
        }
        let found = State::of(root, one.change);
        let path = one.change.inside.as_str();
        // Where only the mode was changed the bytes do not tell; what came before the failure was put in its place.
        let same_bytes = one.change.before == one.change.content.as_deref().map(fingerprint::digest);
        let ended = match found {
            State::Before if same_bytes && !std::ptr::eq(one, failed) => one.put_back(root, may),
            State::Before => continue,
            State::After => one.put_back(root, may),
            // It was not touched, and is somebody else's by now.
            State::Other if std::ptr::eq(one, failed) => continue,
            State::Other => Err("somebody else has written it since".to_owned()),
        };
        if let Err(why) = ended {
            stuck.push(format!("{path}: {why}"));
        }
    }
    let Undone(reason) = undone;
    Err(match (stuck.is_empty(), before_it.is_empty()) {
        (true, true) => Ended::Undone(Undone(reason)),
        (true, false) => Ended::Undone(Undone(format!("{reason}; what was written before it was put back"))),
        (false, _) => Ended::Torn(format!(
            "{reason}; and not all could be put back ({}). Now {}",
            stuck.join("; "),
            told(root, all)
        )),
    })
}

/// Says of each file how it stands.
fn told(root: &Root, all: &[Change]) -> String {
    let told: Vec<String> = all
        .iter()
        .take(TOLD_FILES)
        .map(|change| format!("{} {}", change.inside.as_str(), State::of(root, change).told()))
        .collect();
    let more = match all.len().saturating_sub(TOLD_FILES) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    format!("{}{more}", told.join(", "))
}

/// Brings the new names to the disk.
fn settle(root: &Root, ready: &[Ready<'_>]) -> Result<(), Errno> {
    let mut flushed: HashSet<&str> = HashSet::new();
    for one in ready {
        if flushed.insert(one.change.inside.split().0) {
            root.steps.step("flush the folder of", one.change.inside.as_str())?;
            flush(&one.folder)?;
        }
    }
    Ok(())
}

impl<'c> Ready<'c> {
    fn write(
        root: &Root,
        change: &'c Change,
        old: Option<FileRead>,
        folders: &mut Folders<'_>,
    ) -> Result<Self, Undone> {
        let make = change.before.is_none() && change.content.is_some();
        let folder = folders
            .open(change.inside.split().0, make)
            .map_err(|errno| Undone::new("its folder cannot be opened", errno))?;
        let temporary = match &change.content {
            Some(content) => {
                let old = old.as_ref().map(|old| Guise::for_new_bytes(&old.stat));
                let guise = change.guise.map(|guise| guise.or_owner(old)).or(old);
                let path = change.inside.as_str();
                Some(Temporary::write(&root.steps, &folder, path, content, guise)?)
            }
            None => None,
        };
        Ok(Ready { change, folder, old, temporary })
    }

    /// Checks that the file is as it was, in a folder that is still where it was.
    fn look(&self, root: &Root) -> Result<(), Undone> {
        let (parent, name) = self.change.inside.split();
        let moved = |errno| Undone::new("its folder cannot be opened any more", errno);
        let now = root.open_folder(parent).map_err(moved)?;
        let (now, then) =
            (rustix::fs::fstat(now).map_err(moved)?, rustix::fs::fstat(&self.folder).map_err(moved)?);
        if (now.st_dev, now.st_ino) != (then.st_dev, then.st_ino) {
            return Err(Undone("another folder is in the place of its own".to_owned()));
        }
        let found = read_at(&self.folder, name, self.change.inside.as_str());
        as_before(self.change, found.map_err(|error| Undone(error.to_string()))?).map(drop)
    }

    fn put(&self, root: &Root) -> Result<(), Undone> {
        let path = self.change.inside.as_str();
        let name = self.change.inside.split().1;
        let (folder, steps) = (&self.folder, &root.steps);
        match (&self.temporary, &self.change.before) {
            (Some(temporary), Some(_)) => steps
                .step("replace", path)
                .and_then(|()| rustix::fs::renameat(folder, &temporary.name, folder, name))
                .map_err(|errno| Undone::new("it cannot be replaced", errno)),
            (Some(temporary), None) => steps
                .step("put", path)
                .and_then(|()| put_new(folder, &temporary.name, name))
                .map_err(|errno| match errno {
                    Errno::EXIST => Undone(format!("{name} exists now")),
                    errno => Undone::new("it cannot be put in its place", errno),
                }),
            (None, _) => steps
                .step("remove", path)
                .and_then(|()| rustix::fs::unlinkat(folder, name, AtFlags::empty()))
                .map_err(|errno| Undone::new("it cannot be removed", errno)),
        }
    }

    /// Makes the file what it was before.
    fn put_back(&self, root: &Root, may: &dyn Fn() -> bool) -> Result<(), String> {
        let change = Change {
            inside: self.change.inside.clone(),
            before: self.change.content.as_deref().map(fingerprint::digest),
            content: self.old.as_ref().map(|old| old.bytes.clone()),
            guise: self.old.as_ref().map(|old| Guise::for_old_bytes(&old.stat)),
            // Those that were made are taken away with the others.
            folders: 0,
        };
        match make(root, &[change], &|| false, may) {
            Outcome::Applied => Ok(()),
            Outcome::Failed { reason } | Outcome::Unknown { reason } => Err(reason),
        }
    }

    fn drop_temporary(&self, root: &Root) {
        if let Some(temporary) = &self.temporary {
            temporary.remove(&root.steps, &self.folder, self.change.inside.as_str());
        }
    }
}

/// How a file stands, next to its change.
#[derive(Copy, Clone, PartialEq, Eq)]
enum State {
    Before,
    After,
    Other,
}

impl State {
    fn of(root: &Root, change: &Change) -> Self {
        let Ok(found) = root.read(&change.inside) else { return State::Other };
        let found = found.map(|found| fingerprint::digest(&found.bytes));
        if found == change.before {
            State::Before
        } else if found == change.content.as_deref().map(fingerprint::digest) {
            State::After
        } else {
            State::Other
        }
    }

    fn told(self) -> &'static str {
        match self {
            State::Before => "is as before",
            State::After => "is as after",
            State::Other => "is neither as before nor as after",
        }
    }
}

/// Checks that what was found is what a change was made for.
fn as_before(change: &Change, found: Option<FileRead>) -> Result<Option<FileRead>, Undone> {
    let path = change.inside.as_str();
    match (&change.before, found) {
        (None, None) => Ok(None),
        (None, Some(_)) => Err(Undone(format!("{path} exists now"))),
        (Some(_), None) => Err(Undone(format!("{path} is gone"))),
        (Some(before), Some(found)) if fingerprint::digest(&found.bytes) == *before => Ok(Some(found)),
        (Some(_), Some(_)) => Err(Undone(format!("{path} has changed since the proposal was made"))),
    }
}

/// Gives the temporary file its name without ever replacing something.
fn put_new(folder: &OwnedFd, temporary: &str, name: &str) -> Result<(), Errno> {
    match rename_new(folder, temporary, name) {
        // Not every kernel and file system has it; a hard link does the same in two steps.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            rustix::fs::linkat(folder, temporary, folder, name, AtFlags::empty())
                .and_then(|()| rustix::fs::unlinkat(folder, temporary, AtFlags::empty()).or(Ok(())))
        }
        put => put,
    }
}

#[cfg(any(target_os = "linux", target_vendor = "apple"))]
fn rename_new(folder: &OwnedFd, temporary: &str, name: &str) -> Result<(), Errno> {
    rustix::fs::renameat_with(folder, temporary, folder, name, rustix::fs::RenameFlags::NOREPLACE)
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
fn rename_new(_folder: &OwnedFd, _temporary: &str, _name: &str) -> Result<(), Errno> {
    Err(Errno::NOSYS)
}
