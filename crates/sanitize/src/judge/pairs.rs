//! Judges calls and results.

use std::collections::{HashMap, HashSet};

use trunkline_message_tree::{Content, Role};

use super::Case;
use super::layout::Turn;
use crate::{IdAlphabet, IdScope, ResultPlace, ViolationKind};

/// Judges ids, arguments, and who answers whom.
pub(super) fn judge<'a>(case: &mut Case<'_>, turns: &'a [Turn<'a>]) {
    let mut used = HashSet::new();
    let mut answers = Answers::default();
    for (index, turn) in turns.iter().enumerate() {
        if turn.role == Role::Assistant {
            if case.rules.ids_unique_in == IdScope::Message {
                used.clear();
            }
            let answering = case.answering(&turns[index + 1..]);
            let answered: HashSet<&str> = answering.into_iter().flat_map(results).collect();
            calls(case, turn, &mut used, &answered);
            if !case.rules.words_after_calls {
                words_after_calls(case, turn);
            }
        }
        if turn.role == Role::Assistant || !case.rules.results_may_wait() {
            answers = Answers::default();
        }
        if turn.role == case.answering_role() {
            let asked = match turns[..index].last() {
                _ if case.rules.results_may_wait() => {
                    turns[..index].iter().rfind(|before| before.role == Role::Assistant)
                }
                before => before.filter(|before| before.role == Role::Assistant),
            };
            pairs(case, turn, &asked.map(called).unwrap_or_default(), &mut answers);
            if let Some(asked) = asked
                && case.rules.results_in_call_order
            {
                order(case, turn, asked, &mut answers);
            }
        }
        if !case.rules.words_after_results {
            words(case, turn, turns.get(index + 1));
        }
    }
}

/// What has been answered since the assistant spoke.
#[derive(Default)]
struct Answers<'a> {
    /// How many results each call has, by its id.
    times: HashMap<&'a str, usize>,
    /// The position of the latest call of each tool that was answered.
    last: HashMap<&'a str, usize>,
}

impl Case<'_> {
    fn answering_role(&self) -> Role {
        match self.rules.results {
            ResultPlace::UserMessage => Role::User,
            ResultPlace::ToolMessage | ResultPlace::AfterTurn => Role::Tool,
        }
    }

    /// Returns the turns, of those after the assistant's, that may answer it.
    fn answering<'a>(&self, after: &'a [Turn<'a>]) -> Vec<&'a Turn<'a>> {
        let reach = if self.rules.results_may_wait() { after.len() } else { 1 };
        let slot = after.iter().take(reach).take_while(|turn| turn.role != Role::Assistant);
        slot.filter(|turn| turn.role == self.answering_role()).collect()
    }

    fn takes_id(&self, id: &str) -> bool {
        let rule = &self.rules.ids;
        let length = rule.exact_length.map_or(!id.is_empty(), |exact| id.len() == exact && exact > 0);
        let short = rule.max_length.is_none_or(|max| id.len() <= max);
        length
            && short
            && id.chars().all(|c| match rule.alphabet {
                IdAlphabet::Any => true,
                IdAlphabet::Word => matches!(c, 'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-'),
                IdAlphabet::WordDotColon => {
                    matches!(c, 'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '.' | ':' | '-')
                }
                IdAlphabet::Alphanumeric => matches!(c, 'a'..='z' | 'A'..='Z' | '0'..='9'),
            })
    }
}

impl Case<'_> {
    /// Whether the name of a called tool looks as the wire wants it, or is that of an offered tool.
    fn takes_name(&self, name: &str) -> bool {
        let rule = &self.rules.names;
        let fits = |(position, sign): (usize, char)| match (rule.alphabet, sign) {
            _ if position == 0 && rule.leads_with_letter && !sign.is_ascii_alphabetic() && sign != '_' => {
                false
            }
            (IdAlphabet::Any, _) | (_, 'a'..='z' | 'A'..='Z' | '0'..='9') => true,
            (IdAlphabet::Word | IdAlphabet::WordDotColon, '_' | '-') => true,
            (IdAlphabet::WordDotColon, '.' | ':') => true,
            _ => false,
        };
        let short = rule.max_length.is_none_or(|most| name.len() <= most);
        let looks_right = !name.is_empty() && short && name.chars().enumerate().all(fits);
        looks_right || (!name.is_empty() && self.facts.tools.iter().any(|tool| tool == name))
    }
}

