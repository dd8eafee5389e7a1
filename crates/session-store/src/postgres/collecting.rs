//! What is removed: sessions on request, and what nothing needs any more.

use std::sync::Arc;

use super::bind::{Bind, get};
use super::fault::Fault;
use super::leases::{STANDING, Standing, begin_with};
use super::link::{Level, Link};
use super::reading::remove;
use super::rows;
use super::tries::attempt;
use super::{Inner, unknown};
use crate::{Collected, SessionId, SessionInfo, StoreError};

/// Parts of a session that none of its bodies names: `$1` is the session.
const UNNAMED: &str = "FROM @parts p WHERE p.session = $1::uuid AND NOT EXISTS (
    SELECT 1 FROM @bodies b CROSS JOIN LATERAL generate_series(0, octet_length(b.cuts) / 40 - 1) AS i
    WHERE b.session = p.session AND b.cuts IS NOT NULL AND substring(b.cuts FROM i * 40 + 9 FOR 32) = p.digest)";

impl Inner {
    /// Removes a session that nobody holds, if it still is as it was seen.
    pub(super) async fn delete(
        self: &Arc<Self>,
        session: &SessionId,
        seen: Option<&SessionInfo>,
    ) -> Result<(), StoreError> {
        self.settle(session).await;
        let is_found_gone = attempt!(self.links, |link, again| delete_in(&mut link, session, seen, again))?;
        self.tell(session);
        if is_found_gone && !self.flush().await.unwrap_or(false) {
            let reason = "the session is gone here, and whether a standby knows is not known".to_owned();
            return Err(StoreError::Io { place: self.links.place().to_owned(), reason });
        }
        Ok(())
    }

    /// Waits until what was found is as safe as if its commit had been answered, where no row of it is left to write: a commit that
    /// waits for a standby can be seen before one has it, and what is written after it is acknowledged after it. Returns whether
    /// something was written.
    async fn flush(self: &Arc<Self>) -> Result<bool, StoreError> {
        let owner = self.owner().await?;
        let sql = "UPDATE @owners SET name = name WHERE owner = $1::uuid RETURNING 1";
        let written = attempt!(self.links, |link| async {
            link.write(Level::Flushed, sql, Bind::new().with(&owner)).await.map(Ok)
        })?;
        Ok(!written.is_empty())
    }

    /// Removes an import that nobody goes on with; returns whether there was one.
    pub(super) async fn remove_import(
        self: &Arc<Self>,
        session: &SessionId,
    ) -> Result<Option<Freed>, StoreError> {
        attempt!(self.links, |link| remove_import_in(&mut link, session))
    }

    pub(super) async fn collect(self: &Arc<Self>, dry_run: bool) -> Result<Collected, StoreError> {
        let mut collected = Collected::default();
        for session in self.imports().await? {
            let freed = match dry_run {
                true => Some(attempt!(reading self.links, |link| count_parts(&mut link, &session))?),
                false => self.remove_import(&session).await?,
            };
            if let Some(freed) = freed {
                collected.imports += 1;
                collected.parts += freed.parts;
                collected.bytes += freed.bytes;
            }
        }
        // A session's parts go with it. What can be left over is what somebody removed by hand.
        let sql = "SELECT DISTINCT p.session::text AS session FROM @parts p JOIN @sessions s USING (session)
                   WHERE s.complete";
        let found = self.query(sql, Bind::new).await?;
        for row in &found {
            let session = get(row, "session").map_err(|reason| self.corrupt(reason))?;
            let session = parse(session).map_err(|reason| self.corrupt(reason))?;
            let freed = attempt!(self.links, |link| collect_parts(&mut link, &session, dry_run))?;
            collected.parts += freed.parts;
            collected.bytes += freed.bytes;
        }
        if !dry_run {
            let sql = "DELETE FROM @owners WHERE alive_until < now() - interval '1 day'";
            attempt!(self.links, |link| async {
                link.write(Level::Committed, sql, Bind::new()).await.map(|_| Ok(()))
            })?;
        }
        Ok(collected)
    }

    /// Returns imports whose makers are gone.
    async fn imports(self: &Arc<Self>) -> Result<Vec<SessionId>, StoreError> {
        let sql = format!(
            "SELECT s.session::text AS session, {STANDING}
             FROM @sessions s LEFT JOIN @owners o USING (owner) WHERE NOT s.complete AND s.seal IS NULL"
        );
        let found = self.query(&sql, Bind::new).await?;
        let mut imports = Vec::new();
        for row in &found {
            let standing = Standing::of(row).map_err(|reason| self.corrupt(reason))?;
            if standing.holder().is_none() {
                let session = get(row, "session").and_then(parse).map_err(|reason| self.corrupt(reason))?;
                imports.push(session);
            }
        }
        Ok(imports)
    }
}

