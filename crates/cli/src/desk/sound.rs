//! Whether a rule can mean what its words say.
//!
//! A rule that forbids and never matches is worse than none: somebody relies on it. So what no tool of this command could
//! ever be asked about is refused when it is given, with what to write instead.

use std::path::Path;

use trunkline_runtime::Access;
use trunkline_runtime::resolve_queue::{Effect, Rule, RuleTarget, RuleVerdict};
use trunkline_runtime::session_machine::setup::close_request::NAME;
use trunkline_tools::{CodingTools, TrustedTools};

use crate::desk::declared;
use crate::term::text::one_line;

/// The tool that runs commands.
const COMMAND: &str = "run_command";
/// The tools that ask before they do something. The others only look.
const ASKING: [&str; 7] =
    ["edit_file", "edit_files", "ast_edit", "write_file", "move_file", "delete_file", COMMAND];
/// The tools that only look.
const LOOKING: [&str; 3] = ["read_file", "list_files", "search_text"];
/// What other agents call the same, or what people do.
const OTHER_NAMES: [(&str, &str); 26] = [
    ("bash", COMMAND),
    ("shell", COMMAND),
    ("sh", COMMAND),
    ("exec", COMMAND),
    ("execute", COMMAND),
    ("terminal", COMMAND),
    ("command", COMMAND),
    ("run", COMMAND),
    ("cmd", COMMAND),
    ("edit", "edit_file"),
    ("replace", "edit_file"),
    ("patch", "edit_file"),
    ("multiedit", "edit_files"),
    ("editfiles", "edit_files"),
    ("write", "write_file"),
    ("create", "write_file"),
    ("createfile", "write_file"),
    ("strreplace", "edit_file"),
    ("astgrep", "ast_edit"),
    ("astreplace", "ast_edit"),
    ("move", "move_file"),
    ("mv", "move_file"),
    ("rename", "move_file"),
    ("delete", "delete_file"),
    ("remove", "delete_file"),
    ("rm", "delete_file"),
];

/// Returns what is wrong with a rule and what to write instead, if it could not match or would allow everything.
pub(crate) fn sound(rule: &Rule, folder: Option<&Path>) -> Result<(), String> {
    let everything = |pattern: &str| pattern.chars().all(|c| matches!(c, '*' | '/'));
    let named = rule.tool.as_deref().is_some_and(|tool| !everything(tool));
    let aimed = match &rule.target {
        Some(RuleTarget::Path(pattern)) => !everything(&pattern.to_string()),
        target => target.is_some(),
    };
    let bare = !named && !aimed && rule.effects.is_empty();
    if rule.verdict == RuleVerdict::Allow && bare {
        return Err("it would allow whatever any tool does; narrow it by a path, a command, a tool or an effect (or say --policy always, \
                    which means that)"
            .to_owned());
    }
    let literal = rule.tool.as_deref().filter(|tool| !tool.contains(['*', '?']));
    let own = match literal {
        Some(tool) if !in_the_box(tool) => own(folder),
        _ => Vec::new(),
    };
    if let Some((tool, access)) = own.iter().find(|(name, _)| Some(name.as_str()) == literal) {
        return of_own_tool(rule, tool, *access, folder);
    }
    if let Some(tool) = literal {
        of_tool(tool, &own)?;
    }
    if literal == Some(NAME) && !rule.effects.is_empty() && !rule.effects.contains(&Effect::Pure) {
        return Err(format!("{NAME} changes nothing by itself; leave out the effect"));
    }
    match &rule.target {
        Some(RuleTarget::Path(_)) if literal == Some(NAME) => {
            Err(format!("{NAME} ends a run and writes to no path; leave out the one or the other"))
        }
        Some(RuleTarget::Path(_)) if literal == Some(COMMAND) => {
            Err(format!("{COMMAND} goes by its command and not by a path; leave out the one or the other"))
        }
        Some(RuleTarget::Path(pattern)) => of_path(&pattern.to_string(), folder),
        Some(RuleTarget::Command(_)) if literal.is_some_and(|tool| tool != COMMAND) => {
            Err(format!("commands are run by {COMMAND}, and by no other tool"))
        }
        _ => Ok(()),
    }
}

fn in_the_box(tool: &str) -> bool {
    ASKING.contains(&tool) || LOOKING.contains(&tool) || tool == NAME
}

