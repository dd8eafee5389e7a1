//! Making room within the loop: when it happens, what is sent then, and what a kill, a cancel or a failure leaves.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use expect_test::expect;
use serde_json::json;
use trunkline_runtime::message_tree::{Author, Message, NodeId, Role, StopReason, Timestamp, TrunkItem};
use trunkline_runtime::orders::{self, MoveAct};
use trunkline_runtime::providers::{ErrorKind, ProviderError, Request, Turn};
use trunkline_runtime::revert::{BreakCause, CompactPolicy, Decay, PrunePolicy, RenderPolicy};
use trunkline_runtime::sanitize::{RepairKind, RequestFacts, WireRules, sanitize, violations};
use trunkline_runtime::{
    AgentBuilder, Cancel, Compaction, CompactionSummary, Compactor, Event, Reverts, View,
};
use trunkline_session_store::{SessionId, SessionStore};

use crate::story::{Story, World, replies, stop_line};

/// A window that about six results of `read` fill.
const WINDOW: u64 = 3_000;

pub(crate) fn policy() -> CompactPolicy {
    CompactPolicy::new(WINDOW).keep(20, 1)
}

fn world() -> World {
    let world = World::default();
    world.files.lock().unwrap().insert("a".to_owned(), "a line of the file\n".repeat(80));
    world
}

fn is_summary(request: &Request) -> bool {
    request.messages.first().is_some_and(|first| first.text().starts_with("You write the summary"))
}

/// Reads the file so often, says a word, and writes a summary whenever one is asked for.
fn reads(count: usize) -> impl Fn(&Request) -> Turn + Send + Sync + 'static {
    let asked = AtomicUsize::new(0);
    move |request| {
        if is_summary(request) {
            return Turn::say("the file was read, it says nothing new");
        }
        let number = asked.fetch_add(1, Ordering::SeqCst);
        match number < count {
            true => Turn::new().call(format!("c{number}"), "read", &json!({ "path": "a" })),
            false => Turn::say("done"),
        }
    }
}

fn sizes(world: &World) -> Vec<usize> {
    let size = |message: &Message| {
        message.text().len() + message.results().map(|result| result.text().len()).sum::<usize>()
    };
    let requests = world.requests.lock().unwrap();
    let asked = requests.iter().filter(|request| !is_summary(request));
    asked.map(|request| request.messages.iter().map(|message| size(message)).sum()).collect()
}

fn covers(story: &Story) -> Vec<(usize, usize)> {
    let items = story.session.tree().trunk().items();
    let spans = items.filter_map(|item| match item {
        TrunkItem::Cover { span, .. } => Some(span),
        TrunkItem::Node(..) => None,
    });
    spans.collect()
}

async fn events(agent: AgentBuilder, world: World) -> (Story, Arc<Mutex<Vec<String>>>) {
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&told);
    let agent = agent.on_event(move |event| {
        let line = match event {
            Event::Compacting(plan) => format!("compacting {} to {}", plan.from, plan.to),
            Event::Compacted(done) => format!("compacted by {}", done.node),
            Event::CompactionFailed { reason } => format!("failed: {reason}"),
            Event::CacheBroken(lost) => format!("broken at {} by {:?}", lost.depth, lost.cause),
            Event::DecayDelayed { notes, .. } => format!("delayed {notes}"),
            _ => return,
        };
        seen.lock().unwrap().push(line);
    });
    (Story::begin(world, agent).await, told)
}

#[tokio::test]
async fn p41_requests_shrink_within_one_run_and_never_fill_the_window() {
    let world = world();
    let agent = world.agent(reads(20)).with_revert().with_compaction(Compaction::new(policy()));
    let (mut story, told) = events(agent, world).await;
    assert_eq!(stop_line(&story.prompt("do it").await), "decided other: answered");
    let sizes = sizes(&story.world);
    let largest = *sizes.iter().max().unwrap();
    assert!(largest < 4 * WINDOW as usize, "{largest}");
    assert!(sizes.windows(2).filter(|pair| pair[1] < pair[0]).count() >= 3, "{sizes:?}");
    let told = told.lock().unwrap();
    assert!(told.iter().any(|line| line.starts_with("compacting n2 to n")), "{told:?}");
    assert_eq!(
        told.iter().filter(|line| line.starts_with("compacted")).count(),
        story.session.tree().covering().len()
    );
    // One summary stands for everything that was covered, and the prompt before it stays as it was written.
    assert_eq!(covers(&story).len(), 1);
    assert!(
        story.world.last_request().contains("user: [n1]\n+ text: do it"),
        "{}",
        story.world.last_request()
    );
}

