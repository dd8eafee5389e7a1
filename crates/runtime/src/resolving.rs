//! Does what calls of the `resolve` tool mean. What is recorded of it is planned in [`acts`](crate::acts::resolve).

use std::time::Duration;

use trunkline_message_tree::Part;
use trunkline_resolve_queue::resolve_tool::{self, Resolution};
use trunkline_resolve_queue::{Actor, ActorKind, ProposalId, ResolutionDetails};

use crate::acts::Plan;
use crate::acts::resolve::{Next, OUTCOME_UNKNOWN, answer, carry_on, resolve, take_up};
use crate::acts::stage::stage;
use crate::{CallPlace, Cancel, RuntimeError, Session, ToolOutput, choices, contained};

/// How long a standing handler may take to stop by itself once the turn is cancelled.
const GRACE: Duration = Duration::from_secs(5);

impl Session {
    /// Carries out a model's own decision.
    pub(crate) async fn resolve_call(
        &mut self,
        place: &CallPlace,
        arguments: &str,
        cancel: &Cancel,
    ) -> Result<(), RuntimeError> {
        // Somebody began with it and died.
        let next = match take_up(&self.view(), place) {
            Some(plan) => self.write(plan, None).await?,
            None => match resolve_tool::parse_arguments(arguments) {
                Err(fault) => {
                    let plan = answer(&self.view(), place, fault.to_string());
                    self.write(plan, None).await?
                }
                Ok(asked) => {
                    self.load_proposals(asked.id.as_slice()).await?;
                    self.perform(|view, _| resolve(view, place, &asked)).await?
                }
            },
        };
        match next {
            Next::Done => Ok(()),
            Next::CarryOn(id) => self.carry_on(id, place).await,
            Next::Standing(asked) => self.resolve_standing(place, asked, cancel).await,
        }
    }

    /// Does what a call was decided to mean.
    async fn carry_on(&mut self, id: ProposalId, place: &CallPlace) -> Result<(), RuntimeError> {
        match self.perform(|view, asked| carry_on(view, asked, id, place)).await? {
            true => self.apply(id, Some(place)).await,
            false => Ok(()),
        }
    }

    async fn resolve_standing(
        &mut self,
        place: &CallPlace,
        asked: Resolution,
        cancel: &Cancel,
    ) -> Result<(), RuntimeError> {
        let handler = self.settings().setup.choices.standing.as_ref();
        let Some((handler, standing)) = handler.zip(self.settings().standing.as_ref()) else { return Ok(()) };
        let (handler, standing) = (handler.clone(), standing.clone());
        let model = Actor::new(ActorKind::Model, "");
        if !handler.permits(asked.action, &model) {
            let may: Vec<String> = handler.deciders.iter().map(ToString::to_string).collect();
            let words = format!("model may not approve {:?}; may: {}", handler.label, may.join(", "));
            let plan = answer(&self.view(), place, words);
            return self.write(plan, None).await.map(drop);
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
            () = cut_off => (ToolOutput::error(OUTCOME_UNKNOWN), false),
        };
        let ToolOutput { mut content, is_error, proposals, .. } = output;
        let (records, told) = stage(&self.view(), proposals, place)?;
        content.extend(told.map(Part::text));
        let mut plan = Plan::of(records);
        plan.finish(place, (content, is_error), Some(details), self.settings().now());
        self.write(plan, None).await?;
        if ended {
            self.look_after().await?;
        }
        Ok(())
    }
}
