//! What a revert was to cost, and whether the provider's cache did what was expected.
//!
//! Nothing is remembered: which request is the first one after a revert follows from the tree.

use serde::{Deserialize, Serialize};
use trunkline_message_tree::{Message, MoveId, NodeId, Role, Timestamp};
use trunkline_revert::{CacheMiss, Expected};
use trunkline_session_store::{Note as StoredNote, Record};

use super::{CACHE_MISS, LAYER};
use crate::state::State;
use crate::{Event, journal};

/// What is kept of a miss.
#[derive(Serialize, Deserialize)]
struct CacheMissNote {
    /// The revert after which it was.
    #[serde(rename = "move")]
    head_move: MoveId,
    /// The message that brought the usage.
    node: NodeId,
    #[serde(flatten)]
    miss: CacheMiss,
}

/// Returns the record of a miss, if the reply that comes to stand at `node` is the first one after a revert and its
/// prompt was read less from the cache than was expected.
///
/// A reply of another model says nothing; of a change of tools or of a cache that expired nothing is known, so those are
/// misses too.
pub(crate) fn missed(state: &State, reply: &Message, node: NodeId, at: Timestamp) -> Option<Record> {
    let (head_move, expected) = awaited(state, reply)?;
    let miss = expected.check(&reply.usage?)?;
    Some(journal::note(LAYER, CACHE_MISS, at, &CacheMissNote { head_move, node, miss }))
}

/// Returns what the next request is expected to read, if the head's latest move was a revert and nobody has replied since.
fn awaited(state: &State, reply: &Message) -> Option<(MoveId, Expected)> {
    let tree = &state.tree;
    let latest = MoveId(u32::try_from(tree.moves().len().checked_sub(1)?).ok()?);
    let record = state.revert.drained.iter().rev().find(|record| record.applied)?;
    if record.move_id != Some(latest) {
        return None;
    }
    let landed = record.landed.filter(|landed| tree.is_on_trunk(*landed))?;
    let expected = record.price.as_ref()?.expected();
    let depth = tree.node(landed).ok()?.depth();
    let mut since = tree.trunk().ids().iter().skip(depth + 1).filter_map(|id| tree.node(*id).ok());
    if since.any(|node| node.message().role == Role::Assistant) {
        return None;
    }
    // A compaction or a decay since then has cost the cache already, and is recorded as that.
    let now = trunkline_revert::turn(tree);
    if state.revert.breaks.iter().rev().take_while(|lost| lost.turn >= now).any(|lost| lost.depth <= depth) {
        return None;
    }
    let left = record.abandoned.iter().rev().filter_map(|id| tree.node(*id).ok()).map(|node| node.message());
    let stays = tree.trunk().messages().rev();
    let before = left.chain(stays).find(|message| message.role == Role::Assistant);
    (before.is_some_and(|before| before.origin == reply.origin)).then_some((latest, expected))
}

/// Returns what observers are told of a recorded miss.
pub(super) fn event(note: &StoredNote) -> Option<Event> {
    let miss: CacheMissNote = serde_json::from_str(&note.body).ok()?;
    Some(Event::CacheMissed { head_move: miss.head_move, miss: miss.miss })
}
