//! What a sanitizer alone cannot mend: faults of a loop and of its journal that brick a session only after a resume.
//!
//! The numbers are those of a catalogue of such faults, found in other agents. The twin of most tests is a restart: a
//! process that has just read the log must send what the one that wrote it would have sent, byte for byte.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use expect_test::expect;
use serde_json::{Map, Value, json};
use tokio::sync::watch;
use trunkline_runtime::message_tree::{
    Content, Media, MediaSource, Message, NodeId, Part, Role, StopReason, Timestamp, ToolSpec, notation,
};
use trunkline_runtime::letters::{Request, post};
use trunkline_runtime::providers::{Anthropic, ErrorKind, ProviderError, Scripted, Turn, Wire};
use trunkline_runtime::resolve_queue::{Entry, ProposalId, Verdict};
use trunkline_runtime::session_store::{Batch, MemoryStore, Record, SessionStore};
use trunkline_runtime::{
    Access, Agent, Approval, Cancel, Decider, Event, Stop, Tool, ToolContext, ToolOutput, View,
};

use crate::kills::Mortal;
use crate::story::{Story, World, replies, stop_line};

fn shell(id: &str, path: &str) -> Turn {
    Turn::new().call(id, "shell", &json!({ "path": path }))
}

fn shells(calls: &[(&str, &str)]) -> Turn {
    calls.iter().fold(Turn::new(), |turn, (id, path)| turn.call(*id, "shell", &json!({ "path": path })))
}

fn read(id: &str) -> Turn {
    Turn::new().call(id, "read", &json!({ "path": "a" }))
}

async fn begin(approval: Approval, turns: Vec<Turn>) -> Story {
    let world = World::default();
    let agent = world.agent(replies(turns)).approval(approval);
    Story::begin(world, agent).await
}

/// The bytes of the last request.
fn sent(world: &World) -> String {
    let requests = world.requests.lock().unwrap();
    let encoded = Anthropic::new().encode(requests.last().expect("the model was asked")).unwrap();
    String::from_utf8(encoded.body).unwrap()
}

/// The roles of the last request as the wire has them.
fn roles(world: &World) -> Vec<String> {
    let body: Value = serde_json::from_str(&sent(world)).unwrap();
    let messages = body["messages"].as_array().unwrap();
    messages.iter().map(|message| message["role"].as_str().unwrap().to_owned()).collect()
}

/// Checks that the log holds what the session in memory holds.
async fn check_log(story: &Story) {
    let view = View::of(&story.store().load(&story.id()).await.unwrap()).unwrap();
    assert_eq!(notation::print_tree(view.tree()), notation::print_tree(story.session.tree()));
}

/// A tool that does what the function says, and changes nothing.
struct Looks<F>(F);

