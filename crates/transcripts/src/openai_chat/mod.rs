//! Messages as the OpenAI Chat Completions API has them.
//!
//! Servers of this wire differ in what they add; fields that we do not know stay with the message they stand in.

mod older;
mod read;
mod write;

pub(crate) use older::Awaited;
pub(crate) use read::{custom_arguments, message};
pub(crate) use write::write;

/// The name of the wire, for parts that only it understands.
pub(crate) const WIRE: &str = "openai-chat";

/// Fields in which servers give and take a model's reasoning; the first that holds text counts.
pub(crate) const REASONING: [&str; 2] = ["reasoning_content", "reasoning"];
