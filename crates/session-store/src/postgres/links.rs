//! The connections: a few, however many sessions there are.
//!
//! A connection goes back only when its work has ended well or was refused in order. Whoever is interrupted takes it
//! along, so none is ever found inside somebody else's transaction.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot, watch};
use tokio::time::Instant;

use super::bind::Bind;
use super::branch::Branch;
use super::connect::Target;
use super::fault::{Fault, FaultKind};
use super::link::{Link, Open};
use super::shards::Spread;
use crate::StoreError;

/// A connection that nobody used for so long is closed.
const IDLE: Duration = Duration::from_secs(30);

/// A server that took over and then was not heard of for so long is no reason any more to refuse its predecessor.
const SILENT: Duration = Duration::from_secs(60);

/// A connection that rested for longer is asked for a sign of life where a lost answer would leave something open.
const DOUBT: Duration = Duration::from_millis(500);

/// How long one waits before a server that does not let us in is asked again, at first and at most.
const PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_millis(250);

/// All connections of a store. Has no `Debug`: it knows the password.
pub(super) struct Links {
    target: Target,
    place: String,
    /// What stands before the name of a table.
    schema: String,
    patience: Duration,
    statement_timeout: Duration,
    connections: usize,
    seats: Arc<Semaphore>,
    idle: Mutex<Idle>,
    runtime: Handle,
    /// Found out when the store is opened.
    spread: OnceLock<Spread>,
    /// The newest timeline that a server was on, and when one on it was last heard of.
    newest: watch::Sender<Option<Branch>>,
    heard: Mutex<Instant>,
}

/// A connection that was given back, and when.
type Rested = (Instant, Open);

#[derive(Default)]
struct Idle {
    rested: Vec<Rested>,
    // Those who could not make a connection and wait for one that is given back, the first of them first.
    waiting: VecDeque<oneshot::Sender<Rested>>,
    // Whether somebody closes what rests too long.
    watched: bool,
    closed: bool,
}

impl Links {
    pub(super) fn new(
        target: Target,
        place: String,
        options: &super::PostgresOptions,
        runtime: Handle,
    ) -> Self {
        Links {
            target,
            place,
            schema: format!("\"{}\".", options.schema),
            patience: options.patience,
            statement_timeout: options.statement_timeout,
            connections: options.connections,
            seats: Arc::new(Semaphore::new(options.connections)),
            idle: Mutex::default(),
            runtime,
            spread: OnceLock::new(),
            newest: watch::Sender::new(None),
            heard: Mutex::new(Instant::now()),
        }
    }

    pub(super) fn place(&self) -> &str {
        &self.place
    }

    pub(super) fn schema(&self) -> &str {
        &self.schema
    }

    pub(super) fn patience(&self) -> Duration {
        self.patience
    }

    pub(super) fn statement_timeout(&self) -> Duration {
        self.statement_timeout
    }

    /// What the URL says of notifications: whether they are wanted, or nothing.
    pub(super) fn notify(&self) -> Option<bool> {
        self.target.notify()
    }

    /// Remembers where the tables are.
    pub(super) fn are_spread(&self, spread: Spread) {
        // It is found out once.
        let _ = self.spread.set(spread);
    }

    /// Where the tables are.
    pub(super) fn spread(&self) -> Spread {
        self.spread.get().copied().unwrap_or(Spread::One)
    }

    /// Returns how many connections write at once at most. On one server a second one collects what comes while the first
    /// waits for the flush; shards are flushed each for itself.
    pub(super) fn writers(&self) -> usize {
        match self.spread() {
            Spread::One => 2,
            Spread::Shards { .. } => (self.connections / 2).max(2),
        }
    }

    /// Waits for a connection.
    pub(super) async fn take(self: &Arc<Self>) -> Result<Link, Fault> {
        let deadline = Instant::now() + self.patience;
        let seat = self.seat(deadline).await?;
        self.take_on(seat, deadline).await
    }

    /// Waits for a connection for what stands in line and may be acknowledged: as long as others of this store are at work,
    /// the server is not away.
    pub(super) async fn take_in_turn(self: &Arc<Self>) -> Result<Link, Fault> {
        let seat = self.seat(Instant::now() + self.patience + self.statement_timeout).await?;
        self.take_on(seat, Instant::now() + self.patience).await
    }

    async fn seat(&self, deadline: Instant) -> Result<OwnedSemaphorePermit, Fault> {
        match tokio::time::timeout_at(deadline, Arc::clone(&self.seats).acquire_owned()).await {
            Ok(Ok(seat)) => Ok(seat),
            _ => Err(self.unreachable()),
        }
    }

