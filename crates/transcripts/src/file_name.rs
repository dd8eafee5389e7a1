//! What an agent calls the file of a session, so that it finds it.

use trunkline_message_tree::Timestamp;

use crate::format::Format;
use crate::time;

/// Returns the name that the agent of a format gives to the file of a session, which is found by it; `None` where any name
/// does (the agents' sources, and tried, 2026-11).
///
/// ```
/// use trunkline_message_tree::Timestamp;
/// use trunkline_transcripts::{Format, file_name};
///
/// let id = "5f0c1a52-7d3e-4b8a-9c21-0a1b2c3d4e5f";
/// let name = file_name(Format::Codex, id, Timestamp(1_771_850_423_000));
/// assert_eq!(name.as_deref(), Some("rollout-2026-02-23T12-40-23-5f0c1a52-7d3e-4b8a-9c21-0a1b2c3d4e5f.jsonl"));
/// assert_eq!(file_name(Format::Anthropic, id, Timestamp(0)), None);
/// ```
pub fn file_name(format: Format, id: &str, started: Timestamp) -> Option<String> {
    let at = time::print(started).replace([':', '.'], "-");
    let until = |length: usize| at.get(..length).unwrap_or_default();
    match format {
        Format::ClaudeCode => Some(format!("{id}.jsonl")),
        Format::Codex => Some(format!("rollout-{}-{id}.jsonl", until("2026-02-23T12-40-23".len()))),
        Format::Pi => Some(format!("{at}_{id}.jsonl")),
        Format::GeminiCli => {
            let short = id.get(..8).unwrap_or(id);
            Some(format!("session-{}-{short}.jsonl", until("2026-02-23T12-40".len())))
        }
        Format::Opencode | Format::Anthropic | Format::OpenAiChat => None,
    }
}
