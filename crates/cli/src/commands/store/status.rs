//! What a store is like, and what should be changed.

use std::path::Path;

use serde_json::{Value, json};
use trunkline_session_store::{SessionStore, StoreOwner, StoreStatus};

use crate::desk::place::Place;
use crate::term::fault::{Exit, Fault};
use crate::term::limits::{duration, size};
use crate::term::out;
use crate::term::style::{BOLD, DIM, YELLOW, paint};
use crate::term::tell::tell;
use crate::term::text::{count, grouped, one_line};

/// A place can be as long as a path.
pub(super) const LONGEST: usize = 4_096;

/// Says what the store is like.
pub(super) async fn run(as_json: bool, place: &Place) -> Result<Exit, Fault> {
    let Some(admin) = place.admin().await? else { return of_file(as_json, place).await };
    let status = admin.status().await;
    admin.close().await;
    let status = status?;
    if as_json {
        out::print_json(&json_of(&status))?;
        return Ok(Exit::Done);
    }
    out::print_page(&page(&status))?;
    for warning in &status.warnings {
        tell(&format!("{} {}\n", paint(YELLOW, "warning:"), one_line(warning, 300)));
    }
    if !status.is_current() {
        let next = place.command("store migrate --dry-run");
        tell(&paint(DIM, &format!("  what would be done: {next}\n")));
    }
    Ok(Exit::Done)
}

async fn of_file(as_json: bool, place: &Place) -> Result<Exit, Fault> {
    let store = place.open_file().await?;
    let sessions = store.sessions().await?;
    let records: u64 = sessions.iter().map(|info| info.records).sum();
    let of = |path: &Path| path.metadata().map_or(0, |metadata| metadata.len());
    let mut log = store.path().to_path_buf().into_os_string();
    log.push("-wal");
    let (file, log) = (of(store.path()), of(Path::new(&log)));
    if as_json {
        out::print_json(&json!({
            "version": 1, "kind": "sqlite", "place": store.path(), "sessions": sessions.len(), "records": records,
            "bytes": file + log,
        }))?;
        return Ok(Exit::Done);
    }
    let lines = [
        row("sessions", &format!("{}, with {}", grouped(sessions.len() as u64), records_of(records))),
        row("file", &format!("{}, and a log of {}", size(file), size(log))),
    ];
    let place = one_line(&store.path().display().to_string(), LONGEST);
    out::print_page(&format!("{}\n{}", paint(BOLD, &place), lines.concat()))?;
    Ok(Exit::Done)
}

fn page(status: &StoreStatus) -> String {
    let place = format!("{} (schema {})", one_line(&status.place, 300), one_line(&status.schema, 80));
    let mut page = format!("{}\n", paint(BOLD, &place));
    let Some(version) = status.version else {
        return page + &row("schema", "not made yet") + &row("server", &server(status));
    };
    page += &row("schema", &format!("version {version} of {}", status.newest));
    page += &row("sessions", &format!("{}, with {}", grouped(status.sessions), records_of(status.records)));
    let largest: Vec<String> = status
        .tables
        .iter()
        .take(3)
        .map(|table| format!("{} {}", one_line(&table.name, 80), size(table.bytes)))
        .collect();
    let quota = status.quota.map(|quota| format!(" of {}", size(quota))).unwrap_or_default();
    page += &row("size", &format!("{}{quota} ({})", size(status.bytes()), largest.join(", ")));
    if status.distributed {
        page += &row("spread", "the sessions are distributed over several servers");
    }
    page += &row("server", &server(status));
    match status.owners.as_slice() {
        [] => page += &row("writers", "none"),
        owners => {
            for (number, owner) in owners.iter().enumerate() {
                page += &row(if number == 0 { "writers" } else { "" }, &writer(owner));
            }
        }
    }
    page
}

/// Says who an owner is, and which schema it knows.
pub(super) fn writer(owner: &StoreOwner) -> String {
    let knows = match owner.knows {
        Some(version) => format!("knows schema {version}"),
        None => "knows no schema newer than 4".to_owned(),
    };
    let sessions = usize::try_from(owner.sessions).unwrap_or(usize::MAX);
    format!(
        "{}: {knows}, writes {}, counts as alive for {}",
        one_line(&owner.name, 120),
        count(sessions, "session"),
        duration(owner.expires_in)
    )
}

fn server(status: &StoreStatus) -> String {
    let set = |name: &str| status.settings.iter().find(|(named, _)| named == name);
    let of = |name: &str| set(name).map_or("unknown", |(_, value)| value.as_str());
    let standbys = match of("synchronous_standby_names") {
        "" | "unknown" => "no synchronous standbys".to_owned(),
        names => format!("synchronous standbys {names}"),
    };
    let said = format!(
        "PostgreSQL {}; fsync {}, full_page_writes {}, synchronous_commit {}, {standbys}",
        status.server,
        of("fsync"),
        of("full_page_writes"),
        of("synchronous_commit"),
    );
    one_line(&said, 400)
}

fn records_of(records: u64) -> String {
    format!("{} {}", grouped(records), if records == 1 { "record" } else { "records" })
}

fn row(what: &str, words: &str) -> String {
    format!("  {} {words}\n", paint(DIM, &format!("{what:<9}")))
}

fn json_of(status: &StoreStatus) -> Value {
    let owners: Vec<Value> = status
        .owners
        .iter()
        .map(|owner| {
            json!({
                "name": owner.name, "knows": owner.knows, "sessions": owner.sessions,
                "expires_in_ms": u64::try_from(owner.expires_in.as_millis()).unwrap_or(u64::MAX),
            })
        })
        .collect();
    let tables: Vec<Value> = status
        .tables
        .iter()
        .map(|table| json!({ "name": table.name, "rows": table.rows, "bytes": table.bytes }))
        .collect();
    let settings: serde_json::Map<String, Value> =
        status.settings.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    json!({
        "version": 1,
        "kind": "postgres",
        "place": status.place,
        "schema": status.schema,
        "schema_version": status.version,
        "newest": status.newest,
        "sessions": status.sessions,
        "records": status.records,
        "bytes": status.bytes(),
        "quota": status.quota,
        "owners": owners,
        "migrating": status.migrating,
        "tables": tables,
        "distributed": status.distributed,
        "server": status.server,
        "settings": settings,
        "warnings": status.warnings,
    })
}
