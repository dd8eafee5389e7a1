//! What becomes of an attempt to ask the model that came to nothing: it is recorded, waited after, and made again.
//!
//! Nothing here loops over attempts of the conversation's own requests: each is a step of the turn machine, so a kill
//! between two of them changes nothing.

use std::hash::{BuildHasher, Hasher};
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};
use trunkline_message_tree::{Message, Timestamp};
use trunkline_providers::ProviderError;
use trunkline_session_store::{InboxId, Record};

use crate::attempts::{self, ATTEMPT, Attempt};
use crate::journal::entries;
use crate::{Cancel, Cause, Event, Retries, RuntimeError, Session, journal, letters};

/// How often everything else is looked after while the model is waited for: proposals whose time is over, summaries.
const TEND_EVERY: Duration = Duration::from_secs(1);
/// How often it is looked what time it is: a machine that slept has a clock that went on.
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(500);

const SAY_SOMETHING: &str = "Your last reply had no words and no tool call in it, so nothing came of it. Call a tool, or say in words what \
     you found or what keeps you from going on.";
const CALL_AGAIN: &str = "Your last reply announced a tool call, and none came that can be read, so nothing was run. Make the \
     call again, or say in words what you found or what keeps you from going on.";

/// Why an attempt came to nothing.
pub(crate) enum InVain {
    /// It failed.
    Failed(ProviderError),
    /// It ended, and brought nothing.
    Nothing(String),
}

/// What is known of an attempt beside its answer.
pub(crate) struct Asked {
    pub(crate) took: Duration,
    /// How often the provider itself has tried before.
    pub(crate) within: u32,
    /// The id of the answer, where the service makes it in the background.
    pub(crate) answer: Option<String>,
}

/// A wait before the model is asked again, in one drive.
pub(crate) struct Waiting {
    until: Timestamp,
    /// The same where no clock can be set.
    deadline: Instant,
    over: bool,
}

impl Waiting {
    /// Returns the end of the wait if this drive has waited for it.
    pub(crate) fn waited(waiting: Option<&Waiting>) -> Option<Timestamp> {
        waiting.filter(|waiting| waiting.over).map(|waiting| waiting.until)
    }
}

impl Session {
    /// Records an attempt that came to nothing, with what had come of it and what the turn makes of that. Returns the tokens
    /// that it cost if the model is to be asked again.
    pub(crate) async fn asked_in_vain(
        &mut self,
        came: Option<Message>,
        why: InVain,
        asked: &Asked,
        heard: Vec<Record>,
    ) -> Result<u64, RuntimeError> {
        let origin = self.settings().provider.origin().clone();
        let (before, spent) = self.state.tries.before(&origin);
        let attempt = before.saturating_add(asked.within).saturating_add(1);
        // The time begins with the first failure: an answer may be long in coming and worth another try.
        let spent = if before == 0 { Duration::ZERO } else { spent.saturating_add(asked.took) };
        // One that has failed is asked for once more.
        let answer = asked.answer.clone().filter(|_| match &why {
            InVain::Failed(fault) => !fault.is_in_answer(),
            InVain::Nothing(_) => false,
        });
        // How often it was looked for says nothing of how often it was made.
        let was_fetched = self.state.tries.answer(&origin, self.state.tree.head()).is_some();
        let failed = if was_fetched && answer.is_none() { 1 } else { attempt };
        // What is fetched is not made again.
        let ran_tools = answer.is_none() && came.as_ref().is_some_and(attempts::ran_tools);
        let (cause, words, wait) = match &why {
            InVain::Failed(fault) => {
                let retries = self.retries(fault);
                let retries = if answer.is_some() { retries.of_fetching() } else { retries };
                let wait = retries.wait(failed, fault, chance(), spent).filter(|_| !ran_tools);
                (Cause::of(fault), fault.to_string(), wait)
            }
            InVain::Nothing(words) => {
                let again = !self.state.tries.told_nothing() && self.settings().retries.times > 0;
                let wait = (again && !ran_tools).then_some(Duration::ZERO);
                (Cause::Nothing, words.clone(), wait)
            }
        };
        let (mut tokens, mut estimated) = (0, false);
        let came = came.map(|mut message| {
            // What is fetched later is paid once, and counted then.
            if cause != Cause::Nothing && answer.is_none() {
                let (usage, guessed) = attempts::completed(message.usage, &self.kept.sent, &message);
                (message.usage, estimated) = (Some(usage), guessed);
            }
            tokens = message.usage.map_or(0, |usage| usage.input_tokens.saturating_add(usage.output_tokens));
            message
        });
        let at = self.settings().now();
        let head = self.state.tree.head();
        let mut draft = self.state.tree.draft();
        let node = came.map(|message| draft.file(head, message, at)).transpose()?;
        if cause == Cause::Nothing && wait.is_some() {
            let nudge = if words.starts_with(attempts::UNREAD_CALL) { CALL_AGAIN } else { SAY_SOMETHING };
            draft.append(Message::harness(nudge), at)?;
        }
        let note = Attempt {
            head,
            attempt,
            origin,
            cause,
            words,
            answer,
            node,
            estimated,
            spent: milliseconds(spent.saturating_add(wait.unwrap_or_default())),
            until: wait.map(|wait| Timestamp(at.0.saturating_add(milliseconds(wait)))),
        };
        let mut records = entries(draft);
        records.push(journal::note(journal::LAYER, ATTEMPT, at, &note));
        records.extend(heard);
        self.commit(records, None).await?;
        match (wait, why) {
            (Some(_), _) => Ok(tokens),
            (None, InVain::Failed(fault)) if ran_tools => Err(RuntimeError::NotAskedAgain(fault)),
            (None, InVain::Failed(fault)) => Err(fault.into()),
            (None, InVain::Nothing(words)) => Err(RuntimeError::NothingCame { words }),
        }
    }

