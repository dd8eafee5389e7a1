//! A call of the `resolve` tool: what it means, and what is done for it.
//!
//! What it means is recorded with the decision, before anything is done. So a call that is carried on after a kill, or that
//! comes twice, never resolves another proposal.

use std::time::Duration;

use trunkline_message_tree::Part;
use trunkline_resolve_queue::resolve_tool::{self, Action, Resolution};
use trunkline_resolve_queue::{
    Actor, ActorKind, Answer, NOTHING_TO_DISCARD, ProposalId, QueueError, ResolutionDetails, Ruling,
    State as At, Target, Verdict, discard_text,
};
use trunkline_session_store::Record;

use crate::acts::Plan;
use crate::acts::decide::ruled;
use crate::acts::stage::stage;
use crate::layers::resolve::{because, note};
use crate::{CallPlace, Cancel, RuntimeError, Session, ToolOutput};
use crate::{choices, contained};

/// How long a standing handler may take to stop by itself once the turn is cancelled.
const GRACE: Duration = Duration::from_secs(5);

const OUTCOME_UNKNOWN: &str =
    "outcome unknown: this approval was cut off before its outcome was recorded; look before you repeat it";

impl Session {
    /// Carries out a model's own decision.
    pub(crate) async fn resolve_call(
        &mut self,
        place: &CallPlace,
        arguments: &str,
        cancel: &Cancel,
    ) -> Result<(), RuntimeError> {
        if let Some(meant) = self.state.resolve.choices.meant(place).cloned() {
            // Somebody began with it and died.
            return match meant.proposal {
                Some(id) => self.carry_on(id, place).await,
                None => self.finish(Vec::new(), place, text(OUTCOME_UNKNOWN, true), Some(meant)).await,
            };
        }
        let asked = match resolve_tool::parse_arguments(arguments) {
            Ok(asked) => asked,
            Err(fault) => return self.answer_calls(vec![(place.clone(), fault.to_string())]).await,
        };
        if let Some(id) = asked.id {
            self.load_proposals(&[id]).await?;
        }
        let part = &self.state.resolve;
        let in_flight = part.choices.held(place).filter(|id| choices::may_wait(part, *id));
        let standing = self.settings().setup.choices.standing.as_ref().map(|(handler, _)| handler);
        let target = match in_flight.filter(|_| asked.id.is_none()) {
            Some(id) => Ok(Target::Proposal(id)),
            None => part.queue.target(&asked, ActorKind::Model, None, standing),
        };
        match target {
            Ok(Target::Proposal(id)) => self.resolve_proposal(id, place, asked).await,
            Ok(Target::Standing(_)) => self.resolve_standing(place, asked, cancel).await,
            Ok(Target::Nothing) => {
                self.finish(Vec::new(), place, text(NOTHING_TO_DISCARD, false), None).await
            }
            Err(fault) => self.answer_calls(vec![(place.clone(), fault.to_string())]).await,
        }
    }

    async fn resolve_proposal(
        &mut self,
        id: ProposalId,
        place: &CallPlace,
        asked: Resolution,
    ) -> Result<(), RuntimeError> {
        let queue = &self.state.resolve.queue;
        let Some(entry) = queue.get(id) else {
            return self.answer_calls(vec![(place.clone(), format!("there is no {id}"))]).await;
        };
        let at = self.settings().now();
        let details = ResolutionDetails::of(&asked, entry);
        let model = Actor::new(ActorKind::Model, "");
        match queue.decide_with(id, Ruling::of(asked, model), at.0) {
            // Approved in part by somebody else: that is done, and its words say what was left out.
            Err(QueueError::DecidedOtherwise { first, .. })
                if entry.state == At::Approved
                    && (first.verdict, details.action) == (Verdict::Approve, Action::Apply) =>
            {
                self.commit(vec![choices::resolving(place, details, at)], None).await?;
                self.carry_on(id, place).await
            }
            Err(fault) => self.answer_calls(vec![(place.clone(), fault.to_string())]).await,
            Ok(Answer::New(event)) => {
                // What it may have been allowed when that was staged, a rule may have taken from it since.
                let mut records = match details.action {
                    Action::Discard => vec![note(&event)],
                    Action::Apply => match ruled(&self.view(), id, event) {
                        Ok(records) => records,
                        Err(fault) => {
                            return self.answer_calls(vec![(place.clone(), fault.to_string())]).await;
                        }
                    },
                };
                records.push(choices::resolving(place, details, at));
                self.commit(records, None).await?;
                self.carry_on(id, place).await
            }
            // Approved by somebody else while this turn was open.
            Ok(Answer::Already(_)) if entry.state == At::Approved => {
                self.commit(vec![choices::resolving(place, details, at)], None).await?;
                self.carry_on(id, place).await
            }
            Ok(Answer::Already(_)) => {
                let result = self.standing_of(id, None);
                self.finish(Vec::new(), place, result, Some(details)).await
            }
        }
    }

