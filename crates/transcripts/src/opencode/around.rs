//! What is to be known of all messages before one is written.

use std::collections::{HashMap, HashSet, VecDeque};

use trunkline_message_tree::{Content, Message, Role, ToolResult};

use super::word::{UNKNOWN, origin, provider_of};
use crate::json::Fields;
use crate::source::{Losses, Session};

/// Which result answers which call: in the client's files both are one.
#[derive(Debug)]
pub(super) struct Answers<'m> {
    /// The results by the places of their calls.
    pub(super) of_calls: HashMap<(usize, usize), &'m ToolResult>,
    /// The places of results that answer a call.
    placed: HashSet<(usize, usize)>,
    /// The places of results above whose call something was said after.
    moved: HashSet<(usize, usize)>,
}

impl<'m> Answers<'m> {
    /// Finds the pairs.
    pub(super) fn of(messages: &'m [Message]) -> Self {
        let mut answers = Answers { of_calls: HashMap::new(), placed: HashSet::new(), moved: HashSet::new() };
        let mut open: HashMap<&str, VecDeque<(usize, usize)>> = HashMap::new();
        // The last message that is not only results.
        let mut last = 0;
        for (index, message) in messages.iter().enumerate() {
            for (block, content) in message.content.iter().enumerate() {
                match content {
                    Content::ToolCall(call) if message.role == Role::Assistant => {
                        let places = open.entry(&call.id).or_default();
                        // A call of the same id that was not answered is not answered any more.
                        places.retain(|(of, _)| *of == index);
                        places.push_back((index, block));
                    }
                    Content::ToolResult(result) => {
                        let call = open.get_mut(result.call_id.as_str()).and_then(VecDeque::pop_front);
                        if let Some(call) = call {
                            answers.of_calls.insert(call, result);
                            answers.placed.insert((index, block));
                            if call.0 != last {
                                answers.moved.insert((index, block));
                            }
                        }
                    }
                    _ => {}
                }
            }
            if !message.content.iter().all(|block| block.as_result().is_some()) {
                last = index;
            }
        }
        answers
    }

    /// Notes the results of a message that stand elsewhere or nowhere.
    pub(super) fn report(&self, index: usize, message: &Message, losses: &mut Losses<'_>) {
        for (block, content) in message.content.iter().enumerate() {
            let Some(result) = content.as_result() else { continue };
            let (place, id) = ((index, block), &result.call_id);
            if !self.placed.contains(&place) {
                losses.note(format!("the result of call {id:?}, which stands nowhere before it"));
            } else if self.moved.contains(&place) {
                losses.note(format!("the place of the result of call {id:?}, which stands with the call"));
            }
        }
    }
}

/// What the messages around a new one say.
#[derive(Debug)]
pub(super) struct Manner {
    /// The agent that was asked last.
    pub(super) agent: String,
    /// The provider of the model that was asked last.
    pub(super) provider: String,
    /// The model that was asked last.
    pub(super) model: String,
    /// The folder that the agent works in.
    pub(super) cwd: String,
}

impl Manner {
    /// Returns what is known before the first message: the model that answers first.
    pub(super) fn of(session: &Session<'_>, messages: &[Message]) -> Self {
        let first = messages.iter().find_map(|message| message.origin.as_ref());
        Manner {
            agent: "build".to_owned(),
            provider: first.map_or(UNKNOWN, provider_of).to_owned(),
            model: first.map_or(UNKNOWN, |origin| origin.model.as_str()).to_owned(),
            cwd: session.heading.cwd.clone(),
        }
    }

    /// Takes note of a message that is copied.
    pub(super) fn see(&mut self, info: &Fields<'_>) {
        let keep = |slot: &mut String, name: &str| {
            if let Some(said) = info.text(name).filter(|said| said != UNKNOWN && !said.is_empty()) {
                *slot = said.into_owned();
            }
        };
        // The client has agents of its own for summaries.
        if info.text("role").as_deref() == Some("user") {
            keep(&mut self.agent, "agent");
        }
        if origin(info).is_some() {
            keep(&mut self.provider, "providerID");
            keep(&mut self.model, "modelID");
        }
    }
}
