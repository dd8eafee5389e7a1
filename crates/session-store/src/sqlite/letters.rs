//! Letters as rows, and the seals that they stand under while they wait.
//!
//! A seal stands in a table of its own from the moment in which its letter is posted until a batch consumes it. So a letter
//! that waits without one was consumed before, or was put there by another program, and one that has a seal still waits,
//! whatever its row says.

use std::path::Path;

use sqlx::sqlite::SqliteRow;
use sqlx::{Executor, Sqlite, SqliteConnection};
use trunkline_message_tree::Timestamp;

use super::answer::Ask;
use super::fault::store_error;
use super::rows::{get, read, stored};
use crate::{InboxId, Letter, LetterState, SessionId, StoreError};

/// How many letters are read at once.
const PAGE: i64 = 64;

const SEALED: &str = "SELECT letter, at, kind, body, consumed, seal.digest AS seal
                      FROM letters LEFT JOIN letter_seals AS seal USING (session, letter)";
const UNSEALED: &str = "SELECT letter, at, kind, body, consumed, NULL AS seal FROM letters";

/// What waits, and what is sealed as if it did.
const WAITING: &str = "
    SELECT letter, at, kind, body, consumed, seal.digest AS seal
    FROM letters LEFT JOIN letter_seals AS seal USING (session, letter)
    WHERE session = ?1 AND (consumed IS NULL OR seal.digest IS NOT NULL)
    UNION ALL
    SELECT letter, NULL, NULL, NULL, NULL, digest FROM letter_seals
    WHERE session = ?1
        AND NOT EXISTS (SELECT 1 FROM letters WHERE letters.session = ?1 AND letters.letter = letter_seals.letter)
    ORDER BY 1";

/// A letter, as its row says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LetterRow {
    pub(super) letter: Letter,
    pub(super) consumed: Option<i64>,
    seal: Option<Vec<u8>>,
}

impl LetterRow {
    fn of(row: &SqliteRow) -> Result<Self, String> {
        let kind: Option<String> = get(row, "kind")?;
        let letter = Letter {
            id: InboxId(read(get(row, "letter")?)),
            kind: kind.ok_or("it is gone, and its seal says that it waits")?,
            at: Timestamp(read(get(row, "at")?)),
            body: get(row, "body")?,
        };
        Ok(LetterRow { letter, consumed: get(row, "consumed")?, seal: get(row, "seal")? })
    }

    /// Returns what is wrong with it, where letters have seals.
    fn damage(&self, session: &SessionId) -> Option<&'static str> {
        match (self.consumed, &self.seal) {
            (Some(_), None) => None,
            (Some(_), Some(_)) => Some("it is marked as consumed, and its seal says that it waits"),
            (None, None) => Some("it has no seal: it was consumed before, or put there by another program"),
            (None, Some(seal)) if seal == self.letter.seal(session).as_bytes() => None,
            (None, Some(_)) => Some("it is not what was written"),
        }
    }
}

/// Reads a letter and says what is wrong with it, which is nothing in a database whose letters have no seals.
fn sound(row: &SqliteRow, session: &SessionId, is_sealed: bool) -> Result<LetterRow, String> {
    let row = LetterRow::of(row)?;
    match row.damage(session).filter(|_| is_sealed) {
        Some(what) => Err(what.to_owned()),
        None => Ok(row),
    }
}

/// Returns the error for a letter that is not what was written.
fn damaged(path: &Path, session: &SessionId, row: &SqliteRow, what: &str) -> StoreError {
    let letter = match get(row, "letter").map(read) {
        Ok(letter) => format!("letter {letter}"),
        Err(_) => "a letter".to_owned(),
    };
    let reason = format!(
        "{letter} in the inbox of session {session}: {what}; mended by `doctor`, which keeps it aside"
    );
    StoreError::Corrupt { place: path.display().to_string(), reason }
}

/// Puts a letter into the inbox of a session, under a seal.
pub(super) async fn post(
    connection: &mut SqliteConnection,
    path: &Path,
    (key, session): (i64, &SessionId),
    letter: &Letter,
) -> Result<(), StoreError> {
    let query = "INSERT INTO letters (session, letter, at, kind, body) VALUES (?, ?, ?, ?, ?)";
    let query = sqlx::query(query).bind(key).bind(stored(letter.id.0)).bind(stored(letter.at.0));
    let query = query.bind(&letter.kind).bind(&letter.body);
    query.execute(&mut *connection).await.map_err(|error| store_error(path, error))?;
    seal(connection, path, (key, session), letter).await
}

