//! What an agent is set up to do, as values.

use std::time::Duration;

use serde_json::{Map, Value};
use trunkline_message_tree::{Origin, ToolSpec};
use trunkline_providers::{Feature, Support, Thinking};
use trunkline_revert::CompactPolicy;

use crate::catalogue::Catalogue;
use crate::layers::{resolve, revert};
use crate::{Retries, choices, prompt};

/// What an agent is set up to do.
pub(crate) struct Setup {
    /// Who is asked.
    pub(crate) model: AskedModel,
    pub(crate) asking: Asking,
    pub(crate) catalogue: Catalogue,
    /// What a model is offered: all of the above and of the layers, from when the agent was built.
    pub(crate) tools: Vec<ToolSpec>,
    pub(crate) revert: revert::Setting,
    pub(crate) compaction: Option<CompactPolicy>,
    /// Whether what a branch came to can be asked of a summarizer.
    pub(crate) summarizes: bool,
    pub(crate) resolve: resolve::Setting,
    pub(crate) choices: choices::Setting,
    /// The time that a proposal has if its tool gives it none.
    pub(crate) expire_after: Option<Duration>,
    pub(crate) files: Files,
}

/// A model that is asked, and what its service makes of what a request may hold.
#[derive(Clone, Debug)]
pub(crate) struct AskedModel {
    pub(crate) origin: Origin,
    /// The name of its wire, such as `anthropic`.
    pub(crate) wire: String,
    /// Whether a request can demand a call of a tool, by its name.
    pub(crate) can_name_a_tool: bool,
    /// Whether a request can demand a call of any tool.
    pub(crate) can_demand_a_call: bool,
    /// Whether a request can say that the model is not to reason.
    pub(crate) can_stop_reasoning: bool,
}

/// How a model is asked.
#[derive(Clone, Debug)]
pub(crate) struct Asking {
    pub(crate) max_output_tokens: u32,
    pub(crate) temperature: Option<f32>,
    pub(crate) thinking: Thinking,
    /// Fields that are added to the body of each request.
    pub(crate) extra: Map<String, Value>,
    /// Whether the model takes signed reasoning back only behind what it was written behind; `None` leaves it to what is known of it.
    pub(crate) bound_reasoning: Option<bool>,
    /// How often and how patiently it is asked again.
    pub(crate) retries: Retries,
}

/// What an agent does with the files of a run. By default it does not know where they are.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Files {
    /// Whether it knows where they are.
    pub(crate) looks: bool,
    /// Whether what is committed is bound in the same step.
    pub(crate) binds: bool,
    /// Whether commits name their decisions.
    pub(crate) names_decisions: bool,
}

impl AskedModel {
    /// Returns a model of that wire; `support` says what its service makes of a feature.
    pub(crate) fn new(origin: Origin, wire: &str, support: impl Fn(Feature) -> Support) -> Self {
        AskedModel {
            origin,
            wire: wire.to_owned(),
            can_name_a_tool: support(Feature::ChoiceNamed) == Support::Native,
            can_demand_a_call: support(Feature::ChoiceAny) == Support::Native,
            can_stop_reasoning: support(Feature::ThinkingOff) != Support::None,
        }
    }
}

impl Default for Asking {
    fn default() -> Self {
        Asking {
            max_output_tokens: 8192,
            temperature: None,
            thinking: Thinking::Unsaid,
            extra: Map::new(),
            bound_reasoning: None,
            retries: Retries::default(),
        }
    }
}

impl Setup {
    /// Begins a set-up in which a model is asked and nothing else is done.
    pub(crate) fn new(model: AskedModel) -> Self {
        Setup {
            model,
            asking: Asking::default(),
            catalogue: Catalogue::default(),
            tools: Vec::new(),
            revert: revert::Setting::default(),
            compaction: None,
            summarizes: false,
            resolve: resolve::Setting::default(),
            choices: choices::Setting::default(),
            expire_after: None,
            files: Files::default(),
        }
    }

    /// Completes what depends on several parts: the window that reverts reckon with, and the list of tools.
    pub(crate) fn complete(&mut self) {
        let window = revert::window(self);
        revert::set_window(&mut self.revert, window);
        self.tools = prompt::tools(self);
    }
}
