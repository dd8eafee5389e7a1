//! Reading what happened in a session without what was said.
//!
//! The spine says where every node stands. Of the rest only the moves are read, and the notes that a reader is told of: what
//! calls gave back, which is most of a log, stands in nodes and again in the notes of its calls, and neither is read, but for the
//! calls of a turn that is not over.

use std::cmp::min;

use trunkline_message_tree::{Author, BareNode, Entry, Link, Node, NodeId, Role};
use trunkline_session_store::{Record, SessionId, SessionInfo, SessionStore, Spine, StoreError};

use trunkline_session_machine::RuntimeError;
use trunkline_session_machine::notes::{
    close_request, decision, journal, plan, resolve, revert, service, task, tree,
};
use trunkline_session_machine::state::State;

/// How much of the spine is read at once.
const PAGE: u64 = 16 * 1024;

/// How many messages are read at once.
const MESSAGES: usize = 1024;

/// Folds a log as it was when this was said of it. Returns the numbers of the records that are nodes with it.
pub(crate) async fn state_of(
    store: &dyn SessionStore,
    info: &SessionInfo,
) -> Result<(State, Vec<u64>), RuntimeError> {
    let session = &info.id;
    let first = store.records(session, &[1]).await?;
    let first = first.first().map(|kept| kept.record(session)).transpose()?;
    let mut state = State::begin(first.as_ref())?;
    let mut places = vec![1];
    // What is recorded of calls since the last message: they may have no results yet.
    let mut of_calls = Vec::new();
    while state.seq < info.records {
        let limit = min(info.records - state.seq, PAGE);
        let page = store.spine(session, state.seq, usize::try_from(limit).unwrap_or(usize::MAX)).await?;
        if page.is_empty() {
            return Err(bad(session, state.seq + 1, "it is missing".to_owned()));
        }
        let told = page.iter().filter(|(_, spine)| is_told(spine)).map(|(seq, _)| *seq);
        let mut told = store.records(session, &told.collect::<Vec<_>>()).await?.into_iter();
        for (seq, spine) in page {
            if seq != state.seq + 1 {
                return Err(bad(session, state.seq + 1, format!("record {seq} stands in its place")));
            }
            match spine {
                spine if is_told(&spine) => {
                    let kept = told.next().filter(|kept| kept.seq == seq);
                    let kept = kept.ok_or_else(|| bad(session, seq, "it is missing".to_owned()))?;
                    state.record(&kept.record(session)?)?;
                }
                // Who wrote it is part of what was said. This is what a fold passes over.
                Spine::Node { id, parent: Some(parent), at, link } => {
                    if matches!(link, Link::Next | Link::Merge { .. }) {
                        of_calls.clear();
                    }
                    let (role, author) = (Role::User, Author::Harness);
                    state.record_bare(BareNode { id, parent, at, link, role, author })?;
                    places.push(seq);
                }
                Spine::Node { .. } => return Err(bad(session, seq, "it is a second root".to_owned())),
                Spine::Note { .. } if is_of_call(&spine) => of_calls.push(seq),
                Spine::Move { .. } | Spine::Note { .. } | Spine::Blob { .. } => {}
            }
            state.seq = seq;
        }
    }
    for kept in store.records(session, &of_calls).await? {
        state.record(&kept.record(session)?)?;
    }
    state.seq = info.records;
    Ok((state, places))
}

/// Reads the messages of nodes that are bare.
pub(crate) async fn fill(
    state: &mut State,
    store: &dyn SessionStore,
    (session, places): (&SessionId, &[u64]),
    nodes: &[NodeId],
) -> Result<(), RuntimeError> {
    let mut bare: Vec<NodeId> = Vec::new();
    for id in nodes {
        if state.tree.node(*id)?.is_bare() {
            bare.push(*id);
        }
    }
    // Their numbers grow as their names do.
    bare.sort_unstable();
    bare.dedup();
    for part in bare.chunks(MESSAGES) {
        let numbers: Vec<u64> = part.iter().filter_map(|id| places.get(id.index()).copied()).collect();
        for kept in store.records(session, &numbers).await? {
            match kept.record(session)? {
                Record::Entry(Entry::Node { id, message, .. })
                    if places.get(id.index()) == Some(&kept.seq) =>
                {
                    state.tree.fill(id, message)?;
                }
                _ => return Err(bad(session, kept.seq, "it is not the node that it was".to_owned())),
            }
        }
        if let Some(missing) = part.iter().find(|id| state.tree.node(**id).is_ok_and(Node::is_bare)) {
            let seq = places.get(missing.index()).copied().unwrap_or_default();
            return Err(bad(session, seq, "it is missing".to_owned()));
        }
    }
    Ok(())
}

/// Returns whether a record tells that a call began or ended.
fn is_of_call(spine: &Spine) -> bool {
    let Spine::Note { layer, kind, .. } = spine else { return false };
    layer == journal::LAYER && [journal::CALL_STARTED, journal::CALL_FINISHED].contains(&kind.as_str())
}

/// Returns whether a reader is told of a record that is not a node.
fn is_told(spine: &Spine) -> bool {
    match spine {
        Spine::Node { .. } | Spine::Blob { .. } => false,
        Spine::Move { .. } => true,
        Spine::Note { layer, kind, .. } => match (layer.as_str(), kind.as_str()) {
            (journal::LAYER, service::ASKED | journal::TOOL_LABEL) | (tree::TREE, tree::NAME) => true,
            (revert::LAYER, kind) => revert::is_told(kind),
            (resolve::LAYER, kind) => {
                resolve::is_told(kind) || plan::is_told(kind) || close_request::is_told(kind)
            }
            (decision::LAYER, kind) => decision::is_told(kind) || task::is_told(kind),
            _ => false,
        },
    }
}

fn bad(session: &SessionId, seq: u64, reason: String) -> RuntimeError {
    StoreError::BadRecord { session: session.clone(), seq, reason }.into()
}
