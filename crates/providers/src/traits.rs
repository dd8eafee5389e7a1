//! What one service wants otherwise than others of its wire.
//!
//! A closed list: whatever a service says can only choose from it. Each of them was asked for by a service that people
//! use, in words that [`learn`](crate::Wire::learn) knows (read in public issues and in services' documents, 2026-11).

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Effort, Request, Thinking, bound_reasoning};

/// One thing that a service wants.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Trait {
    /// The limit of output is called `max_tokens` (Chat).
    MaxTokens,
    /// The limit of output is called `max_completion_tokens` (Chat).
    MaxCompletionTokens,
    /// No limit of output is taken (Chat, Responses, Gemini, Bedrock, Ollama).
    NoTokenLimit,
    /// `stream_options` is not known (Chat).
    NoStreamOptions,
    /// Temperature and top-p are the model's own business.
    NoTemperature,
    /// Whether calls may be parallel cannot be said (Chat, Responses).
    NoParallelCalls,
    /// Whether and how much the model reasons cannot be said.
    NoThinkingSwitch,
    /// The model reasons as it sees fit, and takes an effort in place of a budget (Anthropic).
    AdaptiveThinking,
    /// The model takes a budget for reasoning and no effort (Anthropic).
    BudgetThinking,
    /// Encrypted reasoning cannot be asked for (Responses).
    NoEncryptedReasoning,
    /// Instructions are a message of the role `developer` (Chat).
    InstructionsOfDeveloper,
    /// Instructions are a message of the role `user` (Chat).
    InstructionsOfUser,
    /// The words of a result are a list of parts (Chat).
    ResultsAsParts,
    /// Each call that is sent back has its reasoning beside it, empty where there was none, also when its turn is long over.
    ReasoningBesideCalls,
    /// Reasoning is not taken back.
    NoReasoningBack,
    /// Reasoning goes back as it came, in `reasoning` (Chat; else it is `reasoning_content`).
    ReasoningInReasoning,
    /// Reasoning goes back as it came, in `reasoning_details` (Chat).
    ReasoningInDetails,
    /// Reasoning comes without a signature, and goes back so (Anthropic).
    UnsignedReasoning,
    /// Reasoning that it was sent so far is not taken back: its signatures are wrong, or it is not what it was. What comes after
    /// it goes back as before.
    ///
    /// It is about a conversation and not about what is written how, so it changes no encoding: whoever keeps the conversation
    /// leaves that reasoning out, and asks a model not to reason whose running tool loop has lost it.
    NoEarlierReasoning,
    /// Signed reasoning is taken back only behind exactly what it was written behind: the same tools, instructions and messages.
    ///
    /// It is about a conversation as well, and changes no encoding. A refusal that says it refuses the reasoning so far too.
    /// Of some models it is known by their name: [`Traits::of_model`].
    BoundReasoning,
}

impl Trait {
    /// All of them.
    pub const ALL: [Trait; 20] = [
        Trait::MaxTokens,
        Trait::MaxCompletionTokens,
        Trait::NoTokenLimit,
        Trait::NoStreamOptions,
        Trait::NoTemperature,
        Trait::NoParallelCalls,
        Trait::NoThinkingSwitch,
        Trait::AdaptiveThinking,
        Trait::BudgetThinking,
        Trait::NoEncryptedReasoning,
        Trait::InstructionsOfDeveloper,
        Trait::InstructionsOfUser,
        Trait::ResultsAsParts,
        Trait::ReasoningBesideCalls,
        Trait::NoReasoningBack,
        Trait::ReasoningInReasoning,
        Trait::ReasoningInDetails,
        Trait::UnsignedReasoning,
        Trait::NoEarlierReasoning,
        Trait::BoundReasoning,
    ];

    /// Returns its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Trait::MaxTokens => "max_tokens",
            Trait::MaxCompletionTokens => "max_completion_tokens",
            Trait::NoTokenLimit => "no_token_limit",
            Trait::NoStreamOptions => "no_stream_options",
            Trait::NoTemperature => "no_temperature",
            Trait::NoParallelCalls => "no_parallel_calls",
            Trait::NoThinkingSwitch => "no_thinking_switch",
            Trait::AdaptiveThinking => "adaptive_thinking",
            Trait::BudgetThinking => "budget_thinking",
            Trait::NoEncryptedReasoning => "no_encrypted_reasoning",
            Trait::InstructionsOfDeveloper => "instructions_of_developer",
            Trait::InstructionsOfUser => "instructions_of_user",
            Trait::ResultsAsParts => "results_as_parts",
            Trait::ReasoningBesideCalls => "reasoning_beside_calls",
            Trait::NoReasoningBack => "no_reasoning_back",
            Trait::ReasoningInReasoning => "reasoning_in_reasoning",
            Trait::ReasoningInDetails => "reasoning_in_details",
            Trait::UnsignedReasoning => "unsigned_reasoning",
            Trait::NoEarlierReasoning => "no_earlier_reasoning",
            Trait::BoundReasoning => "bound_reasoning",
        }
    }

    /// Returns the one of that name; `None` if this version knows no such.
    pub fn named(name: &str) -> Option<Self> {
        Trait::ALL.into_iter().find(|one| one.name() == name)
    }

    /// What it is about: of two about the same, the later one counts.
    fn topic(self) -> u8 {
        match self {
            Trait::MaxTokens | Trait::MaxCompletionTokens | Trait::NoTokenLimit => 0,
            Trait::NoStreamOptions => 1,
            Trait::NoTemperature => 2,
            Trait::NoParallelCalls => 3,
            Trait::NoThinkingSwitch | Trait::AdaptiveThinking | Trait::BudgetThinking => 4,
            Trait::NoEncryptedReasoning => 5,
            Trait::InstructionsOfDeveloper | Trait::InstructionsOfUser => 6,
            Trait::ResultsAsParts => 7,
            Trait::ReasoningBesideCalls | Trait::NoReasoningBack => 8,
            Trait::ReasoningInReasoning | Trait::ReasoningInDetails => 9,
            Trait::UnsignedReasoning => 10,
            Trait::NoEarlierReasoning => 11,
            Trait::BoundReasoning => 12,
        }
    }
}

