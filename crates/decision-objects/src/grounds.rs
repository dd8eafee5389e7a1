//! Whether what a decision names is its own run's.
//!
//! A decision holds ids only, and an id does not say whose it is; so this is asked where the objects are at hand:
//! when a run is decided, and again when decisions come back from a place that others could write to.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Decision, DecisionId, Evidence, EvidenceId, PatchSet, PatchSetId, RunId};

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
    /// The evidence says that another decision rests on it.
    #[error("evidence {evidence} is named by decision {decision}, and itself names decision {names}")]
    EvidenceOfAnother {
        /// The evidence.
        evidence: EvidenceId,
        /// The decision that it names.
        names: DecisionId,
        /// The decision that names it.
        decision: DecisionId,
    },
    /// Evidence that was handed over names the decision, which does not name it.
    #[error("evidence {evidence} names decision {decision}, which does not rest on it")]
    UnnamedEvidence {
        /// The evidence.
        evidence: EvidenceId,
        /// The decision.
        decision: DecisionId,
    },
    /// Named evidence was not handed over, so nobody knows whose it is.
    #[error("evidence {evidence} is named, but not among what was handed over")]
    MissingEvidence {
        /// The evidence.
        evidence: EvidenceId,
    },
}

impl Decision {
    /// Checks that every patch set and all evidence that the decision names is of its run, and that evidence which
    /// names a decision is named by it.
    ///
    /// [`Run::decide`](crate::Run::decide) has done so; a decision that was parsed or imported has not been checked.
    /// More may be handed over than is named.
    ///
    /// # Errors
    ///
    /// [`GroundsError`] for the first that is of another run or was not handed over.
    pub fn check_grounds(&self, patch_sets: &[PatchSet], evidence: &[Evidence]) -> Result<(), GroundsError> {
        let run = self.run();
        // Of two with one name both count: the one of another run must not hide behind the other.
        let mut makers: BTreeMap<PatchSetId, RunId> = BTreeMap::new();
        for set in patch_sets {
            let owner = makers.entry(set.id()).or_insert(set.run());
            if *owner == run {
                *owner = set.run();
            }
        }
        let mut known: BTreeMap<EvidenceId, &Evidence> = BTreeMap::new();
        for one in evidence {
            let kept = known.entry(one.id()).or_insert(one);
            if kept.run() == run {
                *kept = one;
            }
        }
        let rejected = self.considered().iter().filter_map(|considered| considered.alternative.patch_set());
        for patch_set in self.verdict().patch_set().into_iter().chain(rejected) {
            match makers.get(&patch_set).copied() {
                Some(owner) if owner == run => {}
                Some(owner) => return Err(GroundsError::ForeignPatchSet { patch_set, owner, run }),
                None => return Err(GroundsError::MissingPatchSet { patch_set }),
            }
        }
        for &id in self.evidence() {
            let Some(known) = known.get(&id) else {
                return Err(GroundsError::MissingEvidence { evidence: id });
            };
            if known.run() != run {
                return Err(GroundsError::ForeignEvidence { evidence: id, owner: known.run(), run });
            }
            // Evidence without a name for its decision is older than that name, and says nothing against it.
            if let Some(names) = known.decision().filter(|names| *names != self.id()) {
                return Err(GroundsError::EvidenceOfAnother { evidence: id, names, decision: self.id() });
            }
        }
        let named: BTreeSet<EvidenceId> = self.evidence().iter().copied().collect();
        let names_us = |one: &&Evidence| one.decision() == Some(self.id());
        match evidence.iter().filter(names_us).find(|one| !named.contains(&one.id())) {
            Some(one) => Err(GroundsError::UnnamedEvidence { evidence: one.id(), decision: self.id() }),
            None => Ok(()),
        }
    }
}
