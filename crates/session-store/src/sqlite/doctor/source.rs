//! Reads a database that may be damaged, as far as that can be read.
//!
//! What cannot be read is left out and told. Of a log only its beginning counts, so records are looked up one after the
//! other; sessions are looked for in every place that names them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqliteConnection};
use trunkline_message_tree::Timestamp;

use crate::cut::join;
use crate::sqlite::answer::Ask;
pub(super) use crate::sqlite::fault::words;
use crate::sqlite::rows::{self, RecordRow, get, read, stored};
use crate::sqlite::{migrate, schema};
use crate::{Digest, Header, Kept, SessionId, SessionInfo, Spine, StoreError, Tally};

/// How many records are read at once.
const PAGE: i64 = 64;

/// A session, as far as its row can be read.
#[derive(Clone, Debug)]
pub(super) struct Found {
    /// The version of the tables that it is in.
    pub(super) version: usize,
    pub(super) key: i64,
    pub(super) id: SessionId,
    pub(super) title: String,
    pub(super) tags: BTreeSet<String>,
    pub(super) archived: bool,
    pub(super) workspace: Option<String>,
    pub(super) created_at: Option<Timestamp>,
    /// How far its log has come, as its row says.
    pub(super) claimed: Option<Tally>,
    pub(super) letters: u64,
    pub(super) consumed: u64,
    pub(super) token: u64,
    pub(super) owner: Option<String>,
    pub(super) whole: bool,
    /// The seal of its row, if it has one.
    pub(super) seal: Option<Vec<u8>>,
    /// What of the row cannot be read.
    pub(super) faults: Vec<String>,
}

/// The sessions of a database.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    pub(super) found: Vec<Found>,
    /// Why these may not be all, or may not be whole.
    pub(super) faults: Vec<String>,
    /// Numbers of sessions that have records and no name.
    pub(super) nameless: Vec<i64>,
}

/// Returns the version of the tables, whatever the header says.
async fn version(connection: &mut SqliteConnection) -> usize {
    let query = "SELECT count(*) FROM pragma_table_info('records') WHERE name = 'digest'";
    match sqlx::query(query).value::<i64>(connection).await {
        Ok(0) => 1,
        _ => schema::VERSION,
    }
}

/// Looks for all sessions, first where they should be, and where that fails, wherever they are named.
pub(super) async fn sessions(connection: &mut SqliteConnection) -> Sessions {
    let mut sessions = Sessions::default();
    let version = version(connection).await;
    let mut rows: BTreeMap<i64, SqliteRow> = BTreeMap::new();
    let mut after = i64::MIN;
    loop {
        let query =
            sqlx::query("SELECT * FROM sessions NOT INDEXED WHERE session > ? ORDER BY session LIMIT ?");
        match query.bind(after).bind(PAGE).all_rows(&mut *connection).await {
            Ok(page) => {
                let keyed = page.into_iter().filter_map(|row| row.try_get(0).ok().map(|key: i64| (key, row)));
                let before = rows.len();
                rows.extend(keyed);
                after = rows.keys().next_back().copied().unwrap_or(after);
                if rows.len() == before {
                    break;
                }
            }
            Err(error) => {
                sessions.faults.push(format!("the list of sessions cannot be read: {}", words(&error)));
                break;
            }
        }
    }
    let (names, fault) = names(connection).await;
    sessions.faults.extend(fault);
    let seals = seals(connection).await;
    let mut keys: BTreeSet<i64> = names.keys().copied().collect();
    let (of_records, fault) = keys_of_records(connection).await;
    sessions.faults.extend(fault);
    keys.extend(&of_records);
    keys.extend(rows.keys());
    for key in keys {
        let row = match rows.remove(&key) {
            Some(row) => Some(row),
            None => sqlx::query("SELECT * FROM sessions NOT INDEXED WHERE session = ?")
                .bind(key)
                .maybe_row(&mut *connection)
                .await
                .unwrap_or_default(),
        };
        let name = names.get(&key);
        match found(version, key, row.as_ref(), name) {
            Some(mut found) => {
                found.seal = seals.get(&key).cloned();
                sessions.found.push(found);
            }
            None if of_records.contains(&key) => sessions.nameless.push(key),
            None => sessions.faults.push(format!("row {key} of the list of sessions cannot be read")),
        }
    }
    sessions
}

