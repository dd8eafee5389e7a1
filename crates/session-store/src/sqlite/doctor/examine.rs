//! Looks at everything and changes nothing.

use std::collections::BTreeSet;
use std::path::Path;

use sqlx::{Row, SqliteConnection};

use super::source::{self, Found, Keys, Walk, words};
use super::{Examination, Finding, Remedy, Severity};
use crate::sqlite::answer::Ask;
use crate::sqlite::leases::Owner;
use crate::sqlite::promises::{self, Left};
use crate::sqlite::rows::{get, read};
use crate::sqlite::{letters, schema, snapshots};
use crate::{Digest, SessionId};

/// How many lines of SQLite's own check are told at most.
const LINES: usize = 20;
/// The indices that can be made anew from their tables.
const INDICES: [&str; 6] = [
    "branches",
    "blobs",
    "cuts_of",
    "keys_by_state",
    "sqlite_autoindex_sessions_1",
    "sqlite_autoindex_parts_1",
];

/// Examines a database through an open connection, in one reading transaction.
pub(super) async fn current(
    connection: &mut SqliteConnection,
    path: &Path,
    left: &[Left],
    examination: &mut Examination,
) {
    let findings = &mut examination.findings;
    // Where it fails, each statement sees its own moment.
    let _ = sqlx::query("BEGIN").execute(&mut *connection).await;
    pages(connection, findings).await;
    let sessions = source::sessions(connection).await;
    findings.extend(sessions.faults.iter().map(Finding::loss));
    for key in &sessions.nameless {
        findings.push(Finding::loss(format!(
            "records of session number {key} belong to no session that is known"
        )));
    }
    let owner = Owner::of(path);
    let mut known = BTreeSet::new();
    for found in &sessions.found {
        known.insert(found.key);
        if !found.is_session() {
            if !owner.holds(found.owner.as_deref(), found.key).unwrap_or(true) {
                let what = "an import was cut off; nobody sees it, and `collect` gives its room back";
                findings.push(Finding::notice(what).of(&found.id, None));
            }
            continue;
        }
        examination.sessions += 1;
        let before = findings.len();
        examination.records += session(connection, found, findings).await;
        if examination.schema.is_some_and(|version| version >= schema::SEALED) {
            seal(found, findings);
        }
        // Beside a log that is damaged it says nothing new.
        let is_whole = findings.iter().skip(before).all(|finding| finding.severity < Severity::Loss);
        if is_whole
            && examination.schema == Some(schema::VERSION)
            && matches!(snapshots::is_sound(connection, (found.key, &found.id)).await, Ok(false))
        {
            let what = "its snapshot is not what was kept, or is one of another log; it can be made again";
            findings.push(Finding::derived(what).of(&found.id, None));
        }
    }
    rests(connection, findings).await;
    for left in left {
        findings.extend(promises::compare(connection, left).await.findings);
    }
    let _ = sqlx::query("COMMIT").execute(&mut *connection).await;
}

/// Examines a database of an older version, which has no seals yet, or no digests either.
pub(super) async fn older(
    connection: &mut SqliteConnection,
    path: &Path,
    version: usize,
    examination: &mut Examination,
) {
    let chains = if version == 1 { " and chains its records" } else { "" };
    let what = format!("it has schema version {version}; opening it brings it up to date{chains}");
    examination.findings.push(Finding::notice(what));
    current(connection, path, &[], examination).await;
}

/// Has SQLite check its pages and indices.
async fn pages(connection: &mut SqliteConnection, findings: &mut Vec<Finding>) {
    let checked = sqlx::query("PRAGMA integrity_check").values::<String>(&mut *connection).await;
    let lines = match checked {
        Ok(lines) => lines,
        Err(error) => {
            let what = format!("its pages cannot be checked: {}", words(&error));
            return findings.push(Finding::new(Severity::Derived, Remedy::Salvage, what));
        }
    };
    // One answer may have several lines.
    let mut lines = lines.iter().flat_map(|answer| answer.lines()).filter(|line| *line != "ok");
    for line in lines.by_ref().take(LINES) {
        let index = match INDICES.iter().find(|index| line.ends_with(&format!("index {index}"))) {
            Some(index) => Some((*index).to_owned()),
            None => index_of_tree(connection, line).await,
        };
        findings.push(match index {
            Some(index) => Finding::derived(format!("index {index}: {line}")),
            // Whether anything is lost is for the logs to say.
            None => Finding::new(Severity::Derived, Remedy::Salvage, format!("pages: {line}")),
        });
    }
    let more = lines.count();
    if more > 0 {
        let what = format!("pages: {more} more faults of this kind");
        findings.push(Finding::new(Severity::Derived, Remedy::Salvage, what));
    }
}

