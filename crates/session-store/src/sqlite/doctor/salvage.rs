//! A new database takes over what proves to be as it was written.
//!
//! It is made in a folder beside the old one, and only when it is whole and on the disk do the two change places. If that
//! is cut off, whoever opens the database next ends it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use sqlx::{Connection, SqliteConnection};

use super::Saved;
use super::source::{self, Found, Walk};
use super::views::{Copy, VIEWS, create};
use crate::sqlite::answer;
use crate::sqlite::aside::{beside, free_number, named, sync_folder};
use crate::sqlite::fault::{io_error, store_error};
use crate::sqlite::leases::{Owner, private_folder};
use crate::sqlite::promises::{self, Left};
use crate::sqlite::rows::stored;
use crate::sqlite::{letters, restore};
use crate::{Kept, SessionId, StoreError, Tally};

/// How many bytes of bodies are written at once.
const CHUNK_BYTES: usize = 4 * 1024 * 1024;

/// How a session can be had.
struct Best {
    view: usize,
    found: Found,
    tally: Tally,
    stopped: Option<String>,
}

/// What a salvage came to.
pub(super) struct Salvaged {
    pub(super) saved: Vec<Saved>,
    pub(super) set_aside: Vec<PathBuf>,
}

/// Returns the folder in which a new database is made.
fn workshop(database: &Path) -> PathBuf {
    beside(database, ".mending")
}

/// Replaces a database by one that has all of it that is whole. Nobody else has it open.
pub(super) async fn salvage(database: &Path) -> Result<Salvaged, StoreError> {
    let folder = fresh_workshop(database)?;
    let mut views = Vec::new();
    let mut best = BTreeMap::new();
    for (place, view) in VIEWS.into_iter().enumerate() {
        // The later ones are for what the earlier ones could not read.
        if place > 1 && is_whole(&best) {
            break;
        }
        let mut copy = view.open(database, &folder).await?;
        if let Some(copy) = &mut copy {
            compare(copy, place, &mut best).await;
        }
        views.push(copy);
    }
    let path = folder.join("new.db");
    let mut connection = create(&path).await?;
    let mut saved = Vec::new();
    for best in best.values() {
        let Some(Some(copy)) = views.get_mut(best.view) else { continue };
        let letters = take_over(copy, &mut connection, &path, best).await?;
        saved.extend(told(best, letters));
    }
    let fault = |error| store_error(&path, error);
    sqlx::raw_sql("PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut connection).await.map_err(fault)?;
    answer::close(connection).await.map_err(fault)?;
    for copy in views.into_iter().flatten() {
        // It is a copy that nobody needs any more.
        let _ = answer::close(copy.connection).await;
    }
    Ok(Salvaged { saved, set_aside: change_places(database, &path)? })
}

/// Makes the folder anew. What a mending that was cut off has left in it are copies.
fn fresh_workshop(database: &Path) -> Result<PathBuf, StoreError> {
    let folder = workshop(database);
    remove_workshop(&folder)?;
    private_folder(&folder)?;
    Ok(folder)
}

fn remove_workshop(folder: &Path) -> Result<(), StoreError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(io_error(folder, &error)),
        _ => Ok(()),
    }
}

fn is_whole(best: &BTreeMap<SessionId, Best>) -> bool {
    let whole = |best: &Best| {
        let claimed = best.found.claimed.as_ref().is_some_and(|claimed| claimed.seq <= best.tally.seq);
        best.stopped.is_none() && claimed && best.found.faults.is_empty()
    };
    !best.is_empty() && best.values().all(whole)
}

/// Takes the sessions of a copy that it has more of than those before it.
async fn compare(copy: &mut Copy, view: usize, best: &mut BTreeMap<SessionId, Best>) {
    for found in source::sessions(&mut copy.connection).await.found {
        if !found.is_session() {
            continue;
        }
        let known = best.get(&found.id).map(|best| best.tally);
        let mut walk = Walk::new(&mut copy.connection, &found);
        // A log that is longer but not the same counts for nothing.
        let mut same = known.is_none_or(|known| known.seq == 0);
        while let Some(kept) = walk.next().await {
            same |= known.is_some_and(|known| (known.seq, known.digest) == (kept.seq, kept.digest));
        }
        let (tally, stopped) = (walk.tally, walk.stopped);
        if known.is_none_or(|known| same && tally.seq > known.seq) {
            best.insert(found.id.clone(), Best { view, found, tally, stopped });
        }
    }
}

