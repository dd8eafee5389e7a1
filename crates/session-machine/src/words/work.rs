//! What has to happen to a proposal.

use trunkline_resolve_queue::ProposalId;

pub(crate) type Id = ProposalId;

/// What has to happen to a proposal when no turn is open.
#[derive(Clone, Debug)]
pub enum Work {
    /// Do what was approved.
    Apply(Id),
    /// Look whether the files are again as it needs them.
    Check(Id),
    /// Find out from the files what became of it.
    LookUp(Id),
    /// Approve it, because the rules or the policy say so.
    Approve(Id),
    /// Discard it, because the rules say so.
    Forbid(Id),
    /// Drop it and tell the model why.
    Drop(Id, String),
    /// A person has to decide.
    Ask(Vec<Id>),
}
