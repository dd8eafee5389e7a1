//! What a reply has cost, as verdicts and usages count it.

use trunkline_decision_objects::Cost;
use trunkline_message_tree::Usage;

/// The tokens of one reply. Providers count the whole prompt, a verdict what was paid in full and what was not.
pub(crate) fn bill(usage: &Usage) -> Cost {
    let cached = usage.cache_read_tokens.saturating_add(usage.cache_write_tokens);
    Cost {
        input_tokens: usage.input_tokens.saturating_sub(cached),
        output_tokens: usage.output_tokens,
        cache_read_tokens: usage.cache_read_tokens,
        cache_write_tokens: usage.cache_write_tokens,
        microdollars: None,
    }
}

/// The tokens that limits are held against, prompt and output together.
pub fn tokens_of(usage: Usage) -> u64 {
    usage.input_tokens.saturating_add(usage.output_tokens)
}
