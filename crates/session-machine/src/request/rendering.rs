//! The trunk as the model is sent it, kept from one request to the next.
//!
//! What was rendered and found legal once is neither rendered nor looked at again as long as it stands. Nothing hangs on what
//! is kept here: it can be made again from the log at any time.

use std::sync::Arc;

use trunkline_message_tree::{Message, MessageList, MessageTree, NodeId};
use trunkline_sanitize::{LiveCheck, PrefixDigest, Repair, RequestFacts, WireRules, sanitize};

use crate::request::live::Live;
use crate::setup::revert::Setting;
use crate::state::{State, wants};

/// What a session keeps of its requests.
pub struct Rendering {
    live: Live,
    plain: Plain,
    check: LiveCheck,
    /// How many messages, from the first, are those that were checked last.
    kept: usize,
    // Whether the reasoning of the model is bound to what stands before it.
    binds: bool,
    // The messages that are judged in place of these where a service refused reasoning, and of which nodes it did.
    disowned: Option<(NodeId, Vec<Arc<Message>>)>,
    // What is sent where that is not the list: something is left out or mended, or the list is not what is judged.
    mended: MessageList,
}

/// A list that may be sent.
pub(crate) struct Legal {
    pub(crate) list: MessageList,
    /// What of what was rendered is left out or mended.
    pub(crate) repairs: Vec<Repair>,
    /// What an answer to it is written behind, where that matters.
    pub(crate) prefix: Option<PrefixDigest>,
}

impl Rendering {
    fn new(setting: &Setting, binds: bool) -> Self {
        Rendering {
            live: Live::new(setting, binds),
            plain: Plain::default(),
            check: LiveCheck::new(),
            kept: 0,
            binds,
            disowned: None,
            mended: MessageList::new(),
        }
    }

    /// Returns what is kept, and begins with nothing if there is nothing, or if it was rendered for a model of the other kind.
    pub fn of<'a>(kept: &'a mut Option<Box<Rendering>>, setting: &Setting, binds: bool) -> &'a mut Self {
        kept.take_if(|kept| kept.binds != binds);
        kept.get_or_insert_with(|| Box::new(Rendering::new(setting, binds)))
    }

    /// Brings the messages up to date.
    pub fn refresh(&mut self, state: &State) {
        let kept = self.live.refresh(&state.tree, &state.revert);
        let kept = kept.unwrap_or_else(|| self.plain.refresh(&state.tree));
        self.kept = self.kept.min(kept);
    }

    /// Returns [`messages`](Rendering::messages) as a list that costs nothing to hand over.
    pub(crate) fn list(&self) -> &MessageList {
        self.live.list().unwrap_or(&self.plain.list)
    }

    /// Returns what the model would be sent if that is legal, as of the last [`refresh`](Rendering::refresh).
    pub fn messages(&self) -> &[Arc<Message>] {
        self.live.messages().unwrap_or(&self.plain.messages)
    }

    /// Returns the messages as they may be sent, with what was mended; a `None` may be wrong. `refused` is the last node of which a
    /// service refused reasoning.
    pub(crate) fn legal(
        &mut self,
        rules: &WireRules,
        facts: &RequestFacts,
        refused: Option<NodeId>,
    ) -> Option<Legal> {
        let messages = self.live.messages().unwrap_or(&self.plain.messages);
        let list = self.live.list().unwrap_or(&self.plain.list);
        let mut kept = std::mem::replace(&mut self.kept, messages.len());
        if self.disowned.as_ref().map(|(until, _)| *until) != refused {
            self.disowned = refused.map(|until| (until, Vec::new()));
            kept = 0;
        }
        let judged = match &mut self.disowned {
            Some((until, disowned)) => {
                disowned.truncate(kept);
                let came = messages.iter().skip(disowned.len());
                disowned.extend(came.map(|message| wants::disowned(message, *until)));
                &disowned[..]
            }
            None => messages,
        };
        let Some(found) = self.check.list(judged, kept, rules, facts) else {
            self.mended = MessageList::new();
            return None;
        };
        if found.repairs.is_empty() && refused.is_none() {
            self.mended = MessageList::new();
            return Some(Legal { list: list.clone(), repairs: Vec::new(), prefix: found.prefix });
        }
        self.mended.truncate(found.kept);
        let came = found.messages.iter().skip(self.mended.len());
        self.mended.extend(came.cloned());
        Some(Legal { list: self.mended.clone(), repairs: found.repairs.to_vec(), prefix: found.prefix })
    }

    /// Whether the messages are those of a list that was rendered whole; builds with debug assertions ask before each request.
    pub(crate) fn shows(&self, rendered: &[Message]) -> bool {
        self.list().iter().map(|message| &**message).eq(rendered)
    }

    /// Whether a look at the whole list comes to the same, asked likewise.
    pub(crate) fn agrees(&self, legal: &Legal, rules: &WireRules, facts: &RequestFacts) -> bool {
        let judged = self.disowned.as_ref().map_or(self.messages(), |(_, disowned)| disowned);
        let whole: Vec<Message> = judged.iter().map(|message| Message::clone(message)).collect();
        let sanitized = sanitize(&whole, rules, facts);
        sanitized.repairs == legal.repairs
            && !sanitized.thinking_off
            && legal.list.iter().map(|message| &**message).eq(&*sanitized.messages)
    }

    /// Returns the messages with notes and marks, where the model may revert.
    pub fn live(&self) -> &Live {
        &self.live
    }
}

/// The trunk without notes and marks, with summaries in place of what they cover.
#[derive(Default)]
struct Plain {
    ids: Vec<NodeId>,
    moves: usize,
    messages: Vec<Arc<Message>>,
    list: MessageList,
}

impl Plain {
    /// Returns how many messages, from the first, are what they were.
    fn refresh(&mut self, tree: &MessageTree) -> usize {
        let kept = self.take(tree);
        self.list.truncate(kept);
        self.list.extend(self.messages[kept..].iter().cloned());
        kept
    }

    fn take(&mut self, tree: &MessageTree) -> usize {
        let ids = tree.trunk().ids();
        let moved = std::mem::replace(&mut self.moves, tree.moves().len()) != tree.moves().len();
        let same = |(old, new): &(&NodeId, &NodeId)| old == new;
        if !tree.covering().is_empty() || ids.len() < self.ids.len() {
            self.ids.clear();
        } else if moved {
            let shared = self.ids.iter().zip(ids).take_while(same).count();
            self.ids.truncate(shared);
        }
        let kept = self.ids.len();
        if tree.covering().is_empty() {
            self.messages.truncate(kept);
            let came = ids[kept..].iter().filter_map(|id| tree.node(*id).ok());
            self.messages.extend(came.map(|node| Arc::clone(node.shared())));
            self.ids.extend_from_slice(&ids[kept..]);
            return kept;
        }
        let now: Vec<_> = tree.trunk().items().map(|item| Arc::clone(item.node().shared())).collect();
        let kept = self.messages.iter().zip(&now).take_while(|(old, new)| Arc::ptr_eq(old, new)).count();
        self.messages = now;
        kept
    }
}
