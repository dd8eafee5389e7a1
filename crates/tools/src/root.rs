//! The folder that file tools are held in.
//!
//! A path is first resolved by name, so that a refusal can say why, and then opened component by component from
//! the root's own handle without following any link. A link that is swapped in between is an error, not a way out.

use std::fs;
use std::io::{self, ErrorKind, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::steps::Steps;
use crate::{ToolsError, shown};

/// No text that is read or written may be larger; a model cannot use more, and it has to fit into a session's log.
pub(crate) const MAX_FILE_BYTES: u64 = 10_000_000;

/// An open workspace folder.
#[derive(Debug)]
pub(crate) struct Root {
    /// Canonical.
    path: PathBuf,
    /// As it was given, made absolute: absolute paths may begin with either.
    given: PathBuf,
    folder: OwnedFd,
    /// Where tests step in.
    pub(crate) steps: Steps,
}

/// A place inside the root: canonical, relative, with `/`, in UTF-8; empty for the root itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Inside(String);

/// A file's bytes and what the file system says of it.
pub(crate) struct FileRead {
    pub(crate) bytes: Vec<u8>,
    pub(crate) stat: Stat,
}

/// Why a path cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PathError {
    #[error("the path is empty")]
    Empty,
    #[error("{path} leads out of the workspace {root}")]
    Outside { path: String, root: String },
    #[error("there is no {path} in the workspace")]
    Missing { path: String },
    #[error("{path} is a symbolic link; name the file that it points to")]
    Link { path: String },
    #[error("{path} is {kind}, not a file")]
    NotAFile { path: String, kind: &'static str },
    #[error("{path} is not a folder")]
    NotAFolder { path: String },
    #[error("{path} lies in .git, where file tools do not write")]
    GitFolder { path: String },
    #[error("{path} has {bytes} bytes; the limit is {MAX_FILE_BYTES}")]
    TooLarge { path: String, bytes: u64 },
    #[error("{path} is not text: it is not valid UTF-8 from byte {at} on")]
    NotText { path: String, at: usize },
    #[error("the name of {path} is not valid UTF-8")]
    NameNotText { path: String },
    #[error("{path} cannot be used: {source}")]
    Io { path: String, source: io::Error },
}

impl From<PathError> for String {
    fn from(error: PathError) -> Self {
        // The path in it is what a model wrote.
        shown::name(&error.to_string())
    }
}

impl Root {
    pub(crate) fn open(given: &Path) -> Result<Self, ToolsError> {
        let fault = |source| ToolsError::Root { path: given.to_owned(), source };
        let path = fs::canonicalize(given).map_err(fault)?;
        if !path.is_dir() {
            return Err(ToolsError::NotAFolder { path });
        }
        // What is written there a person decides on, and is known by the folder's name in its path: seen from inside it has none.
        if path.components().any(|name| name.as_os_str().eq_ignore_ascii_case(crate::command::kept::FOLDER)) {
            return Err(ToolsError::InDeclarations { path });
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(&path, flags, Mode::empty()).map_err(|errno| fault(errno.into()))?;
        let given = std::path::absolute(given).map_err(fault)?;
        Ok(Root { path, given, folder, steps: Steps::default() })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns where an existing file or folder is; links that stay inside are followed.
    pub(crate) fn existing(&self, text: &str) -> Result<Inside, PathError> {
        let request = self.request(text)?;
        let found = fs::canonicalize(self.path.join(request)).map_err(|source| self.io(text, source))?;
        self.inside(text, &found)
    }

    /// Returns where a file may be written. Folders on the way may be missing; the file itself may not be a link.
    pub(crate) fn place(&self, text: &str) -> Result<Inside, PathError> {
        let request = self.request(text)?;
        let folder = || PathError::NotAFile { path: text.to_owned(), kind: "a folder" };
        if text.ends_with('/') {
            return Err(folder());
        }
        let mut missing = vec![request.file_name().ok_or_else(folder)?.to_owned()];
        let mut parent = self.path.join(request.parent().unwrap_or(Path::new("")));
        let found = loop {
            match fs::canonicalize(&parent) {
                Ok(found) => break found,
                // A link that points nowhere may point out of the workspace once somebody makes its target.
                Err(_) if parent.is_symlink() => return Err(PathError::Link { path: text.to_owned() }),
                Err(error) if error.kind() == ErrorKind::NotFound && parent != self.path => {
                    let name = parent.file_name().ok_or_else(|| self.outside(text))?.to_owned();
                    missing.push(name);
                    parent.pop();
                }
                Err(source) => return Err(self.io(text, source)),
            }
        };
        let full: PathBuf =
            std::iter::once(found.as_os_str().to_owned()).chain(missing.into_iter().rev()).collect();
        let inside = self.inside(text, &full)?;
        if inside.0.split('/').any(|name| name.eq_ignore_ascii_case(".git")) {
            return Err(PathError::GitFolder { path: text.to_owned() });
        }
        match fs::symlink_metadata(&full) {
            Ok(found) if found.is_symlink() => Err(PathError::Link { path: text.to_owned() }),
            Ok(found) if found.is_dir() => Err(folder()),
            _ => Ok(inside),
        }
    }

    /// Returns an existing folder.
    pub(crate) fn folder(&self, text: &str) -> Result<Inside, PathError> {
        let inside = self.existing(text)?;
        if !self.full(&inside).is_dir() {
            return Err(PathError::NotAFolder { path: text.to_owned() });
        }
        Ok(inside)
    }

    /// Returns the absolute path of a place.
    pub(crate) fn full(&self, inside: &Inside) -> PathBuf {
        if inside.0.is_empty() { self.path.clone() } else { self.path.join(&inside.0) }
    }

    /// Reads a regular file of bounded size; `None` if nothing is there.
    pub(crate) fn read(&self, inside: &Inside) -> Result<Option<FileRead>, PathError> {
        let (parent, name) = inside.split();
        match self.open_folder(parent) {
            Ok(folder) if name.is_empty() => read_at(&folder, ".", "."),
            Ok(folder) => read_at(&folder, name, inside.as_str()),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(self.io(inside.as_str(), errno.into())),
        }
    }

    /// Returns device and number of a file that has one name only; `None` for others, and if nothing is there.
    ///
    /// Where names differ by case alone, or by how their letters are composed, two of them can be one file.
    pub(crate) fn identity(&self, inside: &Inside) -> Option<(u64, u64)> {
        let found = fs::symlink_metadata(self.full(inside)).ok()?;
        (found.nlink() == 1).then(|| (found.dev(), found.ino()))
    }

    /// Returns how many of the folders that a place lies in are not there.
    pub(crate) fn missing_folders(&self, inside: &Inside) -> usize {
        let parents = Path::new(inside.as_str()).ancestors().skip(1);
        parents.take_while(|parent| fs::symlink_metadata(self.path.join(parent)).is_err()).count()
    }

    /// Returns the permission bits of a file, nine of them.
    pub(crate) fn mode(&self, inside: &Inside) -> Option<u32> {
        Some(fs::symlink_metadata(self.full(inside)).ok()?.mode() & 0o777)
    }

    /// Reads a file as text.
    pub(crate) fn read_text(&self, inside: &Inside) -> Result<Option<String>, PathError> {
        let Some(read) = self.read(inside)? else { return Ok(None) };
        let not_text = |error: std::string::FromUtf8Error| PathError::NotText {
            path: inside.0.clone(),
            at: error.utf8_error().valid_up_to(),
        };
        String::from_utf8(read.bytes).map(Some).map_err(not_text)
    }

    /// Opens a folder inside the root without following any link; the root itself for the empty path.
    pub(crate) fn open_folder(&self, relative: &str) -> Result<OwnedFd, Errno> {
        let mut folder = open_folder_at(&self.folder, ".")?;
        for name in relative.split('/').filter(|name| !name.is_empty()) {
            folder = open_folder_at(&folder, name)?;
        }
        Ok(folder)
    }

    /// Returns the request relative to the root, refusing what leads out by its spelling alone.
    fn request<'t>(&self, text: &'t str) -> Result<&'t Path, PathError> {
        if text.trim().is_empty() {
            return Err(PathError::Empty);
        }
        let path = Path::new(text);
        let path = if path.is_absolute() {
            path.strip_prefix(&self.path)
                .or_else(|_| path.strip_prefix(&self.given))
                .map_err(|_| self.outside(text))?
        } else {
            path
        };
        let mut depth = 0_usize;
        for component in path.components() {
            match component {
                Component::Normal(_) => depth += 1,
                Component::CurDir => {}
                Component::ParentDir => depth = depth.checked_sub(1).ok_or_else(|| self.outside(text))?,
                Component::RootDir | Component::Prefix(_) => return Err(self.outside(text)),
            }
        }
        Ok(path)
    }

    fn inside(&self, text: &str, found: &Path) -> Result<Inside, PathError> {
        let relative = found.strip_prefix(&self.path).map_err(|_| self.outside(text))?;
        match relative.to_str() {
            Some(relative) => Ok(Inside(relative.to_owned())),
            None => Err(PathError::NameNotText { path: text.to_owned() }),
        }
    }

    fn outside(&self, text: &str) -> PathError {
        PathError::Outside { path: text.to_owned(), root: self.path.display().to_string() }
    }

    fn io(&self, text: &str, source: io::Error) -> PathError {
        match source.kind() {
            ErrorKind::NotFound => PathError::Missing { path: text.to_owned() },
            _ => PathError::Io { path: text.to_owned(), source },
        }
    }
}

impl Inside {
    /// Takes a name that a walk below the root has found.
    pub(crate) fn found(relative: &Path) -> Option<Self> {
        relative.to_str().map(|relative| Inside(relative.to_owned()))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the folder and the name in it.
    pub(crate) fn split(&self) -> (&str, &str) {
        self.0.rsplit_once('/').unwrap_or(("", &self.0))
    }
}

/// Opens a folder that is not a link.
pub(crate) fn open_folder_at(folder: &OwnedFd, name: &str) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(folder, name, flags, Mode::empty())
}

/// Reads a regular file in an open folder, following no link; `None` if nothing is there.
pub(crate) fn read_at(folder: &OwnedFd, name: &str, path: &str) -> Result<Option<FileRead>, PathError> {
    let io = |errno: Errno| PathError::Io { path: path.to_owned(), source: errno.into() };
    // Looked at before it is opened: opening a device can already do something.
    match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => admit(&stat, path)?,
        Err(Errno::NOENT) => return Ok(None),
        Err(errno) => return Err(io(errno)),
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = match rustix::fs::openat(folder, name, flags, Mode::empty()) {
        Ok(file) => file,
        Err(Errno::NOENT) => return Ok(None),
        Err(errno) => return Err(io(errno)),
    };
    let stat = rustix::fs::fstat(&file).map_err(io)?;
    admit(&stat, path)?;
    let mut bytes = Vec::new();
    let source = |source| PathError::Io { path: path.to_owned(), source };
    // One more than the limit: the file may grow while it is read, and some say 0 and have more.
    fs::File::from(file).take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(source)?;
    let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    if length > MAX_FILE_BYTES {
        return Err(PathError::TooLarge { path: path.to_owned(), bytes: length });
    }
    Ok(Some(FileRead { bytes, stat }))
}

fn admit(stat: &Stat, path: &str) -> Result<(), PathError> {
    let path = || path.to_owned();
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {
            let bytes = u64::try_from(stat.st_size).unwrap_or(0);
            if bytes > MAX_FILE_BYTES {
                return Err(PathError::TooLarge { path: path(), bytes });
            }
            return Ok(());
        }
        FileType::Symlink => return Err(PathError::Link { path: path() }),
        FileType::Directory => "a folder",
        FileType::Fifo => "a named pipe",
        FileType::Socket => "a socket",
        _ => "a device",
    };
    Err(PathError::NotAFile { path: path(), kind })
}
