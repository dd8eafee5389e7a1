//! What an agent is set up to do, as values.

use std::time::Duration;

use serde_json::{Map, Value};
use trunkline_message_tree::{Origin, ToolSpec};
use trunkline_providers::{Feature, Support, Thinking};
use trunkline_revert::CompactPolicy;

use crate::catalogue::Catalogue;
use crate::layers::{resolve, revert};
use crate::notes::service::Service;
use crate::words::retries::Retries;
use crate::{choices, prompt};

/// What an agent is set up to do.
pub struct Setup {
    /// Who is asked.
    pub model: AskedModel,
    /// How it is asked.
    pub asking: Asking,
    /// Its tools.
    pub catalogue: Catalogue,
    /// What a model is offered: all of the above and of the layers, from when the agent was built.
    pub(crate) tools: Vec<ToolSpec>,
    /// How it may leave a branch; `None` if it may not.
    pub revert: revert::Setting,
    /// When a summary takes the place of older messages; `None` if it never does unless a service demands it.
    pub compaction: Option<CompactPolicy>,
    /// Whether what a branch came to can be asked of a summarizer.
    pub summarizes: bool,
    /// Who decides on proposals and commands.
    pub resolve: resolve::Setting,
    /// How the model is brought to decide.
    pub choices: choices::Setting,
    /// The time that a proposal has if its tool gives it none.
    pub expire_after: Option<Duration>,
    /// What is done with the files of a run.
    pub files: Files,
}

/// A model that is asked, and what its service makes of what a request may hold.
#[derive(Clone, Debug)]
pub struct AskedModel {
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
pub struct Asking {
    /// The most that it may write in one answer.
    pub max_output_tokens: u32,
    /// The sampling temperature; `None` for the provider's own.
    pub temperature: Option<f32>,
    /// Whether and how much it reasons.
    pub thinking: Thinking,
    /// Fields that are added to the body of each request.
    pub extra: Map<String, Value>,
    /// Whether the model takes signed reasoning back only behind what it was written behind; `None` leaves it to what is known of it.
    pub bound_reasoning: Option<bool>,
    /// How often and how patiently it is asked again.
    pub retries: Retries,
}

/// What an agent does with the files of a run. By default it does not know where they are.
#[derive(Clone, Copy, Debug, Default)]
pub struct Files {
    /// Whether it knows where they are.
    pub looks: bool,
    /// Whether what is committed is bound in the same step.
    pub binds: bool,
    /// Whether commits name their decisions.
    pub names_decisions: bool,
}

impl AskedModel {
    /// Returns a model of that wire; `support` says what its service makes of a feature.
    pub fn new(origin: Origin, wire: &str, support: impl Fn(Feature) -> Support) -> Self {
        AskedModel {
            origin,
            wire: wire.to_owned(),
            can_name_a_tool: support(Feature::ChoiceNamed) == Support::Native,
            can_demand_a_call: support(Feature::ChoiceAny) == Support::Native,
            can_stop_reasoning: support(Feature::ThinkingOff) != Support::None,
        }
    }

    /// Returns the service that is asked, as the log calls it.
    pub(crate) fn service(&self) -> Service {
        Service::of(&self.origin, &self.wire)
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
    pub fn new(model: AskedModel) -> Self {
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
    pub fn complete(&mut self) {
        let window = revert::window(self);
        revert::set_window(&mut self.revert, window);
        self.tools = prompt::tools(self);
    }
}
