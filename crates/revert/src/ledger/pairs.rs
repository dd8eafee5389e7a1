//! Which result answers which call, and what the user was told.

use std::collections::HashMap;

use trunkline_message_tree::{Author, CallOutcome, Content, Message, NodeId, Role, ToolCall, ToolResult};

use super::{QUOTED_CHARS, Told, harmless};

/// A call with the result that answers it.
pub(super) struct Asked<'a> {
    pub(super) node: NodeId,
    pub(super) call: &'a ToolCall,
    /// Whether it may have run at all.
    pub(super) is_whole: bool,
    pub(super) answer: Option<&'a ToolResult>,
}

/// A result, and whether the tool gave it. What the harness answers in its place tells nothing of what the tool did.
#[derive(Copy, Clone)]
struct Answer<'a> {
    result: &'a ToolResult,
    by_tool: bool,
}

/// Reads messages in order and finds out which result answers which call.
#[derive(Default)]
pub(super) struct Pairs<'a> {
    pub(super) told: Vec<Told>,
    pub(super) asked: Vec<Asked<'a>>,
    /// Calls that the provider ran itself, and whether their answers are there.
    pub(super) served: Vec<(NodeId, Option<bool>)>,
    /// The first call of the turn that is being read, and the results that came since.
    turn: usize,
    results: Vec<Answer<'a>>,
    in_answers: bool,
}

impl<'a> Pairs<'a> {
    pub(super) fn take(&mut self, node: NodeId, message: &'a Message) {
        if message.role != Role::Assistant {
            let by_tool = message.author != Author::Harness;
            self.results.extend(message.results().map(|result| Answer { result, by_tool }));
            self.in_answers = true;
            return;
        }
        // Some recorders store one turn as several messages in a row, with the results after the last.
        if self.in_answers {
            self.end_turn();
        }
        let calls = message.call_outcomes();
        self.asked.extend(calls.map(|(call, outcome)| {
            let is_whole = matches!(outcome, CallOutcome::Ready(_));
            Asked { node, call, is_whole, answer: None }
        }));
        for block in &message.content {
            if let Content::ServerCall { id, .. } = block {
                let answers =
                    |block: &Content| matches!(block, Content::ServerResult { call_id, .. } if call_id == id);
                // What is in the answer is not read, so it is not known as a failure.
                self.served.push((node, message.content.iter().any(answers).then_some(false)));
            }
        }
        let text = harmless(&message.text(), QUOTED_CHARS);
        if message.author != Author::Harness && !text.is_empty() {
            self.told.push(Told { node, text });
        }
    }

    /// Gives the calls of the turn their results. Ids repeat within a session and even within a turn.
    pub(super) fn end_turn(&mut self) {
        let mut results: HashMap<&str, Vec<Answer<'_>>> = HashMap::new();
        for answer in self.results.drain(..) {
            results.entry(&answer.result.call_id).or_default().push(answer);
        }
        let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
        for (place, asked) in self.asked.iter().enumerate().skip(self.turn) {
            places.entry(&asked.call.id).or_default().push(place);
        }
        for (id, mut places) in places {
            let Some(results) = results.remove(id) else { continue };
            // With fewer results than calls, they answer the message that they follow; the others stay unknown.
            if let (true, Some(last)) = (results.len() < places.len(), places.last().copied()) {
                places.retain(|place| self.asked[*place].node == self.asked[last].node);
            }
            for (place, answer) in places.into_iter().zip(results) {
                self.asked[place].answer = answer.by_tool.then_some(answer.result);
            }
        }
        self.turn = self.asked.len();
        self.in_answers = false;
    }

    /// Gives calls that have no result yet those that were filed under their message.
    pub(super) fn take_late(&mut self, late: &[(NodeId, &'a Message)]) {
        let mut open: HashMap<(NodeId, &str), Vec<usize>> = HashMap::new();
        if !late.is_empty() {
            for (place, asked) in
                self.asked.iter().enumerate().rev().filter(|(_, asked)| asked.answer.is_none())
            {
                open.entry((asked.node, &asked.call.id)).or_default().push(place);
            }
        }
        for (parent, message) in late {
            for result in message.results() {
                let place = open.get_mut(&(*parent, result.call_id.as_str())).and_then(Vec::pop);
                if let Some(place) = place {
                    self.asked[place].answer = Some(result);
                }
            }
        }
    }
}
