//! Conversations with tools, and everything that happens to stored ones.
//!
//! A conversation is made whole first; then it is damaged. What another provider made says so in its opaque parts, so
//! that a validator can tell without knowing who wrote the message.

use std::fmt;

use proptest::prelude::*;
use proptest::sample::Index;
use trunkline_message_tree::{
    Author, Content, Media, MediaSource, Message, Origin, Part, Role, ToolCall, ToolResult, notation,
};
use trunkline_sanitize::{RequestFacts, Thinking};

use crate::validators::FOREIGN;

/// A damaged list and the request that it is for.
#[derive(Clone)]
pub(super) struct Case {
    pub(super) messages: Vec<Message>,
    pub(super) facts: RequestFacts,
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{:?}", notation::print(&self.messages), self.facts)
    }
}

/// Returns lists in any state, for requests of any kind. Opaque blocks of ours are of the given wire.
pub(super) fn case(wire: &'static str) -> impl Strategy<Value = Case> {
    // One fault at a time shows what many hide.
    let damages = prop_oneof![prop::collection::vec(damage(), 0..3), prop::collection::vec(damage(), 0..9)];
    let ends = (prop::bool::weighted(0.5), prop::bool::weighted(0.9), prop::bool::weighted(0.7));
    let list = (prop::collection::vec(turn(), 1..6), ends, damages);
    (list, facts()).prop_map(move |((mut turns, (instructed, begun, asks_last), damages), facts)| {
        let mut messages = if instructed { vec![Message::system("be brief")] } else { Vec::new() };
        turns[0].asked |= begun;
        for turn in turns {
            turn.append(wire, &mut messages);
        }
        if asks_last && messages.last().is_some_and(|last| last.role == Role::Assistant) {
            messages.push(Message::user("and then?"));
        }
        for damage in damages {
            damage.apply(&mut messages);
        }
        Case { messages, facts }
    })
}

/// Returns the provider and model that all requests go to.
pub(super) fn origin() -> Origin {
    Origin::new("ours", "m")
}

fn facts() -> impl Strategy<Value = RequestFacts> {
    let thinking = prop_oneof![Just(Thinking::Off), Just(Thinking::On), Just(Thinking::Adaptive)];
    let offered = prop_oneof![4 => Just(None), 4 => Just(Some(true)), 1 => Just(Some(false))];
    (thinking, prop::bool::weighted(0.2), offered).prop_map(|(thinking, forced, offered)| {
        let mut facts = RequestFacts::default();
        facts.origin = Some(origin());
        facts.thinking = thinking;
        facts.tools_offered = offered;
        // Nobody forces a choice where there is none.
        facts.choice_forced = forced && offered != Some(false);
        facts
    })
}

/// What a model did in one go.
#[derive(Clone, Debug)]
struct Turn {
    asked: bool,
    reasoned: Reasoned,
    words: bool,
    calls: Vec<Work>,
    provider_ran: bool,
    opaque: bool,
    foreign: bool,
    in_order: bool,
}

#[derive(Clone, Debug)]
enum Reasoned {
    No,
    Signed,
    Unsigned,
    Redacted,
    Item,
}

#[derive(Clone, Debug)]
struct Work {
    /// `None` for one of its own.
    id: Option<&'static str>,
    name: &'static str,
    signed: bool,
    answer: Vec<Part>,
    failed: bool,
}

fn turn() -> impl Strategy<Value = Turn> {
    let reasoned = prop_oneof![
        3 => Just(Reasoned::No),
        3 => Just(Reasoned::Signed),
        1 => Just(Reasoned::Unsigned),
        1 => Just(Reasoned::Redacted),
        1 => Just(Reasoned::Item),
    ];
    let rarely = || prop::bool::weighted(0.1);
    (
        (prop::bool::weighted(0.7), reasoned, any::<bool>(), prop::collection::vec(work(), 0..4)),
        (rarely(), rarely(), prop::bool::weighted(0.2), prop::bool::weighted(0.8)),
    )
        .prop_map(|((asked, reasoned, words, calls), (provider_ran, opaque, foreign, in_order))| Turn {
            asked,
            reasoned,
            words,
            calls,
            provider_ran,
            opaque,
            foreign,
            in_order,
        })
}

/// Ids of many providers; few enough to meet again in a long history.
fn id() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        6 => prop::sample::select(vec!["toolu_01", "toolu_02", "call_a", "call_b", "call_c", "abcdefghi", "Abc123xyz"]),
        1 => prop::sample::select(vec![
            "functions.read:0",
            "call_1|fc_1",
            "",
            " ",
            "ünï",
            "resp_43amfn3g3uar3i4sa5b7sz35cukuufaisldkwel5v6o47xzpr5va:call_0",
            "call_with_an_id_that_is_longer_than_any_service_takes_and_goes_on_and_on_for_ever",
        ]),
    ]
}