    /// Returns how patient to be with this fault.
    fn retries(&self, fault: &ProviderError) -> Retries {
        let retries = self.settings().retries;
        let origin = self.settings().provider.origin();
        let has_answered = || {
            let mut nodes = self.state.tree.nodes();
            nodes.any(|(_, node)| node.message().origin.as_ref() == Some(origin))
        };
        match Cause::of(fault) {
            Cause::Unreached if !has_answered() => retries.of_unknown(),
            _ => retries,
        }
    }

    /// Waits until the model may be asked again, or something else has to be done first: a letter came after `seen`,
    /// somebody cancelled, the time of the drive is over at `end`.
    pub(crate) async fn wait_to_ask(
        &mut self,
        until: Timestamp,
        waiting: &mut Option<Waiting>,
        end: Option<Instant>,
        seen: Option<InboxId>,
        cancel: &Cancel,
    ) -> Result<(), RuntimeError> {
        if waiting.as_ref().is_none_or(|waiting| waiting.until != until) {
            let left = Duration::from_millis(until.0.saturating_sub(self.settings().now().0));
            // The log may come from anywhere, and from a clock that was set wrong.
            let left = left.min(self.settings().retries.time);
            self.tell(&Event::AwaitingModel { wait: left });
            *waiting = Some(Waiting { until, deadline: Instant::now() + left, over: false });
        }
        let Some(deadline) = waiting.as_ref().map(|waiting| waiting.deadline) else { return Ok(()) };
        let over = async {
            while Instant::now() < deadline && self.settings().now() < until {
                sleep_until(deadline.min(Instant::now() + LOOK_AGAIN_AFTER)).await;
            }
        };
        let out_of_time = async {
            match end {
                Some(end) => sleep_until(end).await,
                None => std::future::pending().await,
            }
        };
        let is_over = tokio::select! {
            biased;
            () = cancel.cancelled() => false,
            arrived = letters::arrived(self.store.as_ref(), self.lease.session(), self.lease.token(), seen) => {
                arrived.map_err(|by| self.lost(by))?;
                false
            }
            () = over => true,
            () = out_of_time => false,
            () = sleep(TEND_EVERY) => false,
        };
        if let Some(waiting) = waiting.as_mut().filter(|_| is_over) {
            waiting.over = true;
        }
        Ok(())
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Between 0 and 1, different each time: the seeds that hash maps are given are random.
pub(crate) fn chance() -> f64 {
    let random = std::hash::RandomState::new().build_hasher().finish();
    (random >> 11) as f64 / (1_u64 << 53) as f64
}
