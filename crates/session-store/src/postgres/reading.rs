//! What is read, and the small writes that need no lease.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio_postgres::Row;
use trunkline_message_tree::{Entry, Message, NodeId, Timestamp, TreeError};

use super::bind::{Bind, get};
use super::fault::Fault;
use super::leases::{STANDING, Standing, begin_with};
use super::link::{Level, Link};
use super::rows::{self, LETTER, LETTER_SEAL, SESSION, SPINE, WAITING, stored};
use super::tries::{Tries, attempt};
use super::{Inner, unknown};
use crate::{
    Activity, Amend, Digest, FoundNote, Header, Holder, InboxId, Kept, Letter, LetterState, NoteQuery,
    Outline, Record, SessionId, SessionInfo, Spine, StoreError, reading,
};

/// How many records are asked for by number in one statement.
const PAGE: usize = 1024;

/// A page has not many more bytes of bodies than this.
const PAGE_BYTES: i64 = 8 * 1024 * 1024;

impl Inner {
    /// Runs a query that may be run again and changes nothing that matters.
    pub(super) async fn query(
        self: &Arc<Self>,
        sql: &str,
        bind: impl Fn() -> Bind,
    ) -> Result<Vec<Row>, StoreError> {
        attempt!(reading self.links, |link| async { link.rows(sql, bind()).await.map(Ok) })
    }

    /// Returns the only row about a session.
    async fn row_of(self: &Arc<Self>, session: &SessionId, sql: &str) -> Result<Row, StoreError> {
        let found = self.query(sql, || Bind::new().session(session)).await?;
        found.into_iter().next().ok_or_else(|| unknown(session))
    }

    pub(super) fn corrupt(&self, reason: String) -> StoreError {
        StoreError::Corrupt { place: self.links.place().to_owned(), reason }
    }

    pub(super) async fn info(self: &Arc<Self>, session: &SessionId) -> Result<SessionInfo, StoreError> {
        self.settle(session).await;
        let sql = format!("SELECT {SESSION} FROM @sessions s WHERE s.session = $1::uuid");
        let row = self.row_of(session, &sql).await?;
        let info = rows::sealed(&row).map_err(|reason| self.corrupt(reason))?;
        info.ok_or_else(|| unknown(session))
    }

    pub(super) async fn sessions(self: &Arc<Self>) -> Result<Vec<SessionInfo>, StoreError> {
        self.settle_all().await;
        let sql = format!("SELECT {SESSION} FROM @sessions s");
        let found = self.query(&sql, Bind::new).await?;
        let list: Result<Vec<Option<SessionInfo>>, String> = found.iter().map(rows::sealed).collect();
        let list = list.map_err(|reason| self.corrupt(reason))?;
        let mut list: Vec<SessionInfo> = list.into_iter().flatten().collect();
        list.sort_by(SessionInfo::newest_first);
        Ok(list)
    }

    pub(super) async fn holder(self: &Arc<Self>, session: &SessionId) -> Result<Option<Holder>, StoreError> {
        let sql = format!(
            "SELECT {STANDING} FROM @sessions s LEFT JOIN @owners o USING (owner)
             WHERE s.session = $1::uuid AND s.complete"
        );
        let row = self.row_of(session, &sql).await?;
        let standing = Standing::of(&row).map_err(|reason| self.corrupt(reason))?;
        Ok(standing.holder())
    }

    pub(super) async fn read(
        self: &Arc<Self>,
        session: &SessionId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Kept>, StoreError> {
        self.settle(session).await;
        // The bodies of a page are fetched only as far as they fit.
        let sql = format!(
            "SELECT {} FROM (
                 SELECT *, sum(bytes) OVER (ORDER BY seq) - bytes AS before FROM (
                     SELECT * FROM @records WHERE session = $1::uuid AND seq > $2 ORDER BY seq LIMIT $3
                 ) page
             ) r JOIN @sessions s ON s.session = $1::uuid AND s.complete
             LEFT JOIN @bodies b ON b.session = $1::uuid AND b.seq = r.seq
             WHERE r.before < $4 ORDER BY r.seq",
            rows::record("$1::uuid")
        );
        // No log is longer than what the database can count.
        let after = i64::try_from(after).unwrap_or(i64::MAX);
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let bind = || Bind::new().session(session).with(after).with(limit).with(PAGE_BYTES);
        let found = self.query(&sql, bind).await?;
        if found.is_empty() {
            self.must_exist(session).await?;
        }
        found.iter().map(|row| rows::kept(row, session)).collect()
    }

