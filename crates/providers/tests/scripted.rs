//! The provider that plays a script.

use expect_test::expect;
use serde_json::json;
use trunkline_message_tree::{Message, StopReason, notation};
use trunkline_providers::{
    EncodeError, Event, Fold, OpenAiChat, Provider, ProviderError, Reply, Request, Scripted, Turn,
};

/// All events, and how it ended.
pub(crate) async fn collect(
    provider: &dyn Provider,
    request: Request,
) -> (Vec<Event>, Result<(), ProviderError>) {
    match provider.send(request).await {
        Ok(reply) => collect_from(reply).await,
        Err(error) => (Vec::new(), Err(error)),
    }
}

pub(crate) async fn collect_from(mut reply: Box<dyn Reply>) -> (Vec<Event>, Result<(), ProviderError>) {
    let mut events = Vec::new();
    loop {
        match reply.next().await {
            Ok(Some(event)) => events.push(event),
            Ok(None) => return (events, Ok(())),
            Err(error) => return (events, Err(error)),
        }
    }
}

fn play(turn: Turn) -> (Fold, Vec<Event>, Result<(), ProviderError>) {
    let provider = Scripted::new("scripted", "m", move |_| turn.clone());
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let (events, outcome) =
        runtime.block_on(collect(&provider, Request::new("m", vec![Message::user("hi")])));
    let mut fold = Fold::new(provider.origin().clone());
    events.iter().for_each(|event| fold.push(event));
    (fold, events, outcome)
}

#[test]
fn a_turn_is_streamed_in_pieces_and_folds_to_what_it_says() {
    let turn = Turn::new()
        .think("let me think about it", Some("sig"))
        .and_say("I will read a file now.")
        .call("c1", "read_file", &json!({"path": "src/main.rs"}))
        .call_raw("c2", "read_file", "{\"path\": \"src");
    let (fold, events, outcome) = play(turn);
    assert_eq!(outcome, Ok(()));
    assert!(events.iter().filter(|event| matches!(event, Event::TextDelta(_))).count() > 1);
    expect![[r#"
        assistant:
        + thinking sig: let me think about it
        + text: I will read a file now.
        + call c1 read_file {"path":"src/main.rs"}
        + call c2 read_file {"path": "src
        + origin scripted m
        + stop tool_use
    "#]]
    .assert_eq(&notation::print(&[fold.finish()]));
}

#[test]
fn a_turn_may_fail_on_the_way() {
    let (fold, _, outcome) = play(Turn::say("half a sen").fail(ProviderError::Cut));
    assert_eq!(outcome, Err(ProviderError::Cut));
    let message = fold.cut(StopReason::Cut).expect("words came");
    assert_eq!((message.text(), message.stop), ("half a sen".to_owned(), Some(StopReason::Cut)));
}

#[test]
fn an_illegal_history_is_refused_as_the_wire_would() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let history = notation::parse("user: hi\nassistant: hello").expect("notation");
    let anthropic = Scripted::new("scripted", "m", |_| Turn::say("never"));
    let refused = runtime.block_on(collect(&anthropic, Request::new("m", history.clone()))).1;
    assert!(
        matches!(refused, Err(ProviderError::Encode(EncodeError::LastIsAssistant { .. }))),
        "{refused:?}"
    );

    let chat = Scripted::new("scripted", "m", |_| Turn::say("there")).on(OpenAiChat::default());
    assert_eq!(chat.wire(), "openai-chat");
    assert_eq!(runtime.block_on(collect(&chat, Request::new("m", history))).1, Ok(()));
}
