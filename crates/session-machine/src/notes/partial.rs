//! What is read of notes where the rest does not matter: for who only looks, a note that is damaged elsewhere says this all
//! the same.

use serde::Deserialize;
use serde::de::IgnoredAny;
use trunkline_message_tree::NodeId;
use trunkline_resolve_queue::ProposalId;

/// Of a run that was opened.
#[derive(Deserialize)]
pub(crate) struct Opened {
    pub(crate) run: String,
    pub(crate) prompt: NodeId,
}

/// Of a task that was given.
#[derive(Deserialize)]
pub(crate) struct Given {
    pub(crate) task: String,
}

/// Of how a run left the files.
#[derive(Deserialize)]
pub(crate) struct Left {
    pub(crate) run: String,
}

/// Of a verdict.
#[derive(Deserialize)]
pub(crate) struct Decided {
    pub(crate) run: String,
}

/// The node that a note is about.
#[derive(Deserialize)]
pub(crate) struct About {
    #[serde(default)]
    pub(crate) call: Option<At>,
    #[serde(default)]
    pub(crate) node: Option<NodeId>,
}

/// A place by its node.
#[derive(Deserialize)]
pub(crate) struct At {
    pub(crate) node: NodeId,
}

/// Of a tool-choice queue, what reminded.
#[derive(Deserialize)]
pub(crate) struct Reminds {
    #[serde(default)]
    pub(crate) reminder: Option<At>,
}

/// Likewise, what the reply was held to, and whether a person has stored how the model is brought to decide.
#[derive(Default, Deserialize)]
pub(crate) struct Holds {
    #[serde(default)]
    pub(crate) held: Option<At>,
    #[serde(default)]
    pub(crate) policy: Option<IgnoredAny>,
}

/// Of a request to revert.
#[derive(Deserialize)]
pub(crate) struct Applied {
    pub(crate) applied: bool,
}

/// Of what is about a proposal.
#[derive(Deserialize)]
pub(crate) struct Named {
    pub(crate) proposal: ProposalId,
}
