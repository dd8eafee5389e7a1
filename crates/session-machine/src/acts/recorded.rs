//! What is done with each batch: completed before it is written, told of once it is.

use trunkline_message_tree::Entry;
use trunkline_session_store::Record;

use crate::notes::{self, decision, record};
use crate::setup::Setup;
use crate::state::State;
use crate::words::error::RuntimeError;
use crate::words::event::Event;

/// Completes the records of a batch, whoever planned them: notes get the keys that they are found by across sessions, and runs the marks
/// of their bindings. Every batch goes through this before it is written.
///
/// # Errors
///
/// [`RuntimeError::BadNote`] if what would be written could not be read back; then nothing may be.
pub fn complete(state: &State, setup: &Setup, records: &mut Vec<Record>) -> Result<(), RuntimeError> {
    // What replay could not read must never be acknowledged: values of models and tools may be nested too deeply. A verdict has none.
    for record in &*records {
        if let Record::Note(note) = record
            && note.layer != decision::LAYER
        {
            record::read::<serde_json::Value>(note)?;
        }
    }
    state.resolve.complete(records)?;
    state.decision.complete(records, setup.files.binds);
    Ok(())
}

/// Returns what observers are told of a record that was written.
pub fn event_of(record: &Record) -> Option<Event> {
    match record {
        Record::Entry(Entry::Node { id, message, link, .. }) => {
            Some(Event::Message { node: *id, message: message.clone(), filed: link.is_filed() })
        }
        Record::Entry(Entry::Move(head_move)) => Some(Event::HeadMoved(head_move.clone())),
        Record::Note(note) => notes::revert::event(note)
            .or_else(|| notes::resolve::event(note))
            .or_else(|| notes::discard_hook::event(note))
            .or_else(|| notes::plan::event(note))
            .or_else(|| decision::event(note))
            .or_else(|| notes::binding::event(note))
            .or_else(|| notes::answer::event(note))
            .or_else(|| notes::service::event(note)),
        Record::Blob(_) => None,
    }
}
