//! The memory store with one flaw.

use std::collections::BTreeSet;
use std::future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use trunkline_message_tree::{Message, NodeId, Timestamp};
use trunkline_session_store::{
    Activity, Amend, Batch, Claim, Collected, Digest, Durability, FoundNote, Header, Holder, ImportError,
    InboxId, Kept, Lease, Letter, LetterState, MemoryStore, NoteQuery, Outline, Receipt, Record, Restoring,
    Resumed, SessionId, SessionInfo, SessionStore, Snapshot, Spine, StoreError, Tally,
};

pub(crate) use super::flaws::Flaw;
use super::steps;

use Flaw::*;

/// The memory store with a flaw.
pub(crate) struct Flawed {
    inner: MemoryStore,
    flaw: Flaw,
    shared: Arc<Shared>,
}

/// What all handles on one place have.
#[derive(Default)]
pub(crate) struct Shared {
    appending: AtomicBool,
    posting: AtomicBool,
    counter: AtomicU64,
    snapshot: Mutex<Option<Snapshot>>,
}

impl Flawed {
    pub(crate) fn new(inner: MemoryStore, flaw: Flaw, shared: Arc<Shared>) -> Self {
        if flaw == ForgetsTitlesWhenOpened {
            for info in at_once(inner.sessions()).unwrap() {
                at_once(inner.amend(&info.id, Amend::title(""))).unwrap();
            }
        }
        Flawed { inner, flaw, shared }
    }

    fn has(&self, flaw: Flaw) -> bool {
        self.flaw == flaw
    }

    async fn kept(&self, session: &SessionId) -> Vec<Kept> {
        self.inner.read(session, 0, usize::MAX).await.unwrap_or_default()
    }

    /// A receipt for a batch that is not kept.
    async fn promise(&self, session: &SessionId, batch: Batch) -> Result<Receipt, StoreError> {
        let info = self.inner.info(session).await?;
        let (_, tally) = batch.check(session, Tally::of(&info))?;
        Ok(Receipt::new(tally.seq, tally.digest, Durability::Buffered))
    }
}

/// Memory never waits.
pub(crate) fn at_once<T>(what: impl Future<Output = T>) -> T {
    match pin!(what).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("memory waited"),
    }
}

/// Lets everybody else go on.
async fn others_first() {
    let mut yielded = false;
    future::poll_fn(|context| {
        context.waker().wake_by_ref();
        match std::mem::replace(&mut yielded, true) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    })
    .await;
}

fn note(record: &mut Record, change: impl Fn(&mut trunkline_session_store::Note)) {
    if let Record::Note(note) = record {
        change(note);
    }
}

#[async_trait::async_trait]
impl SessionStore for Flawed {
    async fn restore(&self, mut restoring: Restoring<'_>) -> Result<SessionInfo, ImportError> {
        let id = restoring.session().clone();
        match self.flaw {
            RestoresInSteps => return steps::restore(&self.inner, restoring).await,
            RestoresOver => {
                let _ = self.inner.delete(&id).await;
            }
            RestoresWhatCame | RestoresWithoutTitle => {
                let (mut rows, mut failure) = (Vec::new(), None);
                loop {
                    match restoring.next_chunk() {
                        Ok(chunk) if chunk.is_empty() => break,
                        Ok(chunk) => rows.extend(chunk),
                        Err(error) => {
                            failure = Some(error);
                            break;
                        }
                    }
                }
                let info = restoring.info();
                let mut header = Header::of(&info);
                if self.has(RestoresWithoutTitle) && rows.len() > 1 {
                    header.title.clear();
                }
                if let Some(error) = failure.take_if(|_| self.has(RestoresWithoutTitle) || rows.is_empty()) {
                    return Err(error);
                }
                let mut rows = rows.into_iter().take(info.records as usize).map(Ok);
                let info = self.inner.restore(Restoring::new(header, &mut rows)).await?;
                return failure.map_or(Ok(info), Err);
            }
            RestoresWithoutLetters => {
                let rows = steps::rows(&mut restoring)?;
                let header = Header::of(&restoring.info());
                return self.inner.restore(Restoring::new(header, &mut rows.into_iter().map(Ok))).await;
            }
            _ => {}
        }
        self.inner.restore(restoring).await
    }

