//! A runtime without staged actions: what the machine never asks for is never done.

use trunkline_session_store::InboxId;

use crate::layers::resolve::{Asked, Id, Work};
use crate::{CallPlace, Cancel, RuntimeError, Session, Stop};

#[expect(clippy::unused_async, reason = "the layer that is there waits")]
impl Session {
    pub(crate) async fn stage_gate(&mut self, _: &CallPlace, asked: &Asked) -> Result<(), RuntimeError> {
        match *asked {}
    }

    pub(crate) async fn resolve_call(
        &mut self,
        _: &CallPlace,
        _: &str,
        _: &Cancel,
    ) -> Result<(), RuntimeError> {
        Ok(())
    }

    pub(crate) async fn tend_proposals(&mut self) -> Result<(), RuntimeError> {
        Ok(())
    }

    pub(crate) async fn work(&mut self, work: Work) -> Result<(), RuntimeError> {
        match work {}
    }

    pub(crate) async fn ask_person(
        &mut self,
        waiting: Vec<Id>,
        _: Option<InboxId>,
        _: &Cancel,
    ) -> Result<Option<Stop>, RuntimeError> {
        match waiting.into_iter().next() {
            Some(id) => match id {},
            None => Ok(Some(Stop::Idle)),
        }
    }
}
