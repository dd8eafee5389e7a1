//! Looks at databases that may be damaged, and mends them.
//!
//! Digests decide what is whole: a log is what it was if its chain verifies, however its bytes were found. Nothing is
//! deleted: what a mended database does not take over stays beside it under another name.

mod examine;
mod finding;
mod place;
mod report;
mod salvage;
mod source;
mod views;

use std::fs;
use std::path::{Path, PathBuf};

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, SqliteConnection};

pub use finding::{Finding, Remedy, Severity};
pub use report::{Examination, Mended, Saved};
pub(super) use salvage::finish;

use super::answer::{self, Ask};
use super::fault::{io_error, store_error};
use super::presence::{self, Presence};
use super::rows::read;
use super::{PATIENCE, aside, opening, promises, schema, torn, wal};
use crate::StoreError;

/// Looks at a whole database without changing it: its pages, its write-ahead log, each session by its chain of digests,
/// and everything that is derived from the logs.
///
/// Reads all of it, so it takes about as long as verifying every session. Others may have it open.
///
/// # Errors
///
/// [`StoreError::Io`] if there is no such file or it cannot be opened; [`StoreError::Torn`] if only its write-ahead log is
/// there; [`StoreError::NotAStore`]; [`StoreError::Newer`]; [`StoreError::Busy`]. Damage is a finding and no error.
pub async fn examine(path: impl AsRef<Path>) -> Result<Examination, StoreError> {
    let path = existing(path.as_ref())?;
    // Then it is a database of sessions, whatever its bytes now say.
    let ours = presence::was_ours(&path);
    let mut presence = Presence::enter(&path).await?;
    look(&path, ours, &mut presence, false).await
}

/// Examines a database and does what is needed: nothing, or what can be made anew in place, or a new database that takes
/// over whatever proves to be as it was written, while the old one is kept under another name.
///
/// Of a session whose log does not verify to its end, the longest beginning that verifies is taken over.
///
/// # Errors
///
/// Those of [`examine`]; [`StoreError::InUse`] if anybody has the database open; [`StoreError::Full`] and
/// [`StoreError::Io`] if the copy cannot be written: then the database is as it was.
pub async fn mend(path: impl AsRef<Path>) -> Result<Mended, StoreError> {
    let path = existing(path.as_ref())?;
    // Then it is a database of sessions, whatever its bytes now say.
    let ours = presence::was_ours(&path);
    let mut presence = Presence::alone(&path).await?;
    let mut set_aside = finish(&path)?;
    let before = look(&path, ours, &mut presence, true).await?;
    let mut remedy = before.remedy();
    let mut saved = Vec::new();
    if remedy == Remedy::InPlace {
        // Whoever writes removes the log, with what SQLite does not read of it.
        match unread(&path)? {
            // It may be what is missing elsewhere.
            Some(ignored) if ignored.commits > 0 => remedy = Remedy::Salvage,
            Some(ignored) => {
                let log = aside::beside(&path, "-wal");
                set_aside.push(aside::keep_part(&path, &log, wal::HEADER as u64, ignored.place)?);
            }
            None => {}
        }
    }
    if remedy == Remedy::InPlace && in_place(&path).await.is_err() {
        // What should follow from the logs cannot be written where it belongs.
        remedy = Remedy::Salvage;
    }
    let mut after = before.clone();
    if remedy == Remedy::InPlace {
        after = look(&path, ours, &mut presence, true).await?;
        if !after.is_sound() {
            remedy = Remedy::Salvage;
        }
    }
    if remedy == Remedy::Salvage {
        let salvaged = salvage::salvage(&path).await?;
        saved = salvaged.saved;
        set_aside.extend(salvaged.set_aside);
        after = look(&path, true, &mut presence, true).await?;
        missing(&path, &before.findings, &mut saved).await;
    }
    taken(&path, &before.findings, &mut saved).await;
    Ok(Mended { before, remedy, saved, set_aside, after })
}

/// Brings the write-ahead log that was left at `place`, and what was promised there, to the database that was moved from there
/// while it was open; returns what was moved. [`mend`] and every opening go on from there.
///
/// # Errors
///
/// [`StoreError::Torn`] if that is not what is there: no log, another database, or another log beside the moved one;
/// [`StoreError::InUse`] if anybody has the database open; [`StoreError::Io`]; [`StoreError::NotAStore`].
pub async fn join(place: impl AsRef<Path>, database: impl AsRef<Path>) -> Result<Vec<PathBuf>, StoreError> {
    let database = existing(database.as_ref())?;
    let _alone = Presence::alone(&database).await?;
    let _there = Presence::alone(place.as_ref()).await?;
    torn::join(place.as_ref(), &database)
}

