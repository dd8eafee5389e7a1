//! What is sent: the same bytes whoever ends first, and whether a process has written the log or only read it.
//!
//! A part of the catalogue that `seed` begins.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use expect_test::expect;
use serde_json::{Map, Value, json};
use tokio::sync::watch;
use trunkline_runtime::message_tree::{
    Content, Media, MediaSource, Message, NodeId, Part, Role, Timestamp, ToolSpec,
};
use trunkline_runtime::providers::{ErrorKind, ProviderError, Scripted, Turn};
use trunkline_runtime::session_store::{Batch, Position, Record, SessionStore};
use trunkline_runtime::{Access, Agent, Approval, Cancel, Event, Tool, ToolContext, ToolOutput};

use crate::seed::{Looks, begin, roles, sent};
use crate::story::{Story, World, replies, stop_line};

/// A tool whose calls end in a given order.
struct Race {
    /// The place of each call at the finish.
    places: [usize; 3],
    finished: watch::Sender<usize>,
}

#[async_trait]
impl Tool for Race {
    fn spec(&self) -> ToolSpec {
        Looks(ToolOutput::default).spec()
    }

    fn access(&self) -> Access {
        Access::ReadOnly
    }

    async fn run(&self, _: Map<String, Value>, context: &ToolContext) -> ToolOutput {
        let index = context.call.index as usize;
        let mut finished = self.finished.subscribe();
        finished.wait_for(|finished| *finished == self.places[index]).await.unwrap();
        self.finished.send_modify(|finished| *finished += 1);
        if index == 1 { ToolOutput::error("no luck") } else { ToolOutput::text(format!("number {index}")) }
    }
}

#[tokio::test]
async fn s25_the_bytes_of_a_request_do_not_depend_on_who_ends_first() {
    let mut bodies = Vec::new();
    let mut orders = Vec::new();
    for places in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let look = |turn: Turn, id| turn.call(id, "look", &json!({}));
        // The last one cannot run, which is known before any other has begun.
        let turn = look(look(look(Turn::new(), "c0"), "c1"), "c2").call("c3", "nonsense", &json!({}));
        let world = World::default();
        let order = Arc::new(Mutex::new(Vec::new()));
        let ended = Arc::clone(&order);
        let race = Race { places, finished: watch::Sender::new(0) };
        let agent = world.agent(replies(vec![turn, Turn::say("done")])).tool(race).on_event(move |event| {
            if let Event::CallFinished { call, elapsed: Some(_), .. } = event {
                ended.lock().unwrap().push(call.index);
            }
        });
        let mut story = Story::begin(world, agent).await;
        story.prompt("do it").await.unwrap();
        bodies.push(sent(&story.world));
        orders.push(order.lock().unwrap().clone());
    }
    expect!["[[0, 1, 2], [0, 2, 1], [1, 0, 2], [2, 0, 1], [1, 2, 0], [2, 1, 0]]"]
        .assert_eq(&format!("{orders:?}"));
    bodies.dedup();
    assert_eq!(bodies.len(), 1, "{bodies:?}");
}

