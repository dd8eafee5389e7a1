//! The candidates of a run, each in a line.

use trunkline_runtime::decision_objects::PatchSet;
use trunkline_runtime::{Candidate, CandidateOf};

use crate::shown::decision::{has_counts, size, sized};
use crate::shown::parts::counts;
use crate::term::text::count;

/// Returns a candidate in a line: its number, what it changes, where it comes from.
pub(crate) fn candidate(candidate: &Candidate) -> String {
    let of = match &candidate.of {
        CandidateOf::Proposal(id) => format!("{id}, superseded"),
        CandidateOf::Branch { end, applied } => {
            format!("applied on the branch at {end}, which was left ({})", count(applied.len(), "proposal"))
        }
        _ => "what the run has changed".to_owned(),
    };
    format!("{}  {}  {of}", candidate.sequence, size_of(&candidate.patch_set))
}

/// Counts files and lines. Of a proposal nobody has counted lines, but its diff is there.
fn size_of(patch_set: &PatchSet) -> String {
    match patch_set.diff().text() {
        Some(diff) if !has_counts(patch_set) && !diff.is_empty() => {
            let sums = counts(diff).values().fold((0, 0), |sums, file| (sums.0 + file.0, sums.1 + file.1));
            sized(patch_set.files().len(), sums)
        }
        _ => size(patch_set),
    }
}
