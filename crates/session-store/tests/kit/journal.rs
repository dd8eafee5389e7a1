//! A small store on a disk: memory, and a file with every call that changed it. It is what the kit kills and starves.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use trunkline_message_tree::{Message, NodeId, Timestamp};
use trunkline_session_store::kit::Fault;
use trunkline_session_store::{
    Activity, Amend, Batch, Claim, Collected, Digest, Durability, FoundNote, Header, Holder, Import,
    ImportError, InboxId, Kept, Lease, Letter, LetterState, MemoryStore, NoteQuery, Outline, Position,
    Receipt, Restoring, SessionId, SessionInfo, SessionStore, StoreError, import, write_header, write_record,
};

use super::flawed::at_once;
use super::steps;

/// What is wrong with the file.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    Nothing,
    /// What was committed is only in line.
    SaysMoreThanItDoes,
    /// A batch is written in two parts.
    WritesInParts,
    /// What was half written when the disk was full stays.
    LeavesHalves,
    /// A failure to write is not told.
    TellsNothing,
    /// A full disk is told in other words.
    TellsOtherwise,
    /// Letters are not written.
    ForgetsLetters,
    /// What another version wrote is read with other titles.
    ReadsOtherTitles,
    /// Whenever it is opened the file is written anew, batch by batch.
    RewritesItself,
    /// After a writer died in the middle of a write, no other writer gets in.
    LocksOutTheNext,
    /// The medium that should fail does not.
    NeverFails,
    /// The writer that should die before a write does not.
    NeverDies,
    /// It dies before it does anything.
    DiesAtOnce,
}

impl Flaw {
    /// All of them, by their numbers.
    pub(crate) const ALL: [Flaw; 13] = [
        Flaw::Nothing,
        Flaw::SaysMoreThanItDoes,
        Flaw::WritesInParts,
        Flaw::LeavesHalves,
        Flaw::TellsNothing,
        Flaw::TellsOtherwise,
        Flaw::ForgetsLetters,
        Flaw::ReadsOtherTitles,
        Flaw::RewritesItself,
        Flaw::LocksOutTheNext,
        Flaw::NeverFails,
        Flaw::NeverDies,
        Flaw::DiesAtOnce,
    ];
}

/// The store: handles on one place in one process share it.
pub(crate) struct Journal {
    inner: Mutex<Inner>,
    flaw: Flaw,
}

struct Inner {
    memory: MemoryStore,
    file: Medium,
}

/// The file, and how it fails.
struct Medium {
    file: File,
    /// What was acknowledged and not written.
    line: String,
    fault: Option<Fault>,
    /// How many writes there were.
    writes: u64,
    dies_after: Option<u64>,
    /// A file that is there after a death in the middle of a write.
    died: PathBuf,
    flaw: Flaw,
}

fn io(error: impl std::fmt::Display) -> StoreError {
    StoreError::Io { place: "the journal".to_owned(), reason: error.to_string() }
}

impl Medium {
    fn open(path: &Path, flaw: Flaw) -> Result<Self, StoreError> {
        let file = OpenOptions::new().read(true).append(true).create(true).open(path).map_err(io)?;
        let died = path.with_extension("died");
        Ok(Medium { file, line: String::new(), fault: None, writes: 0, dies_after: None, died, flaw })
    }

    /// Puts batches behind everything else, one after the other.
    fn rewrite(&mut self, entries: &[Value]) -> Result<(), StoreError> {
        let (batches, others): (Vec<&Value>, _) = entries.iter().partition(|entry| entry["call"] == "append");
        let others: String = others.iter().map(|entry: &&Value| format!("{entry}\n")).collect();
        self.file.set_len(0).map_err(io)?;
        self.file.write_all(others.as_bytes()).map_err(io)?;
        batches.into_iter().try_for_each(|batch| self.write(batch, Durability::Committed))
    }

    /// Reads what is whole and cuts off the rest.
    fn read(&mut self) -> Result<Vec<Value>, StoreError> {
        let mut text = String::new();
        self.file.seek(SeekFrom::Start(0)).map_err(io)?;
        self.file.read_to_string(&mut text).map_err(io)?;
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        self.file.set_len(whole as u64).map_err(io)?;
        text[..whole].lines().map(|line| serde_json::from_str(line).map_err(io)).collect()
    }

