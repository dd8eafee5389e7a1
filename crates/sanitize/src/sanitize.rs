//! The one entrance: a list goes in, a legal list and the account of it come out.
//!
//! A list that is legal already is recognised in one walk and given back as it came; only a damaged one is owned and
//! goes through the passes.

use std::borrow::Cow;
use std::collections::HashSet;

use trunkline_message_tree::{Message, Role};

use crate::passes::{self, server_pairs};
use crate::{
    Place, Repair, RepairKind, RequestFacts, Thinking, ThinkingOffCause, WireRules, bound, fields, sound,
};

/// What a user message says that stands before a history which does not begin with one.
pub const HEAD_STUB: &str = "(the conversation begins here)";

/// What a user message says that stands after a history which ends with the assistant.
pub const TAIL_STUB: &str = "continue";

/// What an assistant message says that stands between results and the user, where a wire wants one there.
pub const BRIDGE_STUB: &str = "(results received)";

/// What stands for a lost signature of a call on Gemini: a value that its validator is known to skip.
///
/// Read in the issues of proxies that send it (2026-11); row D8.
pub const SIGNATURE_STUB: &str = "skip_thought_signature_validator";

/// A legal list, and what was done to make it so.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sanitized<'a> {
    /// The messages; the very ones that were given if nothing had to be done.
    pub messages: Cow<'a, [Message]>,
    /// What was done, in the order of the list that was given. Empty if and only if nothing was.
    ///
    /// Two kinds tell whoever writes the request what to do, and leave the messages as they are:
    /// [`ThinkingOff`](RepairKind::ThinkingOff) and [`FieldDropped`](RepairKind::FieldDropped).
    pub repairs: Vec<Repair>,
    /// Whether the request must be sent without thinking, although [`RequestFacts::thinking`] asks for it.
    pub thinking_off: bool,
}

impl Sanitized<'_> {
    /// Returns the facts of the request that may now be sent: those given, without thinking if it must be off, and without the
    /// fields that must go.
    pub fn facts(&self, given: &RequestFacts) -> RequestFacts {
        let mut facts = given.clone();
        if self.thinking_off {
            facts.thinking = Thinking::Off;
        }
        facts.fields = fields::left(&facts.fields, &self.repairs);
        facts
    }

    /// Returns what comes of a list that was gone over once more after this.
    fn followed_by<'b>(self, later: Sanitized<'_>, length: usize) -> Sanitized<'b> {
        let end = Place::end(length);
        let is_off = |repair: &Repair| matches!(repair.kind, RepairKind::ThinkingOff { .. });
        let mut repairs: Vec<Repair> = self.repairs.into_iter().filter(|repair| !is_off(repair)).collect();
        repairs.extend(later.repairs.into_iter().map(|repair| Repair { at: end, ..repair }));
        let messages = Cow::Owned(later.messages.into_owned());
        Sanitized { messages, repairs, thinking_off: later.thinking_off }
    }
}

/// Makes a message list legal for one wire.
///
/// Takes a slice or a vector; a vector is not copied, unless it has to be repaired and holds calls that a provider ran itself. Whatever is wrong is repaired and reported, nothing is refused.
/// The same input gives the same output, and sanitizing the output under [`Sanitized::facts`] changes nothing.
/// Costs a few steps per block, however the list is damaged.
pub fn sanitize<'a>(
    messages: impl Into<Cow<'a, [Message]>>,
    rules: &WireRules,
    facts: &RequestFacts,
) -> Sanitized<'a> {
    let messages = messages.into();
    if !bound::is_asked(rules, facts) {
        return go_over(messages, rules, facts);
    }
    // What reasoning stands behind is known when the list is legal, and what goes then changes what stands before the rest. Each
    // round leaves less reasoning.
    let mut known = facts.clone();
    let mut sanitized = go_over(Cow::Borrowed(&*messages), rules, &known);
    loop {
        let unbound = bound::unbound(&sanitized.messages, rules, &known);
        if !unbound.is_subset(&known.unbound) {
            known.unbound.extend(unbound);
            sanitized = go_over(Cow::Borrowed(&*messages), rules, &known);
            continue;
        }
        // Messages that were joined are one answer, and lose the reasoning of all.
        let joined = (!unbound.is_empty()).then(|| {
            let joined = Cow::Owned(sanitized.messages.to_vec());
            go_over(joined, rules, &known)
        });
        match joined.filter(|later| !later.repairs.is_empty()) {
            Some(later) => sanitized = sanitized.followed_by(later, messages.len()),
            None => break,
        }
    }
    let Sanitized { messages: made, repairs, thinking_off } = sanitized;
    let messages = match made {
        Cow::Owned(made) => Cow::Owned(made),
        Cow::Borrowed(_) => messages,
    };
    Sanitized { messages, repairs, thinking_off }
}

