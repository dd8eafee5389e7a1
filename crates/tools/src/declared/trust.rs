//! Which declared tools a person has trusted: kept outside of every project, and bound to what was looked at.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};

use super::DeclaredTool;

/// The largest file of trusted tools.
const LARGEST: u64 = 4 << 20;
const VERSION: u32 = 1;

/// The file in which a person's trust in declared tools is kept.
///
/// It belongs beside a person's other data, never into a project: whoever may write it decides what is trusted. Several
/// processes may use it at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustedTools {
    path: PathBuf,
}

/// How a declared tool stands.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "what is not known to be trusted must not be offered")]
pub enum Trust {
    /// A person has trusted exactly this.
    Given,
    /// A person has trusted what has changed since; says what.
    Over(String),
    /// Nobody has trusted it.
    None,
}

/// Why nothing can be said of trust, or it cannot be changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrustError {
    /// It lies in the project, where the model may write.
    #[error("the file of trusted tools {} lies inside the project, so it proves nothing", path.display())]
    InProject {
        /// The file.
        path: PathBuf,
    },
    /// Others may write it.
    #[error("{} could have been written by others ({why})", path.display())]
    OpenToOthers {
        /// The file, or its folder.
        path: PathBuf,
        /// How.
        why: &'static str,
    },
    /// It does not hold what it should.
    #[error("the file of trusted tools {} cannot be understood: {why}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was found.
        why: String,
    },
    /// It cannot be read or written.
    #[error("the file of trusted tools {} cannot be used", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is not what was looked at.
    #[error("{name} is not what was shown any more; look at it again")]
    Changed {
        /// The tool.
        name: String,
    },
    /// What the tool stands on cannot be read.
    #[error("{name} cannot be trusted: {why}")]
    Unread {
        /// The tool.
        name: String,
        /// Why.
        why: String,
    },
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    version: u32,
    tools: Vec<Entry>,
}

/// What was trusted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    folder: String,
    name: String,
    /// In milliseconds since the Unix epoch.
    trusted_at: u64,
    definition: String,
    program: String,
    files: Vec<SeenFile>,
}

/// What a person has looked at when they trusted a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// The SHA-256 of the definition.
    pub(crate) definition: String,
    /// What is started.
    pub(crate) program: String,
    /// What of the project it stands on.
    pub(crate) files: Vec<SeenFile>,
}

/// A file that a tool stands on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SeenFile {
    pub(crate) path: String,
    pub(crate) sha256: String,
}

