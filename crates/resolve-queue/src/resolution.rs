//! What a resolution is about, and what is told of it.
//!
//! A resolution may name a proposal. One that names none has to mean something all the same, and always the same thing.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::resolve_tool::{Action, Resolution};
use crate::{Actor, ActorKind, ChoiceQueue, Entry, ProposalId, Queue, QueueError};

/// What a discard is told that finds nothing; it is no error.
pub const NOTHING_TO_DISCARD: &str = "Nothing to discard; no pending action remains.";

/// What a custom tool is told that stages an action where this layer is off.
pub const STORE_UNAVAILABLE: &str = "Pending action store unavailable for custom tools in this runtime.";

/// What a resolution is about.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "whoever resolves has to answer each of these")]
pub enum Target<'a> {
    /// A proposal.
    Proposal(ProposalId),
    /// No proposal waits, and this is what resolutions go to then.
    Standing(&'a StandingHandler),
    /// Nothing waits, and nothing was to be done: answer [`NOTHING_TO_DISCARD`].
    Nothing,
}

/// A long-lived approval flow, such as the approval of a plan, that resolutions go to while no proposal waits.
///
/// Data, like a proposal: its executor is found by its name. Who keeps it across restarts is the caller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StandingHandler {
    /// The name by which its executor is found.
    pub name: String,
    /// One line for people: what is being approved.
    pub label: String,
    /// Who may apply through it. By default a person; the harness never may.
    pub deciders: Vec<ActorKind>,
    /// Whatever it wants to find again beside the resolution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

/// What is told of a resolution beside its text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ResolutionDetails {
    /// What was wanted.
    pub action: Action,
    /// Why.
    pub reason: String,
    /// What was handed to the executor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<Map<String, Value>>,
    /// Which proposal it was about; none for a standing handler.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposal: Option<ProposalId>,
    /// Who had staged it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_tool: Option<String>,
    /// What it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// What its tool wanted to find again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

impl StandingHandler {
    /// A flow through which only a person may apply.
    pub fn new(name: impl Into<String>, label: impl Into<String>) -> Self {
        let deciders = vec![ActorKind::Person];
        StandingHandler { name: name.into(), label: label.into(), deciders, details: None }
    }

    /// Whether this actor may do that. Anybody may decline; nobody is authorised by being alone.
    pub fn permits(&self, action: Action, by: &Actor) -> bool {
        action == Action::Discard || (by.kind != ActorKind::Harness && self.deciders.contains(&by.kind))
    }
}

impl<P> Queue<P> {
    /// Says what a resolution is about.
    ///
    /// The proposal that it names, settled or not. Without a name: the one in flight in the tool-choice queue if it still
    /// waits; then the oldest that waits for a first decision and that `by` may approve; then the oldest such that failed;
    /// then the standing handler; then the oldest that waits for somebody else, so that `by` is told so.
    ///
    /// # Errors
    ///
    /// [`QueueError::UnknownProposal`] for a name that names nothing; [`QueueError::NothingPending`] if something should be
    /// applied and nothing waits.
    pub fn target<'a>(
        &self,
        resolution: &Resolution,
        by: ActorKind,
        choices: Option<&ChoiceQueue>,
        standing: Option<&'a StandingHandler>,
    ) -> Result<Target<'a>, QueueError> {
        if let Some(id) = resolution.id {
            return self.known(id).map(|entry| Target::Proposal(entry.id));
        }
        let in_flight = choices.and_then(ChoiceQueue::proposal_in_flight).and_then(|id| self.get(id));
        let failed = || self.unsettled().filter(|entry| entry.awaits_decision());
        let own = in_flight
            .filter(|entry| entry.awaits_decision())
            .or_else(|| self.pending().find(|entry| entry.may_approve(by)))
            .or_else(|| failed().find(|entry| entry.may_approve(by)));
        match (own, standing, failed().next()) {
            (Some(entry), _, _) | (None, None, Some(entry)) => Ok(Target::Proposal(entry.id)),
            (None, Some(standing), _) => Ok(Target::Standing(standing)),
            (None, None, None) if resolution.action == Action::Discard => Ok(Target::Nothing),
            (None, None, None) => Err(QueueError::NothingPending),
        }
    }
}

impl ResolutionDetails {
    /// What is told of a resolution of a proposal.
    pub fn of<P>(resolution: &Resolution, entry: &Entry<P>) -> Self {
        ResolutionDetails {
            proposal: Some(entry.id),
            source_tool: Some(entry.proposal.source_tool.clone()),
            label: Some(entry.proposal.label.clone()),
            details: entry.proposal.details.clone(),
            ..Self::bare(resolution)
        }
    }

    /// What is told of a resolution that went to a standing handler.
    pub fn of_standing(resolution: &Resolution, standing: &StandingHandler) -> Self {
        ResolutionDetails {
            source_tool: Some(standing.name.clone()),
            label: Some(standing.label.clone()),
            details: standing.details.clone(),
            ..Self::bare(resolution)
        }
    }

    fn bare(resolution: &Resolution) -> Self {
        ResolutionDetails {
            action: resolution.action,
            reason: resolution.reason.clone(),
            extra: resolution.extra.clone(),
            proposal: None,
            source_tool: None,
            label: None,
            details: None,
        }
    }
}