/// Adds the sessions whose rows are not what was written: nothing tells what that was, so they are taken as they stand.
async fn taken(path: &Path, findings: &[Finding], saved: &mut Vec<Saved>) {
    let is_taken =
        |finding: &&Finding| (finding.severity, finding.remedy) == (Severity::Loss, Remedy::InPlace);
    let mut findings = findings.iter().filter(is_taken).peekable();
    if findings.peek().is_none() {
        return;
    }
    let Ok(mut connection) = reader(path, true).await else { return };
    for finding in findings {
        let Some(session) = finding.session.clone() else { continue };
        let query = sqlx::query("SELECT records FROM sessions WHERE id = ?").bind(session.as_str());
        let kept: Result<Option<i64>, _> = query.maybe_value(&mut connection).await;
        let kept = kept.ok().flatten().map_or(0, read);
        let reason = format!("it is taken as it is: {}", finding.what);
        saved.push(Saved { session, kept, expected: Some(kept), reason });
    }
    // Nothing was written.
    let _ = answer::close(connection).await;
}

/// Adds the sessions that are known to have had a record that the new database has not, though nothing was found of them.
async fn missing(path: &Path, findings: &[Finding], saved: &mut Vec<Saved>) {
    let Ok(mut connection) = reader(path, true).await else { return };
    for finding in findings.iter().filter(|finding| finding.severity == Severity::Loss) {
        let Some(session) = finding.session.as_ref() else { continue };
        if saved.iter().any(|told| told.session == *session) {
            continue;
        }
        let query = sqlx::query("SELECT records FROM sessions WHERE id = ?").bind(session.as_str());
        let found: Result<Option<i64>, _> = query.maybe_value(&mut connection).await;
        let kept = found.ok().flatten().map_or(0, read);
        if kept < finding.seq.unwrap_or(1) {
            let (session, reason) = (session.clone(), finding.what.clone());
            saved.push(Saved { session, kept, expected: finding.seq, reason });
        }
    }
    // Nothing was written.
    let _ = answer::close(connection).await;
}

/// Returns the path of a file that exists, without links.
fn existing(path: &Path) -> Result<PathBuf, StoreError> {
    torn::check(path)?;
    let path = fs::canonicalize(path).map_err(|error| io_error(path, &error))?;
    presence::check_file(&path)?;
    Ok(path)
}

/// Examines a database. Others may come in while its tables are read, unless it is to `stay_alone`.
async fn look(
    path: &Path,
    ours: bool,
    presence: &mut Presence,
    stay_alone: bool,
) -> Result<Examination, StoreError> {
    let mut examination =
        Examination { path: path.to_owned(), schema: None, sessions: 0, records: 0, findings: Vec::new() };
    // What others are writing looks as if it were cut off.
    if presence.is_alone() && files(path, &mut examination)? {
        // SQLite would take the write-ahead log of an empty database for a rest and remove it.
        return Ok(examination);
    }
    if !stay_alone {
        presence.share().await;
    }
    // Before the first look at the database: what was promised then is there now.
    let left = promises::left(path);
    if let Err(error) = tables(path, ours, presence.is_alone(), &left, &mut examination).await {
        match error {
            StoreError::Corrupt { reason, .. } | StoreError::Database { reason, .. } => {
                examination.findings.push(Finding::loss(format!("it cannot be read: {reason}")));
            }
            StoreError::NotAStore { reason, .. } if ours => {
                examination.findings.push(Finding::loss(format!("it cannot be read: {reason}")));
            }
            error => return Err(error),
        }
    }
    examination.findings.sort_by(|one, other| {
        let place = |finding: &Finding| (finding.session.clone(), finding.seq);
        other.severity.cmp(&one.severity).then_with(|| place(one).cmp(&place(other)))
    });
    Ok(examination)
}

/// Looks at the files themselves. Returns whether all that there is stands in the write-ahead log.
fn files(path: &Path, examination: &mut Examination) -> Result<bool, StoreError> {
    let log = aside::beside(path, "-wal");
    let scan = wal::scan(&log).map_err(|error| io_error(&log, &error))?;
    let frames = scan.as_ref().map_or(0, |scan| scan.frames);
    let header = opening::first_bytes(path).map_err(|error| io_error(path, &error))?;
    let committed = scan.as_ref().map_or(0, wal::Scan::committed);
    let only_log = header.is_empty() && committed > 0;
    if only_log {
        let frames = committed;
        let what = format!("the database is empty, but its write-ahead log has {frames} frames");
        examination.findings.push(Finding::loss(what));
    } else if frames == 0
        && let Some(what) = opening::cut_off(path, &header)
    {
        examination.findings.push(Finding::loss(what));
    }
    if let Some((scan, ignored)) = scan.as_ref().and_then(|scan| Some((scan, scan.ignored.as_ref()?))) {
        examination.findings.push(opening::passed_over(path, scan, ignored));
    }
    Ok(only_log)
}

