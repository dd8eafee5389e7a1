//! Versions in the names of Anthropic's models, and how each of them is asked to reason.
//!
//! Live answers that users published (read 2026-11): models before 4.6 know budgets only, from 4.7 on a budget is refused.

use crate::{Effort, Thinking};

/// Reads `claude-3-5-haiku-…` and `claude-opus-4-6-v1`; `None` for a name that tells no version.
pub(crate) fn claude_version(name: &str) -> Option<(u32, u32)> {
    if name.starts_with("claude-instant") || name.starts_with("claude-v") {
        return Some((2, 0));
    }
    // A date is no version.
    let number = |part: &str| part.parse::<u32>().ok().filter(|number| *number < 1000);
    let mut parts = name.split(['-', ':', '@']).skip_while(|part| number(part).is_none());
    let major = parts.next().and_then(number)?;
    Some((major, parts.next().and_then(number).unwrap_or(0)))
}

/// Returns what a model of this version can be asked for that comes nearest; `limit` is the most tokens that it may write.
pub(crate) fn fitting(thinking: Thinking, version: (u32, u32), limit: u32) -> Thinking {
    match thinking {
        Thinking::Budget(budget) if version >= (4, 7) => Thinking::Effort(Effort::of_budget(budget)),
        Thinking::Effort(effort) if version < (4, 6) => {
            // At least 1024 are asked for (Anthropic's documents, read 2026-11), and some are left for the answer.
            Thinking::Budget(effort.budget().min(limit.saturating_sub(1024).max(1024)))
        }
        thinking => thinking,
    }
}