    pub(super) async fn spine(
        self: &Arc<Self>,
        session: &SessionId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<(u64, Spine)>, StoreError> {
        self.settle(session).await;
        let sql = format!(
            "SELECT {SPINE} FROM @records r WHERE r.session = $1::uuid AND r.seq > $2
                 AND EXISTS (SELECT 1 FROM @sessions s WHERE s.session = $1::uuid AND s.complete)
             ORDER BY r.seq LIMIT $3"
        );
        // No log is longer than what the database can count.
        let after = i64::try_from(after).unwrap_or(i64::MAX);
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let found = self.query(&sql, || Bind::new().session(session).with(after).with(limit)).await?;
        if found.is_empty() {
            self.must_exist(session).await?;
        }
        found.iter().map(|row| rows::spine(row, session)).collect()
    }

    pub(super) async fn records(
        self: &Arc<Self>,
        session: &SessionId,
        numbers: &[u64],
    ) -> Result<Vec<Kept>, StoreError> {
        let numbers = reading::in_order(session, numbers, self.info(session).await?.records)?;
        // What is listed is looked up number by number, however large the tables are.
        let sql = format!(
            "SELECT {} FROM unnest($2::bigint[]) AS wanted (seq)
             JOIN @records r ON r.session = $1::uuid AND r.seq = wanted.seq
             LEFT JOIN @bodies b ON b.session = $1::uuid AND b.seq = wanted.seq
             ORDER BY r.seq",
            rows::record("$1::uuid")
        );
        let mut records = Vec::with_capacity(numbers.len());
        for page in numbers.chunks(PAGE) {
            let wanted: Vec<i64> = page.iter().copied().map(stored).collect();
            let found = self.query(&sql, || Bind::new().session(session).with(&wanted)).await?;
            if found.len() < page.len() {
                // It was deleted while we read, or one of them is gone.
                self.must_exist(session).await?;
            }
            let mut found = found.iter().map(|row| rows::kept(row, session));
            for seq in page {
                let kept = found.next().transpose()?.filter(|kept| kept.seq == *seq);
                records.push(kept.ok_or_else(|| StoreError::BadRecord {
                    session: session.clone(),
                    seq: *seq,
                    reason: "it is missing".to_owned(),
                })?);
            }
        }
        Ok(records)
    }

    pub(super) async fn must_exist(self: &Arc<Self>, session: &SessionId) -> Result<(), StoreError> {
        let sql = "SELECT 1 FROM @sessions WHERE session = $1::uuid AND complete";
        self.row_of(session, sql).await.map(drop)
    }

    pub(super) async fn outline(self: &Arc<Self>, session: &SessionId) -> Result<Outline, StoreError> {
        self.settle(session).await;
        let sql = "SELECT s.nodes, s.head, s.records, b.children, b.parents
                   FROM @sessions s CROSS JOIN LATERAL (
                       SELECT array_agg(node ORDER BY node) AS children, array_agg(parent ORDER BY node) AS parents
                       FROM @records r WHERE r.session = s.session AND kind <= 1 AND parent <> node - 1
                   ) b WHERE s.session = $1::uuid AND s.complete";
        let row = self.row_of(session, sql).await?;
        let read = || -> Result<Outline, String> {
            let nodes = rows::read(get(&row, "nodes")?);
            let head = rows::node(&row, "head")?.ok_or("the head is missing")?;
            let children = get::<Option<Vec<i64>>>(&row, "children")?.unwrap_or_default();
            let parents = get::<Option<Vec<i64>>>(&row, "parents")?.unwrap_or_default();
            let pairs = children.into_iter().zip(parents);
            let branches: Result<Vec<(NodeId, NodeId)>, String> = pairs
                .map(|(node, parent)| Ok((rows::node_of(node, "node")?, rows::node_of(parent, "parent")?)))
                .collect();
            Outline::new(nodes, head, branches?)
        };
        let seq = get::<i64>(&row, "records").map(rows::read).unwrap_or_default();
        read().map_err(|reason| StoreError::BadRecord { session: session.clone(), seq, reason })
    }

    pub(super) async fn messages(
        self: &Arc<Self>,
        session: &SessionId,
        nodes: &[NodeId],
    ) -> Result<Vec<Message>, StoreError> {
        let info = self.info(session).await?;
        let sql = format!(
            "SELECT {} FROM @records r LEFT JOIN @bodies b USING (session, seq)
             WHERE r.session = $1::uuid AND r.node = ANY ($2) AND r.kind <= 1",
            rows::record("$1::uuid")
        );
        let numbers: Vec<i64> = nodes.iter().map(|node| node.index() as i64).collect();
        let found = self.query(&sql, || Bind::new().session(session).with(&numbers)).await?;
        let mut by_node = BTreeMap::new();
        for row in &found {
            by_node.insert(get::<i64>(row, "node").map_err(|reason| self.corrupt(reason))?, row);
        }
        let newest = u32::try_from(info.nodes.saturating_sub(1)).unwrap_or(u32::MAX);
        let message = |node: &NodeId| {
            let missing = || StoreError::Misfit {
                session: session.clone(),
                seq: info.records,
                source: TreeError::UnknownNode { node: *node, newest: NodeId::new(newest) },
            };
            let row = by_node.get(&(node.index() as i64)).ok_or_else(missing)?;
            match rows::kept(row, session)?.record(session)? {
                Record::Entry(Entry::Node { message, .. }) => Ok(message),
                _ => Err(missing()),
            }
        };
        nodes.iter().map(message).collect()
    }

    pub(super) async fn blob(
        self: &Arc<Self>,
        session: &SessionId,
        digest: &Digest,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        self.settle(session).await;
        let sql = format!(
            "SELECT {} FROM @records r LEFT JOIN @bodies b USING (session, seq)
             WHERE r.session = $1::uuid AND r.content = $2 AND r.kind = 4 ORDER BY r.seq LIMIT 1",
            rows::record("$1::uuid")
        );
        let bind = || Bind::new().session(session).with(digest.as_bytes().as_slice());
        let found = self.query(&sql, bind).await?;
        // Of a session that was deleted or is being imported nothing is said.
        self.must_exist(session).await?;
        match found.first().map(|row| rows::kept(row, session)?.record(session)).transpose()? {
            Some(Record::Blob(blob)) => Ok(Some(blob.bytes)),
            _ => Ok(None),
        }
    }

    pub(super) async fn amend(self: &Arc<Self>, session: &SessionId, amend: Amend) -> Result<(), StoreError> {
        attempt!(self.links, |link| amend_in(&mut link, session, &amend))
    }

    pub(super) async fn post(
        self: &Arc<Self>,
        session: &SessionId,
        kind: &str,
        body: &str,
        at: Timestamp,
    ) -> Result<InboxId, StoreError> {
        let sql = format!(
            "WITH moved AS (
                 UPDATE @sessions SET letters = letters + 1 WHERE session = $1::uuid AND complete
                 RETURNING session, letters
             ), given AS (
                 SELECT session, letters AS letter, $2::bigint AS at, $3::text AS kind, $4::text AS body FROM moved
             ), posted AS (
                 INSERT INTO @letters (session, letter, at, kind, body, seal)
                 SELECT session, letter, at, kind, body, {LETTER_SEAL} FROM given l
             )
             SELECT letters FROM moved"
        );
        let mut tries = Tries::once();
        loop {
            let mut link = self.links.take_alive().await.map_err(|fault| tries.end(fault.error))?;
            let bind = Bind::new().session(session).with(stored(at.0)).with(kind).with(body);
            match link.write(Level::Flushed, &sql, bind).await {
                Ok(found) => {
                    link.keep();
                    self.tell(session);
                    let row = found.first().ok_or_else(|| unknown(session))?;
                    let letter: i64 = get(row, "letters").map_err(|reason| self.corrupt(reason))?;
                    return Ok(InboxId(rows::read(letter)));
                }
                // A letter that may have been posted is not posted again.
                Err(fault) => {
                    drop(link);
                    tries.after(fault, &self.links).await?;
                }
            }
        }
    }

