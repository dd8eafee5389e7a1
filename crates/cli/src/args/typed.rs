//! What was typed, and does not come from a file of settings.

use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory};

use crate::args::Line;
use crate::args::terms::UsualBounds;

/// What of `resume` is no term of its own run: the words that a note carries, where they go, and how this command tells of it.
const NO_TERMS: [&str; 5] = ["prompt", "cwd", "wait", "take_over", "quiet"];

/// Returns which bounds of a run or a resume come from the settings that its command line was read with.
pub(crate) fn usual_bounds(matches: &ArgMatches) -> UsualBounds {
    let is_usual = |id| {
        let command = matches.subcommand().filter(|(name, _)| matches!(*name, "run" | "resume"));
        command.and_then(|(_, command)| command.value_source(id)) == Some(ValueSource::DefaultValue)
    };
    UsualBounds { turns: is_usual("max_turns"), tokens: is_usual("max_tokens") }
}

/// Returns the flags of `resume` that were typed and say how its own run goes: no note to another process carries them.
pub(crate) fn terms_of_resume(matches: &ArgMatches) -> Vec<String> {
    let line = Line::command();
    let (Some(command), Some(matches)) =
        (line.find_subcommand("resume"), matches.subcommand_matches("resume"))
    else {
        return Vec::new();
    };
    let is_typed = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
    let terms = command.get_arguments().filter(|argument| {
        let id = argument.get_id().as_str();
        !NO_TERMS.contains(&id) && is_typed(id)
    });
    terms.filter_map(|argument| argument.get_long().map(|long| format!("--{long}"))).collect()
}
