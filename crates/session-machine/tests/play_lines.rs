//! What a play reads in a line, and what it says in one.

use std::fmt::Write;

use trunkline_message_tree::{
    Author, Content, Entry as TreeEntry, Message, Origin, Role, StopReason, ToolCall,
};
use trunkline_providers::{DecodeError, ErrorKind, ProviderError};
use trunkline_resolve_queue::{
    Actor, ActorKind, Choice, CommandPattern, Notice, Policy, ProposalId, Rule, RuleTarget, RuleVerdict,
    Scope, Verdict,
};
use trunkline_session_machine::acts::reply::Came;
use trunkline_session_machine::next::Step;
use trunkline_session_machine::{Bounds, Event, NewTask, Said, Stop};
use trunkline_session_store::Record;

use crate::play::START;

/// Reads an answer that is whole, or what came of one that is not; `kind` says how it ended.
pub(crate) fn came_of(kind: &str, text: &str) -> Option<Came> {
    let transport = |message: &str| ProviderError::Transport {
        endpoint: "http://localhost:1".to_owned(),
        message: message.to_owned(),
    };
    let (stop, fault) = match kind {
        "model" => (StopReason::EndTurn, None),
        "cut" => (StopReason::Cut, Some(ProviderError::Cut)),
        "limit" => (StopReason::MaxTokens, None),
        "busy" => (StopReason::Cut, Some(ProviderError::api(503, ErrorKind::Overloaded, "Overloaded"))),
        "unauthorized" => {
            (StopReason::Cut, Some(ProviderError::api(401, ErrorKind::Auth, "invalid x-api-key")))
        }
        "quota" => (StopReason::Cut, Some(ProviderError::api(429, ErrorKind::Quota, "insufficient_quota"))),
        "invalid" => (StopReason::Cut, Some(ProviderError::api(400, ErrorKind::InvalidRequest, "no"))),
        "long" => {
            (StopReason::Cut, Some(ProviderError::api(400, ErrorKind::ContextTooLong, "prompt is too long")))
        }
        "certificate" => (StopReason::Cut, Some(transport("invalid peer certificate: UnknownIssuer"))),
        "doubtful" => {
            let (reason, excerpt) = ("the call has two names".to_owned(), "{\"name\":\"rm\"}".to_owned());
            (StopReason::Cut, Some(ProviderError::Decode(DecodeError::Doubtful { reason, excerpt })))
        }
        "unreached" => (StopReason::Cut, Some(transport("Connection refused (os error 111)"))),
        _ => return None,
    };
    let nothing = fault.is_some() && text.is_empty();
    let came = Came::whole(reply_of(text, stop));
    Some(Came {
        message: came.message.filter(|_| !nothing),
        fault,
        ..Came::whole(reply_of("", StopReason::Cut))
    })
}

/// Several lines are said in one.
pub(crate) fn lines_of(text: &str) -> String {
    text.replace("\\n", "\n")
}

/// Reads `soft PATIENCE TURNS`, or `once TURNS`.
pub(crate) fn policy_of(text: &str) -> Policy {
    let numbers: Vec<u32> = text.split(' ').filter_map(|word| word.parse().ok()).collect();
    match numbers.as_slice() {
        [patience, turns] => Policy::SoftFirst { patience: *patience, turns: *turns },
        _ => Policy::AtOnce { turns: numbers[0] },
    }
}

/// Reads a task: its title, and behind ` // ` when it is done.
pub(crate) fn task_of(text: &str) -> NewTask {
    let mut parts = text.split(" // ");
    let mut task = NewTask::new(parts.next().unwrap_or_default());
    task.acceptance_criteria = parts.map(str::to_owned).collect();
    task
}

/// Reads `retries 1`, `turns 3` or `tokens 9`.
pub(crate) fn bounds_of(text: &str) -> Bounds {
    let (what, number) = text.split_once(' ').unwrap();
    let mut bounds = Bounds::default();
    match what {
        "retries" => bounds.retries = number.parse().ok(),
        "turns" => bounds.turns = number.parse().ok(),
        _ => bounds.tokens = number.parse().ok(),
    }
    bounds
}

/// Reads a rule: `allow`, `ask` or `deny`; `once`; `tool NAME`, `path PATTERN` or `command WORDS`; `model`, if that may decide;
/// `because` and the reason.
pub(crate) fn rule_of(text: &str) -> Rule {
    let (text, reason) = text.split_once(" because ").unwrap_or((text, ""));
    let mut words = text.split(' ');
    let verdict = match words.next() {
        Some("allow") => RuleVerdict::Allow,
        Some("deny") => RuleVerdict::Deny,
        _ => RuleVerdict::Ask,
    };
    let mut rule = Rule::new(verdict, Actor::new(ActorKind::Person, "anna"));
    rule.reason = lines_of(reason);
    while let Some(word) = words.next() {
        match word {
            "once" => rule.scope = Scope::Once,
            "model" => drop(rule.deciders.insert(ActorKind::Model)),
            "tool" => rule.tool = words.next().map(str::to_owned),
            "path" => rule.target = words.next().map(|path| RuleTarget::Path(path.parse().unwrap())),
            "command" => {
                rule.target = Some(RuleTarget::Command(CommandPattern::beginning(words.by_ref()).unwrap()));
            }
            "until" => rule.expires_at = words.next().map(|at| at.parse().unwrap()),
            other => panic!("no such word of a rule: {other}"),
        }
    }
    rule
}