#[tokio::test]
async fn a_compaction_moves_no_head_and_opens_no_epoch_and_keeps_every_node() {
    let world = world();
    let agent = world.agent(reads(12)).with_compaction(Compaction::new(policy()));
    let mut story = Story::begin(world, agent).await;
    story.prompt("do it").await.unwrap();
    let tree = story.session.tree();
    assert!(!tree.covering().is_empty());
    assert_eq!((tree.moves().len(), tree.epoch()), (0, 0));
    let results = tree.trunk().messages().filter(|message| message.role == Role::Tool);
    let sizes: Vec<usize> = results.flat_map(Message::results).map(|one| one.text().len()).collect();
    assert_eq!(sizes, [1520; 12]);
}

#[tokio::test]
async fn a_summary_in_a_log_is_shown_without_the_opt_in_and_after_a_restart() {
    let world = world();
    let agent = world.agent(reads(12)).with_compaction(Compaction::new(policy()));
    let mut story = Story::begin(world, agent).await;
    story.prompt("do it").await.unwrap();
    let rendered = story.session.rendered();
    let Story { world, store, session, .. } = story;
    let id = session.id().clone();
    drop(session);
    let plain = world.agent(replies(vec![])).build().unwrap();
    let session = plain.open(store, &id).await.unwrap();
    assert_eq!(session.rendered(), rendered);
    assert!(rendered.iter().any(|one| one.text().starts_with("[compaction] This summary stands for")));
}

#[tokio::test]
async fn p42_p43_a_revert_to_a_compacted_result_works_and_says_what_is_shown_again() {
    let world = world();
    let read = reads(10);
    let agent = world
        .agent(move |request| {
            let last = request.messages.last().map(|last| last.text()).unwrap_or_default();
            match last.ends_with("go back") {
                true => Turn::new().call(
                    "back",
                    "revert_to_state",
                    &json!({ "category": "failure", "step": "n5", "summary": "no" }),
                ),
                false => read(request),
            }
        })
        .with_revert()
        .with_compaction(Compaction::new(policy()));
    let mut story = Story::begin(world, agent).await;
    story.prompt("do it").await.unwrap();
    let covered = covers(&story);
    assert!(covered[0].0 <= 5 && 5 < covered[0].1, "{covered:?}");
    // A person goes back into the span; the result stands there as the tool gave it, with its own name.
    story.session.revert(NodeId::new(5), Some("look elsewhere")).await.unwrap();
    assert_eq!(covers(&story), []);
    let rendered = story.session.rendered();
    let result = rendered.iter().find(|message| message.node == Some(NodeId::new(5))).unwrap();
    assert!(result.results().all(|result| result.text().contains("[n5]\na line of the file")));
    assert!(rendered.len() < 9, "only what leads there is shown: {}", rendered.len());
    let view = View::of(&story.store().load(&story.id()).await.unwrap()).unwrap();
    let told = view.reverts().last().unwrap().uncovered.unwrap();
    assert_eq!((told.nodes, told.window_tokens, told.fits()), (4, Some(WINDOW), Some(true)));
    story.session.undo().await.unwrap();
    assert_eq!(covers(&story), covered);
}

#[tokio::test]
async fn p44_a_summary_is_no_user_message_and_blocks_no_revert() {
    let world = world();
    let read = reads(9);
    let asked = AtomicUsize::new(0);
    let agent = world
        .agent(move |request| {
            let covered = request.messages.iter().any(|one| one.text().contains("[compaction]"));
            match covered && asked.fetch_add(1, Ordering::SeqCst) == 0 {
                true => Turn::new().call(
                    "back",
                    "revert_to_state",
                    &json!({ "category": "failure", "step": "n3", "summary": "no" }),
                ),
                false => read(request),
            }
        })
        .with_revert()
        .with_compaction(Compaction::new(policy()));
    let mut story = Story::begin(world, agent).await;
    story.prompt("do it").await.unwrap();
    let tree = story.tree();
    assert!(tree.contains("revert applied (failure): the conversation goes on from n3"), "{tree}");
    assert!(tree.contains("compacted messages are shown again, about"), "{tree}");
    assert!(story.session.tree().trunk().messages().all(|message| !message.text().contains("[compaction]")));
    let prompts = story.session.tree().nodes().filter(|(_, node)| node.message().author == Author::Person);
    assert_eq!(prompts.count(), 1);
}

