//! A session that is made at once, under a name that follows from what is in it.

use std::collections::BTreeSet;

use trunkline_message_tree::{MessageTree, Timestamp};
use trunkline_runtime::decision_objects::Digest;
use trunkline_session_store::{
    Header, ImportError, Kept, Record, Restoring, SessionId, SessionStore, StoreError, Tally,
};
use uuid::Uuid;

/// Returns the name of the session that is known by these bytes: a UUID of version 8, of their SHA-256.
pub(super) fn named_by(bytes: &[u8]) -> SessionId {
    let mut named = [0; 16];
    let digest = Digest::of(bytes);
    named.iter_mut().zip(digest.as_bytes()).for_each(|(byte, from)| *byte = *from);
    let id = uuid::Builder::from_custom_bytes(named).into_uuid();
    SessionId::parse(&Uuid::to_string(&id)).expect("a UUID prints as a session id")
}

/// What becomes of a session that is made.
pub(super) enum Made {
    /// It is there now, whole.
    New,
    /// One of its name was there already, and is as it was.
    There,
}

/// Makes a session of a tree that holds its root, and of the records behind that. It has no folder: one that stands in a file is a
/// word, and who goes on says where.
pub(super) async fn make(
    store: &dyn SessionStore,
    id: &SessionId,
    title: String,
    created_at: Timestamp,
    root: &MessageTree,
    records: impl Iterator<Item = Record>,
) -> Result<Made, ImportError> {
    let mut tally = Tally::new(id, created_at);
    let all = std::iter::once(Record::Entry(root.root_entry())).chain(records);
    let kept: Vec<Kept> = all.map(|record| tally.add(id, record)).collect::<Result<_, _>>()?;
    let header = Header {
        id: id.clone(),
        title,
        tags: BTreeSet::new(),
        archived: false,
        workspace: None,
        created_at,
        head: tally.head,
        records: tally.seq,
        nodes: tally.nodes,
        digest: Some(tally.digest),
    };
    let mut rows = kept.into_iter().map(Ok);
    match store.restore(Restoring::new(header, &mut rows)).await {
        Ok(_) => Ok(Made::New),
        Err(ImportError::Store { source }) if matches!(*source, StoreError::SessionExists { .. }) => {
            Ok(Made::There)
        }
        Err(error) => Err(error),
    }
}
