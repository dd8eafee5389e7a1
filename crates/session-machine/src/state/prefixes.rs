//! Behind what answers were written, as far as the log says so.
//!
//! What an import brings along is not believed: then nothing is known of its answers, and the service says what it does not take.

use trunkline_sanitize::Prefixes;
use trunkline_session_store::Note;

use crate::notes::answer::WrittenUnder;
use crate::notes::record;

/// What the log holds of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Part {
    known: Prefixes,
}

impl Part {
    pub(crate) fn record(&mut self, note: &Note) {
        // What another version wrote must not make the whole session unreadable: of that answer nothing is known then.
        if let Ok(WrittenUnder { node, prefix }) = record::read(note) {
            self.known.insert(node, prefix);
        }
    }

    /// Forgets what came with an import.
    pub(crate) fn distrust(&mut self) {
        self.known = Prefixes::default();
    }

    pub(crate) fn known(&self) -> &Prefixes {
        &self.known
    }
}