    async fn claim(&self, session: &SessionId, claim: Claim) -> Result<Lease, StoreError> {
        let claim = if self.has(TwoWriters) { Claim::TakeOver } else { claim };
        let lease = match self.flaw {
            KeepsAbandonedLeases => steps::claim(&self.inner, session, claim).await,
            _ => self.inner.claim(session, claim).await,
        };
        match self.flaw {
            TokensStay => lease.map(|lease| Lease::new(session.clone(), 1, lease)),
            // The lease outlives what the caller holds, until somebody asks whether it is free.
            DroppedLeaseFreesTheNext => lease
                .map(|lease| Lease::new(session.clone(), lease.token(), Freeing(self.inner.clone(), lease))),
            _ => lease,
        }
    }

    async fn holder(&self, session: &SessionId) -> Result<Option<Holder>, StoreError> {
        let holder = self.inner.holder(session).await?;
        Ok(holder.map(|holder| Holder::new(holder.name, if self.has(TokensStay) { 1 } else { holder.token })))
    }

    async fn append(&self, lease: &Lease, mut batch: Batch) -> Result<Receipt, StoreError> {
        let session = lease.session();
        let wrapped = lease.guard::<Lease>();
        let freeing = lease.guard::<Freeing>();
        let lease = wrapped.as_deref().or(freeing.as_deref().map(|freeing| &freeing.1)).unwrap_or(lease);
        let info = self.inner.info(session).await?;
        match self.flaw {
            Panics => panic!("a store should not"),
            ForgetsLongBatches if batch.records.len() > 20 => return self.promise(session, batch).await,
            AcceptsStaleBatches => {
                (batch.expected_seq, batch.expected_head) = (info.records, info.head);
            }
            AcceptsAnEmptyStaleBatch if batch.records.is_empty() => batch.expected_seq = info.records,
            TrimsBodies => batch.records.iter_mut().for_each(|record| {
                note(record, |note| note.body = note.body.trim().to_owned());
            }),
            KeepsNulInNames => batch.records.iter_mut().for_each(|record| {
                note(record, |note| note.kind = note.kind.replace('\0', ""));
            }),
            ChangesNumbers => batch.records.iter_mut().for_each(|record| {
                note(record, |note| note.body = note.body.replace("1.50", "1.5"));
            }),
            CutsLargeBodies => batch.records.iter_mut().for_each(|record| {
                note(record, |note| {
                    if note.body.len() > 4_096 {
                        note.body = note.body.replacen('x', "", 1);
                    }
                });
            }),
            MixesUpTimes => batch.records.iter_mut().for_each(|record| {
                note(record, |note| note.at = Timestamp(note.at.0.min(i64::MAX as u64)));
            }),
            ForgetsFencing if info.records > 0 => {
                if let Err(StoreError::Fenced { .. }) = self.inner.append(lease, batch.clone()).await {
                    let hidden = self.inner.claim(session, Claim::TakeOver).await?;
                    return self.inner.append(&hidden, batch).await;
                }
                return self.promise(session, batch).await;
            }
            FencesOnlyRecords if !batch.records.is_empty() => {}
            FencesNothingInLine if batch.durability != Durability::Buffered => {}
            FencesOnlyRecords | FencesNothingInLine => {
                let hidden = self.inner.claim(session, Claim::TakeOver).await?;
                return self.inner.append(&hidden, batch).await;
            }
            ConsumesWithoutTheBatch if !batch.consumed.is_empty() => {
                let consumed = std::mem::take(&mut batch.consumed);
                let alone =
                    Batch { records: Vec::new(), consumed, durability: batch.durability, ..batch.clone() };
                self.inner
                    .append(lease, Batch { expected_seq: info.records, expected_head: info.head, ..alone })
                    .await?;
            }
            StopsWithItsCaller if batch.records.len() == 2 => {
                return steps::append(&self.inner, lease, batch).await;
            }
            StopsOnItsWay if batch.records.len() == 2 => {
                // As for a connection, before it does anything.
                steps::a_moment().await;
                return steps::append(&self.inner, lease, batch).await;
            }
            LosesWhatCollides => {
                if self.shared.appending.swap(true, Ordering::SeqCst) {
                    return self.promise(session, batch).await;
                }
                std::thread::sleep(Duration::from_micros(200));
                let result = self.inner.append(lease, batch).await;
                self.shared.appending.store(false, Ordering::SeqCst);
                return result;
            }
            _ => {}
        }
        let result = self.inner.append(lease, batch.clone()).await;
        match (self.flaw, result) {
            (ConsumesTwice, Err(StoreError::NoSuchLetter { .. })) => {
                batch.consumed.clear();
                self.inner.append(lease, batch).await
            }
            (OnceTwice, Err(StoreError::KeyTaken { .. })) => {
                batch.records.iter_mut().for_each(|record| {
                    note(record, |note| note.key.iter_mut().for_each(|key| key.once = false));
                });
                self.inner.append(lease, batch).await
            }
            (OnceIsNotWhole, Err(error @ StoreError::KeyTaken { .. })) => {
                batch.records.truncate(1);
                batch.consumed.clear();
                let _ = self.inner.append(lease, batch).await;
                Err(error)
            }
            (KeepsTheFirstOfARefusedBatch, Err(error @ StoreError::Misfit { .. })) => {
                batch.records.truncate(1);
                let _ = self.inner.append(lease, batch).await;
                Err(error)
            }
            (TakesForeignLeases, Err(StoreError::ForeignLease { .. })) => {
                let hidden = self.inner.claim(session, Claim::TakeOver).await?;
                self.inner.append(&hidden, batch).await
            }
            (WrongDigestInReceipts, Ok(receipt)) => {
                Ok(Receipt::new(receipt.seq, Digest::of(b"something"), receipt.durability))
            }
            (SaysFlushed, Ok(receipt)) => Ok(Receipt::new(receipt.seq, receipt.digest, Durability::Flushed)),
            (_, result) => result,
        }
    }

