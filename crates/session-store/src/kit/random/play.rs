//! Plays a list of operations on the subject and on memory, side by side.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use trunkline_message_tree::{MoveKind, NodeId, Timestamp};

use super::super::made::*;
use super::super::verdict::{Broken, differ, words};
use super::super::waiting;
use super::super::{Handle, Place, Subject};
use super::op::{Off, Op, Piece, Question, message};
use crate::{
    Activity, Amend, Batch, Blob, Claim, Digest, Durability, ImportError, InboxId, Lease, MemoryStore, Note,
    NoteQuery, Position, Record, SessionId, SessionStore, Snapshot, StoreError,
};

/// A store with its two handles and who writes.
struct Side<'a> {
    place: &'a dyn Place,
    doors: Vec<Handle>,
    leases: BTreeMap<(u64, char), (Lease, usize)>,
    /// The token of the newest lease of each session.
    tokens: HashMap<u64, u64>,
    reaches: Durability,
    patience: Duration,
    /// Whether both sides are asked for snapshots.
    keeps_snapshots: bool,
}

/// What is given to both sides, made from where memory is.
#[derive(Clone, Default)]
struct Given {
    batch: Option<Batch>,
    snapshot: Option<Snapshot>,
}

struct Memory(MemoryStore);

#[async_trait::async_trait]
impl Place for Memory {
    async fn open(&self) -> Result<Handle, StoreError> {
        Ok(Handle::new(self.0.clone()))
    }
}

/// Plays a list; the error says which operation had another answer than in memory.
pub(super) async fn play(
    subject: &dyn Subject,
    place: &dyn Place,
    patience: Duration,
    ops: &[Op],
) -> Result<(), (usize, Broken)> {
    let memory = Memory(MemoryStore::new());
    let first = |broken: Broken| (0, broken);
    let mut theirs = Side::open(place, subject.reaches(), patience).await.map_err(first)?;
    let mut ours = Side::open(&memory, Durability::Buffered, patience).await.map_err(first)?;
    for side in [&mut theirs, &mut ours] {
        side.keeps_snapshots = subject.keeps_snapshots();
    }
    // The batch that was sent last to each session.
    let mut sent: HashMap<u64, Batch> = HashMap::new();
    for (number, op) in ops.iter().enumerate() {
        let batch = match op {
            Op::Append { session, .. } => {
                let batch = ours.batch(op).await;
                sent.insert(*session, batch.clone());
                Some(batch)
            }
            Op::Repeat { session, .. } => sent.get(session).cloned(),
            _ => None,
        };
        let given = Given { batch, snapshot: ours.made(op).await };
        let expected = ours.answer(op, given.clone()).await;
        let found = theirs.answer(op, given).await;
        if found != expected {
            return Err((number, Broken(differ(&found, &expected))));
        }
    }
    theirs.close().await;
    Ok(())
}

type Answer = Result<String, Broken>;

/// An error as both sides must give it. Who holds a lease has another name and token on each.
fn refusal(error: &StoreError) -> String {
    match error {
        StoreError::Locked { session, .. } => format!("refused: {session} is locked"),
        StoreError::Fenced { session, .. } => format!("refused: {session} was taken over"),
        other => format!("refused: {}", words(other)),
    }
}

fn said<T>(result: Result<T, StoreError>, show: impl FnOnce(T) -> String) -> String {
    result.map_or_else(|error| refusal(&error), show)
}

impl<'a> Side<'a> {
    async fn open(place: &'a dyn Place, reaches: Durability, patience: Duration) -> Result<Self, Broken> {
        let mut side = Side {
            place,
            doors: Vec::new(),
            leases: BTreeMap::new(),
            tokens: HashMap::new(),
            reaches,
            patience,
            keeps_snapshots: false,
        };
        side.reopen().await?;
        Ok(side)
    }

    async fn close(&mut self) {
        self.leases.clear();
        for handle in self.doors.drain(..) {
            handle.close().await;
        }
    }

    async fn reopen(&mut self) -> Result<(), Broken> {
        self.close().await;
        for _ in 0..2 {
            self.doors.push(self.place.open().await?);
        }
        Ok(())
    }

    fn store(&self, door: usize) -> Result<Arc<dyn SessionStore>, Broken> {
        match self.doors.get(door) {
            Some(handle) => Ok(handle.store()),
            None => fail!("the place is not open"),
        }
    }