#[tokio::test]
async fn p45_leaving_a_branch_delays_the_compaction() {
    // Each third turn is taken back, so the trunk never grows although the log does.
    let asked = AtomicUsize::new(0);
    let world = world();
    let agent = world
        .agent(move |request| {
            assert!(!is_summary(request), "nothing has to be summed up");
            let number = asked.fetch_add(1, Ordering::SeqCst);
            match number {
                30.. => Turn::say("done"),
                _ if number % 3 == 2 => Turn::new().call(
                    format!("c{number}"),
                    "revert_to_state",
                    &json!({ "category": "failure", "step": "n1", "summary": "no" }),
                ),
                _ => Turn::new().call(format!("c{number}"), "read", &json!({ "path": "a" })),
            }
        })
        .with_revert()
        .with_compaction(Compaction::new(policy()));
    let mut story = Story::begin(world, agent).await;
    story.prompt("do it").await.unwrap();
    assert_eq!(story.session.tree().moves().len(), 10);
    assert_eq!(story.session.tree().covering(), []);
}

/// Writes no summary the first times.
struct Fails {
    times: AtomicUsize,
}

#[async_trait]
impl Compactor for Fails {
    async fn summarize(&self, _: Vec<Message>) -> Result<CompactionSummary, String> {
        match self.times.fetch_sub(1, Ordering::SeqCst) {
            0 => {
                self.times.store(0, Ordering::SeqCst);
                Ok(CompactionSummary::new("all is well"))
            }
            1 => Ok(CompactionSummary::new(" \n")),
            2 => Ok(CompactionSummary::new("long ".repeat(9_000))),
            _ => Err("nobody is there".to_owned()),
        }
    }
}

#[tokio::test]
async fn without_a_summary_there_is_no_boundary_and_it_is_tried_again_after_growth() {
    let world = world();
    let fails = Fails { times: AtomicUsize::new(3) };
    let compaction = Compaction::new(policy()).by(Arc::new(fails));
    let (mut story, told) = events(world.agent(reads(12)).with_compaction(compaction), world).await;
    story.prompt("do it").await.unwrap();
    let failed: Vec<String> =
        told.lock().unwrap().iter().filter(|line| !line.starts_with("compacting")).cloned().collect();
    expect![[r#"
        [
            "failed: nobody is there",
            "failed: the summary is no shorter than what it stands for (13126 tokens for 2235, by estimate)",
            "failed: the summary is empty",
            "compacted by n18",
            "compacted by n27",
        ]
    "#]]
    .assert_debug_eq(&failed);
    // Each of them after a request that was made all the same.
    let requests = story.world.requests.lock().unwrap().len();
    assert_eq!(requests, 13);
}

#[tokio::test(start_paused = true)]
async fn a_cancel_while_the_summary_is_made_leaves_nothing() {
    let world = world();
    let read = reads(12);
    let agent = world
        .agent(move |request| match is_summary(request) {
            true => Turn::say("half").hang(),
            false => read(request),
        })
        .with_compaction(Compaction::new(policy()));
    let mut story = Story::begin(world, agent).await;
    let cancel = story.cancel.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(400)).await;
        cancel.cancel();
    });
    assert_eq!(stop_line(&story.prompt("do it").await), "cancelled");
    let records = story.store().load(&story.id()).await.unwrap().records.len();
    assert_eq!(story.session.tree().covering(), []);
    // Nothing was noted either: whoever takes it up asks again.
    let story = story.restart().await;
    assert_eq!(story.store().load(&story.id()).await.unwrap().records.len(), records);
}

/// Dies, as far as the session can tell: what it was asked is never answered.
struct Hangs {
    asked: Arc<AtomicUsize>,
}