/// What the removal of parts gave back.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Freed {
    parts: u64,
    bytes: u64,
}

fn parse(session: String) -> Result<SessionId, String> {
    SessionId::parse(&session).map_err(|error| error.to_string())
}

/// Removes a session. `again` tells whether an earlier try may have done it; returns whether one has.
async fn delete_in(
    link: &mut Link,
    session: &SessionId,
    seen: Option<&SessionInfo>,
    again: bool,
) -> Result<Result<bool, StoreError>, Fault> {
    let Some(standing) = hold(link, session, true).await? else {
        return link.end(if again { Ok(true) } else { Err(unknown(session)) }).await;
    };
    if let Some(holder) = standing.holder() {
        let error = StoreError::Locked { session: session.clone(), holder: holder.name };
        return link.end(Err(error)).await;
    }
    if let Some(seen) = seen {
        // What waits is counted: a letter whose row was put away is no longer waited for, and was never consumed.
        let sql = format!(
            "SELECT {}, (SELECT count(*) FROM @letters WHERE session = s.session AND ({})) AS waiting
             FROM @sessions s WHERE s.session = $1::uuid",
            rows::SESSION,
            rows::WAITING
        );
        let row = link.row(&sql, Bind::new().session(session)).await?;
        let read = || Ok((rows::info(&row)?, rows::read(get(&row, "waiting")?)));
        let (info, waiting) = read().map_err(|reason: String| Fault::corrupt(link.place(), reason))?;
        if let Err(error) = info.check_idle(seen, waiting) {
            return link.end(Err(error)).await;
        }
    }
    remove(link, session).await?;
    Ok(Ok(false))
}

async fn remove_import_in(
    link: &mut Link,
    session: &SessionId,
) -> Result<Result<Option<Freed>, StoreError>, Fault> {
    let abandoned = hold(link, session, false).await?;
    if abandoned.is_none_or(|standing| standing.holder().is_some()) {
        return link.end(Ok(None)).await;
    }
    let freed = match count_parts(link, session).await? {
        Ok(freed) => freed,
        Err(error) => return link.end(Err(error)).await,
    };
    remove(link, session).await?;
    Ok(Ok(Some(freed)))
}

/// Begins a transaction that holds a session's row, and reads who holds the session.
async fn hold(link: &mut Link, session: &SessionId, complete: bool) -> Result<Option<Standing>, Fault> {
    let sql = format!(
        "SELECT {STANDING} FROM @sessions s LEFT JOIN @owners o USING (owner)
         WHERE s.session = $1::uuid AND (s.complete OR s.seal IS NOT NULL) = $2"
    );
    let bind = Bind::new().session(session).with(complete);
    let found = begin_with(link, Level::Flushed, session, &sql, bind).await?;
    let standing = found.first().map(Standing::of).transpose();
    standing.map_err(|reason| Fault::corrupt(link.place(), reason))
}

async fn count_parts(link: &mut Link, session: &SessionId) -> Result<Result<Freed, StoreError>, Fault> {
    freed(link, session, "FROM @parts WHERE session = $1::uuid").await.map(Ok)
}

async fn collect_parts(
    link: &mut Link,
    session: &SessionId,
    dry_run: bool,
) -> Result<Result<Freed, StoreError>, Fault> {
    let unnamed = freed(link, session, UNNAMED).await?;
    if dry_run || unnamed.parts == 0 {
        return Ok(Ok(unnamed));
    }
    // With the row held nobody appends what would need one of them again.
    hold(link, session, true).await?;
    let freed = freed(link, session, UNNAMED).await?;
    let sql = format!("DELETE {UNNAMED}");
    link.finish(vec![(&sql, Bind::new().session(session))]).await?;
    Ok(Ok(freed))
}

async fn freed(link: &mut Link, session: &SessionId, which: &str) -> Result<Freed, Fault> {
    let sql =
        format!("SELECT count(*) AS parts, coalesce(sum(octet_length(text)), 0)::bigint AS bytes {which}");
    let row = link.row(&sql, Bind::new().session(session)).await?;
    let number = |column| get::<i64>(&row, column).map(rows::read);
    let read = || Ok(Freed { parts: number("parts")?, bytes: number("bytes")? });
    read().map_err(|reason| Fault::corrupt(link.place(), reason))
}