    async fn answer(&mut self, op: &Op, given: Given) -> String {
        match self.try_answer(op, given).await {
            Ok(answer) => answer,
            Err(Broken(words)) => words,
        }
    }

    /// Waits for what is only buffered behind other doors than the one that is gone through now: another process could not
    /// see it either.
    async fn settle(&self, op: &Op) -> Result<(), Broken> {
        let door = match op {
            Op::Ask { door, .. } => Some(*door),
            Op::Append { session, slot, .. }
            | Op::Repeat { session, slot }
            | Op::Keep { session, slot, .. } => self.leases.get(&(*session, *slot)).map(|(_, door)| *door),
            _ => None,
        };
        for other in (0..self.doors.len()).filter(|other| Some(*other) != door) {
            self.store(other)?.sessions().await?;
        }
        Ok(())
    }

    async fn try_answer(&mut self, op: &Op, given: Given) -> Answer {
        self.settle(op).await?;
        Ok(match op {
            Op::Create { session, door } => {
                said(self.store(*door)?.create(new_session(*session)).await, |()| "done".to_owned())
            }
            Op::Claim { session, slot, door, take_over } => {
                self.claim(*session, *slot, *door, *take_over).await?
            }
            Op::Free { session, slot } => self.free(*session, *slot).await?,
            Op::Append { session: number, slot, .. } | Op::Repeat { session: number, slot } => {
                let Some((lease, door)) = self.leases.get(&(*number, *slot)) else {
                    return Ok("no lease".to_owned());
                };
                let Some(mut batch) = given.batch else { return Ok("no batch".to_owned()) };
                // Whether somebody else has taken the session over may be found out only when the line is written.
                if self.tokens.get(number) != Some(&lease.token()) {
                    batch.durability = batch.durability.max(Durability::Committed);
                }
                let least = batch.durability.min(self.reaches);
                let result = self.store(*door)?.append(lease, batch).await;
                said(result, |receipt| match receipt.durability >= least {
                    true => format!("kept up to {} with {}", receipt.seq, receipt.digest),
                    false => format!("kept, but only {} instead of {least}", receipt.durability),
                })
            }
            Op::Keep { .. } if !self.keeps_snapshots => "not asked".to_owned(),
            Op::Keep { session: number, slot, .. } => {
                let Some((lease, door)) = self.leases.get(&(*number, *slot)) else {
                    return Ok("no lease".to_owned());
                };
                let Some(snapshot) = given.snapshot else { return Ok("no snapshot".to_owned()) };
                said(self.store(*door)?.keep_snapshot(lease, snapshot).await, |()| "kept".to_owned())
            }
            Op::Ask { question: Question::Snapshot, .. } if !self.keeps_snapshots => "not asked".to_owned(),
            Op::Post { session: number, door, body } => {
                let posted =
                    self.store(*door)?.post(&session(*number), "prompt", &body.text(), Timestamp(3)).await;
                said(posted, |id| format!("letter {id}"))
            }
            Op::Amend { session: number, door, how } => {
                let done = self.store(*door)?.amend(&session(*number), amend(*how)).await;
                said(done, |()| "done".to_owned())
            }
            Op::Delete { session: number, door } => self.delete(*number, *door).await?,
            Op::Collect { door, dry } => said(self.store(*door)?.collect(*dry).await, |_| "done".to_owned()),
            Op::Move { session: number, door } => self.moved(*number, *door).await?,
            Op::Ask { session: number, door, question } => {
                let store = self.store(*door)?;
                match ask(&*store, &session(*number), question, self.tokens.get(number)).await {
                    Ok(answer) => answer,
                    Err(Failed::Refused(error)) => refusal(&error),
                    Err(Failed::Broken(broken)) => return Err(broken),
                }
            }
            Op::Reopen => {
                self.reopen().await?;
                "done".to_owned()
            }
        })
    }

    async fn claim(&mut self, number: u64, slot: char, door: usize, take_over: bool) -> Answer {
        let claim = if take_over { Claim::TakeOver } else { Claim::IfFree };
        let lease = match self.store(door)?.claim(&session(number), claim).await {
            Ok(lease) => lease,
            Err(error) => return Ok(refusal(&error)),
        };
        let before = self.tokens.insert(number, lease.token());
        if before.is_some_and(|before| before >= lease.token()) {
            return Ok(format!("leased, but token {} follows {before:?}", lease.token()));
        }
        self.leases.insert((number, slot), (lease, door));
        Ok("leased".to_owned())
    }

