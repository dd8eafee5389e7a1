//! What is wrong with a message list and what a repair does to it, in words and as JSON.
//!
//! Everything quoted comes from files of other programs, so nothing of it reaches a terminal unless it was made one safe
//! line.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use trunkline_message_tree::{Content, Message, ToolResult};
use trunkline_sanitize::{Account, Repair, Violation};
use trunkline_transcripts::{Fault, FaultKind, Loss};

use crate::term::style::{DIM, GREEN, RED, YELLOW, paint};
use crate::term::text::{count, one_line};

/// How much of a message is quoted.
const QUOTE: usize = 70;
/// Longer than any line that a repair or a violation prints of itself, unless its ids are hostile.
const LINE: usize = 300;

/// The kind of the one problem that is the text's and not the list's.
const LONE_SURROGATE: &str = "lone_surrogate";

/// Says which problems there are and how many of each: `3 problems: call without result ×2, blank text`.
///
/// `halves` is how many lines hold half of a surrogate pair, which no rule of a wire speaks of: such a request is no JSON.
pub(crate) fn problems(violations: &[Violation], halves: usize) -> String {
    format!("{}: {}", count(violations.len() + halves, "problem"), kinds(violations, halves))
}

/// Says how many of each kind there are: `call without result ×2, blank text`.
pub(crate) fn kinds(violations: &[Violation], halves: usize) -> String {
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for violation in violations {
        *kinds.entry(kind(violation)).or_default() += 1;
    }
    if halves > 0 {
        kinds.insert(LONE_SURROGATE.to_owned(), halves);
    }
    let mut kinds: Vec<(String, usize)> = kinds.into_iter().collect();
    kinds.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let told = kinds.into_iter().map(|(kind, count)| {
        let words = words(&kind);
        if count == 1 { words } else { format!("{words} ×{count}") }
    });
    told.collect::<Vec<String>>().join(", ")
}

/// Prints one violation with what the provider says of it.
pub(crate) fn violation_lines(violation: &Violation, indent: &str) -> String {
    let mut lines = format!("{indent}{}\n", one_line(&violation.to_string(), LINE));
    if let Some(said) = violation.provider_text {
        lines.push_str(&format!(
            "{indent}  {}\n",
            paint(DIM, &format!("refused with: {}", one_line(said, LINE)))
        ));
    }
    lines
}

/// Prints one repair: what was done, where, and a piece of what it touches.
pub(crate) fn repair_line(repair: &Repair, list: &[Message]) -> String {
    let (mark, style) = match repair.kind.name() {
        name if name.ends_with("dropped") => ("−", RED),
        name if name.ends_with("added") || name == "answered" => ("+", GREEN),
        _ => ("~", YELLOW),
    };
    let quote = match quote(repair, list) {
        Some(quote) if !quote.is_empty() => format!("  {}", paint(DIM, &format!("“{quote}”"))),
        _ => String::new(),
    };
    let loss = if repair.is_loss() { paint(RED.bold(), "  loss") } else { String::new() };
    format!(
        "{} {:<14} {}{loss}{quote}\n",
        paint(style, mark),
        repair.at.to_string(),
        paint(style, &one_line(&repair.to_string(), LINE)),
    )
}

/// Prints one repair for a log.
pub(crate) fn repair_note(repair: &Repair) -> String {
    let loss = if repair.is_loss() { ", a loss" } else { "" };
    one_line(&format!("{}: {repair} ({}{loss})", repair.at, repair.row()), LINE)
}

/// Prints what a format had no place for.
pub(crate) fn loss_note(loss: &Loss) -> String {
    let place = loss.node.map_or_else(|| format!("message {}", loss.message), |node| node.to_string());
    one_line(&format!("{place}: no place for {}", loss.what), LINE)
}

/// Prints what was wrong with a line of a file.
pub(crate) fn fault_note(fault: &Fault) -> String {
    one_line(&fault.to_string(), LINE)
}

/// Returns what no provider takes, whatever its rules: halves of characters, as a cut through an emoji leaves them.
pub(crate) fn halves(faults: &[Fault]) -> Vec<&Fault> {
    faults.iter().filter(|fault| matches!(fault.kind, FaultKind::LoneSurrogates { .. })).collect()
}

/// Counts the faults that cost text.
pub(crate) fn damaged(faults: &[Fault]) -> usize {
    faults.iter().filter(|fault| fault.kind.is_damage()).count()
}

/// Counts the records whose parent is not in their file.
pub(crate) fn orphans(faults: &[Fault]) -> usize {
    faults.iter().filter(|fault| matches!(fault.kind, FaultKind::MissingParent { .. })).count()
}

/// Counts the records that have the id of another one.
pub(crate) fn repeated(faults: &[Fault]) -> usize {
    faults.iter().filter(|fault| matches!(fault.kind, FaultKind::RepeatedId { .. })).count()
}

/// Says what of a file as a file a new one does not have: lines that are no messages, gaps, and ids that are taken twice;
/// `None` if it is sound.
pub(crate) fn disorder(faults: &[Fault]) -> Option<String> {
    let is_half = |fault: &&Fault| matches!(fault.kind, FaultKind::LoneSurrogates { .. });
    let is_damage = |fault: &&Fault| fault.kind.is_damage() && !is_half(fault);
    let is_shared = |fault: &&Fault| matches!(fault.kind, FaultKind::SharedLine { .. });
    let is_orphan = |fault: &&Fault| matches!(fault.kind, FaultKind::MissingParent { .. });
    let is_repeated = |fault: &&Fault| matches!(fault.kind, FaultKind::RepeatedId { .. });
    let damage = faults.iter().filter(|fault| is_damage(fault) && !is_shared(fault));
    let told = [
        at_lines(damage, "damaged line", "left out or replaced"),
        at_lines(faults.iter().filter(is_shared), "shared line", "taken apart"),
        at_lines(faults.iter().filter(is_orphan), "missing parent", "bridged"),
        at_lines(faults.iter().filter(is_repeated), "repeated id", "told apart"),
    ];
    let told: Vec<String> = told.into_iter().flatten().collect();
    (!told.is_empty()).then(|| told.join(", "))
}

