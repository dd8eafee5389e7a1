//! What replies have cost.

use trunkline_message_tree::Usage;

use crate::term::text;

/// Tells what replies have cost.
pub(crate) fn cost(usage: Usage) -> String {
    let cached = match usage.cache_read_tokens {
        0 => String::new(),
        cached => format!(" ({} from the cache)", text::grouped(cached)),
    };
    format!(
        "{} tokens in{cached}, {} out",
        text::grouped(usage.input_tokens),
        text::grouped(usage.output_tokens)
    )
}