    async fn read(&self, session: &SessionId, after: u64, limit: usize) -> Result<Vec<Kept>, StoreError> {
        let asked = if self.has(GivesMoreThanAsked) { limit.max(1) } else { limit };
        let mut page = self.inner.read(session, after, asked).await?;
        match self.flaw {
            ReordersPages if page.len() > 3 => page.swap(1, 2),
            MissesTheTail if after > 0 && page.len() == 1 && limit > 50 => page.clear(),
            _ => {}
        }
        Ok(page)
    }

    async fn spine(
        &self,
        session: &SessionId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<(u64, Spine)>, StoreError> {
        let mut page = self.inner.spine(session, after, limit).await?;
        if self.has(ForgetsKeysInTheSpine) {
            for (_, spine) in &mut page {
                if let Spine::Note { key, .. } = spine {
                    *key = None;
                }
            }
        }
        Ok(page)
    }

    async fn records(&self, session: &SessionId, numbers: &[u64]) -> Result<Vec<Kept>, StoreError> {
        match self.flaw {
            SkipsMissingRecords => {
                let kept = self.inner.read(session, 0, usize::MAX).await?;
                Ok(kept.into_iter().filter(|kept| numbers.contains(&kept.seq)).collect())
            }
            RepeatsRecords => {
                let mut records = Vec::new();
                for number in numbers {
                    records.extend(self.inner.records(session, &[*number]).await?);
                }
                self.inner.info(session).await.map(|_| records)
            }
            _ => self.inner.records(session, numbers).await,
        }
    }

    async fn snapshot(&self, session: &SessionId) -> Result<Option<Snapshot>, StoreError> {
        let mut found = self.inner.snapshot(session).await?;
        match self.flaw {
            MixesUpForms => found.iter_mut().for_each(|snapshot| snapshot.form = snapshot.form.min(100)),
            KeepsSnapshotsForEver => found = found.or(self.shared.snapshot.lock().unwrap().clone()),
            _ => {}
        }
        Ok(found)
    }

    async fn keep_snapshot(&self, lease: &Lease, snapshot: Snapshot) -> Result<(), StoreError> {
        let session = lease.session();
        let wrapped = lease.guard::<Lease>();
        let freeing = lease.guard::<Freeing>();
        let lease = wrapped.as_deref().or(freeing.as_deref().map(|freeing| &freeing.1)).unwrap_or(lease);
        if self.has(KeepsTheFirstSnapshot) && self.inner.snapshot(session).await?.is_some() {
            return Ok(());
        }
        if self.has(CountsSnapshots) {
            self.inner.amend(session, Amend::add_tags(["snapshot"])).await?;
        }
        if self.has(KeepsSnapshotsForEver) {
            *self.shared.snapshot.lock().unwrap() = Some(snapshot.clone());
        }
        match (self.flaw, self.inner.keep_snapshot(lease, snapshot.clone()).await) {
            (KeepsEverySnapshot, Err(StoreError::Replaced { .. })) => Ok(()),
            (KeepsSnapshotsOfTheFenced, Err(StoreError::Fenced { .. })) => {
                let hidden = self.inner.claim(session, Claim::TakeOver).await?;
                self.inner.keep_snapshot(&hidden, snapshot).await
            }
            (_, result) => result,
        }
    }

    async fn outline(&self, session: &SessionId) -> Result<Outline, StoreError> {
        let outline = self.inner.outline(session).await?;
        if !self.has(WrongParent) {
            return Ok(outline);
        }
        let branches = (1..outline.nodes() as u32)
            .map(|id| (NodeId::new(id), outline.parent(NodeId::new(id)).unwrap()))
            .filter(|(id, parent)| id.index() == parent.index() + 1);
        Ok(Outline::new(outline.nodes() as u64, outline.head(), branches).unwrap())
    }

    async fn messages(&self, session: &SessionId, nodes: &[NodeId]) -> Result<Vec<Message>, StoreError> {
        if self.has(MessagesOnce) {
            let nodes: BTreeSet<NodeId> = nodes.iter().copied().collect();
            let nodes: Vec<NodeId> = nodes.into_iter().collect();
            return self.inner.messages(session, &nodes).await;
        }
        self.inner.messages(session, nodes).await
    }

    async fn blob(&self, session: &SessionId, digest: &Digest) -> Result<Option<Vec<u8>>, StoreError> {
        let mut found = self.inner.blob(session, digest).await?;
        if self.has(BlobsOfOthers) {
            for info in self.inner.sessions().await? {
                found = found.or(self.inner.blob(&info.id, digest).await?);
            }
        }
        Ok(found)
    }

    async fn info(&self, session: &SessionId) -> Result<SessionInfo, StoreError> {
        let mut info = self.inner.info(session).await?;
        match self.flaw {
            MiscountsBytes => info.bytes += 1,
            ForgetsTheLastUpdate => info.updated_at = Timestamp(0),
            _ => {}
        }
        Ok(info)
    }

    async fn sessions(&self) -> Result<Vec<SessionInfo>, StoreError> {
        let mut list = self.inner.sessions().await?;
        if self.has(SortsByName) {
            list.sort_by(|one, other| one.id.cmp(&other.id));
        }
        if let Some(mut gone) = list.first().cloned().filter(|_| self.has(ListsWhatIsGone)) {
            gone.id = SessionId::parse("00000000-0000-7000-8000-ffffffffffff").unwrap();
            (gone.bytes, gone.updated_at) = (1 << 40, Timestamp(0));
            list.push(gone);
        }
        Ok(list)
    }

    async fn amend(&self, session: &SessionId, mut amend: Amend) -> Result<(), StoreError> {
        if self.has(ForgetsTags) {
            amend.tags = None;
        }
        if self.has(LosesTagsOfOthers) {
            let mut info = self.inner.info(session).await?;
            others_first().await;
            amend.check(session)?;
            amend.clone().apply(&mut info);
            (amend.tags, amend.remove_tags, amend.add_tags) = (Some(info.tags), [].into(), [].into());
        }
        self.inner.amend(session, amend).await
    }

    async fn delete(&self, session: &SessionId) -> Result<(), StoreError> {
        match self.flaw {
            DeletesInSteps => steps::delete(&self.inner, session).await,
            DeletesNothing => self.inner.info(session).await.map(drop),
            DeletesWhatIsWritten => {
                if self.inner.holder(session).await?.is_some() {
                    drop(self.inner.claim(session, Claim::TakeOver).await?);
                }
                self.inner.delete(session).await
            }
            DeletesTheNextToo => {
                self.inner.delete(session).await?;
                if let Some(next) = self.inner.sessions().await?.first() {
                    let _ = self.inner.delete(&next.id).await;
                }
                Ok(())
            }
            _ => self.inner.delete(session).await,
        }
    }

    async fn delete_idle(&self, seen: &SessionInfo) -> Result<(), StoreError> {
        match self.flaw {
            DeletesWhatChanged => self.inner.delete(&seen.id).await,
            DeletesInTwoSteps => {
                let waiting = self.inner.inbox(&seen.id).await?.len() as u64;
                self.inner.info(&seen.id).await?.check_idle(seen, waiting)?;
                others_first().await;
                self.inner.delete(&seen.id).await
            }
            _ => self.inner.delete_idle(seen).await,
        }
    }

    async fn post(
        &self,
        session: &SessionId,
        kind: &str,
        body: &str,
        at: Timestamp,
    ) -> Result<InboxId, StoreError> {
        if self.has(PostsForEver) {
            steps::turn(&self.shared.posting).await;
        }
        let id = self.inner.post(session, kind, body, at).await;
        self.shared.posting.store(false, Ordering::SeqCst);
        let id = id?;
        Ok(if self.has(NamesLettersTwice) { InboxId(1) } else { id })
    }

    async fn inbox(&self, session: &SessionId) -> Result<Vec<Letter>, StoreError> {
        let mut letters = match self.inner.inbox(session).await {
            Err(StoreError::UnknownSession { .. }) if self.has(UnknownIsEmpty) => Vec::new(),
            other => other?,
        };
        if self.has(ReversesTheInbox) {
            letters.reverse();
        }
        Ok(letters)
    }

    async fn look(&self, session: &SessionId) -> Result<(Activity, Vec<Letter>), StoreError> {
        let now = self.changed(session, Activity::default()).await?;
        let mut letters = self.inbox(session).await?;
        if self.has(LooksBeforeTheNewestLetter) {
            letters.pop();
        }
        Ok((now, letters))
    }

    async fn letter(&self, session: &SessionId, letter: InboxId) -> Result<LetterState, StoreError> {
        self.inner.letter(session, letter).await
    }

    async fn notes(&self, query: &NoteQuery) -> Result<Vec<FoundNote>, StoreError> {
        let mut wider = query.clone();
        match self.flaw {
            FindsOldStates => wider.state = None,
            FindsKeysByPrefix => wider.key = None,
            _ => {}
        }
        let mut found = self.inner.notes(&wider).await?;
        match self.flaw {
            FindsOldStates => {
                let mut fitting = Vec::new();
                for one in found {
                    let wanted = query.state.clone().unwrap_or_else(|| one.key.state.clone());
                    // Any note of the key that ever had the state.
                    let had = self.kept(&one.session).await.into_iter().any(|kept| match kept.spine {
                        Spine::Note { key: Some(key), .. } => key.key == one.key.key && key.state == wanted,
                        _ => false,
                    });
                    if had {
                        fitting.push(one);
                    }
                }
                found = fitting;
            }
            FindsKeysByPrefix => {
                let prefix = query.key.as_deref().unwrap_or_default().trim_end_matches('%');
                found.retain(|one| one.key.key.starts_with(prefix));
            }
            MissesOneKey => found.retain(|one| one.key.key != "\u{1F327}"),
            _ => {}
        }
        Ok(found)
    }

    async fn changed(&self, session: &SessionId, seen: Activity) -> Result<Activity, StoreError> {
        match self.flaw {
            NeverWakes => {
                let now = self.inner.changed(session, Activity::default()).await?;
                if now == seen { future::pending().await } else { Ok(now) }
            }
            WakesOnlyOne => {
                let now = self.inner.changed(session, seen).await?;
                // All that ever happened, told to whoever comes first.
                let told = now.records + now.posted + now.consumed;
                let waited = seen != Activity::default();
                if waited && self.shared.counter.fetch_max(told, Ordering::SeqCst) == told {
                    future::pending().await
                }
                Ok(now)
            }
            WakesAtOnce => self.inner.changed(session, Activity::default()).await,
            WakesOnlyForRecords => loop {
                let now = self.inner.changed(session, seen).await?;
                if now.records != seen.records {
                    return Ok(now);
                }
                self.inner.changed(session, now).await?;
            },
            SleepsWhenDeleted => {
                let first = self.inner.info(session).await;
                match self.inner.changed(session, seen).await {
                    Err(_) if first.is_ok() => future::pending().await,
                    other => other,
                }
            }
            _ => self.inner.changed(session, seen).await,
        }
    }

    async fn collect(&self, _: bool) -> Result<Collected, StoreError> {
        let parts =
            if self.has(CollectsTwice) { self.shared.counter.fetch_add(1, Ordering::SeqCst) } else { 0 };
        Ok(Collected::new(parts, 0, 0))
    }

    async fn resume(&self, session: &SessionId, records: usize) -> Result<Resumed, StoreError> {
        let resumed = self.inner.resume(session, records).await?;
        let skip = usize::from(self.has(ResumesLate) && resumed.last.len() > 1);
        Ok(Resumed::new(resumed.info, resumed.outline, resumed.last.into_iter().skip(skip).collect()))
    }
}

/// A lease that frees the session when it is dropped, whoever holds that by then.
struct Freeing(MemoryStore, Lease);

impl Drop for Freeing {
    fn drop(&mut self) {
        let session = self.1.session().clone();
        let _ = at_once(self.0.claim(&session, Claim::TakeOver));
    }
}
