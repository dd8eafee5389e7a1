//! What is read from a store: the shape of a session, its growth while somebody writes, and proof.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use trunkline_message_tree::{Entry, Message, NodeId, TreeError};

use crate::Spine;
use crate::tally::Tally;
use crate::{
    Activity, Digest, FoundNote, Kept, Log, NoteQuery, Receipt, Record, SessionId, SessionInfo, SessionStore,
    StoreError,
};

/// How many records are asked for at once.
const PAGE: usize = 1024;

/// The shape of a session's tree, four bytes a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outline {
    // Of each node after the root; each is smaller than the node that has it.
    parents: Vec<u32>,
    head: NodeId,
}

impl Outline {
    /// Returns the outline of a tree in which every node continues the one before it, but for those in `branches`:
    /// pairs of a node and its parent, in the order of nodes. For those who write a store.
    ///
    /// # Errors
    ///
    /// What does not fit, in words.
    pub fn new(
        nodes: u64,
        head: NodeId,
        branches: impl IntoIterator<Item = (NodeId, NodeId)>,
    ) -> Result<Self, String> {
        let nodes = u32::try_from(nodes).map_err(|_| format!("{nodes} nodes are too many"))?;
        if head.index() >= nodes as usize {
            return Err(format!("the head is {head} of {nodes} nodes"));
        }
        let mut parents: Vec<u32> = (0..nodes - 1).collect();
        for (node, parent) in branches {
            let place = node.index().checked_sub(1).and_then(|place| parents.get_mut(place));
            match (place, u32::try_from(parent.index())) {
                (Some(place), Ok(index)) if parent < node => *place = index,
                _ => return Err(format!("{parent} cannot be the parent of {node} of {nodes} nodes")),
            }
        }
        Ok(Outline { parents, head })
    }

    /// Returns how many nodes there are.
    pub fn nodes(&self) -> usize {
        self.parents.len() + 1
    }

    /// Returns the end of the trunk.
    pub fn head(&self) -> NodeId {
        self.head
    }

    /// Returns the node that a node continues or is filed under; nothing for the root and for nodes that do not exist.
    pub fn parent(&self, node: NodeId) -> Option<NodeId> {
        let place = node.index().checked_sub(1)?;
        self.parents.get(place).copied().map(NodeId::new)
    }

    /// Returns the trunk from the head back to the root.
    pub fn trunk(&self) -> impl Iterator<Item = NodeId> {
        std::iter::successors(Some(self.head), |node| self.parent(*node))
    }
}

/// What is needed to go on with a long session.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Resumed {
    /// What a list would show of it.
    pub info: SessionInfo,
    /// The shape of its tree.
    pub outline: Outline,
    /// The last records with their numbers, oldest first.
    pub last: Vec<(u64, Record)>,
}

impl Resumed {
    /// Returns what was read; for those who write a store.
    pub fn new(info: SessionInfo, outline: Outline, last: Vec<(u64, Record)>) -> Self {
        Resumed { info, outline, last }
    }
}

/// What a verified log was found to be.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verified {
    /// How many records there are.
    pub records: u64,
    /// The digest of the last one.
    pub digest: Digest,
    /// The digest of every record, by number less one.
    pub digests: Vec<Digest>,
}

impl Verified {
    /// Returns whether a receipt that was kept elsewhere names a record of this log: then the log is what it was up to
    /// there, and nothing of that was cut off.
    pub fn holds(&self, receipt: &Receipt) -> bool {
        let place = receipt.seq.checked_sub(1).and_then(|place| usize::try_from(place).ok());
        place.and_then(|place| self.digests.get(place)) == Some(&receipt.digest)
    }
}

pub(crate) async fn load<S: SessionStore + ?Sized>(
    store: &S,
    session: &SessionId,
) -> Result<Log, StoreError> {
    let info = store.info(session).await?;
    let records = range(store, session, 0, info.records).await?;
    Ok(Log { info, records })
}

pub(crate) async fn load_after<S: SessionStore + ?Sized>(
    store: &S,
    session: &SessionId,
    seq: u64,
) -> Result<Vec<(u64, Record)>, StoreError> {
    let info = store.info(session).await?;
    range(store, session, seq, info.records).await
}

