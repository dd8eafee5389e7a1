//! Reads that fail, or end too early: what becomes of the answers, and that it is of no consequence.

use std::collections::BTreeMap;

use trunkline_session_store::{SessionId, SessionStore, SqliteStore, StoreError};

use super::{Lived, NAME, options, words};
use crate::chance::Chance;
use crate::disk::{Disk, folder, write_files};
use crate::recorder::{Failure, Fault, Operation, Recorder};

impl Lived {
    /// Opens and reads all that was written, once for each read that can fail, and returns how often what came of it.
    ///
    /// What a disk says of a file that ends too early, SQLite believes: then less comes back, or something else, which only
    /// digests show. But nothing is written because of it: as soon as the disk reads well, all is there again.
    ///
    /// # Errors
    ///
    /// Something is missing afterwards, or an error came that does not speak of the disk.
    pub async fn read_badly(&self, failure: Failure) -> Result<BTreeMap<&'static str, usize>, String> {
        let recorder = Recorder::register()?;
        let mut disk = Disk::holding(&self.life.start, Chance::new(0));
        self.life.events.iter().for_each(|event| disk.apply(event));
        let files = disk.seen();
        let mut answers = BTreeMap::new();
        let mut all = None;
        for nth in 0.. {
            let folder = folder().map_err(words)?;
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
            let hits = recorder.hits();
            match (nth, hits) {
                // The first read is number 1, so nothing failed.
                (0, _) => {
                    all = Some(read.map_err(|answer| format!("nothing failed and the answer is {answer}"))?)
                }
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
            // The disk reads well again: nothing was made less by somebody who believed it.
            recorder.order(None);
            let path = folder.path().join(NAME);
            let store = SqliteStore::open_with(&path, options(&recorder)).await;
            let store = store.map_err(|error| format!("after read {nth}: {}", words(error)))?;
            let again = self.read_all(&store).await?;
            store.close().await;
            if again.as_ref().ok() != all.as_ref() {
                return Err(format!("after read {nth} there is {again:?} and not {all:?}"));
            }
        }
        recorder.forget();
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
                return Ok(Err("changed"));
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