/// Reads what a person says of a proposal: perhaps `with` an object that is handed over, and then why.
pub(crate) fn said_of(word: &str, text: &str) -> Said {
    let verdict = if word == "approve" { Verdict::Approve } else { Verdict::Discard };
    match text.strip_prefix("with ").map(|rest| rest.split_once(' ').unwrap_or((rest, ""))) {
        Some((extra, why)) => Said::new(verdict, why).handing(serde_json::from_str(extra).unwrap()),
        None => Said::new(verdict, text),
    }
}

/// Reads words, or calls.
fn reply_of(text: &str, stop: StopReason) -> Message {
    let words = |piece: &str| piece.strip_prefix("say ").map(Content::text);
    let calls: Vec<Content> =
        text.split("; ").filter_map(|one| call_of(one).or_else(|| words(one))).collect();
    let content = if calls.is_empty() { vec![Content::Text { text: lines_of(text) }] } else { calls };
    let mut message = Message::new(Role::Assistant, Author::Model, content);
    (message.origin, message.stop) = (Some(Origin::new("made-up", "parrot")), Some(stop));
    message
}

fn call_of(text: &str) -> Option<Content> {
    let (name, rest) = text.split_once(' ')?;
    let (id, arguments) = rest.split_once(' ')?;
    let is_call = arguments.starts_with('{');
    let (name, id, arguments) = (name.to_owned(), id.to_owned(), arguments.to_owned());
    is_call.then_some(Content::ToolCall(ToolCall { id, name, arguments, signature: None }))
}

/// A step in one line.
pub(crate) fn name_of(step: &Step) -> String {
    let ids = |ids: &[ProposalId]| ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    match step {
        Step::Answer(answers) => {
            let told = answers.iter().map(|(place, text)| format!("{} {text:?}", place.id));
            format!("answer {}", told.collect::<Vec<_>>().join(", "))
        }
        Step::Gate(place, asked) => format!("gate {} {}", place.id, asked.gate.label),
        Step::AskForPlan => "ask for a plan".to_owned(),
        Step::ProposePlan(place, text) => format!("propose {} {}", place.id, text.title),
        Step::AskToClose(place, close) => format!("ask to {} {}", close.word(), place.id),
        Step::CloseAsAsked => "close as asked".to_owned(),
        Step::Run(calls) => {
            let called = calls.iter().map(|call| format!("{} {}", call.tool, call.place.id));
            format!("run {}", called.collect::<Vec<_>>().join(", "))
        }
        Step::Resolve(place, _) => format!("resolve {}", place.id),
        Step::Ask(waiting) => format!("ask about {}", ids(waiting)),
        Step::Settle => "settle".to_owned(),
        Step::Apply(id) => format!("apply {id}"),
        Step::Check(id) => format!("check {id}"),
        Step::Approve(id) => format!("approve {id}"),
        Step::Forbid(id) => format!("forbid {id}"),
        Step::GiveUp(id) => format!("drop {id}"),
        Step::Nudge(words) => format!("nudge {words:?}"),
        Step::OpenRun => "open a run".to_owned(),
        Step::Compact(_) => "compact".to_owned(),
        Step::Request => "request".to_owned(),
        Step::Wait(until) => format!("wait until +{} ms", until.0 - START),
        Step::Conclude => "conclude".to_owned(),
        Step::Expire => "expire".to_owned(),
        Step::TellUntold => "tell".to_owned(),
        Step::CallHook(id) => format!("call hook {id}"),
        Step::LookUp(id, _) => format!("look up {id}"),
        Step::Bind(_) => "bind".to_owned(),
        Step::AskGit => "ask git".to_owned(),
        Step::MakeRoom(_) => "make room".to_owned(),
        Step::ReadInbox { .. } => "read the inbox".to_owned(),
        Step::AwaitApply(attempt, _) => format!("await {attempt}"),
        Step::Stop(Stop::Cancelled | Stop::Idle) => "rest".to_owned(),
        Step::Stop(stop) => format!("stop {stop}"),
    }
}

/// A record in one line.
pub(crate) fn drawn(record: &Record) -> String {
    match record {
        Record::Entry(TreeEntry::Node { id, parent, message, link, .. }) => {
            let under = parent.map_or(String::new(), |parent| format!(" under {parent}"));
            let filed = if link.is_filed() { " filed" } else { "" };
            let mut said = message.text();
            for call in message.calls() {
                let _ = write!(said, "{} {}", call.name, call.id);
                said.push(' ');
            }
            for result in message.results() {
                let _ = write!(said, "{}: {}", result.call_id, result.text());
            }
            let author = format!("{:?}", message.author).to_lowercase();
            format!("{id}{under}{filed} {author}: {}", said.trim().replace('\n', " / "))
        }
        Record::Entry(TreeEntry::Move(moved)) => format!("head to {}", moved.to),
        Record::Note(note) => {
            let key = note.key.as_ref();
            let key =
                key.filter(|key| !key.key.contains('-')).map(|key| format!(" {} {}", key.key, key.state));
            let verdict =
                note.key.as_ref().filter(|_| note.kind == "decided").map(|key| format!(" {}", key.state));
            format!("{}/{}{}{}", note.layer, note.kind, key.unwrap_or_default(), verdict.unwrap_or_default())
        }
        Record::Blob(blob) => format!("{} bytes", blob.bytes.len()),
    }
}

/// What is told of a choice, if it is.
pub(crate) fn told_of(event: &Event) -> Option<String> {
    match event {
        Event::Choice(Notice::GaveUp { about }) => Some(format!("gave up {}", about[0].proposal)),
        Event::Choice(Notice::Resolved { label, choice, .. }) if *choice != Choice::Auto => {
            Some(format!("{label} done"))
        }
        Event::Choice(Notice::Rejected { label, reason, .. }) => Some(format!("{label} {reason}")),
        Event::LeftAlone { files } => Some(format!("left alone {}", files.join(", "))),
        _ => None,
    }
}