/// Makes a list legal, without the reasoning of answers whose prefix was found to have changed.
fn go_over<'a>(messages: Cow<'a, [Message]>, rules: &WireRules, facts: &RequestFacts) -> Sanitized<'a> {
    let end = Place::end(messages.len());
    let mut repairs = Vec::new();
    let refused_fields = fields::drop_unknown(&messages, rules, facts);
    // Where it is not known from where anything came, nothing depends on which loop runs.
    let returns = facts.origin.as_ref().is_some_and(|origin| origin.address.is_some());
    let mut facts = Cow::Borrowed(facts);
    if returns {
        facts.to_mut().loop_from = passes::live_loop::start(&messages);
    }

    let forced = rules.forced_choice_stops_thinking && facts.choice_forced && facts.thinking == Thinking::On;
    let thinking = if forced { Thinking::Off } else { facts.thinking };
    let mut messages = legal(messages, rules, &facts, thinking, &mut repairs);
    repairs.extend(refused_fields);
    repairs.sort_by_key(|repair| repair.at.message);
    // What was quoted or put in may have ended a loop, and messages that were joined have one origin and one end: what is left
    // is looked at again as the wire will see it. Each round leaves less reasoning.
    while returns && messages.iter().any(|message| message.content.iter().any(passes::is_thinking)) {
        facts.to_mut().loop_from = passes::live_loop::start(&messages);
        let mut last = Vec::new();
        messages = legal(messages, rules, &facts, thinking, &mut last);
        if last.is_empty() {
            break;
        }
        repairs.extend(last.into_iter().map(|repair| Repair { at: end, ..repair }));
    }

    let lost = passes::live_loop::has_lost_thinking(&messages, rules, thinking);
    let messages = match messages.last() {
        // Without thinking a last assistant message must not hold any.
        Some(last) if lost && last.role == Role::Assistant => {
            let mut last = Vec::new();
            let messages = legal(messages, rules, &facts, Thinking::Off, &mut last);
            repairs.extend(last.into_iter().map(|repair| Repair { at: end, ..repair }));
            messages
        }
        _ => messages,
    };
    let thinking_off = forced || lost;
    if thinking_off {
        let why = if forced { ThinkingOffCause::ChoiceForced } else { ThinkingOffCause::Lost };
        repairs.push(Repair { at: end, kind: RepairKind::ThinkingOff { why } });
    }
    Sanitized { messages, repairs, thinking_off }
}

/// How often the pairs of a provider's own calls are looked at again before they are read strictly.
const SECOND_LOOKS: usize = 4;

/// Returns a list that the wire takes; the very one that was given if nothing had to be done.
fn legal<'a>(
    given: Cow<'a, [Message]>,
    rules: &WireRules,
    facts: &RequestFacts,
    thinking: Thinking,
    repairs: &mut Vec<Repair>,
) -> Cow<'a, [Message]> {
    let mut survey = sound::survey(&given, rules, facts, thinking);
    let server_blocks = survey.server_blocks;
    let halves = |messages: &[Message], without: &HashSet<usize>, strict| match server_blocks {
        true => server_pairs::halves(messages, rules, facts, without, strict),
        false => HashSet::new(),
    };
    let mut without = HashSet::new();
    let mut broken = halves(&given, &without, false);
    broken.iter().for_each(|(message, _)| survey.distrust(*message));
    if survey.sound {
        return given;
    }
    let borrowed = match given {
        Cow::Borrowed(messages) => Some(messages),
        Cow::Owned(_) => None,
    };
    let spare = server_blocks.then(|| given.clone());
    let mut mended = passes::mend(given, survey, &broken, rules, facts, thinking, repairs);
    // A repair can come between a provider's call and its result. Then they go as well, and all is done again.
    if let Some(spare) = spare {
        for look in 1..=SECOND_LOOKS + 1 {
            let left = halves(&mended.messages, &HashSet::new(), false);
            if left.is_empty() {
                break;
            }
            without.extend(left.iter().filter_map(|(message, _)| mended.from.get(*message)));
            broken = halves(&spare, &without, look > SECOND_LOOKS);
            survey = sound::survey(&spare, rules, facts, thinking);
            broken.iter().for_each(|(message, _)| survey.distrust(*message));
            repairs.clear();
            mended = passes::mend(spare.clone(), survey, &broken, rules, facts, thinking, repairs);
        }
    }
    match borrowed {
        Some(messages) if repairs.is_empty() => Cow::Borrowed(messages),
        _ => Cow::Owned(mended.messages),
    }
}
