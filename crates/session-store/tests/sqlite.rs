//! The kit on SQLite.

use std::path::PathBuf;
use std::pin::Pin;

use trunkline_session_store::kit::{self, Handle, OldPlace, Options, Place, Subject};
use trunkline_session_store::{SqliteStore, StoreError};

use crate::damage::older::{VERSION_1, VERSION_1_EXPORTED};
use crate::damage::sql;

struct Sqlite(tokio::runtime::Runtime);

impl Subject for Sqlite {
    fn name(&self) -> String {
        "sqlite".to_owned()
    }

    fn place(&self) -> Result<Box<dyn Place>, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        Ok(Box::new(Folder { path: folder.path().join("sessions.db"), _folder: folder }))
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
}

#[test]
fn sqlite_keeps_every_promise() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let report = kit::run(&Sqlite(runtime), &Options::new(1));
    println!("{report}");
    assert!(report.is_ok(), "{report}");
}