    pub(super) async fn inbox(self: &Arc<Self>, session: &SessionId) -> Result<Vec<Letter>, StoreError> {
        let found = self.waiting_letters(session).await?;
        if found.is_empty() {
            self.must_exist(session).await?;
        }
        Ok(found)
    }

    pub(super) async fn look(
        self: &Arc<Self>,
        session: &SessionId,
    ) -> Result<(Activity, Vec<Letter>), StoreError> {
        // Which also says whether there is such a session.
        let now = self.activity(session).await?;
        Ok((now, self.waiting_letters(session).await?))
    }

    async fn waiting_letters(self: &Arc<Self>, session: &SessionId) -> Result<Vec<Letter>, StoreError> {
        let sql = format!(
            "SELECT {LETTER} FROM @letters l WHERE session = $1::uuid AND ({WAITING}) ORDER BY letter"
        );
        let found = self.query(&sql, || Bind::new().session(session)).await?;
        let list: Result<Vec<Letter>, String> = found.iter().map(|row| rows::letter(row, session)).collect();
        list.map_err(|reason| self.corrupt(reason))
    }

    pub(super) async fn letter(
        self: &Arc<Self>,
        session: &SessionId,
        letter: InboxId,
    ) -> Result<LetterState, StoreError> {
        let sql = format!("SELECT {LETTER} FROM @letters l WHERE session = $1::uuid AND letter = $2");
        let bind = || Bind::new().session(session).with(stored(letter.0));
        let found = self.query(&sql, bind).await?;
        let Some(row) = found.first() else {
            self.must_exist(session).await?;
            return Err(StoreError::NoSuchLetter { session: session.clone(), letter });
        };
        rows::letter(row, session).map_err(|reason| self.corrupt(reason))?;
        let consumed: Option<i64> = get(row, "consumed").map_err(|reason| self.corrupt(reason))?;
        Ok(consumed.map_or(LetterState::Waiting, |seq| LetterState::Consumed { seq: rows::read(seq) }))
    }

