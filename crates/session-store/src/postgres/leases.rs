//! One writer per session, by a row that says whose it is and until when its owner is known to be alive.
//!
//! An owner is a store of one process. It says that it is alive as long as it has leases, by the server's clock, so the
//! clocks of processes do not matter. What fences out a writer that was declared dead too early is the token, which
//! every append compares.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_postgres::Row;

use super::bind::{Bind, get};
use super::fault::{Fault, FaultKind};
use super::line::Held;
use super::link::{Level, Link};
use super::links::Links;
use super::rows::{self, Place};
use super::shards::{self, Spread};
use super::tries::attempt;
use super::{Inner, schema, unknown};
use crate::{Claim, Holder, Lease, SessionId, StoreError};

/// How many claims one statement ends.
const MOST: usize = 1024;

/// The owners that live in this process. What they have given back counts as free at once, although the server hears of
/// it a little later.
static OWNERS: Mutex<BTreeMap<String, Weak<Claims>>> = Mutex::new(BTreeMap::new());

/// What a store has claimed.
#[derive(Debug, Default)]
pub(super) struct Claims {
    inner: Mutex<Claimed>,
}

#[derive(Debug, Default)]
struct Claimed {
    last: i64,
    // Claims that are held or being made.
    live: BTreeSet<i64>,
    // Claims whose end the server was not told yet.
    ended: Vec<(SessionId, i64)>,
    // Whether the server is being told.
    telling: bool,
}

impl Claims {
    /// Returns the number of a new claim.
    pub(super) fn begin(&self) -> i64 {
        let mut claimed = self.open();
        claimed.last += 1;
        let claim = claimed.last;
        claimed.live.insert(claim);
        claim
    }

    pub(super) fn end(&self, session: &SessionId, claim: i64) {
        let mut claimed = self.open();
        claimed.live.remove(&claim);
        claimed.ended.push((session.clone(), claim));
    }

    /// Returns whether it is not known to have ended.
    pub(super) fn lives(&self, claim: i64) -> bool {
        self.open().live.contains(&claim)
    }

    /// Ends a claim that the server knows nothing of.
    pub(super) fn forget(&self, claim: i64) {
        self.open().live.remove(&claim);
    }