/// Counts faults and says where the first one is.
fn at_lines<'a>(faults: impl Iterator<Item = &'a Fault>, what: &str, done: &str) -> Option<String> {
    let lines: Vec<usize> = faults.map(|fault| fault.line).collect();
    let first = lines.first()?;
    let place = if lines.len() == 1 { format!("line {first}") } else { format!("the first in line {first}") };
    Some(format!("{} {done} ({place})", count(lines.len(), what)))
}

/// Returns violations, and halves of characters, with their own words beside their fields.
pub(crate) fn violations_json(violations: &[Violation], halves: &[&Fault]) -> Value {
    let rules = violations.iter().map(|violation| with_text(json!(violation), &violation.to_string()));
    let halves = halves.iter().map(|fault| {
        json!({ "at": { "line": fault.line }, "violation": LONE_SURROGATE, "text": fault.to_string() })
    });
    rules.chain(halves).collect()
}

/// Returns repairs with their own words, their row and whether they lose something.
pub(crate) fn repairs_json(repairs: &[Repair]) -> Value {
    let told = repairs.iter().map(|repair| {
        let mut told = with_text(json!(repair), &repair.to_string());
        told["row"] = json!(repair.row());
        told["loss"] = json!(repair.is_loss());
        told
    });
    told.collect()
}

/// Returns the figures of some repairs.
pub(crate) fn account_json(repairs: &[Repair]) -> Value {
    json!(Account::of(repairs))
}

/// Returns how many faults of each kind there are.
pub(crate) fn faults_json(faults: &[Fault]) -> Value {
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for fault in faults {
        *kinds.entry(fault.kind.row()).or_default() += 1;
    }
    json!(kinds)
}

fn with_text(mut value: Value, text: &str) -> Value {
    if let Some(fields) = value.as_object_mut() {
        fields.insert("text".to_owned(), json!(text));
    }
    value
}

/// Returns the name that the kind of a violation has in JSON, which stays what it is when kinds are added.
fn kind(violation: &Violation) -> String {
    let kind = serde_json::to_value(&violation.kind).ok();
    kind.and_then(|kind| kind["violation"].as_str().map(str::to_owned))
        .unwrap_or_else(|| "unknown".to_owned())
}

/// Returns the name of a kind for people.
fn words(kind: &str) -> String {
    let words = match kind {
        "unanswered" => "call without result",
        "orphan" => "result without call",
        "result_not_first" => "result after other content",
        "id_taken" => "call id used twice",
        "name_refused" => "name of a tool not accepted",
        "words_after_call" => "words between call and result",
        "field_refused" => "field that the service does not know",
        "id_refused" => "call id not accepted",
        "arguments_not_object" => "arguments not an object",
        "misplaced" => "block in the wrong place",
        "system_not_leading" => "instructions not at the head",
        "second_system" => "second message of instructions",
        "same_role" => "same role twice in a row",
        "head_not_user" => "does not begin with the user",
        "tail_assistant" => "ends with the assistant",
        "final_white_space" => "ends in white space",
        "blank" => "blank text",
        "empty" => "empty message",
        "no_messages" => "no message",
        "foreign_thinking" => "foreign or unsigned reasoning",
        "loop_without_thinking" => "tool loop without its reasoning",
        "final_thinking" => "reasoning in the last place",
        "forced_while_thinking" => "tool choice forced while thinking",
        LONE_SURROGATE => "half of a character",
        "foreign_block" => "foreign or incomplete block",
        other => return other.replace('_', " "),
    };
    words.to_owned()
}

/// Returns a piece of what a repair touches: its block, else that of its call, else the first that says something.
fn quote(repair: &Repair, list: &[Message]) -> Option<String> {
    let message = list.get(repair.at.message)?;
    let fields = json!(repair);
    let call = fields["call_id"].as_str().or_else(|| fields["from"].as_str());
    let is_of = |block: &&Content| match block {
        Content::ToolCall(made) => Some(made.id.as_str()) == call,
        Content::ToolResult(result) => Some(result.call_id.as_str()) == call,
        _ => false,
    };
    let block = match repair.at.block {
        Some(block) => message.content.get(block),
        None => {
            let named = message.content.iter().find(is_of);
            named.or_else(|| message.content.iter().find(|block| !quoted(block).trim().is_empty()))
        }
    };
    block.map(|block| one_line(&quoted(block), QUOTE))
}

fn quoted(block: &Content) -> String {
    match block {
        Content::Text { text } if text.trim().is_empty() => format!("{text:?}"),
        Content::Text { text } | Content::Thinking { text, .. } => text.clone(),
        Content::RedactedThinking { .. } => "encrypted reasoning".to_owned(),
        Content::Image(media) => format!("image, {}", media.media_type),
        Content::Document(media) => format!("document, {}", media.media_type),
        Content::ToolCall(call) => format!("{} {}", call.name, call.arguments),
        Content::ToolResult(result) => ToolResult::text(result),
        Content::ServerCall { json, .. }
        | Content::ServerResult { json, .. }
        | Content::Opaque { json, .. } => json.clone(),
    }
}