    pub(super) async fn notes(self: &Arc<Self>, query: &NoteQuery) -> Result<Vec<FoundNote>, StoreError> {
        match &query.session {
            Some(session) => {
                self.settle(session).await;
                self.must_exist(session).await?;
            }
            None => self.settle_all().await,
        }
        let words = [&query.layer, &query.kind, &query.key, &query.state];
        if words.iter().any(|word| word.as_ref().is_some_and(|word| word.contains('\0'))) {
            // Nothing has such a name, and the server would not even take the question.
            return Ok(Vec::new());
        }
        // What narrows the search in the index; what is found is compared word by word.
        let topic =
            query.layer.as_ref().zip(query.kind.as_ref()).map(|(layer, kind)| rows::hash(&[layer, kind]));
        let state = query.state.as_ref().map(|state| rows::hash(&[state]));
        let sql = format!(
            "SELECT k.session::text AS session, {} FROM @keys k JOIN @sessions s USING (session)
             JOIN @records r ON r.session = k.session AND r.seq = k.last
             LEFT JOIN @bodies b ON b.session = k.session AND b.seq = k.last
             WHERE s.complete{}{}{}
                 AND ($4::text IS NULL OR r.layer = $4) AND ($5::text IS NULL OR r.name = $5)
                 AND ($6::text IS NULL OR r.key = $6)",
            rows::record(if query.session.is_some() { "$1::uuid" } else { "r.session" }),
            // A condition that is there or not lets the index be used where a parameter that may be null would not.
            if query.session.is_some() { " AND k.session = $1::uuid" } else { " AND $1::text IS NULL" },
            if topic.is_some() { " AND k.topic = $2" } else { " AND $2::bigint IS NULL" },
            if state.is_some() { " AND k.state = $3" } else { " AND $3::bigint IS NULL" },
        );
        let bind = || {
            let bind =
                Bind::new().with(query.session.as_ref().map(SessionId::as_str)).with(topic).with(state);
            bind.with(&query.layer).with(&query.kind).with(&query.key)
        };
        let found = self.query(&sql, bind).await?;
        let mut list = Vec::with_capacity(found.len());
        for row in &found {
            let session: String = get(row, "session").map_err(|reason| self.corrupt(reason))?;
            let session = SessionId::parse(&session).map_err(|error| self.corrupt(error.to_string()))?;
            let kept = rows::kept(row, &session)?;
            let Spine::Note { layer, kind, at, key: Some(key) } = kept.spine else {
                let reason = "a key names it, and it has none".to_owned();
                return Err(StoreError::BadRecord { session, seq: kept.seq, reason });
            };
            let note = FoundNote { session, seq: kept.seq, layer, kind, at, key, body: kept.body };
            if query.fits(&note) {
                list.push(note);
            }
        }
        list.sort_by(|one, other| (&one.session, one.seq).cmp(&(&other.session, other.seq)));
        Ok(list)
    }

