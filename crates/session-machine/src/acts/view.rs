//! What an act looks at: the session, what its agent is set up to do, and the time.

use trunkline_message_tree::{Author, Content, Message, Part, Role, Timestamp};
use trunkline_resolve_queue::{Lease, ProposalId};
use trunkline_session_store::Record;

use crate::acts::plan::Plan;
use crate::acts::question::Pause;
use crate::notes::record::entries;
use crate::notes::resolve::untold_with;
use crate::request::live;
use crate::request::prefixes::binds_reasoning;
use crate::rules::executors;
use crate::setup::Setup;
use crate::state::State;
use crate::words::call::{CallPlace, Proposal};
use crate::words::error::RuntimeError;
use crate::words::lease::LEASE_MS;

/// What an act looks at.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// The session.
    pub state: &'a State,
    /// What its agent is set up to do.
    pub setup: &'a Setup,
    /// The token of the session's writer.
    pub token: u64,
    /// When the act is called this time.
    pub at: Timestamp,
    /// When it was called first: of what a person decided then, that is the time.
    pub began: Timestamp,
}

impl<'a> View<'a> {
    /// Returns what an act looks at that is called first now, in a session that has one writer.
    pub fn new(state: &'a State, setup: &'a Setup, at: Timestamp) -> Self {
        View { state, setup, token: 1, at, began: at }
    }
}

impl View<'_> {
    /// Returns the records of words to the model. While its turn is open there is no place for them, and none at a head at which nothing goes
    /// on by itself, since words there would be something to go on from: they are told afterwards.
    pub(crate) fn telling(&self, text: &str) -> Result<Vec<Record>, RuntimeError> {
        self.telling_with(text, Vec::new())
    }

    /// Does the same for words with which a tool shows something: of these parts the texts are in the words.
    pub(crate) fn telling_with(&self, text: &str, mut parts: Vec<Part>) -> Result<Vec<Record>, RuntimeError> {
        parts.retain(|part| matches!(part, Part::Image(_) | Part::Document(_)));
        if self.state.open_turn().is_some() || self.state.decision.rests(self.state.tree.head()) {
            return Ok(vec![untold_with(text, parts, self.at)]);
        }
        self.saying_with(text, parts)
    }

    /// Returns the trunk with notes and marks, as a model is sent it.
    pub fn rendered(&self) -> Vec<Message> {
        let (state, setup) = (self.state, self.setup);
        live::rendered(&setup.revert, binds_reasoning(state, setup), &state.tree, &state.revert)
    }

    pub(crate) fn saying(&self, text: &str) -> Result<Vec<Record>, RuntimeError> {
        self.saying_with(text, Vec::new())
    }

    /// Returns the records of words with which something is shown.
    pub(crate) fn saying_with(&self, text: &str, parts: Vec<Part>) -> Result<Vec<Record>, RuntimeError> {
        let mut draft = self.state.tree.draft();
        draft.append(said(text, parts), self.at)?;
        Ok(entries(draft))
    }

    /// Whether the time of a proposal is over and nobody has noted it.
    pub(super) fn is_past(&self, id: ProposalId) -> bool {
        self.state.resolve.queue.due(self.at.0).any(|entry| entry.id == id)
    }

    pub(super) fn has_executor(&self, proposal: &Proposal) -> bool {
        executors::executor_of(self.state, &self.setup.catalogue, proposal).is_some()
    }

    /// Returns what the session's writer is called in a lease.
    pub(super) fn writer(&self) -> String {
        format!("writer {}", self.token)
    }

    pub(super) fn lease(&self, from: Timestamp) -> Lease {
        Lease { holder: self.writer(), until: from.0.saturating_add(LEASE_MS) }
    }

    /// Returns the plan that records something together with what the model is told of it: in the result of a call, or in a
    /// message.
    pub(super) fn report(
        &self,
        records: Vec<Record>,
        call: Option<&CallPlace>,
        text: String,
        is_error: bool,
    ) -> Result<Plan, Pause> {
        let mut plan = Plan::of(records);
        match call {
            Some(place) => {
                let meant = self.state.resolve.choices.meant(place).cloned();
                plan.finish(place, (vec![Part::text(text)], is_error), meant, self.at);
            }
            None => plan.records.extend(self.telling(&text)?),
        }
        Ok(plan)
    }
}

/// Returns words of the harness with which something is shown.
pub(super) fn said(text: &str, parts: Vec<Part>) -> Message {
    let shown = parts.into_iter().filter_map(|part| match part {
        Part::Image(media) => Some(Content::Image(media)),
        Part::Document(media) => Some(Content::Document(media)),
        _ => None,
    });
    let content = std::iter::once(Content::text(text)).chain(shown).collect();
    Message::new(Role::User, Author::Harness, content)
}