impl TrustedTools {
    /// Names the file; it need not be there yet.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        TrustedTools { path: path.into() }
    }

    /// Returns the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Says how a tool stands: whether a person has trusted its definition and all that it stands on as they are now.
    ///
    /// # Errors
    ///
    /// [`TrustError::InProject`], [`TrustError::OpenToOthers`], [`TrustError::Damaged`], [`TrustError::Io`].
    pub fn trust(&self, tool: &DeclaredTool) -> Result<Trust, TrustError> {
        self.outside(tool)?;
        let Some(entry) = self.read()?.tools.into_iter().find(|entry| entry.is_of(tool)) else {
            return Ok(Trust::None);
        };
        if entry.definition != tool.definition_digest() {
            return Ok(Trust::Over("its definition".to_owned()));
        }
        // Only now is read what it stands on: a definition that nobody has trusted has nothing digested.
        let now = match tool.seen() {
            Ok(now) => now,
            Err(why) => return Ok(Trust::Over(why)),
        };
        if entry.program != now.program {
            return Ok(Trust::Over(format!(
                "what is started, which was {}",
                crate::shown::line(&entry.program, 200)
            )));
        }
        if entry.files == now.files {
            return Ok(Trust::Given);
        }
        let differs = |file: &&SeenFile| !entry.files.contains(*file);
        let gone = |file: &&SeenFile| !now.files.iter().any(|one| one.path == file.path);
        let changed = now.files.iter().filter(differs).chain(entry.files.iter().filter(gone));
        let names: Vec<String> = changed.map(|file| crate::shown::line(&file.path, 100)).collect();
        Ok(Trust::Over(names.join(", ")))
    }

    /// Trusts a tool on behalf of a person who has looked at it, when its [`digest`](DeclaredTool::digest) was this; `at` is in
    /// milliseconds since the Unix epoch.
    ///
    /// # Errors
    ///
    /// [`TrustError::Changed`] if it is another one by now; all others too.
    pub fn give(&self, tool: &DeclaredTool, digest: &str, at: u64) -> Result<(), TrustError> {
        self.outside(tool)?;
        let name = || tool.name().to_owned();
        let seen = tool.seen().map_err(|why| TrustError::Unread { name: name(), why })?;
        if tool.digest_of(&seen) != digest {
            return Err(TrustError::Changed { name: name() });
        }
        let Seen { definition, program, files } = seen;
        let folder = tool.folder().to_owned();
        let entry = Entry { folder, name: name(), trusted_at: at, definition, program, files };
        self.change(|kept| {
            kept.retain(|one| !one.is_of(tool));
            kept.push(entry);
        })
    }

    /// Takes back the trust in a tool of a project's folder, also of one that is not declared any more. Returns whether there was any.
    ///
    /// # Errors
    ///
    /// [`TrustError::OpenToOthers`], [`TrustError::Damaged`], [`TrustError::Io`].
    pub fn take_back(&self, folder: &str, name: &str) -> Result<bool, TrustError> {
        let is_it = |entry: &Entry| entry.folder == folder && entry.name == name;
        if !self.read()?.tools.iter().any(is_it) {
            return Ok(false);
        }
        self.change(|kept| kept.retain(|entry| !is_it(entry)))?;
        Ok(true)
    }

    /// Returns the names of the tools in a project's folder that were trusted once.
    ///
    /// # Errors
    ///
    /// [`TrustError::OpenToOthers`], [`TrustError::Damaged`], [`TrustError::Io`].
    pub fn named(&self, folder: &str) -> Result<Vec<String>, TrustError> {
        let kept = self.read()?.tools.into_iter();
        Ok(kept.filter(|entry| entry.folder == folder).map(|entry| entry.name).collect())
    }

    /// Refuses a file that lies where the model may write.
    fn outside(&self, tool: &DeclaredTool) -> Result<(), TrustError> {
        // The folder may not be there yet; then the nearest one that is.
        let mut folders = self.path.ancestors().skip(1);
        let found = folders.find_map(|folder| fs::canonicalize(folder).ok());
        match found.is_some_and(|folder| folder.starts_with(tool.folder())) {
            true => Err(TrustError::InProject { path: self.path.clone() }),
            false => Ok(()),
        }
    }

    fn read(&self) -> Result<Kept, TrustError> {
        let io = |source| TrustError::Io { path: self.path.clone(), source };
        let damaged = |why: String| TrustError::Damaged { path: self.path.clone(), why };
        let file = match OpenOptions::new().read(true).custom_flags(no_wait()).open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Kept::default()),
            Err(error) => return Err(io(error)),
        };
        let found = file.metadata().map_err(io)?;
        if !found.is_file() {
            return Err(damaged("it is no file".to_owned()));
        }
        self.is_ours(&self.path, found.uid(), found.mode())?;
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        let around = fs::metadata(folder).map_err(io)?;
        self.is_ours(folder, around.uid(), around.mode())?;
        let mut text = String::new();
        file.take(LARGEST + 1).read_to_string(&mut text).map_err(io)?;
        if u64::try_from(text.len()).unwrap_or(u64::MAX) > LARGEST {
            return Err(damaged(format!("it has more than {LARGEST} bytes")));
        }
        let kept: Kept = serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))?;
        match kept.version {
            VERSION => Ok(kept),
            version => Err(damaged(format!("it has version {version}; this program knows {VERSION}"))),
        }
    }

    /// Refuses what another user could have written.
    fn is_ours(&self, path: &Path, owner: u32, mode: u32) -> Result<(), TrustError> {
        let why = match () {
            () if owner != rustix::process::geteuid().as_raw() && owner != 0 => "it belongs to another user",
            () if mode & 0o022 != 0 => "its mode lets others write",
            () => return Ok(()),
        };
        Err(TrustError::OpenToOthers { path: path.to_owned(), why })
    }

    /// Changes what is kept: whole or not at all, one process after another.
    fn change(&self, change: impl FnOnce(&mut Vec<Entry>)) -> Result<(), TrustError> {
        let io = |source| TrustError::Io { path: self.path.clone(), source };
        let folder =
            self.path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(io)?;
        // Also where the file is not there yet: what is written into a folder of others is not believed afterwards.
        let around = fs::metadata(folder).map_err(io)?;
        self.is_ours(folder, around.uid(), around.mode())?;
        let mut lock = self.path.clone().into_os_string();
        lock.push(".lock");
        let lock =
            OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(lock).map_err(io)?;
        // It ends with the process, however that ends.
        rustix::fs::flock(&lock, FlockOperation::LockExclusive).map_err(|errno| io(errno.into()))?;
        let mut kept = self.read()?;
        kept.version = VERSION;
        change(&mut kept.tools);
        kept.tools.sort_by(|one, other| (&one.folder, &one.name).cmp(&(&other.folder, &other.name)));
        let mut text = serde_json::to_vec_pretty(&kept).map_err(|error| io(error.into()))?;
        text.push(b'\n');
        // Private by itself, and in the same folder so that it can be renamed.
        let mut new = tempfile::NamedTempFile::new_in(folder).map_err(io)?;
        new.write_all(&text).map_err(io)?;
        new.as_file().sync_all().map_err(io)?;
        new.persist(&self.path).map_err(|error| io(error.error))?;
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(io)
    }
}

impl Entry {
    fn is_of(&self, tool: &DeclaredTool) -> bool {
        self.folder == tool.folder() && self.name == tool.name()
    }
}

/// A pipe in its place would keep the reader waiting.
fn no_wait() -> i32 {
    i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or(0)
}
