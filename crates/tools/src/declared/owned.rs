//! What of the project a tool stands on: its program, if the project owns it, and files that its definition names.
//!
//! Trust in a definition says nothing while somebody can put another script in the place of the one that it starts.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use sha2::{Digest, Sha256};

use super::definition::{Definition, Word};
use crate::command::{Sandbox, absolute_path};
use crate::root::{Inside, Root};
use crate::shown;

/// The largest file that is digested: before each call.
const LARGEST: u64 = 64 << 20;

/// What a tool starts, and what of the project it stands on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owned {
    /// What is started: absolute, as it was found. A program may go by the name under which it is started.
    pub(crate) start: PathBuf,
    /// What that is: links resolved.
    pub(crate) program: PathBuf,
    /// Files of the project, by their names in it, in order.
    pub(crate) files: Vec<String>,
}

/// Finds what a definition names.
pub(super) fn find(root: &Root, sandbox: &Sandbox, definition: &Definition) -> Result<Owned, String> {
    let (start, program) = program(root, sandbox, &definition.program)?;
    let mut files = Vec::new();
    if let Some(inside) = inside(root, &program) {
        files.push(inside?);
    }
    for word in named(definition) {
        // A script that an interpreter is given, a configuration: whatever of the project is named is part of it.
        if let Ok(found) = root.existing(word)
            && root.full(&found).is_file()
        {
            files.push(found.as_str().to_owned());
        } else if leads_out(root, word) {
            return Err(format!("{} is a link that leads out of the project", shown::line(word, 100)));
        }
    }
    for name in &definition.files {
        let found = root.existing(name).map_err(|error| format!("files: {}", String::from(error)))?;
        if !root.full(&found).is_file() {
            return Err(format!("files names {}, which is no file", shown::name(name)));
        }
        files.push(found.as_str().to_owned());
    }
    files.sort();
    files.dedup();
    Ok(Owned { start, program, files })
}

/// Returns what the words of a command name that looks like a file of the project and is not there.
pub(super) fn missing<'d>(root: &Root, definition: &'d Definition) -> Vec<&'d str> {
    let is_missing = |word: &&str| {
        let is_relative = !word.starts_with(['-', '/']) && !word.contains('=') && word.contains(['.', '/']);
        is_relative && root.place(word).is_ok_and(|place| fs::symlink_metadata(root.full(&place)).is_err())
    };
    named(definition).filter(is_missing).collect()
}

/// Returns what may be the name of a file in the words of a command: a word, and what stands behind the `=` of one.
fn named(definition: &Definition) -> impl Iterator<Item = &str> {
    let plain = definition.words.iter().filter_map(|word| match word {
        Word::Plain(word) => Some(word.as_str()),
        Word::Given { .. } => None,
    });
    plain.flat_map(|word| [Some(word), word.split_once('=').map(|(_, value)| value)]).flatten()
}

