//! What was promised: the last flushed receipt of each session that a handle holds, written beside the database.
//!
//! A write-ahead log can be deleted, cut or replaced together with all acknowledged batches in it, and what is left looks
//! whole. So each owner of leases writes in the file of its lock how far it has told people that their records are kept.
//! The file goes with its owner. If the owner died, whoever opens the database next finds the file and compares. A
//! receipt is written after the disk has synced, and a log only grows, so a record that is promised and not there is lost.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sqlx::{Row, SqliteConnection};

use super::answer::Ask;
use super::doctor::Finding;
use super::presence;
use super::rows::{digest, read, stored};
use crate::{Digest, SessionId, Tally};

/// The bytes of one promise, so that it can be replaced by the next one.
const LINE: usize = 153;
/// More than this is not read; it is a hundred thousand sessions.
const LIMIT: u64 = 16 * 1024 * 1024;
/// Files of owners.
const OWNER: &str = "lock";
/// Files of dead owners whose promises were found broken, or could not be compared.
const BROKEN: &str = "broken";

/// The last receipt of a session.
#[derive(Debug, PartialEq, Eq)]
struct Promise {
    key: i64,
    session: SessionId,
    seq: u64,
    digest: Digest,
}

/// Writes the promise in one place of an owner's file. Where that fails, it is missing, and nothing else.
pub(super) fn write(file: &File, place: u64, key: i64, session: &SessionId, tally: &Tally) {
    let line = line(key, session, tally.seq, &tally.digest);
    let _ = write_at(file, line.as_bytes(), place.saturating_mul(LINE as u64));
}

fn line(key: i64, session: &SessionId, seq: u64, digest: &Digest) -> String {
    let mut line = format!("{key:>20} {session} {seq:>20} {digest}");
    // Half a promise is none.
    let check = Digest::of(line.as_bytes()).to_string();
    line.push(' ');
    line.push_str(check.get(..8).unwrap_or_default());
    line.push('\n');
    line
}

#[cfg(unix)]
fn write_at(file: &File, bytes: &[u8], place: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, place)
}

#[cfg(windows)]
fn write_at(file: &File, bytes: &[u8], place: u64) -> io::Result<()> {
    std::os::windows::fs::FileExt::seek_write(file, bytes, place).map(drop)
}

#[cfg(not(any(unix, windows)))]
fn write_at(_: &File, _: &[u8], _: u64) -> io::Result<()> {
    Ok(())
}

fn parse(text: &[u8]) -> Vec<Promise> {
    let one = |bytes: &[u8]| -> Option<Promise> {
        let text = std::str::from_utf8(bytes).ok()?;
        let mut words = text.split_ascii_whitespace();
        let key = words.next()?.parse().ok()?;
        let session = SessionId::parse(words.next()?).ok()?;
        let seq = words.next()?.parse().ok()?;
        let digest = Digest::parse(words.next()?).ok()?;
        (line(key, &session, seq, &digest) == text).then_some(Promise { key, session, seq, digest })
    };
    text.chunks_exact(LINE).filter_map(one).collect()
}

/// A file of a dead owner.
#[derive(Debug)]
pub(super) struct Left {
    pub(super) path: PathBuf,
    promises: Vec<Promise>,
}

/// Returns what dead owners have left.
pub(super) fn left(database: &Path) -> Vec<Left> {
    let Ok(entries) = fs::read_dir(presence::folder(database)) else { return Vec::new() };
    let mut found = Vec::new();
    for path in entries.flatten().map(|entry| entry.path()) {
        if !path.extension().is_some_and(|ending| ending == OWNER || ending == BROKEN) {
            continue;
        }
        // To open a pipe is to wait for somebody.
        let Some(file) = path.is_file().then(|| File::open(&path).ok()).flatten() else { continue };
        if file.try_lock_shared().is_err() {
            continue;
        }
        let mut text = Vec::new();
        if file.take(LIMIT).read_to_end(&mut text).is_ok() {
            found.push(Left { path, promises: parse(&text) });
        }
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    found
}

/// What a comparison of promises with a database came to.
#[derive(Debug, Default)]
pub(super) struct Compared {
    /// What is missing, and what could not be compared.
    pub(super) findings: Vec<Finding>,
}

impl Compared {
    /// Returns whether all is there that was promised, for sure.
    pub(super) fn is_kept(&self) -> bool {
        self.findings.is_empty()
    }
}

/// Compares what was promised with what is there. What cannot be read proves nothing, neither that it is lost nor that it
/// is there.
pub(super) async fn compare(connection: &mut SqliteConnection, left: &Left) -> Compared {
    let mut compared = Compared::default();
    for promise in &left.promises {
        let finding = match is_broken(connection, promise).await {
            Ok(None) => continue,
            Ok(Some(what)) => Finding::loss(what),
            Err(error) => Finding::notice(format!(
                "was acknowledged, and whether it is still there cannot be read: {error}"
            )),
        };
        compared.findings.push(finding.of(&promise.session, Some(promise.seq)));
    }
    compared
}

async fn is_broken(
    connection: &mut SqliteConnection,
    promise: &Promise,
) -> Result<Option<String>, sqlx::Error> {
    let Promise { key, session, seq, digest: promised } = promise;
    let row = sqlx::query("SELECT id, records FROM sessions WHERE session = ?").bind(key);
    let Some(row) = row.maybe_row(&mut *connection).await? else {
        // Numbers are never given twice: a session that has come and gone was deleted.
        let last = "SELECT max(seq) FROM sqlite_sequence WHERE name = 'sessions'";
        let last: Option<i64> = sqlx::query(last).value(connection).await?;
        let what = "was acknowledged, but the session is not there; was a write-ahead log removed?";
        return Ok((last.unwrap_or_default() < *key).then(|| what.to_owned()));
    };
    if row.try_get::<&str, _>(0)? != session.as_str() {
        return Ok(None);
    }
    let records = read(row.try_get(1)?);
    let found = sqlx::query("SELECT digest FROM records WHERE session = ? AND seq = ?");
    let found: Option<Vec<u8>> = found.bind(key).bind(stored(*seq)).maybe_value(connection).await?;
    Ok(match found.map(digest) {
        None => Some(format!(
            "was acknowledged and is missing: the log ends at record {records}; was a write-ahead log removed or damaged?"
        )),
        Some(found) if found.as_ref() != Ok(promised) => {
            Some(format!("is not the one that was acknowledged, whose digest is {promised}"))
        }
        Some(_) => None,
    })
}

impl Left {
    /// Returns whether anything was promised at all.
    pub(super) fn promises_any(&self) -> bool {
        !self.promises.is_empty()
    }

    /// Tidies it away: kept promises need not be remembered, all others are there for whoever looks later.
    pub(super) fn settle(&self, kept: bool) {
        // Where that fails it is only done again.
        let _ = match kept {
            true => fs::remove_file(&self.path),
            false => fs::rename(&self.path, self.path.with_extension(BROKEN)),
        };
    }
}

/// Forgets all promises: what they were about is gone on purpose.
pub(super) fn forget(database: &Path) {
    for left in left(database) {
        left.settle(true);
    }
}
