//! Spans of a drive, its requests, its calls and its applies, for who collects them; without the feature `tracing` there are none.
//!
//! Names are those of OpenTelemetry's conventions for generative AI where these have one (open-telemetry/semantic-conventions-genai,
//! `docs/gen-ai/gen-ai-spans.md` and `gen-ai-agent-spans.md`, read 2026-11-28; all in development there), and `trunkline.*`
//! otherwise. Nothing that was said is in a span: no words, no arguments, no results, no labels, no errors of services.

#[cfg(not(feature = "tracing"))]
mod off;
#[cfg(feature = "tracing")]
mod on;

#[cfg(not(feature = "tracing"))]
pub(crate) use off::Span;
#[cfg(feature = "tracing")]
pub(crate) use on::Span;