/// Returns where a program is, as it is found and with links resolved.
fn program(root: &Root, sandbox: &Sandbox, named: &str) -> Result<(PathBuf, PathBuf), String> {
    let shown = shown::line(named, 100);
    let cannot = |error: io::Error| format!("the program {shown} cannot be used: {error}");
    let (start, found) = if !named.contains('/') {
        let path = absolute_path();
        let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
        let mut there: Vec<PathBuf> =
            folders.iter().map(|folder| folder.join(named)).filter(|path| is_program(path)).collect();
        // A program goes by the name under which it is started, so a link to it must not stand where a command can make one.
        let unsafe_place = there.first().and_then(|path| written_by_commands(root, sandbox, path));
        there.retain(|path| written_by_commands(root, sandbox, path).is_none());
        let there = there.into_iter().next().ok_or_else(|| match unsafe_place {
            Some(folder) => lies_in(&shown, &folder),
            None => format!(
                "there is no program {shown} on the PATH; one of the project is written with its folder, such as ./{shown}"
            ),
        })?;
        let found = fs::canonicalize(&there).map_err(cannot)?;
        (there, found)
    } else if Path::new(named).is_absolute() {
        let (start, found) = (PathBuf::from(named), fs::canonicalize(named).map_err(cannot)?);
        let folder = start.parent().and_then(|folder| fs::canonicalize(folder).ok()).unwrap_or_default();
        if folder.starts_with(root.path()) && !found.starts_with(root.path()) {
            return Err(format!("the program {shown} is a link that leads out of the project"));
        }
        (start, found)
    } else {
        let found = root.full(&root.existing(named)?);
        // Without the `.` of `./lint.sh`, which the program would be told as its name.
        (root.path().join(named).components().collect(), found)
    };
    if !is_program(&found) {
        return Err(format!("{shown} is no file that may be executed; `chmod +x` makes it one"));
    }
    if !found.starts_with(root.path())
        && let Some(folder) = sandbox.writable_beside(root.path()).find(|folder| found.starts_with(folder))
    {
        return Err(lies_in(&shown, &folder));
    }
    Ok((start, found))
}

/// Whether a word names something in the project that is, or stands behind, a link to elsewhere: nothing binds what is there.
fn leads_out(root: &Root, word: &str) -> bool {
    let inside =
        Path::new(word).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    let found = fs::canonicalize(root.path().join(word)).ok().filter(|_| inside);
    found.is_some_and(|found| !found.starts_with(root.path()))
}

/// Returns the folder in which a path stands, as far as every command may write there.
fn written_by_commands(root: &Root, sandbox: &Sandbox, path: &Path) -> Option<PathBuf> {
    let folder = fs::canonicalize(path.parent()?).ok()?;
    let beside = sandbox.writable_beside(root.path()).find(|writable| folder.starts_with(writable));
    beside.or_else(|| folder.starts_with(root.path()).then(|| root.path().to_owned()))
}

fn lies_in(shown: &str, folder: &Path) -> String {
    format!(
        "the program {shown} lies in {}, where every command may write",
        shown::name(&folder.display().to_string())
    )
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// Returns the name of a file in the project; `None` if it is elsewhere.
fn inside(root: &Root, path: &Path) -> Option<Result<String, String>> {
    let relative = path.strip_prefix(root.path()).ok()?;
    let name = relative.to_str().map(str::to_owned);
    Some(name.ok_or_else(|| format!("the name of {} is not UTF-8", shown::name(&path.display().to_string()))))
}

/// Returns the SHA-256 of a file of the project, as 64 hexadecimal digits.
pub(super) fn digest(root: &Root, name: &str) -> Result<String, String> {
    let cannot = |error: io::Error| format!("{} cannot be read: {error}", shown::name(name));
    let place = Inside::found(Path::new(name)).ok_or_else(|| format!("{} is no name", shown::name(name)))?;
    let (folder, last) = place.split();
    let folder = root.open_folder(folder).map_err(|errno| cannot(errno.into()))?;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = rustix::fs::openat(&folder, OsStr::new(last), flags, Mode::empty());
    let file = File::from(file.map_err(|errno| cannot(errno.into()))?);
    if !file.metadata().map_err(cannot)?.is_file() {
        return Err(format!("{} is no file", shown::name(name)));
    }
    let (mut seen, mut bytes) = (Sha256::new(), 0_u64);
    let mut file = file.take(LARGEST + 1);
    let mut buffer = vec![0_u8; 1 << 16];
    loop {
        let length = file.read(&mut buffer).map_err(cannot)?;
        if length == 0 {
            break;
        }
        bytes += u64::try_from(length).unwrap_or(u64::MAX);
        seen.update(buffer.get(..length).unwrap_or_default());
    }
    match bytes > LARGEST {
        true => Err(format!("{} has more than {LARGEST} bytes", shown::name(name))),
        false => Ok(seen.finalize().iter().map(|byte| format!("{byte:02x}")).collect()),
    }
}
