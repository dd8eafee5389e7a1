//! A life of the store: sessions, appends of every durability, letters, branches, deletions, handles that take over from
//! each other, and faults.
//!
//! What a fault strikes is tried again until it is kept, with the same bytes. So there is one history, whatever failed.

use std::cell::{Cell, RefCell};

use futures_util::future::join_all;
use tempfile::TempDir;
use trunkline_message_tree::{Entry, Link, Message, NodeId};
use trunkline_session_store::{
    Amend, Batch, Claim, Durability, InboxId, Kept, Lease, MemoryStore, NewSession, Note, Position, Record,
    SessionId, SessionStore, SqliteStore, StoreError, export, import,
};

use super::turns::{after, is_node, records, text};
use super::{AT, History, Lived, NAME, Plan, Post, Told, options, words};
use crate::chance::Chance;
use crate::disk::{Files, folder};
use crate::power::Promise;
use crate::recorder::Recorder;

/// How often a fault strikes before it is lifted.
const STRIKES: u64 = 3;

pub(super) async fn live(plan: Plan, chance: &mut Chance) -> Result<Lived, String> {
    let folder = folder().map_err(words)?;
    let recorder = Recorder::register()?;
    recorder.watch(folder.path(), &Files::new()).map_err(words)?;
    recorder.order(plan.fault);
    let mut world = World {
        recorder: &recorder,
        folder,
        handles: Vec::new(),
        wanted: plan.handles,
        struck: Cell::new(0),
        step_struck: Cell::new(false),
        lived: RefCell::default(),
        made: 0,
    };
    world.open().await?;
    let mut sessions: Vec<Session> = Vec::new();
    for _ in 0..plan.steps {
        step(&mut world, &mut sessions, plan.reopens, chance).await?;
    }
    // Now, and not after everything was closed: a cut does not wait for that.
    let events = recorder.events()?;
    // What comes from here on is not in the journal any more, so nothing fails and nothing is promised.
    world.lived.borrow_mut().life.struck |= recorder.hits() > 0;
    recorder.order(None);
    world.struck.set(0);
    for session in &mut sessions {
        world.catch_up(session).await?;
        world.remember(session).await?;
    }
    drop(sessions);
    world.close().await;
    recorder.forget();
    let mut lived = world.lived.into_inner();
    lived.life.events = events;
    let end = lived.life.events.len();
    lived.life.promises.retain(|promise| promise.at <= end);
    Ok(lived)
}

/// The store with the handles on it, as so many processes would have.
struct World<'a> {
    recorder: &'a Recorder,
    folder: TempDir,
    handles: Vec<SqliteStore>,
    /// How many there are while it is open.
    wanted: usize,
    /// How often the fault had struck when we last looked.
    struck: Cell<u64>,
    /// Whether it has in this step of the life.
    step_struck: Cell<bool>,
    lived: RefCell<Lived>,
    /// How many sessions were made so far.
    made: u32,
}

/// A session as its writer knows it.
pub(super) struct Session {
    id: SessionId,
    pub(super) at: Position,
    pub(super) nodes: u32,
    /// The handle that holds it, and its lease.
    lease: Option<(usize, Lease)>,
    waiting: Vec<InboxId>,
    /// What was only buffered since the last batch that was more.
    buffered: Vec<Batch>,
}

