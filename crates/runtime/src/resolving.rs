//! Does what calls of the `resolve` tool mean. What is recorded of it is planned in [`acts`](trunkline_session_machine::acts::resolve).

use std::time::Duration;

use trunkline_resolve_queue::ProposalId;
use trunkline_resolve_queue::resolve_tool::{self, Resolution};

use crate::{Cancel, Session, contained};
use trunkline_session_machine::acts::resolve::{
    Next, OUTCOME_UNKNOWN, answer, begin_standing, carry_on, end_standing, resolve, take_up,
};
use trunkline_session_machine::{CallPlace, RuntimeError, ToolOutput};

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
        let Some(standing) = self.settings().standing.clone() else { return Ok(()) };
        let begun = self.perform(|view, answers| begin_standing(view, answers, place, &asked)).await?;
        let Some(details) = begun else { return Ok(()) };
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
        let plan = end_standing(&self.view(), place, details, output)?;
        self.write(plan, None).await?;
        if ended {
            self.look_after().await?;
        }
        Ok(())
    }
}
