//! A proposal, as a person needs it to decide.

use std::borrow::Cow;

use serde_json::{Map, Value};
use trunkline_runtime::resolve_queue::{ActorKind, Entry, State};

use crate::shown::call::{label_of, named};
use crate::term::style::{self, BOLD, DIM, GREEN, RED, YELLOW, paint};
use crate::term::text::{cut, first_lines, one_line, safe};

/// So many lines are shown beside a diff; no tool in the box says more.
const REMARKS: usize = 12;

/// Returns a proposal as a person needs it to decide, and how many lines of it are missing.
pub(crate) fn preview(entry: &Entry<Value>, limit: usize) -> (String, usize) {
    preview_within(entry, limit, usize::MAX)
}

/// As [`preview`], with lines of at most `width` characters. One that is cut counts as missing.
pub(crate) fn preview_within(entry: &Entry<Value>, limit: usize, width: usize) -> (String, usize) {
    let proposal = &entry.proposal;
    let mut shown = format!(
        "{} {} {}\n",
        paint(YELLOW, "±"),
        paint(BOLD, &entry.id.to_string()),
        paint(BOLD, &one_line(&proposal.label, 200))
    );
    if !proposal.source_tool.is_empty() {
        let tool = named(&proposal.source_tool, &label_of(&proposal.source_tool));
        shown.push_str(&format!("    {} {tool}\n", paint(DIM, "by")));
    }
    let text = proposal.preview.diff.as_deref().unwrap_or(&proposal.preview.text);
    let long = text.lines().take(limit).filter(|line| line.chars().count() > width).count();
    let text = match long {
        0 => Cow::Borrowed(text),
        _ => Cow::Owned(text.lines().map(|line| cut(line, width) + "\n").collect()),
    };
    let missing = match &proposal.preview.diff {
        Some(_) => {
            // What a diff cannot say: what was left out, and which tool of the project proposed it.
            for line in remarks(&proposal.preview.text) {
                shown.push_str(&format!("    {}\n", cut(&safe(line), width)));
            }
            let (diff, missing) = style::diff(&text, "    ", limit);
            shown.push_str(&diff);
            missing
        }
        None => {
            let (lines, missing) = first_lines(&text, limit);
            for line in lines {
                shown.push_str(&format!("    {}\n", safe(line)));
            }
            missing
        }
    };
    if missing > 0 {
        shown.push_str(&paint(DIM, &format!("    … {missing} more lines\n")));
    }
    (shown, missing + long)
}

/// Returns the lines in brackets of a preview's text. The others name the files, and the diff does so too.
fn remarks(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| line.starts_with('[')).take(REMARKS)
}

pub(crate) fn state_style(state: State) -> anstyle::Style {
    match state {
        State::Applied => GREEN,
        State::Failed | State::Unknown => RED,
        State::Discarded | State::Superseded | State::Expired => DIM,
        _ => YELLOW,
    }
}

/// Returns what was handed over with a decision, on one line.
pub(crate) fn extra_line(extra: &Map<String, Value>) -> String {
    let field = |(key, value): (&String, &Value)| {
        format!("{} = {}", one_line(key, 60), one_line(&value.to_string(), 200))
    };
    extra.iter().map(field).collect::<Vec<_>>().join(", ")
}

/// Says why nobody's decision ended it.
pub(crate) fn by_harness(entry: &Entry<Value>) -> Option<String> {
    let decision = entry.decision.as_ref().filter(|_| entry.state == State::Discarded)?;
    let is_its = decision.by.kind == ActorKind::Harness && !decision.reason.is_empty();
    is_its.then(|| one_line(&decision.reason, 80))
}
