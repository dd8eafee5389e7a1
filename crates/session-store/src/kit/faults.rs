//! A medium that fails at each of its writes: it is told, and nothing that was there is harmed.

use trunkline_message_tree::Timestamp;

use super::made::*;
use super::verdict::{Broken, Verdict, differ, guard, words};
use super::{Fault, Options, Place, Promise, Report, Subject};
use crate::{
    Amend, Batch, Durability, ImportError, InboxId, Lease, MemoryStore, NoteQuery, Record, SessionStore,
    StoreError,
};

pub(super) fn check(subject: &dyn Subject, options: &Options, report: &mut Report) {
    type Make = fn(u64) -> Fault;
    let kinds: [(Promise, Make); 2] = [(Promise::Full, Fault::Full), (Promise::Broken, Fault::Broken)];
    for (promise, make) in kinds {
        for writes in 0..u64::from(options.writes) {
            let fault = make(writes);
            let mut run = Run::new(fault);
            let result = guard(|| subject.place()).and_then(|place| {
                let place = place.map_err(Broken)?;
                super::run_within(subject, options.patience, run.run(&*place))?
            });
            report.figures.acknowledged += run.acknowledged;
            match result {
                Ok(End::NoMeans) => break,
                Ok(End::Failed) => {
                    report.figures.cut_points += 1;
                    report.check(promise, None);
                }
                // Not a single write was let through, and none failed: this medium does not fail at all.
                Ok(End::Through) if writes == 0 => break,
                // There are no more writes than that.
                Ok(End::Through) => {
                    report.check(promise, None);
                    break;
                }
                // One finding says it all.
                Err(broken) => {
                    report.check(promise, Some(format!("{fault}, {}: {broken}", run.doing)));
                    break;
                }
            }
        }
    }
}

/// How a run ended.
enum End {
    /// The subject cannot arrange it.
    NoMeans,
    /// Something failed, as it should.
    Failed,
    /// There were not so many writes.
    Through,
}

/// The same work on the medium that fails and in memory.
struct Run {
    fault: Fault,
    memory: MemoryStore,
    /// What may be found afterwards: after the last acknowledgement, or less of what was only buffered.
    allowed: Vec<String>,
    acknowledged: u64,
    doing: &'static str,
}

/// One piece of the work.
#[derive(Copy, Clone, Debug)]
enum Act {
    Append(Durability, u64),
    Consume,
    Post,
    Amend,
    Create,
    Import,
    Delete,
}

const WORK: [(&str, Act); 13] = [
    ("appending", Act::Append(Durability::Flushed, 10)),
    ("posting", Act::Post),
    ("appending a large part", Act::Append(Durability::Committed, 60_000)),
    ("consuming", Act::Consume),
    ("appending to the line", Act::Append(Durability::Buffered, 10)),
    ("appending to the line again", Act::Append(Durability::Buffered, 9_000)),
    ("appending after the line", Act::Append(Durability::Committed, 10)),
    ("amending", Act::Amend),
    ("making a session", Act::Create),
    ("importing a session", Act::Import),
    ("appending the large part again", Act::Append(Durability::Flushed, 60_000)),
    ("deleting a session", Act::Delete),
    ("appending at the end", Act::Append(Durability::Flushed, 10)),
];

async fn everything(store: &dyn SessionStore) -> Result<String, Broken> {
    let mut text = format!("{:?}\n", store.notes(&NoteQuery::default()).await?);
    for info in store.sessions().await? {
        text += &state(store, &info.id).await?;
    }
    Ok(text)
}

/// What is there before the medium fails.
async fn begin(store: &dyn SessionStore) -> Verdict {
    store.create(new_session(1)).await?;
    let lease = store.lease(&session(1)).await?;
    store.append(&lease, batch(1, 0, vec![node(1, 0, "before"), note("1")])).await?;
    store.post(&session(1), "prompt", "0", Timestamp(1)).await?;
    Ok(())
}

