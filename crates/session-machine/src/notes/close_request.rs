//! What is recorded of a model's requests to end its run: the request as it was made, and that it was approved.
//!
//! The request stands in the payload of its proposal, whose events say who decided on it, when and why. An approval has a note of its
//! own beside that event: it says what the run is closed as, with the words if a person has changed them. The end of the run follows
//! from that note, so a process that dies behind it has lost nothing.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use trunkline_message_tree::Timestamp;
use trunkline_resolve_queue::{Actor, ProposalId};
use trunkline_session_store::Record;

use crate::notes::record;
use crate::notes::resolve::LAYER;
use crate::words::call::{CallPlace, Proposal};
use crate::words::close_as::CloseAs;

/// A request to end a run was approved.
pub(crate) const APPROVED: &str = "close_approved";

/// The tool whose proposals are such requests.
pub(crate) const TOOL: &str = "request_decision";

/// How a model asks for the end of its run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CloseRequest {
    /// The run.
    pub run: String,
    /// What it is to end as, in the model's words.
    pub close: CloseAs,
}

/// A request was approved: the run is to end so, where the call that asked for it stands on the trunk.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ApprovedNote {
    pub(crate) proposal: ProposalId,
    pub(crate) call: CallPlace,
    pub(crate) run: String,
    /// What counts: the request, or what a person has made of it.
    pub(crate) close: CloseAs,
    /// Whether a person has changed the words.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) edited: bool,
    /// Who approved it.
    pub(crate) by: Actor,
    /// Of a retry: its number in the row of those that a model has asked for, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) in_a_row: Option<u32>,
}

impl CloseRequest {
    pub(crate) fn new(run: String, close: CloseAs) -> Self {
        CloseRequest { run, close }
    }

    /// Reads the request that a proposal holds; `None` if it holds none. What a tool has staged is none, whatever it looks like.
    pub fn of_proposal(proposal: &Proposal) -> Option<Self> {
        if proposal.source_tool != TOOL || proposal.staged_by.is_some() {
            return None;
        }
        proposal.payload.get("request").and_then(|request| CloseRequest::deserialize(request).ok())
    }

    /// Returns the payload of the proposal of this request.
    pub(crate) fn payload(&self) -> Value {
        json!({ "tool": TOOL, "request": self })
    }
}

/// Returns whether a look at a session tells what notes of a kind say.
pub fn is_told(kind: &str) -> bool {
    kind == APPROVED
}

/// Returns the record that a request was approved.
pub(crate) fn approved(note: &ApprovedNote, at: Timestamp) -> Record {
    record::note(LAYER, APPROVED, at, note)
}
