//! Our store on SQLite for the kit that any store can run, on a disk that fails or kills at any write.

use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::Command;

use async_trait::async_trait;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use trunkline_session_store::kit::{self, Handle, Options, Place, Report, Subject};
use trunkline_session_store::{SqliteOptions, SqliteStore, StoreError};

use crate::disk::{Files, folder};
use crate::recorder::{Failure, Fault, Operation, Recorder};

/// What goes to the disk. Files that cannot be made or cut are a failing disk as well, but not a full one.
const ALL: &[Operation] =
    &[Operation::Write, Operation::Sync, Operation::Resize, Operation::Create, Operation::Delete];

/// SQLite on such a disk.
#[derive(Debug)]
pub struct SqliteOnDisk {
    runtime: Runtime,
    program: PathBuf,
    stride: u64,
}

impl SqliteOnDisk {
    /// Returns the subject. `program` is one that does [`write_for_ever`] if it is called with `writer` and what that wants.
    ///
    /// # Errors
    ///
    /// There is no room for a runtime.
    pub fn new(program: impl Into<PathBuf>) -> std::io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        Ok(SqliteOnDisk { runtime, program: program.into(), stride: 1 })
    }

    /// Fails or kills at every `stride`th write only, from the first on.
    #[must_use]
    pub fn every(mut self, stride: u64) -> Self {
        self.stride = stride.max(1);
        self
    }
}

impl Subject for SqliteOnDisk {
    fn name(&self) -> String {
        "sqlite".to_owned()
    }

    fn place(&self) -> Result<Box<dyn Place>, String> {
        let folder = folder().map_err(|error| error.to_string())?;
        Ok(Box::new(Folder { folder, program: self.program.clone(), stride: self.stride }))
    }

    fn block_on(&self, what: Pin<Box<dyn Future<Output = ()> + '_>>) {
        self.runtime.block_on(what);
    }
}

struct Folder {
    folder: TempDir,
    program: PathBuf,
    stride: u64,
}

impl Folder {
    fn path(&self) -> PathBuf {
        self.folder.path().join("sessions.db")
    }
}

#[async_trait]
impl Place for Folder {
    async fn open(&self) -> Result<Handle, StoreError> {
        let store = SqliteStore::open(self.path()).await?;
        Ok(Handle::new(store.clone()).closed_by(store.close()))
    }

    async fn open_failing(&self, fault: kit::Fault) -> Option<Result<Handle, StoreError>> {
        let (operations, after, failure) = match fault {
            kit::Fault::Full(writes) => (&[Operation::Write][..], writes * self.stride, Failure::Full),
            kit::Fault::Broken(writes) => (ALL, writes * self.stride, Failure::Io),
            _ => return None,
        };
        let fault = Fault { operations, nth: after + 1, lasts: true, failure };
        let recorder = failing(self.folder.path(), fault).ok()?;
        let opened = SqliteStore::open_with(self.path(), SqliteOptions::new().vfs(recorder)).await;
        Some(opened.map(|store| Handle::new(store.clone()).closed_by(store.close())))
    }

    fn writer(&self, seed: u64, dies_after: Option<u64>) -> Option<Command> {
        let mut command = Command::new(&self.program);
        let dies_after = dies_after.map_or("never".to_owned(), |writes| (writes * self.stride).to_string());
        command.args(["writer", &seed.to_string(), &dies_after]).arg(self.path());
        Some(command)
    }
}

/// Returns the name of a VFS on which the files in a folder fail.
fn failing(folder: &Path, fault: Fault) -> Result<String, String> {
    let recorder = Recorder::register()?;
    recorder.watch(folder, &Files::new()).map_err(|error| error.to_string())?;
    recorder.only_fail();
    recorder.order(Some(fault));
    Ok(recorder.vfs().to_owned())
}

/// Runs the kit from the program that is running, which must take `writer` as its first word.
///
/// # Errors
///
/// The program cannot be found, or there is no room for a runtime.
pub fn try_everything(seed: u64) -> Result<Report, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let subject = SqliteOnDisk::new(program).map_err(|error| error.to_string())?;
    let mut options = Options::new(seed);
    options.writes = 400;
    Ok(kit::run(&subject, &options))
}

/// Does what a writer does that the kit starts: `SEED DIES_AFTER PATH`.
///
/// # Errors
///
/// Why it could not go on; it ends in no other way.
pub fn write_for_ever(words: &[String]) -> Result<std::convert::Infallible, String> {
    let [seed, dies_after, path] = words else { return Err("writer wants SEED DIES_AFTER PATH".to_owned()) };
    let seed = seed.parse().map_err(|_| format!("{seed} is no seed"))?;
    let mut options = SqliteOptions::new();
    if let Ok(writes) = dies_after.parse::<u64>() {
        let fault = Fault { operations: ALL, nth: writes + 1, lasts: true, failure: Failure::Dies };
        let folder = Path::new(path).parent().ok_or("the path has no folder")?;
        options = options.vfs(failing(folder, fault)?);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    runtime.block_on(async {
        let store = SqliteStore::open_with(path, options).await.map_err(|error| error.to_string())?;
        kit::write_for_ever(&store, seed).await.map_err(|error| error.to_string())
    })
}