/// Returns the index that a line like `Tree 9 page 12: …` is about, if it is about one.
async fn index_of_tree(connection: &mut SqliteConnection, line: &str) -> Option<String> {
    let root: i64 = line.strip_prefix("Tree ")?.split(' ').next()?.parse().ok()?;
    let query = sqlx::query("SELECT name FROM sqlite_schema WHERE type = 'index' AND rootpage = ?");
    let name: String = query.bind(root).maybe_value(connection).await.ok()??;
    INDICES.contains(&name.as_str()).then_some(name)
}

/// Examines one session and returns how many of its records are as they were written.
async fn session(connection: &mut SqliteConnection, found: &Found, findings: &mut Vec<Finding>) -> u64 {
    let id = &found.id;
    let mut keys = Keys::new();
    let mut walk = Walk::new(connection, found);
    while let Some(kept) = walk.next().await {
        source::count_key(&mut keys, &kept);
    }
    let (tally, stopped) = (walk.tally, walk.stopped.take());
    for fault in &found.faults {
        findings.push(Finding::loss(format!("its row is damaged: {fault}")).of(id, None));
    }
    if let Some(reason) = stopped {
        findings.push(Finding::loss(reason).of(id, Some(tally.seq + 1)));
        return tally.seq;
    }
    match &found.claimed {
        Some(claimed) if claimed.seq > tally.seq => {
            let what = format!("is missing with all after it: the session had {} records", claimed.seq);
            findings.push(Finding::loss(what).of(id, Some(tally.seq + 1)));
            return tally.seq;
        }
        Some(claimed) if !source::agree(found, claimed, &tally) => {
            let what = format!(
                "its row does not say what its log does: {} with {} nodes and {} bytes, not {} with {} and {}",
                claimed.position(),
                claimed.nodes,
                claimed.bytes,
                tally.position(),
                tally.nodes,
                tally.bytes
            );
            findings.push(Finding::derived(what).of(id, None));
        }
        _ => {}
    }
    if source::is_empty(&tally) {
        findings.push(Finding::loss("it has no records").of(id, None));
    }
    if found.version == 1 {
        return tally.seq;
    }
    match stored_keys(connection, found.key).await {
        Ok(stored) if stored == keys => {}
        Ok(_) => findings.push(Finding::derived("its list of keys is not what its notes say").of(id, None)),
        Err(reason) => {
            findings
                .push(Finding::derived(format!("its list of keys cannot be read: {reason}")).of(id, None));
        }
    }
    inbox(connection, found, id, findings).await;
    tally.seq
}

/// Compares what a session's row says of it with its seal.
fn seal(found: &Found, findings: &mut Vec<Finding>) {
    if !found.whole {
        let what = "it is hidden like an import that is under way, but it was whole";
        findings.push(Finding::derived(what).of(&found.id, None));
    }
    if let Some(what) = found.unsealed() {
        // Nothing tells what it was, so it stays as it is.
        let folder = found.workspace.as_deref().map(|folder| format!("folder {folder:?}"));
        let what = format!(
            "{what}; now it says title {:?}, {}, made at {} ms",
            found.title,
            folder.as_deref().unwrap_or("no folder"),
            found.created_at.unwrap_or_default().0
        );
        findings.push(Finding::new(Severity::Loss, Remedy::InPlace, what).of(&found.id, None));
    }
}

