//! The flags that a printed command repeats, so that it asks whom this one asked.

use clap::ValueEnum;

use crate::args::{MAX_OUTPUT_TOKENS, Model};
use crate::{limits, place, text};

/// Returns the flags that a next command needs to ask the same model at the same place in the same way.
pub(crate) fn model_flags(model: &Model) -> String {
    let mut flags = String::new();
    // The demo has no flags of this kind and leaves 0 here.
    if model.max_output_tokens != MAX_OUTPUT_TOKENS {
        flags.push_str(&format!(" --max-output-tokens {}", model.max_output_tokens));
    }
    if let Some(bytes) = model.max_answer {
        flags.push_str(&format!(" --max-answer {bytes}"));
    }
    if let Some(times) = model.retries {
        flags.push_str(&format!(" --retries {times}"));
    }
    if let Some(time) = model.retry_for {
        flags.push_str(&format!(" --retry-for {}", limits::wait(time)));
    }
    if let Some(api) = model.provider.and_then(|api| api.to_possible_value()) {
        flags.push_str(&format!(" --provider {}", api.get_name()));
    }
    let named = [("--base-url", &model.base_url), ("--model", &model.model), ("--dialect", &model.dialect)];
    for (flag, value) in named {
        if let Some(value) = value {
            flags.push_str(&format!(" {flag} {}", place::quoted(&text::one_line(value, 200))));
        }
    }
    for (name, value) in &model.set {
        let field = format!("{name}={value}");
        flags.push_str(&format!(" --set {}", place::quoted(&text::one_line(&field, 500))));
    }
    flags
}