#[async_trait]
impl Compactor for Hangs {
    async fn summarize(&self, _: Vec<Message>) -> Result<CompactionSummary, String> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        std::future::pending().await
    }
}

#[tokio::test(start_paused = true)]
async fn a_kill_before_the_summary_loses_nothing_and_the_next_process_asks_for_it_again() {
    let world = world();
    let asked = Arc::new(AtomicUsize::new(0));
    let hangs = Compaction::new(policy()).by(Arc::new(Hangs { asked: Arc::clone(&asked) }));
    let agent = world.agent(reads(12)).with_compaction(hangs);
    let mut story = Story::begin(world, agent).await;
    let cut = tokio::time::timeout(Duration::from_millis(800), story.prompt("do it")).await;
    assert!(cut.is_err() && asked.load(Ordering::SeqCst) == 1);
    let Story { world, store, session, .. } = story;
    let (id, before) = (session.id().clone(), session.tree().entries().count());
    drop(session);
    let agent = world.agent(reads(3)).with_compaction(Compaction::new(policy())).build().unwrap();
    let mut session = agent.open(store, &id).await.unwrap();
    assert_eq!(session.tree().entries().count(), before);
    session.resume(&Cancel::new()).await.unwrap();
    assert_eq!(session.tree().covering().first(), Some(&NodeId::new(before as u32)));
}

/// Where a compactor finds the session that it works for.
type Place = Arc<Mutex<Option<(Arc<dyn SessionStore>, SessionId)>>>;

/// Asks for a move of the head while it writes.
struct Moves {
    place: Place,
}

#[async_trait]
impl Compactor for Moves {
    async fn summarize(&self, ask: Vec<Message>) -> Result<CompactionSummary, String> {
        let (store, session) = self.place.lock().unwrap().clone().unwrap();
        let log = store.load(&session).await.unwrap();
        let expected_head = View::of(&log).unwrap().tree().head();
        let act = MoveAct::Revert { to: NodeId::new(3), lesson: None };
        let request = orders::Order::Move { act, expected_head };
        orders::post(store.as_ref(), &session, &request, Timestamp(0)).await.unwrap();
        Ok(CompactionSummary::new(format!("of {}", ask.len())))
    }
}

#[tokio::test]
async fn a_move_that_arrives_meanwhile_comes_first() {
    let world = world();
    let place = Place::default();
    let moves = Moves { place: Arc::clone(&place) };
    let agent = world.agent(reads(7)).with_compaction(Compaction::new(policy()).by(Arc::new(moves)));
    let mut story = Story::begin(world, agent).await;
    *place.lock().unwrap() = Some((story.store(), story.id()));
    story.prompt("do it").await.unwrap();
    assert_eq!(story.session.tree().covering(), [], "{}", story.tree());
    assert_eq!(story.session.tree().moves().len(), 1);
}

#[tokio::test]
async fn a_full_window_is_compacted_once_and_the_request_is_made_again() {
    for full in [true, false] {
        let world = world();
        let read = reads(4);
        let agent = world.agent(move |request| {
            let covered = request.messages.iter().any(|one| one.text().contains("[compaction]"));
            let results = request.messages.iter().flat_map(|one| one.results()).count();
            match results >= 4 && (full || !covered) && !is_summary(request) {
                true => Turn::say("").stop(StopReason::ContextWindow),
                false => read(request),
            }
        });
        // The window is thought to be far larger than it is.
        let wide = CompactPolicy::new(1_000_000).keep(25, 1);
        let mut story = Story::begin(world, agent.with_compaction(Compaction::new(wide))).await;
        let stop = stop_line(&story.prompt("do it").await);
        assert_eq!(stop, "decided other: answered", "{}", story.tree());
        assert_eq!(story.session.tree().covering().len(), 1);
        let summaries = story.world.requests.lock().unwrap().iter().filter(|one| is_summary(one)).count();
        assert_eq!(summaries, 1);
    }
}

