//! What a node says, in a few words: one row of a picture.

use anstyle::Style;
use trunkline_message_tree::{Author, Link, Message, NodeId, Role, StopReason, tool_label};
use trunkline_runtime::session_machine::reading::unanswered::Standing;

use crate::reading::session::Reading;
use crate::shown::call::{label_of, main_argument};
use crate::shown::standing;
use crate::term::style::{BOLD, CYAN, DIM, GREEN, MAGENTA, PLAIN, RED, YELLOW};
use crate::term::text::one_line;

/// Tells in a few words what a node is.
///
/// Where no result follows its calls, `standings` says how far each came.
pub(crate) fn words(
    reading: &Reading,
    id: NodeId,
    message: &Message,
    standings: &[Standing<'_>],
    width: usize,
) -> Vec<(Style, String)> {
    let limit = width;
    if let Some(words) = merge_words(reading, id, width) {
        return words;
    }
    if let Some(result) = message.results().next() {
        let call = reading.call_of(id, &result.call_id);
        let label = call.map_or_else(|| "a result".to_owned(), |call| label_in(reading, &call.name));
        let wire = call.map(|call| beside(&call.name, &label)).unwrap_or_default();
        let about = call.map(|call| main_argument(&call.arguments, 40)).unwrap_or_default();
        let mark = if result.is_error { (RED, "✗ ") } else { (GREEN, "✓ ") };
        let text = result.text();
        let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let about = if about.is_empty() { about } else { format!(" {about}") };
        return vec![
            (mark.0, format!("  {}", mark.1)),
            (PLAIN, one_line(&label, 40)),
            (DIM, format!("{wire}{about}")),
            (DIM, format!("  {}", one_line(first, limit))),
        ];
    }
    let mut words = vec![(role_style(message), format!("{:<8}", speaker(message)))];
    let text = one_line(&message.text(), limit);
    let label = |name: &str| label_in(reading, name);
    let calls = match standings {
        [] => calls_in_words(message, label),
        standings => open_calls_in_words(message, standings, label),
    };
    // With calls the words are only the way to them.
    let text = if calls.is_empty() { text } else { one_line(&text, 40) };
    if !text.is_empty() {
        let style =
            if message.role == Role::System || message.author == Author::Harness { DIM } else { PLAIN };
        words.push((style, text));
    }
    if !calls.is_empty() {
        words.push((CYAN, format!("{}→ {}", if words.len() > 1 { " " } else { "" }, calls.join(", "))));
    }
    if words.len() == 1 {
        words.push((DIM, "(no words)".to_owned()));
    }
    if matches!(message.stop, Some(StopReason::Cancelled | StopReason::Cut)) {
        words.push((YELLOW, "  cut off".to_owned()));
    }
    words
}

/// Tells what a merging node brought here.
fn merge_words(reading: &Reading, id: NodeId, width: usize) -> Option<Vec<(Style, String)>> {
    let Link::Merge { .. } = reading.tree().node(id).ok()?.link() else { return None };
    let mut words = vec![(MAGENTA.bold(), "merge   ".to_owned())];
    if let Some(record) = reading.merges().iter().find(|record| record.node == id) {
        let said: Vec<String> =
            record.sentences.iter().map(|sentence| one_line(&sentence.text, width)).collect();
        words.push((PLAIN, said.join(" ")));
    }
    Some(words)
}

/// Returns what people are shown for a tool in a session.
pub(crate) fn label_in(reading: &Reading, name: &str) -> String {
    let (told, known) = (reading.tool_label(name), label_of(name));
    // What no log says follows from the name, but for the tools of the house.
    if told == tool_label(name) { known } else { told }
}

/// Returns a tool's name on the wire as it stands behind its label; nothing if the label follows from it: a row has little room.
fn beside(name: &str, label: &str) -> String {
    if label == tool_label(name) { String::new() } else { format!(" ({})", one_line(name, 40)) }
}

/// Names who wrote a message, for people.
pub(crate) fn speaker(message: &Message) -> &'static str {
    match (message.role, message.author) {
        (Role::System, _) => "system",
        (Role::User, Author::Person) => "you",
        (Role::User, _) => "harness",
        (Role::Assistant, _) => "model",
        (Role::Tool, _) => "tool",
    }
}

pub(crate) fn role_style(message: &Message) -> Style {
    match (message.role, message.author) {
        (Role::User, Author::Person) => CYAN.bold(),
        (Role::Assistant, _) => BOLD,
        _ => DIM,
    }
}

/// Tells each call of a message by its tool, how far it came, and what it is about.
fn open_calls_in_words(
    message: &Message,
    standings: &[Standing<'_>],
    label: impl Fn(&str) -> String,
) -> Vec<String> {
    let calls = message.calls().zip(standings);
    let told = calls.map(|(call, standing)| {
        let label = label(&call.name);
        let (wire, about) = (beside(&call.name, &label), main_argument(&call.arguments, 40));
        let told = format!("{}{wire} [{}] {about}", one_line(&label, 40), standing::short(standing));
        told.trim_end().to_owned()
    });
    told.collect()
}

/// Tells each call of a message by its tool and what it is about.
pub(crate) fn calls_in_words(message: &Message, label: impl Fn(&str) -> String) -> Vec<String> {
    let told = message.calls().map(|call| {
        let label = label(&call.name);
        let wire = beside(&call.name, &label);
        let told = format!("{}{wire} {}", one_line(&label, 40), main_argument(&call.arguments, 40));
        told.trim_end().to_owned()
    });
    told.collect()
}
