//! Asks for a summary that is to stand for a span of the trunk.

use std::time::Duration;

use trunkline_message_tree::{Message, StopReason, Usage};
use trunkline_providers::{ProviderError, Request};
use trunkline_session_machine::request::prompt;
use trunkline_session_machine::{Attempt, Event};

use crate::world::ask_beside::ask_beside;
use crate::writer::Writer;
use trunkline_agent_traits::CompactionSummary;

/// Why there is no summary.
pub(crate) enum Unwritten {
    /// The service refused before it wrote a word.
    Refused(ProviderError),
    /// In words, and what the provider counted for the attempt.
    Told(String, Option<Usage>),
}

/// Asks for a summary: the compactor that the agent was given, or else its own model.
pub(crate) async fn summarize(writer: &Writer, ask: Vec<Message>) -> Result<CompactionSummary, Unwritten> {
    let settings = writer.settings();
    match &settings.compactor {
        Some(compactor) => compactor.summarize(ask).await.map_err(|reason| Unwritten::Told(reason, None)),
        None => summarize_by_model(writer, ask).await,
    }
}

/// Asks the model for a summary, with no tools and nothing of the conversation beside the quotation.
async fn summarize_by_model(writer: &Writer, ask: Vec<Message>) -> Result<CompactionSummary, Unwritten> {
    let settings = writer.settings();
    let provider = settings.provider.as_ref();
    let mut request = Request::new(provider.origin().model.clone(), Vec::<Message>::new());
    request.max_output_tokens = Some(settings.setup.asking.max_output_tokens);
    request.extra.clone_from(&settings.setup.asking.extra);
    request.traits = writer.state.wants.of(&settings.setup.model);
    prompt::fill(&mut request, ask, None, &settings.setup.model);
    let tell = |failed: u32, fault: &ProviderError, wait: Duration| {
        let attempt = Attempt::beside(writer.state.tree.head(), failed, provider.origin().clone(), fault);
        writer.tell(&Event::AttemptFailed { attempt, wait: Some(wait) });
    };
    let (message, usage) = match ask_beside(provider, request, settings.setup.asking.retries, tell).await {
        Ok(answered) => answered,
        Err((fault, _)) if fault.wants().is_some() => return Err(Unwritten::Refused(fault)),
        Err((fault, usage)) => return Err(Unwritten::Told(fault.to_string(), usage)),
    };
    let told = |reason: &str| Err(Unwritten::Told(reason.to_owned(), usage));
    match message.stop {
        // Half a summary would stand for the whole of what it leaves out.
        Some(StopReason::MaxTokens | StopReason::ContextWindow | StopReason::Cut | StopReason::Pause) => {
            told("the summary was cut off")
        }
        Some(StopReason::Refusal) => told("the model refused to write the summary"),
        _ => {
            let mut summary = CompactionSummary::new(message.text());
            summary.usage = usage;
            Ok(summary)
        }
    }
}
