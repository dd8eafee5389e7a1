//! Which models take signed reasoning back only behind exactly what it was written behind.
//!
//! Anthropic's documents on preserved thinking and on prefix checks, on its own pages and on Amazon's, and on Claude Fable 5.1
//! (read 2026-11): the tools, the instructions and all messages before the block have to be those of the request that it
//! answered. On accounts that are younger than 2026-08-31 a request that breaks that is refused; on others, and with some models, the block
//! is left out or let through. Mythos has such signatures too, and does not ask. OpenAI's "newer frontier models" leave reasoning out
//! behind a prefix that has changed (its guides "Keep the prefix unchanged" and "Preserved reasoning", read 2026-11); no model is
//! named there, and nothing is refused, so none stands here.

use crate::{anthropic, bedrock};

/// From which version on the models of a family ask it.
const FAMILIES: [(&str, (u32, u32)); 4] =
    [("fable", (5, 1)), ("opus", (5, 5)), ("sonnet", (5, 5)), ("haiku", (5, 5))];

/// Whether a model is known to ask it. Names are read as services write them: `claude-fable-5-1`,
/// `eu.anthropic.claude-opus-5-5-20260901-v1:0`, `claude-opus-5.5`.
pub(crate) fn is_known_of(wire: &str, model: &str) -> bool {
    if !matches!(wire, anthropic::NAME | bedrock::NAME) {
        return false;
    }
    let Some((_, name)) = model.split_once("claude-") else { return false };
    let mut words = name.split(['-', '.', ':', '@']);
    let Some((_, since)) = words.next().and_then(|word| FAMILIES.iter().find(|(family, _)| *family == word))
    else {
        return false;
    };
    // A date is no version.
    let mut number = || words.next().and_then(|word| word.parse::<u32>().ok()).filter(|one| *one < 1000);
    let version = number().map(|major| (major, number().unwrap_or(0)));
    version.is_some_and(|version| version >= *since)
}
