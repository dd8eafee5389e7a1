//! What people decide: on one proposal or on several, and ahead, by rules.
//!
//! A decision and the rules that are given with it are one batch. An answer that comes too late, or to the wrong question,
//! is an error that says what was decided first.

use trunkline_message_tree::Timestamp;
use trunkline_resolve_queue::{
    Actor, ActorKind, Answer, Entry, Event as QueueEvent, Judgement, ProposalId, QueueError, Rule, RuleError,
    RuleId, RuleVerdict, Ruling, Verb, Verdict,
};
use trunkline_session_store::{InboxId, Record};

use crate::layers::resolve::{self, note, rules};
use crate::proposals::{Chain, refused};
use crate::{Cancel, RuntimeError, Said, Session, Stop, journal, letters};

/// What became of each of several decisions.
type Decided = Vec<(ProposalId, Result<(), RuntimeError>)>;

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
        let (records, decided) = self.decided(&ids, said, None).await?;
        self.commit(records, None).await?;
        Ok(decided)
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
        by_person(&rule)?;
        let event = self.state.resolve.rules.add(rule, self.settings().now().0)?;
        self.commit(vec![rules::note(&event)], letter).await?;
        Ok(event.rule)
    }

    pub(crate) async fn revoke_rule_for(
        &mut self,
        id: RuleId,
        reason: &str,
        letter: Option<InboxId>,
    ) -> Result<(), RuntimeError> {
        let person = Actor::new(ActorKind::Person, "");
        let event = self.state.resolve.rules.revoke(id, person, reason, self.settings().now().0)?;
        self.commit(vec![rules::note(&event)], letter).await
    }

    /// Brings the rules that the agent keeps outside of sessions into this one. An agent that was given none leaves those
    /// of another as they are: that nobody spoke of rules is no reason to loosen any.
    pub(crate) async fn adopt_rules(&mut self) -> Result<(), RuntimeError> {
        let Some(kept) = &self.settings().rules else { return Ok(()) };
        let part = &self.state.resolve;
        let agent = Actor::new(ActorKind::Policy, "agent");
        let events = part.rules.adopt(&rules::wanted_here(part, kept), &agent, self.settings().now().0)?;
        self.commit(events.iter().map(rules::note).collect(), None).await
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
        let (mut records, decided) = self.decided(&[id], said, seen).await?;
        for (_, result) in decided {
            result?;
        }
        if let Some(letter) = letter.filter(|_| records.is_empty()) {
            records.push(journal::letter_taken(letter, letters::VERDICT, self.settings().now()));
        }
        self.commit(records, letter).await
    }

    /// Returns the records of a person's decision on several proposals, and what becomes of each.
    async fn decided(
        &self,
        ids: &[ProposalId],
        said: &Said,
        seen: Option<u32>,
    ) -> Result<(Vec<Record>, Decided), RuntimeError> {
        let at = self.settings().now();
        let person = Actor::new(ActorKind::Person, said.name.clone());
        let mut ruling = Ruling::new(said.verdict, person.clone(), said.reason.clone());
        (ruling.only, ruling.seen) = (said.only.clone(), seen);
        let mut chain = Chain::of(&self.state);
        let mut told = Vec::new();
        let mut decided: Decided = Vec::new();
        let queue = &self.state.resolve.queue;
        for (id, answer) in queue.decide_each(ids.iter().copied(), &ruling, at.0) {
            if let (Ok(Answer::New(event)), Some(entry)) = (&answer, queue.get(id)) {
                let part = &self.state.resolve;
                if said.verdict == Verdict::Approve
                    && let Some(reason) = rules::forbidden(part, &chain.rules, entry, &said.only, at)
                {
                    decided.push((id, Err(RuntimeError::Refused { reason })));
                    continue;
                }
                let judgement = rules::judge(part, &chain.rules, entry, at);
                chain.push(Ok(event.clone()))?;
                chain.use_asking(id, &judgement, at)?;
                if said.verdict == Verdict::Discard && self.state.resolve.gated_call(id).is_none() {
                    let words = self.discard_words(&chain.queue, id).await;
                    told.push(format!("A person declined {id}. {words}"));
                }
            }
            decided.push((id, answer.map(drop).map_err(refused)));
        }
        decided.sort_by_key(|(id, _)| *id);
        if decided.iter().any(|(_, result)| result.is_ok()) {
            for rule in &said.rules {
                by_person(rule)?;
                let mut rule = rule.clone();
                if rule.given_by.name.is_empty() {
                    rule.given_by = person.clone();
                }
                // Said twice it is one rule.
                if !chain.rules.iter().any(|standing| standing.counts(at.0) && standing.rule == rule) {
                    chain.push_rule(chain.rules.add(rule, at.0))?;
                }
            }
        }
        if !told.is_empty() {
            chain.records.extend(self.telling(&told.join("\n"))?);
        }
        Ok((chain.records, decided))
    }

    /// Decides what the rules, or a policy that approves everything, decide without asking.
    pub(crate) async fn decide_ahead(&mut self, id: ProposalId) -> Result<(), RuntimeError> {
        let at = self.settings().now();
        let part = &self.state.resolve;
        let Some(entry) = part.queue.get(id) else { return Ok(()) };
        let judgement = rules::judge(part, &part.rules, entry, at);
        let turn = rules::turn_of(&self.settings().setup.resolve, part, entry, at);
        let mut chain = Chain::of(&self.state);
        match turn {
            // Nobody decides on it any more.
            _ if entry.is_past(at.0) => chain.push(chain.queue.expire(id, at.0))?,
            rules::Turn::Approve if judgement.rules.is_empty() => {
                let always = Actor::new(ActorKind::Policy, "always");
                chain.decide(id, Ruling::new(Verdict::Approve, always, ""), at)?;
            }
            rules::Turn::Approve | rules::Turn::Forbid => {
                let why = chain.rule_on(id, &judgement, at)?;
                if turn == rules::Turn::Forbid && part.gated_call(id).is_none() {
                    let text = format!("{id} ({}) was discarded: {why}.", entry.proposal.label);
                    chain.records.extend(self.telling(&text)?);
                }
            }
            // The time of a rule may just have passed.
            _ => {}
        }
        self.commit(chain.records, None).await
    }

    /// Returns the records of an approval by the model, if it may still give it.
    pub(crate) fn ruled(
        &self,
        id: ProposalId,
        event: QueueEvent<serde_json::Value>,
        at: Timestamp,
    ) -> Result<Vec<Record>, RuntimeError> {
        let part = &self.state.resolve;
        let Some(entry) = part.queue.get(id) else { return Ok(Vec::new()) };
        let judgement = rules::judge(part, &part.rules, entry, at);
        if !rules::may_model(&self.settings().setup.resolve, part, entry, at) {
            let by = Actor::new(ActorKind::Model, "");
            let may = judgement.deciders.into_iter().filter(|kind| *kind != ActorKind::Model).collect();
            return Err(refused(QueueError::NotPermitted { id, by, verb: Verb::Approve, may }));
        }
        let mut chain = Chain::of(&self.state);
        chain.push(Ok(event))?;
        chain.use_asking(id, &judgement, at)?;
        Ok(chain.records)
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
            self.close_question(&entry).await?;
            return Ok(Some(Stop::Waiting(waiting)));
        };
        match self.take_verdict(entry.id, &said, Some(entry.put_aside), None).await {
            Ok(()) => Ok(None),
            // They thought too long. It is not theirs to decide any more, and the drive goes on without it.
            Err(RuntimeError::Proposal(QueueError::Expired { id, .. })) => {
                let at = self.settings().now();
                let event = self.state.resolve.queue.expire(id, at.0).map_err(refused)?;
                self.commit(vec![note(&event)], None).await.map(|()| None)
            }
            Err(fault) => Err(fault),
        }
    }

    /// Notes that a person was asked and did not answer: once, however often they are asked again.
    async fn close_question(&mut self, entry: &Entry<serde_json::Value>) -> Result<(), RuntimeError> {
        if entry.unanswered.is_some() {
            return Ok(());
        }
        let at = self.settings().now();
        let person = Actor::new(ActorKind::Person, "");
        let closed = self.state.resolve.queue.cancel(entry.id, person, "closed without an answer", at.0);
        // What is neither proposed nor failed was only shown, and nobody needs to answer.
        match closed {
            Ok(event) => self.commit(vec![note(&event)], None).await,
            Err(_) => Ok(()),
        }
    }
}

impl Chain {
    /// Notes that a rule which asks was what let somebody decide. What allows has no part in what somebody decides all the
    /// same, and nor has what forbids: it lets nobody approve, and discarding needs no leave.
    fn use_asking(
        &mut self,
        id: ProposalId,
        judgement: &Judgement,
        at: Timestamp,
    ) -> Result<(), RuntimeError> {
        match judgement.verdict {
            RuleVerdict::Ask => self.use_rules(id, judgement, at),
            RuleVerdict::Allow | RuleVerdict::Deny => Ok(()),
        }
    }

    /// Takes back every rule that came along from elsewhere: whoever gave it did not give it here.
    pub(crate) fn void_rules(&mut self, at: Timestamp) -> Result<(), RuntimeError> {
        let import = Actor::new(ActorKind::Policy, resolve::IMPORT);
        for id in rules::standing(&self.rules) {
            self.push_rule(self.rules.revoke(id, import.clone(), "it was not given here", at.0))?;
        }
        Ok(())
    }
}

fn by_person(rule: &Rule) -> Result<(), RuntimeError> {
    match rule.given_by.kind {
        ActorKind::Person => Ok(()),
        _ => Err(RuleError::NotPermitted { by: rule.given_by.clone() }.into()),
    }
}
