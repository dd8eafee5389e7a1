//! Walks through a conversation that grows, goes back and is edited, and asks at each step with a memo and without.

use std::sync::Arc;

use trunkline_message_tree::{Message, ToolChoice};

use super::asking::{calling, tool};
use super::chance::Chance;
use super::order::show;
use super::reading::{Read, guard};
use super::writing::next_request;
use super::{Promise, Report, Samples};
use crate::{Cache, Feature, Memo, Request, Support, Wire};

const WALKS: usize = 4;
const STEPS: usize = 60;

/// Checks that a memo changes no byte.
pub(super) fn check(wire: &dyn Wire, samples: &Samples, report: &mut Report) {
    for number in 0..WALKS {
        let mut chance = Chance::new(samples.seed, 1000 + number);
        let mut walk = Walk::new(wire);
        let mut answers = samples.answers.iter().filter(|answer| answer.goes_back);
        let mut memo = Memo::new();
        let mut taken = Err(String::new());
        for step in 0..STEPS {
            let mut did = walk.step(&mut chance);
            // What a model really said, opaque blocks included, once each.
            if step % 16 == 15
                && let Some(answer) = answers.next()
                && let Ok(Some(read)) = guard(|| quiet_read(wire, answer))
            {
                let next = next_request(wire, answer, &read);
                let said = next.messages.iter().skip(answer.request.messages.len());
                walk.request.messages.push(Message::user("and now?").into());
                walk.request.messages.extend(said.cloned());
                did = "an answer of the samples";
            }
            let outcome = guard(|| {
                let next = wire.encode_next(&walk.request, &mut memo);
                (next, wire.encode(&walk.request))
            });
            match &outcome {
                Ok((_, Ok(_))) => taken = Ok(()),
                Ok((_, Err(error))) if taken.is_err() => taken = Err(error.to_string()),
                _ => {}
            }
            let fault = match outcome {
                Ok((next, fresh)) if next == fresh => None,
                Ok((next, fresh)) => Some(format!("{} instead of {}", show(&next), show(&fresh))),
                Err(panic) => Some(panic),
            };
            let at = format!("walk {number}, step {step} ({did}), {} messages", walk.request.messages.len());
            report.check(Promise::Memo, fault.map(|fault| format!("{at}: {fault}")));
        }
        let refused =
            taken.err().map(|error| format!("walk {number}: no plain conversation is taken: {error}"));
        report.check(Promise::Memo, refused);
    }
}

fn quiet_read(wire: &dyn Wire, answer: &super::Answer) -> Option<Read> {
    let mut decoder = wire.decoder(&answer.request);
    let mut events = Vec::new();
    decoder.push(&answer.body, &mut events).ok()?;
    decoder.finish(&mut events).ok()?;
    Some(Read { events, outcome: Ok(()) })
}

struct Walk {
    request: Request,
    // Messages before these are instructions.
    lead: usize,
    has_tools: bool,
    calls: usize,
    words: usize,
}

impl Walk {
    fn new(wire: &dyn Wire) -> Self {
        let has = |feature| wire.support(feature) != Support::None;
        let lead = usize::from(has(Feature::System));
        let mut messages = vec![Message::user("hello")];
        if lead == 1 {
            messages.insert(0, Message::system("be brief"));
        }
        let mut request = Request::new("m", messages);
        request.stream = has(Feature::Streaming);
        let has_tools = has(Feature::Tools);
        request.tools.extend(has_tools.then(|| tool("f")));
        Walk { request, lead, has_tools, calls: 0, words: 0 }
    }

    /// Does something to the conversation and says what.
    fn step(&mut self, chance: &mut Chance) -> &'static str {
        self.words += 1;
        let words = format!("\"wörd\" {}\n", self.words);
        let messages = &mut self.request.messages;
        match chance.below(12) {
            0..=2 => {
                messages.push(Message::user(words).into());
                "the person speaks"
            }
            3..=4 => {
                messages.push(Message::assistant(words).into());
                messages.push(Message::user("go on").into());
                "the model answers and the person goes on"
            }
            5 => {
                messages.push(Message::assistant(words).into());
                "the model answers"
            }
            6..=7 if self.has_tools => {
                let ids: Vec<String> =
                    (0..=chance.below(3)).map(|number| format!("call{:05}", self.calls + number)).collect();
                self.calls += ids.len();
                messages.push(calling(ids.iter().map(String::as_str)).into());
                messages.extend(ids.iter().map(|id| Arc::new(Message::tool_result(id, &words, false))));
                "the model calls"
            }
            8 => {
                messages.truncate(self.lead + 1 + chance.below(messages.len()));
                let open = |message: &Message| message.calls().count() + message.results().count() > 0;
                while messages.last().is_some_and(|last| open(last)) {
                    messages.pop();
                }
                if messages.len() <= self.lead {
                    messages.push(Message::user(words).into());
                }
                "a revert"
            }
            9 => {
                let at = chance.below(messages.len());
                if let Some(message) = messages.get_mut(at)
                    && message.calls().count() + message.results().count() == 0
                {
                    let mut changed = Message::clone(message);
                    changed.content = Message::user(words).content;
                    *message = changed.into();
                }
                "an edit"
            }
            10 => {
                // The same messages at other addresses.
                *messages = messages.iter().map(|message| Arc::new(Message::clone(message))).collect();
                "a copy"
            }
            _ => {
                self.request.cache = [Cache::Off, Cache::Short, Cache::Long][chance.below(3)];
                if self.has_tools {
                    let choices = [ToolChoice::Auto, ToolChoice::Auto, ToolChoice::Any];
                    self.request.tool_choice = choices[chance.below(3)].clone();
                }
                "other settings"
            }
        }
    }
}
