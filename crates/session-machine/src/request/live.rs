//! The trunk with notes and marks, as a model is sent it.

use std::sync::Arc;

use trunkline_message_tree::{Message, MessageList, MessageTree, Timestamp};
use trunkline_revert::LiveContext;
use trunkline_session_store::Record;

use crate::notes;
use crate::setup::revert::Setting;
use crate::state::revert::Part;

/// Returns the trunk with notes and marks, as a model is sent it; without them if the model may not revert. Summaries
/// stand in place of what they cover in both.
/// `binds` tells that its reasoning is bound to what stands before it.
pub(crate) fn rendered(setting: &Setting, binds: bool, tree: &MessageTree, part: &Part) -> Vec<Message> {
    match setting {
        Some(reverts) => {
            let clock = trunkline_revert::Clock::new(trunkline_revert::turn(tree)).with_breaks(&part.breaks);
            let clock = clock.with_prunings(&part.prunings);
            let rendered = trunkline_revert::render_at(tree, &part.notes, &reverts.rendering(binds), &clock);
            trunkline_revert::mark(rendered.messages)
        }
        None => tree.trunk().items().map(|item| item.message().clone()).collect(),
    }
}

/// What is rendered, kept up to date; nothing if the model may not revert.
pub struct Live(Option<LiveContext>);

impl Live {
    pub(crate) fn new(setting: &Setting, binds: bool) -> Self {
        Live(setting.as_ref().map(|reverts| LiveContext::new(reverts.rendering(binds))))
    }

    /// Returns how many messages, from the first, are what they were.
    pub(crate) fn refresh(&mut self, tree: &MessageTree, part: &Part) -> Option<usize> {
        self.0.as_mut().map(|context| {
            context.leave_out(&part.prunings);
            context.refresh(tree, &part.notes, &part.breaks)
        })
    }

    pub(crate) fn messages(&self) -> Option<&[Arc<Message>]> {
        self.0.as_ref().map(LiveContext::messages)
    }

    pub(crate) fn list(&self) -> Option<&MessageList> {
        self.0.as_ref().map(LiveContext::list)
    }

    /// Returns how many notes are shown longer than they have to be, and how many messages stay in the cache for that.
    pub fn delayed(&self, part: &Part) -> Option<(usize, usize)> {
        let delayed = self.0.as_ref()?.delayed(&part.notes);
        let messages = delayed.iter().map(|(_, messages)| *messages).max()?;
        Some((delayed.len(), messages))
    }

    /// Returns the record of the place from which on the next request does not continue the one before it.
    pub fn cache_break(&self, tree: &MessageTree, part: &Part, at: Timestamp) -> Option<Record> {
        let lost = self.0.as_ref()?.cache_break(tree, &part.notes, &part.breaks)?;
        Some(notes::revert::broke(&lost, at))
    }
}