async fn step(
    world: &mut World<'_>,
    sessions: &mut Vec<Session>,
    reopens: usize,
    chance: &mut Chance,
) -> Result<(), String> {
    world.step_struck.set(false);
    if chance.comes(1, reopens) {
        sessions.iter_mut().for_each(|session| session.lease = None);
        world.close().await;
        return world.open().await;
    }
    let few = sessions.len() < 3;
    let lot = if few { 0 } else { chance.below(100) };
    match lot {
        0..3 if sessions.len() < 7 => sessions.push(world.create(chance).await?),
        3..5 if sessions.len() < 7 => sessions.push(world.import(chance).await?),
        5 => {
            let gone = sessions.swap_remove(chance.below(sessions.len()));
            world.delete(gone).await?;
        }
        // Several at once, which are committed as a group.
        8..20 => {
            let (world, mut forks) = (&*world, chance.fork());
            let appends = sessions.iter_mut().map(|session| {
                let mut chance = forks.fork();
                async move {
                    let durability = [Durability::Committed, Durability::Flushed][chance.below(2)];
                    let records = records(session, &mut chance);
                    world.append(session, records, durability).await
                }
            });
            join_all(appends).await.into_iter().collect::<Result<Vec<()>, String>>()?;
        }
        _ => {
            let place = chance.below(sessions.len());
            let Some(session) = sessions.get_mut(place) else { return Ok(()) };
            match lot {
                20..26 => world.post(session, chance).await?,
                26..29 => world.amend(session, chance).await?,
                29..32 => world.take_over(session).await?,
                32..42 => {
                    for _ in 0..1 + chance.below(6) {
                        let records = records(session, chance);
                        world.append(session, records, Durability::Buffered).await?;
                    }
                }
                42..52 => {
                    let records = records(session, chance);
                    world.append(session, records, Durability::Committed).await?;
                }
                _ => {
                    let records = records(session, chance);
                    world.append(session, records, Durability::Flushed).await?;
                }
            }
        }
    }
    Ok(())
}