pub(crate) async fn resume<S: SessionStore + ?Sized>(
    store: &S,
    session: &SessionId,
    last: usize,
) -> Result<Resumed, StoreError> {
    loop {
        let info = store.info(session).await?;
        let outline = store.outline(session).await?;
        // Somebody may have written between the two.
        if outline.nodes() as u64 == info.nodes && outline.head() == info.head {
            let after = info.records.saturating_sub(last as u64);
            let last = range(store, session, after, info.records).await?;
            return Ok(Resumed { info, outline, last });
        }
    }
}

/// Reads the records `after < seq <= until`. A log only grows, so what it was at one moment is a prefix of what it is,
/// and no transaction is needed to read it page by page.
async fn range<S: SessionStore + ?Sized>(
    store: &S,
    session: &SessionId,
    after: u64,
    until: u64,
) -> Result<Vec<(u64, Record)>, StoreError> {
    let mut pages = Pages::new(after, until);
    let mut records = Vec::new();
    while let Some(kept) = pages.next(store, session).await? {
        records.push((kept.seq, kept.record(session)?));
    }
    Ok(records)
}

pub(crate) async fn records<S: SessionStore + ?Sized>(
    store: &S,
    session: &SessionId,
    numbers: &[u64],
) -> Result<Vec<Kept>, StoreError> {
    let numbers = in_order(session, numbers, store.info(session).await?.records)?;
    let mut records = Vec::with_capacity(numbers.len());
    // Neighbours are one range.
    for run in numbers.chunk_by(|one, next| one + 1 == *next) {
        let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
        let mut pages = Pages::new(first - 1, *last);
        while let Some(kept) = pages.next(store, session).await? {
            records.push(kept);
        }
    }
    Ok(records)
}

/// Returns numbers of records in their order, each once, if a log of so many has all of them.
pub(crate) fn in_order<'a>(
    session: &SessionId,
    numbers: &'a [u64],
    records: u64,
) -> Result<Cow<'a, [u64]>, StoreError> {
    let missing = |seq: u64| seq == 0 || seq > records;
    if let Some(seq) = numbers.iter().copied().filter(|seq| missing(*seq)).min() {
        return Err(StoreError::NoSuchRecord { session: session.clone(), seq });
    }
    if numbers.is_sorted_by(|one, next| one < next) {
        return Ok(Cow::Borrowed(numbers));
    }
    let ordered: BTreeSet<u64> = numbers.iter().copied().collect();
    Ok(Cow::Owned(ordered.into_iter().collect()))
}

pub(crate) async fn outline<S: SessionStore + ?Sized>(
    store: &S,
    session: &SessionId,
) -> Result<Outline, StoreError> {
    let info = store.info(session).await?;
    let mut branches = Vec::new();
    let mut pages = Pages::new(0, info.records);
    while let Some(kept) = pages.next(store, session).await? {
        if let Spine::Node { id, parent: Some(parent), .. } = kept.spine {
            branches.push((id, parent));
        }
    }
    Outline::new(info.nodes, info.head, branches).map_err(|reason| StoreError::BadRecord {
        session: session.clone(),
        seq: info.records,
        reason,
    })
}

pub(crate) async fn messages<S: SessionStore + ?Sized>(
    store: &S,
    session: &SessionId,
    nodes: &[NodeId],
) -> Result<Vec<Message>, StoreError> {
    let info = store.info(session).await?;
    let wanted: BTreeSet<NodeId> = nodes.iter().copied().collect();
    let mut found = BTreeMap::new();
    let mut newest = NodeId::ROOT;
    let mut pages = Pages::new(0, info.records);
    while let Some(kept) = pages.next(store, session).await? {
        let Spine::Node { id, .. } = kept.spine else { continue };
        newest = newest.max(id);
        if wanted.contains(&id)
            && let Record::Entry(Entry::Node { message, .. }) = kept.record(session)?
        {
            found.insert(id, message);
        }
    }
    let message = |node: &NodeId| {
        found.get(node).cloned().ok_or_else(|| StoreError::Misfit {
            session: session.clone(),
            seq: info.records,
            source: TreeError::UnknownNode { node: *node, newest },
        })
    };
    nodes.iter().map(message).collect()
}

