//! Opening a database: what is done before SQLite sees it, and after.
//!
//! Whoever opens it alone looks first. What SQLite would pass over without a word is copied and told; a file of a newer
//! version or of another program is refused before anything of it is touched, its write-ahead log included.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{Connection, SqliteConnection};

use super::answer;
use super::doctor::{Finding, Remedy, Severity};
use super::doubt::Doubt;
use super::fault::{io_error, store_error};
use super::line::FileId;
use super::presence::{self, Presence, can_write};
use super::wal::{self, Ignored, IgnoredKind};
use super::{Opened, PATIENCE, aside, doctor, doubt, leases, promises, schema};
use crate::StoreError;

/// An open database.
pub(super) struct Open {
    pub(super) path: PathBuf,
    /// Which file it is, seen while nobody could replace it.
    pub(super) file: Option<FileId>,
    pub(super) options: SqliteConnectOptions,
    pub(super) first: SqliteConnection,
    /// The version of its schema: an older one where it cannot be brought up to date.
    pub(super) version: usize,
    pub(super) presence: Arc<Presence>,
    pub(super) opened: Arc<Opened>,
    /// Whether it is not known what of its write-ahead log is on the disk.
    pub(super) doubt: Option<Doubt>,
}

/// What is known of those who have a database of an older version open.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Others {
    /// It is waited for that they close it.
    MayLeave,
    /// It is read beside them.
    Stay,
}

/// Opens a database and brings it to the current schema.
pub(super) async fn open(path: &Path, options: SqliteConnectOptions) -> Result<Open, StoreError> {
    let mut before = Opened::default();
    let (mut others, mut held, mut looked_again) = (Others::MayLeave, None, false);
    loop {
        let open = match attempt(path, options.clone(), before.clone(), (others, held.take())).await {
            Err(StoreError::InUse { .. }) if others == Others::MayLeave => {
                // Held until it is up to date: of two who wait, one would find the other.
                held = Presence::alone(&leases::private_database(path)?.0).await.ok();
                others = Others::Stay;
                continue;
            }
            // They have brought it to the current schema meanwhile, and it can be written beside them.
            Err(StoreError::Busy { .. }) if others == Others::Stay && !looked_again => {
                looked_again = true;
                continue;
            }
            // Whatever its bytes now say, it was one when it was opened before.
            Err(StoreError::NotAStore { place, reason }) if presence::was_ours(Path::new(&place)) => {
                let reason = format!("its header is damaged: {reason}");
                return Err(StoreError::Corrupt { place, reason });
            }
            open => open?,
        };
        if FileId::of(&open.path) == open.file {
            return Ok(open);
        }
        // Whoever lets others in has no lock for a moment, and somebody used it to mend the database: the connection is one
        // to the old file.
        before = Opened { read_only: None, ..Opened::clone(&open.opened) };
        // Not closed: SQLite would remove the log of that name, and by now it is somebody else's.
        std::mem::forget(open.first);
    }
}

