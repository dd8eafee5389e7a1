//! Makes message lists: legal ones, legal ones with something broken, and plain rubbish.
//!
//! Ids and texts come from a small stock, so that they collide as they do in damaged histories.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use trunkline_message_tree::{
    Author, Content, Media, MediaSource, Message, NodeId, Origin, Part, Role, StopReason, ToolCall,
    ToolResult,
};
use trunkline_sanitize::{
    BlankText, CallFact, Fate, ForeignReasoning, Prefix, Prefixes, Reasoning, RequestFacts, SIGNATURE_STUB,
    Thinking, WireRules,
};

/// A known rule set, often with a few rules of others.
pub(crate) fn rules() -> impl Strategy<Value = WireRules> {
    let known = || select(WireRules::NAMES).prop_map(|name| WireRules::named(name).expect("a known name"));
    let mixed = (known(), vec((0..30_u8, known()), 1..6)).prop_map(|(mut rules, others)| {
        for (field, other) in others {
            borrow_rule(&mut rules, field, other);
        }
        rules
    });
    prop_oneof![3 => known(), 2 => mixed, 1 => Just(WireRules::open("mine"))]
}

fn borrow_rule(rules: &mut WireRules, field: u8, other: WireRules) {
    match field {
        0 => rules.alternate = other.alternate,
        1 => rules.head = other.head,
        2 => rules.tail = other.tail,
        3 => rules.final_white_space_refused = other.final_white_space_refused,
        4 => rules.system = other.system,
        5 => rules.results = other.results,
        6 => rules.results_in_call_order = other.results_in_call_order,
        7 => rules.words_after_results = other.words_after_results,
        8 => rules.media = other.media,
        9 => rules.media_in_results = other.media_in_results,
        10 => rules.results_are_blocks = other.results_are_blocks,
        11 => rules.tool_blocks_need_tools = other.tool_blocks_need_tools,
        12 => rules.blank_text = other.blank_text,
        13 => rules.ids_unique_in = other.ids_unique_in,
        14 => rules.ids = other.ids,
        15 => rules.reasoning = other.reasoning,
        16 => (rules.reasoning_items, rules.wire) = (other.reasoning_items, other.wire),
        17 => rules.reasoning_beside_calls = other.reasoning_beside_calls,
        18 => rules.call_signatures = other.call_signatures,
        19 => rules.thinking_may_end_turn = other.thinking_may_end_turn,
        20 => rules.media_addresses = other.media_addresses,
        21 => rules.media_types = other.media_types,
        22 => rules.names = other.names,
        23 => rules.words_after_calls = other.words_after_calls,
        24 => rules.fields = other.fields,
        25 => rules.references_need_tools = other.references_need_tools,
        26 => rules.reasoning = Reasoning::SignedOrReturned,
        27 => rules.blank_text = BlankText::Refused,
        28 => rules.reasoning_bound = true,
        _ => rules.null_arguments = other.null_arguments,
    }
}

pub(crate) fn facts() -> impl Strategy<Value = RequestFacts> {
    let thinking = select(vec![Thinking::Off, Thinking::Off, Thinking::On, Thinking::Adaptive]);
    let known = (
        id(),
        option::of(0..2_usize),
        select(vec![Fate::NotStarted, Fate::AwaitingApproval]),
        option::of(words()),
    )
        .prop_map(|(id, position, fate, said)| {
            let mut fact = CallFact::new(id, fate);
            fact.position = position;
            fact.said = said;
            fact
        });
    let request = (
        select(vec![None, None, Some(true), Some(false)]),
        select(vec![None, None, Some(1), Some(300)]),
        select(vec![ForeignReasoning::Drop, ForeignReasoning::AsText]),
        select(vec![vec![], vec!["read"], vec!["read", "fs.read", "fs_read"]]),
        prefixes(),
    );
    (origin(), thinking, prop::bool::weighted(0.1), vec(known, 0..3), request).prop_map(
        |(
            origin,
            thinking,
            choice_forced,
            calls,
            (tools_offered, context_window, foreign_reasoning, tools, prefixes),
        )| {
            let mut facts = RequestFacts::default();
            facts.origin = origin;
            facts.thinking = thinking;
            facts.choice_forced = choice_forced;
            facts.tools_offered = tools_offered;
            facts.context_window = context_window;
            facts.foreign_reasoning = foreign_reasoning;
            facts.tools = tools.into_iter().map(str::to_owned).collect();
            facts.calls = calls;
            facts.prefixes = prefixes;
            facts
        },
    )
}