/// Reads the seals of sessions' rows. What cannot be read is missing, which is told of each.
async fn seals(connection: &mut SqliteConnection) -> BTreeMap<i64, Vec<u8>> {
    let rows =
        sqlx::query("SELECT session, digest FROM seals").all_rows(connection).await.unwrap_or_default();
    rows.iter().filter_map(|row| Some((row.try_get(0).ok()?, row.try_get(1).ok()?))).collect()
}

impl Found {
    /// Returns whether it is a session: an import that is under way, or was cut off, has no seal yet.
    pub(super) fn is_session(&self) -> bool {
        self.whole || self.seal.is_some()
    }

    /// Returns what is wrong with what its row says of itself, if all of it can be read and this is a session.
    pub(super) fn unsealed(&self) -> Option<&'static str> {
        let info = info(self, &Tally::new(&self.id, self.created_at?));
        let seal = Header::of(&info).seal();
        match &self.seal {
            Some(found) if found == seal.as_bytes() => None,
            Some(_) => Some(rows::NOT_WRITTEN),
            None => Some("the seal of its row is missing"),
        }
    }
}

/// Reads the names of sessions from their index.
async fn names(connection: &mut SqliteConnection) -> (BTreeMap<i64, SessionId>, Option<String>) {
    let mut names = BTreeMap::new();
    let mut after = String::new();
    loop {
        let query = "SELECT session, id FROM sessions INDEXED BY sqlite_autoindex_sessions_1
                     WHERE id > ? ORDER BY id LIMIT ?";
        let page = match sqlx::query(query).bind(&after).bind(PAGE).all_rows(&mut *connection).await {
            Ok(page) if page.is_empty() => return (names, None),
            Ok(page) => page,
            Err(error) => {
                return (names, Some(format!("the index of sessions cannot be read: {}", words(&error))));
            }
        };
        let before = after.clone();
        for row in &page {
            let (Ok(key), Ok(id)) = (row.try_get::<i64, _>(0), row.try_get::<String, _>(1)) else { continue };
            if let Ok(id) = SessionId::parse(&id) {
                names.insert(key, id);
            }
            after = after.max(id);
        }
        if after == before {
            return (names, Some("the index of sessions is out of order".to_owned()));
        }
    }
}

/// Returns the numbers of all sessions that have records.
async fn keys_of_records(connection: &mut SqliteConnection) -> (BTreeSet<i64>, Option<String>) {
    let mut keys = BTreeSet::new();
    let mut after = i64::MIN;
    loop {
        let next = sqlx::query("SELECT min(session) FROM records WHERE session > ?").bind(after);
        match next.value(&mut *connection).await {
            Ok(Some(key)) if key > after => {
                keys.insert(key);
                after = key;
            }
            Ok(None) => return (keys, None),
            Ok(Some(_)) => return (keys, Some("the records are out of order".to_owned())),
            Err(error) => return (keys, Some(format!("the records cannot be listed: {}", words(&error)))),
        }
    }
}

/// Reads what can be read of a session's row; nothing if nobody says how it is called.
fn found(version: usize, key: i64, row: Option<&SqliteRow>, name: Option<&SessionId>) -> Option<Found> {
    let mut faults = Vec::new();
    let id = row.map(|row| {
        get::<String>(row, "id").and_then(|id| SessionId::parse(&id).map_err(|error| error.to_string()))
    });
    let id = match (id, name) {
        (Some(Ok(id)), _) => id,
        (Some(Err(fault)), Some(name)) => {
            faults.push(fault);
            name.clone()
        }
        (None, Some(name)) => {
            faults.push("its row is missing".to_owned());
            name.clone()
        }
        (_, None) => return None,
    };
    let mut found = Found {
        version,
        key,
        id,
        title: String::new(),
        tags: BTreeSet::new(),
        archived: false,
        workspace: None,
        created_at: None,
        claimed: None,
        letters: 0,
        consumed: 0,
        token: 0,
        owner: None,
        whole: true,
        seal: None,
        faults,
    };
    let Some(row) = row else { return Some(found) };
    // As a whole, if all of it can be read.
    let info = if version == 1 { info_1(row) } else { rows::info(row) };
    match info {
        Ok(info) => {
            let SessionInfo { title, tags, archived, workspace, created_at, .. } = info.clone();
            (found.title, found.tags, found.archived, found.workspace) = (title, tags, archived, workspace);
            (found.created_at, found.claimed) = (Some(created_at), Some(Tally::of(&info)));
        }
        Err(fault) => {
            found.title = get(row, "title").unwrap_or_default();
            found.archived = get(row, "archived").unwrap_or_default();
            found.workspace = get(row, "workspace").unwrap_or_default();
            found.created_at = get(row, "created_at").ok().map(read).map(Timestamp);
            found.faults.push(fault);
        }
    }
    let mut number = |column| match get::<i64>(row, column) {
        Ok(number) => read(number),
        Err(fault) => {
            found.faults.push(fault);
            0
        }
    };
    found.letters = number("letters");
    if version == 1 {
        return Some(found);
    }
    (found.consumed, found.token) = (number("consumed"), number("token"));
    match get(row, "whole") {
        Ok(whole) => found.whole = whole,
        Err(fault) => found.faults.push(fault),
    }
    found.owner = get(row, "owner").unwrap_or_default();
    Some(found)
}

