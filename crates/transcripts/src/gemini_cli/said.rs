//! A message that was read, with the way back to its record.

use trunkline_message_tree::{Message, ToolResult};

use crate::source::Source;

/// A message, and where it was read.
#[derive(Clone, Debug)]
pub(super) struct Said {
    pub(super) message: Message,
    pub(super) source: Source,
    /// Whether it is a result in a message of the user.
    pub(super) is_loose: bool,
    /// How many results stand in its record with their calls.
    pub(super) answered: usize,
}

impl Said {
    /// Returns the result that it is.
    pub(super) fn result(&self) -> Option<&ToolResult> {
        self.message.results().next()
    }

    /// Tells which record it was read from.
    pub(super) fn set_record(&mut self, record: usize) {
        self.source.records = vec![record];
        self.source.blocks.iter_mut().for_each(|piece| piece.record = record);
    }
}