    async fn take_on(self: &Arc<Self>, seat: OwnedSemaphorePermit, deadline: Instant) -> Result<Link, Fault> {
        let mut pause = PAUSE;
        let mut turn: Option<Turn> = None;
        loop {
            if let Some((since, open)) = self.believed() {
                return Ok(self.link(open, since.elapsed(), Some(seat)));
            }
            // A role may have fewer connections than we have seats: then one that we give back ourselves is as good. Who
            // comes while others wait for that lets them go first.
            let is_first = turn.is_none();
            if is_first
                && self.idle().waiting.is_empty()
                && let Ok((open, _)) = self.try_to_connect(deadline, true).await?
            {
                return Ok(self.link(open, Duration::ZERO, Some(seat)));
            }
            let waiting = turn.get_or_insert_with(|| self.stand_in_line());
            let connect = async {
                if !is_first && let Ok((open, _)) = self.try_to_connect(deadline, true).await? {
                    return Ok(Some(open));
                }
                let next = Instant::now() + pause;
                if next >= deadline {
                    return Err(self.unreachable());
                }
                tokio::time::sleep_until(next).await;
                Ok(None)
            };
            tokio::select! {
                biased;
                given = &mut waiting.given => {
                    turn = None;
                    let believed = |open: &Open| !open.branch.is_some_and(|branch| branch.is_behind(*self.newest.borrow()));
                    if let Ok((since, open)) = given && believed(&open) {
                        return Ok(self.link(open, since.elapsed(), Some(seat)));
                    }
                }
                connected = connect => {
                    if let Some(open) = connected? {
                        return Ok(self.link(open, Duration::ZERO, Some(seat)));
                    }
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
            }
        }
    }

    fn stand_in_line(self: &Arc<Self>) -> Turn {
        let (sender, given) = oneshot::channel();
        self.idle().waiting.push_back(sender);
        Turn { given, home: Arc::clone(self) }
    }

    /// Gives a connection to the first who waits, or lets it rest.
    fn give_back(self: &Arc<Self>, open: Open) {
        let watch = {
            let mut idle = self.idle();
            if idle.closed {
                return;
            }
            let mut rested = (Instant::now(), open);
            while let Some(first) = idle.waiting.pop_front() {
                match first.send(rested) {
                    Ok(()) => return,
                    Err(back) => rested = back,
                }
            }
            idle.rested.push(rested);
            !std::mem::replace(&mut idle.watched, true)
        };
        if watch {
            self.runtime.spawn(Arc::clone(self).watch());
        }
    }

    /// Takes a connection that rests and whose server no other has taken over from.
    fn believed(&self) -> Option<Rested> {
        let newest = *self.newest.borrow();
        let mut idle = self.idle();
        idle.rested.retain(|(_, open)| !open.branch.is_some_and(|branch| branch.is_behind(newest)));
        idle.rested.pop()
    }

    /// Makes a connection beyond the number, for what must neither wait behind others nor trust what they left.
    pub(super) async fn make(self: &Arc<Self>, within: Duration) -> Result<Link, Fault> {
        let (open, _) = self.connect(Instant::now() + within, true).await?;
        Ok(self.link(open, Duration::ZERO, None))
    }

    /// Makes a connection whose notifications go to `told`. It is never given to others.
    pub(super) async fn listener(
        self: &Arc<Self>,
        told: mpsc::UnboundedSender<String>,
    ) -> Result<Link, Fault> {
        let connected = tokio::time::timeout(self.patience, self.connect_once(Some(told))).await;
        let (open, _) = connected.unwrap_or_else(|_| Err(self.unreachable()))?;
        Ok(self.link(open, Duration::ZERO, None))
    }

    /// Takes a connection that is alive, for what cannot be sent twice.
    pub(super) async fn take_alive(self: &Arc<Self>) -> Result<Link, Fault> {
        loop {
            let mut link = self.take().await?;
            if link.rested < DOUBT || link.rows("SELECT 1", Bind::new()).await.is_ok() {
                return Ok(link);
            }
            // A silent server would be waited for once for each of them.
            self.distrust();
        }
    }

    /// Makes a connection without trying for long: whoever opens a store wants to know what is wrong.
    pub(super) async fn first(self: &Arc<Self>) -> Result<(Link, String), Fault> {
        let (open, encoding) = self.connect(Instant::now() + self.patience, false).await?;
        Ok((self.link(open, Duration::ZERO, None), encoding))
    }

    /// Drops what rests: what broke one connection has broken those too.
    pub(super) fn distrust(&self) {
        self.idle().rested.clear();
    }

    /// Closes what rests, and from now on everything that comes back.
    pub(super) async fn close(&self) {
        let rested = {
            let mut idle = self.idle();
            idle.closed = true;
            std::mem::take(&mut idle.rested)
        };
        for (_, open) in rested {
            open.close().await;
        }
    }

    fn link(self: &Arc<Self>, open: Open, rested: Duration, seat: Option<OwnedSemaphorePermit>) -> Link {
        Link { open, rested, seat, home: Arc::clone(self) }
    }

    /// Connects, and tries again while the server is away if `patient`, else only while it says that it will come.
    async fn connect(&self, deadline: Instant, patient: bool) -> Result<(Open, String), Fault> {
        let mut pause = PAUSE;
        loop {
            let fault = match self.try_to_connect(deadline, patient).await? {
                Ok(open) => return Ok(open),
                Err(fault) => fault,
            };
            if Instant::now() + pause >= deadline {
                // Whoever opens a store is told what each host said.
                return Err(if patient { self.unreachable() } else { fault });
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Connects, or says why that may be otherwise soon; fails if it will not.
    async fn try_to_connect(
        &self,
        deadline: Instant,
        patient: bool,
    ) -> Result<Result<(Open, String), Fault>, Fault> {
        let fault = match tokio::time::timeout_at(deadline, self.connect_once(None)).await {
            Ok(Ok(open)) => return Ok(Ok(open)),
            Ok(Err(fault)) => fault,
            Err(_) => return Err(self.unreachable()),
        };
        let comes = matches!(fault.kind, FaultKind::Unreachable | FaultKind::Collision)
            || patient && matches!(fault.kind, FaultKind::Lost | FaultKind::ReadOnly);
        if comes { Ok(Err(fault)) } else { Err(fault) }
    }

    async fn connect_once(
        &self,
        told: Option<mpsc::UnboundedSender<String>>,
    ) -> Result<(Open, String), Fault> {
        let connected = self.target.connect().await?;
        let mut open = Open::new(connected, &self.runtime, told);
        let encoding = open.ask(&self.place).await.map_err(|fault| match fault.kind {
            // There is a server that lets us in: another connection may last.
            FaultKind::Lost => Fault { kind: FaultKind::Unreachable, ..fault },
            _ => fault,
        })?;
        if let Some(branch) = open.branch {
            self.meet(branch)?;
        }
        Ok((open, encoding))
    }

    /// Holds a server's timeline against the newest one that was met.
    fn meet(&self, branch: Branch) -> Result<(), Fault> {
        let newest = *self.newest.borrow();
        if branch.is_behind(newest) && self.heard().elapsed() < SILENT {
            self.target.pass_over();
            let error = StoreError::Io { place: self.place.clone(), reason: branch.told(newest) };
            return Err(Fault { error, kind: FaultKind::ReadOnly });
        }
        // One that took over and was given up again may have been the newest: then the older one is what there is.
        self.newest.send_if_modified(|known| {
            let is_news = *known == newest && *known != Some(branch);
            if is_news {
                *known = Some(branch);
            }
            is_news
        });
        self.hear(Some(branch));
        Ok(())
    }

    /// Notes that a server has answered.
    pub(super) fn hear(&self, branch: Option<Branch>) {
        if branch.is_some() && branch == *self.newest.borrow() {
            *self.heard.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        }
    }

    fn heard(&self) -> Instant {
        *self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a server has taken over from the one of a connection, and returns that in words.
    pub(super) async fn overtaken(&self, branch: Option<Branch>) -> String {
        let Some(branch) = branch else { return std::future::pending().await };
        let mut newest = self.newest.subscribe();
        let taken = newest.wait_for(|newest| branch.is_behind(*newest)).await.map(|newest| *newest);
        match taken {
            Ok(newest) => branch.told(newest),
            // The sender is ours: it cannot be gone.
            Err(_) => std::future::pending().await,
        }
    }

    fn unreachable(&self) -> Fault {
        Fault { error: StoreError::Busy { place: self.place.clone() }, kind: FaultKind::Unreachable }
    }

    fn idle(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes connections after they have rested for long, until none is left.
    async fn watch(self: Arc<Self>) {
        loop {
            tokio::time::sleep(IDLE).await;
            let (old, watched) = {
                let mut idle = self.idle();
                let (old, rested) = std::mem::take(&mut idle.rested)
                    .into_iter()
                    .partition::<Vec<_>, _>(|(since, _)| since.elapsed() >= IDLE);
                idle.rested = rested;
                idle.watched = !idle.rested.is_empty();
                (old, idle.watched)
            };
            for (_, open) in old {
                open.close().await;
            }
            if !watched {
                return;
            }
        }
    }
}

impl Link {
    /// Gives the connection back for others. Without it the connection is closed.
    pub(super) fn keep(self) {
        // The seat is left last: who takes it finds the connection.
        let Link { open, home, seat: _seat, .. } = self;
        home.give_back(open);
    }
}

/// A place in the line of those who wait for a connection that is given back.
struct Turn {
    given: oneshot::Receiver<Rested>,
    home: Arc<Links>,
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.given.close();
        // Given to one who goes away, or who has found another meanwhile.
        if let Ok((_, open)) = self.given.try_recv() {
            self.home.give_back(open);
        }
        self.home.idle().waiting.retain(|waiting| !waiting.is_closed());
    }
}