/// Returns what a row of version 1 says; it knows neither digests nor bytes.
fn info_1(row: &SqliteRow) -> Result<SessionInfo, String> {
    let id: String = get(row, "id")?;
    Ok(SessionInfo {
        id: SessionId::parse(&id).map_err(|error| error.to_string())?,
        title: get(row, "title")?,
        tags: BTreeSet::new(),
        archived: false,
        workspace: get(row, "workspace")?,
        created_at: Timestamp(read(get(row, "created_at")?)),
        updated_at: Timestamp(read(get(row, "updated_at")?)),
        head: rows::node("head", get(row, "head")?)?,
        records: read(get(row, "records")?),
        nodes: read(get(row, "nodes")?),
        bytes: 0,
        digest: Digest::from_bytes([0; 32]),
    })
}

/// A record that was read and not yet judged.
enum Read {
    Kept(Kept),
    /// Of version 1, which has no digests.
    Older(u64, Spine, String),
}

/// Reads a log from its first record on, as long as each follows from those before it.
pub(super) struct Walk<'a> {
    connection: &'a mut SqliteConnection,
    session: SessionId,
    key: i64,
    version: usize,
    limit: i64,
    page: VecDeque<Result<Read, String>>,
    /// How far it has come.
    pub(super) tally: Tally,
    /// Why it goes no further, if it should.
    pub(super) stopped: Option<String>,
    ended: bool,
}

impl<'a> Walk<'a> {
    pub(super) fn new(connection: &'a mut SqliteConnection, found: &Found) -> Self {
        let tally = Tally::new(&found.id, found.created_at.unwrap_or_default());
        Walk {
            connection,
            session: found.id.clone(),
            key: found.key,
            version: found.version,
            limit: PAGE,
            page: VecDeque::new(),
            tally,
            stopped: None,
            ended: false,
        }
    }

    /// Returns the next record that is as it was written; nothing at the end, and where one is not.
    pub(super) async fn next(&mut self) -> Option<Kept> {
        if self.ended {
            return None;
        }
        if self.page.is_empty() {
            self.read().await;
        }
        let verified = match self.page.pop_front()? {
            Ok(read) => {
                let kept = match read {
                    Read::Kept(kept) => kept,
                    Read::Older(seq, spine, body) => Kept::chained(seq, spine, body, self.tally.digest),
                };
                let added = self.tally.add_kept(&self.session, &kept);
                added.map(|()| kept).map_err(|error| reason(&error))
            }
            Err(reason) => Err(reason),
        };
        match verified {
            Ok(kept) => Some(kept),
            Err(reason) => {
                (self.stopped, self.ended) = (Some(reason), true);
                None
            }
        }
    }

    async fn read(&mut self) {
        let query = "SELECT records.*, json FROM records LEFT JOIN bodies USING (body)
                     WHERE session = ? AND seq > ? ORDER BY seq LIMIT ?";
        let query = sqlx::query(query).bind(self.key).bind(stored(self.tally.seq)).bind(self.limit);
        let rows = match query.all_rows(&mut *self.connection).await {
            Ok(rows) => rows,
            // One of them cannot be read; those before it can.
            Err(_) if self.limit > 1 => {
                self.limit = 1;
                return Box::pin(self.read()).await;
            }
            Err(error) => return self.page.push_back(Err(words(&error))),
        };
        self.ended = rows.is_empty();
        for row in &rows {
            let kept = self.kept(row).await;
            self.page.push_back(kept);
        }
    }

