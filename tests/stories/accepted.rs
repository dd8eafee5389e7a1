//! Histories that real services accepted come through untouched: repairing them would be a defect. For every other
//! service they can be made legal.
//!
//! `TRUNKLINE_CORPORA` names the folder of recorded exchanges; without it nothing is checked, and the test says so. The
//! recordings are read at run time and are no part of this repository.

mod switching;
mod wires;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use trunkline_message_tree::{Message, Role, ToolSpec, notation};
use trunkline_providers::Request;
use trunkline_sanitize::{RequestFacts, WireRules, sanitize, violations};
use trunkline_tests::recorded::{self, Exchange, History, Protocol};

use crate::recordings;
use wires::Recorded;

#[test]
fn accepted_histories_of_anthropic_stay_untouched() {
    check(&wires::ANTHROPIC);
}

#[test]
fn accepted_histories_of_openai_chat_stay_untouched() {
    check(&wires::OPENAI_CHAT);
}

#[test]
fn accepted_histories_of_openai_responses_stay_untouched() {
    check(&wires::OPENAI_RESPONSES);
}

#[test]
fn accepted_histories_of_gemini_stay_untouched() {
    check(&wires::GEMINI);
}

#[test]
fn accepted_histories_of_bedrock_stay_untouched() {
    check(&wires::BEDROCK);
}

#[test]
fn accepted_histories_of_ollama_stay_untouched() {
    check(&wires::OLLAMA);
}

#[expect(clippy::print_stderr, reason = "how much was read is a part of the result")]
fn check(wire: &Recorded) {
    let Some(folder) = recordings::folder() else { return };
    let mut failures = Vec::new();
    let (mut checked, mut with_tools, mut prefixes) = (0, 0, 0);
    let mut sets: BTreeMap<String, usize> = BTreeMap::new();
    for (exchange, history) in accepted(wire, &folder) {
        let at = format!("{} ({})", exchange.file, exchange.model());
        if std::env::var_os("TRUNKLINE_CORPORA_SHOW").is_some() {
            eprintln!("{at}:\n{}", notation::print(&history.messages));
        }
        checked += 1;
        with_tools += usize::from(history.has_results());
        if let Err(answer) = (wire.validate)(&exchange, &history) {
            failures.push(format!("{at}: the validator answers {answer}"));
        }
        if let Some(wire) = recorded::wire(wire.protocol, &exchange.service, exchange.body()) {
            let mut request = Request::new(exchange.model(), history.messages.clone());
            if history.facts.tools_offered != Some(false) {
                request.tools = vec![ToolSpec::new("f", "", serde_json::json!({"type": "object"}))];
            }
            if let Err(fault) = wire.encode(&request) {
                failures.push(format!("{at}: the encoder refuses: {fault}"));
            }
        }
        for rules in (wire.rules)(&exchange) {
            *sets.entry(rules.name.to_string()).or_default() += 1;
            for messages in requests(&history.messages) {
                prefixes += 1;
                if let Some(difference) = difference(messages, &history.facts, &rules) {
                    failures.push(format!("{at} under {}:\n{difference}", rules.name));
                }
            }
        }
    }
    eprintln!(
        "{}: {checked} accepted requests, {with_tools} of them with results of tools; {prefixes} lists under {sets:?}",
        wire.protocol.name()
    );
    assert!(with_tools > 0, "no history with tools below {}", folder.display());
    assert!(failures.is_empty(), "{} faults:\n\n{}", failures.len(), failures.join("\n\n"));
}

/// Reads the requests for words that a service accepted, except where it keeps a part of the history itself.
fn accepted(wire: &Recorded, folder: &Path) -> Vec<(Exchange, History)> {
    let asks = |exchange: &Exchange| exchange.is_accepted() && Protocol::of(exchange) == Ok(wire.protocol);
    let recordings = recorded::read_folder(&folder.join(wire.protocol.name())).expect("recordings");
    assert!(recordings.unread.is_empty(), "{:?}", recordings.unread);
    let exchanges = recordings.exchanges.into_iter().filter(asks);
    exchanges.filter_map(|exchange| wire.read(&exchange).map(|history| (exchange, history))).collect()
}

/// Returns the list, and those that were sent before it: each ends where the model was asked.
fn requests(messages: &[Message]) -> impl Iterator<Item = &[Message]> {
    let asked = |end: usize| {
        let answered = messages.get(end).is_none_or(|next| next.role == Role::Assistant);
        let last = messages[..end].last().map(|last| last.role);
        answered && matches!(last, Some(Role::User | Role::Tool)) || end == messages.len()
    };
    (1..=messages.len()).filter(move |end| asked(*end)).map(|end| &messages[..end])
}

/// Returns what the rules object to and what was done about it, if anything.
fn difference(messages: &[Message], facts: &RequestFacts, rules: &WireRules) -> Option<String> {
    let found = violations(messages, rules, facts);
    let sanitized = sanitize(messages, rules, facts);
    let borrowed = matches!(sanitized.messages, Cow::Borrowed(_));
    if found.is_empty() && sanitized.repairs.is_empty() && borrowed && !sanitized.thinking_off {
        return None;
    }
    let mut lines: Vec<String> = found.iter().map(|violation| format!("  - {violation}")).collect();
    lines.extend(sanitized.repairs.iter().map(|repair| format!("  * {repair}")));
    let copied = if borrowed { "" } else { "  (copied)\n" };
    Some(format!("{}\n{copied}{}", lines.join("\n"), notation::print(messages)))
}