    fn write(&mut self, entry: &Value, durability: Durability) -> Result<(), StoreError> {
        self.line += &format!("{entry}\n");
        if durability == Durability::Buffered || self.flaw == Flaw::SaysMoreThanItDoes {
            return Ok(());
        }
        self.flush()
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        if self.line.is_empty() {
            return Ok(());
        }
        let line = std::mem::take(&mut self.line);
        let writes = self.writes;
        self.writes += 1;
        let half = line.as_bytes().split_at(line.len() / 2).0;
        if self.dies_after == Some(writes) {
            self.file.write_all(half).map_err(io)?;
            File::create(&self.died).map_err(io)?;
            std::process::abort();
        }
        let failure = match (self.fault, self.flaw) {
            (Some(Fault::Full(room)), Flaw::TellsOtherwise) if writes >= room => Some(io("no room")),
            (Some(Fault::Full(room)), _) if writes >= room => {
                Some(StoreError::Full { place: "the journal".to_owned(), quota: None })
            }
            (Some(Fault::Broken(room)), _) if writes >= room => Some(io("input/output error")),
            _ => None,
        };
        let Some(error) = failure else { return self.file.write_all(line.as_bytes()).map_err(io) };
        let before = self.file.metadata().map_err(io)?.len();
        self.file.write_all(half).map_err(io)?;
        match self.flaw {
            Flaw::TellsNothing => return Ok(()),
            Flaw::LeavesHalves => self.file.write_all(b"\n").map_err(io)?,
            _ => self.file.set_len(before).map_err(io)?,
        }
        Err(error)
    }
}

/// Rows as lines of JSON, with a header so that they can be read again.
fn lines(header: &Header, rows: &[Kept]) -> String {
    let mut bytes = Vec::new();
    write_header(header, &mut bytes).unwrap();
    rows.iter().for_each(|row| write_record(row, &mut bytes).unwrap());
    String::from_utf8(bytes).unwrap()
}

/// Makes all calls again.
async fn replay(entries: &[Value]) -> Result<MemoryStore, StoreError> {
    let memory = MemoryStore::new();
    let text = |entry: &Value, name: &str| entry[name].as_str().unwrap_or_default().to_owned();
    for entry in entries {
        let id = || SessionId::parse(&text(entry, "session")).map_err(io);
        match text(entry, "call").as_str() {
            "restore" => {
                let restored = import(&memory, text(entry, "rows").as_bytes()).await.map_err(io)?;
                for letter in entry["letters"].as_array().into_iter().flatten() {
                    let at = Timestamp(letter["at"].as_u64().unwrap());
                    memory.post(&restored[0].id, &text(letter, "kind"), &text(letter, "body"), at).await?;
                }
            }
            "claim" => drop(memory.claim(&id()?, Claim::TakeOver).await?),
            "append" => {
                let rows = text(entry, "rows");
                let mut rows = Import::new(rows.as_bytes());
                rows.next_session().map_err(io)?;
                let records = rows.rows().map(|row| row.unwrap().record(&id().unwrap()));
                let records = records.collect::<Result<Vec<_>, _>>()?;
                let info = memory.info(&id()?).await?;
                let consumed = entry["consumed"].as_array().into_iter().flatten();
                let consumed = consumed.filter_map(Value::as_u64).map(InboxId);
                let at = Position { seq: info.records, head: info.head };
                let lease = memory.claim(&id()?, Claim::TakeOver).await?;
                memory.append(&lease, Batch::new(at, records).consuming(consumed)).await?;
            }
            "amend" => {
                let mut amend = Amend::default();
                amend.title = entry["title"].as_str().map(str::to_owned);
                amend.tags = serde_json::from_value(entry["tags"].clone()).unwrap();
                amend.archived = entry["archived"].as_bool();
                amend.add_tags = serde_json::from_value(entry["added"].clone()).unwrap();
                amend.remove_tags = serde_json::from_value(entry["removed"].clone()).unwrap();
                memory.amend(&id()?, amend).await?;
            }
            "delete" => memory.delete(&id()?).await?,
            "post" => {
                let at = Timestamp(entry["at"].as_u64().unwrap());
                memory.post(&id()?, &text(entry, "kind"), &text(entry, "body"), at).await?;
            }
            other => return Err(io(format!("no call {other}"))),
        }
    }
    Ok(memory)
}

