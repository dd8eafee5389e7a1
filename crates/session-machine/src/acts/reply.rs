//! The answer of a model: what is recorded of it, whole or as far as it came, or of an attempt that came to nothing.

use std::time::Duration;

use trunkline_message_tree::{Message, MessageList, Timestamp};
use trunkline_providers::{DecodeError, ProviderError, Trait};
use trunkline_session_store::Record;

use crate::acts::hold::heard;
use crate::acts::plan::Plan;
use crate::acts::view::View;
use crate::notes::answer::{self, attempted};
use crate::notes::record::entries;
use crate::request::prefixes;
use crate::rules::answers::{self, brought_nothing};
use crate::rules::price;
use crate::words::attempt::Attempt;
use crate::words::bill::tokens_of;
use crate::words::error::RuntimeError;
use crate::words::retries::{Cause, Retries};

const SAY_SOMETHING: &str = "Your last reply had no words and no tool call in it, so nothing came of it. Call a tool, or say in words what \
     you found or what keeps you from going on.";
const CALL_AGAIN: &str = "Your last reply announced a tool call, and none came that can be read, so nothing was run. Make the \
     call again, or say in words what you found or what keeps you from going on.";

/// What came of a request to the model.
pub struct Came {
    /// Its answer, whole or as far as it came; `None` if nothing came.
    pub message: Option<Message>,
    /// Why it broke off.
    pub fault: Option<ProviderError>,
    /// Whether somebody cancelled.
    pub cancelled: bool,
    /// What the answer shows that the service wants.
    pub wants: Vec<Trait>,
    /// What could not be read of it, each with the cause.
    pub unread: Vec<(String, String)>,
    /// What the service itself said of its end.
    pub remark: Option<String>,
    /// The id of the answer, if it was sent one.
    pub id: Option<String>,
    /// Whether the service makes it in the background, so that it can be fetched.
    pub background: bool,
    /// What it was written behind, where that matters.
    pub behind: Option<prefixes::Asked>,
    /// What was sent.
    pub sent: MessageList,
    /// How long it was asked for.
    pub took: Duration,
    /// How often the provider itself has tried before.
    pub within: u32,
    /// Between 0 and 1, different each time: waits are spread by it.
    pub chance: f64,
}

impl Came {
    /// Returns an answer that came whole, and of which there is no more to say.
    pub fn whole(message: Message) -> Self {
        Came {
            message: Some(message),
            fault: None,
            cancelled: false,
            wants: Vec::new(),
            unread: Vec::new(),
            remark: None,
            id: None,
            background: false,
            behind: None,
            sent: MessageList::new(),
            took: Duration::ZERO,
            within: 0,
            chance: 0.0,
        }
    }
}

/// Why an attempt came to nothing.
enum InVain {
    /// It failed.
    Failed(ProviderError),
    /// It ended, and brought nothing.
    Nothing(String),
}

/// Records what came of a request. What follows is the tokens that it cost, or why the drive ends.
///
/// # Errors
///
/// [`RuntimeError`]: why it cannot be done.
pub fn take_reply(view: &View<'_>, mut came: Came) -> Result<Plan<Result<u64, RuntimeError>>, RuntimeError> {
    let (state, at) = (view.state, view.at);
    let (mut records, events) = heard(view, came.message.as_ref(), came.cancelled, at);
    records.extend(answer::unread(&came.unread, at));
    let (message, fault) = (came.message.take(), came.fault.take());
    if let Some(fault) = fault.as_ref().filter(|fault| message.is_none() && fault.wants().is_some()) {
        // It is asked otherwise, which is not the same attempt once more.
        return Ok(Plan { records, events: Vec::new(), then: Err(fault.clone().into()) });
    }
    let nothing = message.as_ref().filter(|_| !came.cancelled && fault.is_none()).and_then(brought_nothing);
    let nothing = nothing.map(|why| answers::remarked(why, came.remark.as_deref()));
    let why = match fault {
        // The model wrote it so: the same request may well bring the same.
        Some(ProviderError::Decode(DecodeError::UnreadCall { reason, .. })) => {
            Some(InVain::Nothing(format!("{}: {reason}", answers::UNREAD_CALL)))
        }
        fault => fault.map(InVain::Failed).or(nothing.map(InVain::Nothing)),
    };
    if let Some(why) = why {
        let plan = in_vain(view, message, why, &came, records)?;
        return Ok(Plan { events, ..plan });
    }
    let Some(message) = message else { return Ok(Plan { records, events, then: Ok(0) }) };
    let tokens = message.usage.map_or(0, tokens_of);
    let mut draft = state.tree.draft();
    let missed = state.tree.next_id().and_then(|node| price::missed(state, &message, node, at));
    let bound = came.behind.and_then(|behind| behind.record(state.tree.next_id()?, &message, at));
    draft.append(message, at)?;
    let mut all = entries(draft);
    all.extend(missed);
    all.extend(bound);
    all.extend(state.wants.shown(&view.setup.model, &came.wants, at));
    all.extend(records);
    Ok(Plan { records: all, events, then: Ok(tokens) })
}