#[tokio::test]
async fn a_full_window_that_nobody_named_is_compacted_before_the_model_is_told_to_go_on() {
    let world = world();
    let read = reads(4);
    let agent = world.agent(move |request| {
        let covered = request.messages.iter().any(|one| one.text().contains("[compaction]"));
        let results = request.messages.iter().flat_map(|one| one.results()).count();
        match results >= 4 && !covered && !is_summary(request) {
            true => Turn::say("It be").stop(StopReason::ContextWindow),
            false => read(request),
        }
    });
    let mut story = Story::begin(world, agent).await;
    let stop = stop_line(&story.prompt("do it").await);
    assert_eq!(stop, "decided other: answered", "{}", story.tree());
    assert_eq!(story.session.tree().covering().len(), 1, "{}", story.tree());
    assert!(story.tree().contains("the context window was full"), "{}", story.tree());
}

#[tokio::test]
async fn a_request_that_was_too_long_is_made_again_after_one_compaction() {
    for always in [false, true] {
        let world = world();
        let read = reads(6);
        let agent = world.agent(move |request| {
            let results = request.messages.iter().flat_map(|one| one.results()).count();
            match results >= 4 && !is_summary(request)
                || always
                    && results > 0
                    && results < 3
                    && request.messages.iter().any(|one| one.text().contains("[compaction]"))
            {
                true => Turn::new().fail(ProviderError::api(400, ErrorKind::ContextTooLong, "too long")),
                false => read(request),
            }
        });
        let wide = CompactPolicy::new(1_000_000).keep(25, 1);
        let mut story = Story::begin(world, agent.with_compaction(Compaction::new(wide))).await;
        let stop = stop_line(&story.prompt("do it").await);
        let expected = if always { "error: the model could not be asked" } else { "decided other: answered" };
        assert_eq!(stop, expected, "{}", story.tree());
        assert_eq!(story.session.tree().covering().len(), 1);
    }
}

#[tokio::test]
async fn a_person_compacts_when_they_want() {
    let world = world();
    let agent = world.agent(reads(3)).with_compaction(Compaction::new(CompactPolicy::new(1_000_000)));
    let mut story = Story::begin(world, agent).await;
    let cancel = story.cancel.clone();
    let refused = story.session.compact(&cancel).await.unwrap_err().to_string();
    assert!(refused.starts_with("there is nothing to compact"), "{refused}");
    story.prompt("do it").await.unwrap();
    assert_eq!(story.session.tree().covering(), []);
    let planned = story.session.compaction_plan().unwrap();
    let done = story.session.compact(&cancel).await.unwrap();
    assert_eq!(done.plan, planned);
    assert_eq!(covers(&story), [(2, 5)]);
    let node = story.session.tree().node(done.node).unwrap().message().clone();
    assert!(node.usage.is_some() && node.author == Author::Harness);
    let plain = world_without_compaction().await;
    assert!(plain.contains("does not compact"), "{plain}");
}

async fn world_without_compaction() -> String {
    let world = world();
    let agent = world.agent(reads(3));
    let mut story = Story::begin(world, agent).await;
    story.session.compact(&Cancel::new()).await.unwrap_err().to_string()
}

