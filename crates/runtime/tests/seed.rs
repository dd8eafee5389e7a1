//! What a sanitizer alone cannot mend: faults of a loop and of its journal that brick a session only after a resume.
//!
//! The numbers are those of a catalogue of such faults, found in other agents. The twin of most tests is a restart: a
//! process that has just read the log must send what the one that wrote it would have sent, byte for byte.

use std::sync::Arc;

use async_trait::async_trait;
use expect_test::expect;
use serde_json::{Map, Value, json};
use trunkline_runtime::message_tree::{Message, StopReason, ToolSpec, notation};
use trunkline_runtime::providers::{Anthropic, Event as StreamEvent, Request, Turn, Wire};
use trunkline_runtime::resolve_queue::{ProposalId, Verdict};
use trunkline_runtime::session_store::MemoryStore;
use trunkline_runtime::{Access, Approval, Cancel, Event, Stop, Tool, ToolContext, ToolOutput, View};

use crate::kills::{Death, Mortal};
use crate::story::{Story, World, replies};

pub(crate) fn shells(calls: &[(&str, &str)]) -> Turn {
    calls.iter().fold(Turn::new(), |turn, (id, path)| turn.call(*id, "shell", &json!({ "path": path })))
}

pub(crate) fn read(id: &str) -> Turn {
    Turn::new().call(id, "read", &json!({ "path": "a" }))
}

pub(crate) async fn begin(approval: Approval, turns: Vec<Turn>) -> Story {
    let world = World::default();
    let agent = world.agent(replies(turns)).approval(approval);
    Story::begin(world, agent).await
}

/// The bytes of the last request.
pub(crate) fn sent(world: &World) -> String {
    let requests = world.requests.lock().unwrap();
    let encoded = Anthropic::new().encode(requests.last().expect("the model was asked")).unwrap();
    String::from_utf8(encoded.body.to_vec()).unwrap()
}

/// The roles of the last request as the wire has them.
pub(crate) fn roles(world: &World) -> Vec<String> {
    let body: Value = serde_json::from_str(&sent(world)).unwrap();
    let messages = body["messages"].as_array().unwrap();
    messages.iter().map(|message| message["role"].as_str().unwrap().to_owned()).collect()
}

/// Checks that the log holds what the session in memory holds.
pub(crate) async fn check_log(story: &Story) {
    let view = View::of(&story.store().load(&story.id()).await.unwrap()).unwrap();
    assert_eq!(notation::print_tree(view.tree()), notation::print_tree(story.session.tree()));
}

/// A tool that does what the function says, and changes nothing.
pub(crate) struct Looks<F>(pub(crate) F);

#[async_trait]
impl<F: Fn() -> ToolOutput + Send + Sync> Tool for Looks<F> {
    fn spec(&self) -> ToolSpec {
        let schema = json!({ "type": "object" });
        ToolSpec {
            name: "look".to_owned(),
            description: "a test".to_owned(),
            input_schema: schema,
            strict: None,
        }
    }

    fn access(&self) -> Access {
        Access::ReadOnly
    }

    async fn run(&self, _: Map<String, Value>, _: &ToolContext) -> ToolOutput {
        (self.0)()
    }
}

