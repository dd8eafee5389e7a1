//! A model's request to end its run, as a person needs it to decide.

use serde_json::Value;
use trunkline_runtime::CloseRequest;
use trunkline_runtime::resolve_queue::{Entry, Queue};

use crate::shown::plan;
use crate::term::text::safe;

/// What an editor shows below the words.
const ABOUT_FORM: &str = "\n\
# Change the words, save them and close the editor; you are asked before they count. This line is left out.\n";

/// Returns whether a proposal is a model's request to end its run.
pub(crate) fn is_close_request(entry: &Entry<Value>) -> bool {
    CloseRequest::of_proposal(&entry.proposal).is_some()
}

/// Returns whether a proposal is decided on by its name alone: a decision on it is about the run and not about what is done.
pub(crate) fn needs_its_name(entry: &Entry<Value>) -> bool {
    plan::is_plan(entry) || is_close_request(entry)
}

/// Returns what an editor is given to change the words.
pub(crate) fn to_edit(words: &str) -> String {
    format!("{words}\n{ABOUT_FORM}")
}

/// Reads the words that an editor has left.
pub(crate) fn parsed(text: &str) -> Option<String> {
    // The form's own lines alone: the words may have others that begin with the same sign.
    let is_form = |line: &&str| ABOUT_FORM.lines().any(|own| !own.is_empty() && own == *line);
    let lines: Vec<&str> = text.lines().filter(|line| !is_form(line)).collect();
    let words = lines.join("\n").trim().to_owned();
    (!words.is_empty()).then_some(words)
}

/// Shows words, quoted.
pub(crate) fn quoted(words: &str, indent: &str) -> String {
    words.lines().map(|line| format!("{indent}> {}\n", safe(line))).collect()
}

/// Returns what waits for a person and is decided on by its name: a plan, or else a request to end the run.
pub(crate) fn waiting(proposals: &Queue<Value>) -> Option<&Entry<Value>> {
    plan::waiting(proposals).or_else(|| proposals.pending().find(|entry| is_close_request(entry)))
}

/// Says that it waits.
pub(crate) fn headline(entry: &Entry<Value>) -> &'static str {
    match plan::is_plan(entry) {
        true => "a plan waits for you; nothing but reading is done before\n",
        false => "the model asks for the end of its run; nothing goes on before you decide\n",
    }
}

/// Names what it is.
pub(crate) fn kind(entry: &Entry<Value>) -> &'static str {
    if plan::is_plan(entry) { "a plan" } else { "a request to end the run" }
}
