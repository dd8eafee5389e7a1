//! What a request can ask for, and what a wire makes of it.
//!
//! Each wire answers for each feature once, in [`Wire::support`](crate::Wire::support). The table in the README is
//! printed from these answers, and [`check`] refuses by them, so the two cannot disagree.

use trunkline_message_tree::ToolChoice;

use crate::{EncodeError, Request, Thinking};

/// Something that a request can ask for.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Feature {
    /// An answer that comes piece by piece.
    Streaming,
    /// Tools with a JSON schema.
    Tools,
    /// Tools that the provider runs itself.
    ProviderTools,
    /// Tools stay on offer, and none may be called.
    ChoiceNone,
    /// Some tool must be called.
    ChoiceAny,
    /// This tool must be called.
    ChoiceNamed,
    /// Whether several calls may come at once.
    ParallelCalls,
    /// Instructions that lead the conversation.
    System,
    /// A picture in a user message.
    Image,
    /// A picture by its address.
    ImageUrl,
    /// A document in a user message.
    Document,
    /// A document by its address.
    DocumentUrl,
    /// A picture in a tool's result.
    ResultImage,
    /// A document in a tool's result.
    ResultDocument,
    /// Strings at which the model stops.
    Stop,
    /// The sampling temperature.
    Temperature,
    /// Sampling from the likeliest tokens by their sum.
    TopP,
    /// Sampling from the likeliest tokens by their number.
    TopK,
    /// Penalties for what was said before.
    Penalties,
    /// A seed.
    Seed,
    /// Reasoning switched off.
    ThinkingOff,
    /// Reasoning within a budget.
    ThinkingBudget,
    /// Reasoning by effort.
    ThinkingEffort,
    /// An answer by JSON schema.
    OutputSchema,
    /// Breakpoints for the prompt cache.
    CacheBreakpoints,
    /// A key for the prompt cache.
    CacheKey,
    /// Who the request is for.
    User,
    /// Labels.
    Metadata,
    /// The service tier.
    ServiceTier,
    /// Fields of the provider's own.
    Extra,
}

/// What a wire makes of a feature.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Support {
    /// The wire has it.
    Native,
    /// The wire has something near, and this is it; shown in the table.
    Near(&'static str),
    /// The wire has no place for it: a request that asks for it is refused.
    None,
}

impl Feature {
    /// All of them, in the order of the table.
    pub const ALL: [Feature; 30] = [
        Feature::Streaming,
        Feature::Tools,
        Feature::ProviderTools,
        Feature::ChoiceNone,
        Feature::ChoiceAny,
        Feature::ChoiceNamed,
        Feature::ParallelCalls,
        Feature::System,
        Feature::Image,
        Feature::ImageUrl,
        Feature::Document,
        Feature::DocumentUrl,
        Feature::ResultImage,
        Feature::ResultDocument,
        Feature::Stop,
        Feature::Temperature,
        Feature::TopP,
        Feature::TopK,
        Feature::Penalties,
        Feature::Seed,
        Feature::ThinkingOff,
        Feature::ThinkingBudget,
        Feature::ThinkingEffort,
        Feature::OutputSchema,
        Feature::CacheBreakpoints,
        Feature::CacheKey,
        Feature::User,
        Feature::Metadata,
        Feature::ServiceTier,
        Feature::Extra,
    ];

