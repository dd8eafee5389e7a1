//! Reads that fail: what comes back is what was written, or an error.

use std::collections::BTreeMap;

use trunkline_session_store::{SessionId, SessionStore, SqliteStore, StoreError};

use super::{Lived, NAME, options, words};
use crate::chance::Chance;
use crate::disk::{Disk, write_files};
use crate::recorder::{Failure, Fault, Operation, Recorder};

impl Lived {
    /// Opens and reads all that was written, once for each read that can fail, and returns how often what came of it.
    ///
    /// A log may come back shorter: a disk that says too early that a file ends says that of the write-ahead log too.
    ///
    /// # Errors
    ///
    /// Something came back that was never written, or an error that does not speak of the disk.
    pub async fn read_badly(&self, failure: Failure) -> Result<BTreeMap<&'static str, usize>, String> {
        let recorder = Recorder::register()?;
        let mut disk = Disk::holding(&self.life.start, Chance::new(0));
        self.life.events.iter().for_each(|event| disk.apply(event));
        let files = disk.seen();
        let mut answers = BTreeMap::new();
        let mut all = None;
        for nth in 0.. {
            let folder = tempfile::tempdir().map_err(words)?;
            write_files(folder.path(), &files).map_err(words)?;
            recorder.watch(folder.path(), &files).map_err(words)?;
            recorder.order(Some(Fault { operations: &[Operation::Read], nth, lasts: false, failure }));
            let read = match SqliteStore::open_with(folder.path().join(NAME), options(&recorder)).await {
                Ok(store) => {
                    let read = self.read_all(&store).await;
                    store.close().await;
                    read?
                }
                Err(error) => Err(named(error)?),
            };
            match (nth, recorder.hits()) {
                // The first read is number 1, so nothing failed.
                (0, _) => all = read.ok(),
                (_, 0) => break,
                _ => {
                    let answer = match read {
                        Err(answer) => answer,
                        Ok(read) if all.as_ref() == Some(&read) => "all",
                        Ok(_) => "less",
                    };
                    *answers.entry(answer).or_default() += 1;
                }
            }
        }
        Ok(answers)
    }

    /// Returns how many records each session has, or the error that was given instead.
    async fn read_all(
        &self,
        store: &SqliteStore,
    ) -> Result<Result<BTreeMap<SessionId, usize>, &'static str>, String> {
        let list = match store.sessions().await {
            Ok(list) => list,
            Err(error) => return named(error).map(Err),
        };
        let mut lengths = BTreeMap::new();
        for info in list {
            let history = self.histories.get(&info.id).map(|history| history.records.as_slice());
            let written = history.unwrap_or_default();
            let read = match store.read(&info.id, 0, written.len() + 1).await {
                Ok(read) => read,
                Err(error) => return named(error).map(Err),
            };
            if !written.starts_with(&read) {
                return Err(format!(
                    "session {}: {} records are not those that were written",
                    info.id,
                    read.len()
                ));
            }
            lengths.insert(info.id, read.len());
        }
        Ok(Ok(lengths))
    }
}

fn named(error: StoreError) -> Result<&'static str, String> {
    match error {
        StoreError::Io { .. } => Ok("io"),
        StoreError::Corrupt { .. } | StoreError::BadRecord { .. } => Ok("corrupt"),
        // Its row was there a moment before.
        StoreError::UnknownSession { .. } => Ok("less"),
        StoreError::NotAStore { .. } => Ok("not a store"),
        error => Err(words(error)),
    }
}
