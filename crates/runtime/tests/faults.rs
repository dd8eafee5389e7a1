//! Faults of a predecessor's agent loop that this one must not have, by their numbers in its catalogue.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use expect_test::expect;
use serde_json::json;
use trunkline_runtime::message_tree::{MoveKind, NodeId, Timestamp, notation};
use trunkline_runtime::orders::{self, Order};
use trunkline_runtime::providers::{Event as StreamEvent, Scripted, Turn};
use trunkline_runtime::session_store::{MemoryStore, Record, SessionStore, export};
use trunkline_runtime::{Agent, Approval, Cancel, CloseAs, Event, RuntimeError, Stop, Tool, View};

use crate::kills::{Death, Mortal};
use crate::story::{Story, World, replies, stop_line, tools};

fn read(id: &str) -> Turn {
    Turn::new().call(id, "read", &json!({ "path": "a" }))
}

fn revert(id: &str, category: &str, step: &str, summary: &str) -> Turn {
    let arguments = json!({ "category": category, "step": step, "summary": summary });
    Turn::new().call(id, "revert_to_state", &arguments)
}

async fn begin(turns: Vec<Turn>) -> Story {
    let world = World::default();
    let agent = world.agent(replies(turns)).approval(Approval::Always).with_revert();
    Story::begin(world, agent).await
}

