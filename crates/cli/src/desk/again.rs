//! The flags that a printed command repeats, so that it asks whom this one asked.

use clap::ValueEnum;

use crate::args::model::{MAX_OUTPUT_TOKENS, Model};
use crate::desk::model::Named;
use crate::term::{limits, shell, text};

/// Returns the flags that a next command needs to ask the same model at the same place in the same way, also where the
/// variables are not set that have named it.
pub(crate) fn model_flags(model: &Model, named: Option<&Named>) -> String {
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
    let provider = model.provider.or_else(|| named?.provider);
    if let Some(api) = provider.and_then(|api| api.to_possible_value()) {
        flags.push_str(&format!(" --provider {}", api.get_name()));
    }
    let said = [
        ("--base-url", model.base_url.as_ref().or_else(|| named?.base_url.as_ref())),
        ("--model", model.model.as_ref().or_else(|| named?.model.as_ref())),
        ("--dialect", model.dialect.as_ref()),
    ];
    for (flag, value) in said {
        if let Some(value) = value {
            flags.push_str(&format!(" {flag} {}", shell::quoted(&text::one_line(value, 200))));
        }
    }
    for (name, value) in &model.set {
        let field = format!("{name}={value}");
        flags.push_str(&format!(" --set {}", shell::quoted(&text::one_line(&field, 500))));
    }
    flags
}
