//! What an attempt left behind that never reported its end: looked up in the files, put back if it is half done.
//!
//! After it the world is whole before or whole after, or nobody can say: then the model is told, and nothing is done again.
//! Whatever is killed in here is done again by the next one, from what is recorded.

use serde_json::Value;
use trunkline_message_tree::Timestamp;
use trunkline_resolve_queue::{
    Attempt, Entry, Fingerprint, Lease, Observation, Outcome, ProposalId, State as At, Supersession,
};
use trunkline_session_store::InboxId;

use crate::applying::{NOBODY_LOOKED, discarded, on_one_line};
use crate::layers::resolve::{self, harness, note};
use crate::proposals::{Chain, refused};
use crate::tenure::LEASE_MS;
use crate::{Event, Kept, RuntimeError, Session, Tool, contained, letters};

/// What is known of whoever began an attempt.
enum Holder {
    /// Can write no more, although the lease stands.
    Gone,
    /// The lease is over, at this time at the latest.
    Lapsed(Timestamp),
    /// May still write.
    Alive(Lease),
}

/// How an attempt is settled for somebody else.
#[derive(Clone, Copy)]
struct Sight {
    fenced: bool,
    at: Timestamp,
    /// Whether anything may be put back: the approval, and the bytes, were given here.
    trusted: bool,
}

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
        self.expire_due().await?;
        self.tell_untold().await?;
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
        let at = self.settings().now();
        let Some(lease) = entry.lease.clone().filter(|lease| lease.stands(at.0)) else {
            return Holder::Lapsed(at);
        };
        let alone = self.tenure.is_alone() && !self.state.resolve.is_standing(entry.attempt());
        if alone || lease.holder == self.writer() {
            return Holder::Gone;
        }
        // Nobody has renewed it since this one writes, so it is over by then, whatever their clock or ours says.
        match self.tenure.is_settled() {
            true => Holder::Lapsed(Timestamp(lease.until)),
            false => Holder::Alive(lease),
        }
    }

    async fn settle_attempt(&mut self, id: ProposalId, sight: Sight) -> Result<(), RuntimeError> {
        let Some(entry) = self.state.resolve.queue.get(id) else { return Ok(()) };
        let mut entry = entry.clone();
        let gated = self.state.resolve.gated_call(id).is_some();
        let cut_off = entry.state == At::Applying;
        let Sight { mut fenced, at, trusted } = sight;
        let mut observed = if gated { None } else { self.look_twice(&entry).await };
        if cut_off
            && trusted
            && let Some(seen) = &observed
        {
            let tool = self.executor_of(&entry.proposal);
            let kept = self.half_done(&entry, seen, false).await?;
            if let (Some(tool), Some(kept)) = (tool, kept) {
                observed = self.put_back(&entry, tool.as_ref(), &kept, (fenced, at)).await?;
                // What has to be ended now is our own attempt to tidy up.
                fenced = true;
                entry = self.state.resolve.queue.get(id).cloned().unwrap_or(entry);
            }
        }
        let observation = observed.as_ref().map_or(Observation::Unclear, |observed| entry.observe(observed));
        let mut chain = Chain::new(self);
        let recovered = match cut_off && fenced {
            true => chain.queue.recover_fenced(id, observation, harness(), at.0),
            false => chain.queue.recover(id, observation, harness(), at.0),
        };
        chain.push(recovered)?;
        let is = |chain: &Chain, state| chain.queue.get(id).is_some_and(|entry| entry.state == state);
        if is(&chain, At::Unknown) {
            // Nobody can find out more: it must not be done again, and the model has to know.
            chain.push(chain.queue.recover(id, Observation::Unclear, harness(), at.0))?;
        }
        if let (At::Approved | At::Failed, true) = (
            chain.queue.get(id).map_or(At::Applied, |entry| entry.state),
            resolve::is_left(&self.state.tree, &entry.proposal),
        ) {
            // In flight it could not be put aside when its branch was left.
            let cause = Supersession::BranchLeft { by: LEFT_MEANWHILE.to_owned() };
            chain.push(chain.queue.supersede(id, cause, at.0))?;
        }
        let label = &entry.proposal.label;
        if is(&chain, At::Applied) {
            let when = if cut_off { "before the program ended" } else { "after all" };
            chain.records.extend(self.telling(&format!("{id} ({label}) was applied {when}."))?);
        } else if is(&chain, At::Stale) {
            let found = observed.as_ref().map(|observed| Left::of(&entry, observed));
            let disturbed = found.as_ref().and_then(Left::disturbed);
            // People read the reason, the model the message.
            let why = disturbed.as_deref().unwrap_or("its outcome is unknown");
            let past = chain.queue.get(id).is_some_and(|entry| entry.is_past(at.0));
            match past {
                true => chain.push(chain.queue.expire(id, at.0))?,
                false => chain.push(discarded(&chain.queue, id, why, at))?,
            }
            let found = match &found {
                Some(left) if !left.unseen => disturbed.unwrap_or_else(|| left.told()),
                _ => NOBODY_LOOKED.to_owned(),
            };
            if !gated {
                let text = format!(
                    "{id} ({label}) was cut off while it was applied, and {found}. It is dropped; look at the files before \
                     you go on."
                );
                chain.records.extend(self.telling(&text)?);
            }
        }
        self.commit(chain.records, None).await
    }

    /// Says what an attempt that did not end well is, once what it left half done is put back.
    pub(crate) async fn clear_up(
        &mut self,
        entry: &Entry<Value>,
        tool: &dyn Tool,
        outcome: Outcome,
    ) -> Result<(Attempt, Outcome), RuntimeError> {
        let (Outcome::Failed { reason } | Outcome::Unknown { reason }) = &outcome else {
            return Ok((entry.attempt(), outcome));
        };
        if entry.preimages.is_empty() {
            return Ok((entry.attempt(), outcome));
        }
        let Some(observed) = self.look_twice(entry).await else { return Ok((entry.attempt(), outcome)) };
        // What is said to have failed is not done, also if all of it was written.
        let failed = matches!(outcome, Outcome::Failed { .. });
        let Some(kept) = self.half_done(entry, &observed, failed).await? else {
            return Ok((entry.attempt(), outcome));
        };
        let at = self.settings().now();
        let observed = self.put_back(entry, tool, &kept, (true, at)).await?;
        let Some(entry) = self.state.resolve.queue.get(entry.id) else {
            return Ok((entry.attempt(), outcome));
        };
        let left = observed.as_ref().map(|observed| Left::of(entry, observed));
        let outcome = match (left.as_ref().map(Left::is_before), left.as_ref().and_then(Left::disturbed)) {
            (Some(true), _) => {
                Outcome::Failed { reason: format!("{reason}; what it had written was put back") }
            }
            (_, Some(disturbed)) => {
                let reason = format!("{reason}; {disturbed}");
                // Nothing of it is left. Approved again it is compared first, and not applied to what changed.
                match failed && left.is_some_and(|left| left.after.is_empty()) {
                    true => Outcome::Failed { reason },
                    false => Outcome::Unknown { reason },
                }
            }
            _ => Outcome::Unknown { reason: format!("{reason}; some of it was written, and not put back") },
        };
        Ok((entry.attempt(), outcome))
    }

    /// Returns what was there before an attempt whose traces have to go, as far as they are its own; `None` if there are none
    /// or they have to stay.
    ///
    /// They go if it was cut off between two files, or behind the last one if that counts too; and if somebody else has
    /// written to one of its files since: then all of it can never be there, so nothing of it is left behind, not even
    /// what lies ready beside files that were not reached.
    async fn half_done(
        &self,
        entry: &Entry<Value>,
        observed: &[Fingerprint],
        failed: bool,
    ) -> Result<Option<Vec<Kept>>, RuntimeError> {
        let left = Left::of(entry, observed);
        let (begun, disturbed) = (!left.after.is_empty(), !left.foreign.is_empty());
        let tidy = match failed {
            // A tool that could say so has cleared up behind itself, but for what it has written.
            true => begun,
            // Not all is as after although all that it changes is: somebody else has written to a file that it was to
            // leave as it was.
            false => disturbed || (begun && entry.observe(observed) != Observation::After),
        };
        // Putting files back undoes nothing of what does not show in files, and nobody knows what it would undo in those
        // that could not be looked at.
        let shows = entry.proposal.effect.shows_in_fingerprints();
        if !tidy || left.unseen || !shows || entry.preimages.is_empty() {
            return Ok(None);
        }
        let Some(kept) = self.kept(entry).await? else { return Ok(None) };
        let has = |subject: &String| kept.iter().any(|kept| kept.fingerprint.subject == *subject);
        Ok((disturbed || left.after.iter().all(has)).then_some(kept))
    }

    /// Reads what the latest attempt at a proposal wrote over; `None` if not all of it can be had.
    pub(crate) async fn kept(&self, entry: &Entry<Value>) -> Result<Option<Vec<Kept>>, RuntimeError> {
        let Some(named) = self.state.resolve.preimages.of(entry) else { return Ok(None) };
        let mut kept = Vec::new();
        for (fingerprint, digest) in named {
            let bytes = match digest {
                None => None,
                Some(digest) => match self.store.blob(self.lease.session(), &digest).await? {
                    Some(bytes) => Some(bytes),
                    None => return Ok(None),
                },
            };
            kept.push(Kept { fingerprint, bytes });
        }
        Ok(Some(kept))
    }

    /// Looks, and once more if the tool crashes at that: what it finds decides whether files stay half written.
    async fn look_twice(&self, entry: &Entry<Value>) -> Option<Vec<Fingerprint>> {
        match self.look(&entry.proposal).await {
            None => self.look(&entry.proposal).await,
            observed => observed,
        }
    }

    /// Takes an attempt over and lets its tool put back what was there. Returns how everything is then.
    async fn put_back(
        &mut self,
        entry: &Entry<Value>,
        tool: &dyn Tool,
        kept: &[Kept],
        (fenced, at): (bool, Timestamp),
    ) -> Result<Option<Vec<Fingerprint>>, RuntimeError> {
        let queue = &self.state.resolve.queue;
        let lease = Lease { holder: self.writer(), until: at.0.saturating_add(LEASE_MS) };
        let taken = match fenced {
            true => queue.take_over_fenced(entry.id, lease, at.0),
            false => queue.take_over(entry.id, lease, at.0),
        };
        self.commit(vec![note(&taken.map_err(refused)?)], None).await?;
        let Some(entry) = self.state.resolve.queue.get(entry.id).cloned() else { return Ok(None) };
        let mut observed = None;
        for _ in 0..TRIES {
            // What the tool says of it does not count as much as what is there.
            let _ = contained::put_back(tool, &entry, kept).await;
            observed = self.look_twice(&entry).await;
            let done = |observed| {
                let left = Left::of(&entry, observed);
                !left.unseen && left.after.is_empty()
            };
            if observed.as_deref().is_some_and(done) {
                break;
            }
        }
        Ok(observed)
    }

    /// Puts aside for good whatever waits or could come back: neither its preview nor its approval was made here.
    pub(crate) async fn take_distrust(&mut self, letter: InboxId) -> Result<(), RuntimeError> {
        self.distrust_rollback().await?;
        let at = self.settings().now();
        let mut chain = Chain::new(self);
        let waiting: Vec<(ProposalId, At)> =
            chain.queue.unsettled().map(|entry| (entry.id, entry.state)).collect();
        let mut dropped = Vec::new();
        for (id, state) in waiting {
            if state == At::Applying {
                // What was in flight has been looked up before, unless somebody may be at it still.
                chain.push(chain.queue.recover_fenced(id, Observation::Unclear, harness(), at.0))?;
            }
            if matches!(state, At::Applying | At::Unknown) {
                // Looked up in the files it could only be offered again.
                chain.push(chain.queue.recover(id, Observation::Unclear, harness(), at.0))?;
            }
            let cause = Supersession::BranchLeft { by: resolve::IMPORT.to_owned() };
            if let Ok(event) = chain.queue.supersede(id, cause, at.0) {
                chain.push(Ok(event))?;
                dropped.push(id.to_string());
            }
        }
        if !dropped.is_empty() {
            let text = format!(
                "This session was brought here from elsewhere. What waited there is dropped: {}. Propose it again if it is \
                 still wanted.",
                dropped.join(", ")
            );
            chain.records.extend(self.telling(&text)?);
        }
        chain.void_rules(at)?;
        let mut records = chain.records;
        records.push(resolve::distrusted(letter, at));
        // What is different from now on is what the run does here. Where nobody can look, its end says so.
        if self.state.decision.is_open()
            && let Ok(start) = self.base().await
        {
            records.push(crate::layers::decision::based(&start, at));
        }
        self.commit(records, Some(letter)).await
    }
}