async fn act(store: &dyn SessionStore, lease: &Lease, act: Act) -> Result<(), StoreError> {
    match act {
        Act::Append(level, size) => {
            let info = store.info(&session(1)).await?;
            let id = info.nodes as u32;
            let text = "x".repeat(size as usize);
            let key = Record::Note(rain("1").about(size.to_string(), "s"));
            let records = vec![node(id, id - 1, &text), note(&format!("\"{text}\"")), key];
            store.append(lease, Batch::new(position(&info), records).with(level)).await?;
        }
        Act::Consume => {
            let made = next(store, &session(1), vec![note("2")]).await?.consuming([InboxId(1)]);
            store.append(lease, made).await?;
        }
        Act::Post => drop(store.post(&session(1), "prompt", "1", Timestamp(1)).await?),
        Act::Amend => store.amend(&session(1), Amend::title("renamed")).await?,
        Act::Create => store.create(new_session(2)).await?,
        Act::Import => {
            let other = MemoryStore::new();
            other.create(new_session(3)).await?;
            let lease = other.lease(&session(3)).await?;
            let records = (1..40).map(|id| node(id, id - 1, &"y".repeat(2_000))).collect();
            other.append(&lease, batch(1, 0, records)).await?;
            let bytes = exported(&other, &session(3)).await.unwrap_or_default();
            match crate::import(store, bytes.as_slice()).await {
                Ok(_) => {}
                Err(ImportError::Store { source }) => return Err(*source),
                Err(error) => {
                    return Err(StoreError::Database {
                        place: "the import".to_owned(),
                        reason: words(&error),
                    });
                }
            }
        }
        Act::Delete => store.delete(&session(2)).await?,
    }
    Ok(())
}

impl Run {
    fn new(fault: Fault) -> Self {
        let memory = MemoryStore::new();
        Run { fault, memory, allowed: Vec::new(), acknowledged: 0, doing: "before anything" }
    }

    async fn run(&mut self, place: &dyn Place) -> Result<End, Broken> {
        let handle = place.open().await?;
        begin(&*handle.store()).await?;
        handle.close().await;
        begin(&self.memory).await?;
        self.allowed = vec![everything(&self.memory).await?];
        self.doing = "opening";
        let failed = match place.open_failing(self.fault).await {
            None => return Ok(End::NoMeans),
            Some(Err(error)) => {
                self.told(&error)?;
                true
            }
            Some(Ok(handle)) => {
                let store = handle.store();
                let failed = self.work(&*store).await?;
                if failed && matches!(self.fault, Fault::Full(_)) {
                    let found = everything(&*store).await?;
                    self.compare("reading from the full medium", &found)?;
                }
                drop(store);
                handle.close().await;
                failed
            }
        };
        let handle = place.open().await?;
        let store = handle.store();
        self.compare("opened again", &everything(&*store).await?)?;
        // It goes on.
        let lease = super::contract::soon(&*store, &session(1), std::time::Duration::from_secs(20)).await?;
        act(&*store, &lease, Act::Append(Durability::Flushed, 5_000)).await?;
        store.verify(&session(1)).await?;
        drop((lease, store));
        handle.close().await;
        Ok(if failed { End::Failed } else { End::Through })
    }

    /// Does the work until something fails; returns whether it did.
    async fn work(&mut self, store: &dyn SessionStore) -> Result<bool, Broken> {
        self.doing = "leasing";
        let ours = self.memory.claim(&session(1), crate::Claim::TakeOver).await?;
        let theirs = match store.lease(&session(1)).await {
            Ok(lease) => lease,
            Err(error) => return self.told(&error).map(|()| true),
        };
        for (doing, one) in WORK {
            self.doing = doing;
            let result = act(store, &theirs, one).await;
            let open = match &result {
                Ok(()) => false,
                Err(error) => {
                    self.told(error)?;
                    // Nobody knows what a write that failed half-way has left, but it is all or nothing.
                    matches!(error, StoreError::Io { .. })
                }
            };
            if result.is_ok() || open {
                act(&self.memory, &ours, one).await?;
            }
            let now = everything(&self.memory).await?;
            match (&result, one) {
                (Ok(()), Act::Append(Durability::Buffered, _)) | (Err(_), _) => self.allowed.push(now),
                (Ok(()), _) => self.allowed = vec![now],
            }
            self.acknowledged += u64::from(result.is_ok());
            if result.is_err() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn told(&self, error: &StoreError) -> Verdict {
        let fits = match self.fault {
            Fault::Full(_) => matches!(error, StoreError::Full { .. } | StoreError::BufferLost { .. }),
            Fault::Broken(_) => matches!(error, StoreError::Io { .. } | StoreError::BufferLost { .. }),
        };
        ensure!(fits, "a medium that is {} is told as: {}", self.fault, words(error));
        Ok(())
    }

    fn compare(&self, when: &str, found: &str) -> Verdict {
        if self.allowed.iter().any(|allowed| allowed == found) {
            return Ok(());
        }
        let expected = self.allowed.last().map_or("", String::as_str);
        fail!("{when}: {}", differ(found, expected))
    }
}