/// A clause for people, after "it wants": `the limit of output as max_completion_tokens`.
impl fmt::Display for Trait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Trait::MaxTokens => "the limit of output as max_tokens",
            Trait::MaxCompletionTokens => "the limit of output as max_completion_tokens",
            Trait::NoTokenLimit => "no limit of output",
            Trait::NoStreamOptions => "no stream_options",
            Trait::NoTemperature => "no temperature and no top-p",
            Trait::NoParallelCalls => "no word about parallel calls",
            Trait::NoThinkingSwitch => "no word about reasoning",
            Trait::AdaptiveThinking => "an effort and no budget for reasoning",
            Trait::BudgetThinking => "a budget and no effort for reasoning",
            Trait::NoEncryptedReasoning => "not to be asked for encrypted reasoning",
            Trait::InstructionsOfDeveloper => "instructions of the role developer",
            Trait::InstructionsOfUser => "instructions of the role user",
            Trait::ResultsAsParts => "results as lists of parts",
            Trait::ReasoningBesideCalls => "the reasoning of each call back",
            Trait::NoReasoningBack => "no reasoning back",
            Trait::ReasoningInReasoning => "reasoning back in the field reasoning",
            Trait::ReasoningInDetails => "reasoning back in the field reasoning_details",
            Trait::UnsignedReasoning => "reasoning back without a signature",
            Trait::NoEarlierReasoning => "none of the reasoning so far",
            Trait::BoundReasoning => "reasoning back only behind what it was written behind",
        })
    }
}

/// What is known of what a service wants. The default knows nothing.
///
/// ```
/// use trunkline_providers::{Trait, Traits};
///
/// let mut traits = Traits::default();
/// traits.insert(Trait::MaxCompletionTokens);
/// // About one thing the later word counts.
/// traits.insert(Trait::NoTokenLimit);
/// assert_eq!(traits.iter().collect::<Vec<_>>(), [Trait::NoTokenLimit]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traits {
    // Invariant: at most one of each topic.
    known: BTreeSet<Trait>,
}

impl Traits {
    /// Returns what is known of a model by its name, before its service has said anything.
    ///
    /// ```
    /// use trunkline_providers::{Trait, Traits};
    ///
    /// assert!(Traits::of_model("anthropic", "claude-opus-5-5").has(Trait::BoundReasoning));
    /// assert!(Traits::of_model("anthropic", "claude-opus-5").is_empty());
    /// ```
    pub fn of_model(wire: &str, model: &str) -> Self {
        bound_reasoning::is_known_of(wire, model).then_some(Trait::BoundReasoning).into_iter().collect()
    }

    /// Returns whether it is known that the service wants this.
    pub fn has(&self, one: Trait) -> bool {
        self.known.contains(&one)
    }

    /// Returns whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Adds one, in place of another about the same. Returns whether it was news.
    pub fn insert(&mut self, one: Trait) -> bool {
        self.known.retain(|other| other.topic() != one.topic() || *other == one);
        self.known.insert(one)
    }

    /// Takes one out.
    pub fn remove(&mut self, one: Trait) {
        self.known.remove(&one);
    }

    /// Returns them, in one order always.
    pub fn iter(&self) -> impl Iterator<Item = Trait> {
        self.known.iter().copied()
    }
}

impl FromIterator<Trait> for Traits {
    fn from_iter<I: IntoIterator<Item = Trait>>(traits: I) -> Self {
        let mut all = Traits::default();
        for one in traits {
            all.insert(one);
        }
        all
    }
}

/// Returns the request with the settings that its service wants; what is written otherwise is for the wire to see.
pub(crate) fn fitted(request: &Request) -> Cow<'_, Request> {
    if request.traits.is_empty() {
        return Cow::Borrowed(request);
    }
    let traits = &request.traits;
    let mut fitted = request.clone();
    if traits.has(Trait::NoTokenLimit) {
        fitted.max_output_tokens = None;
    }
    if traits.has(Trait::NoTemperature) {
        (fitted.temperature, fitted.top_p) = (None, None);
    }
    if traits.has(Trait::NoParallelCalls) {
        fitted.parallel_calls = None;
    }
    fitted.thinking = match request.thinking {
        _ if traits.has(Trait::NoThinkingSwitch) => Thinking::Unsaid,
        Thinking::Budget(budget) if traits.has(Trait::AdaptiveThinking) => {
            Thinking::Effort(Effort::of_budget(budget))
        }
        Thinking::Effort(effort) if traits.has(Trait::BudgetThinking) => {
            let limit = request.max_output_tokens.unwrap_or(crate::request::DEFAULT_MAX_OUTPUT_TOKENS);
            Thinking::Budget(effort.budget().min(limit.saturating_sub(1024).max(1024)))
        }
        thinking => thinking,
    };
    Cow::Owned(fitted)
}