/// Writes a session into the new database. Returns what of its inbox stays behind, and why.
async fn take_over(
    copy: &mut Copy,
    connection: &mut SqliteConnection,
    path: &Path,
    best: &Best,
) -> Result<Option<String>, StoreError> {
    let Best { found, tally, .. } = best;
    if source::is_empty(tally) {
        return Ok(None);
    }
    let fault = |error| store_error(path, error);
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await.map_err(fault)?;
    let info = source::info(found, tally);
    let key = restore::begin(&mut transaction, path, &Owner::of(path), &info, true).await?;
    let mut walk = Walk::new(&mut copy.connection, found);
    let (mut chunk, mut bytes): (Vec<Kept>, usize) = (Vec::new(), 0);
    while let Some(kept) = walk.next().await {
        bytes += kept.body.len() + 256;
        chunk.push(kept);
        if bytes > CHUNK_BYTES {
            restore::add(&mut transaction, path, &found.id, key, &chunk).await?;
            (chunk, bytes) = (Vec::new(), 0);
        }
    }
    restore::add(&mut transaction, path, &found.id, key, &chunk).await?;
    let is_sealed = letters::are_sealed(&mut copy.connection).await;
    let inbox = letters::all(&mut copy.connection, found.key, &found.id, is_sealed).await;
    let mut consumed = 0;
    for row in &inbox.letters {
        letters::take_over(&mut transaction, path, (key, &found.id), row).await?;
        consumed += i64::from(row.consumed.is_some());
    }
    // No number is given twice.
    let numbers =
        inbox.letters.iter().map(|row| row.letter.id.0).chain(inbox.damaged.iter().map(|(id, _)| *id));
    let last = stored(numbers.chain([found.letters]).max().unwrap_or_default());
    // Whoever wrote before must not be able to write again.
    let query = "UPDATE sessions SET letters = ?, consumed = ?, token = ? WHERE session = ?";
    let query = sqlx::query(query).bind(last).bind(consumed).bind(stored(found.token)).bind(key);
    query.execute(&mut *transaction).await.map_err(fault)?;
    transaction.commit().await.map_err(fault)?;
    let faults = inbox.faults();
    Ok((!faults.is_empty()).then(|| faults.join("; ")))
}

/// Returns what people are told about a session; nothing if all of it was taken over.
fn told(best: &Best, letters: Option<String>) -> Option<Saved> {
    let Best { found, tally, stopped, .. } = best;
    let expected = found.claimed.map(|claimed| claimed.seq);
    let kept = tally.seq;
    let next = kept + 1;
    let reason = match (stopped, expected) {
        (Some(reason), _) => format!("record {next}: {reason}"),
        (None, Some(expected)) if expected > kept => format!("record {next}: it is missing"),
        (None, _) if kept == 0 => "none of its records can be read".to_owned(),
        (None, _) => match (letters, found.faults.first()) {
            (Some(reason), _) => reason,
            (None, Some(reason)) => format!("its row is damaged: {reason}"),
            (None, None) => return None,
        },
    };
    Some(Saved { session: found.id.clone(), kept, expected, reason })
}

/// Puts the new database in the place of the old one.
fn change_places(database: &Path, new: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let number = free_number(database);
    let ready = workshop(database).join(format!("ready-{number}.db"));
    let change = || -> std::io::Result<()> {
        File::open(new)?.sync_all()?;
        fs::rename(new, &ready)?;
        sync_folder(&ready)
    };
    change().map_err(|error| io_error(&ready, &error))?;
    finish(database)
}

/// Ends a change of places that was begun. Nobody else has the database open.
pub(in crate::sqlite) fn finish(database: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let folder = workshop(database);
    let Ok(entries) = fs::read_dir(&folder) else { return Ok(Vec::new()) };
    let number = |path: &Path| -> Option<u64> {
        path.file_name()?.to_str()?.strip_prefix("ready-")?.strip_suffix(".db")?.parse().ok()
    };
    let ready =
        entries.flatten().find_map(|entry| number(&entry.path()).map(|number| (entry.path(), number)));
    let Some((ready, number)) = ready else { return Ok(Vec::new()) };
    let mut set_aside = Vec::new();
    // The log after the database: a database without its log is never taken for a whole one.
    for ending in ["", "-wal", "-shm"] {
        let (from, to) = (beside(database, ending), named(database, number, ending));
        // What has taken the place of something that was moved is an empty file that somebody made to open it.
        if from.symlink_metadata().is_ok() && to.symlink_metadata().is_err() {
            fs::rename(&from, &to).map_err(|error| io_error(&from, &error))?;
        }
        if ending != "-shm" && to.metadata().is_ok_and(|found| found.len() > 0) {
            set_aside.push(to);
        }
    }
    let place = |error: std::io::Error| io_error(database, &error);
    sync_folder(database).map_err(place)?;
    fs::rename(&ready, database).map_err(place)?;
    sync_folder(database).map_err(place)?;
    for left in promises::left(database) {
        set_aside.extend(remember(database, number, &left));
    }
    remove_workshop(&folder)?;
    Ok(set_aside)
}

/// Moves promises about the old database to its other files.
fn remember(database: &Path, number: u64, left: &Left) -> Option<PathBuf> {
    let name = left.path.file_stem()?.to_str()?;
    let to = named(database, number, &format!("-{name}.promises"));
    // Where that fails they are told of again.
    fs::rename(&left.path, &to).ok().map(|()| to)
}