/// Puts a letter back that was taken from another database. One that waits is sealed.
pub(super) async fn take_over(
    connection: &mut SqliteConnection,
    path: &Path,
    (key, session): (i64, &SessionId),
    row: &LetterRow,
) -> Result<(), StoreError> {
    let LetterRow { letter, consumed, .. } = row;
    let Some(consumed) = consumed else { return post(connection, path, (key, session), letter).await };
    let query = "INSERT INTO letters (session, letter, at, kind, body, consumed) VALUES (?, ?, ?, ?, ?, ?)";
    let query = sqlx::query(query).bind(key).bind(stored(letter.id.0)).bind(stored(letter.at.0));
    let query = query.bind(&letter.kind).bind(&letter.body).bind(consumed);
    query.execute(connection).await.map(drop).map_err(|error| store_error(path, error))
}

async fn seal(
    connection: &mut SqliteConnection,
    path: &Path,
    (key, session): (i64, &SessionId),
    letter: &Letter,
) -> Result<(), StoreError> {
    let query = "INSERT INTO letter_seals (session, letter, digest) VALUES (?, ?, ?)";
    let query = sqlx::query(query).bind(key).bind(stored(letter.id.0));
    let query = query.bind(letter.seal(session).as_bytes().to_vec());
    query.execute(connection).await.map(drop).map_err(|error| store_error(path, error))
}

/// Seals the letters that wait in a session: before version 4 nothing proved them, so they are taken as they stand. What
/// cannot be read gets no seal, which is told when it is looked for.
pub(super) async fn seal_waiting(
    connection: &mut SqliteConnection,
    path: &Path,
    (key, session): (i64, &SessionId),
) -> Result<(), StoreError> {
    for row in listed(connection, (key, session), "AND consumed IS NULL", false).await.letters {
        seal(connection, path, (key, session), &row.letter).await?;
    }
    Ok(())
}

/// Returns how many letters wait in a session, with those that are sealed as if they did.
pub(super) async fn count_waiting(
    connection: &mut SqliteConnection,
    path: &Path,
    key: i64,
) -> Result<u64, StoreError> {
    let query = "SELECT count(*) FROM (
                     SELECT letter FROM letters WHERE session = ?1 AND consumed IS NULL
                     UNION SELECT letter FROM letter_seals WHERE session = ?1)";
    let count = sqlx::query(query).bind(key).value::<i64>(connection).await;
    count.map(i64::unsigned_abs).map_err(|error| store_error(path, error))
}

/// Takes a letter out of the inbox of a session, for a batch that ends with record `seq`.
pub(super) async fn consume(
    connection: &mut SqliteConnection,
    path: &Path,
    (key, session): (i64, &SessionId),
    letter: InboxId,
    seq: u64,
) -> Result<(), StoreError> {
    let fault = |error| store_error(path, error);
    let state = state(&mut *connection, path, (key, session), letter, true).await;
    if !matches!(state.map_err(fault)??, Some(LetterState::Waiting)) {
        return Err(StoreError::NoSuchLetter { session: session.clone(), letter });
    }
    for query in [
        sqlx::query("UPDATE letters SET consumed = ? WHERE session = ? AND letter = ?").bind(stored(seq)),
        sqlx::query("DELETE FROM letter_seals WHERE session = ? AND letter = ?"),
    ] {
        let query = query.bind(key).bind(stored(letter.0));
        query.execute(&mut *connection).await.map_err(fault)?;
    }
    Ok(())
}

/// Returns what became of a letter, and nothing if it never was.
pub(super) async fn state<'c>(
    connection: impl Executor<'c, Database = Sqlite>,
    path: &Path,
    (key, session): (i64, &SessionId),
    letter: InboxId,
    is_sealed: bool,
) -> sqlx::Result<Result<Option<LetterState>, StoreError>> {
    let query = format!("{} WHERE session = ? AND letter = ?", if is_sealed { SEALED } else { UNSEALED });
    let query = sqlx::query(sqlx::AssertSqlSafe(query)).bind(key).bind(stored(letter.0));
    let Some(row) = query.maybe_row(connection).await? else { return Ok(Ok(None)) };
    Ok(match sound(&row, session, is_sealed) {
        Ok(LetterRow { consumed: None, .. }) => Ok(Some(LetterState::Waiting)),
        Ok(LetterRow { consumed: Some(seq), .. }) => Ok(Some(LetterState::Consumed { seq: read(seq) })),
        Err(what) => Err(damaged(path, session, &row, &what)),
    })
}

/// Returns the letters that wait in a session, oldest first.
pub(super) async fn waiting<'c>(
    connection: impl Executor<'c, Database = Sqlite>,
    path: &Path,
    (key, session): (i64, &SessionId),
    is_sealed: bool,
) -> sqlx::Result<Result<Vec<Letter>, StoreError>> {
    let unsealed;
    let query = match is_sealed {
        true => WAITING,
        false => {
            unsealed = format!("{UNSEALED} WHERE session = ? AND consumed IS NULL ORDER BY letter");
            &unsealed
        }
    };
    let rows = sqlx::query(sqlx::AssertSqlSafe(query)).bind(key).all_rows(connection).await?;
    let mut letters: Vec<Letter> = Vec::with_capacity(rows.len());
    for row in &rows {
        match sound(row, session, is_sealed) {
            Ok(found) if letters.last().is_none_or(|last| last.id < found.letter.id) => {
                letters.push(found.letter)
            }
            Ok(_) => return Ok(Err(damaged(path, session, row, "it is there twice"))),
            Err(what) => return Ok(Err(damaged(path, session, row, &what))),
        }
    }
    Ok(Ok(letters))
}