    pub(super) async fn activity(self: &Arc<Self>, session: &SessionId) -> Result<Activity, StoreError> {
        self.settle(session).await;
        let sql = "SELECT session::text AS session, records, letters, consumed, token FROM @sessions
             WHERE session = $1::uuid AND complete";
        let row = self.row_of(session, sql).await?;
        rows::activity(&row).map(|(_, now)| now).map_err(|reason| self.corrupt(reason))
    }
}

/// Removes all rows of a session, and ends the transaction with that.
pub(super) async fn remove(link: &mut Link, session: &SessionId) -> Result<(), Fault> {
    let statements = REMOVE.iter().map(|sql| (*sql, Bind::new().session(session))).collect();
    link.finish(statements).await.map(drop)
}

const REMOVE: [&str; 7] = [
    "DELETE FROM @bodies WHERE session = $1",
    "DELETE FROM @records WHERE session = $1",
    "DELETE FROM @parts WHERE session = $1",
    "DELETE FROM @keys WHERE session = $1",
    "DELETE FROM @letters WHERE session = $1",
    "DELETE FROM @snapshots WHERE session = $1",
    "DELETE FROM @sessions WHERE session = $1",
];

/// Changes how a session is called and listed, and seals that. Whoever waited for another change of the row computes on what
/// that one has left.
async fn amend_in(
    link: &mut Link,
    session: &SessionId,
    amend: &Amend,
) -> Result<Result<(), StoreError>, Fault> {
    let sql = format!("SELECT {SESSION} FROM @sessions s WHERE s.session = $1::uuid");
    let found = begin_with(link, Level::Flushed, session, &sql, Bind::new().session(session)).await?;
    let info = found.first().map(rows::sealed).transpose();
    let info = info.map_err(|reason| Fault::corrupt(link.place(), reason))?.flatten();
    let Some(mut info) = info else { return link.end(Err(unknown(session))).await };
    amend.clone().apply(&mut info);
    let sql = "UPDATE @sessions SET title = $2, tags = $3, archived = $4, seal = $5 WHERE session = $1::uuid";
    let tags: Vec<String> = info.tags.iter().cloned().collect();
    let bind = Bind::new().session(session).with(&info.title).with(tags).with(info.archived);
    let bind = bind.with(Header::of(&info).seal().as_bytes().as_slice());
    link.finish(vec![(sql, bind)]).await?;
    Ok(Ok(()))
}