#[tokio::test]
async fn p39_p40_pruned_results_leave_the_request_and_the_break_is_recorded_before_it_is_sent() {
    let world = world();
    let mut render = RenderPolicy::default();
    render.prune = Some(PrunePolicy::new(2, 4, 200));
    let agent = world.agent(reads(12)).with_reverts(Reverts::default().render(render));
    let (mut story, told) = events(agent, world).await;
    story.prompt("do it").await.unwrap();
    expect![[r#"
        [
            "broken at 3 by Pruning",
            "broken at 11 by Pruning",
        ]
    "#]]
    .assert_debug_eq(&told.lock().unwrap());
    let request = story.world.last_request();
    assert_eq!(
        request.matches("[pruned] 1520 bytes that read returned are left out here").count(),
        8,
        "{request}"
    );
    let calls = story.session.tree().trunk().messages().flat_map(Message::calls).count();
    let requests = story.world.requests.lock().unwrap();
    let last = requests.last().unwrap();
    assert_eq!(last.messages.iter().flat_map(|one| one.results()).count(), calls);
}

#[tokio::test]
async fn breaks_are_told_with_their_cause_and_stand_in_the_log() {
    let back = |id: &str, step: &str| {
        Turn::new().call(
            id,
            "revert_to_state",
            &json!({ "category": "failure", "step": step, "summary": "no" }),
        )
    };
    let read = |id: &str| Turn::new().call(id, "read", &json!({ "path": "a" }));
    let world = world();
    let mut render = RenderPolicy::default();
    (render.lesson_window_turns, render.lesson_window_count) = (1, 0);
    let turns =
        vec![read("c1"), read("c2"), back("c3", "n3"), read("c4"), read("c5"), read("c6"), Turn::say("done")];
    let agent = world.agent(replies(turns)).with_reverts(Reverts::default().render(render));
    let (mut story, told) = events(agent, world).await;
    story.prompt("do it").await.unwrap();
    expect![[r#"
        [
            "broken at 4 by HeadMove",
            "broken at 4 by Decay",
        ]
    "#]]
    .assert_debug_eq(&told.lock().unwrap());
    let view = View::of(&story.store().load(&story.id()).await.unwrap()).unwrap();
    let causes: Vec<BreakCause> = view.going_back().breaks.iter().map(|lost| lost.cause).collect();
    assert_eq!(causes, [BreakCause::HeadMove, BreakCause::Decay]);
}

#[tokio::test]
async fn a_cache_minding_agent_minds_it_after_a_restart_too() {
    let back = |id: &str, step: &str| {
        Turn::new().call(
            id,
            "revert_to_state",
            &json!({ "category": "failure", "step": step, "summary": "no" }),
        )
    };
    let read = |id: &str| Turn::new().call(id, "read", &json!({ "path": "a" }));
    let world = world();
    let mut render = RenderPolicy::default();
    (render.lesson_window_turns, render.lesson_window_count) = (0, 0);
    render.decay = Decay::CacheMinding;
    let turns = vec![
        read("c1"),
        read("c2"),
        back("c3", "n3"),
        read("c4"),
        Turn::say("done"),
        read("c5"),
        Turn::say("well"),
    ];
    let agent = world.agent(replies(turns)).with_reverts(Reverts::default().render(render));
    let (mut story, told) = events(agent, world).await;
    story.prompt("do it").await.unwrap();
    let mut story = story.restart().await;
    story.prompt("and now?").await.unwrap();
    assert!(story.world.last_request().contains("[revert-lesson] no"));
    let told = told.lock().unwrap();
    assert!(told.iter().any(|line| line == "delayed 1"), "{told:?}");
    assert_eq!(told.iter().filter(|line| line.starts_with("broken")).count(), 1, "{told:?}");
}

#[tokio::test]
async fn an_agent_without_reverts_records_no_breaks() {
    let world = world();
    let agent = world.agent(reads(8)).with_compaction(Compaction::new(policy()));
    let mut story = Story::begin(world, agent).await;
    story.prompt("do it").await.unwrap();
    let view = View::of(&story.store().load(&story.id()).await.unwrap()).unwrap();
    assert_eq!(view.going_back().breaks, []);
}

#[tokio::test]
async fn what_is_rendered_after_compactions_and_reverts_is_legal_on_every_wire() {
    let world = world();
    let mut render = RenderPolicy::default();
    render.prune = Some(PrunePolicy::new(2, 2, 200));
    let agent = world
        .agent(reads(20))
        .with_reverts(Reverts::default().render(render))
        .with_compaction(Compaction::new(policy()));
    let mut story = Story::begin(world, agent).await;
    story.prompt("do it").await.unwrap();
    let (end, nodes) = (story.session.tree().head(), story.session.tree().len() as u32);
    for node in 1..nodes {
        let _ = story.session.revert(NodeId::new(node), Some("look elsewhere")).await;
        let rendered = story.session.rendered();
        for name in WireRules::NAMES {
            let rules = WireRules::named(name).unwrap();
            let facts = RequestFacts::default();
            let sent = sanitize(rendered.clone(), &rules, &facts);
            assert_eq!(violations(&sent.messages, &rules, &facts), [], "{name} after n{node}");
            // No call had lost its result, and no result its call.
            let lost = |repair: &RepairKind| {
                matches!(repair, RepairKind::Answered { .. } | RepairKind::Quoted { .. })
            };
            assert!(!sent.repairs.iter().any(|repair| lost(&repair.kind)), "{name} after n{node}");
        }
        while story.session.tree().head() != end {
            story.session.undo().await.unwrap();
        }
    }
}