/// Returns the part of the write-ahead log that SQLite does not read.
fn unread(path: &Path) -> Result<Option<wal::Ignored>, StoreError> {
    let log = aside::beside(path, "-wal");
    let scan = wal::scan(&log).map_err(|error| io_error(&log, &error))?;
    Ok(scan.and_then(|scan| scan.ignored))
}

/// Examines what SQLite can read.
async fn tables(
    path: &Path,
    ours: bool,
    alone: bool,
    left: &[promises::Left],
    examination: &mut Examination,
) -> Result<(), StoreError> {
    let mut connection = reader(path, alone).await?;
    let version = schema::version(&mut connection, path).await;
    let known = match &version {
        Ok(0) => None,
        Ok(version) => Some(*version),
        // Then only the marks in its header are damaged.
        Err(StoreError::NotAStore { .. }) if ours => Some(schema::VERSION),
        Err(_) => None,
    };
    if let Some(version) = known
        && let Err(StoreError::Corrupt { reason, .. }) = schema::check(&mut connection, path, version).await
    {
        // What stands in tables that are not what they are called cannot be judged; the records may all be there.
        examination.findings.push(Finding::new(Severity::Derived, Remedy::Salvage, reason));
        let _ = answer::close(connection).await;
        return Ok(());
    }
    match version {
        Ok(schema::VERSION) => {
            examination.schema = Some(schema::VERSION);
            examine::current(&mut connection, path, left, examination).await;
        }
        Ok(0) if ours => {
            let what = "it is empty: it was cut off, or its making was";
            let lost = left.iter().any(promises::Left::promises_any);
            examination.findings.push(if lost { Finding::loss(what) } else { Finding::notice(what) });
        }
        Ok(0) => {}
        Ok(version) => {
            examination.schema = Some(version);
            examine::older(&mut connection, path, version, examination).await;
        }
        Err(StoreError::NotAStore { reason, .. }) if ours => {
            examination.findings.push(Finding::loss(format!("its header is damaged: {reason}")));
            examine::current(&mut connection, path, left, examination).await;
        }
        Err(error) => return Err(error),
    }
    // Nothing was written.
    let _ = answer::close(connection).await;
    Ok(())
}

/// Opens a database to be read only.
pub(super) async fn reader(path: &Path, alone: bool) -> Result<SqliteConnection, StoreError> {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .read_only(true)
        .busy_timeout(PATIENCE)
        // So that a file that was cut off can be read as far as it goes.
        .pragma("writable_schema", "ON")
        .disable_statement_logging();
    let fault = |error| store_error(path, error);
    if alone && !opening::has_log(path) {
        // Without a write-ahead log nothing need be made to read it.
        return SqliteConnection::connect_with(&options.immutable(true)).await.map_err(fault);
    }
    let mut connection = SqliteConnection::connect_with(&options).await.map_err(fault)?;
    let read = sqlx::query("SELECT count(*) FROM sqlite_schema").one_row(&mut connection).await;
    match read.map_err(fault) {
        // On a medium that cannot be written, and without a write-ahead log, nobody changes it while it is read.
        Err(StoreError::Io { .. } | StoreError::ReadOnly { .. })
            if opening::is_on_read_only(path) && !opening::has_log(path) =>
        {
            SqliteConnection::connect_with(&options.immutable(true)).await.map_err(fault)
        }
        Err(StoreError::Io { .. } | StoreError::ReadOnly { .. }) if opening::is_on_read_only(path) => {
            Err(opening::needs_room(path))
        }
        Err(error @ (StoreError::Io { .. } | StoreError::Busy { .. })) => Err(error),
        _ => Ok(connection),
    }
}

/// Makes anew what follows from the logs.
async fn in_place(path: &Path) -> Result<(), StoreError> {
    let options =
        SqliteConnectOptions::new().filename(path).busy_timeout(PATIENCE).disable_statement_logging();
    let fault = |error| store_error(path, error);
    let mut connection = SqliteConnection::connect_with(&options).await.map_err(fault)?;
    let mended = place::mend(&mut connection, path).await;
    answer::close(connection).await.map_err(fault)?;
    mended
}
