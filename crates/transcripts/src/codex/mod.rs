//! Rollout files of Codex: a header, and then what happened, one record a line.
//!
//! What the model is sent are the `response_item` records alone; events tell people the same once more. Facts from its
//! source and from files that 0.171 wrote against a scripted server, read 2026-11.

mod encode;
mod item;
mod known;
mod read;
mod turns;
mod write;

pub(crate) use read::read;
pub(crate) use write::write;

/// The name of the wire that its models are asked on, for parts that only it understands.
const WIRE: &str = "openai-responses";

/// How the summary begins that takes the place of a conversation (its `summary_prefix.md`, read 2026-11).
const SUMMARY: &str = "Another language model started to solve this problem and produced a summary";