async fn attempt(
    path: &Path,
    mut options: SqliteConnectOptions,
    mut opened: Opened,
    (others, held): (Others, Option<Presence>),
) -> Result<Open, StoreError> {
    let (path, made) = leases::private_database(path)?;
    let was_open_before = presence::was_ours(&path);
    options = options.filename(&path);
    let mut presence = match held {
        Some(presence) => presence,
        None => Presence::enter(&path).await?,
    };
    // Whoever closes a database leaves no log.
    let mut doubt = (presence.is_alone() && has_log(&path)).then_some(Doubt::Inherited);
    if presence.is_alone() {
        let set_aside = doctor::finish(&path)?;
        let mended = !set_aside.is_empty();
        if mended {
            opened.findings.push(Finding::notice("a mending that was cut off was ended"));
            opened.set_aside.extend(set_aside);
        } else if !made && was_open_before && fs::metadata(&path).is_ok_and(|found| found.len() == 0) {
            let what = "the file is empty and becomes a new database: it was cut off, or its making was";
            opened.findings.push(Finding::notice(what));
        }
        look(&path, &mut opened).await?;
        if made && !mended && !has_log(&path) {
            promises::forget(&path);
        }
        tidy(&path);
    }
    // Before SQLite sees it: a log that is not whole on the disk is no log to write on in.
    let is_renewed = doubt.is_some() && doubt::write_again(&path).is_ok();
    let file = FileId::of(&path);
    let (mut first, migrated_from) = match prepared(&path, &options, presence.is_shared()).await {
        Ok(prepared) => prepared,
        Err(error) => {
            let (readable, first, reason) = match (&error, others) {
                (StoreError::InUse { .. }, Others::Stay) => reader_beside(&path, &options, error).await?,
                _ => reader(&path, &options, error).await?,
            };
            (options, opened.read_only) = (readable, Some(reason));
            (first, None)
        }
    };
    let version = schema::version(&mut first, &path).await?;
    opened.migrated_from = migrated_from.or(opened.migrated_from);
    if opened.read_only.is_none() {
        let files = ["", "-wal", "-shm"].map(|ending| aside::beside(&path, ending));
        let locked = files.iter().find(|file| file.exists() && !can_write(file));
        opened.read_only = locked.map(|file| format!("{} may not be written", file.display()));
    }
    if presence.is_alone() && opened.read_only.is_none() {
        for left in promises::left(&path) {
            let compared = promises::compare(&mut first, &left).await;
            left.settle(compared.is_kept());
            opened.findings.extend(compared.findings);
        }
        if let Some(found) = &doubt {
            // What was set aside was copied; left where it is, it would be found again. Where this fails, nothing is
            // written before it succeeds.
            let settled = match is_renewed {
                true => doubt::move_log(&mut first, &path, found).await,
                false => doubt::settle(&mut first, &path, found).await,
            };
            match settled {
                Ok(()) => doubt = None,
                Err(error) if !opened.set_aside.is_empty() => return Err(error),
                Err(_) => {}
            }
        }
    }
    presence.mark_ours();
    presence.share().await;
    let (presence, opened) = (Arc::new(presence), Arc::new(opened));
    Ok(Open { path, file, options, first, version, presence, opened, doubt })
}

/// Looks at the files before SQLite does. Nobody else has them open.
async fn look(path: &Path, opened: &mut Opened) -> Result<(), StoreError> {
    let log = aside::beside(path, "-wal");
    let Some(scan) = wal::scan(&log).map_err(|error| io_error(&log, &error))? else { return Ok(()) };
    let header = first_bytes(path).map_err(|error| io_error(path, &error))?;
    let first_page = scan.first_page.as_ref().unwrap_or(&header);
    if !first_page.is_empty() {
        schema::version_in(first_page, path)?;
    }
    let corrupt = |reason| StoreError::Corrupt { place: path.display().to_string(), reason };
    if header.is_empty() && scan.committed() > 0 {
        // SQLite would take the log for a rest and remove it, whether or not it can read it.
        let frames = scan.committed();
        return Err(corrupt(format!("it is empty, but its write-ahead log has {frames} frames")));
    }
    let Some(ignored) = scan.ignored else { return Ok(()) };
    if !can_write(path) {
        return Ok(());
    }
    // What is whole in it may be what a failed write has left, and its caller was told so: that is not ours to bring back.
    if !log.exists() {
        // A connection of ours that is still being closed has moved it into the database since it was read.
        return Ok(());
    }
    let finding = passed_over(path, &scan, &ignored);
    if finding.severity == Severity::Loss || ignored.commits > 0 && breaks_promises(path).await {
        // Once SQLite may write, the log is gone, and with it what a salvage would take over.
        return Err(corrupt(finding.what));
    }
    opened.set_aside.push(aside::keep_part(path, &log, wal::HEADER as u64, ignored.place)?);
    opened.findings.push(finding);
    Ok(())
}

