//! Session files of pi and oh-my-pi.
//!
//! JSON lines: a header, then entries that each name the one that they continue. Facts are from the sources of pi 1.5.2
//! and oh-my-pi 18.3.4, read 2026-11, where nothing else is said.

mod ancestors;
mod chain;
mod edits;
mod encode;
mod known;
mod message;
mod read;
mod write;

pub(crate) use read::read;
pub(crate) use write::write;

/// The name of blocks that only these agents understand.
const WIRE: &str = "pi";

/// What stands around the summary of a compaction when it is sent.
const COMPACTION: (&str, &str) = (
    "The conversation history before this point was compacted into the following summary:\n\n<summary>\n",
    "\n</summary>",
);

/// What stands around the summary of a branch when it is sent.
const BRANCH: (&str, &str) = (
    "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n",
    "</summary>",
);

/// The words in place of reasoning that the provider encrypted.
const REDACTED: &str = "[Reasoning redacted]";

/// Provider and model of an answer of which neither is known.
const UNKNOWN: &str = "unknown";

/// The fields of Chat Completions in which reasoning comes. Their names stand where other wires have a signature.
const REASONING: [&str; 3] = ["reasoning_content", "reasoning", "reasoning_text"];