#[tokio::test]
async fn s23_a_declined_call_stands_once_in_the_history_and_poisons_no_later_request() {
    let mut bodies = Vec::new();
    for restarts in [false, true] {
        let batch = shells(&[("A", "one"), ("B", "two"), ("C", "three")]);
        let mut story =
            begin(Approval::Person, vec![batch, Turn::say("done"), Turn::say("still here")]).await;
        story.prompt("do it").await.unwrap();
        for (id, verdict) in [(1, Verdict::Approve), (2, Verdict::Discard), (3, Verdict::Approve)] {
            story.session.decide(ProposalId(id), verdict, "").await.unwrap();
            if restarts {
                story = story.restart().await;
            }
            story.resume().await.unwrap();
        }
        if restarts {
            story = story.restart().await;
        }
        story.prompt("and now?").await.unwrap();
        expect![[r#"
            n0 system: You work on files.
            n1 user: do it
            n2 assistant:
            + call A shell {"path":"one"}
            + call B shell {"path":"two"}
            + call C shell {"path":"three"}
            n3 result A: ok
            n4 result B!: not run: the person declined it
            + author harness
            n5 result C: ok
            n6 assistant: done
            n7 user: and now?
            n8 assistant: still here
        "#]]
        .assert_eq(&story.tree());
        bodies.push(sent(&story.world));
    }
    assert_eq!(bodies[0], bodies[1]);
}

#[tokio::test]
async fn s26_what_came_before_a_cancel_is_in_memory_and_in_the_log_alike() {
    let world = World::default();
    let cancel = Cancel::new();
    let stop = cancel.clone();
    let turns = vec![Turn::say("I was about").hang(), Turn::say("still here")];
    let agent = world.agent(replies(turns)).on_event(move |event| {
        if let Event::Stream(StreamEvent::TextDelta(_)) = event {
            stop.cancel();
        }
    });
    let mut story = Story { cancel, ..Story::begin(world, agent).await };
    assert_eq!(story.prompt("do it").await.unwrap(), Stop::Cancelled);
    assert_eq!(story.session.answer(), "I was about");
    check_log(&story).await;
    let mut story = story.restart().await;
    story.prompt("and now?").await.unwrap();
    assert!(sent(&story.world).contains("I was about"));
}

#[tokio::test]
async fn s27_a_kill_takes_neither_the_prompt_nor_what_was_done_from_the_models_view() {
    let mut kills = 0;
    'deaths: for death in 0.. {
        for kind in [Death::Lost, Death::Kept] {
            let world = World::default();
            let batch = shells(&[("c1", "one"), ("c2", "two")]);
            // Told by what it is sent, as every process must be.
            let script = move |request: &Request| {
                let answered = request.messages.iter().any(|message| message.results().next().is_some());
                if answered { Turn::say("done") } else { batch.clone() }
            };
            let agent = world.agent(script).approval(Approval::Always).build().unwrap();
            let store = Arc::new(MemoryStore::new());
            let mortal = Arc::new(Mortal::new(store.clone(), death, kind));
            let mut session = agent.start(mortal, "t", None).await.unwrap();
            let id = session.id().clone();
            if session.prompt("do it", &Cancel::new()).await.is_ok() {
                break 'deaths;
            }
            kills += 1;
            drop(session);
            let mut session = agent.open(store, &id).await.unwrap();
            session.resume(&Cancel::new()).await.unwrap();
            let shown = world.last_request();
            if session.tree().len() == 1 {
                assert!(
                    kind == Death::Lost && world.effects().is_empty(),
                    "only a prompt that was never kept is not there"
                );
                continue;
            }
            assert!(shown.contains("user: do it"), "{shown}");
            let (mut once, done) = (world.effects(), world.effects());
            once.dedup();
            assert_eq!(done, once, "nothing is done twice: {death} {kind:?}");
            for (call, effect) in [("c1", "ran one"), ("c2", "ran two")] {
                let told =
                    shown.lines().find_map(|line| line.strip_prefix(&format!("result {call}"))).unwrap();
                // Of what was noted as begun nobody knows whether it was; that it was not may be said of nothing else.
                match done.contains(&effect.to_owned()) {
                    true => assert!(told == ": ok" || told.starts_with("!: outcome unknown"), "{told}"),
                    false => assert!(told.starts_with("!: outcome unknown"), "{told}"),
                }
            }
        }
    }
    assert!(kills > 10, "{kills}");
}

#[tokio::test]
async fn s28_a_way_back_ends_at_its_node_although_the_list_has_become_shorter() {
    let world = World::default();
    world.files.lock().unwrap().insert("a".to_owned(), "1".to_owned());
    let back = |id: &str, step: &str| {
        let arguments = json!({ "category": "failure", "step": step, "summary": step });
        Turn::new().call(id, "revert_to_state", &arguments)
    };
    // After the first way back the trunk is shorter than its newest node's number: as a place in the list, n9 is another
    // message or none.
    let turns = vec![
        read("c1"),
        read("c2"),
        back("c3", "n3"),
        read("c4"),
        read("c5"),
        back("c6", "n9"),
        Turn::say("b"),
    ];
    let agent = world.agent(replies(turns)).with_revert();
    let mut story = Story::begin(world, agent).await;
    story.prompt("do it").await.unwrap();
    let trunk: Vec<String> = story.session.tree().trunk().ids().iter().map(ToString::to_string).collect();
    expect!["n0 n1 n2 n3 n8 n9 n14"].assert_eq(&trunk.join(" "));
    expect![[r#"
        system: You work on files.
        user: [n1]
        + text: do it
        assistant:
        + call c1 read {"path":"a"}
        + origin test script
        + stop tool_use
        result c1: [n3]
        ++ text: 1
        harness: [revert-lesson] n3 — left 4 messages (read)\nReads: a\nThis step back is complete; go on from here by another way.
        assistant:
        + call c4 read {"path":"a"}
        + origin test script
        + stop tool_use
        result c4: [n9]
        ++ text: 1
        harness: [revert-lesson] n9 — left 4 messages (read)\nReads: a\nThis step back is complete; go on from here by another way.
    "#]].assert_eq(&story.world.last_request());
}

#[tokio::test]
async fn s29_arguments_that_the_output_limit_cut_are_kept_and_the_model_is_told_the_truth() {
    let cut = Turn::new().call_raw("c1", "shell", r#"{"path": "rm -r"#).stop(StopReason::MaxTokens);
    let mut story = begin(Approval::Always, vec![cut, Turn::say("done"), Turn::say("still here")]).await;
    story.prompt("do it").await.unwrap();
    assert!(story.world.effects().is_empty());
    let mut story = story.restart().await;
    expect![[r#"
        n0 system: You work on files.
        n1 user: do it
        n2 assistant:
        + call c1 shell {"path": "rm -r
        + stop max_tokens
        n3 result c1!: not run: the reply ended in the middle of this call; write less at once and call again
        + author harness
        n4 assistant: done
    "#]]
    .assert_eq(&story.tree());
    story.prompt("and now?").await.unwrap();
    expect![[r#"
        system: You work on files.
        user: do it
        assistant:
        + call c1 shell {}
        + origin test script
        + stop max_tokens
        result c1!: not run: the reply ended in the middle of this call; write less at once and call again
        ++ text: the arguments of this call were not a JSON object; as written: {"path": "rm -r
        + author harness
        assistant: done
        + origin test script
        + stop end_turn
        user: and now?
    "#]]
    .assert_eq(&story.world.last_request());
}

#[tokio::test]
async fn s30_a_call_that_had_begun_and_one_that_had_not_are_told_apart() {
    let world = World::default();
    let batch = shells(&[("c1", "one"), ("c2", "two")]);
    let agent =
        world.agent(replies(vec![batch, Turn::say("done")])).approval(Approval::Always).build().unwrap();
    let store = Arc::new(MemoryStore::new());
    // The prompt with its run, the reply, the note that the first call begins; then the process dies in it.
    let mortal = Arc::new(Mortal::new(store.clone(), 3, Death::Lost));
    let mut session = agent.start(mortal, "t", None).await.unwrap();
    let id = session.id().clone();
    session.prompt("do it", &Cancel::new()).await.unwrap_err();
    drop(session);
    assert_eq!(world.effects(), ["ran one"]);
    let mut session = agent.open(store, &id).await.unwrap();
    let cancel = Cancel::new();
    cancel.cancel();
    assert_eq!(session.resume(&cancel).await.unwrap(), Stop::Cancelled);
    let results = session.tree().trunk().messages().flat_map(Message::results);
    let told: String = results.map(|result| format!("{}: {}\n", result.call_id, result.text())).collect();
    expect![[r#"
        c1: outcome unknown: this call had begun when the program ended, and no result was recorded; it may have done all, some or nothing of its work. Look before you repeat it.
        c2: not run: the turn was cancelled before this call began
    "#]].assert_eq(&told);
    assert_eq!(world.effects(), ["ran one"]);
}

#[tokio::test]
async fn s33_a_write_that_fails_ends_the_drive_aloud_and_the_next_drive_writes_again() {
    use crate::story::stop_line;
    use trunkline_runtime::RuntimeError;
    use trunkline_runtime::session_store::{SessionStore, SqliteStore, StoreError};
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(SqliteStore::open(folder.path().join("sessions.db")).await.unwrap());
    let world = World::default();
    let page = "x".repeat(5000);
    let answer = page.clone();
    let agent = world.agent(move |_| Turn::say(answer.clone())).build().unwrap();
    let mut session = agent.start(store.clone(), "t", None).await.unwrap();
    store.set_size_limit(Some(256 * 1024)).await;
    let cancel = Cancel::new();
    let fault = loop {
        if let Err(fault) = session.prompt(&page, &cancel).await {
            break fault;
        }
    };
    assert!(matches!(fault, RuntimeError::Store(StoreError::Full { .. })), "{fault:?}");
    store.set_size_limit(None).await;
    session.resume(&cancel).await.unwrap();
    assert_eq!(stop_line(&session.prompt("after", &cancel).await), "decided other: answered");
    let view = View::of(&store.load(session.id()).await.unwrap()).unwrap();
    let logged = notation::print_tree(view.tree());
    assert!(logged.contains("user: after"));
    assert_eq!(logged, notation::print_tree(session.tree()));
}