/// Returns whether records that were acknowledged are missing in what SQLite reads. Nothing is written.
async fn breaks_promises(path: &Path) -> bool {
    let left = promises::left(path);
    if !left.iter().any(promises::Left::promises_any) {
        return false;
    }
    // One that writes would remove the log when it is closed.
    let Ok(mut connection) = doctor::reader(path, true).await else { return true };
    let version = schema::version(&mut connection, path).await;
    let mut kept = match version {
        Ok(version) => schema::check(&mut connection, path, version).await.is_ok(),
        Err(_) => false,
    };
    for left in &left {
        kept = kept && promises::compare(&mut connection, left).await.is_kept();
    }
    // Nothing was written.
    let _ = answer::close(connection).await;
    !kept
}

/// Removes what reading a database that could not be written has left beside it: files as little writable, without which
/// SQLite does as well. Nobody else has them open.
fn tidy(path: &Path) {
    let (log, index) = (aside::beside(path, "-wal"), aside::beside(path, "-shm"));
    if !can_write(path) || has_log(path) && !can_write(&log) {
        return;
    }
    for file in [log, index] {
        if file.exists() && !can_write(&file) {
            // Where that fails the database can only be read, which is told.
            let _ = fs::remove_file(file);
        }
    }
}

/// Returns what people are told about the part of a write-ahead log that SQLite does not read.
pub(super) fn passed_over(path: &Path, scan: &wal::Scan, ignored: &Ignored) -> Finding {
    let Ignored { frames, commits, .. } = ignored;
    let after = scan.frames;
    match ignored.kind {
        IgnoredKind::CutOff => Finding::notice(format!(
            "a write was cut off: {frames} frames of the write-ahead log after frame {after} have no commit and are not read"
        )),
        IgnoredKind::Broken => Finding::notice(format!(
            "the write-ahead log breaks off after frame {after}: {frames} frames that follow, with {commits} commits, are not \
             read; a write was cut off, or the file is damaged"
        )),
        // So is that of a log whose beginning was cut off. Then all that it held before is in the database.
        IgnoredKind::Header if wal::is_moved(&aside::beside(path, "-wal"), path).unwrap_or(false) => {
            Finding::notice(format!(
                "the write-ahead log's header is damaged: {frames} frames are not read, but all of them are in the database"
            ))
        }
        IgnoredKind::Header => Finding::new(
            Severity::Loss,
            Remedy::Salvage,
            format!(
                "the write-ahead log's header is damaged: {frames} frames, with {commits} commits, are not read"
            ),
        ),
    }
}