/// What an attempt has left of what it writes.
struct Left {
    /// Neither as before nor as after: whoever wrote it, it was not this attempt.
    foreign: Vec<String>,
    after: Vec<String>,
    before: Vec<String>,
    /// Whether something was not looked at. Then it is not known to be anybody's.
    unseen: bool,
}

impl Left {
    fn of(entry: &Entry<Value>, observed: &[Fingerprint]) -> Self {
        let (mut foreign, mut after, mut before) = (Vec::new(), Vec::new(), Vec::new());
        let mut unseen = false;
        for trace in entry.traces(observed) {
            unseen |= !observed.iter().any(|found| found.subject == trace.subject);
            match trace.found {
                Observation::Before => before.push(trace.subject),
                Observation::After => after.push(trace.subject),
                Observation::Unclear => foreign.push(trace.subject),
            }
        }
        Left { foreign, after, before, unseen }
    }

    fn is_before(&self) -> bool {
        self.foreign.is_empty() && self.after.is_empty() && !self.before.is_empty()
    }

    /// Says what somebody else has written, and how the rest is; `None` if nobody has.
    fn disturbed(&self) -> Option<String> {
        if self.unseen || self.foreign.is_empty() {
            return None;
        }
        let mut words = format!(
            "somebody else has written to {} meanwhile, which was left as it is",
            shortened(self.foreign.iter())
        );
        if !self.after.is_empty() {
            words.push_str(&format!("; still as after, and not put back: {}", shortened(self.after.iter())));
        }
        match (self.before.is_empty(), self.after.is_empty()) {
            (true, _) => {}
            (false, true) => words.push_str("; everything else is as before"),
            (false, false) => words.push_str("; the others are as before"),
        }
        Some(words)
    }

    /// Says how files are of which some are as before and others as after.
    fn told(&self) -> String {
        let text = "the files are neither as before nor as after";
        let after = self.after.iter().map(|subject| format!("{} as after", on_one_line(subject)));
        let before = self.before.iter().map(|subject| format!("{} as before", on_one_line(subject)));
        let named: Vec<String> = after.chain(before).collect();
        if named.is_empty() { text.to_owned() } else { format!("{text} ({})", shortened(named.iter())) }
    }
}

/// Names what there is, up to a number.
fn shortened<'a>(names: impl ExactSizeIterator<Item = &'a String>) -> String {
    let more = names.len().saturating_sub(MOST_NAMED);
    let named: Vec<String> = names.take(MOST_NAMED).map(|name| on_one_line(name)).collect();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", named.join(", "))
}

/// What put aside what was in flight when its branch was left.
pub(crate) const LEFT_MEANWHILE: &str = "a move while it was applied";

/// How often a tool is asked to put back what it left half done, if that does not help.
const TRIES: usize = 2;

/// How many files are named to the model.
const MOST_NAMED: usize = 20;