fn work() -> impl Strategy<Value = Work> {
    let part = prop_oneof![
        6 => Just(Part::text("done")),
        1 => Just(Part::text("")),
        1 => Just(Part::text(" \n")),
        1 => Just(Part::Image(picture())),
    ];
    let answer = prop_oneof![
        4 => Just(vec![Part::text("done")]),
        2 => prop::collection::vec(part, 0..3),
    ];
    let name = prop::sample::select(vec!["read", "write"]);
    (prop::option::weighted(0.1, id()), name, any::<bool>(), answer, prop::bool::weighted(0.2))
        .prop_map(|(id, name, signed, answer, failed)| Work { id, name, signed, answer, failed })
}

fn picture() -> Media {
    Media { media_type: "image/png".to_owned(), source: MediaSource::Base64("AAAA".to_owned()) }
}

impl Turn {
    fn append(self, wire: &str, messages: &mut Vec<Message>) {
        if self.asked {
            messages.push(Message::user("go on"));
        }
        let mark = if self.foreign { FOREIGN } else { "own" };
        let mut content = Vec::new();
        match self.reasoned {
            Reasoned::No => {}
            Reasoned::Signed => content.push(thought(mark, Some(format!("{mark}-signature")))),
            Reasoned::Unsigned => content.push(thought(mark, None)),
            Reasoned::Redacted => content.push(Content::RedactedThinking { data: format!("{mark}-data") }),
            Reasoned::Item => content.push(opaque(wire, mark, "reasoning")),
        }
        if self.provider_ran {
            let block =
                |kind: &str, key: &str| format!(r#"{{"type":"{kind}","{key}":"srvtoolu_1","by":"{mark}"}}"#);
            content.push(Content::ServerCall {
                id: "srvtoolu_1".to_owned(),
                json: block("server_tool_use", "id"),
            });
            content.push(Content::ServerResult {
                call_id: "srvtoolu_1".to_owned(),
                json: block("web_search_tool_result", "tool_use_id"),
            });
        }
        if self.opaque {
            content.push(opaque(wire, mark, "something_new"));
        }
        if self.words || self.calls.is_empty() {
            content.push(Content::text("let me see"));
        }
        if wire == "gemini" && matches!(self.reasoned, Reasoned::Signed) {
            let json = format!(r#"{{"text":"","thoughtSignature":"{mark}-text"}}"#);
            content.push(Content::Opaque { wire: wire.to_owned(), json });
        }
        // Nine letters and digits, which every service takes.
        let taken = messages.iter().flat_map(Message::calls).count();
        let ids: Vec<String> = (taken..)
            .zip(&self.calls)
            .map(|(fresh, work)| work.id.map_or_else(|| format!("call{fresh:05}"), str::to_owned))
            .collect();
        for (work, id) in self.calls.iter().zip(&ids) {
            content.push(Content::ToolCall(ToolCall {
                id: id.clone(),
                name: work.name.to_owned(),
                arguments: r#"{"x":1}"#.to_owned(),
                signature: work.signed.then(|| format!("{mark}-call")),
            }));
        }
        let mut message = Message::new(Role::Assistant, Author::Model, content);
        let provider = if self.foreign { "theirs" } else { "ours" };
        message.origin = Some(Origin::new(provider, "m"));
        messages.push(message);
        let mut results: Vec<Message> = self
            .calls
            .into_iter()
            .zip(ids)
            .map(|(work, call_id)| {
                let result = ToolResult { call_id, content: work.answer, is_error: work.failed };
                Message::new(Role::Tool, Author::Tool, vec![Content::ToolResult(result)])
            })
            .collect();
        if !self.in_order {
            results.reverse();
        }
        messages.extend(results);
    }
}

fn thought(mark: &str, signature: Option<String>) -> Content {
    Content::Thinking { text: format!("{mark} thought"), signature }
}

fn opaque(wire: &str, mark: &str, kind: &str) -> Content {
    let wire = if mark == FOREIGN { "another wire" } else { wire };
    Content::Opaque {
        wire: wire.to_owned(),
        json: format!(r#"{{"type":"{kind}","id":"rs_1","summary":[],"by":"{mark}"}}"#),
    }
}

/// Something that happens to a stored list.
#[derive(Clone, Debug)]
enum Damage {
    Drop(Index),
    DropFirst(Index),
    DropLast(Index),
    Duplicate(Index, Index),
    Swap(Index, Index),
    Move(Index, Index),
    Insert(Index, Message),
    Empty(Index),
    Role(Index, Role),
    DropBlock(Index, Index),
    MoveBlock(Index, Index, Index),
    Retarget(Index, &'static str),
    Text(Index, &'static str),
    Arguments(Index, &'static str),
    Unsign(Index),
    ForgetOrigin(Index),
}

fn damage() -> impl Strategy<Value = Damage> {
    let at = any::<Index>;
    let role = prop::sample::select(vec![Role::System, Role::User, Role::Assistant, Role::Tool]);
    let message = prop_oneof![
        Just(Message::user("are you there?")),
        Just(Message::harness(" ")),
        Just(Message::user("")),
        Just(Message::assistant("yes \n")),
        Just(Message::system("from now on in French")),
        id().prop_map(|id| Message::tool_result(id, "late", false)),
        Just(Message::new(Role::User, Author::Person, vec![Content::Image(picture())])),
        id().prop_map(|id| {
            let result = ToolResult { call_id: id.to_owned(), content: Vec::new(), is_error: true };
            Message::new(Role::User, Author::Person, vec![Content::text("hm"), Content::ToolResult(result)])
        }),
    ];
    let text = prop::sample::select(vec!["", " ", "\n\n", "fine ", "fine"]);
    let arguments = prop::sample::select(vec!["", "null", "[]", r#"{"x""#, "\"x\"", "{}"]);
    prop_oneof![
        3 => at().prop_map(Damage::Drop),
        1 => at().prop_map(Damage::DropFirst),
        1 => at().prop_map(Damage::DropLast),
        1 => (at(), at()).prop_map(|(from, to)| Damage::Duplicate(from, to)),
        1 => (at(), at()).prop_map(|(one, other)| Damage::Swap(one, other)),
        2 => (at(), at()).prop_map(|(from, to)| Damage::Move(from, to)),
        2 => (at(), message).prop_map(|(at, message)| Damage::Insert(at, message)),
        1 => at().prop_map(Damage::Empty),
        1 => (at(), role).prop_map(|(at, role)| Damage::Role(at, role)),
        1 => (at(), at()).prop_map(|(at, block)| Damage::DropBlock(at, block)),
        1 => (at(), at(), at()).prop_map(|(from, block, to)| Damage::MoveBlock(from, block, to)),
        2 => (at(), id()).prop_map(|(at, id)| Damage::Retarget(at, id)),
        1 => (at(), text).prop_map(|(at, text)| Damage::Text(at, text)),
        1 => (at(), arguments).prop_map(|(at, arguments)| Damage::Arguments(at, arguments)),
        1 => at().prop_map(Damage::Unsign),
        1 => at().prop_map(Damage::ForgetOrigin),
    ]
}

impl Damage {
    fn apply(self, messages: &mut Vec<Message>) {
        let many = messages.len();
        if many == 0 {
            return;
        }
        let one = |at: Index| at.index(many);
        match self {
            Damage::Drop(at) => drop(messages.remove(one(at))),
            Damage::DropFirst(at) => drop(messages.drain(..one(at))),
            Damage::DropLast(at) => messages.truncate(one(at) + 1),
            Damage::Duplicate(from, to) => messages.insert(to.index(many + 1), messages[one(from)].clone()),
            Damage::Swap(a, b) => messages.swap(one(a), one(b)),
            Damage::Move(from, to) => {
                let message = messages.remove(one(from));
                messages.insert(one(to), message);
            }
            Damage::Insert(at, message) => messages.insert(at.index(many + 1), message),
            Damage::Empty(at) => messages[one(at)].content.clear(),
            Damage::Role(at, role) => messages[one(at)].role = role,
            Damage::DropBlock(at, block) => drop(take(&mut messages[one(at)], block)),
            Damage::MoveBlock(from, block, to) => {
                // Nobody could tell that a block comes from elsewhere if it stood in a message of somebody else.
                if messages[one(from)].origin == messages[one(to)].origin {
                    let block = take(&mut messages[one(from)], block);
                    messages[one(to)].content.extend(block);
                }
            }
            Damage::Retarget(at, id) => messages[one(at)].content.iter_mut().for_each(|block| match block {
                Content::ToolCall(call) => call.id = id.to_owned(),
                Content::ToolResult(result) => result.call_id = id.to_owned(),
                _ => {}
            }),
            Damage::Text(at, said) => messages[one(at)].content.iter_mut().for_each(|block| match block {
                Content::Text { text } => *text = said.to_owned(),
                Content::ToolResult(result) => result.content = vec![Part::text(said)],
                _ => {}
            }),
            Damage::Arguments(at, text) => messages[one(at)].content.iter_mut().for_each(|block| {
                if let Content::ToolCall(call) = block {
                    call.arguments = text.to_owned();
                }
            }),
            Damage::Unsign(at) => messages[one(at)].content.iter_mut().for_each(|block| match block {
                Content::Thinking { signature, .. } => *signature = None,
                Content::ToolCall(call) => call.signature = None,
                _ => {}
            }),
            // Who wrote it is forgotten only where it was us; nobody could tell otherwise.
            Damage::ForgetOrigin(at) => {
                let message = &mut messages[one(at)];
                message.origin = message.origin.take().filter(|written_by| *written_by != origin());
            }
        }
    }
}

fn take(message: &mut Message, block: Index) -> Option<Content> {
    let many = message.content.len();
    (many > 0).then(|| message.content.remove(block.index(many)))
}