/// Behind what answers were written: behind nothing, behind instructions, or behind something that is nowhere.
fn prefixes() -> impl Strategy<Value = Prefixes> {
    let behind = |messages: &[Message]| {
        let mut prefix = Prefix::new();
        messages.iter().for_each(|message| prefix.message(message));
        prefix.digest()
    };
    let known = vec![
        behind(&[]),
        behind(&[Message::user("question 0")]),
        behind(&[Message::system("be brief"), Message::user("question 0")]),
        behind(&[Message::user("never said")]),
    ];
    let some = vec((0..12_u32, select(known)), 0..6);
    some.prop_map(|some| some.into_iter().map(|(node, prefix)| (NodeId::new(node), prefix)).collect())
}

/// Any list: a third each of rubbish, of legal lists, and of legal lists that met with accidents.
pub(crate) fn list() -> impl Strategy<Value = Vec<Message>> {
    prop_oneof![
        vec(message(), 0..12).boxed(),
        legal().boxed(),
        (legal(), vec((0..9_u8, any::<Index>(), message()), 1..5))
            .prop_map(|(mut list, accidents)| {
                for (kind, at, other) in accidents {
                    break_list(&mut list, kind, at, other);
                }
                list
            })
            .boxed(),
    ]
    .prop_map(number)
}