pub(crate) async fn blob<S: SessionStore + ?Sized>(
    store: &S,
    session: &SessionId,
    digest: &Digest,
) -> Result<Option<Vec<u8>>, StoreError> {
    let info = store.info(session).await?;
    let mut pages = Pages::new(0, info.records);
    while let Some(kept) = pages.next(store, session).await? {
        if matches!(&kept.spine, Spine::Blob { content, .. } if content == digest)
            && let Record::Blob(blob) = kept.record(session)?
        {
            return Ok(Some(blob.bytes));
        }
    }
    Ok(None)
}

pub(crate) async fn notes<S: SessionStore + ?Sized>(
    store: &S,
    query: &NoteQuery,
) -> Result<Vec<FoundNote>, StoreError> {
    let mut sessions = match &query.session {
        Some(session) => vec![store.info(session).await?],
        None => store.sessions().await?,
    };
    sessions.sort_by(|one, other| one.id.cmp(&other.id));
    let mut list = Vec::new();
    for info in sessions {
        match newest_notes(store, &info).await {
            Ok(newest) => list.extend(newest.into_iter().filter(|found| query.fits(found))),
            // Deleted since it was listed.
            Err(StoreError::UnknownSession { .. }) if query.session.is_none() => {}
            Err(fault) => return Err(fault),
        }
    }
    Ok(list)
}

/// Returns the newest note of each key in a session, oldest first.
async fn newest_notes<S: SessionStore + ?Sized>(
    store: &S,
    info: &SessionInfo,
) -> Result<Vec<FoundNote>, StoreError> {
    let mut newest: BTreeMap<(String, String, String), FoundNote> = BTreeMap::new();
    let mut pages = Pages::new(0, info.records);
    while let Some(kept) = pages.next(store, &info.id).await? {
        let Spine::Note { layer, kind, at, key: Some(key) } = kept.spine else { continue };
        let named = (layer.clone(), kind.clone(), key.key.clone());
        let (session, seq, body) = (info.id.clone(), kept.seq, kept.body);
        newest.insert(named, FoundNote { session, seq, layer, kind, at, key, body });
    }
    let mut list: Vec<FoundNote> = newest.into_values().collect();
    list.sort_by_key(|found| found.seq);
    Ok(list)
}

pub(crate) async fn verify<S: SessionStore + ?Sized>(
    store: &S,
    session: &SessionId,
) -> Result<Verified, StoreError> {
    let info = store.info(session).await?;
    let mut tally = Tally::new(session, info.created_at);
    let mut digests = Vec::new();
    let mut pages = Pages::new(0, info.records);
    while let Some(kept) = pages.next(store, session).await? {
        tally.add_kept(session, &kept)?;
        digests.push(kept.digest);
    }
    tally.check(&info)?;
    // What waits is under seals that its reading compares.
    store.inbox(session).await?;
    Ok(Verified { records: tally.seq, digest: tally.digest, digests })
}

/// Reads a range of a log page by page.
#[derive(Debug)]
pub(crate) struct Pages {
    next: u64,
    until: u64,
    page: VecDeque<Kept>,
}

impl Pages {
    /// Returns the pages of the records `after < seq <= until`.
    pub(crate) fn new(after: u64, until: u64) -> Self {
        Pages { next: after.saturating_add(1), until, page: VecDeque::new() }
    }

    /// Returns the next record, or nothing after the last one.
    pub(crate) async fn next<S: SessionStore + ?Sized>(
        &mut self,
        store: &S,
        session: &SessionId,
    ) -> Result<Option<Kept>, StoreError> {
        if self.next > self.until {
            return Ok(None);
        }
        let bad = |seq, reason: String| StoreError::BadRecord { session: session.clone(), seq, reason };
        if self.page.is_empty() {
            let left = usize::try_from(self.until - self.next + 1).unwrap_or(usize::MAX);
            self.page = store.read(session, self.next - 1, left.min(PAGE)).await?.into();
        }
        let kept = self.page.pop_front().ok_or_else(|| bad(self.next, "it is missing".to_owned()))?;
        if kept.seq != self.next {
            return Err(bad(self.next, format!("record {} stands in its place", kept.seq)));
        }
        self.next += 1;
        Ok(Some(kept))
    }
}