#[tokio::test]
async fn p09_words_that_come_while_a_tool_runs_stand_behind_its_result() {
    let mut story = begin(vec![read("c1"), Turn::say("done")]).await;
    // As another process would, at the moment when the tool begins to run.
    let (store, id) = (story.store(), story.id());
    let steering = async {
        loop {
            let log = store.load(&id).await.unwrap();
            let started =
                |record: &Record| matches!(record, Record::Note(note) if note.kind == "call_started");
            if log.records.iter().any(|(_, record)| started(record)) {
                break;
            }
            tokio::task::yield_now().await;
        }
        let steer = Order::Prompt { text: "only the first line".to_owned() };
        orders::post(store.as_ref(), &id, &steer, Timestamp(0)).await.unwrap();
    };
    let (stop, ()) = tokio::join!(story.session.prompt("read it", &story.cancel), steering);
    assert_eq!(stop_line(&stop), "decided other: answered");
    expect![[r#"
        n0 system: You work on files.
        n1 user: read it
        n2 assistant:
        + call c1 read {"path":"a"}
        n3 result c1!: no file a
        n4 user: only the first line
        n5 assistant: done
    "#]]
    .assert_eq(&story.tree());
}

#[tokio::test]
async fn p36_the_turn_clock_goes_on_in_the_next_prompt_and_after_a_restart() {
    let turns = vec![read("c1"), read("c2"), revert("c3", "failure", "n3", "old"), Turn::say("done")];
    let mut story = begin(turns).await;
    story.prompt("first").await.unwrap();
    assert_eq!(story.session.notes()[0].turn, 3);
    let mut story = story.restart().await;
    story.prompt("second").await.unwrap();
    let now = trunkline_runtime::revert::turn(story.session.tree());
    assert_eq!(now, 5, "three of the branch that was left, and two that answered");
    let view = View::of(&story.store().load(&story.id()).await.unwrap()).unwrap();
    assert_eq!(trunkline_runtime::revert::turn(view.tree()), now);
}

#[tokio::test]
async fn p47_p49_p66_the_log_holds_a_record_of_every_request_with_its_call_its_move_and_its_outcome() {
    let turns = vec![
        read("c1"),
        revert("c2", "tangent", "n99", "nowhere"),
        revert("c3", "failure", "n1", "try b"),
        Turn::say("done"),
    ];
    let mut story = begin(turns).await;
    story.prompt("go").await.unwrap();
    let view = View::of(&story.store().load(&story.id()).await.unwrap()).unwrap();
    let [refused, applied] = view.reverts() else { panic!("two requests, two records") };
    assert_eq!((refused.applied, refused.target), (false, NodeId::new(99)));
    assert!(refused.reason.as_deref().unwrap().contains("not found"));
    let call = applied.call.as_ref().unwrap();
    assert_eq!((applied.applied, call.node, call.call_id.as_str()), (true, NodeId::new(6), "c3"));
    let made = &view.tree().moves()[applied.move_id.unwrap().index()];
    assert_eq!((made.from, made.to, made.kind), (NodeId::new(7), NodeId::new(1), MoveKind::ModelRevert));
    assert_eq!(applied.abandoned.len(), 6);
}

/// The predecessor wrote the whole prompt of every turn into its log.
#[tokio::test]
async fn p53_the_log_of_a_run_grows_with_its_turns_and_not_with_their_square() {
    let mut bytes = Vec::new();
    for turns in [20, 40, 80] {
        let mut script: Vec<Turn> = (0..turns).map(|turn| read(&format!("c{turn}"))).collect();
        script.push(Turn::say("done"));
        let world = World::default();
        let mut limits = trunkline_runtime::Limits::default();
        limits.turns = 200;
        let agent = world.agent(replies(script)).with_revert().limits(limits);
        let mut story = Story::begin(world, agent).await;
        assert_eq!(stop_line(&story.prompt("go").await), "decided other: answered");
        let mut lines = Vec::new();
        export(story.store().as_ref(), &story.id(), &mut lines).await.unwrap();
        bytes.push(lines.len());
    }
    let [short, middle, long] = bytes[..] else { panic!("three sizes") };
    assert!(middle * 10 < short * 22 && long * 10 < middle * 22, "{bytes:?}");
}

#[tokio::test]
async fn p56_what_a_model_says_is_told_while_it_still_speaks() {
    let cancel = Cancel::new();
    let (told, cancels) = (Arc::new(Mutex::new(String::new())), cancel.clone());
    let heard = Arc::clone(&told);
    let world = World::default();
    // The reply never ends: only what was told in its middle can end the drive.
    let agent = world.agent(replies(vec![Turn::say("half a sentence").hang()])).on_event(move |event| {
        if let Event::Stream(StreamEvent::TextDelta(piece)) = event {
            heard.lock().unwrap().push_str(piece);
            cancels.cancel();
        }
    });
    let mut story = Story::begin(world, agent).await;
    let drive = story.session.prompt("go", &cancel);
    let stop = tokio::time::timeout(Duration::from_secs(20), drive).await.expect("it was heard");
    assert!(matches!(stop, Ok(Stop::Cancelled)));
    assert!("half a sentence".starts_with(told.lock().unwrap().as_str()));
}

#[tokio::test(start_paused = true)]
async fn p57_a_drive_that_is_dropped_leaves_a_session_that_goes_on() {
    let turns = vec![
        read("c1"),
        Turn::say("I was going to").hang(),
        Turn::new().call("c2", "stubborn", &json!({ "path": "a" })),
        Turn::say("then not"),
    ];
    let mut story = begin(turns).await;
    // The clock moves only when nothing else does, so this is over in the reply, or the tool, that never ends.
    let soon = Duration::from_secs(1);
    // In the middle of a reply.
    assert!(tokio::time::timeout(soon, story.prompt("go")).await.is_err());
    // In the middle of a tool.
    assert!(tokio::time::timeout(soon, story.resume()).await.is_err());
    // The same session goes on, with all its tools and messages.
    let stop = tokio::time::timeout(Duration::from_secs(20), story.resume()).await.expect("it ends");
    assert_eq!(stop_line(&stop), "decided other: answered");
    let tree = story.tree();
    expect![[r#"
        n0 system: You work on files.
        n1 user: go
        n2 assistant:
        + call c1 read {"path":"a"}
        n3 result c1!: no file a
        n4 assistant:
        + call c2 stubborn {"path":"a"}
        n5 result c2!: outcome unknown: this call had begun when the program ended, and no result was recorded; it may have done all, some or nothing of its work. Look before you repeat it.
        + author harness
        n6 assistant: then not
    "#]]
    .assert_eq(&tree);
    assert_eq!(story.restart().await.tree(), tree);
}

#[tokio::test]
async fn p57_a_drive_that_is_dropped_in_the_middle_of_a_write_goes_on_from_what_was_kept() {
    for left in 0..7 {
        let world = World::default();
        let turns = vec![read("c1"), revert("c2", "failure", "n1", "no"), Turn::say("done")];
        let agent = world.agent(replies(turns)).with_revert().build().unwrap();
        let inner: Arc<dyn SessionStore> = Arc::new(MemoryStore::new());
        let store = Arc::new(Mortal::new(Arc::clone(&inner), left, Death::Silent));
        let mut session = agent.start(Arc::clone(&store) as _, "t", None).await.unwrap();
        let cancel = Cancel::new();
        tokio::select! {
            ended = session.prompt("go", &cancel) => panic!("{left}: {ended:?}"),
            () = store.silent() => {}
        }
        let stop = tokio::time::timeout(Duration::from_secs(20), session.resume(&cancel)).await;
        assert!(stop.expect("it ends").is_ok(), "{left}");
        assert_eq!(session.answer(), "done", "{left}");
        let view = View::of(&inner.load(session.id()).await.unwrap()).unwrap();
        assert_eq!(notation::print_tree(view.tree()), notation::print_tree(session.tree()), "{left}");
    }
}

/// Whatever is called next has to learn first what was written: which run is open, and where the head is.
#[tokio::test]
async fn p57_an_act_after_a_drop_in_the_middle_of_a_write_means_what_was_kept() {
    let mut carried_out = [0; 4];
    for left in 0..9 {
        for (act, count) in carried_out.iter_mut().enumerate() {
            let world = World::default();
            let turns = vec![
                read("c1"),
                revert("c2", "failure", "n1", "no"),
                revert("c3", "failure", "n1", "again"),
                Turn::say("done"),
            ];
            let agent = world.agent(replies(turns)).with_revert().build().unwrap();
            let inner: Arc<dyn SessionStore> = Arc::new(MemoryStore::new());
            let store = Arc::new(Mortal::new(Arc::clone(&inner), left, Death::Silent));
            let mut session = agent.start(Arc::clone(&store) as _, "t", None).await.unwrap();
            let cancel = Cancel::new();
            tokio::select! {
                ended = session.prompt("go", &cancel) => panic!("{left}: {ended:?}"),
                () = store.silent() => {}
            }
            let view = View::of(&inner.load(session.id()).await.unwrap()).unwrap();
            let (is_open, has_moved) = (view.has_open_run(), !view.tree().moves().is_empty());
            let (ended, is_possible) = match act {
                0 => {
                    let reason = "it was stopped".to_owned();
                    (session.close_run(CloseAs::Abandon { reason }).await.map(drop), is_open)
                }
                1 => (session.undo().await, has_moved),
                2 => (session.go(NodeId::ROOT).await.map(drop), true),
                _ => (session.revert(NodeId::ROOT, None).await, true),
            };
            match ended {
                Ok(()) => *count += 1,
                Err(fault) => assert!(!is_possible, "{left}, {act}: {fault}"),
            }
        }
    }
    assert!(carried_out.iter().all(|count| *count > 1), "{carried_out:?}");
}

#[tokio::test]
async fn p59_what_cannot_be_done_now_is_an_answer_and_no_panic() {
    let mut story = begin(vec![Turn::say("done")]).await;
    // Nothing was ever said.
    assert_eq!(stop_line(&story.resume().await), "nothing to do");
    for refused in [story.session.undo().await, story.session.redo().await] {
        assert!(matches!(refused, Err(RuntimeError::Refused { .. })));
    }
    for node in [0, 1, 77, u32::MAX] {
        assert!(matches!(
            story.session.revert(NodeId::new(node), None).await,
            Err(RuntimeError::Refused { .. })
        ));
    }
    story.prompt("").await.unwrap();
    // The model has answered, and there is nothing to go on with.
    assert_eq!(stop_line(&story.resume().await), "nothing to do");
    // Somebody who watches panics under a lock: the session is none the worse.
    let lock = Arc::new(Mutex::new(()));
    let poisoned = Arc::clone(&lock);
    let panics = std::thread::spawn(move || {
        let _held = poisoned.lock().unwrap();
        panic!("while it is held");
    });
    assert!(panics.join().is_err() && lock.is_poisoned());
    assert!(story.resume().await.is_ok());
}

#[tokio::test]
async fn p26_a_tool_of_the_same_name_is_refused_when_the_agent_is_built() {
    struct Namesake;
    #[async_trait::async_trait]
    impl Tool for Namesake {
        fn spec(&self) -> trunkline_runtime::message_tree::ToolSpec {
            trunkline_runtime::revert::tool_spec()
        }
        async fn run(
            &self,
            _: serde_json::Map<String, serde_json::Value>,
            _: &trunkline_runtime::ToolContext,
        ) -> trunkline_runtime::ToolOutput {
            trunkline_runtime::ToolOutput::text("mine")
        }
    }
    let model = || Scripted::new("test", "script", |_| Turn::say("done"));
    let fault = Agent::builder(model()).tool(Namesake).with_revert().build().err().expect("two of one name");
    assert!(fault.to_string().contains("revert_to_state"), "{fault}");
}

#[tokio::test]
async fn p60_p62_what_was_sent_before_is_sent_again_without_a_copy() {
    let turns = vec![read("c1"), read("c2"), read("c3"), Turn::say("done")];
    let mut story = begin(turns).await;
    story.prompt("go").await.unwrap();
    let requests = story.world.requests.lock().unwrap();
    for (earlier, later) in requests.iter().zip(&requests[1..]) {
        assert!(earlier.messages.len() < later.messages.len());
        for (old, new) in earlier.messages.iter().zip(&later.messages) {
            assert!(Arc::ptr_eq(old, new), "a message of {} was made anew", later.messages.len());
        }
    }
}

/// Ids of calls that start again with every message, as some services give them.
#[tokio::test]
async fn p11_a_revert_between_calls_of_one_id_leaves_the_right_ones() {
    let turns = vec![
        read("call-0"),
        read("call-0"),
        revert("call-0", "failure", "n3", "the second was wrong"),
        read("call-0"),
        Turn::say("done"),
    ];
    for chat in [false, true] {
        let world = World::default();
        let script = replies(turns.clone());
        let model = Scripted::new("test", "script", script);
        let model = if chat { model.on(trunkline_runtime::providers::OpenAiChat::default()) } else { model };
        let agent = Agent::builder(model).tools(tools(&world)).with_revert().build().unwrap();
        let store = Arc::new(MemoryStore::new());
        let mut session = agent.start(store, "t", None).await.unwrap();
        assert_eq!(stop_line(&session.prompt("go", &Cancel::new()).await), "decided other: answered");
        let kept: Vec<u32> = session.tree().trunk().ids().iter().map(|id| id.index() as u32).collect();
        assert_eq!(kept, [0, 1, 2, 3, 8, 9, 10]);
    }
}
