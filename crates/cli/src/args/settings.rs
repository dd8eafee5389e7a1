//! What a file of settings may say: each key is an option of `run`, with the same meaning and the same checks.
//!
//! To add a key is to add a row. What has no opposite on the command line is no setting, since what is typed has to win, and
//! neither is what is about one folder or one run, as `--commit`.

use clap::{Command, CommandFactory};

use crate::args::Line;

/// How a value stands in JSON.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A string.
    Text,
    /// The word or file of `--policy`; a file that is named without its folder stands beside the settings.
    Policy,
    /// A whole number.
    Number,
    /// Figures: an object, `{"turns": 5, "exact": true}`, or the text that the option takes.
    Figures,
    /// An object whose members are each `--set`.
    Fields,
}

/// Whom an option is for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// Which model is asked, and where: these four hold together, and a session that was answered keeps them.
    Whom,
    /// How it is asked, by whatever command.
    Asking,
    /// What a run may do.
    Run,
}

/// The keys, by the name of the option with `_` for `-`.
pub(crate) const KEYS: [(&str, Kind, Use); 23] = [
    ("provider", Kind::Text, Use::Whom),
    ("model", Kind::Text, Use::Whom),
    ("base_url", Kind::Text, Use::Whom),
    ("dialect", Kind::Text, Use::Whom),
    ("set", Kind::Fields, Use::Asking),
    ("max_output_tokens", Kind::Number, Use::Asking),
    ("retries", Kind::Number, Use::Asking),
    ("retry_for", Kind::Text, Use::Asking),
    ("max_answer", Kind::Number, Use::Asking),
    ("policy", Kind::Policy, Use::Run),
    ("window", Kind::Number, Use::Run),
    ("max_turns", Kind::Number, Use::Run),
    ("max_tokens", Kind::Number, Use::Run),
    ("left_prompts", Kind::Text, Use::Run),
    ("on_stall", Kind::Text, Use::Run),
    ("moves", Kind::Text, Use::Run),
    ("summaries", Kind::Text, Use::Run),
    ("summary_model", Kind::Text, Use::Run),
    ("summary_limits", Kind::Figures, Use::Run),
    ("lessons", Kind::Figures, Use::Run),
    ("prune", Kind::Figures, Use::Run),
    ("revert_price", Kind::Figures, Use::Run),
    ("stall", Kind::Figures, Use::Run),
];

/// Checks the values of a key as if they were typed.
pub(crate) fn check(key: &str, values: &[String]) -> Result<(), String> {
    let flag = format!("--{}", key.replace('_', "-"));
    let typed = values.iter().map(|value| format!("{flag}={value}"));
    let line = ["trunkline", "run", "something"].map(str::to_owned).into_iter().chain(typed);
    match Line::command().try_get_matches_from(line) {
        Ok(_) => Ok(()),
        Err(fault) => {
            let told = fault.render().to_string();
            let first = told.lines().next().unwrap_or_default();
            // A list of what it could be stands on a line of its own.
            let possible = told.lines().find_map(|line| line.trim().strip_prefix("[possible values: "));
            let possible = possible.map(|words| format!("; it can be {}", words.trim_end_matches(']')));
            let first = first.strip_prefix("error: ").unwrap_or(first);
            Err(format!("{first}{}", possible.unwrap_or_default()))
        }
    }
}

/// Returns the command line with these values where nothing is typed. Whom to ask is not decided here.
pub(crate) fn line_with(settings: &[(&'static str, Vec<String>)]) -> Command {
    let mut line = Line::command();
    for (command, uses) in [
        ("run", &[Use::Asking, Use::Run][..]),
        ("resume", &[Use::Asking, Use::Run]),
        ("compact", &[Use::Asking]),
    ] {
        for (key, values) in settings {
            let Some((_, _, of)) = KEYS.iter().find(|(known, _, _)| known == key) else { continue };
            if !uses.contains(of) {
                continue;
            }
            // They last as long as the program.
            let values: Vec<&'static str> = values.iter().map(|value| &*value.clone().leak()).collect();
            line = line.mut_subcommand(command, |line| line.mut_arg(*key, |arg| arg.default_values(values)));
        }
    }
    line
}
