//! What the log holds of a model's requests to end its run.

use std::collections::{BTreeMap, BTreeSet};

use trunkline_session_store::Note;

use crate::notes::close_request::{APPROVED, ApprovedNote};
use crate::notes::record;
use crate::words::error::RuntimeError;
use crate::words::work::Id;

/// What the log holds of such requests.
#[derive(Default)]
pub struct Part {
    /// The proposals that are such requests.
    requested: BTreeSet<Id>,
    /// Those that were approved here, oldest first.
    pub(crate) approved: Vec<ApprovedNote>,
    /// The words of those that a person has changed.
    edited: BTreeMap<Id, String>,
    /// The run of the newest retry that was approved, and its number in the row.
    pub(crate) row: Option<(String, u32)>,
}

impl Part {
    /// Takes in a note, and says whether it was one of these.
    pub(crate) fn record(&mut self, note: &Note) -> Result<bool, RuntimeError> {
        if note.kind != APPROVED {
            return Ok(false);
        }
        let approved: ApprovedNote = record::read(note)?;
        if approved.edited {
            self.edited.insert(approved.proposal, approved.close.words().to_owned());
        }
        if let Some(in_a_row) = approved.in_a_row {
            self.row = Some((approved.run.clone(), in_a_row));
        }
        self.approved.push(approved);
        Ok(true)
    }

    pub(crate) fn requested(&mut self, id: Id) {
        self.requested.insert(id);
    }

    /// Nothing that was approved elsewhere is done here.
    pub(crate) fn distrust(&mut self) {
        self.approved.clear();
    }

    /// Returns whether a proposal is a model's request to end its run.
    pub fn is_request(&self, id: Id) -> bool {
        self.requested.contains(&id)
    }

    /// Returns the words that a person has put in place of the model's before they approved a request.
    pub fn edited(&self, id: Id) -> Option<&str> {
        self.edited.get(&id).map(String::as_str)
    }
}