/// What a long session is made of, mostly as it was recorded: turns of many calls, calls that a provider ran itself, answers of
/// several models with their reasoning, blank words and results that hold nothing, now and then with an accident.
pub(crate) fn busy() -> impl Strategy<Value = Vec<Message>> {
    let round = (
        prop_oneof![
            4 => 0..4_usize,
            1 => 15..20_usize,
        ],
        (origin(), stop()),
        option::weighted(0.5, thinking()),
        select(vec![0, 0, 0, 1, 2, 3, 4_u8]),
        option::weighted(0.8, words()),
        (
            any::<Index>(),
            select(vec!["42", "42", "42", "", " "]),
            select(vec![None, None, Some(0), Some(1), Some(2_u8)]),
        ),
    );
    (vec(round, 1..5), 0..40_usize, vec((0..9_u8, any::<Index>(), message()), 0..2))
        .prop_map(|(rounds, first, accidents)| {
            let mut list = Vec::new();
            let mut next = first;
            for (calls, (origin, stop), thought, server, words, (at, result, odd)) in rounds {
                let ids: Vec<String> = (next..next + calls).map(|n| format!("call_{n}")).collect();
                next += calls;
                let mut content: Vec<Content> = thought.into_iter().collect();
                let json = |kind: &str| format!(r#"{{"type":"{kind}"}}"#);
                if server > 0 {
                    content.push(Content::ServerCall { id: "s1".into(), json: json("server_tool_use") });
                }
                if server == 2 || server == 3 {
                    let json = json("web_search_tool_result");
                    content.push(Content::ServerResult { call_id: "s1".into(), json });
                }
                content.extend((odd != Some(1)).then(|| Content::text("let me look")));
                content.extend(ids.iter().map(|id| call(id.clone(), "{}".into())));
                list.push(Message {
                    origin: origin.clone(),
                    stop,
                    ..Message::new(Role::Assistant, Author::Model, content)
                });
                let odd_one = if calls > 0 { at.index(calls) } else { 0 };
                for (number, id) in ids.into_iter().enumerate() {
                    let text = if number == odd_one { result } else { "42" };
                    let result = Message::tool_result(id, text, false);
                    match odd.filter(|_| number == odd_one) {
                        Some(0) => {}
                        Some(2) => list.extend([result.clone(), result]),
                        _ => list.push(result),
                    }
                }
                if server == 4 {
                    let json = json("web_search_tool_result");
                    let content =
                        vec![Content::ServerResult { call_id: "s1".into(), json }, Content::text("found")];
                    list.push(Message { origin, ..Message::new(Role::Assistant, Author::Model, content) });
                }
                list.extend(words.map(Message::user));
            }
            for (kind, at, other) in accidents {
                break_list(&mut list, kind, at, other);
            }
            list
        })
        .prop_map(number)
}

/// A list that every wire takes, but for the reasoning in it.
pub(crate) fn legal() -> impl Strategy<Value = Vec<Message>> {
    (
        option::of(select(vec!["be brief", ""])),
        vec((vec((1..4_usize, any::<bool>()), 0..4), any::<bool>()), 1..4),
    )
        .prop_map(|(system, rounds)| {
            let mut list: Vec<Message> = system.map(Message::system).into_iter().collect();
            let mut next = 0;
            let last = rounds.len();
            for (round, (batches, imported)) in rounds.into_iter().enumerate() {
                list.push(Message::user(format!("question {round}")));
                for (calls, speaks) in batches {
                    let ids: Vec<String> = (next..next + calls).map(|n| format!("call_{n}")).collect();
                    next += calls;
                    let words = speaks.then(|| Content::text("let me look"));
                    let calls = ids.iter().map(|id| call(id.clone(), r#"{"path":"a.rs"}"#.into()));
                    let content = words.into_iter().chain(calls).collect();
                    list.push(Message::new(Role::Assistant, Author::Model, content));
                    list.extend(ids.into_iter().map(|id| Message::tool_result(id, "42", imported)));
                }
                if round + 1 < last {
                    list.push(Message::assistant("that is it"));
                }
            }
            list
        })
        .prop_map(number)
}

pub(crate) fn answer() -> impl Strategy<Value = Message> {
    (vec(prop_oneof![3 => assistant_block(), 1 => block()], 0..4), origin(), stop()).prop_map(
        |(content, origin, stop)| Message {
            origin,
            stop,
            ..Message::new(Role::Assistant, Author::Model, content)
        },
    )
}

/// A message of the user's side, of any shape.
pub(crate) fn asked() -> impl Strategy<Value = Message> {
    (select(vec![Role::User, Role::User, Role::Tool]), vec(block(), 0..4))
        .prop_map(|(role, content)| Message::new(role, Author::Person, content))
}

fn number(mut list: Vec<Message>) -> Vec<Message> {
    for (index, message) in list.iter_mut().enumerate() {
        message.node = Some(NodeId::new(index as u32));
    }
    list
}

fn message() -> impl Strategy<Value = Message> {
    prop_oneof![
        2 => answer(),
        2 => asked(),
        2 => vec(prop_oneof![4 => user_block(), 1 => block()], 0..4)
            .prop_map(|content| Message::new(Role::User, Author::Harness, content)),
        2 => vec(result(), 1..3).prop_map(|content| Message::new(Role::Tool, Author::Tool, content)),
        1 => vec(prop_oneof![6 => text(), 1 => block()], 0..3)
            .prop_map(|content| Message::new(Role::System, Author::Harness, content)),
    ]
}

fn break_list(list: &mut Vec<Message>, kind: u8, at: Index, other: Message) {
    if list.is_empty() {
        return;
    }
    let here = at.index(list.len());
    match kind {
        0 => drop(list.remove(here)),
        1 => list.insert(here, list[here].clone()),
        2 => {
            let next = (here + 1) % list.len();
            list.swap(here, next);
        }
        3 => list.insert(here, other),
        4 => list[here].content.clear(),
        5 => list[here].role = other.role,
        6 => list[here].content.extend(other.content),
        7 => {
            let moved = list.remove(here);
            list.push(moved);
        }
        _ => list.truncate(here + 1),
    }
}

fn id() -> impl Strategy<Value = String> {
    let long = "call_0123456789012345678901234567890123456789";
    select(vec!["c1", "c1", "c2", "c2", "c3", "c1_2", "call_0", "call_1", "", "fn.a:0", "fn:a.0", long])
        .prop_map(str::to_owned)
}

fn words() -> impl Strategy<Value = String> {
    select(vec!["", " ", "\n", "hi", "well?", "padded \n", "\u{a0}", "continue"]).prop_map(str::to_owned)
}

fn origin() -> impl Strategy<Value = Option<Origin>> {
    let origin = |provider: &str, model: &str| Some(Origin::new(provider, model));
    let at = |address: &str| Some(Origin::new("p", "m").at(address));
    let known = vec![None, None, origin("p", "m"), origin("p", "m"), origin("p", "n"), origin("q", "m")];
    select(known.into_iter().chain([at("here"), at("here"), at("there")]).collect::<Vec<_>>())
}

fn stop() -> impl Strategy<Value = Option<StopReason>> {
    let ended = [Some(StopReason::ToolUse), Some(StopReason::EndTurn)];
    let other = [None, None, None, Some(StopReason::Pause), Some(StopReason::MaxTokens)];
    select(other.into_iter().chain(ended).collect::<Vec<_>>())
}

fn text() -> impl Strategy<Value = Content> {
    words().prop_map(Content::text)
}

fn media() -> impl Strategy<Value = Media> {
    let source = select(vec![
        MediaSource::Base64("AAAA".into()),
        MediaSource::Base64("BBBB".into()),
        MediaSource::Url("https://example.org/a".into()),
        MediaSource::Url("s3://bucket/a".into()),
    ]);
    let kinds =
        vec!["image/png", "image/png", "Image/PNG; q=1", "image/tiff", "application/pdf", "text/x-rust", ""];
    (select(kinds), source).prop_map(|(kind, source)| Media { media_type: kind.into(), source })
}

fn call(id: String, arguments: String) -> Content {
    Content::ToolCall(ToolCall { id, name: "read".into(), arguments, signature: None })
}

fn any_call() -> impl Strategy<Value = Content> {
    let arguments = select(vec![
        "{}",
        "{}",
        r#"{"a":1}"#,
        r#"{"b":[1e3,null]}"#,
        "",
        "null",
        "[]",
        r#"{"a":"#,
        r#""ls""#,
        r#"{"a":1e999}"#,
        r#"{"a":{"$serde_json::private::RawValue":"1"}}"#,
        r#"{"a":{"$serde_json::private::RawValue":"x"}}"#,
        r#"{"a":"\ud800"}"#,
    ]);
    let long = "a_name_that_is_longer_than_what_any_provider_takes_for_a_tool_0123456789";
    let names = [
        "read", "read", "read", "read", "ls", "ls", "fs.read", "fs:read", "fs_read", "", "1st", "lire là",
        long,
    ];
    let name = select(names.to_vec());
    let signature = select(vec![None, None, None, Some("sig"), Some(SIGNATURE_STUB), Some("")]);
    (id(), name, arguments, signature).prop_map(|(id, name, arguments, signature)| {
        let (name, arguments) = (name.to_owned(), arguments.to_owned());
        Content::ToolCall(ToolCall { id, name, arguments, signature: signature.map(str::to_owned) })
    })
}

fn result() -> impl Strategy<Value = Content> {
    let part = prop_oneof![
        12 => words().prop_map(Part::text),
        2 => media().prop_map(Part::Image),
        1 => media().prop_map(Part::Document),
        1 => select(vec![("anthropic", "{\"type\":\"tool_reference\",\"tool_name\":\"read\"}"),
            ("anthropic", "{\"type\":\"tool_reference\",\"tool_name\":\"gone\"}"), ("openai-chat", "{}"), ("gemini", "no JSON")])
            .prop_map(|(wire, json)| Part::Opaque { wire: wire.to_owned(), json: json.to_owned() }),
        // Larger than the smallest window, in characters of several bytes.
        1 => Just(Part::text("\u{20ac}uro ".repeat(300))),
    ];
    (id(), vec(part, 0..3), prop::bool::weighted(0.2)).prop_map(|(call_id, content, is_error)| {
        Content::ToolResult(ToolResult { call_id, content, is_error })
    })
}

fn thinking() -> impl Strategy<Value = Content> {
    let signature = select(vec![None, Some(String::new()), Some("sig".to_owned()), Some("sig".to_owned())]);
    prop_oneof![
        3 => signature.prop_map(|signature| Content::Thinking { text: "hmm".into(), signature }),
        1 => Just(Content::RedactedThinking { data: "xyz".into() }),
    ]
}

fn provider_block() -> impl Strategy<Value = Content> {
    let reasoning = r#"{"id":"rs_1","type":"reasoning","summary":[]}"#;
    let json = select(vec![
        "{}",
        r#"{"type":"x"}"#,
        "{",
        "[]",
        reasoning,
        reasoning,
        r#"{"text":"","thoughtSignature":"sig"}"#,
        r#"{"textBytes":[0,2],"part":{"thoughtSignature":"sig"}}"#,
        r#"{"executableCode":{"code":"1"},"thoughtSignature":null}"#,
    ])
    .prop_map(str::to_owned);
    let wire =
        select(vec!["anthropic", "openai-chat", "openai-responses", "openai-responses", "gemini", "mine"]);
    (0..4, json, wire).prop_map(|(kind, json, wire)| match kind {
        0 => Content::ServerCall { id: if json.len() > 2 { "s2".into() } else { "s1".into() }, json },
        1 => Content::ServerResult { call_id: "s1".into(), json },
        _ => Content::Opaque { wire: wire.into(), json },
    })
}

fn assistant_block() -> impl Strategy<Value = Content> {
    prop_oneof![3 => text(), 4 => any_call(), 1 => thinking(), 1 => provider_block()]
}

fn user_block() -> impl Strategy<Value = Content> {
    prop_oneof![4 => text(), 2 => result(), 1 => media().prop_map(Content::Image)]
}

fn block() -> impl Strategy<Value = Content> {
    prop_oneof![
        3 => text(),
        2 => any_call(),
        3 => result(),
        1 => thinking(),
        1 => provider_block(),
        1 => media().prop_map(Content::Image),
        1 => media().prop_map(Content::Document),
    ]
}