/// Looks for words and reasoning behind a call, message by message.
fn words_after_calls(case: &mut Case<'_>, turn: &Turn<'_>) {
    let mut called: Option<(usize, &str)> = None;
    for (at, block) in &turn.blocks {
        match (block, called) {
            (Content::ToolCall(call), _) => called = Some((at.message, &call.id)),
            (_, Some((message, call_id))) if message == at.message => {
                let call_id = call_id.to_owned();
                case.find(*at, ViolationKind::WordsAfterCall { call_id });
            }
            _ => {}
        }
    }
}

fn calls<'a>(case: &mut Case<'_>, turn: &Turn<'a>, used: &mut HashSet<&'a str>, answered: &HashSet<&str>) {
    for (at, block) in &turn.blocks {
        let Content::ToolCall(call) = block else { continue };
        let call_id = call.id.clone();
        if !used.insert(&call.id) {
            case.find(*at, ViolationKind::IdTaken { call_id: call_id.clone() });
        }
        if !case.takes_id(&call.id) {
            case.find(*at, ViolationKind::IdRefused { call_id: call_id.clone() });
        }
        if !case.takes_name(&call.name) {
            let name = call.name.clone();
            case.find(*at, ViolationKind::NameRefused { call_id: call_id.clone(), name });
        }
        let null = case.rules.null_arguments && call.arguments.trim() == "null";
        if !null && call.parse_arguments().is_err() {
            case.find(*at, ViolationKind::ArgumentsNotObject { call_id: call_id.clone() });
        }
        if !answered.contains(call.id.as_str()) {
            case.find(*at, ViolationKind::Unanswered { call_id });
        }
    }
}

fn pairs<'a>(case: &mut Case<'_>, turn: &'a Turn<'a>, asked: &HashSet<&str>, answers: &mut Answers<'a>) {
    let mut words = false;
    for (at, block) in &turn.blocks {
        let Content::ToolResult(result) = block else {
            words = true;
            continue;
        };
        let call_id = result.call_id.clone();
        let times = answers.times.entry(&result.call_id).or_default();
        *times += 1;
        if !asked.contains(result.call_id.as_str()) {
            case.find(*at, ViolationKind::Orphan { call_id });
        } else if *times > 1 {
            case.find(*at, ViolationKind::SecondResult { call_id });
        } else if words {
            case.find(*at, ViolationKind::ResultNotFirst { call_id });
        }
    }
}

/// Holds results against the order of their calls, tool by tool.
fn order<'a>(case: &mut Case<'_>, turn: &Turn<'_>, asked: &'a Turn<'a>, answers: &mut Answers<'a>) {
    for id in results(turn) {
        let calls = asked.blocks.iter().filter_map(|(_, block)| block.as_call()).enumerate();
        let Some((position, call)) = calls.into_iter().find(|(_, call)| call.id == id) else { continue };
        let before = answers.last.insert(&call.name, position);
        if before.is_some_and(|before| before > position) {
            case.find(turn.at, ViolationKind::ResultsOutOfOrder);
            return;
        }
    }
}

/// Looks for words of the user after results, in the same message or the next.
fn words(case: &mut Case<'_>, turn: &Turn<'_>, next: Option<&Turn<'_>>) {
    let is_result = |block: &Content| block.as_result().is_some();
    let Some(first) = turn.blocks.iter().position(|(_, block)| is_result(block)) else { return };
    if turn.role == Role::User {
        let after = turn.blocks.iter().skip(first).find(|(_, block)| !is_result(block));
        if let Some((at, _)) = after {
            case.find(*at, ViolationKind::WordsAfterResults);
        }
    }
    if let Some(next) = next.filter(|next| next.role == Role::User) {
        case.find(next.at, ViolationKind::WordsAfterResults);
    }
}

fn results<'a>(turn: &'a Turn<'_>) -> impl Iterator<Item = &'a str> {
    turn.blocks.iter().filter_map(|(_, block)| Some(block.as_result()?.call_id.as_str()))
}

fn called<'a>(turn: &'a Turn<'_>) -> HashSet<&'a str> {
    turn.blocks.iter().filter_map(|(_, block)| Some(block.as_call()?.id.as_str())).collect()
}
