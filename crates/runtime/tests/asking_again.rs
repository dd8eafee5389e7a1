//! A run outlives its connection: answers that are cut, stalled or garbled, services that are busy, and the waits between.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use expect_test::expect;
use serde_json::json;
use tokio::time::{Instant, timeout};
use trunkline_runtime::message_tree::{Content, Origin, Timestamp};
use trunkline_runtime::orders::{self, Order as Letter};
use trunkline_runtime::providers::{
    DecodeError, ErrorKind, Event, Provider, ProviderError, Reply, Request, Turn, Waiting,
};
use trunkline_runtime::session_store::{MemoryStore, Record};
use trunkline_runtime::{
    Agent, AgentBuilder, Approval, Attempt, Cancel, Limit, Limits, Retries, RuntimeError, Stop, orders::post,
};

use crate::story::{Story, World, replies, stop_line};

const SOON: Duration = Duration::from_secs(3600);

fn asks_to_wait(status: u16, seconds: u64) -> ProviderError {
    let headers = [("retry-after".to_owned(), seconds.to_string())];
    ProviderError::of_response(status, &headers, br#"{"error":{"message":"slow down"}}"#)
}

fn transport(message: &str) -> ProviderError {
    ProviderError::Transport { endpoint: "http://localhost:1".to_owned(), message: message.to_owned() }
}

fn garbled() -> ProviderError {
    let (reason, excerpt) = ("expected value".to_owned(), "{\"choi".to_owned());
    ProviderError::Decode(DecodeError::Malformed { reason, excerpt })
}

/// An answer that contradicts itself.
fn doubtful() -> ProviderError {
    let (reason, excerpt) = ("the call has two names".to_owned(), "{\"name\":\"rm\"}".to_owned());
    ProviderError::Decode(DecodeError::Doubtful { reason, excerpt })
}

fn stalled(what: Waiting) -> ProviderError {
    ProviderError::Timeout { what, after: Duration::from_secs(120) }
}

fn busy() -> ProviderError {
    ProviderError::api(503, ErrorKind::Overloaded, "Overloaded")
}

/// Lets an agent's clock go with that of the test, which stands still while anything can be done.
pub(crate) fn timed(agent: AgentBuilder) -> AgentBuilder {
    let began = Instant::now();
    agent.clock(move || Timestamp(1_000_000 + u64::try_from(began.elapsed().as_millis()).unwrap()))
}

async fn begin(turns: Vec<Turn>) -> Story {
    let world = World::default();
    let agent = timed(world.agent(replies(turns)).approval(Approval::Always));
    Story::begin(world, agent).await
}

/// Everything that the log says of attempts, oldest first.
async fn attempts(story: &Story) -> Vec<Attempt> {
    let log = story.store().load(&story.id()).await.unwrap();
    let notes = log.records.into_iter().filter_map(|(_, record)| match record {
        Record::Note(note) if note.kind == "attempt" => Some(serde_json::from_str(&note.body).unwrap()),
        _ => None,
    });
    notes.collect()
}

fn requests(story: &Story) -> usize {
    story.world.requests.lock().unwrap().len()
}

#[tokio::test(start_paused = true)]
async fn a_half_sentence_is_kept_beside_the_trunk_and_the_model_never_sees_it() {
    let cut = || Turn::say("The first half").fail(ProviderError::Cut);
    let mut story = begin(vec![cut(), cut(), Turn::say("The whole answer.")]).await;
    assert_eq!(stop_line(&story.prompt("go").await), "decided other: answered");
    expect![[r#"
        n0 system: You work on files.
        n1 user: go
        n2 * n1 assistant: The first half
        + stop cut
        n3 * n1 assistant: The first half
        + stop cut
        n4 assistant: The whole answer.
    "#]]
    .assert_eq(&story.tree());
    assert_eq!(story.session.answer(), "The whole answer.");
    assert_eq!(
        trunkline_runtime::revert::turn(story.session.tree()),
        1,
        "no note decays by what nobody has read"
    );
    {
        let asked = story.world.requests.lock().unwrap();
        assert!(asked.iter().all(|request| request.messages == asked[0].messages), "the same request");
    }
    let told = attempts(&story).await;
    let told: Vec<_> =
        told.iter().map(|one| (one.head, one.attempt, one.node, one.until.is_some())).collect();
    let node = trunkline_runtime::message_tree::NodeId::new;
    assert_eq!(told, [(node(1), 1, Some(node(2)), true), (node(1), 2, Some(node(3)), true)]);
    // The count begins anew when the conversation has gone on.
    let mut story = story.restart().await;
    assert_eq!(stop_line(&story.prompt("more").await), "decided other: answered");
    assert_eq!(attempts(&story).await.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn whatever_passes_by_itself_is_asked_again_and_no_call_of_a_cut_answer_runs() {
    let call = || Turn::new().call_raw("c1", "shell", r#"{"path":"rm -rf"}"#);
    let first = [
        Turn::new().fail(ProviderError::Cut),
        Turn::new().fail(busy()),
        Turn::new().fail(ProviderError::api(200, ErrorKind::RateLimited, "rate-limited upstream")),
        Turn::new().fail(ProviderError::Html { endpoint: "here".to_owned(), status: 502 }),
        Turn::new().fail(transport("Connection refused (os error 111)")),
        Turn::new().fail(transport("dns error: failed to lookup address information")),
        Turn::new().fail(stalled(Waiting::Response)),
        Turn::say("I").fail(stalled(Waiting::NextBytes)),
        Turn::say("I").fail(garbled()),
        Turn::say("I").fail(ProviderError::api(200, ErrorKind::Overloaded, "Overloaded")),
        Turn::new().think("Let me see", None).fail(ProviderError::Cut),
        // A call that is whole, and one that ends in its arguments.
        call().fail(ProviderError::Cut),
        call().and_say("and").fail(ProviderError::Cut),
        Turn::say("I look").call_raw("c1", "shell", r#"{"path":"rm"#).fail(garbled()),
        // What contradicts itself, with a call that looks whole.
        Turn::new().fail(doubtful()),
        call().fail(doubtful()),
    ];
    for turn in first {
        let named = format!("{turn:?}");
        let mut story = begin(vec![turn, Turn::say("done")]).await;
        assert_eq!(stop_line(&story.prompt("go").await), "decided other: answered", "{named}");
        assert_eq!(requests(&story), 2, "{named}");
        assert!(story.world.effects().is_empty(), "{named}");
        let shown = story.world.last_request();
        assert_eq!(shown.lines().count(), 2, "nothing of it: {named}: {shown}");
        let again = story.restart().await;
        assert_eq!(attempts(&again).await.len(), 1, "{named}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_minute_of_overload_and_a_limit_whose_end_is_known_are_outlasted() {
    let world = World::default();
    let began = Instant::now();
    let agent = world.agent(move |_| match began.elapsed() < Duration::from_secs(61) {
        true => Turn::new().fail(busy()),
        false => Turn::say("At last."),
    });
    let mut story = Story::begin(world, timed(agent)).await;
    assert_eq!(stop_line(&story.prompt("go").await), "decided other: answered");
    assert!(requests(&story) <= 9 && began.elapsed() < Duration::from_secs(100), "{:?}", began.elapsed());

    let mut story = begin(vec![Turn::new().fail(asks_to_wait(429, 30)), Turn::say("done")]).await;
    let began = Instant::now();
    assert_eq!(stop_line(&story.prompt("go").await), "decided other: answered");
    let took = began.elapsed();
    assert!(took >= Duration::from_secs(30) && took < Duration::from_secs(34), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn tries_are_bounded_and_so_is_the_wait_that_a_service_may_ask_for() {
    let endless = || (0..40).map(|_| Turn::say("I").fail(ProviderError::Cut)).collect::<Vec<_>>();
    let mut story = begin(endless()).await;
    assert!(matches!(story.prompt("go").await, Err(RuntimeError::Provider(ProviderError::Cut))));
    assert_eq!(requests(&story), 9);
    // Whoever goes on begins anew.
    assert!(story.resume().await.is_err());
    assert_eq!(requests(&story), 18);

    let mut story = begin(vec![Turn::new().fail(asks_to_wait(429, 3600))]).await;
    let began = Instant::now();
    assert!(story.prompt("go").await.is_err());
    assert!(requests(&story) == 1 && began.elapsed() < Duration::from_secs(1));

    let world = World::default();
    let agent = timed(world.agent(replies(endless()))).retries(Retries::none());
    let mut story = Story::begin(world, agent).await;
    assert!(story.prompt("go").await.is_err());
    assert_eq!(requests(&story), 1);
}

#[tokio::test(start_paused = true)]
async fn a_kill_while_waiting_goes_on_waiting_and_counts_on() {
    let fails = (0..9).map(|_| Turn::new().fail(asks_to_wait(503, 30)));
    let mut story = begin(fails.collect()).await;
    let began = Instant::now();
    // Dropped in the middle of the third wait.
    assert!(timeout(Duration::from_secs(75), story.prompt("go")).await.is_err());
    assert_eq!(requests(&story), 3);
    let mut story = story.restart().await;
    // Also the next process is not the last one.
    assert!(timeout(Duration::from_secs(5), story.resume()).await.is_err());
    assert_eq!(requests(&story), 3);
    let mut story = story.restart().await;
    assert!(story.resume().await.is_err());
    assert_eq!(requests(&story), 9, "the same nine tries as of one process");
    let took = began.elapsed();
    assert!(took >= Duration::from_secs(240) && took < Duration::from_secs(270), "{took:?}");
    let told: Vec<u32> = attempts(&story).await.iter().map(|one| one.attempt).collect();
    assert_eq!(told, [1, 2, 3, 4, 5, 6, 7, 8, 9]);
}

#[tokio::test(start_paused = true)]
async fn after_a_kill_that_lasted_longer_than_the_wait_the_model_is_asked_at_once() {
    let turns = vec![Turn::say("I").fail(asks_to_wait(503, 30)), Turn::say("done")];
    let mut story = begin(turns).await;
    assert!(timeout(Duration::from_secs(10), story.prompt("go")).await.is_err());
    tokio::time::sleep(Duration::from_secs(300)).await;
    let mut story = story.restart().await;
    let began = Instant::now();
    assert_eq!(stop_line(&story.resume().await), "decided other: answered");
    assert!(began.elapsed() < Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_a_log_claims_is_never_longer_than_the_policy_allows() {
    let turns = vec![Turn::new().fail(asks_to_wait(503, 500)), Turn::say("done")];
    let mut story = begin(turns).await;
    assert!(timeout(Duration::from_secs(1), story.prompt("go")).await.is_err());
    let Story { store, session, world, .. } = story;
    let id = session.id().clone();
    drop(session);
    // The clock of this machine is an hour behind.
    let mut patient = Retries::default();
    patient.time = Duration::from_secs(20);
    let agent = world.agent(|_| Turn::say("done")).retries(patient).clock(|| Timestamp(5)).build().unwrap();
    let mut session = agent.open(store, &id).await.unwrap();
    let began = Instant::now();
    assert_eq!(stop_line(&session.resume(&Cancel::new()).await), "decided other: answered");
    assert_eq!(began.elapsed(), Duration::from_secs(20));
}

#[tokio::test(start_paused = true)]
async fn a_model_is_not_kept_waiting_for_another_one() {
    let mut story = begin(vec![Turn::new().fail(asks_to_wait(429, 300))]).await;
    assert!(timeout(Duration::from_secs(10), story.prompt("go")).await.is_err());
    let Story { store, session, .. } = story;
    let id = session.id().clone();
    drop(session);
    let other = trunkline_runtime::providers::Scripted::new("test", "another", |_| Turn::say("Here I am."));
    let mut session = timed(Agent::builder(other)).build().unwrap().open(store, &id).await.unwrap();
    let began = Instant::now();
    assert_eq!(stop_line(&session.resume(&Cancel::new()).await), "decided other: answered");
    assert!(began.elapsed() < Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn a_cancel_ends_the_wait_and_a_resume_takes_it_up() {
    let turns = vec![Turn::new().fail(asks_to_wait(429, 100)), Turn::say("done")];
    let mut story = begin(turns).await;
    let (cancel, began) = (story.cancel.clone(), Instant::now());
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(40)).await;
        cancel.cancel();
    });
    assert_eq!(story.prompt("go").await.unwrap(), Stop::Cancelled);
    assert_eq!(began.elapsed(), Duration::from_secs(40));
    assert!(story.session.open_run().is_some());
    let mut story = story.restart().await;
    assert_eq!(stop_line(&story.resume().await), "decided other: answered");
    assert!(began.elapsed() >= Duration::from_secs(100), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn letters_from_elsewhere_take_effect_while_it_waits() {
    for letter in [Letter::Prompt { text: "only the first line".to_owned() }, Letter::Cancel] {
        let turns = vec![Turn::say("I").fail(asks_to_wait(429, 300)), Turn::say("done")];
        let mut story = begin(turns).await;
        let (store, id, began) = (story.store(), story.id(), Instant::now());
        let cancels = matches!(letter, Letter::Cancel);
        let other = async {
            tokio::time::sleep(Duration::from_secs(10)).await;
            let posted = post(store.as_ref(), &id, &letter, Timestamp(0)).await.unwrap();
            orders::settled(store.as_ref(), &id, posted).await.unwrap()
        };
        let (stop, _) = tokio::join!(timeout(SOON, story.prompt("go")), other);
        let stop = stop_line(&stop.unwrap());
        assert_eq!(stop, if cancels { "cancelled" } else { "decided other: answered" });
        // Words of a person are another request.
        assert!(began.elapsed() < Duration::from_secs(12), "{:?}", began.elapsed());
        assert_eq!(story.world.last_request().contains("only the first line"), !cancels);
    }
}

#[tokio::test(start_paused = true)]
async fn the_time_of_a_drive_ends_the_wait_too() {
    let world = World::default();
    let mut limits = Limits::default();
    limits.time = Duration::from_secs(20);
    let turns = vec![Turn::new().fail(asks_to_wait(429, 300)), Turn::say("done")];
    let mut story = Story::begin(world.clone(), timed(world.agent(replies(turns)).limits(limits))).await;
    let began = Instant::now();
    assert_eq!(story.prompt("go").await.unwrap(), Stop::Limit(Limit::Time));
    assert_eq!(began.elapsed(), Duration::from_secs(20));
}

#[tokio::test(start_paused = true)]
async fn whoever_is_taken_over_while_waiting_learns_it() {
    let turns = vec![Turn::new().fail(asks_to_wait(429, 300)), Turn::say("done")];
    let mut story = begin(turns).await;
    let (agent, store, id) = (story.agent.clone(), story.store(), story.id());
    let other = async {
        tokio::time::sleep(Duration::from_secs(10)).await;
        agent.take_over(store, &id).await.unwrap()
    };
    let (stop, mut session) = tokio::join!(timeout(SOON, story.prompt("go")), other);
    assert!(matches!(stop.unwrap(), Err(RuntimeError::TakenOver { .. })));
    assert_eq!(stop_line(&session.resume(&Cancel::new()).await), "decided other: answered");
    assert_eq!(requests(&story), 2);
}

#[tokio::test(start_paused = true)]
async fn a_proposal_whose_time_is_over_expires_while_the_model_is_waited_for() {
    let world = World::default();
    let edit = Turn::new().call("c1", "edit", &json!({ "path": "a", "text": "new" }));
    let turns = vec![edit, Turn::new().fail(asks_to_wait(429, 300)), Turn::say("done")];
    let agent = timed(world.agent(replies(turns)).approval(Approval::Model));
    let agent = agent.proposals_expire_after(Duration::from_secs(50));
    let mut story = Story::begin(world, agent).await;
    let began = Instant::now();
    let expired: Arc<Mutex<Option<Duration>>> = Arc::default();
    let (seen, told) = (Arc::clone(&expired), Arc::clone(&story.world.told));
    let watch = tokio::spawn(async move {
        while !told.lock().unwrap().iter().any(|line| line == "p1 expired") {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        *seen.lock().unwrap() = Some(began.elapsed());
    });
    assert_eq!(stop_line(&story.prompt("go").await), "decided other: answered");
    watch.await.unwrap();
    assert!(expired.lock().unwrap().unwrap() < Duration::from_secs(52));
}

#[tokio::test(start_paused = true)]
async fn tokens_of_cut_answers_count_against_the_limit_and_stand_in_the_verdict() {
    let long = "word ".repeat(400);
    let cut = || Turn::say(long.clone()).fail(ProviderError::Cut);
    let world = World::default();
    let mut limits = Limits::default();
    limits.tokens = 900;
    let agent = timed(world.agent(replies(vec![cut(), cut(), Turn::say("done")])).limits(limits));
    let mut story = Story::begin(world, agent).await;
    // Two answers of five hundred tokens each, of which nobody said anything.
    assert_eq!(stop_line(&story.prompt("go").await), "at the limit of tokens");
    assert_eq!(requests(&story), 2);
    assert!(attempts(&story).await.iter().all(|one| one.estimated));
    let Stop::Decided(decision) = story.resume().await.unwrap() else { panic!("it ends") };
    let cost = decision.cites().cost.unwrap();
    assert!(cost.output_tokens >= 1000, "{cost:?}");
}

#[tokio::test(start_paused = true)]
async fn what_is_asked_again_is_no_further_turn() {
    let world = World::default();
    let mut limits = Limits::default();
    limits.turns = 1;
    let turns = vec![Turn::say("I").fail(ProviderError::Cut), Turn::new().fail(busy()), Turn::say("done")];
    let mut story = Story::begin(world.clone(), timed(world.agent(replies(turns)).limits(limits))).await;
    assert_eq!(stop_line(&story.prompt("go").await), "decided other: answered");
}

/// A provider that gives lists of events, each ended by an error or by its end.
struct Canned {
    origin: Origin,
    answers: Mutex<VecDeque<(Vec<Event>, Option<ProviderError>)>>,
}

struct CannedReply(VecDeque<Event>, Option<ProviderError>);

#[async_trait]
impl Provider for Canned {
    fn origin(&self) -> &Origin {
        &self.origin
    }

    fn wire(&self) -> &str {
        "anthropic"
    }

    async fn send(&self, _: Request) -> Result<Box<dyn Reply>, ProviderError> {
        let (events, fault) = self.answers.lock().unwrap().pop_front().expect("it is not asked so often");
        Ok(Box::new(CannedReply(events.into(), fault)))
    }
}

#[async_trait]
impl Reply for CannedReply {
    async fn next(&mut self) -> Result<Option<Event>, ProviderError> {
        match (self.0.pop_front(), self.1.take()) {
            (Some(event), fault) => {
                self.1 = fault;
                Ok(Some(event))
            }
            (None, Some(fault)) => Err(fault),
            (None, None) => Ok(None),
        }
    }
}

async fn canned(answers: Vec<(Vec<Event>, Option<ProviderError>)>) -> trunkline_runtime::Session {
    let origin = Origin::new("test", "canned");
    let model = Canned { origin, answers: Mutex::new(answers.into()) };
    let agent = timed(Agent::builder(model)).build().unwrap();
    agent.start(Arc::new(MemoryStore::new()), "t", None).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn an_answer_for_which_the_service_ran_tools_is_not_asked_for_again_unasked() {
    let json = |kind: &str| json!({ "type": kind, "id": "s1" }).to_string();
    for block in [
        Content::ServerCall { id: "s1".to_owned(), json: json("server_tool_use") },
        Content::Opaque { wire: "openai-responses".to_owned(), json: json("web_search_call") },
        Content::Opaque { wire: "gemini".to_owned(), json: json!({ "executableCode": {} }).to_string() },
    ] {
        let events = vec![Event::Block(block), Event::TextDelta("I found".to_owned())];
        let mut session = canned(vec![(events, Some(ProviderError::Cut))]).await;
        let stop = session.prompt("go", &Cancel::new()).await;
        assert!(matches!(stop, Err(RuntimeError::NotAskedAgain(ProviderError::Cut))), "{stop:?}");
        assert_eq!(session.tree().len(), 3, "what came is kept");
    }
}

#[tokio::test(start_paused = true)]
async fn attempts_that_a_provider_repeats_itself_count_too() {
    let retrying = |attempt| Event::Retrying { attempt, wait: Duration::ZERO, cause: "busy".to_owned() };
    let answers = (0..3).map(|_| ((1..4).map(retrying).collect(), Some(busy())));
    let mut session = canned(answers.collect()).await;
    let began = Instant::now();
    assert!(session.prompt("go", &Cancel::new()).await.is_err());
    // Four by four, and the ninth is the last one.
    assert!(began.elapsed() < Duration::from_secs(60));
}

#[tokio::test(start_paused = true)]
async fn a_summary_outlives_a_cut_and_a_busy_service_and_every_attempt_is_paid_for() {
    use trunkline_runtime::{Compaction, revert::CompactPolicy};
    let world = World::default();
    world.files.lock().unwrap().insert("a".to_owned(), "a line of the file\n".repeat(80));
    let asked = std::sync::atomic::AtomicUsize::new(0);
    let summaries = std::sync::atomic::AtomicUsize::new(0);
    let agent = world.agent(move |request| {
        let next =
            |count: &std::sync::atomic::AtomicUsize| count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        if request.messages.first().is_some_and(|first| first.text().starts_with("You write the summary")) {
            return match next(&summaries) {
                0 => Turn::new().fail(busy()),
                1 => Turn::say("the file was").fail(ProviderError::Cut),
                _ => Turn::say("the file was read, it says nothing new"),
            };
        }
        match next(&asked) {
            number @ 0..8 => Turn::new().call(format!("c{number}"), "read", &json!({ "path": "a" })),
            _ => Turn::say("done"),
        }
    });
    let policy = CompactPolicy::new(3_000).keep(20, 1);
    let agent = timed(agent).with_revert().with_compaction(Compaction::new(policy));
    let failed: Arc<Mutex<Vec<String>>> = Arc::default();
    let told = Arc::clone(&failed);
    let agent = agent.on_event(move |event| match event {
        trunkline_runtime::Event::AttemptFailed { attempt, wait: Some(_) } => {
            told.lock().unwrap().push(attempt.words.clone());
        }
        trunkline_runtime::Event::CompactionFailed { reason } => panic!("{reason}"),
        _ => {}
    });
    let mut story = Story::begin(world, agent).await;
    assert_eq!(stop_line(&story.prompt("go").await), "decided other: answered");
    assert_eq!(failed.lock().unwrap().len(), 2, "{failed:?}");
    let covering = story.session.tree().covering();
    let summary = story.session.tree().node(covering[0]).unwrap().message();
    assert!(summary.text().ends_with("the file was read, it says nothing new"), "{}", summary.text());
    let output = summary.usage.unwrap().output_tokens;
    assert!(output > "the file was read, it says nothing new".len() as u64 / 4 + 2, "{output}");
}
