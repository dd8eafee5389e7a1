//! What the next request is held to, and what calls of the `resolve` tool mean.
//!
//! The tool-choice queue is stored whole whenever it has changed, in one batch with what it says: the reminder before a
//! request, the reply after it.

use serde::{Deserialize, Serialize};
use trunkline_message_tree::{NodeId, Timestamp};
use trunkline_resolve_queue::{Attempt, ChoiceQueue, Policy, ProposalId, ResolutionDetails};
use trunkline_session_store::Record;

use crate::notes::record;
use crate::notes::resolve::LAYER;
use crate::words::call::CallPlace;

pub(crate) const CHOICES: &str = "choices";
pub(crate) const RESOLVING: &str = "resolving";

/// The queue as it became, with what belongs to that.
#[derive(Serialize, Deserialize)]
pub(crate) struct ChoicesNote {
    pub(crate) queue: ChoiceQueue,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reminder: Option<Reminded>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) held: Option<HeldTurn>,
    /// How the model is brought to decide from here on, if a person has said so. The policy of the queue is the one that counted when it was
    /// recorded, which may be an agent's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) policy: Option<Policy>,
}

/// The message that reminded of these.
#[derive(Serialize, Deserialize)]
pub(crate) struct Reminded {
    pub(crate) node: NodeId,
    pub(crate) about: Vec<Attempt>,
}

/// What the reply at this node was held to: what a call in it means that names no proposal.
#[derive(Serialize, Deserialize)]
pub(crate) struct HeldTurn {
    pub(crate) node: NodeId,
    pub(crate) proposal: ProposalId,
}

/// What a call of the tool means, settled before anything is done for it: a process that carries it on after a kill
/// must not find another proposal to be the oldest by then.
#[derive(Serialize, Deserialize)]
pub(crate) struct ResolvingNote {
    pub(crate) call: CallPlace,
    pub(crate) details: ResolutionDetails,
}

/// Returns the record of the queue as it became.
pub(crate) fn note(
    queue: ChoiceQueue,
    reminder: Option<Reminded>,
    held: Option<HeldTurn>,
    at: Timestamp,
) -> Record {
    record::note(LAYER, CHOICES, at, &ChoicesNote { queue, reminder, held, policy: None })
}

/// Returns the record of how the model is brought to decide from here on.
pub(crate) fn stored(queue: ChoiceQueue, policy: Policy, at: Timestamp) -> Record {
    let note = ChoicesNote { queue, reminder: None, held: None, policy: Some(policy) };
    record::note(LAYER, CHOICES, at, &note)
}

/// Returns the record of what a call means.
pub fn resolving(call: &CallPlace, details: ResolutionDetails, at: Timestamp) -> Record {
    record::note(LAYER, RESOLVING, at, &ResolvingNote { call: call.clone(), details })
}