impl World<'_> {
    async fn open(&mut self) -> Result<(), String> {
        let path = self.folder.path().join(NAME);
        while self.handles.len() < self.wanted {
            let opened = SqliteStore::open_with(&path, options(self.recorder)).await;
            if let Some(handle) = self.answer(opened)? {
                self.handles.push(handle);
            }
        }
        Ok(())
    }

    async fn close(&mut self) {
        for handle in self.handles.drain(..) {
            handle.close().await;
        }
    }

    fn handle(&self, number: usize) -> Result<&SqliteStore, String> {
        self.handles.get(number).ok_or_else(|| "the store is closed".to_owned())
    }

    /// Returns another handle than this one, if there is one.
    fn other(&self, number: usize) -> usize {
        (number + 1) % self.wanted
    }

    /// Returns what the store answered, or nothing if a fault struck and it said so.
    fn answer<T>(&self, answer: Result<T, StoreError>) -> Result<Option<T>, String> {
        let hits = self.recorder.hits();
        // One fault strikes all who append together, and each of them is told.
        let struck = self.step_struck.get() | (hits > self.struck.replace(hits));
        self.step_struck.set(struck);
        self.lived.borrow_mut().life.struck |= hits > 0;
        if hits >= STRIKES {
            self.recorder.order(None);
            self.struck.set(0);
        }
        let error = match answer {
            Ok(value) => return Ok(Some(value)),
            Err(error) => error,
        };
        let name = match &error {
            StoreError::Io { .. } => "io",
            StoreError::Full { .. } => "full",
            StoreError::BufferLost { .. } => "buffer lost",
            _ => return Err(words(error)),
        };
        // What was buffered hears of it later than the fault.
        if !struck && name != "buffer lost" {
            return Err(format!("for no reason: {}", words(error)));
        }
        *self.lived.borrow_mut().answers.entry(name).or_default() += 1;
        Ok(None)
    }

    fn promise(&self, told: Told, records: usize, durability: Durability) {
        let at = self.recorder.position();
        let mut lived = self.lived.borrow_mut();
        let only_death = match durability {
            Durability::Flushed => false,
            Durability::Committed => true,
            Durability::Buffered => return,
        };
        let number = lived.told.len() as u64;
        lived.told.push(told);
        lived.life.promises.push(Promise { only_death, ..Promise::of(number, records, at) });
    }

    fn history<T>(&self, session: &SessionId, change: impl FnOnce(&mut History) -> T) -> T {
        change(self.lived.borrow_mut().histories.entry(session.clone()).or_default())
    }

    fn new_session(&mut self) -> NewSession {
        self.made += 1;
        let id = format!("00000000-0000-7000-8000-{:012x}", self.made);
        let id = SessionId::parse(&id).expect("it has the form of an id");
        let mut message = Message::system("be brief");
        message.node = Some(NodeId::ROOT);
        let root = Entry::Node { id: NodeId::ROOT, parent: None, at: AT, link: Link::Next, message };
        let title = "title 0".to_owned();
        self.history(&id, |history| history.titles.push(title.clone()));
        NewSession { id, title, workspace: None, at: AT, root }
    }

    async fn create(&mut self, chance: &mut Chance) -> Result<Session, String> {
        let new = self.new_session();
        let id = new.id.clone();
        self.history(&id, |history| history.ends.insert(1));
        let handle = self.handle(chance.below(self.wanted))?;
        loop {
            let created = match handle.create(new.clone()).await {
                // The attempt before was kept although it failed.
                Err(StoreError::SessionExists { .. }) if !self.lived.borrow().answers.is_empty() => Ok(()),
                created => created,
            };
            if self.answer(created)?.is_some() {
                break;
            }
        }
        self.promise(Told::Log { session: id.clone(), seq: 1 }, 1, Durability::Flushed);
        Ok(Session::new(id, Position { seq: 1, head: NodeId::ROOT }, 1))
    }

    /// Moves a session in from elsewhere, in one step.
    async fn import(&mut self, chance: &mut Chance) -> Result<Session, String> {
        let elsewhere = MemoryStore::new();
        let new = self.new_session();
        let id = new.id.clone();
        elsewhere.create(new).await.map_err(words)?;
        let mut session = Session::new(id.clone(), Position { seq: 1, head: NodeId::ROOT }, 1);
        let lease = elsewhere.lease(&id).await.map_err(words)?;
        for _ in 0..chance.below(12) {
            let records = records(&session, chance);
            let next = after(&session, &records);
            elsewhere.append(&lease, Batch::new(session.at, records)).await.map_err(words)?;
            (session.at, session.nodes) = next;
        }
        let mut bytes = Vec::new();
        export(&elsewhere, &id, &mut bytes).await.map_err(words)?;
        self.history(&id, |history| history.ends.insert(session.at.seq));
        loop {
            let imported = import(self.handle(0)?, bytes.as_slice()).await;
            let imported = match imported {
                Ok(_) => Ok(()),
                Err(trunkline_session_store::ImportError::Store { source }) => match *source {
                    StoreError::SessionExists { .. } if !self.lived.borrow().answers.is_empty() => Ok(()),
                    error => Err(error),
                },
                Err(error) => return Err(words(error)),
            };
            if self.answer(imported)?.is_some() {
                break;
            }
        }
        let records = usize::try_from(session.at.seq).unwrap_or_default();
        self.promise(Told::Log { session: id, seq: session.at.seq }, records, Durability::Flushed);
        Ok(session)
    }

    async fn delete(&self, mut session: Session) -> Result<(), String> {
        self.catch_up(&mut session).await?;
        self.remember(&session).await?;
        // Released by then: what is handed in is carried out in its order.
        let by = session.lease.take().map_or(0, |(by, _)| by);
        {
            let now = self.recorder.position();
            let mut lived = self.lived.borrow_mut();
            let Lived { life, told, .. } = &mut *lived;
            for promise in &mut life.promises {
                let one = usize::try_from(promise.number).ok().and_then(|place| told.get(place));
                if one.is_some_and(|told| *told.session() == session.id) {
                    promise.until = now;
                }
            }
        }
        loop {
            let deleted = match self.handle(by)?.delete(&session.id).await {
                Err(StoreError::UnknownSession { .. }) if !self.lived.borrow().answers.is_empty() => Ok(()),
                deleted => deleted,
            };
            if self.answer(deleted)?.is_some() {
                break;
            }
        }
        self.promise(Told::Gone { session: session.id }, 1, Durability::Flushed);
        Ok(())
    }

    async fn amend(&self, session: &Session, chance: &mut Chance) -> Result<(), String> {
        let version = self.history(&session.id, |history| {
            let version = history.titles.len();
            history.titles.push(format!("title {version}"));
            version
        });
        let handle = self.handle(chance.below(self.wanted))?;
        loop {
            let amend = Amend::title(format!("title {version}"));
            if self.answer(handle.amend(&session.id, amend).await)?.is_some() {
                break;
            }
        }
        self.promise(Told::Title { session: session.id.clone(), version }, 1, Durability::Flushed);
        Ok(())
    }

    /// Posts a letter through a handle that does not hold the session, if there is one.
    async fn post(&self, session: &mut Session, chance: &mut Chance) -> Result<(), String> {
        let by = session.lease.as_ref().map_or(0, |(by, _)| self.other(*by));
        let body = format!("\"{}\"", text(chance, 300));
        let letter = loop {
            // Whatever fails: each attempt may come back, and the next one has the next number then.
            let next = self.history(&session.id, |history| history.letters.len() as u64 + 1);
            let post = Post { body: body.clone(), consumed: None };
            let posted = self.handle(by)?.post(&session.id, "prompt", &body, AT).await;
            self.history(&session.id, |history| history.letters.insert(InboxId(next), post));
            if let Some(letter) = self.answer(posted)? {
                break letter;
            }
        };
        let post = Post { body, consumed: None };
        self.history(&session.id, |history| history.letters.insert(letter, post));
        self.promise(Told::Letter { session: session.id.clone(), letter }, 1, Durability::Flushed);
        session.waiting.push(letter);
        Ok(())
    }

    /// Lets another handle, or the same, take the session from its holder, who can write nothing more.
    async fn take_over(&self, session: &mut Session) -> Result<(), String> {
        self.catch_up(session).await?;
        let old = session.lease.take();
        let by = old.as_ref().map_or(0, |(by, _)| self.other(*by));
        let lease = loop {
            if let Some(lease) = self.answer(self.handle(by)?.claim(&session.id, Claim::TakeOver).await)? {
                break lease;
            }
        };
        session.lease = Some((by, lease));
        if let Some((by, old)) = old {
            let records = vec![Record::Note(Note::new("disk", "late", AT, "null"))];
            loop {
                let late = self.handle(by)?.append(&old, Batch::new(session.at, records.clone())).await;
                match late {
                    Err(StoreError::Fenced { .. }) => break,
                    Ok(_) => return Err("a writer that was taken over has written".to_owned()),
                    Err(error) => drop(self.answer::<()>(Err(error))?),
                }
            }
        }
        Ok(())
    }

    /// Appends, as often as it takes.
    async fn append(
        &self,
        session: &mut Session,
        records: Vec<Record>,
        durability: Durability,
    ) -> Result<(), String> {
        if session.lease.is_none() {
            self.catch_up(session).await?;
        }
        let mut batch = Batch::new(session.at, records).with(durability);
        // Letters are consumed by batches that wait for their answer: a buffered one could not say what became of them.
        if durability > Durability::Buffered {
            batch = batch.consuming(session.waiting.drain(..));
        }
        self.keep(session, batch).await
    }

    async fn keep(&self, session: &mut Session, batch: Batch) -> Result<(), String> {
        let (end, nodes) = after(session, &batch.records);
        self.history(&session.id, |history| {
            history.ends.insert(end.seq);
            for letter in &batch.consumed {
                if let Some(post) = history.letters.get_mut(letter) {
                    post.consumed = Some(end.seq);
                }
            }
        });
        loop {
            let Some((by, lease)) = &session.lease else {
                let claimed = self.handle(0)?.claim(&session.id, Claim::TakeOver).await;
                session.lease = self.answer(claimed)?.map(|lease| (0, lease));
                continue;
            };
            let answer = self.handle(*by)?.append(lease, batch.clone()).await;
            match self.answer(answer)? {
                Some(receipt) => {
                    if receipt.seq != end.seq || receipt.durability < batch.durability {
                        return Err(format!("the receipt is {receipt:?} for a batch up to {end}"));
                    }
                    (session.at, session.nodes) = (end, nodes);
                    // It holds for what was only buffered before it, too.
                    let before = session.buffered.iter().chain([&batch]);
                    let records = before.map(|batch| batch.records.len()).sum();
                    match receipt.durability {
                        Durability::Buffered => session.buffered.push(batch),
                        _ => session.buffered.clear(),
                    }
                    let told = Told::Log { session: session.id.clone(), seq: end.seq };
                    self.promise(told, records, receipt.durability);
                    return Ok(());
                }
                None => {
                    let records = self.written(session, *by).await?;
                    if records == end.seq {
                        // Kept although it was said to have failed.
                        (session.at, session.nodes) = (end, nodes);
                        session.buffered.clear();
                        return Ok(());
                    }
                    Box::pin(self.write_again(session, records)).await?;
                }
            }
        }
    }

    /// Makes sure that what was buffered is there, also if its store was closed or its process died.
    async fn catch_up(&self, session: &mut Session) -> Result<(), String> {
        // Otherwise all of it was written, and not to read leaves the writer the only one who has the files open.
        if session.buffered.is_empty() {
            return Ok(());
        }
        let by = session.lease.as_ref().map_or(0, |(by, _)| *by);
        let records = self.written(session, by).await?;
        self.write_again(session, records).await
    }

    /// Returns how long the log is.
    async fn written(&self, session: &Session, by: usize) -> Result<u64, String> {
        loop {
            if let Some(info) = self.answer(self.handle(by)?.info(&session.id).await)? {
                return Ok(info.records);
            }
        }
    }

    /// Writes what was buffered and lost once more, the same bytes.
    async fn write_again(&self, session: &mut Session, records: u64) -> Result<(), String> {
        if records == session.at.seq {
            return Ok(());
        }
        let lost: Vec<Batch> = std::mem::take(&mut session.buffered);
        let lost: Vec<Batch> = lost.into_iter().filter(|batch| batch.expected_seq >= records).collect();
        let Some(first) = lost.first().filter(|first| first.expected_seq == records) else {
            return Err(format!("session {} is at {records} and should be at {}", session.id, session.at));
        };
        let in_lost = |batch: &Batch| batch.records.iter().filter(|record| is_node(record)).count() as u32;
        session.nodes -= lost.iter().map(in_lost).sum::<u32>();
        session.at = Position { seq: first.expected_seq, head: first.expected_head };
        for batch in lost {
            Box::pin(self.keep(session, batch.with(Durability::Flushed))).await?;
        }
        Ok(())
    }

    /// Keeps the whole log for comparison.
    async fn remember(&self, session: &Session) -> Result<(), String> {
        let by = session.lease.as_ref().map_or(0, |(by, _)| *by);
        let mut records: Vec<Kept> = Vec::new();
        while records.len() as u64 != session.at.seq {
            let page = self.handle(by)?.read(&session.id, records.len() as u64, 1000).await;
            let Some(page) = self.answer(page)? else { continue };
            if page.is_empty() {
                return Err(format!("session {} ends at {} records", session.id, records.len()));
            }
            records.extend(page);
        }
        self.history(&session.id, |history| history.records = records);
        Ok(())
    }
}

impl Session {
    fn new(id: SessionId, at: Position, nodes: u32) -> Self {
        Session { id, at, nodes, lease: None, waiting: Vec::new(), buffered: Vec::new() }
    }
}