/// Returns the tools that the project of a folder declares, trusted or not, and what each does here: a rule may come before the trust.
fn own(folder: Option<&Path>) -> Vec<(String, Access)> {
    let Some(tools) = folder.and_then(|folder| CodingTools::new(folder).ok()) else { return Vec::new() };
    let found = declared::read(&tools).tools.into_iter();
    // Never run: where trust is kept does not matter.
    found.map(|tool| (tool.name().to_owned(), tool.into_tool(TrustedTools::at("nowhere")).access())).collect()
}

/// Judges a rule for a tool that the project declares.
fn of_own_tool(rule: &Rule, tool: &str, access: Access, folder: Option<&Path>) -> Result<(), String> {
    match (&rule.target, access) {
        (_, Access::ReadOnly) if rule.verdict != RuleVerdict::Deny => {
            Err(format!("{tool} is declared to read and runs unasked; a rule can only deny it"))
        }
        (Some(RuleTarget::Command(_)), Access::Proposes) if rule.verdict != RuleVerdict::Deny => {
            Err(format!(
                "{tool} runs unasked; a rule can deny its command, or be about the files that it proposes to change"
            ))
        }
        (Some(RuleTarget::Path(pattern)), Access::Proposes) => of_path(&pattern.to_string(), folder),
        (Some(RuleTarget::Path(_)), _) => {
            Err(format!("{tool} goes by its command and not by a path; leave out the one or the other"))
        }
        _ => Ok(()),
    }
}

fn of_tool(tool: &str, own: &[(String, Access)]) -> Result<(), String> {
    // With it a model asks for the end of its run: a rule decides on that only where it names this tool.
    if ASKING.contains(&tool) || tool == NAME {
        return Ok(());
    }
    if LOOKING.contains(&tool) {
        return Err(format!(
            "{tool} changes nothing and is never asked about; rules are about {}",
            ASKING.join(", ")
        ));
    }
    let shown = one_line(tool, 60);
    let plain: String = tool.to_lowercase().chars().filter(|sign| sign.is_alphanumeric()).collect();
    let same = ASKING.into_iter().find(|name| name.replace('_', "") == plain);
    let other = || OTHER_NAMES.iter().find(|(name, _)| *name == plain).map(|(_, tool)| *tool);
    let near = || ASKING.into_iter().find(|name| is_near(name, &tool.to_lowercase()));
    Err(match same.or_else(other).or_else(near) {
        Some(meant) => format!("there is no tool {shown:?}; did you mean {meant}?"),
        None => {
            let own = own.iter().map(|(name, _)| name.as_str());
            let names: Vec<&str> = ASKING.into_iter().chain(own).collect();
            format!("there is no tool {shown:?}; there are {}", names.join(", "))
        }
    })
}

/// Whether two names differ by at most two letters that one of them lacks at one place, such as an `s`.
fn is_near(name: &str, typed: &str) -> bool {
    let (name, typed) = (name.as_bytes(), typed.as_bytes());
    let front = name.iter().zip(typed).take_while(|(one, other)| one == other).count();
    let back = name.iter().rev().zip(typed.iter().rev()).take_while(|(one, other)| one == other).count();
    front + back + 2 >= name.len().max(typed.len()) && name.len().abs_diff(typed.len()) <= 2
}

fn of_path(pattern: &str, folder: Option<&Path>) -> Result<(), String> {
    let shown = one_line(pattern, 120);
    if pattern.starts_with('/') {
        let within = folder.and_then(|folder| Path::new(pattern).strip_prefix(folder).ok()?.to_str());
        let example = match within {
            Some(within) if !within.is_empty() => one_line(within, 120),
            _ => "src/**".to_owned(),
        };
        return Err(format!(
            "{shown:?} is an absolute path, and paths are relative to the project's folder; write {example:?}"
        ));
    }
    // Something may still come into being there, but not in the place of a folder that is there.
    let is_folder =
        !pattern.contains(['*', '?']) && folder.is_some_and(|folder| folder.join(pattern).is_dir());
    match is_folder {
        true => Err(format!(
            "{shown:?} is a folder, and nothing is written to that itself; for all that is in it write {:?}",
            format!("{shown}/**")
        )),
        false => Ok(()),
    }
}