#[async_trait]
impl<F: Fn() -> ToolOutput + Send + Sync> Tool for Looks<F> {
    fn spec(&self) -> ToolSpec {
        let schema = json!({ "type": "object" });
        ToolSpec { name: "look".to_owned(), description: "a test".to_owned(), input_schema: schema }
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
async fn s24_the_result_of_a_tool_that_panics_bears_the_id_of_its_call() {
    let turn = read("c1")
        .call("c2", "panic", &json!({ "path": "a" }))
        .call("c3", "look", &json!({}))
        .call("c4", "look", &json!({}));
    let world = World::default();
    let agent = world
        .agent(replies(vec![turn, Turn::say("done"), Turn::say("still here")]))
        .tool(Looks(|| panic!("a tool that crashes beside others")))
        .approval(Approval::Always);
    let mut story = Story::begin(world, agent).await;
    story.prompt("do it").await.unwrap();
    let mut story = story.restart().await;
    story.prompt("and now?").await.unwrap();
    let results = story.session.tree().trunk().messages().flat_map(Message::results);
    let ids: Vec<_> = results.map(|result| (result.call_id.as_str(), result.is_error)).collect();
    assert_eq!(ids, [("c1", true), ("c2", true), ("c3", true), ("c4", true)]);
    check_log(&story).await;
}

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
    expect!["[[0, 1, 2], [0, 2, 1], [1, 0, 2], [2, 0, 1], [1, 2, 0], [2, 1, 0]]"].assert_eq(&format!("{orders:?}"));
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
    "#]].assert_eq(&bodies[1].1);
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
    let lock = store.lock(&id).await.unwrap();
    let batch = Batch { expected_head: NodeId::ROOT, expected_seq: 1, records, consumed: vec![] };
    store.append(&lock, batch).await.unwrap();
    drop(lock);
    let mut session = agent.open(store, &id).await.unwrap();
    assert_eq!(stop_line(&session.resume(&Cancel::new()).await), "decided other: answered");
    expect![[r#"
        system: You work on files.
        user: what is it?
        + image image/png base64 "iVBORw0KGgo="
    "#]].assert_eq(&world.last_request());
}

#[tokio::test]
async fn s26_what_came_before_a_cancel_is_in_memory_and_in_the_log_alike() {
    let mut story =
        begin(Approval::Always, vec![Turn::say("I was about").hang(), Turn::say("still here")]).await;
    let (store, id, cancel) = (story.store(), story.id(), story.cancel.clone());
    tokio::spawn(async move {
        // The prompt and the run that it opens are in the log before the model is asked.
        while store.info(&id).await.unwrap().records < 3 {
            tokio::task::yield_now().await;
        }
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    });
    assert_eq!(story.prompt("do it").await.unwrap(), Stop::Cancelled);
    assert_eq!(story.session.answer(), "I was about");
    check_log(&story).await;
    let mut story = story.restart().await;
    story.resume().await.unwrap();
    assert!(sent(&story.world).contains("I was about"));
}

#[tokio::test]
async fn s27_a_kill_takes_neither_the_prompt_nor_what_was_done_from_the_models_view() {
    let mut kills = 0;
    'deaths: for death in 0.. {
        for keeps in [false, true] {
            let world = World::default();
            let batch = shells(&[("c1", "one"), ("c2", "two")]);
            // Told by what it is sent, as every process must be.
            let script = move |request: &trunkline_runtime::providers::Request| {
                let answered = request.messages.iter().any(|message| message.results().next().is_some());
                if answered { Turn::say("done") } else { batch.clone() }
            };
            let agent = world.agent(script).approval(Approval::Always).build().unwrap();
            let store = Arc::new(MemoryStore::new());
            let mortal = Arc::new(Mortal::new(&store, death, keeps));
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
                assert!(!keeps && world.effects().is_empty(), "only a prompt that was never kept is not there");
                continue;
            }
            assert!(shown.contains("user: do it"), "{shown}");
            let (mut once, done) = (world.effects(), world.effects());
            once.dedup();
            assert_eq!(done, once, "nothing is done twice: {death} {keeps}");
            for (call, effect) in [("c1", "ran one"), ("c2", "ran two")] {
                let told = shown.lines().find_map(|line| line.strip_prefix(&format!("result {call}"))).unwrap();
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
    let turns = vec![read("c1"), read("c2"), back("c3", "n3"), read("c4"), read("c5"), back("c6", "n9"), Turn::say("b")];
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
        harness: [revert-lesson] n3 — left 4 messages (read)\nWhat tools changed there, files included, was not undone. This step back is complete; go on from here by another way.
        assistant:
        + call c4 read {"path":"a"}
        + origin test script
        + stop tool_use
        result c4: [n9]
        ++ text: 1
        harness: [revert-lesson] n9 — left 4 messages (read)\nWhat tools changed there, files included, was not undone. This step back is complete; go on from here by another way.
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
        n3 result c1!: not run: the reply ended at its output limit in the middle of this call; write less at once and call again
        + author harness
        n4 assistant: done
    "#]].assert_eq(&story.tree());
    story.prompt("and now?").await.unwrap();
    expect![[r#"
        system: You work on files.
        user: do it
        assistant:
        + call c1 shell {}
        + origin test script
        + stop max_tokens
        result c1!: not run: the reply ended at its output limit in the middle of this call; write less at once and call again
        ++ text: the arguments of this call were not a JSON object; as written: {"path": "rm -r
        + author harness
        assistant: done
        + origin test script
        + stop end_turn
        user: and now?
    "#]].assert_eq(&story.world.last_request());
}

#[tokio::test]
async fn s30_a_call_that_had_begun_and_one_that_had_not_are_told_apart() {
    let world = World::default();
    let batch = shells(&[("c1", "one"), ("c2", "two")]);
    let agent = world.agent(replies(vec![batch, Turn::say("done")])).approval(Approval::Always).build().unwrap();
    let store = Arc::new(MemoryStore::new());
    // The prompt with its run, the reply, the note that the first call begins; then the process dies in it.
    let mortal = Arc::new(Mortal::new(&store, 3, false));
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

#[tokio::test]
async fn s32_words_after_words_are_two_nodes_and_one_message_where_the_wire_wants_one() {
    // The service itself joins neighbours; a strict one, found by the provider's name, refuses them.
    for (provider, expected) in [("anthropic", vec!["user", "user"]), ("anthropic-strict", vec!["user"])] {
        let world = World::default();
        let requests = Arc::clone(&world.requests);
        let script = replies(vec![Turn::new().fail(ProviderError::Cut), Turn::say("both then")]);
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

#[cfg(feature = "sqlite")]
#[tokio::test]
async fn s33_a_write_that_fails_ends_the_drive_aloud_and_the_next_drive_writes_again() {
    use trunkline_runtime::RuntimeError;
    use trunkline_runtime::session_store::{SqliteStore, StoreError};
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
        + stop tool_use"#]].assert_eq(&reasoning.join("\n"));
}

#[tokio::test]
async fn s35_what_only_an_act_could_mend_is_not_asked_again() {
    for kind in [ErrorKind::ContextTooLong, ErrorKind::Auth, ErrorKind::Quota, ErrorKind::InvalidRequest] {
        let fault = ProviderError::api(400, kind, "no");
        assert!(!fault.is_retryable(), "{kind}");
        let refused = Turn::new().fail(fault);
        let mut story = begin(Approval::Always, vec![refused, Turn::say("done")]).await;
        assert_eq!(stop_line(&story.prompt("do it").await), "error: the model could not be asked");
        assert_eq!(story.world.requests.lock().unwrap().len(), 1, "{kind}");
        // Who has mended it goes on, and nothing was lost.
        assert_eq!(stop_line(&story.resume().await), "decided other: answered");
    }
}

#[tokio::test]
async fn s36_an_approval_is_for_one_call_and_for_no_other_of_its_tool() {
    let turns = vec![shell("c1", "make"), shell("c2", "rm -rf /"), shell("c3", "make"), Turn::say("done")];
    let mut story = begin(Approval::Person, turns).await;
    story.prompt("do it").await.unwrap();
    for (id, verdict, next) in [
        (1, Verdict::Approve, "waiting for p2"),
        (2, Verdict::Discard, "waiting for p3"),
        (3, Verdict::Approve, "decided other: answered"),
    ] {
        story.session.decide(ProposalId(id), verdict, "").await.unwrap();
        // The approval is in the log, not in the process that was told.
        story = story.restart().await;
        assert_eq!(stop_line(&story.resume().await), next);
    }
    assert_eq!(story.world.effects(), ["ran make", "ran make"]);
}

#[tokio::test]
async fn s37_an_error_in_mid_stream_loses_nothing_and_a_resume_goes_on() {
    let overloaded = || ProviderError::api(200, ErrorKind::Overloaded, "Overloaded");
    let turns = vec![Turn::new().fail(overloaded()), Turn::say("half a sen").fail(overloaded()), Turn::say("tence")];
    let mut story = begin(Approval::Always, turns).await;
    story.prompt("do it").await.unwrap_err();
    let first = sent(&story.world);
    let mut story = story.restart().await;
    story.resume().await.unwrap_err();
    assert_eq!(sent(&story.world), first, "nothing had come, so the same is asked again");
    let mut story = story.restart().await;
    assert_eq!(stop_line(&story.resume().await), "decided other: answered");
    expect![[r#"
        n0 system: You work on files.
        n1 user: do it
        n2 assistant: half a sen
        + stop cut
        n3 harness: Your reply above was cut off before it was complete. Go on from there.
        n4 assistant: tence
    "#]].assert_eq(&story.tree());
}

fn verdict(proposal: u32, verdict: Verdict) -> Request {
    Request::Verdict { proposal: ProposalId(proposal), verdict, reason: String::new() }
}

#[tokio::test]
async fn s38_an_answer_that_comes_while_nobody_waits_for_it_is_taken() {
    let mut story = begin(Approval::Person, vec![shell("c1", "make"), Turn::say("done")]).await;
    story.prompt("do it").await.unwrap();
    let (store, agent, world, id) = (story.store(), story.agent.clone(), story.world.clone(), story.id());
    drop(story);
    post(store.as_ref(), &id, &verdict(1, Verdict::Approve), Timestamp(1)).await.unwrap();
    let mut session = agent.open(store, &id).await.unwrap();
    assert_eq!(stop_line(&session.resume(&Cancel::new()).await), "decided other: answered");
    assert_eq!(world.effects(), ["ran make"]);
}

#[tokio::test]
async fn s38_an_answer_to_nothing_is_refused_aloud() {
    let refused = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&refused);
    let world = World::default();
    let agent = world.agent(replies(vec![Turn::say("done")])).on_event(move |event| {
        if let Event::LetterRefused { reason, .. } = event {
            told.lock().unwrap().push(reason.clone());
        }
    });
    let mut story = Story::begin(world, agent).await;
    post(story.store().as_ref(), &story.id(), &verdict(7, Verdict::Approve), Timestamp(1)).await.unwrap();
    story.prompt("do it").await.unwrap();
    expect!["no proposal p7; open: nothing"].assert_eq(&refused.lock().unwrap().join(""));
    let refusal = story.session.decide(ProposalId(7), Verdict::Approve, "").await.unwrap_err();
    expect!["no proposal p7; open: nothing"].assert_eq(&refusal.to_string());
}

/// A person who has no answer until asked often enough.
struct Hesitant {
    asked: Mutex<Vec<ProposalId>>,
    answers: usize,
}

#[async_trait]
impl Decider for Hesitant {
    async fn decide(&self, proposal: &Entry<Value>) -> Option<(Verdict, String)> {
        let mut asked = self.asked.lock().unwrap();
        asked.push(proposal.id);
        (asked.len() > self.answers).then(|| (Verdict::Approve, String::new()))
    }
}

#[tokio::test]
async fn s38_whoever_was_asked_is_asked_again_after_a_restart() {
    let person = Arc::new(Hesitant { asked: Mutex::default(), answers: 1 });
    let world = World::default();
    let agent = world.agent(replies(vec![shell("c1", "make"), Turn::say("done")])).decider(person.clone());
    let mut story = Story::begin(world, agent).await;
    assert_eq!(stop_line(&story.prompt("do it").await), "waiting for p1");
    let mut story = story.restart().await;
    assert_eq!(stop_line(&story.resume().await), "decided other: answered");
    assert_eq!(*person.asked.lock().unwrap(), [ProposalId(1), ProposalId(1)]);
}

/// A person who approves the first, and cancels the turn when asked for the second.
struct Fickle(Cancel);

#[async_trait]
impl Decider for Fickle {
    async fn decide(&self, proposal: &Entry<Value>) -> Option<(Verdict, String)> {
        if proposal.id == ProposalId(1) {
            return Some((Verdict::Approve, String::new()));
        }
        self.0.cancel();
        std::future::pending().await
    }
}

#[tokio::test]
async fn s39_cancelling_while_one_is_asked_for_keeps_the_results_of_those_that_were_approved() {
    let world = World::default();
    let batch = shells(&[("c1", "one"), ("c2", "two")]).call("c3", "read", &json!({ "path": "a" }));
    let cancel = Cancel::new();
    let agent = world
        .agent(replies(vec![batch, Turn::say("done")]))
        .decider(Arc::new(Fickle(cancel.clone())));
    let mut story = Story { cancel, ..Story::begin(world, agent).await };
    assert_eq!(story.prompt("do it").await.unwrap(), Stop::Cancelled);
    assert_eq!(story.world.effects(), ["ran one"]);
    let mut story = story.restart().await;
    story.session.decide(ProposalId(2), Verdict::Discard, "no more").await.unwrap();
    assert_eq!(stop_line(&story.resume().await), "decided other: answered");
    assert_eq!(story.world.effects(), ["ran one"], "what was done is not done again");
    expect![[r#"
        n0 system: You work on files.
        n1 user: do it
        n2 assistant:
        + call c1 shell {"path":"one"}
        + call c2 shell {"path":"two"}
        + call c3 read {"path":"a"}
        n3 result c1: ok
        n4 result c2!: not run: the person declined it: no more
        + author harness
        n5 result c3!: no file a
        n6 assistant: done
    "#]].assert_eq(&story.tree());
}

#[tokio::test]
async fn s39_a_command_that_was_approved_and_then_cancelled_before_it_began_says_so() {
    let batch = shells(&[("c1", "one"), ("c2", "two")]);
    let mut story = begin(Approval::Person, vec![batch, Turn::say("done")]).await;
    story.prompt("do it").await.unwrap();
    story.session.decide(ProposalId(1), Verdict::Approve, "").await.unwrap();
    story.cancel.cancel();
    assert_eq!(story.resume().await.unwrap(), Stop::Cancelled);
    let mut story = story.restart().await;
    assert_eq!(stop_line(&story.resume().await), "decided other: answered");
    assert!(story.world.effects().is_empty());
    expect![[r#"
        n0 system: You work on files.
        n1 user: do it
        n2 assistant:
        + call c1 shell {"path":"one"}
        + call c2 shell {"path":"two"}
        n3 result c1!: not run: the turn was cancelled before this call began
        + author harness
        n4 result c2!: not run: the turn was cancelled before this call began
        + author harness
        n5 assistant: done
    "#]].assert_eq(&story.tree());
}

#[tokio::test]
async fn s39_what_needs_no_approval_does_not_wait_for_what_does() {
    let batch = shell("c1", "one").call("c2", "look", &json!({}));
    let looked = Arc::new(Mutex::new(0));
    let count = Arc::clone(&looked);
    let world = World::default();
    let agent = world.agent(replies(vec![batch])).tool(Looks(move || {
        *count.lock().unwrap() += 1;
        ToolOutput::text("seen")
    }));
    let mut story = Story::begin(world, agent).await;
    assert_eq!(stop_line(&story.prompt("do it").await), "waiting for p1");
    assert_eq!(*looked.lock().unwrap(), 1);
}

/// A tool that crashes outside of a call: where the harness asks it something.
struct Crashing(&'static str);

#[async_trait]
impl Tool for Crashing {
    fn spec(&self) -> ToolSpec {
        Looks(ToolOutput::default).spec()
    }
    fn gate(&self, _: &Map<String, Value>) -> Option<trunkline_runtime::Gate> {
        assert_ne!(self.0, "gate");
        None
    }
    async fn run(&self, _: Map<String, Value>, _: &ToolContext) -> ToolOutput {
        let mut output = ToolOutput::text("a preview");
        output.proposals.push(trunkline_runtime::Proposal::new("an edit", "look", json!({})));
        output
    }
    async fn observe(&self, _: &[String]) -> Vec<trunkline_runtime::resolve_queue::Fingerprint> {
        assert_ne!(self.0, "observe");
        Vec::new()
    }
    async fn apply(
        &self,
        _: &trunkline_runtime::Proposal,
        _: &ToolContext,
    ) -> (trunkline_runtime::resolve_queue::Outcome, ToolOutput) {
        assert_ne!(self.0, "apply");
        (trunkline_runtime::resolve_queue::Outcome::Applied, ToolOutput::text("ok"))
    }
}

#[tokio::test]
async fn probe_panics() {
    for place in ["gate", "observe", "apply"] {
        let world = World::default();
        let agent = world
            .agent(replies(vec![Turn::new().call("c1", "look", &json!({})), Turn::say("done"), Turn::say("done"), Turn::say("done")]))
            .tool(Crashing(place)).approval(Approval::Person)
            ;
        let story = Story::begin(world, agent).await;
        let Story { store, agent, session, world, .. } = story;
        let id = session.id().clone();
        drop(session);
        for round in 0..3 {
            let agent = agent.clone();
            let store2 = store.clone();
            let id = id.clone();
            let local = tokio::task::LocalSet::new(); let joined = local.run_until(async { tokio::task::spawn_local(async move {
                let mut session = agent.open(store2, &id).await.unwrap();
                let stop = if round == 0 { session.prompt("do it", &Cancel::new()).await } else {
                    let _ = session.decide(ProposalId(1), Verdict::Approve, "").await;
                    session.resume(&Cancel::new()).await
                };
                (stop_line(&stop), notation::print_tree(session.tree()))
            }).await }).await;
            println!("PROBE {place} {round}: {:?}", joined.map_err(|e| e.is_panic()));
        }
        let _ = world;
    }
}
