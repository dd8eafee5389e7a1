//! A task as it is typed: in words, or in a file that says more.
//!
//! A file is JSON with `title` and what else a task has, or text: its first line is the title, the list below a line `Constraints` says
//! what must not be done, the list below `Done when` or `Acceptance criteria` when it is done, and all the rest is the description.

use std::path::Path;

use serde::Deserialize;
use trunkline_runtime::{Bounds, GivenTask, NewTask};

use crate::term::fault::Fault;
use crate::term::text::{decoded, one_line};

/// A task in a file of JSON.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    title: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    constraints: Vec<String>,
    #[serde(default)]
    acceptance_criteria: Vec<String>,
}

/// What the lines below a head are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Description,
    Constraints,
    Criteria,
}

/// Returns the options that give a task as much again as it has had, if it has had all of something.
pub(crate) fn more_of(task: &GivenTask) -> Option<String> {
    let mut more = String::new();
    if let Some(most) = task.bounds.turns.filter(|most| task.turns >= *most) {
        more.push_str(&format!(" --max-turns {}", most.max(task.turns).saturating_mul(2).max(1)));
    }
    if let Some(most) = task.bounds.tokens.filter(|most| task.tokens >= *most) {
        more.push_str(&format!(" --max-tokens {}", most.max(task.tokens).saturating_mul(2).max(1)));
    }
    Some(more).filter(|more| !more.is_empty())
}

/// Whether this can only be meant as the name of a file: one word that names a folder in it, or ends as files with tasks do.
fn is_path(typed: &str) -> bool {
    let is_word = !typed.is_empty() && !typed.contains(char::is_whitespace);
    let ends = [".md", ".txt", ".json"].iter().any(|end| typed.to_lowercase().ends_with(end));
    is_word && (typed == "-" || typed.contains('/') || ends)
}

/// Reads what was typed: the file of that name if there is one, else words. `prompt` is what else is said to the model.
pub(crate) fn read(typed: &str, prompt: Option<&str>, bounds: Bounds) -> Result<NewTask, Fault> {
    let path = Path::new(typed);
    let is_file = !typed.contains('\n') && path.is_file();
    if !is_file && path.is_dir() {
        return Err(Fault::usage(format!("the task {} is a folder", one_line(typed, 80)))
            .hint("name a file, or say the task in words"));
    }
    if !is_file && is_path(typed) {
        return Err(Fault::usage(format!("there is no file {}", one_line(typed, 80)))
            .hint("name a plain file, or say the task in words"));
    }
    let text = match is_file {
        true => std::fs::read(path)
            .map_err(|error| error.to_string())
            .and_then(decoded)
            .map_err(|why| Fault::usage(format!("cannot read the task in {}: {why}", one_line(typed, 80))))?,
        false => typed.to_owned(),
    };
    let mut task = match is_file && text.trim_start().starts_with('{') {
        true => {
            let Written { title, description, constraints, acceptance_criteria } =
                serde_json::from_str(&text).map_err(|fault| {
                    Fault::usage(format!("the task in {} cannot be read: {fault}", one_line(typed, 80))).hint(
                        "it has `title`, and may have `description`, `constraints` and `acceptance_criteria`",
                    )
                })?;
            let mut task = NewTask::new(title);
            (task.description, task.constraints) = (description, constraints);
            task.acceptance_criteria = acceptance_criteria;
            task
        }
        false => of_text(&text),
    };
    if task.title.trim().is_empty() {
        return Err(Fault::usage("the task is empty").hint("its first line is its title"));
    }
    task.intent = prompt.unwrap_or_default().to_owned();
    task.bounds = task.bounds.with(bounds);
    // Before there is a session that it would leave empty.
    task.check().map_err(Fault::usage)?;
    Ok(task)
}

fn of_text(text: &str) -> NewTask {
    let mut lines = text.trim().lines();
    let title = lines.next().unwrap_or_default();
    let mut task = NewTask::new(title.trim_start_matches('#').trim());
    let (mut part, mut described) = (Part::Description, Vec::new());
    for line in lines {
        if let Some(head) = head_of(line) {
            part = head;
            continue;
        }
        let listed = line.trim_start().strip_prefix("- ").or_else(|| line.trim_start().strip_prefix("* "));
        match (part, listed) {
            (Part::Constraints, Some(listed)) => task.constraints.push(listed.trim().to_owned()),
            (Part::Criteria, Some(listed)) => task.acceptance_criteria.push(listed.trim().to_owned()),
            // A list ends where something else is said.
            (Part::Constraints | Part::Criteria, None) if line.trim().is_empty() => {}
            _ => {
                part = Part::Description;
                described.push(line);
            }
        }
    }
    task.description = described.join("\n").trim().to_owned();
    task
}

fn head_of(line: &str) -> Option<Part> {
    let word = line.trim().trim_start_matches('#').trim().trim_end_matches(':').to_ascii_lowercase();
    match word.as_str() {
        "constraints" => Some(Part::Constraints),
        "done when" | "acceptance criteria" => Some(Part::Criteria),
        "description" => Some(Part::Description),
        _ => None,
    }
}