    fn open(&self) -> MutexGuard<'_, Claimed> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn owners() -> MutexGuard<'static, BTreeMap<String, Weak<Claims>>> {
    OWNERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a lease was given. All of it must still stand in the session's row: a server that failed over to a standby that
/// was behind may give a token for the second time.
#[derive(Clone, Debug)]
pub(super) struct Grant {
    pub(super) token: u64,
    pub(super) owner: String,
    pub(super) claim: i64,
}

/// What stands in a session's row about its lease.
pub(super) struct Standing {
    owner: Option<String>,
    claim: Option<i64>,
    name: Option<String>,
    alive: bool,
    token: u64,
}

/// What [`Standing::of`] reads, from `sessions s` and `owners o`.
pub(super) const STANDING: &str = "s.owner::text AS owner, s.claim, s.token, o.name AS holder,
    coalesce(o.alive_until > clock_timestamp(), false) AS alive";

impl Standing {
    pub(super) fn of(row: &Row) -> Result<Self, String> {
        Ok(Standing {
            owner: get(row, "owner")?,
            claim: get(row, "claim")?,
            name: get(row, "holder")?,
            alive: get(row, "alive")?,
            token: rows::read(get(row, "token")?),
        })
    }

    /// Returns who holds it, if anybody alive does.
    pub(super) fn holder(&self) -> Option<Holder> {
        let owner = self.owner.as_ref().filter(|_| self.alive)?;
        let here = owners().get(owner).and_then(Weak::upgrade);
        let given_back = here.is_some_and(|claims| self.claim.is_none_or(|claim| !claims.lives(claim)));
        (!given_back).then(|| Holder::new(self.name.clone(), self.token))
    }

    /// Lets its holder know, if that is in this process: it would find out with its next write, but what is only buffered
    /// is acknowledged before.
    fn end_here(&self) {
        let here = self.owner.as_ref().and_then(|owner| owners().get(owner).and_then(Weak::upgrade));
        if let (Some(claims), Some(claim)) = (here, self.claim) {
            claims.forget(claim);
        }
    }

    /// Whether a lease still holds.
    pub(super) fn is_under(&self, grant: &Grant) -> bool {
        self.token == grant.token && self.is_of(&grant.owner, grant.claim)
    }

    fn is_of(&self, owner: &str, claim: i64) -> bool {
        self.owner.as_deref() == Some(owner) && self.claim == Some(claim)
    }
}

impl Inner {
    pub(super) async fn claim(
        self: &Arc<Self>,
        session: &SessionId,
        how: Claim,
    ) -> Result<Lease, StoreError> {
        self.settle(session).await;
        let owner = self.owner().await?;
        let claim = self.claims.begin();
        let claimed = attempt!(self.links, |link| claim_in(&mut link, session, how, (&owner, claim)));
        let (token, at) = match claimed {
            Ok(claimed) => claimed,
            Err(error) => {
                match error {
                    StoreError::Locked { .. } | StoreError::UnknownSession { .. } => {
                        self.claims.forget(claim);
                    }
                    // Nobody knows whether it was made.
                    _ => {
                        self.claims.end(session, claim);
                        self.tell_ended();
                    }
                }
                return Err(error);
            }
        };
        self.tell(session);
        let held = Held::new(Arc::clone(self), session.clone(), Grant { token, owner, claim }, at);
        let lease = Lease::new(session.clone(), token, held);
        if let Some(held) = lease.guard::<Held>() {
            self.seats().insert(session.clone(), Arc::downgrade(&held));
        }
        Ok(lease)
    }

    /// Frees a session that its lease has let go.
    pub(super) fn give_back(self: &Arc<Self>, session: &SessionId, claim: i64) {
        let mut seats = self.seats();
        if seats.get(session).is_some_and(|held| held.strong_count() == 0) {
            seats.remove(session);
        }
        drop(seats);
        self.claims.end(session, claim);
        self.tell_ended();
    }

    pub(super) fn tell_ended(self: &Arc<Self>) {
        if std::mem::replace(&mut self.claims.open().telling, true) {
            return;
        }
        let store = Arc::clone(self);
        // What fails now is told with the next sign of life.
        self.runtime.spawn(async move { store.release().await });
    }

    /// Tells the server which claims have ended, until none is left.
    pub(super) async fn release(self: &Arc<Self>) -> Result<(), StoreError> {
        let Some(owner) = self.owner.get() else { return Ok(()) };
        loop {
            let ended: Vec<(SessionId, i64)> = {
                let mut claimed = self.claims.open();
                claimed.telling = !claimed.ended.is_empty();
                claimed.ended.iter().take(MOST).cloned().collect()
            };
            if ended.is_empty() {
                return Ok(());
            }
            let released = attempt!(self.links, |link| release_in(&mut link, owner, &ended));
            let mut claimed = self.claims.open();
            if let Err(error) = released {
                claimed.telling = false;
                return Err(error);
            }
            let told: BTreeSet<i64> = ended.iter().map(|(_, claim)| *claim).collect();
            claimed.ended.retain(|(_, claim)| !told.contains(claim));
        }
    }

    /// Returns our name as an owner, which begins to show signs of life now.
    pub(super) async fn owner(self: &Arc<Self>) -> Result<String, StoreError> {
        if self.is_closed() {
            let place = self.links.place().to_owned();
            return Err(StoreError::Database { place, reason: "the store was closed".to_owned() });
        }
        let owner = self.owner.get_or_try_init(|| async {
            let owner = attempt!(self.links, |link| register(&mut link, self))?;
            owners().insert(owner.clone(), Arc::downgrade(&self.claims));
            let beating = self.runtime.spawn(beat(Arc::downgrade(self), self.lease_ttl / 3)).abort_handle();
            // The owner is made once, and so is this.
            let _ = self.beating.set(beating);
            Ok(owner)
        });
        owner.await.cloned()
    }

    /// Says that we will claim nothing more.
    pub(super) async fn retire(self: &Arc<Self>) {
        self.end_beats();
        if let Some(owner) = self.owner.get() {
            retire(&self.links, owner).await;
        }
    }

    pub(super) fn end_beats(&self) {
        if let Some(beating) = self.beating.get() {
            beating.abort();
        }
    }
}

/// Takes an owner off the list; if that fails, it expires.
pub(super) async fn retire(links: &Arc<Links>, owner: &str) {
    let sql = "DELETE FROM @owners WHERE owner = $1::uuid";
    let gone: Result<(), StoreError> = attempt!(links, |link| async {
        link.write(Level::Committed, sql, Bind::new().with(owner)).await.map(|_| Ok(()))
    });
    drop(gone);
}

/// Forgets an owner that is no more in this process.
pub(super) fn forget(owner: &str) {
    owners().remove(owner);
}

async fn register(link: &mut Link, store: &Inner) -> Result<Result<String, StoreError>, Fault> {
    // A migration knows by it which programs are too old for it.
    let query = "INSERT INTO @owners (owner, name, alive_until)
                 VALUES (overlay(gen_random_uuid()::text PLACING $3 FROM 15)::uuid, $1,
                         clock_timestamp() + $2 * interval '1 millisecond')
                 RETURNING owner::text AS owner";
    let bind = Bind::new().with(&store.name).with(store.lease_ttl.as_millis() as f64);
    let bind = bind.with(schema::mark_of_owner());
    let found = link.write(Level::Committed, query, bind).await?;
    let row = found.first().ok_or_else(|| Fault::corrupt(link.place(), "an owner has no row".to_owned()))?;
    get(row, "owner").map(Ok).map_err(|reason| Fault::corrupt(link.place(), reason))
}

/// A sign of life that takes longer than its turn is given up, but not before this.
const TURN: Duration = Duration::from_millis(500);

/// Shows signs of life until the store is gone. Nothing that others do is waited for: neither for a connection that they
/// may have broken, nor for a row that somebody holds.
async fn beat(store: Weak<Inner>, pause: Duration) {
    let mut link = None;
    let mut releasing: Option<JoinHandle<_>> = None;
    let mut next = Instant::now() + pause;
    loop {
        tokio::time::sleep_until(next).await;
        next = Instant::now() + pause;
        let Some(store) = store.upgrade() else { return };
        if store.is_closed() {
            return;
        }
        let turn = pause.max(TURN);
        let mut shown = store.show_life(link.take(), turn).await;
        if shown.is_none() {
            // One that died in silence has taken a turn of three; there is time to try another before the lease ends.
            shown = store.show_life(None, turn).await;
        }
        let is_shown = shown.is_some();
        link = shown.flatten();
        // What fails is tried again at the next beat; the lease may be lost by then, and the token tells.
        if is_shown && releasing.as_ref().is_none_or(JoinHandle::is_finished) {
            let store = Arc::clone(&store);
            releasing = Some(store.runtime.clone().spawn(async move { store.release().await }));
        }
    }
}

impl Inner {
    /// Shows a sign of life on a connection, or on a new one; if that was done in time, returns it for the next one, or
    /// nothing if it is needed for other things.
    async fn show_life(self: &Arc<Self>, link: Option<Link>, turn: Duration) -> Option<Option<Link>> {
        let owner = self.owner.get()?;
        // Nor for the disk or a standby: if the server forgets it, the next one comes soon.
        let query = "INSERT INTO @owners (owner, name, alive_until)
                     VALUES ($1::uuid, $2, clock_timestamp() + $3 * interval '1 millisecond')
                     ON CONFLICT (owner) DO UPDATE SET alive_until = excluded.alive_until";
        let bind = Bind::new().with(owner).with(&self.name).with(self.lease_ttl.as_millis() as f64);
        let shown = async {
            let mut link = match link {
                Some(link) => link,
                None => match self.links.make(turn / 2).await {
                    // The role may have no more connections than those that we have.
                    Err(Fault { kind: FaultKind::Unreachable, .. }) => self.links.take().await?,
                    made => made?,
                },
            };
            link.write(Level::Committed, query, bind).await?;
            Ok::<_, Fault>(match link.is_shared() {
                true => {
                    link.keep();
                    None
                }
                false => Some(link),
            })
        };
        tokio::time::timeout(turn, shown).await.ok()?.ok()
    }
}

/// Begins a transaction that holds a session's row, in one trip with a statement that reads: what it finds is what all
/// others have left.
pub(super) async fn begin_with(
    link: &mut Link,
    level: Level,
    session: &SessionId,
    sql: &str,
    bind: Bind,
) -> Result<Vec<Row>, Fault> {
    let held = ("SELECT 1 FROM @sessions WHERE session = $1 FOR UPDATE", Bind::new().session(session));
    let found = link.begin(level, vec![held, (sql, bind)]).await?;
    Ok(found.into_iter().nth(1).unwrap_or_default())
}

/// Returns a token that is larger than all that were given on this server, and on those that it took over from: a standby
/// that becomes the primary begins a new timeline, and may not know the last tokens of the one before.
async fn next_token(link: &mut Link) -> Result<i64, Fault> {
    const TIMELINE: &str = "SELECT nextval('@tokens') AS next,
        ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint AS timeline";
    // For engines that have no such thing.
    const NONE: &str = "SELECT nextval('@tokens') AS next, 0::bigint AS timeline";
    // A sequence is written, so it wants a transaction that says so: the next one may have been left to read only.
    let found = match link.write(Level::Committed, TIMELINE, Bind::new()).await {
        Err(Fault { kind: FaultKind::Refused | FaultKind::Unsupported, .. }) => {
            link.write(Level::Committed, NONE, Bind::new()).await
        }
        answer => answer,
    }?;
    let row = found.first().ok_or_else(|| Fault::corrupt(link.place(), "no token was given".to_owned()))?;
    let read = || Ok((get::<i64>(row, "next")?, get::<i64>(row, "timeline")?));
    let (next, timeline) = read().map_err(|reason: String| Fault::corrupt(link.place(), reason))?;
    Ok(timeline << TIMELINE_BITS | next & ((1 << TIMELINE_BITS) - 1))
}

/// Where the timeline stands in a token: below it is room for a claim each microsecond for twelve days.
const TIMELINE_BITS: u32 = 40;

async fn claim_in(
    link: &mut Link,
    session: &SessionId,
    how: Claim,
    (owner, claim): (&str, i64),
) -> Result<Result<(u64, (Place, i64)), StoreError>, Fault> {
    let shard = match link.spread() {
        Spread::One => shards::ONE,
        Spread::Shards { .. } => shards::shard_of(link, session).await?,
    };
    // Before the row is held, and by itself: a distributed engine takes no sequence in an update.
    let next = next_token(link).await?;
    let query = format!(
        "SELECT {}, {STANDING} FROM @sessions s LEFT JOIN @owners o USING (owner)
         WHERE s.session = $1::uuid AND s.complete",
        rows::SESSION
    );
    let found = begin_with(link, Level::Flushed, session, &query, Bind::new().session(session)).await?;
    let corrupt = |reason| Fault::corrupt(link.place(), reason);
    let Some(row) = found.first() else {
        return link.end(Err(unknown(session))).await;
    };
    rows::sealed(row).map_err(corrupt)?;
    let standing = Standing::of(row).map_err(corrupt)?;
    let place = rows::place(row).map_err(corrupt)?;
    // An answer to the first try can be lost.
    if standing.is_of(owner, claim) {
        return link.end(Ok((standing.token, (place, shard)))).await;
    }
    if let Some(holder) = standing.holder().filter(|_| how == Claim::IfFree) {
        let error = StoreError::Locked { session: session.clone(), holder: holder.name };
        return link.end(Err(error)).await;
    }
    let token = rows::stored(standing.token).saturating_add(1).max(next);
    let query = "UPDATE @sessions SET token = $4, owner = $2::uuid, claim = $3 WHERE session = $1::uuid";
    let bind = Bind::new().session(session).with(owner).with(claim).with(token);
    link.finish(vec![(query, bind)]).await?;
    standing.end_here();
    Ok(Ok((rows::read(token), (place, shard))))
}

async fn release_in(
    link: &mut Link,
    owner: &str,
    ended: &[(SessionId, i64)],
) -> Result<Result<(), StoreError>, Fault> {
    let query = "UPDATE @sessions s SET owner = NULL, claim = NULL
                 FROM unnest($1::text[]::uuid[], $2::bigint[]) AS e (session, claim)
                 WHERE s.session = e.session AND s.claim = e.claim AND s.owner = $3::uuid
                     AND s.session = ANY ($1::text[]::uuid[])";
    let sessions: Vec<&str> = ended.iter().map(|(session, _)| session.as_str()).collect();
    let claims: Vec<i64> = ended.iter().map(|(_, claim)| *claim).collect();
    link.write(Level::Flushed, query, Bind::new().with(sessions).with(claims).with(owner)).await?;
    Ok(Ok(()))
}
