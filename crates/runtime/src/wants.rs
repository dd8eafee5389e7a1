//! Asks again where a service said what it wants otherwise. What is learned is planned in [`acts`](trunkline_session_machine::acts::service).

use crate::Session;
use trunkline_session_machine::RuntimeError;
use trunkline_session_machine::acts::service::{Learned, learn, note_asked, shrink};

impl Session {
    /// Notes whom the next request goes to, where that was named by its address and is news.
    pub(crate) async fn note_asked(&mut self) -> Result<(), RuntimeError> {
        let plan = note_asked(&self.view(), self.settings().url.as_deref());
        self.write(plan, None).await
    }

    /// After a list that was too long and cannot be summed up: takes the window for so small that the largest result is cut, and
    /// returns whether that is news.
    pub(crate) async fn shrink(&mut self, fault: &RuntimeError) -> Result<bool, RuntimeError> {
        let RuntimeError::Provider(fault) = fault else { return Ok(false) };
        let plan = shrink(&self.view(), fault, self.cuts);
        let shrunk = self.write(plan, None).await?;
        self.cuts += u8::from(shrunk);
        Ok(shrunk)
    }

    /// After a request that was refused: notes what the service wants otherwise, if it said so, and returns whether it can be
    /// asked again. What was learned in vain is dropped.
    pub(crate) async fn learn(&mut self, fault: &RuntimeError) -> Result<bool, RuntimeError> {
        let RuntimeError::Provider(fault) = fault else { return Ok(false) };
        let plan = learn(&self.view(), fault, &self.on_trial);
        match self.write(plan, None).await? {
            Learned::Wants(mut learned) => {
                self.on_trial.append(&mut learned);
                return Ok(true);
            }
            Learned::Nothing { forgets: true } => self.on_trial.clear(),
            Learned::Nothing { .. } => {}
        }
        Ok(false)
    }
}
