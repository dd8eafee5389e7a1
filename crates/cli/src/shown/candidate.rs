//! The candidates of a run, each in a line.

use trunkline_runtime::{Candidate, CandidateOf};

use crate::shown::decision::size;
use crate::term::text::count;

/// Returns a candidate in a line: its number, what it changes, where it comes from.
pub(crate) fn candidate(candidate: &Candidate) -> String {
    let of = match &candidate.of {
        CandidateOf::Proposal(id) => format!("{id}, put aside"),
        CandidateOf::Branch { end, applied } => {
            format!("applied on the branch at {end}, which was left ({})", count(applied.len(), "proposal"))
        }
        _ => "what the run has changed".to_owned(),
    };
    format!("{}  {}  {of}", candidate.sequence, size(&candidate.patch_set))
}
