//! A call of a tool, told in a line.

use std::time::Duration;

use serde_json::Value;
use trunkline_message_tree::{ToolResult, tool_label};
use trunkline_runtime::resolve_queue::resolve_tool;
use trunkline_runtime::revert;
use trunkline_runtime::session_machine::setup::close_request;

use crate::term::limits::duration;
use crate::term::style::{BOLD, DIM, GREEN, RED, YELLOW, paint};
use crate::term::text::{self, cut, one_line};

/// How much of a failed call's output is shown in passing.
const OUTPUT_LINES: usize = 3;

/// Tells which call this is, on one line.
pub(crate) fn shown_call(tool: &str, label: &str, arguments: &str) -> String {
    let (named, argument) = (named(tool, label), main_argument(arguments, 80));
    if argument.is_empty() { named } else { format!("{named} {argument}") }
}

/// Names a tool for people, and behind that as the model knows it.
pub(crate) fn named(tool: &str, label: &str) -> String {
    let (shown, name) = (paint(BOLD, &one_line(label, 40)), one_line(tool, 40));
    if label == tool { shown } else { format!("{shown} {}", paint(DIM, &format!("({name})"))) }
}

/// Returns what people are shown for a tool of which no log says anything else.
pub(crate) fn label_of(tool: &str) -> String {
    match tool {
        revert::TOOL_NAME => revert::TOOL_LABEL.to_owned(),
        close_request::NAME => close_request::LABEL.to_owned(),
        resolve_tool::NAME => resolve_tool::LABEL.to_owned(),
        other => tool_label(other),
    }
}

/// Returns the argument that says most, or all of them if none is known to.
pub(crate) fn main_argument(arguments: &str, limit: usize) -> String {
    let parsed: Option<Value> = serde_json::from_str(arguments).ok();
    let known = [
        "path", "command", "pattern", "query", "id", "step", "branch", "result", "name", "url", "title",
        "decision",
    ];
    for (from, to) in [("from", "to"), ("pattern", "replacement")] {
        if let (Some(from), Some(to)) = (end(&parsed, from), end(&parsed, to)) {
            return one_line(&format!("{from} → {to}"), limit);
        }
    }
    let found = known.iter().find_map(|name| parsed.as_ref()?.get(name)?.as_str());
    match (found, &parsed) {
        (Some(found), _) => one_line(found, limit),
        (None, Some(parsed)) if !edited(parsed).is_empty() => one_line(&edited(parsed).join(", "), limit),
        (None, Some(parsed)) if !nodes(parsed).is_empty() => one_line(&nodes(parsed).join(", "), limit),
        (None, Some(Value::Object(fields))) if fields.is_empty() => String::new(),
        (None, _) => one_line(arguments, limit),
    }
}

fn end<'a>(arguments: &'a Option<Value>, name: &str) -> Option<&'a str> {
    arguments.as_ref()?.get(name)?.as_str()
}

/// The nodes that a call names together.
fn nodes(arguments: &Value) -> Vec<&str> {
    let named = ["branches", "results"].iter().find_map(|name| arguments.get(name)?.as_array());
    named.into_iter().flatten().filter_map(Value::as_str).collect()
}

/// The files that a call edits together.
fn edited(arguments: &Value) -> Vec<&str> {
    let edits = arguments.get("edits").and_then(Value::as_array).into_iter().flatten();
    let mut paths: Vec<&str> = edits.filter_map(|edit| edit.get("path")?.as_str()).collect();
    paths.dedup();
    paths
}

pub(crate) fn finished(
    (tool, label): (&str, &str),
    arguments: &str,
    result: &ToolResult,
    elapsed: Option<Duration>,
) -> String {
    let words = result.text();
    let mark = match (result.is_error, elapsed) {
        (false, _) => paint(GREEN, "✓"),
        (true, Some(_)) => paint(RED, "✗"),
        (true, None) => paint(YELLOW, "⊘"),
    };
    let first = one_line(words.lines().next().unwrap_or_default(), 120);
    let status = match elapsed {
        // It tells the time itself.
        _ if tool == "run_command" && !first.is_empty() => first,
        Some(elapsed) if !result.is_error => duration(elapsed),
        _ => first,
    };
    let mut line =
        format!("{mark} {} {}", shown_call(tool, label, arguments), paint(DIM, &format!("· {status}")));
    if result.is_error && elapsed.is_some() {
        let said: Vec<&str> = words.lines().skip(1).filter(|line| !line.trim().is_empty()).collect();
        let tail = said.iter().skip(said.len().saturating_sub(OUTPUT_LINES));
        for said in tail {
            line.push_str(&paint(DIM, &format!("\n    {}", cut(&text::safe(said), 140))));
        }
    }
    line
}