    async fn kept(&mut self, row: &SqliteRow) -> Result<Read, String> {
        if self.version == 1 {
            let seq = read(get(row, "seq")?);
            let (spine, body) = migrate::record_1(row, seq)?;
            return Ok(Read::Older(seq, spine, body));
        }
        let record = RecordRow {
            kind: get(row, "kind")?,
            node: get(row, "node")?,
            parent: get(row, "parent")?,
            at: get(row, "at")?,
            layer: get(row, "layer")?,
            name: get(row, "name")?,
            key: get(row, "key")?,
            state: get(row, "state")?,
            once: get(row, "once")?,
        };
        let rest: Option<String> = get(row, "json")?;
        let rest = rest.ok_or("its body is missing")?;
        let cuts: Option<i64> = get(row, "cuts")?;
        let body = match cuts {
            Some(_) => self.joined(get(row, "body")?, &rest).await?,
            None => rest,
        };
        let digest = rows::digest(get(row, "digest")?)?;
        Ok(Read::Kept(Kept { seq: read(get(row, "seq")?), spine: record.spine()?, body, digest }))
    }

    async fn joined(&mut self, body: i64, rest: &str) -> Result<String, String> {
        let query = "SELECT place, text FROM cuts JOIN parts USING (part) WHERE body = ? ORDER BY place";
        let found = sqlx::query(query).bind(body).all_rows(&mut *self.connection).await;
        let mut parts = Vec::new();
        for row in &found.map_err(|error| words(&error))? {
            let place: i64 = get(row, "place")?;
            let place = usize::try_from(place).map_err(|_| format!("a part stands at {place}"))?;
            parts.push((place, get::<String>(row, "text")?));
        }
        let parts: Vec<(usize, &str)> = parts.iter().map(|(place, text)| (*place, text.as_str())).collect();
        join(rest, &parts).ok_or_else(|| "a part of its body has no place".to_owned())
    }
}

/// Returns what is wrong with a record, without its place.
fn reason(error: &StoreError) -> String {
    match error {
        StoreError::BadRecord { reason, .. } => reason.clone(),
        StoreError::BrokenChain { .. } => {
            "it is not the one that was written: its digest does not follow".to_owned()
        }
        StoreError::Body { reason, .. } => format!("its body cannot be kept: {reason}"),
        StoreError::Misfit { source, .. } => format!("it does not fit: {source}"),
        error => error.to_string(),
    }
}

/// Returns the info of a session that has come as far as `tally`.
pub(super) fn info(found: &Found, tally: &Tally) -> SessionInfo {
    SessionInfo {
        id: found.id.clone(),
        title: found.title.clone(),
        tags: found.tags.clone(),
        archived: found.archived,
        workspace: found.workspace.clone(),
        created_at: found.created_at.unwrap_or_default(),
        updated_at: tally.updated_at,
        head: tally.head,
        records: tally.seq,
        nodes: tally.nodes,
        bytes: tally.bytes,
        digest: tally.digest,
    }
}

/// The shortest log there is: nothing was read of it.
pub(super) fn is_empty(tally: &Tally) -> bool {
    tally.seq == 0
}

/// What a log says of the keys of its notes: for each its newest state, and its first and last records.
pub(super) type Keys = BTreeMap<(String, String, String), (String, u64, u64)>;

/// Counts a record into the keys.
pub(super) fn count_key(keys: &mut Keys, kept: &Kept) {
    if let Spine::Note { layer, kind, key: Some(key), .. } = &kept.spine {
        let name = (layer.clone(), kind.clone(), key.key.clone());
        let entry = keys.entry(name).or_insert_with(|| (String::new(), kept.seq, kept.seq));
        (entry.0, entry.2) = (key.state.clone(), kept.seq);
    }
}

/// Returns whether a row says of its log what the log does.
pub(super) fn agree(found: &Found, claimed: &Tally, tally: &Tally) -> bool {
    // Version 1 knows less.
    let known = if found.version == 1 { (0, tally.digest) } else { (tally.bytes, tally.digest) };
    let said = if found.version == 1 { (0, tally.digest) } else { (claimed.bytes, claimed.digest) };
    let of = |tally: &Tally| (tally.seq, tally.nodes, tally.head, tally.updated_at);
    of(claimed) == of(tally) && known == said
}