/// Sees the records of a session in order as they are written, by whomever. Any number may follow.
///
/// A log can be replaced under it, by a crash that lost its end or by an import after it was deleted. What is given
/// continues what was given before, or there is an error.
pub struct Follower {
    store: Arc<dyn SessionStore>,
    session: SessionId,
    seen: Activity,
    /// The number of the last record that was given.
    after: u64,
    /// Its digest, once it was seen.
    last: Option<Digest>,
}

impl Follower {
    /// Returns a follower that begins after record `after`; 0 begins at the first. Which log that is, is settled by the
    /// first call of [`next`](Follower::next).
    pub fn new(store: Arc<dyn SessionStore>, session: SessionId, after: u64) -> Self {
        let last = (after == 0).then(|| Digest::genesis(&session));
        Follower { store, session, seen: Activity::default(), after, last }
    }

    /// Waits for records that were not given yet and returns them with their numbers, at least one. May be dropped at any
    /// time without losing any.
    ///
    /// # Errors
    ///
    /// [`StoreError::UnknownSession`], also if it is deleted meanwhile; [`StoreError::Replaced`] if the log is not the one
    /// that was followed so far; [`StoreError::BadRecord`] and [`StoreError::BrokenChain`].
    pub async fn next(&mut self) -> Result<Vec<(u64, Record)>, StoreError> {
        loop {
            let last = match self.last {
                Some(last) => Some(last),
                None => self.digest_of_last().await?,
            };
            let page = match last {
                Some(_) => self.store.read(&self.session, self.after, PAGE).await?,
                None => Vec::new(),
            };
            self.last = last;
            if let (Some(first), Some(prev)) = (page.first(), last)
                && first.seq == self.after + 1
                && first.expected(prev) != first.digest
            {
                return Err(self.why_broken(first, prev).await?);
            }
            let numbered = (self.after + 1..).zip(&page);
            let found: Result<Vec<(u64, Record)>, StoreError> = numbered
                .map(|(seq, kept)| match kept.seq == seq {
                    true => Ok((seq, kept.record(&self.session)?)),
                    false => Err(StoreError::BadRecord {
                        session: self.session.clone(),
                        seq,
                        reason: format!("record {} stands in its place", kept.seq),
                    }),
                })
                .collect();
            let found = found?;
            if let (Some((seq, _)), Some(kept)) = (found.last(), page.last()) {
                (self.after, self.last) = (*seq, Some(kept.digest));
                return Ok(found);
            }
            self.seen = self.store.changed(&self.session, self.seen).await?;
            if self.last.is_some() && self.seen.records < self.after {
                return Err(self.replaced());
            }
        }
    }

    /// Reads the digest of the last record that was given; nothing if it is not there.
    async fn digest_of_last(&self) -> Result<Option<Digest>, StoreError> {
        let page = self.store.read(&self.session, self.after.saturating_sub(1), 1).await?;
        Ok(page.first().filter(|kept| kept.seq == self.after).map(|kept| kept.digest))
    }

    /// Tells a record that was damaged from one that continues something else.
    async fn why_broken(&self, first: &Kept, prev: Digest) -> Result<StoreError, StoreError> {
        if self.after > 0 && self.digest_of_last().await? != Some(prev) {
            return Ok(self.replaced());
        }
        let (seq, found) = (first.seq, first.digest);
        Ok(StoreError::BrokenChain {
            session: self.session.clone(),
            seq,
            expected: first.expected(prev),
            found,
        })
    }

    fn replaced(&self) -> StoreError {
        StoreError::Replaced { session: self.session.clone(), seq: self.after }
    }
}

impl std::fmt::Debug for Follower {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Follower")
            .field("session", &self.session)
            .field("after", &self.after)
            .finish_non_exhaustive()
    }
}