    async fn free(&mut self, number: u64, slot: char) -> Answer {
        let Some((lease, _)) = self.leases.remove(&(number, slot)) else {
            return Ok("no lease".to_owned());
        };
        let token = lease.token();
        drop(lease);
        let until = Instant::now() + self.patience / 2;
        // A store may take its time to give a lease up, and others to hear of it.
        for door in 0..self.doors.len() {
            let store = self.store(door)?;
            while let Ok(Some(holder)) = store.holder(&session(number)).await {
                if holder.token != token {
                    break;
                }
                if Instant::now() > until {
                    return Ok("a lease that was dropped is still held".to_owned());
                }
                waiting::pause(Duration::from_millis(2)).await;
            }
        }
        Ok("free".to_owned())
    }

    async fn delete(&mut self, number: u64, door: usize) -> Answer {
        if let Err(error) = self.store(door)?.delete(&session(number)).await {
            return Ok(refusal(&error));
        }
        // Leases that had ended before the session did.
        self.leases.retain(|(of, _), _| *of != number);
        self.tokens.remove(&number);
        Ok("deleted".to_owned())
    }

    async fn moved(&mut self, number: u64, door: usize) -> Answer {
        let store = self.store(door)?;
        if let Err(error) = store.info(&session(number)).await {
            return Ok(refusal(&error));
        }
        let bytes = exported(&*store, &session(number)).await?;
        let deleted = self.delete(number, door).await?;
        if deleted != "deleted" {
            return Ok(deleted);
        }
        match crate::import(&*store, bytes.as_slice()).await {
            Ok(infos) => Ok(format!("{infos:?}")),
            Err(ImportError::Store { source }) => Ok(refusal(&source)),
            Err(error) => Ok(words(&error)),
        }
    }

    /// Makes the snapshot of an operation from what this side has.
    async fn made(&self, op: &Op) -> Option<Snapshot> {
        let Op::Keep { session: number, back, body, is_ours, .. } = op else { return None };
        let store = self.store(0).ok()?;
        let records = store.info(&session(*number)).await.ok()?.records;
        let seq = records.saturating_sub(*back);
        let digest = match store.records(&session(*number), &[seq]).await.ok()?.first() {
            Some(kept) if *is_ours => kept.digest,
            _ => Digest::of(b"x"),
        };
        Some(Snapshot::new(seq, digest, *back as u32, body.text().into_bytes()))
    }

    /// Makes the batch of an operation from where this side is.
    async fn batch(&self, op: &Op) -> Batch {
        let Op::Append { session: number, pieces, letters: ids, off, level, .. } = op else {
            return batch(0, 0, Vec::new());
        };
        let info = match self.store(0) {
            Ok(store) => store.info(&session(*number)).await.ok(),
            Err(_) => None,
        };
        let (seq, head, nodes) = info.map_or((0, 0, 0), |info| (info.records, info.head.index(), info.nodes));
        let records = records(pieces, head as u32, nodes as u32);
        let at = match off {
            Off::Nothing => Position { seq, head: NodeId::new(head as u32) },
            Off::Seq => Position { seq: seq.wrapping_sub(1), head: NodeId::new(head as u32) },
            Off::Head => Position { seq, head: NodeId::new(head as u32 + 1) },
        };
        Batch::new(at, records).consuming(letters(ids.iter().copied())).with(*level)
    }
}

fn records(pieces: &[Piece], mut head: u32, mut next: u32) -> Vec<Record> {
    let mut records = Vec::new();
    for piece in pieces {
        records.push(match piece {
            Piece::Node(texts) => {
                let record = super::super::made::said(next, head, false, 5 + u64::from(next), message(texts));
                head = next;
                next += 1;
                record
            }
            Piece::Skip => node(next + 1, head, "x"),
            Piece::Filed(parent, text) => {
                next += 1;
                super::super::made::said(next - 1, *parent, true, u64::MAX, message(&[*text]))
            }
            Piece::Move(to) => {
                let record = moved(head, *to, 7, MoveKind::ModelRevert);
                head = *to;
                record
            }
            Piece::Note(body) => note(&body.text()),
            Piece::Key { kind, key, state, once } => {
                let note = Note::new("layer", *kind, Timestamp(1), "1");
                let (key, state) = (key.to_string(), state.text());
                Record::Note(if *once { note.once(key, state) } else { note.about(key, state) })
            }
            Piece::Blob(text) => {
                let (layer, kind) = ("files".to_owned(), "before".to_owned());
                Record::Blob(Blob { layer, kind, at: Timestamp(2), bytes: text.text().into_bytes() })
            }
        });
    }
    records
}

