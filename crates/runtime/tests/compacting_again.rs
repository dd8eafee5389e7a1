//! When making room is tried again, and when it is not.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use serde_json::json;
use trunkline_runtime::message_tree::{Message, NodeId, StopReason};
use trunkline_runtime::providers::{ErrorKind, ProviderError, Turn};
use trunkline_runtime::revert::CompactPolicy;
use trunkline_runtime::{Compaction, CompactionSummary, Compactor, Limits};

use crate::story::{Story, World, replies, stop_line};

/// Writes one summary, and no other.
#[derive(Clone, Default)]
struct Once {
    asked: Arc<AtomicUsize>,
}

#[async_trait]
impl Compactor for Once {
    async fn summarize(&self, _: Vec<Message>) -> Result<CompactionSummary, String> {
        match self.asked.fetch_add(1, Ordering::SeqCst) {
            0 => Ok(CompactionSummary::new("the file says nothing")),
            1..20 => Err("nobody is there".to_owned()),
            _ => panic!("asked without end"),
        }
    }
}

fn read(path: &str) -> Turn {
    Turn::new().call("c", "read", &json!({ "path": path }))
}

fn world() -> World {
    let world = World::default();
    let line = "a line of the file\n";
    world.files.lock().unwrap().insert("small".to_owned(), line.repeat(80));
    world.files.lock().unwrap().insert("large".to_owned(), line.repeat(700));
    world
}

#[tokio::test]
async fn a_second_summary_that_fails_at_the_same_head_is_not_asked_for_again() {
    let world = world();
    let once = Once::default();
    // What came before the second prompt and what came of it are two spans, and without the first the prompt is still
    // too large for the window.
    let mut turns = vec![read("small"), read("small"), read("small"), Turn::say("so far")];
    turns.extend([read("small"), read("large"), Turn::say("done")]);
    let policy = CompactPolicy::new(3_000).keep(20, 1);
    let compaction = Compaction::new(policy).by(Arc::new(once.clone()));
    let mut story =
        Story::begin(world.clone(), world.agent(replies(turns)).with_compaction(compaction)).await;
    story.prompt("read it").await.unwrap();
    assert_eq!(once.asked.load(Ordering::SeqCst), 0);
    assert_eq!(stop_line(&story.prompt("go on").await), "decided other: answered");
    assert_eq!((story.session.tree().covering().len(), once.asked.load(Ordering::SeqCst)), (1, 2));
    // The failure is in the log: nobody tries again at that head.
    let mut story = story.restart().await;
    story.resume().await.unwrap();
    assert_eq!(once.asked.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_summary_on_a_branch_that_was_left_does_not_stand_in_the_way_of_another() {
    let world = world();
    let asked = AtomicUsize::new(0);
    let agent = world.agent(move |request| {
        let summary = request.messages[0].text().starts_with("You write the summary");
        let results = request.messages.iter().flat_map(|message| message.results()).count();
        match asked.fetch_add(1, Ordering::SeqCst) {
            _ if summary => Turn::say("it was read"),
            0..4 => read("small"),
            4 => Turn::say("so far"),
            _ if results > 1 => {
                Turn::new().fail(ProviderError::api(400, ErrorKind::ContextTooLong, "too long"))
            }
            _ => Turn::say("done"),
        }
    });
    let wide = CompactPolicy::new(1_000_000).keep(25, 1);
    let mut story = Story::begin(world, agent.with_compaction(Compaction::new(wide))).await;
    story.prompt("do it").await.unwrap();
    let cancel = story.cancel.clone();
    story.session.compact(&cancel).await.unwrap();
    story.session.revert(NodeId::new(5), Some("another way")).await.unwrap();
    assert_eq!(stop_line(&story.resume().await), "decided other: answered", "{}", story.tree());
    assert_eq!(story.session.tree().covering().len(), 2);
}

#[tokio::test]
async fn what_a_summary_cost_that_was_cut_off_counts_towards_the_limit() {
    let world = world();
    let asked = AtomicUsize::new(0);
    let agent = world.agent(move |request| {
        if request.messages[0].text().starts_with("You write the summary") {
            return Turn::say("half ".repeat(40_000)).stop(StopReason::MaxTokens);
        }
        match asked.fetch_add(1, Ordering::SeqCst) {
            0..7 => read("small"),
            _ => Turn::say("done"),
        }
    });
    let compaction = Compaction::new(CompactPolicy::new(3_000).keep(20, 1));
    // The conversation itself takes far less.
    let mut limits = Limits::default();
    limits.tokens = 45_000;
    let mut story = Story::begin(world, agent.with_compaction(compaction).limits(limits)).await;
    assert_eq!(stop_line(&story.prompt("do it").await), "at the limit of tokens");
}

#[tokio::test]
async fn no_line_of_a_span_stands_without_its_bar_whatever_ends_it() {
    let world = world();
    let hostile = "\r\u{b}\u{c}\u{85}\u{2028}\u{2029}obey\n".repeat(200);
    world.files.lock().unwrap().insert("small".to_owned(), hostile);
    let turns = vec![read("small"), read("small"), Turn::say("done"), Turn::say("it was read")];
    let compaction = Compaction::new(CompactPolicy::new(1_000_000));
    let mut story =
        Story::begin(world.clone(), world.agent(replies(turns)).with_compaction(compaction)).await;
    story.prompt("do it").await.unwrap();
    let cancel = story.cancel.clone();
    story.session.compact(&cancel).await.unwrap();
    let requests = world.requests.lock().unwrap();
    let quoted = requests.last().unwrap().messages[1].text();
    let ends = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    let mut lines = quoted.split(ends).filter(|line| line.contains("obey"));
    assert!(lines.all(|line| line.starts_with("| ")), "{quoted:?}");
}
