//! Taking back what was applied, as a proposal of its own.
//!
//! What it would write is what the apply had written over. It is offered, decided and applied like any other, and begins
//! only if everything is still as that apply left it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use trunkline_resolve_queue::{
    Actor, ActorKind, CallRef, Fingerprint, Offer, Proposal, ProposalId, QueueError, RuleVerdict, State as At,
};
use trunkline_session_store::{InboxId, Letter};

use crate::applying::named;
use crate::layers::resolve::rules;
use crate::proposals::{Chain, refused};
use crate::{RuntimeError, Session, contained, letters};

pub(crate) const TAKE_BACK: &str = "take_back";

/// The body of a letter that asks for it.
#[derive(Serialize, Deserialize)]
pub(crate) struct TakeBack {
    proposal: ProposalId,
}

impl TakeBack {
    pub(crate) fn of(proposal: ProposalId) -> Self {
        TakeBack { proposal }
    }
}

impl Session {
    /// Offers to take back what an applied proposal did. Returns the proposal that would do it, which waits to be decided like
    /// any other. What wrote to the same files since and waits is put aside for it. Where a part was taken back already, it
    /// is the undo of the rest.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Refused`] if it was not applied, or not here; if it did more than files show; if what it wrote over was
    /// not kept; if its tool is not there or cannot take it back; if all of it was taken back; if a rule forbids it.
    /// [`RuntimeError::Store`];
    /// [`RuntimeError::TakenOver`].
    pub async fn take_back(&mut self, id: ProposalId) -> Result<ProposalId, RuntimeError> {
        self.catch_up().await?;
        self.take_back_for(id, None).await
    }

    pub(crate) async fn take_back_letter(&mut self, letter: &Letter) -> Result<(), RuntimeError> {
        let TakeBack { proposal } = letters::body(letter)?;
        self.take_back_for(proposal, Some(letter.id)).await.map(drop)
    }

    async fn take_back_for(
        &mut self,
        id: ProposalId,
        letter: Option<InboxId>,
    ) -> Result<ProposalId, RuntimeError> {
        self.load_whole().await?;
        let no = |why: String| refused(QueueError::NoUndo { id, why });
        let queue = &self.state.resolve.queue;
        // What can be said without the bytes is said first.
        queue.undo(id, Value::Null).map_err(refused)?;
        if self.state.resolve.foreign.is_some_and(|foreign| id <= foreign) {
            return Err(no("it was applied elsewhere, before the session was brought here".to_owned()));
        }
        let Some(mut entry) = queue.get(id).cloned() else { return Err(no("there is none".to_owned())) };
        let undone =
            queue.iter().filter(|undo| undo.proposal.undo_of == Some(id) && undo.state == At::Applied);
        let (mut by, mut back) = (Vec::new(), BTreeSet::new());
        for undo in undone {
            by.push(undo.id.to_string());
            back.extend(undo.part().map(str::to_owned));
        }
        let in_part = !back.is_empty();
        // As if only the rest had been done: neither the tool nor the files know of what was taken back.
        entry.left_out.extend(back);
        if !by.is_empty() && entry.part().next().is_none() {
            return Err(no(format!("{} took it back", by.join(", "))));
        }
        let source = &entry.proposal.source_tool;
        let Some(tool) = self.executor_of(&entry.proposal) else {
            return Err(no(format!("its tool {source:?} is not here")));
        };
        let Some(mut kept) = self.kept(&entry).await? else {
            return Err(no("the bytes that it wrote over are not in the session".to_owned()));
        };
        let rest = |fingerprint: &Fingerprint| !entry.left_out.contains(&fingerprint.subject);
        kept.retain(|kept| rest(&kept.fingerprint));
        let Some((payload, preview)) = contained::undo(tool.as_ref(), &entry, &kept).await else {
            return Err(no(format!("its tool {source:?} cannot take it back")));
        };
        let at = self.settings().now();
        let mut undo: Proposal<Value> = self.state.resolve.queue.undo(id, payload).map_err(refused)?;
        undo.fingerprints.retain(rest);
        undo.after.retain(rest);
        if in_part {
            undo.label.push_str(&format!(
                " (only {}; {} took back the others)",
                named(entry.part()),
                by.join(", ")
            ));
        }
        undo.preview = preview;
        undo.proposed_by = Actor::new(ActorKind::Person, "");
        // It belongs to where the conversation is now: whoever leaves that leaves it.
        undo.call = Some(CallRef { node: self.state.tree.head().to_string(), call_id: String::new() });
        self.limit_time(&mut undo, at);
        let rules = &self.state.resolve.rules;
        let judgement = rules::judge_edit(rules, &undo, &rules::written(&undo), at);
        if judgement.verdict == RuleVerdict::Deny {
            // What may not be done takes the place of nothing that waits.
            let why = rules::ruling(rules, &judgement).map(|ruling| ruling.reason);
            return Err(no(why.unwrap_or_else(|| "rules forbid it".to_owned())));
        }
        let (label, model_decides) = (undo.label.clone(), undo.deciders.contains(&ActorKind::Model));
        let (new, events) = match self.state.resolve.queue.offer(undo, at.0).map_err(refused)? {
            Offer::Staged { id, events } => (id, events),
            Offer::NothingToDo { .. } => return Err(no("it has changed nothing".to_owned())),
        };
        let mut chain = Chain::new(self);
        events.into_iter().try_for_each(|event| chain.push(Ok(event)))?;
        if model_decides {
            let text = format!("A person asks to {label}: that is staged as {new}. Nothing is written yet.");
            chain.records.extend(self.telling(&text)?);
        }
        self.commit(chain.records, letter).await?;
        Ok(new)
    }
}
