//! What people are asked, and what they say. What is recorded of it is planned in [`acts`](trunkline_session_machine::acts::decide).

use trunkline_resolve_queue::{ProposalId, QueueError, Rule, RuleId, Verdict};
use trunkline_session_store::InboxId;

use crate::{Cancel, Session, Stop, letters};
use trunkline_session_machine::acts::decide::{self, Decided};
use trunkline_session_machine::acts::expire::expire_alone;
use trunkline_session_machine::acts::{Asked, View};
use trunkline_session_machine::{RuntimeError, Said};

impl Session {
    /// Decides on a proposal as a person. What it leads to happens in the next drive.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Proposal`] if there is no such proposal, or it was decided otherwise, or it cannot be decided now;
    /// [`RuntimeError::Refused`] for an approval of what a rule forbids, which has to be taken back first;
    /// [`RuntimeError::Store`]; [`RuntimeError::TakenOver`].
    pub async fn decide(
        &mut self,
        id: ProposalId,
        verdict: Verdict,
        reason: &str,
    ) -> Result<(), RuntimeError> {
        self.decide_with(id, Said::new(verdict, reason)).await
    }

    /// Like [`decide`](Session::decide), with all that a person can say to it.
    ///
    /// # Errors
    ///
    /// Those of [`decide`](Session::decide), also for a part that there is not; [`RuntimeError::Rule`] for a rule that
    /// was not given by a person. Then nothing of it is recorded.
    pub async fn decide_with(&mut self, id: ProposalId, said: Said) -> Result<(), RuntimeError> {
        self.catch_up().await?;
        self.take_verdict(id, &said, None, None).await
    }

    /// Says the same to several proposals, in one batch: to these, or with `None` to all that wait for a decision or
    /// failed. Each gets its own result, by id; what is refused of one is no reason to refuse the others. Rules that are
    /// given with it are recorded once, if any of them was decided.
    ///
    /// # Errors
    ///
    /// Those of [`decide_with`](Session::decide_with) that are not about one proposal.
    pub async fn decide_all(
        &mut self,
        ids: Option<&[ProposalId]>,
        said: &Said,
    ) -> Result<Decided, RuntimeError> {
        self.catch_up().await?;
        let waits = self.state.resolve.queue.iter().filter(|entry| entry.awaits_decision());
        let ids = ids.map_or_else(|| waits.map(|entry| entry.id).collect(), <[ProposalId]>::to_vec);
        self.load_proposals(&ids).await?;
        self.perform(|view, asked| decide::decide_each(view, asked, &ids, (said, None))).await
    }

    /// Gives a rule as a person: it decides from the next step on, also on what waits.
    ///
    /// One of the scope always is the caller's to keep, in [`AgentBuilder::rules`](crate::AgentBuilder::rules): an agent that
    /// keeps rules, but not this one, drops it when it opens the session.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Rule`] unless [`Rule::given_by`] is a person; [`RuntimeError::Store`];
    /// [`RuntimeError::TakenOver`].
    pub async fn give_rule(&mut self, rule: Rule) -> Result<RuleId, RuntimeError> {
        self.catch_up().await?;
        self.give_rule_for(rule, None).await
    }

    /// Takes a rule back as a person. What it decided stays decided. One that the agent keeps outside of sessions does not
    /// come back into this one by itself.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Rule`] if there is no such rule or it does not count any more; [`RuntimeError::Store`];
    /// [`RuntimeError::TakenOver`].
    pub async fn revoke_rule(&mut self, id: RuleId, reason: &str) -> Result<(), RuntimeError> {
        self.catch_up().await?;
        self.revoke_rule_for(id, reason, None).await
    }

    pub(crate) async fn give_rule_for(
        &mut self,
        rule: Rule,
        letter: Option<InboxId>,
    ) -> Result<RuleId, RuntimeError> {
        self.perform_for(letter, |view, _| decide::give_rule(view, &rule)).await
    }

    pub(crate) async fn revoke_rule_for(
        &mut self,
        id: RuleId,
        reason: &str,
        letter: Option<InboxId>,
    ) -> Result<(), RuntimeError> {
        self.perform_for(letter, |view, _| decide::revoke_rule(view, id, reason)).await
    }

    /// Brings the rules that the agent keeps outside of sessions into this one. An agent that was given none leaves those
    /// of another as they are: that nobody spoke of rules is no reason to loosen any.
    pub(crate) async fn adopt_rules(&mut self) -> Result<(), RuntimeError> {
        let Some(kept) = self.settings().rules.clone() else { return Ok(()) };
        self.perform(|view, _| decide::adopt_rules(view, &kept)).await
    }

    /// Reads everything if one of these is not in memory: it may have been settled long ago.
    pub(crate) async fn load_proposals(&mut self, ids: &[ProposalId]) -> Result<(), RuntimeError> {
        match ids.iter().all(|id| self.state.resolve.queue.get(*id).is_some()) {
            true => Ok(()),
            false => self.load_whole().await,
        }
    }

    pub(crate) async fn take_verdict(
        &mut self,
        id: ProposalId,
        said: &Said,
        seen: Option<u32>,
        letter: Option<InboxId>,
    ) -> Result<(), RuntimeError> {
        self.load_proposals(&[id]).await?;
        let act =
            |view: &View<'_>, asked: &mut Asked<'_>| decide::decide(view, asked, id, (said, seen), letter);
        self.perform_for(letter, act).await
    }

    /// Asks a person about the first of these, unless a letter comes after `seen`. Returns why the drive stops if nothing was
    /// decided.
    pub(crate) async fn ask_person(
        &mut self,
        waiting: Vec<ProposalId>,
        seen: Option<InboxId>,
        cancel: &Cancel,
    ) -> Result<Option<Stop>, RuntimeError> {
        let entry = waiting.first().and_then(|id| self.state.resolve.queue.get(*id)).cloned();
        let (Some(decider), Some(entry)) = (self.settings().decider.clone(), entry) else {
            return Ok(Some(Stop::Waiting(waiting)));
        };
        let decided = tokio::select! {
            biased;
            () = cancel.cancelled() => return Ok(Some(Stop::Cancelled)),
            // Somebody else may decide in another terminal meanwhile; the loop reads the letter.
            arrived = letters::arrived(self.store.as_ref(), self.lease.session(), self.lease.token(), seen) => {
                return arrived.map(|()| None).map_err(|by| self.lost(by));
            }
            // What nobody may decide any more nobody is asked.
            () = self.until_past(&entry) => return Ok(None),
            decided = decider.decide(&entry) => decided,
        };
        let Some(said) = decided else {
            self.perform(|view, _| decide::close_question(view, &entry)).await?;
            return Ok(Some(Stop::Waiting(waiting)));
        };
        match self.take_verdict(entry.id, &said, Some(entry.put_aside), None).await {
            Ok(()) => Ok(None),
            // They thought too long. It is not theirs to decide any more, and the drive goes on without it.
            Err(RuntimeError::Proposal(QueueError::Expired { id, .. })) => {
                self.perform(|view, _| expire_alone(view, id)).await.map(|()| None)
            }
            Err(fault) => Err(fault),
        }
    }
}
