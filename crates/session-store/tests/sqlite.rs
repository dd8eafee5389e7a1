//! The kit on SQLite.

use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::Command;

use tokio::runtime::Runtime;
use trunkline_session_store::kit::{self, Fault, Handle, OldPlace, Place, Promise, Subject};
use trunkline_session_store::{SqliteStore, StoreError};

use crate::damage::older::{VERSION_1, VERSION_1_EXPORTED};
use crate::damage::sql;
use crate::kit::options;

/// What a writer that is started by the kit reads: the seed and the database.
const DATABASE: &str = "TRUNKLINE_TEST_SQLITE";

/// SQLite gives room in pages of this size.
const PAGE: u64 = 4096;

struct Sqlite(Runtime);

impl Subject for Sqlite {
    fn name(&self) -> String {
        "sqlite".to_owned()
    }

    fn place(&self) -> Result<Box<dyn Place>, String> {
        // In memory where the system has room for that: the process is what dies here, so nothing waits for a disk.
        let folder = tempfile::TempDir::new_in("/dev/shm").or_else(|_| tempfile::tempdir());
        let folder = folder.map_err(|error| error.to_string())?;
        Ok(Box::new(Folder { path: folder.path().join("sessions.db"), _folder: folder }))
    }

    fn keeps_snapshots(&self) -> bool {
        true
    }

    fn old_places(&self) -> Result<Vec<OldPlace>, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let path = folder.path().join("sessions.db");
        self.0.block_on(sql(&path, VERSION_1));
        let place = Box::new(Folder { path, _folder: folder });
        let exported = VERSION_1_EXPORTED.to_owned();
        Ok(vec![OldPlace { version: "schema 1".to_owned(), place, exported }])
    }

    fn block_on(&self, what: Pin<Box<dyn Future<Output = ()> + '_>>) {
        self.0.block_on(what);
    }
}

struct Folder {
    path: PathBuf,
    _folder: tempfile::TempDir,
}

#[async_trait::async_trait]
impl Place for Folder {
    async fn open(&self) -> Result<Handle, StoreError> {
        let store = SqliteStore::open(&self.path).await?;
        Ok(Handle::new(store.clone()).closed_by(store.close()))
    }

    async fn open_failing(&self, fault: Fault) -> Option<Result<Handle, StoreError>> {
        // Other faults need a file system of their own: the package `disk` has one.
        let Fault::Full(pages) = fault else { return None };
        let size = std::fs::metadata(&self.path).ok()?.len();
        let store = match SqliteStore::open(&self.path).await {
            Ok(store) => store,
            Err(error) => return Some(Err(error)),
        };
        store.set_size_limit(Some(size + pages * PAGE)).await;
        Some(Ok(Handle::new(store.clone()).closed_by(store.close())))
    }

    fn writer(&self, seed: u64, dies_after: Option<u64>) -> Option<Command> {
        if dies_after.is_some() {
            return None;
        }
        let mut command = Command::new(std::env::current_exe().ok()?);
        command
            .args(["--exact", "sqlite::a_writer_that_never_stops", "--nocapture", "--test-threads=1"])
            .env(DATABASE, format!("{seed} {}", self.path.display()));
        Some(command)
    }
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

#[test]
fn a_writer_that_never_stops() {
    // Only as a process of its own, which the kit starts and kills.
    let Ok(told) = std::env::var(DATABASE) else { return };
    let (seed, path) = told.split_once(' ').unwrap();
    let ended = runtime().block_on(async {
        let store = SqliteStore::open(Path::new(path)).await?;
        kit::write_for_ever(&store, seed.parse().unwrap()).await
    });
    panic!("it ended: {ended:?}");
}

#[test]
fn sqlite_keeps_every_promise() {
    let report = kit::run(&Sqlite(runtime()), &options());
    assert!(report.is_ok(), "{report}");
    let unchecked: Vec<Promise> = report.unchecked().collect();
    assert_eq!(unchecked, [Promise::Broken], "{report}");
    println!("{report}");
}
