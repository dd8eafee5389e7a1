//! An attempt to ask the model that came to nothing.

use serde::{Deserialize, Serialize};
use trunkline_message_tree::{NodeId, Origin, Timestamp};
use trunkline_providers::ProviderError;

use crate::words::retries::Cause;

/// An attempt to ask the model that came to nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Attempt {
    /// The head that the model was asked at.
    pub head: NodeId,
    /// Which attempt of this request it was, from 1.
    pub attempt: u32,
    /// Who was asked.
    pub origin: Origin,
    /// Why it came to nothing.
    pub cause: Cause,
    /// The same in words, on one line.
    pub words: String,
    /// The id by which the answer is fetched, where the service makes it in the background: the request is not sent again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// The node that keeps what had come, beside the trunk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeId>,
    /// Whether the tokens that stand there were estimated, because the service did not say.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
    /// How long waits and further attempts have taken since the first one failed, with the wait that follows, in milliseconds.
    pub spent: u64,
    /// Until when is waited before the model is asked again; `None` if it is not by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

impl Attempt {
    /// Returns what there is to tell of an attempt that is not part of the conversation.
    pub fn beside(head: NodeId, attempt: u32, origin: Origin, fault: &ProviderError) -> Self {
        Attempt {
            head,
            attempt,
            origin,
            cause: Cause::of(fault),
            words: fault.to_string(),
            answer: None,
            node: None,
            estimated: false,
            spent: 0,
            until: None,
        }
    }
}
