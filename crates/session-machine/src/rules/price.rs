//! What a revert was to cost, and whether the provider's cache did what was expected.
//!
//! Nothing is remembered: which request is the first one after a revert follows from the tree.

use trunkline_message_tree::{Message, MoveId, NodeId, Role, Timestamp};
use trunkline_revert::Expected;
use trunkline_session_store::Record;

use crate::notes;
use crate::notes::revert::CacheMissNote;
use crate::state::State;

/// Returns the record of a miss, if the reply that comes to stand at `node` is the first one after a revert and its
/// prompt was read less from the cache than was expected.
///
/// A reply of another model says nothing; of a change of tools or of a cache that expired nothing is known, so those are
/// misses too.
pub(crate) fn missed(state: &State, reply: &Message, node: NodeId, at: Timestamp) -> Option<Record> {
    let (head_move, expected) = awaited(state, reply)?;
    let miss = expected.check(&reply.usage?)?;
    Some(notes::revert::missed(&CacheMissNote { head_move, node, miss }, at))
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
