//! Taking back what was applied: a proposal of its own, which is decided like any other.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;
use trunkline_resolve_queue::{
    Actor, ActorKind, CallRef, Fingerprint, Offer, ProposalId, QueueError, RuleVerdict, State as At,
};

use crate::acts::asked::Asked;
use crate::acts::chain::Chain;
use crate::acts::expire::limit_time;
use crate::acts::named::named;
use crate::acts::plan::Plan;
use crate::acts::question::Pause;
use crate::acts::recover::kept_of;
use crate::acts::view::View;
use crate::rules::{hooks, judging};
use crate::words::call::{Kept, Proposal};

/// Stages what takes an applied proposal back, as far as that was not done yet. Returns its name.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn take_back(view: &View<'_>, asked: &mut Asked<'_>, id: ProposalId) -> Result<Plan<ProposalId>, Pause> {
    let no = |why: String| QueueError::NoUndo { id, why };
    let queue = &view.state.resolve.queue;
    // What can be said without the bytes is said first.
    queue.undo(id, Value::Null)?;
    if view.state.resolve.foreign.is_some_and(|foreign| id <= foreign) {
        return Err(no("it was applied elsewhere, before the session was brought here".to_owned()).into());
    }
    let Some(mut entry) = queue.get(id).cloned() else { return Err(no("there is none".to_owned()).into()) };
    let undone = queue.iter().filter(|undo| undo.proposal.undo_of == Some(id) && undo.state == At::Applied);
    let (mut by, mut back) = (Vec::new(), BTreeSet::new());
    for undo in undone {
        by.push(undo.id.to_string());
        back.extend(undo.part().map(str::to_owned));
    }
    let in_part = !back.is_empty();
    // As if only the rest had been done: neither the tool nor the files know of what was taken back.
    entry.left_out.extend(back);
    if !by.is_empty() && entry.part().next().is_none() {
        return Err(no(format!("{} took it back", by.join(", "))).into());
    }
    let source = &entry.proposal.source_tool;
    if !view.has_executor(&entry.proposal) {
        return Err(no(format!("its tool {source:?} is not here")).into());
    }
    let Some(kept) = kept_of(view, asked, &entry)? else {
        return Err(no("the bytes that it wrote over are not in the session".to_owned()).into());
    };
    let rest = |fingerprint: &Fingerprint| !entry.left_out.contains(&fingerprint.subject);
    let kept: Arc<[Kept]> = match kept.iter().all(|kept| rest(&kept.fingerprint)) {
        true => kept,
        false => kept.iter().filter(|kept| rest(&kept.fingerprint)).cloned().collect(),
    };
    let Some((payload, preview)) = asked.undo(&entry, kept)? else {
        return Err(no(format!("its tool {source:?} cannot take it back")).into());
    };
    let mut undo: Proposal = queue.undo(id, payload.clone())?;
    undo.fingerprints.retain(rest);
    undo.after.retain(rest);
    if in_part {
        undo.label.push_str(&format!(
            " (only {}; {} took back the others)",
            named(entry.part()),
            by.join(", ")
        ));
    }
    undo.preview = preview.clone();
    undo.proposed_by = Actor::new(ActorKind::Person, "");
    // It belongs to where the conversation is now: whoever leaves that leaves it.
    undo.call = Some(CallRef { node: view.state.tree.head().to_string(), call_id: String::new() });
    limit_time(&mut undo, view.at, view.setup.expire_after);
    undo.hears_end = hooks::hears_end(view.state, view.setup, &undo);
    let rules = &view.state.resolve.rules;
    let written: Vec<&str> = undo.written().collect();
    let judgement = rules.judge_proposal(&undo, &written, view.at.0);
    if judgement.verdict == RuleVerdict::Deny {
        // What may not be done takes the place of nothing that waits.
        let why = judging::ruling(rules, &judgement).map(|ruling| ruling.reason);
        return Err(no(why.unwrap_or_else(|| "rules forbid it".to_owned())).into());
    }
    let (label, model_decides) = (undo.label.clone(), undo.deciders.contains(&ActorKind::Model));
    let (new, events) = match queue.offer(undo, view.at.0)? {
        Offer::Staged { id, events } => (id, events),
        Offer::NothingToDo { .. } => return Err(no("it has changed nothing".to_owned()).into()),
    };
    let mut chain = Chain::of(view.state);
    events.into_iter().try_for_each(|event| chain.push(Ok(event)))?;
    if model_decides {
        let text = format!("A person asks to {label}: that is staged as {new}. Nothing is written yet.");
        chain.records.extend(view.telling(&text)?);
    }
    Ok(Plan::of(chain.records).then(new))
}
