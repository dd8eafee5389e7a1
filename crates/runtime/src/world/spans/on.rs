//! The spans, as `tracing` has them.

use std::future::Future;

use tracing::Instrument as _;
use tracing::field::Empty;
use tracing::instrument::Instrumented;
use trunkline_message_tree::{Message, Origin, StopReason};
use trunkline_providers::ProviderError;
use trunkline_resolve_queue::{Attempt, Outcome};
use trunkline_session_machine::{CallPlace, RuntimeError, Stop, ToolOutput};
use trunkline_session_store::SessionId;

/// What collectors filter by.
const TARGET: &str = "trunkline_runtime";

#[derive(Clone)]
pub(crate) struct Span(tracing::Span);

impl Span {
    /// From a prompt, or a resume, to where it stops.
    pub(crate) fn drive(session: &SessionId, origin: &Origin) -> Self {
        Span(tracing::info_span!(
            target: TARGET,
            "invoke_agent",
            "otel.kind" = "internal",
            "gen_ai.operation.name" = "invoke_agent",
            "gen_ai.provider.name" = origin.provider.as_str(),
            "gen_ai.request.model" = origin.model.as_str(),
            "gen_ai.conversation.id" = session.as_str(),
            "trunkline.stop" = Empty,
            "error.type" = Empty,
        ))
    }

    /// One attempt to ask a model; what is asked beside a conversation, as for a summary, names none.
    pub(crate) fn request(session: Option<&SessionId>, origin: &Origin) -> Self {
        Span(tracing::info_span!(
            target: TARGET,
            "chat",
            "otel.name" = format_args!("chat {}", origin.model),
            "otel.kind" = "client",
            "gen_ai.operation.name" = "chat",
            "gen_ai.provider.name" = origin.provider.as_str(),
            "gen_ai.request.model" = origin.model.as_str(),
            "gen_ai.conversation.id" = session.map(SessionId::as_str),
            "gen_ai.response.finish_reasons" = Empty,
            "gen_ai.usage.input_tokens" = Empty,
            "gen_ai.usage.output_tokens" = Empty,
            "gen_ai.usage.cache_read.input_tokens" = Empty,
            "gen_ai.usage.cache_creation.input_tokens" = Empty,
            "gen_ai.usage.reasoning.output_tokens" = Empty,
            "error.type" = Empty,
        ))
    }

    /// One call of a tool.
    pub(crate) fn call(session: &SessionId, tool: &str, call: &CallPlace) -> Self {
        Span(tracing::info_span!(
            target: TARGET,
            "execute_tool",
            "otel.name" = format_args!("execute_tool {tool}"),
            "otel.kind" = "internal",
            "gen_ai.operation.name" = "execute_tool",
            "gen_ai.tool.name" = tool,
            "gen_ai.tool.type" = "function",
            "gen_ai.tool.call.id" = call.id.as_str(),
            "gen_ai.conversation.id" = session.as_str(),
            "error.type" = Empty,
        ))
    }

    /// One attempt to apply what was approved.
    pub(crate) fn apply(session: &SessionId, tool: &str, attempt: Attempt) -> Self {
        Span(tracing::info_span!(
            target: TARGET,
            "apply",
            "otel.kind" = "internal",
            "gen_ai.tool.name" = tool,
            "gen_ai.conversation.id" = session.as_str(),
            "trunkline.attempt" = %attempt,
            "trunkline.outcome" = Empty,
            "error.type" = Empty,
        ))
    }

    pub(crate) fn around<F: Future>(&self, future: F) -> Instrumented<F> {
        future.instrument(self.0.clone())
    }

    pub(crate) fn stopped(self, stop: &Result<Stop, RuntimeError>) {
        let word = match stop {
            Ok(Stop::Decided(_)) => "decided",
            Ok(Stop::Waiting(_)) => "waiting",
            Ok(Stop::Cancelled) => "cancelled",
            Ok(Stop::Limit(_)) => "limit",
            Ok(Stop::Idle) => "idle",
            Ok(_) => "other",
            Err(fault) => {
                self.0.record("error.type", class_of(fault));
                return;
            }
        };
        self.0.record("trunkline.stop", word);
    }

    pub(crate) fn answered(self, message: Option<&Message>, fault: Option<&ProviderError>) {
        if let Some(fault) = fault {
            self.0.record("error.type", class_of_service(fault));
        }
        let Some(message) = message else { return };
        if let Some(stop) = &message.stop {
            self.0.record("gen_ai.response.finish_reasons", reason(stop));
        }
        let Some(usage) = message.usage else { return };
        self.0.record("gen_ai.usage.input_tokens", usage.input_tokens);
        self.0.record("gen_ai.usage.output_tokens", usage.output_tokens);
        self.0.record("gen_ai.usage.cache_read.input_tokens", usage.cache_read_tokens);
        self.0.record("gen_ai.usage.cache_creation.input_tokens", usage.cache_write_tokens);
        self.0.record("gen_ai.usage.reasoning.output_tokens", usage.reasoning_tokens);
    }

    pub(crate) fn returned(self, output: &ToolOutput) {
        if output.is_error {
            self.0.record("error.type", "tool_error");
        }
    }

    pub(crate) fn applied(self, outcome: &Outcome) {
        let word = match outcome {
            Outcome::Applied => "applied",
            Outcome::Failed { .. } => "failed",
            Outcome::Unknown { .. } => "unknown",
        };
        self.0.record("trunkline.outcome", word);
        if word != "applied" {
            self.0.record("error.type", word);
        }
    }
}

/// A word for a class of error, of which there are few.
fn class_of(fault: &RuntimeError) -> &'static str {
    match fault {
        RuntimeError::Store(_) => "store",
        RuntimeError::TakenOver { .. } => "taken_over",
        RuntimeError::Provider(fault) | RuntimeError::NotAskedAgain(fault) => class_of_service(fault),
        RuntimeError::NothingCame { .. } => "nothing_came",
        RuntimeError::NoExecutor { .. } => "no_executor",
        RuntimeError::Workspace(_) => "workspace",
        _ => "_OTHER",
    }
}

fn class_of_service(fault: &ProviderError) -> &'static str {
    use trunkline_providers::ErrorKind;
    match fault.kind() {
        Some(ErrorKind::Auth) => "authentication",
        Some(ErrorKind::Quota) => "quota",
        Some(ErrorKind::RateLimited) => "rate_limit",
        Some(ErrorKind::Overloaded) => "overloaded",
        Some(ErrorKind::InvalidRequest) => "invalid_request",
        Some(ErrorKind::ContextTooLong) => "context_too_long",
        Some(ErrorKind::NotFound) => "not_found",
        Some(ErrorKind::Server) => "server",
        _ => "_OTHER",
    }
}

/// What a service calls it is its own, and may be anything.
fn reason(stop: &StopReason) -> &'static str {
    match stop {
        StopReason::EndTurn => "end_turn",
        StopReason::ToolUse => "tool_use",
        StopReason::MaxTokens => "max_tokens",
        StopReason::StopSequence => "stop_sequence",
        StopReason::Refusal => "refusal",
        StopReason::ContextWindow => "context_window",
        StopReason::Pause => "pause",
        StopReason::Cancelled => "cancelled",
        StopReason::Cut => "cut",
        _ => "other",
    }
}