    /// Does what a call was decided to mean.
    async fn carry_on(&mut self, id: ProposalId, place: &CallPlace) -> Result<(), RuntimeError> {
        let entry = self.state.resolve.queue.get(id).cloned();
        let meant = self.state.resolve.choices.meant(place).cloned();
        match (entry, meant) {
            (Some(entry), _) if entry.state == At::Approved => self.apply(id, Some(place)).await,
            (Some(entry), Some(meant)) if entry.state == At::Discarded && meant.action == Action::Discard => {
                let own = match self.executor(id) {
                    Some(tool) => contained::discarded(tool.as_ref(), &entry).await,
                    None => None,
                };
                let words = own.unwrap_or_else(|| discard_text(&entry.proposal.label, &meant.reason));
                self.finish(Vec::new(), place, text(words, false), Some(meant)).await
            }
            (_, meant) => {
                let result = self.standing_of(id, meant.as_ref().map(|meant| meant.action));
                self.finish(Vec::new(), place, result, meant).await
            }
        }
    }

    /// Says where a proposal stands that nothing is left to do for, to a call that wanted `action`.
    fn standing_of(&self, id: ProposalId, action: Option<Action>) -> ToolOutput {
        let Some(entry) = self.state.resolve.queue.get(id) else {
            return text(format!("there is no {id}"), true);
        };
        if action == Some(Action::Apply) && entry.state != At::Applied {
            let why = entry.decision.as_ref().map(|decision| decision.reason.as_str()).unwrap_or_default();
            let words = format!("{id} is {} and not applied{}", entry.state, because(why));
            return text(format!("{words}; look at the files before you go on"), true);
        }
        let settled = matches!(entry.state, At::Applied | At::Discarded);
        text(format!("{id} is {}: {}", entry.state, entry.proposal.label), !settled)
    }

    async fn resolve_standing(
        &mut self,
        place: &CallPlace,
        asked: Resolution,
        cancel: &Cancel,
    ) -> Result<(), RuntimeError> {
        let Some((handler, standing)) = &self.settings().setup.choices.standing else { return Ok(()) };
        let (handler, standing) = (handler.clone(), standing.clone());
        let model = Actor::new(ActorKind::Model, "");
        if !handler.permits(asked.action, &model) {
            let may: Vec<String> = handler.deciders.iter().map(ToString::to_string).collect();
            let words = format!("model may not approve {:?}; may: {}", handler.label, may.join(", "));
            return self.answer_calls(vec![(place.clone(), words)]).await;
        }
        let details = ResolutionDetails::of_standing(&asked, &handler);
        let at = self.settings().now();
        // It is the application's, and may write files.
        let look = self.look_before().await;
        let records = std::iter::once(choices::resolving(place, details.clone(), at)).chain(look).collect();
        self.commit(records, None).await?;
        let context = self.context(cancel.clone(), place.clone());
        let cut_off = async {
            tokio::select! {
                () = cancel.cancelled() => {}
                // The next write finds out if it is because somebody took the session over.
                _ = self.asked_to_end() => cancel.cancel(),
            }
            tokio::time::sleep(GRACE).await;
        };
        let (output, ended) = tokio::select! {
            output = contained::standing(standing.as_ref(), &asked, &context) => (output, true),
            () = cut_off => (text(OUTCOME_UNKNOWN, true), false),
        };
        let ToolOutput { mut content, is_error, proposals, .. } = output;
        let (records, told) = stage(&self.view(), proposals, place)?;
        content.extend(told.map(Part::text));
        let mut output = text(String::new(), is_error);
        output.content = content;
        self.finish(records, place, output, Some(details)).await?;
        if ended {
            self.look_after().await?;
        }
        Ok(())
    }

    /// Records a call's result in one batch with what led to it, and with what the call meant.
    async fn finish(
        &mut self,
        records: Vec<Record>,
        place: &CallPlace,
        output: ToolOutput,
        details: Option<ResolutionDetails>,
    ) -> Result<(), RuntimeError> {
        let mut plan = Plan::of(records);
        plan.finish(place, (output.content, output.is_error), details, self.settings().now());
        self.write(plan, None).await
    }
}

fn text(words: impl Into<String>, is_error: bool) -> ToolOutput {
    ToolOutput { is_error, ..ToolOutput::text(words) }
}
