//! Behind what answers were written, where a model takes signed reasoning back only behind that.
//!
//! A digest of the request is recorded with its answer, in one batch, so that another process knows as well whether the prefix of
//! an answer has changed since. What an import brings along is not believed: then nothing is known of its answers, and the
//! service says what it does not take.

use serde_json::{Map, Value};
use trunkline_message_tree::{Message, NodeId, Timestamp, ToolSpec};
use trunkline_providers::{Trait, Traits};
use trunkline_sanitize::{Prefix, PrefixDigest, WireRules};
use trunkline_session_store::Record;

use crate::notes::answer::{WrittenUnder, written_under};
use crate::setup::Setup;
use crate::state::State;

/// Fields that can be added to a request and that a service reads before the messages, or in their place.
const AHEAD: [&str; 8] =
    ["system", "tools", "instructions", "toolConfig", "mcp_servers", "prompt", "messages", "input"];

/// What a request was that is about to be sent, for the record beside its answer.
pub struct Asked {
    pub(crate) prefix: PrefixDigest,
    pub(crate) rules: WireRules,
}

impl Asked {
    /// Returns the record for an answer, if that holds reasoning that is bound.
    pub(crate) fn record(&self, node: NodeId, answer: &Message, at: Timestamp) -> Option<Record> {
        let written = WrittenUnder { node, prefix: self.prefix };
        self.rules.binds(answer).then(|| written_under(&written, at))
    }
}

/// Whether the model takes signed reasoning back only behind what it was written behind.
pub fn binds_reasoning(state: &State, setup: &Setup) -> bool {
    traits(state, setup).has(Trait::BoundReasoning)
}

/// Returns what is known of whom is asked: what its service has said, what its model's name says, and what the agent was
/// told, which counts before both.
pub(crate) fn traits(state: &State, setup: &Setup) -> Traits {
    let mut traits = state.wants.of(&setup.model);
    match setup.asking.bound_reasoning {
        Some(false) => traits.remove(Trait::BoundReasoning),
        Some(true) => {
            traits.insert(Trait::BoundReasoning);
        }
        None => {
            for one in Traits::of_model(&setup.model.wire, &setup.model.origin.model).iter() {
                traits.insert(one);
            }
        }
    }
    traits
}

/// Returns the digest of what a request has before its messages.
pub(crate) fn head(tools: &[ToolSpec], fields: &Map<String, Value>) -> PrefixDigest {
    let mut head = Prefix::new();
    tools.iter().for_each(|tool| head.tool(tool));
    for name in AHEAD {
        if let Some(value) = fields.get(name) {
            head.field(name, value);
        }
    }
    head.digest()
}