impl Journal {
    pub(crate) fn open(
        path: &Path,
        flaw: Flaw,
        fault: Option<Fault>,
        dies_after: Option<u64>,
    ) -> Result<Self, StoreError> {
        let mut file = Medium::open(path, flaw)?;
        let entries = file.read()?;
        let memory = at_once(replay(&entries))?;
        (file.fault, file.dies_after) = (fault, dies_after);
        match flaw {
            Flaw::RewritesItself => file.rewrite(&entries)?,
            Flaw::LocksOutTheNext if dies_after.is_some() && file.died.exists() => {
                return Err(io("somebody else has it open"));
            }
            Flaw::NeverFails => file.fault = None,
            Flaw::NeverDies => file.dies_after = None,
            Flaw::DiesAtOnce if dies_after.is_some() => std::process::abort(),
            _ => {}
        }
        Ok(Journal { inner: Mutex::new(Inner { memory, file }), flaw })
    }

    fn memory(&self) -> MemoryStore {
        self.inner.lock().unwrap().memory.clone()
    }

    pub(crate) fn flush(&self) -> Result<(), StoreError> {
        self.inner.lock().unwrap().file.flush()
    }

    /// Makes a call and writes it down; what cannot be written was never done.
    fn call<T, E: From<StoreError>>(
        &self,
        call: impl FnOnce(&MemoryStore) -> Result<(T, Vec<Value>), E>,
        durability: Durability,
    ) -> Result<T, E> {
        let mut inner = self.inner.lock().unwrap();
        let (result, entries) = call(&inner.memory)?;
        for entry in entries {
            if let Err(error) = inner.file.write(&entry, durability) {
                // Half of something may stand in it now.
                if let Ok(entries) = inner.file.read() {
                    inner.memory = at_once(replay(&entries))?;
                }
                return Err(error.into());
            }
        }
        Ok(result)
    }
}

/// A handle on a journal.
pub(crate) struct Journaling(pub(crate) Arc<Journal>);

#[async_trait::async_trait]
impl SessionStore for Journaling {
    async fn restore(&self, mut restoring: Restoring<'_>) -> Result<SessionInfo, ImportError> {
        let rows = steps::rows(&mut restoring)?;
        let letters = restoring.take_letters()?;
        let posted =
            letters.iter().map(|letter| json!({"kind": letter.kind, "body": letter.body, "at": letter.at}));
        let posted: Vec<Value> = posted.collect();
        let header = Header::of(&restoring.info());
        let entry = json!({"call": "restore", "rows": lines(&header, &rows), "letters": posted});
        let mut rows = rows.into_iter().map(Ok);
        let call = |memory: &MemoryStore| {
            let mut letters = || letters.clone();
            let info = at_once(memory.restore(Restoring::new(header, &mut rows).with_letters(&mut letters)))?;
            Ok((info, vec![entry]))
        };
        self.0.call(call, Durability::Flushed)
    }

    async fn claim(&self, session: &SessionId, claim: Claim) -> Result<Lease, StoreError> {
        let entry = json!({"call": "claim", "session": session});
        let call = |memory: &MemoryStore| Ok((at_once(memory.claim(session, claim))?, vec![entry]));
        self.0.call(call, Durability::Flushed)
    }

    async fn holder(&self, session: &SessionId) -> Result<Option<Holder>, StoreError> {
        self.0.memory().holder(session).await
    }

