//! What an attempt left behind that never reported its end: when that is looked up, and by whom.

use serde_json::Value;
use trunkline_resolve_queue::{Entry, ProposalId};
use trunkline_session_store::InboxId;

use crate::{Session, letters};
use trunkline_session_machine::acts::recover::{Holder, Sight, holder_of, settle, settle_tidied};
use trunkline_session_machine::layers::resolve;
use trunkline_session_machine::{Event, RuntimeError, acts};

impl Session {
    /// Settles what a dead process left in the middle of an apply. What one that may be alive is doing is left to it: the
    /// next drive waits.
    pub(crate) async fn recover(&mut self) -> Result<(), RuntimeError> {
        let interrupted: Vec<Entry<Value>> = self.state.resolve.queue.interrupted().cloned().collect();
        if interrupted.is_empty() {
            return Ok(());
        }
        let inbox = self.store.inbox(self.lease.session()).await?;
        // Neither the approval nor the bytes of an import were seen by anybody here, and whoever applied it there writes
        // nothing here.
        let trusted = !inbox.iter().any(|letter| letter.kind == letters::DISTRUST);
        for entry in interrupted {
            let holder = if trusted { self.holder_of(&entry) } else { Holder::Gone };
            let sight = match holder {
                Holder::Gone => Sight { fenced: true, at: self.settings().now(), trusted },
                Holder::Lapsed(at) => Sight { fenced: false, at, trusted },
                Holder::Alive(_) => {
                    // Whoever comes next finds nobody who writes the session, and must know that somebody writes the files.
                    if !self.state.resolve.is_standing(entry.attempt()) {
                        let standing = resolve::standing(entry.attempt(), self.settings().now());
                        self.commit(vec![standing], None).await?;
                    }
                    continue;
                }
            };
            self.settle_attempt(entry.id, sight).await?;
        }
        Ok(())
    }

    /// Does what no step of a turn is about: lets expire what is past its time, and finds out what became of an attempt.
    pub(crate) async fn tend_proposals(&mut self) -> Result<(), RuntimeError> {
        self.perform(|view, _| acts::expire::expire_due(view)).await?;
        if !self.state.resolve.untold.is_empty() {
            self.perform(|view, _| acts::open::tell_untold(view)).await?;
        }
        let interrupted = self.state.resolve.queue.interrupted().map(|entry| entry.id);
        let edits: Vec<ProposalId> =
            interrupted.filter(|id| self.state.resolve.gated_call(*id).is_none()).collect();
        for id in edits {
            self.look_up(id).await?;
        }
        Ok(())
    }

    /// Finds out from the files what became of an attempt that did not say. Waits for one that may be under way, unless the
    /// drive is cancelled; then nothing has changed.
    pub(crate) async fn look_up(&mut self, id: ProposalId) -> Result<(), RuntimeError> {
        let mut told = false;
        loop {
            let Some(entry) = self.state.resolve.queue.get(id) else { return Ok(()) };
            let sight = match self.holder_of(entry) {
                Holder::Gone => Sight { fenced: true, at: self.settings().now(), trusted: true },
                Holder::Lapsed(at) => Sight { fenced: false, at, trusted: true },
                Holder::Alive(lease) => {
                    if !told {
                        self.tell(&Event::AwaitingApply { attempt: entry.attempt(), lease });
                        told = true;
                    }
                    if self.wait_a_while().await? {
                        continue;
                    }
                    return Ok(());
                }
            };
            return self.settle_attempt(id, sight).await;
        }
    }

    fn holder_of(&self, entry: &Entry<Value>) -> Holder {
        holder_of(&self.view(), entry, (self.tenure.is_alone(), self.tenure.is_settled()))
    }

    async fn settle_attempt(&mut self, id: ProposalId, sight: Sight) -> Result<(), RuntimeError> {
        match self.perform(|view, asked| settle(view, asked, id, sight)).await? {
            Some(kept) => self.perform(|view, asked| settle_tidied(view, asked, (id, &kept), sight)).await,
            None => Ok(()),
        }
    }

    /// Puts aside for good whatever waits or could come back: neither its preview nor its approval was made here.
    pub(crate) async fn take_distrust(&mut self, letter: InboxId) -> Result<(), RuntimeError> {
        self.distrust_rollback().await?;
        self.perform_for(Some(letter), |view, asked| acts::recover::distrust(view, asked, letter)).await
    }
}