/// Returns the first bytes of a database, fewer if it has no more.
pub(super) fn first_bytes(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(wal::FIRST_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns how much of a database is missing at its end; it has nothing in a write-ahead log.
pub(super) fn cut_off(path: &Path, header: &[u8]) -> Option<String> {
    let (length, expected) = (fs::metadata(path).ok()?.len(), length_in(header)?);
    (length < expected).then(|| format!("the file was cut off: it has {length} of {expected} bytes"))
}

/// Returns how many bytes a database has, as its first bytes say.
pub(super) fn length_in(header: &[u8]) -> Option<u64> {
    let number = |at: usize| header.get(at..)?.first_chunk::<4>().copied().map(u32::from_be_bytes);
    // Offsets from sqlite.org/fileformat2.html#the_database_header, read 2026-11. The number of pages counts only if it
    // was written together with the last change.
    let (changed, pages, valid) = (number(24)?, number(28)?, number(92)?);
    let page_size = header.get(16..)?.first_chunk::<2>().copied().map(u16::from_be_bytes)?;
    let page_size = if page_size == 1 { 65536 } else { u64::from(page_size) };
    (changed == valid).then_some(u64::from(pages) * page_size)
}

/// Returns whether a database lies where nothing can be made beside it.
pub(super) fn is_on_read_only(path: &Path) -> bool {
    !can_write(path.parent().unwrap_or(path))
}

/// Returns whether there is anything in a database's write-ahead log.
pub(super) fn has_log(path: &Path) -> bool {
    fs::metadata(aside::beside(path, "-wal")).is_ok_and(|found| found.len() > 0)
}

/// Returns the error of a database that cannot be read where it lies.
pub(super) fn needs_room(path: &Path) -> StoreError {
    let log = aside::beside(path, "-wal");
    let reason = format!(
        "it has a write-ahead log, which cannot be read where nothing can be written; copy it together with {} to another \
         folder",
        log.display()
    );
    StoreError::Io { place: path.display().to_string(), reason }
}

/// Opens the first connection and brings the database to the current schema, unless others have it open.
async fn prepared(
    path: &Path,
    options: &SqliteConnectOptions,
    is_shared: bool,
) -> Result<(SqliteConnection, Option<usize>), StoreError> {
    let start = Instant::now();
    loop {
        let connected =
            SqliteConnection::connect_with(options).await.map_err(|error| store_error(path, error));
        let prepared = match connected {
            Ok(mut connection) => {
                let prepared = schema::prepare(&mut connection, path, is_shared).await;
                prepared.map(|from| (connection, from))
            }
            Err(error) => Err(error),
        };
        match prepared {
            // While somebody else switches a new database to write-ahead logging, SQLite refuses at once and does not
            // wait as it does everywhere else.
            Err(StoreError::Busy { .. }) if start.elapsed() < PATIENCE => {
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
            prepared => return prepared,
        }
    }
}

/// Opens a database that cannot be opened to be written, where that is because of its medium. What is in a write-ahead log is
/// read by the index beside it; without one it cannot be. Otherwise `error` is the answer.
async fn reader(
    path: &Path,
    options: &SqliteConnectOptions,
    error: StoreError,
) -> Result<(SqliteConnectOptions, SqliteConnection, String), StoreError> {
    let refused = matches!(error, StoreError::Io { .. } | StoreError::ReadOnly { .. });
    if !refused || !is_on_read_only(path) {
        return Err(error);
    }
    let has_log = has_log(path);
    let options = options.clone().read_only(true).immutable(!has_log);
    let fault = |error| if has_log { needs_room(path) } else { store_error(path, error) };
    let mut connection = SqliteConnection::connect_with(&options).await.map_err(fault)?;
    let version = match schema::version(&mut connection, path).await {
        Err(StoreError::Io { .. }) if has_log => return Err(needs_room(path)),
        version => version?,
    };
    schema::check(&mut connection, path, version).await?;
    match version {
        // What was not sealed yet is read as it stands.
        2.. => Ok((options, connection, "nothing can be written in its folder".to_owned())),
        version => {
            let reason = format!(
                "it has schema version {version} and cannot be brought to {} where nothing can be written",
                schema::VERSION
            );
            Err(StoreError::Io { place: path.display().to_string(), reason })
        }
    }
}

/// Opens a database of an older version beside those who have it open, to read it as it stands. Where that cannot be done
/// `error` is the answer.
async fn reader_beside(
    path: &Path,
    options: &SqliteConnectOptions,
    error: StoreError,
) -> Result<(SqliteConnectOptions, SqliteConnection, String), StoreError> {
    let options = options.clone().read_only(true);
    let fault = |error| store_error(path, error);
    let mut connection = SqliteConnection::connect_with(&options).await.map_err(fault)?;
    let version = schema::version(&mut connection, path).await?;
    schema::check(&mut connection, path, version).await?;
    match version {
        2..schema::VERSION => {
            let reason = format!(
                "it has schema version {version}, and another process has it open, which may write it so; it is brought up to \
                 date once no other process has it open"
            );
            Ok((options, connection, reason))
        }
        // They have brought it to the current one, and it can be written the next time.
        schema::VERSION => Err(StoreError::Busy { place: path.display().to_string() }),
        _ => Err(error),
    }
}