    async fn append(&self, lease: &Lease, batch: Batch) -> Result<Receipt, StoreError> {
        let (consumed, asked, seq) = (batch.consumed.clone(), batch.durability, batch.expected_seq);
        let call = |memory: &MemoryStore| {
            let receipt = at_once(memory.append(lease, batch))?;
            let header = Header::of(&at_once(memory.info(lease.session()))?);
            let rows = at_once(memory.read(lease.session(), seq, usize::MAX))?;
            let part = match self.0.flaw {
                Flaw::WritesInParts => rows.len().div_ceil(2).max(1),
                _ => rows.len().max(1),
            };
            let parts = rows.chunks(part).chain(rows.is_empty().then_some(&[][..]));
            let entry = |(number, part): (usize, &[Kept])| {
                let consumed: Vec<u64> = consumed.iter().filter(|_| number == 0).map(|id| id.0).collect();
                let rows = lines(&header, part);
                json!({"call": "append", "session": lease.session(), "consumed": consumed, "rows": rows})
            };
            let receipt = Receipt::new(receipt.seq, receipt.digest, asked);
            Ok((receipt, parts.enumerate().map(entry).collect()))
        };
        self.0.call(call, asked)
    }

    async fn read(&self, session: &SessionId, after: u64, limit: usize) -> Result<Vec<Kept>, StoreError> {
        self.0.memory().read(session, after, limit).await
    }

    async fn outline(&self, session: &SessionId) -> Result<Outline, StoreError> {
        self.0.memory().outline(session).await
    }

    async fn messages(&self, session: &SessionId, nodes: &[NodeId]) -> Result<Vec<Message>, StoreError> {
        self.0.memory().messages(session, nodes).await
    }

    async fn blob(&self, session: &SessionId, digest: &Digest) -> Result<Option<Vec<u8>>, StoreError> {
        self.0.memory().blob(session, digest).await
    }

    async fn info(&self, session: &SessionId) -> Result<SessionInfo, StoreError> {
        self.0.memory().info(session).await
    }

    async fn sessions(&self) -> Result<Vec<SessionInfo>, StoreError> {
        self.0.memory().sessions().await
    }

    async fn amend(&self, session: &SessionId, amend: Amend) -> Result<(), StoreError> {
        let Amend { title, tags, archived, add_tags, remove_tags, .. } = amend.clone();
        let entry = json!({
            "call": "amend", "session": session, "title": title, "tags": tags, "archived": archived,
            "added": add_tags, "removed": remove_tags,
        });
        let call = |memory: &MemoryStore| Ok((at_once(memory.amend(session, amend))?, vec![entry]));
        self.0.call(call, Durability::Flushed)
    }

    async fn delete(&self, session: &SessionId) -> Result<(), StoreError> {
        let entry = json!({"call": "delete", "session": session});
        let call = |memory: &MemoryStore| Ok((at_once(memory.delete(session))?, vec![entry]));
        self.0.call(call, Durability::Flushed)
    }

    async fn delete_idle(&self, seen: &SessionInfo) -> Result<(), StoreError> {
        let entry = json!({"call": "delete", "session": seen.id});
        let call = |memory: &MemoryStore| Ok((at_once(memory.delete_idle(seen))?, vec![entry]));
        self.0.call(call, Durability::Flushed)
    }

    async fn post(
        &self,
        session: &SessionId,
        kind: &str,
        body: &str,
        at: Timestamp,
    ) -> Result<InboxId, StoreError> {
        let entry = json!({"call": "post", "session": session, "kind": kind, "body": body, "at": at});
        let written = if self.0.flaw == Flaw::ForgetsLetters { vec![] } else { vec![entry] };
        let call = |memory: &MemoryStore| Ok((at_once(memory.post(session, kind, body, at))?, written));
        self.0.call(call, Durability::Flushed)
    }

    async fn inbox(&self, session: &SessionId) -> Result<Vec<Letter>, StoreError> {
        self.0.memory().inbox(session).await
    }

    async fn letter(&self, session: &SessionId, letter: InboxId) -> Result<LetterState, StoreError> {
        self.0.memory().letter(session, letter).await
    }

    async fn notes(&self, query: &NoteQuery) -> Result<Vec<FoundNote>, StoreError> {
        self.0.memory().notes(query).await
    }

    async fn changed(&self, session: &SessionId, seen: Activity) -> Result<Activity, StoreError> {
        self.0.memory().changed(session, seen).await
    }

    async fn collect(&self, dry_run: bool) -> Result<Collected, StoreError> {
        self.0.memory().collect(dry_run).await
    }
}
