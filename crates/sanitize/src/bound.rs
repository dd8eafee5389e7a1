//! Finds signed reasoning whose prefix has changed since it was written.
//!
//! A list is folded from left to right as it will be sent: what an answer loses changes what stands before the next one. So
//! an answer that was written behind a list without the older reasoning is kept, and the older reasoning stays out.

use std::collections::BTreeSet;
use std::sync::Arc;

use trunkline_message_tree::{Content, Message, NodeId, Role};

use crate::passes::{self, provenance};
use crate::sound;
use crate::{Prefix, PrefixDigest, Repair, RequestFacts, WireRules};

impl WireRules {
    /// Returns whether a message holds reasoning that is taken back only behind what it was written behind: note for such an
    /// answer the digest of the [`Prefix`] that it was asked with.
    pub fn binds(&self, message: &Message) -> bool {
        self.reasoning_bound && is_signed(message, self)
    }
}

/// Whether a message of the assistant's holds reasoning that is signed or encrypted.
pub(crate) fn is_signed(message: &Message, rules: &WireRules) -> bool {
    let signed = |block: &Content| match block {
        Content::Thinking { signature, .. } => signature.as_ref().is_some_and(|one| !one.is_empty()),
        Content::RedactedThinking { .. } => true,
        Content::Opaque { wire, json } => {
            rules.reasoning_items && *wire == rules.wire && provenance::is_reasoning_item(json)
        }
        _ => false,
    };
    message.role == Role::Assistant && message.content.iter().any(signed)
}

/// Whether it was found that the prefix of an answer has changed.
pub(crate) fn is_unbound(message: &Message, facts: &RequestFacts) -> bool {
    !facts.unbound.is_empty() && message.node.is_some_and(|node| facts.unbound.contains(&node))
}

/// Whether the reasoning of a message was written behind something else than what stands before it.
fn differs(message: &Message, before: &Prefix, rules: &WireRules, facts: &RequestFacts) -> bool {
    let written = message.node.and_then(|node| facts.prefixes.get(node));
    written.is_some_and(|written| is_signed(message, rules) && before.digest() != *written)
}

/// Returns the answers of a list that hold signed reasoning and whose prefix has changed; not all where one of them goes with
/// its reasoning.
pub(crate) fn unbound(messages: &[Message], rules: &WireRules, facts: &RequestFacts) -> BTreeSet<NodeId> {
    let mut found = BTreeSet::new();
    let mut before = Prefix::after(facts.head.as_ref());
    for message in messages {
        if differs(message, &before, rules, facts) {
            found.extend(message.node);
            let left = without_reasoning(0, message, rules, facts).0;
            // A message without anything in it goes, and what stands behind it is judged when it is gone.
            if left.content.is_empty() {
                break;
            }
            before.message(&left);
        } else {
            before.message(message);
        }
    }
    found
}

/// Whether anything is known by which reasoning could be left out.
pub(crate) fn is_asked(rules: &WireRules, facts: &RequestFacts) -> bool {
    rules.reasoning_bound && !facts.prefixes.is_empty()
}

/// Returns a message as it is sent without its reasoning, and what was left out.
fn without_reasoning(
    index: usize,
    message: &Message,
    rules: &WireRules,
    facts: &RequestFacts,
) -> (Message, Vec<Repair>) {
    let mut facts = facts.clone();
    facts.unbound.extend(message.node);
    passes::drop_refused_of(index, message.clone(), rules, &facts)
}

/// Messages between two kept states of the digest.
const STRIDE: usize = 16;

/// The same fold, kept from one request to the next.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fold {
    /// What it depends on but the messages: the wire, whether it has items of reasoning, the digest of the tools, and of how many
    /// answers it was known.
    under: Option<(String, bool, Option<PrefixDigest>, usize)>,
    /// The digest before the message at this place; the first is that of an empty list.
    states: Vec<(usize, Prefix)>,
    end: Prefix,
    /// The messages as they are sent.
    sent: Vec<Arc<Message>>,
    left_out: Vec<Repair>,
    /// The messages whose reasoning may have to go for another reason as well, which would come first.
    unsure: Vec<usize>,
}

impl Fold {
    /// Takes a list in of which the first `kept` messages are those of before. Returns how many messages are sent as before.
    pub(crate) fn refresh(
        &mut self,
        messages: &[Arc<Message>],
        kept: usize,
        rules: &WireRules,
        facts: &RequestFacts,
    ) -> usize {
        let known = facts.prefixes.len();
        let now = (rules.wire.to_string(), rules.reasoning_items, facts.head, known);
        let goes_on = self.under.as_ref().is_some_and(|(wire, items, head, before)| {
            (wire, *items, *head) == (&now.0, now.1, now.2) && *before <= known
        });
        if !goes_on {
            *self = Fold { end: Prefix::after(facts.head.as_ref()), ..Fold::default() };
        }
        self.under = Some(now);
        let kept = kept.min(self.sent.len()).min(messages.len());
        self.go_back(kept, facts);
        for (index, message) in messages.iter().enumerate().skip(kept) {
            if index.is_multiple_of(STRIDE) {
                self.states.push((index, self.end.clone()));
            }
            let sent = if differs(message, &self.end, rules, facts) {
                let (message, mut repairs) = without_reasoning(index, message, rules, facts);
                self.left_out.append(&mut repairs);
                if !sound::stands_alone(index, &messages[index], rules, facts) {
                    self.unsure.push(index);
                }
                Arc::new(message)
            } else {
                Arc::clone(message)
            };
            self.end.message(&sent);
            self.sent.push(sent);
        }
        kept
    }

    /// Forgets what comes behind this many messages.
    fn go_back(&mut self, kept: usize, facts: &RequestFacts) {
        if kept < self.sent.len() {
            self.sent.truncate(kept);
            // All are in the order of the list.
            while self.left_out.pop_if(|repair| repair.at.message >= kept).is_some() {}
            while self.unsure.pop_if(|index| *index >= kept).is_some() {}
            while self.states.pop_if(|(index, _)| *index >= kept).is_some() {}
            let state = self.states.last().cloned();
            let (from, mut end) = state.unwrap_or_else(|| (0, Prefix::after(facts.head.as_ref())));
            self.sent.iter().skip(from).for_each(|message| end.message(message));
            self.end = end;
        }
    }

    /// Forgets what was not asked for.
    pub(crate) fn keep(&mut self, kept: usize, facts: &RequestFacts) {
        self.go_back(kept.min(self.sent.len()), facts);
    }

    pub(crate) fn sent(&self) -> &[Arc<Message>] {
        &self.sent
    }

    /// Whether the passes would leave out what is left out here for the same reason, if the list is sound without it.
    pub(crate) fn is_sure(&self, messages: &[Arc<Message>]) -> bool {
        // Of the last message more is asked.
        let last = self.left_out.last().map(|repair| repair.at.message);
        self.unsure.is_empty() && last.is_none_or(|last| last + 1 < messages.len())
    }

    pub(crate) fn left_out(&self) -> &[Repair] {
        &self.left_out
    }

    /// Returns the digest of the whole list as it is sent.
    pub(crate) fn digest(&self) -> PrefixDigest {
        self.end.digest()
    }
}