fn amend(how: u64) -> Amend {
    match how {
        0 => Amend::title(""),
        1 => Amend::title("\u{1F327} 'x' \"y\"\n"),
        2 => Amend::title("a\0b"),
        3 => Amend::tags(["b", "a", ""]),
        4 => Amend::tags([""; 0]),
        5 => Amend::archived(true),
        6 => Amend::archived(false),
        7 => Amend::add_tags(["c", "a", ""]),
        8 => Amend::remove_tags(["a", "c"]),
        _ => Amend::default(),
    }
}

/// Why there is no answer: a refusal may be what memory gives too.
enum Failed {
    Refused(StoreError),
    Broken(Broken),
}

impl From<StoreError> for Failed {
    fn from(error: StoreError) -> Self {
        Failed::Refused(error)
    }
}

impl From<Broken> for Failed {
    fn from(broken: Broken) -> Self {
        Failed::Broken(broken)
    }
}

async fn ask(
    store: &dyn SessionStore,
    id: &SessionId,
    question: &Question,
    token: Option<&u64>,
) -> Result<String, Failed> {
    Ok(match question {
        Question::Info => format!("{:?}", store.info(id).await?),
        Question::Sessions => format!("{:?}", store.sessions().await?),
        Question::Read { after, limit } => {
            let mut kept = store.read(id, *after, *limit).await?;
            // Fewer may come than were asked for, but none only at the end.
            while let Some(last) = kept.last().filter(|_| kept.len() < *limit) {
                let more = store.read(id, last.seq, *limit - kept.len()).await?;
                if more.is_empty() {
                    break;
                }
                kept.extend(more);
            }
            format!("{kept:?}")
        }
        Question::After(seq) => format!("{:?}", store.load_after(id, *seq).await?),
        Question::Records(numbers) => format!("{:?}", store.records(id, numbers).await?),
        Question::Snapshot => match store.snapshot(id).await? {
            Some(snapshot) => format!("{snapshot:?}: {}", Digest::of(&snapshot.bytes)),
            None => "no snapshot".to_owned(),
        },
        Question::Outline => format!("{:?}", store.outline(id).await?),
        Question::Messages(nodes) => {
            let nodes: Vec<NodeId> = nodes.iter().copied().map(NodeId::new).collect();
            format!("{:?}", store.messages(id, &nodes).await?)
        }
        Question::Resume(last) => format!("{:?}", store.resume(id, *last).await?),
        Question::Verify => format!("{:?}", store.verify(id).await?),
        Question::Blob(text) => {
            format!("{:?}", store.blob(id, &Digest::of(text.text().as_bytes())).await?)
        }
        Question::Inbox => format!("{:?}", store.inbox(id).await?),
        Question::Letter(letter) => format!("{:?}", store.letter(id, InboxId(*letter)).await?),
        Question::Activity => {
            let now = store.changed(id, Activity::default()).await?;
            let (seen, waiting) = store.look(id).await?;
            let Activity { records, posted, consumed, .. } = now;
            format!("{records} {posted} {consumed}, {}: {waiting:?}", seen == now)
        }
        Question::Holder => match store.holder(id).await? {
            None => "free".to_owned(),
            Some(holder) if Some(&holder.token) == token => "held by the newest lease".to_owned(),
            Some(holder) => format!("held by token {}, the newest is {token:?}", holder.token),
        },
        Question::Notes { all, kind, key, state } => {
            let query = NoteQuery {
                session: (!all).then(|| id.clone()),
                layer: None,
                kind: kind.map(String::from),
                key: key.map(String::from),
                state: state.map(|state| state.text()),
            };
            format!("{:?}", store.notes(&query).await?)
        }
        Question::Export => {
            store.info(id).await?;
            String::from_utf8_lossy(&exported(store, id).await?).into_owned()
        }
        Question::Everything => {
            let mut text = format!("{:?}\n", store.notes(&NoteQuery::default()).await?);
            for info in store.sessions().await? {
                text += &state(store, &info.id).await?;
            }
            text + &String::from_utf8_lossy(&all_exported(store).await?)
        }
    })
}