/// Reads the table of keys for one session.
async fn stored_keys(connection: &mut SqliteConnection, session: i64) -> Result<Keys, String> {
    let query = "SELECT layer, kind, key, state, first, seq FROM keys WHERE session = ?";
    let rows = sqlx::query(query).bind(session).all_rows(connection).await.map_err(|error| words(&error))?;
    let entry = |row: &sqlx::sqlite::SqliteRow| -> Result<_, String> {
        let name = (get(row, "layer")?, get(row, "kind")?, get(row, "key")?);
        Ok((name, (get(row, "state")?, read(get(row, "first")?), read(get(row, "seq")?))))
    };
    rows.iter().map(entry).collect()
}

/// Compares what waits in a session's inbox with its seals, and all of it with what its row counts.
async fn inbox(
    connection: &mut SqliteConnection,
    found: &Found,
    id: &SessionId,
    findings: &mut Vec<Finding>,
) {
    let is_sealed = letters::are_sealed(connection).await;
    let inbox = letters::all(connection, found.key, id, is_sealed).await;
    let faults = inbox.faults();
    if !faults.is_empty() {
        findings.extend(faults.into_iter().map(|fault| Finding::loss(fault).of(id, None)));
        return;
    }
    let letters = inbox.letters;
    let last = letters.last().map_or(0, |row| row.letter.id.0);
    let consumed = letters.iter().filter(|row| row.consumed.is_some()).count() as u64;
    if found.letters < last || found.consumed != consumed {
        let what = format!(
            "its row counts {} letters and {} consumed, its inbox has {last} and {consumed}",
            found.letters, found.consumed
        );
        findings.push(Finding::derived(what).of(id, None));
    }
    let missing = found.letters.saturating_sub(letters.len() as u64);
    if found.letters >= last && missing > 0 {
        findings.push(Finding::notice(format!("{missing} letters of its inbox are missing")).of(id, None));
    }
}

/// Looks for rows that belong to nothing, and for parts that are not what they are called.
async fn rests(connection: &mut SqliteConnection, findings: &mut Vec<Finding>) {
    for (what, query) in [
        (
            "bodies belong to no record",
            "SELECT count(*) FROM bodies WHERE body NOT IN (SELECT body FROM records)",
        ),
        (
            "places of parts belong to no record",
            "SELECT count(*) FROM cuts WHERE body NOT IN (SELECT body FROM records WHERE cuts IS NOT NULL)",
        ),
        (
            "keys belong to no session",
            "SELECT count(*) FROM keys WHERE session NOT IN (SELECT session FROM sessions)",
        ),
        (
            "letters belong to no session",
            "SELECT count(*) FROM letters WHERE session NOT IN (SELECT session FROM sessions)",
        ),
    ] {
        let count = sqlx::query(query).value::<i64>(&mut *connection).await;
        // What cannot be read was told before.
        if let Ok(count @ 1..) = count {
            findings.push(Finding::new(Severity::Derived, Remedy::Salvage, format!("{count} {what}")));
        }
    }
    if let Ok(count @ 1..) = snapshots::count_left(connection).await {
        findings.push(Finding::derived(format!("{count} snapshots belong to no session")));
    }
    let wrong = wrong_parts(connection).await.len();
    if wrong > 0 {
        findings.push(Finding::derived(format!("{wrong} parts of bodies are not what their digests say")));
    }
}

/// Returns the parts whose digests are not those of their texts, with the digests that are.
pub(super) async fn wrong_parts(connection: &mut SqliteConnection) -> Vec<(i64, Digest)> {
    let mut wrong = Vec::new();
    let mut after = i64::MIN;
    loop {
        let query = sqlx::query("SELECT part, digest, text FROM parts WHERE part > ? ORDER BY part LIMIT 16");
        let Ok(page) = query.bind(after).all_rows(&mut *connection).await else { return wrong };
        let before = after;
        for row in &page {
            let Ok(part) = row.try_get::<i64, _>(0) else { continue };
            after = after.max(part);
            let (Ok(digest), Ok(text)) = (row.try_get::<Vec<u8>, _>(1), row.try_get::<&str, _>(2)) else {
                continue;
            };
            let found = Digest::of(text.as_bytes());
            if digest != found.as_bytes() {
                wrong.push((part, found));
            }
        }
        if after == before {
            return wrong;
        }
    }
}