    /// Returns its name in a few words, for people.
    pub fn name(self) -> &'static str {
        match self {
            Feature::Streaming => "streaming",
            Feature::Tools => "tools with JSON schema",
            Feature::ProviderTools => "tools that the provider runs",
            Feature::ChoiceNone => "tool choice: none",
            Feature::ChoiceAny => "tool choice: any",
            Feature::ChoiceNamed => "tool choice: by name",
            Feature::ParallelCalls => "parallel calls switch",
            Feature::System => "instructions",
            Feature::Image => "pictures",
            Feature::ImageUrl => "pictures by address",
            Feature::Document => "documents",
            Feature::DocumentUrl => "documents by address",
            Feature::ResultImage => "pictures in results",
            Feature::ResultDocument => "documents in results",
            Feature::Stop => "stop sequences",
            Feature::Temperature => "temperature",
            Feature::TopP => "top-p",
            Feature::TopK => "top-k",
            Feature::Penalties => "penalties",
            Feature::Seed => "seed",
            Feature::ThinkingOff => "reasoning off",
            Feature::ThinkingBudget => "reasoning budget",
            Feature::ThinkingEffort => "reasoning effort",
            Feature::OutputSchema => "answer by JSON schema",
            Feature::CacheBreakpoints => "cache breakpoints",
            Feature::CacheKey => "cache key",
            Feature::User => "end user's name",
            Feature::Metadata => "labels",
            Feature::ServiceTier => "service tier",
            Feature::Extra => "fields of the provider's own",
        }
    }

    /// Whether the request, its messages aside, asks for it. What messages ask for, encoders see block by block.
    fn asked_by(self, request: &Request) -> bool {
        match self {
            Feature::Streaming => request.stream,
            Feature::Tools => !request.tools.is_empty(),
            Feature::ProviderTools => !request.provider_tools.is_empty(),
            Feature::ChoiceNone => request.tool_choice == ToolChoice::None && request.offers_tools(),
            Feature::ChoiceAny => request.tool_choice == ToolChoice::Any,
            Feature::ChoiceNamed => matches!(request.tool_choice, ToolChoice::Named(_)),
            Feature::ParallelCalls => request.parallel_calls.is_some(),
            Feature::Stop => !request.stop.is_empty(),
            Feature::Temperature => request.temperature.is_some(),
            Feature::TopP => request.top_p.is_some(),
            Feature::TopK => request.top_k.is_some(),
            Feature::Penalties => request.frequency_penalty.is_some() || request.presence_penalty.is_some(),
            Feature::Seed => request.seed.is_some(),
            Feature::ThinkingOff => request.thinking == Thinking::Off,
            Feature::ThinkingBudget => matches!(request.thinking, Thinking::Budget(_)),
            Feature::ThinkingEffort => matches!(request.thinking, Thinking::Effort(_)),
            Feature::OutputSchema => request.output.is_some(),
            Feature::CacheKey => request.cache_key.is_some(),
            Feature::User => request.user.is_some(),
            Feature::Metadata => !request.metadata.is_empty(),
            Feature::ServiceTier => request.service_tier.is_some(),
            Feature::Extra => !request.extra.is_empty(),
            // A hint, which is never refused.
            Feature::CacheBreakpoints => false,
            Feature::System
            | Feature::Image
            | Feature::ImageUrl
            | Feature::Document
            | Feature::DocumentUrl
            | Feature::ResultImage
            | Feature::ResultDocument => false,
        }
    }
}

/// Refuses a request that asks for what the wire does not have.
pub(crate) fn check(
    request: &Request,
    wire: &'static str,
    support: impl Fn(Feature) -> Support,
) -> Result<(), EncodeError> {
    let numbers = [request.temperature, request.top_p, request.frequency_penalty, request.presence_penalty];
    // JSON would say `null` for it.
    if numbers.into_iter().flatten().any(|number| !number.is_finite()) {
        return Err(EncodeError::Unsupported { wire, what: "a number that is not finite" });
    }
    let asked = Feature::ALL.into_iter().filter(|feature| feature.asked_by(request));
    for feature in asked {
        let forced = matches!(feature, Feature::ChoiceNone | Feature::ChoiceAny | Feature::ChoiceNamed);
        match support(feature) {
            Support::None => return Err(EncodeError::Unsupported { wire, what: feature.name() }),
            // For choices something near means that the model is asked in words.
            Support::Near(_) if forced && !request.soft_choice => {
                return Err(EncodeError::Unsupported { wire, what: feature.name() });
            }
            _ => {}
        }
    }
    Ok(())
}
