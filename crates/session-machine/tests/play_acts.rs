//! What a play does in more than one act: an apply, a decision of the model, and what becomes of one that was cut off.

use trunkline_resolve_queue::{Outcome, ProposalId, resolve_tool};
use trunkline_session_machine::acts::apply::{self, Begun, Ended};
use trunkline_session_machine::acts::recover::{self, Sight};
use trunkline_session_machine::acts::resolve::{self, Carried, Next};
use trunkline_session_machine::{CallPlace, RuntimeError};

use crate::play::Play;

impl Play {
    pub(crate) fn look_up(&mut self, id: ProposalId, sight: Sight) -> Result<(), RuntimeError> {
        match self.perform(|view, asked| recover::settle(view, asked, id, sight))? {
            Some(kept) => self.perform(|view, asked| recover::settle_tidied(view, asked, (id, &kept), sight)),
            None => Ok(()),
        }
    }

    pub(crate) fn resolve(
        &mut self,
        place: &CallPlace,
        arguments: &str,
        cancelled: bool,
    ) -> Result<(), RuntimeError> {
        let taken_up = resolve::take_up(&self.view(), place);
        let next = match taken_up {
            Some(plan) => self.record(plan)?,
            None => match resolve_tool::parse_arguments(arguments) {
                Ok(meant) => self.perform(|view, _| resolve::resolve(view, place, &meant))?,
                Err(fault) => {
                    let plan = resolve::answer(&self.view(), place, fault.to_string());
                    self.record(plan)?
                }
            },
        };
        let Next::CarryOn(id) = next else { return Ok(()) };
        match self.perform(|view, _| resolve::carry_on(view, id, place, cancelled))? {
            Carried::Done => Ok(()),
            Carried::Apply => self.apply(id, Some(place)),
            Carried::CallHook => self.call_hook(id, Some(place)),
        }
    }

    pub(crate) fn apply(&mut self, id: ProposalId, call: Option<&CallPlace>) -> Result<(), RuntimeError> {
        if std::mem::take(&mut self.killed) {
            return Err(RuntimeError::Refused { reason: "killed".to_owned() });
        }
        let begun = self.perform(|view, asked| apply::begin(view, asked, id, call))?;
        let Begun::Attempt(attempt) = begun else { return Ok(()) };
        let (outcome, words) = match self.write(id) {
            true => (Outcome::Applied, "written"),
            false => (Outcome::Failed { reason: "the disk is full".to_owned() }, "full"),
        };
        let ended = Ended { attempt, outcome, words: words.to_owned() };
        match self.perform(|view, asked| apply::end(view, asked, &ended, call))? {
            Some(kept) => self.perform(|view, asked| apply::end_tidied(view, asked, (&ended, &kept), call)),
            None => Ok(()),
        }
    }
}