/// Records an attempt that came to nothing, with what had come of it and what the turn makes of that.
fn in_vain(
    view: &View<'_>,
    message: Option<Message>,
    why: InVain,
    came: &Came,
    heard: Vec<Record>,
) -> Result<Plan<Result<u64, RuntimeError>>, RuntimeError> {
    let (state, at) = (view.state, view.at);
    let origin = view.setup.model.origin.clone();
    let (before, spent) = state.tries.before(&origin);
    let attempt = before.saturating_add(came.within).saturating_add(1);
    // The time begins with the first failure: an answer may be long in coming and worth another try.
    let spent = if before == 0 { Duration::ZERO } else { spent.saturating_add(came.took) };
    let known = state.tries.answer(&origin, state.tree.head());
    // One that has failed is asked for once more.
    let answer = came.id.as_deref().or(known).filter(|_| came.background).filter(|_| match &why {
        InVain::Failed(fault) => !fault.is_in_answer(),
        InVain::Nothing(_) => false,
    });
    // How often it was looked for says nothing of how often it was made.
    let failed = if known.is_some() && answer.is_none() { 1 } else { attempt };
    // What is fetched is not made again.
    let ran_tools = answer.is_none() && message.as_ref().is_some_and(answers::ran_tools);
    let (cause, words, wait) = match &why {
        InVain::Failed(fault) => {
            let retries = retries(view, fault);
            let retries = if answer.is_some() { retries.of_fetching() } else { retries };
            let wait = retries.wait(failed, fault, came.chance, spent).filter(|_| !ran_tools);
            (Cause::of(fault), fault.to_string(), wait)
        }
        InVain::Nothing(words) => {
            let again = !state.tries.told_nothing() && view.setup.asking.retries.times > 0;
            let wait = (again && !ran_tools).then_some(Duration::ZERO);
            (Cause::Nothing, words.clone(), wait)
        }
    };
    let (mut tokens, mut estimated) = (0, false);
    let message = message.map(|mut message| {
        // What is fetched later is paid once, and counted then.
        if cause != Cause::Nothing && answer.is_none() {
            let (usage, guessed) = answers::completed(message.usage, &came.sent, &message);
            (message.usage, estimated) = (Some(usage), guessed);
        }
        tokens = message.usage.map_or(0, tokens_of);
        message
    });
    let head = state.tree.head();
    let mut draft = state.tree.draft();
    let node = message.map(|message| draft.file(head, message, at)).transpose()?;
    if cause == Cause::Nothing && wait.is_some() {
        let nudge = if words.starts_with(answers::UNREAD_CALL) { CALL_AGAIN } else { SAY_SOMETHING };
        draft.append(Message::harness(nudge), at)?;
    }
    let note = Attempt {
        head,
        attempt,
        origin,
        cause,
        words,
        answer: answer.map(str::to_owned),
        node,
        estimated,
        spent: milliseconds(spent.saturating_add(wait.unwrap_or_default())),
        until: wait.map(|wait| Timestamp(at.0.saturating_add(milliseconds(wait)))),
    };
    let mut records = entries(draft);
    records.push(attempted(&note, at));
    records.extend(heard);
    let then = match (wait, why) {
        (Some(_), _) => Ok(tokens),
        (None, InVain::Failed(fault)) if ran_tools => Err(RuntimeError::NotAskedAgain(fault)),
        (None, InVain::Failed(fault)) => Err(fault.into()),
        (None, InVain::Nothing(words)) => Err(RuntimeError::NothingCame { words }),
    };
    Ok(Plan::of(records).then(then))
}

/// Returns how patient to be with this fault.
fn retries(view: &View<'_>, fault: &ProviderError) -> Retries {
    let retries = view.setup.asking.retries;
    let origin = &view.setup.model.origin;
    let has_answered = || {
        let mut nodes = view.state.tree.nodes();
        nodes.any(|(_, node)| node.message().origin.as_ref() == Some(origin))
    };
    match Cause::of(fault) {
        Cause::Unreached if !has_answered() => retries.of_unknown(),
        _ => retries,
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