#[tokio::test]
async fn s26_reasoning_signatures_and_pictures_of_tools_survive_a_resume_byte_for_byte() {
    let picture = || {
        let source = MediaSource::Base64("iVBORw0KGgo=".to_owned());
        let mut output = ToolOutput::text("a picture");
        output.content.push(Part::Image(Media { media_type: "image/png".to_owned(), source }));
        output
    };
    let mut bodies = Vec::new();
    for restarts in [false, true] {
        let turns = vec![
            Turn::new().think("let me look", Some("c2lnMQ==")).call("c1", "look", &json!({})),
            Turn::new().think("a cat", Some("c2lnMg==")).and_say("A cat."),
            Turn::say("still here"),
        ];
        let world = World::default();
        let agent = world.agent(replies(turns)).tool(Looks(picture));
        let mut story = Story::begin(world, agent).await;
        story.prompt("what is it?").await.unwrap();
        if restarts {
            story = story.restart().await;
        }
        story.prompt("and now?").await.unwrap();
        bodies.push((sent(&story.world), story.world.last_request()));
    }
    assert_eq!(bodies[0], bodies[1]);
    expect![[r#"
        system: You work on files.
        user: what is it?
        assistant:
        + thinking "c2lnMQ==": let me look
        + call c1 look {}
        + origin test script
        + stop tool_use
        result c1: a picture
        ++ image image/png base64 "iVBORw0KGgo="
        assistant:
        + thinking "c2lnMg==": a cat
        + text: A cat.
        + origin test script
        + stop end_turn
        user: and now?
    "#]]
    .assert_eq(&bodies[1].1);
}

#[tokio::test]
async fn s26_a_picture_in_a_prompt_is_sent_by_the_process_that_only_read_it() {
    let world = World::default();
    let agent = world.agent(replies(vec![Turn::say("A cat.")]));
    let Story { world, store, agent, session, .. } = Story::begin(world, agent).await;
    let id = session.id().clone();
    let mut prompt = Message::user("what is it?");
    let source = MediaSource::Base64("iVBORw0KGgo=".to_owned());
    prompt.content.push(Content::Image(Media { media_type: "image/png".to_owned(), source }));
    let mut draft = session.tree().draft();
    draft.append(prompt, Timestamp(9)).unwrap();
    let records: Vec<Record> = draft.into_entries().into_iter().map(Record::Entry).collect();
    drop(session);
    let lease = store.lease(&id).await.unwrap();
    let batch = Batch::new(Position { seq: 1, head: NodeId::ROOT }, records);
    store.append(&lease, batch).await.unwrap();
    drop(lease);
    let mut session = agent.open(store, &id).await.unwrap();
    assert_eq!(stop_line(&session.resume(&Cancel::new()).await), "decided other: answered");
    expect![[r#"
        system: You work on files.
        user: what is it?
        + image image/png base64 "iVBORw0KGgo="
    "#]]
    .assert_eq(&world.last_request());
}

#[tokio::test]
async fn s31_a_note_on_what_was_left_is_never_words_of_the_model_and_no_list_begins_with_any() {
    for to in [0, 1] {
        let world = World::default();
        let agent = world.agent(replies(vec![Turn::say("one"), Turn::say("two")])).with_revert();
        let mut story = Story::begin(world, agent).await;
        story.prompt("first").await.unwrap();
        story.session.revert(NodeId::new(to), Some("not so")).await.unwrap();
        let mut story = story.restart().await;
        story.prompt("second").await.unwrap();
        let requests = story.world.requests.lock().unwrap();
        let request = requests.last().unwrap();
        let note = request.messages.iter().find(|message| message.text().contains("not so")).unwrap();
        assert_eq!(note.role, Role::User);
        drop(requests);
        assert!(roles(&story.world).iter().all(|role| role == "user"), "n{to}");
    }
}

fn refused() -> ProviderError {
    ProviderError::api(401, ErrorKind::Auth, "invalid x-api-key")
}

#[tokio::test]
async fn s32_words_after_words_are_two_nodes_and_one_message_where_the_wire_wants_one() {
    // The service itself joins neighbours; a strict one, found by the provider's name, refuses them.
    for (provider, expected) in [("anthropic", vec!["user", "user"]), ("anthropic-strict", vec!["user"])] {
        let world = World::default();
        let requests = Arc::clone(&world.requests);
        let script = replies(vec![Turn::new().fail(refused()), Turn::say("both then")]);
        let agent = Agent::builder(Scripted::new(provider, "script", move |request| {
            requests.lock().unwrap().push(request.clone());
            script(request)
        }));
        let mut story = Story::begin(world, agent).await;
        story.prompt("this").await.unwrap_err();
        story.prompt("and that").await.unwrap();
        let said: Vec<String> = story.session.tree().trunk().messages().map(Message::text).collect();
        assert_eq!(said, ["", "this", "and that", "both then"]);
        assert_eq!(roles(&story.world), expected, "{provider}");
    }
}

#[tokio::test]
async fn s34_blocks_of_reasoning_stay_apart_and_keep_their_own_signatures() {
    let turn = Turn::new()
        .think("first", Some("c2lnMQ=="))
        .think("second", Some("c2lnMg=="))
        .and_say("so")
        .think("third", Some("c2lnMw=="))
        .call("c1", "read", &json!({ "path": "a" }));
    let mut story = begin(Approval::Always, vec![turn, Turn::say("done"), Turn::say("still here")]).await;
    story.prompt("do it").await.unwrap();
    let mut story = story.restart().await;
    story.prompt("and now?").await.unwrap();
    let shown = story.world.last_request();
    let reasoning: Vec<&str> = shown.lines().take_while(|line| !line.starts_with("result")).collect();
    expect![[r#"
        system: You work on files.
        user: do it
        assistant:
        + thinking "c2lnMQ==": first
        + thinking "c2lnMg==": second
        + text: so
        + thinking "c2lnMw==": third
        + call c1 read {"path":"a"}
        + origin test script
        + stop tool_use"#]]
    .assert_eq(&reasoning.join("\n"));
}

#[tokio::test]
async fn what_was_sent_before_is_the_same_message_in_memory_and_is_not_encoded_again() {
    let world = World::default();
    let agent = world.agent(replies(vec![Turn::say("one"), Turn::say("two")]));
    let mut story = Story::begin(world, agent).await;
    story.prompt("first").await.unwrap();
    story.prompt("second").await.unwrap();
    let requests = story.world.requests.lock().unwrap();
    let [first, second] = requests.as_slice() else { panic!("two requests") };
    assert!(second.messages.len() > first.messages.len());
    for (earlier, later) in first.messages.iter().zip(&second.messages) {
        assert!(Arc::ptr_eq(earlier, later), "{earlier:?}");
    }
}