/// The letters of a session, as far as they can be read.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    /// Those that are what was written, oldest first.
    pub(super) letters: Vec<LetterRow>,
    /// The others, with what is wrong with each.
    pub(super) damaged: Vec<(u64, String)>,
    /// Why these may not be all.
    pub(super) fault: Option<String>,
}

impl Inbox {
    /// Returns what is wrong with it, in words.
    pub(super) fn faults(&self) -> Vec<String> {
        let letters =
            self.damaged.iter().map(|(letter, what)| format!("letter {letter} of its inbox: {what}"));
        letters.chain(self.fault.iter().map(|fault| format!("its inbox cannot be read: {fault}"))).collect()
    }
}

/// Returns whether the letters of a database have seals.
pub(super) async fn are_sealed(connection: &mut SqliteConnection) -> bool {
    let query = "SELECT count(*) FROM sqlite_schema WHERE name = 'letter_seals'";
    sqlx::query(query).value::<i64>(connection).await.is_ok_and(|count| count > 0)
}

/// Reads the letters of a session in a database that may be damaged. Where the seals cannot be read, a letter that was consumed is
/// taken for what its row says.
pub(super) async fn all(
    connection: &mut SqliteConnection,
    key: i64,
    session: &SessionId,
    is_sealed: bool,
) -> Inbox {
    let mut inbox = listed(connection, (key, session), "", is_sealed).await;
    let Some(fault) = inbox.fault.clone().filter(|_| is_sealed) else { return inbox };
    let unsealed = listed(connection, (key, session), "", false).await;
    if unsealed.fault.is_some() {
        return inbox;
    }
    let read = inbox.letters.iter().map(|row| row.letter.id.0);
    let read = read.chain(inbox.damaged.iter().map(|(letter, _)| *letter)).max();
    let is_new = |letter: u64| read.is_none_or(|read| letter > read);
    for row in unsealed.letters.into_iter().filter(|row| is_new(row.letter.id.0)) {
        match row.consumed {
            Some(_) => inbox.letters.push(row),
            None => inbox.damaged.push((row.letter.id.0, format!("its seal cannot be read: {fault}"))),
        }
    }
    inbox.damaged.extend(unsealed.damaged.into_iter().filter(|(letter, _)| is_new(*letter)));
    inbox.fault = None;
    inbox
}

/// Reads the letters of a session of which `which` holds, a condition of SQL.
async fn listed(
    connection: &mut SqliteConnection,
    (key, session): (i64, &SessionId),
    which: &str,
    is_sealed: bool,
) -> Inbox {
    let mut inbox = Inbox::default();
    let (mut limit, mut after) = (PAGE, i64::MIN);
    let select = if is_sealed { SEALED } else { UNSEALED };
    let query = format!("{select} WHERE session = ? AND letter > ? {which} ORDER BY letter LIMIT ?");
    loop {
        let page = sqlx::query(sqlx::AssertSqlSafe(query.as_str())).bind(key).bind(after).bind(limit);
        let page = match page.all_rows(&mut *connection).await {
            Ok(page) if page.is_empty() => break,
            Ok(page) => page,
            Err(_) if limit > 1 => {
                limit = 1;
                continue;
            }
            Err(error) => {
                inbox.fault = Some(super::fault::words(&error));
                return inbox;
            }
        };
        for row in &page {
            match get::<i64>(row, "letter") {
                Ok(letter) if letter > after => after = letter,
                Ok(letter) => {
                    inbox.fault = Some(format!("letter {letter} is out of order"));
                    return inbox;
                }
                Err(fault) => {
                    inbox.fault = Some(fault);
                    return inbox;
                }
            }
            match sound(row, session, is_sealed) {
                Ok(letter) => inbox.letters.push(letter),
                Err(what) => inbox.damaged.push((read(after), what)),
            }
        }
    }
    if is_sealed {
        let query = "SELECT letter FROM letter_seals WHERE session = ?1
                     AND letter NOT IN (SELECT letter FROM letters WHERE session = ?1) ORDER BY letter";
        let gone = sqlx::query(query).bind(key).values::<i64>(connection).await;
        let what = "it is gone, and its seal says that it waits";
        inbox
            .damaged
            .extend(gone.unwrap_or_default().into_iter().map(|letter| (read(letter), what.to_owned())));
    }
    inbox
}
