//! The sessions in the database of opencode, each as its export would print it.
//!
//! The database is another program's, which may be at work in it: it is opened for reading alone, and each look is one
//! transaction. What it holds is hostile: no statement in it is run, a view is no table, a cell has a bound and a look a time.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error, OpenFlags, Row};
use serde_json::{Map, Value, json};

/// The most bytes that a cell may have; a longer one is told.
const LONGEST: i32 = 64 * 1024 * 1024;

/// A look that takes longer is given up.
const PATIENCE: Duration = Duration::from_secs(60);

/// How many steps of SQLite's machine go by between two looks at the clock.
const STEPS: i32 = 100_000;

/// A session, before it is read.
pub(crate) struct Stored {
    /// Its id.
    pub(crate) id: String,
    /// When it was changed last, in milliseconds.
    pub(crate) updated: u64,
}

/// Whether a file can be such a database, by its name.
pub(crate) fn is_named_so(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "opencode.db")
}

/// Lists the sessions, the oldest first.
pub(crate) fn list(path: &Path) -> Result<Vec<Stored>, String> {
    let look = |connection: &Connection| {
        check(connection)?;
        let mut rows =
            connection.prepare("SELECT id, time_updated FROM main.session ORDER BY time_created, id")?;
        let stored = rows.query_map([], |row| {
            Ok(Stored { id: text(row.get_ref(0)?), updated: text(row.get_ref(1)?).parse().unwrap_or(0) })
        })?;
        stored.collect()
    };
    with(path, look)
}

/// Returns one session in the words of `opencode export`.
pub(crate) fn export(path: &Path, id: &str) -> Result<Vec<u8>, String> {
    let look = |connection: &Connection| {
        check(connection)?;
        let mut info = connection.prepare("SELECT * FROM main.session WHERE id = ?1")?;
        let info = info.query_row([id], |row| Ok(info_of(row)))?;
        let mut messages: Vec<(String, Value, Vec<Value>)> = Vec::new();
        let mut rows = connection
            .prepare("SELECT id, data FROM main.message WHERE session_id = ?1 ORDER BY time_created, id")?;
        let mut found = rows.query([id])?;
        while let Some(row) = found.next()? {
            let (message, data) = (text(row.get_ref(0)?), text(row.get_ref(1)?));
            let info = with_ids(&data, &[("id", &message), ("sessionID", id)]);
            messages.push((message, info, Vec::new()));
        }
        let mut rows = connection.prepare(
            "SELECT id, message_id, data FROM main.part WHERE session_id = ?1 ORDER BY message_id, id",
        )?;
        let mut found = rows.query([id])?;
        let places: std::collections::HashMap<String, usize> =
            messages.iter().enumerate().map(|(place, (id, ..))| (id.clone(), place)).collect();
        while let Some(row) = found.next()? {
            let (part, message, data) = (text(row.get_ref(0)?), text(row.get_ref(1)?), text(row.get_ref(2)?));
            if let Some((_, _, parts)) = places.get(&message).and_then(|place| messages.get_mut(*place)) {
                parts.push(with_ids(&data, &[("id", &part), ("sessionID", id), ("messageID", &message)]));
            }
        }
        let messages = messages.into_iter().map(|(_, info, parts)| json!({ "info": info, "parts": parts }));
        Ok(json!({ "info": info, "messages": messages.collect::<Vec<Value>>() }).to_string().into_bytes())
    };
    with(path, look)
}

/// Looks into a database in one transaction.
///
/// Where no process has it open there is no log beside it, and SQLite would make one to read: then the file is read as one that
/// does not change, and once more if it did meanwhile.
fn with<T>(path: &Path, look: impl Fn(&Connection) -> Result<T, Error>) -> Result<T, String> {
    let told = |error: Error| format!("its database cannot be read: {error}");
    let log = PathBuf::from(format!("{}-wal", path.display()));
    let before = state(path);
    if !log.exists() {
        let found = open(path, true).and_then(|connection| look(&connection));
        if !log.exists() && state(path) == before {
            return found.map_err(told);
        }
    }
    open(path, false).and_then(|connection| look(&connection)).map_err(told)
}

/// What tells that a file was changed.
fn state(path: &Path) -> Option<(u64, std::time::SystemTime)> {
    let about = path.metadata().ok()?;
    Some((about.len(), about.modified().ok()?))
}

fn open(path: &Path, is_still: bool) -> Result<Connection, Error> {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => {
                uri.push(char::from(*byte))
            }
            other => uri.push_str(&format!("%{other:02X}")),
        }
    }
    uri.push_str(if is_still { "?mode=ro&immutable=1" } else { "?mode=ro" });
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(uri, flags)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, LONGEST)?;
    connection.busy_timeout(Duration::from_secs(5))?;
    let begun = Instant::now();
    connection.progress_handler(STEPS, Some(move || begun.elapsed() > PATIENCE))?;
    connection.execute_batch("PRAGMA query_only = 1; PRAGMA cell_size_check = 1; BEGIN")?;
    Ok(connection)
}

/// Fails unless what is read are tables.
fn check(connection: &Connection) -> Result<(), Error> {
    let mut kind = connection.prepare(
        "SELECT count(*) FROM main.sqlite_schema WHERE type = 'table' AND name IN ('session', 'message', 'part')
             AND sql NOT LIKE '%VIRTUAL%'",
    )?;
    match kind.query_row([], |row| row.get::<_, i64>(0))? {
        3 => Ok(()),
        _ => Err(Error::InvalidPath(PathBuf::from("it has not the tables session, message and part"))),
    }
}

/// Returns what a session's columns say in the words of an export; columns that hold JSON are read.
fn info_of(row: &Row<'_>) -> Value {
    let column = |name: &str| row.get_ref(name).map(text).unwrap_or_default();
    let parsed = |name: &str| serde_json::from_str::<Value>(&column(name)).unwrap_or(Value::Null);
    let number = |name: &str| row.get::<_, i64>(name).ok();
    let mut info = Map::new();
    let mut set = |name: &str, value: Value| {
        if !value.is_null() && value != json!("") {
            info.insert(name.to_owned(), value);
        }
    };
    for (name, from) in [
        ("id", "id"),
        ("projectID", "project_id"),
        ("parentID", "parent_id"),
        ("slug", "slug"),
        ("directory", "directory"),
        ("title", "title"),
        ("version", "version"),
        ("agent", "agent"),
    ] {
        set(name, Value::String(column(from)));
    }
    for (name, from) in [("revert", "revert"), ("permission", "permission"), ("model", "model")] {
        set(name, parsed(from));
    }
    set("time", json!({ "created": number("time_created"), "updated": number("time_updated") }));
    Value::Object(info)
}

fn text(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(_) | ValueRef::Null => String::new(),
    }
}

/// Returns a row's JSON with the ids that stand in columns of their own. What is no JSON object stays as a text, so that the reader
/// says so.
fn with_ids(data: &str, ids: &[(&str, &str)]) -> Value {
    match serde_json::from_str(data) {
        Ok(Value::Object(mut fields)) => {
            fields.extend(ids.iter().map(|(name, id)| ((*name).to_owned(), json!(id))));
            Value::Object(fields)
        }
        _ => Value::String(data.to_owned()),
    }
}
