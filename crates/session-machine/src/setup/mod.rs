//! What an agent is set up to do, as values.

pub mod catalogue;
pub mod choices;
pub mod close_request;
pub mod plan;
pub mod resolve;
pub mod revert;

use std::time::Duration;

use serde_json::{Map, Value};
use trunkline_message_tree::{Origin, ToolSpec};
use trunkline_providers::{Feature, OutputSchema, Support, Thinking};
use trunkline_resolve_queue::resolve_tool;
use trunkline_revert::{
    CompactPolicy, MERGE_TOOL_NAME, OUTLINE_TOOL_NAME, PRUNE_TOOL_NAME, RECALL_TOOL_NAME, RETURN_TOOL_NAME,
    TOOL_NAME,
};

use crate::notes;
use crate::notes::service::Service;
use crate::setup::catalogue::Catalogue;
use crate::words::retries::Retries;

/// What is left out of a request whose service has no place for it: an agent can do without, and says so beforehand.
const LEFT_OUT: [Feature; 3] = [Feature::OutputSchema, Feature::Stop, Feature::Seed];

/// The names of the tools that layers offer a model, on or off: what a project declares may have none of them.
pub const LAYER_TOOLS: &[&str] = &[
    TOOL_NAME,
    OUTLINE_TOOL_NAME,
    MERGE_TOOL_NAME,
    RETURN_TOOL_NAME,
    PRUNE_TOOL_NAME,
    RECALL_TOOL_NAME,
    resolve_tool::NAME,
    notes::plan::TOOL,
    notes::close_request::TOOL,
];

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
    /// Whether each run needs a plan that a person approves before anything but reading is done.
    pub plans: bool,
    /// The time that a proposal has if its tool gives it none.
    pub expire_after: Option<Duration>,
    /// What is done with the files of a run.
    pub files: Files,
    /// Whether it is recorded what a session is for, from its prompts; a task that a person gives is recorded in any case.
    pub keeps_intents: bool,
    /// Where a drive ends by itself.
    pub limits: Limits,
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
    /// What its service has no place for, of what is left out of a request then.
    lacks: Vec<Feature>,
}

/// How a model is asked.
#[derive(Clone, Debug)]
pub struct Asking {
    /// The most that it may write in one answer.
    pub max_output_tokens: u32,
    /// The sampling temperature; `None` for the provider's own.
    pub temperature: Option<f32>,
    /// Strings at which it stops.
    pub stop: Vec<String>,
    /// For answers that can be had again, as far as the service goes.
    pub seed: Option<u64>,
    /// The form that its answers must have; `None` for words.
    pub output: Option<OutputSchema>,
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
    /// Whether what a run has changed is committed when it ends.
    pub commits: bool,
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
            lacks: LEFT_OUT.into_iter().filter(|feature| support(*feature) == Support::None).collect(),
        }
    }

    /// Returns the service that is asked, as the log calls it.
    pub(crate) fn service(&self) -> Service {
        Service::of(&self.origin, &self.wire)
    }

    /// Returns whether the service has a place for one of [`LEFT_OUT`].
    pub(crate) fn takes(&self, feature: Feature) -> bool {
        !self.lacks.contains(&feature)
    }
}

impl Default for Asking {
    fn default() -> Self {
        Asking {
            max_output_tokens: 8192,
            temperature: None,
            stop: Vec::new(),
            seed: None,
            output: None,
            thinking: Thinking::Unsaid,
            extra: Map::new(),
            bound_reasoning: None,
            retries: Retries::default(),
        }
    }
}

/// Where a drive ends by itself. The run stays open, and a resume starts the count again.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// How often the model is asked; a summary is not counted. 50 unless told.
    pub turns: u32,
    /// Tokens that providers counted, prompt and output together, those of summaries included. One million unless told.
    pub tokens: u64,
    /// Time from the start of the drive; a person's thinking counts. One hour unless told.
    pub time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { turns: 50, tokens: 1_000_000, time: Duration::from_secs(3600) }
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
            plans: false,
            expire_after: None,
            files: Files::default(),
            keeps_intents: false,
            limits: Limits::default(),
        }
    }

    /// Returns what was asked for and is left out of requests, because the service has no place for it.
    pub fn left_out(&self) -> Vec<Feature> {
        let asked = |feature: &Feature| match feature {
            Feature::OutputSchema => self.asking.output.is_some(),
            Feature::Stop => !self.asking.stop.is_empty(),
            _ => self.asking.seed.is_some(),
        };
        self.model.lacks.iter().copied().filter(asked).collect()
    }

    /// Completes what depends on several parts: the window that reverts reckon with, and the list of tools.
    pub fn complete(&mut self) {
        let window = self.window();
        if let Some(reverts) = &mut self.revert {
            reverts.window_tokens = window;
        }
        self.tools = self.catalogue.specs().cloned().collect();
        self.tools.extend(self.resolve_spec());
        self.tools.extend(revert::specs(&self.revert));
    }

    /// Returns how many tokens a prompt of the model may have, as far as somebody said so.
    pub(crate) fn window(&self) -> Option<u64> {
        let told = self.revert.as_ref().and_then(|reverts| reverts.window_tokens);
        told.or_else(|| self.compaction.as_ref().map(|policy| policy.window_tokens))
    }

    /// Returns whether a call is answered at the end of its turn and never run.
    pub(crate) fn is_revert_call(&self, name: &str) -> bool {
        revert::is_offered(&self.revert, name)
    }

    /// Returns whether the model may ask for the end of its run, on which a person decides, or a rule that names the tool.
    pub(crate) fn offers_close_requests(&self) -> bool {
        self.revert.as_ref().is_some_and(|reverts| reverts.decide)
    }

    pub(crate) fn is_resolve_call(&self, name: &str) -> bool {
        name == resolve_tool::NAME && self.offers_resolve()
    }

    /// Returns whether the tool `resolve` is on offer. It depends on who may decide and never on what waits: a tool that comes and
    /// goes would cost the cached prompt each time.
    pub(crate) fn offers_resolve(&self) -> bool {
        // A tool of the agent's own that is called so keeps its name.
        self.asks_to_resolve() && !self.catalogue.has(resolve_tool::NAME)
    }

    fn asks_to_resolve(&self) -> bool {
        self.resolve.model_decides() || self.choices.standing.is_some()
    }

    /// Returns the tool `resolve` as the model is offered it.
    fn resolve_spec(&self) -> Option<ToolSpec> {
        self.offers_resolve().then(|| ToolSpec {
            name: resolve_tool::NAME.to_owned(),
            description: resolve_tool::DESCRIPTION.to_owned(),
            input_schema: serde_json::from_str(resolve_tool::SCHEMA)
                .expect("the schema is a constant that a test reads"),
            strict: None,
        })
    }
}

/// Returns the names that no tool of an agent may have that can offer these.
pub fn reserved(setup: &Setup) -> impl Iterator<Item = String> {
    let resolve = setup.asks_to_resolve().then(|| resolve_tool::NAME.to_owned());
    resolve.into_iter().chain(setup.plans.then(|| plan::NAME.to_owned()))
}
