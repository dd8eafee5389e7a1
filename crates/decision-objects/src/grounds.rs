//! Whether what a decision names is its own run's.
//!
//! A decision holds ids only, and an id does not say whose it is; so this is asked where the objects are at hand:
//! when a run is decided, and again when decisions come back from a place that others could write to.

use crate::{Alternative, Decision, Evidence, EvidenceId, PatchSet, PatchSetId, RunId};

/// Why a decision does not rest on what it names.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GroundsError {
    /// The patch set was made by another run.
    #[error("patch set {patch_set} belongs to run {owner}, not to run {run}")]
    ForeignPatchSet {
        /// The patch set.
        patch_set: PatchSetId,
        /// The run that made it.
        owner: RunId,
        /// The run that is decided.
        run: RunId,
    },
    /// A named patch set was not handed over, so nobody knows whose it is.
    #[error("patch set {patch_set} is named, but not among those that were handed over")]
    MissingPatchSet {
        /// The patch set.
        patch_set: PatchSetId,
    },
    /// The evidence was found by another run.
    #[error("evidence {evidence} belongs to run {owner}, not to run {run}")]
    ForeignEvidence {
        /// The evidence.
        evidence: EvidenceId,
        /// The run that found it.
        owner: RunId,
        /// The run that is decided.
        run: RunId,
    },
    /// Named evidence was not handed over, so nobody knows whose it is.
    #[error("evidence {evidence} is named, but not among what was handed over")]
    MissingEvidence {
        /// The evidence.
        evidence: EvidenceId,
    },
}

impl Decision {
    /// Checks that every patch set and all evidence that the decision names is of its run.
    ///
    /// [`Run::decide`](crate::Run::decide) has done so; a decision that was parsed or imported has not been checked.
    /// More may be handed over than is named.
    ///
    /// # Errors
    ///
    /// [`GroundsError`] for the first that is of another run or was not handed over.
    pub fn check_grounds(&self, patch_sets: &[PatchSet], evidence: &[Evidence]) -> Result<(), GroundsError> {
        let run = self.run();
        let rejected = self.considered().iter().filter_map(|considered| match considered.alternative {
            Alternative::PatchSet(patch_set) => Some(patch_set),
            Alternative::Named(_) => None,
        });
        for patch_set in self.verdict().patch_set().into_iter().chain(rejected) {
            match patch_sets.iter().find(|known| known.id() == patch_set).map(PatchSet::run) {
                Some(owner) if owner == run => {}
                Some(owner) => return Err(GroundsError::ForeignPatchSet { patch_set, owner, run }),
                None => return Err(GroundsError::MissingPatchSet { patch_set }),
            }
        }
        for &evidence_id in self.evidence() {
            match evidence.iter().find(|known| known.id() == evidence_id).map(Evidence::run) {
                Some(owner) if owner == run => {}
                Some(owner) => {
                    return Err(GroundsError::ForeignEvidence { evidence: evidence_id, owner, run });
                }
                None => return Err(GroundsError::MissingEvidence { evidence: evidence_id }),
            }
        }
        Ok(())
    }
}
