//! What has to happen to a proposal when no turn is open.

pub use trunkline_resolve_queue::Work;

pub(crate) type Id = trunkline_resolve_queue::ProposalId;
