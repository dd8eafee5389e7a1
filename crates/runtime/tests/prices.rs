//! What a revert costs, and whether the provider's cache did what was expected.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use expect_test::expect;
use serde_json::json;
use trunkline_runtime::message_tree::{Origin, Usage};
use trunkline_runtime::providers::{self, Provider, ProviderError, Reply, Request, Scripted, Turn};
use trunkline_runtime::revert::{CacheGrain, Rates, Record};
use trunkline_runtime::session_store::SessionStore;
use trunkline_runtime::{Event, Reverts, View};

use crate::story::{Story, World, replies};

/// A provider that reports these reads from its cache, one a request.
struct Caching {
    inner: Scripted,
    // The next one last.
    reads: Arc<Mutex<Vec<u64>>>,
}

struct CachingReply {
    inner: Box<dyn Reply>,
    read: u64,
    /// The same whatever tools and instructions weigh.
    input_tokens: u64,
}

#[async_trait]
impl Provider for Caching {
    fn origin(&self) -> &Origin {
        self.inner.origin()
    }

    fn wire(&self) -> &str {
        self.inner.wire()
    }

    async fn send(&self, request: Request) -> Result<Box<dyn Reply>, ProviderError> {
        let read = self.reads.lock().unwrap().pop().unwrap_or_default();
        let input_tokens = 1_000 + 500 * request.messages.len() as u64;
        Ok(Box::new(CachingReply { inner: self.inner.send(request).await?, read, input_tokens }))
    }
}

#[async_trait]
impl Reply for CachingReply {
    async fn next(&mut self) -> Result<Option<providers::Event>, ProviderError> {
        let event = self.inner.next().await?;
        Ok(event.map(|event| match event {
            providers::Event::Usage(usage) => {
                let Self { read: cache_read_tokens, input_tokens, .. } = *self;
                providers::Event::Usage(Usage { input_tokens, cache_read_tokens, ..usage })
            }
            event => event,
        }))
    }
}

fn rates() -> Rates {
    Rates::new(100, 1_250, 0, CacheGrain::RequestEnds, "made up for tests")
}

fn turns() -> Vec<Turn> {
    let read = |id: &str| Turn::new().call(id, "read", &json!({ "path": "a" }));
    let arguments = json!({ "category": "failure", "step": "n3", "summary": "no" });
    vec![
        read("c1"),
        read("c2"),
        Turn::new().call("c3", "revert_to_state", &arguments),
        Turn::say("b then"),
        Turn::say("more"),
    ]
}

/// Plays with these reads; returns the story and the misses that observers were told of.
async fn story(reverts: Reverts, reads: &[u64]) -> (Story, Arc<Mutex<Vec<String>>>) {
    story_of(turns(), reverts, reads).await
}

async fn story_of(turns: Vec<Turn>, reverts: Reverts, reads: &[u64]) -> (Story, Arc<Mutex<Vec<String>>>) {
    let world = World::default();
    world.files.lock().unwrap().insert("a".to_owned(), "x".repeat(4_000));
    let reads = Arc::new(Mutex::new(reads.iter().rev().copied().collect()));
    let told = Arc::new(Mutex::new(Vec::new()));
    let observed = Arc::clone(&told);
    let agent = world
        .agent_behind(replies(turns), |inner| Box::new(Caching { inner, reads }))
        .with_reverts(reverts)
        .on_event(move |event| {
            if let Event::CacheMissed { head_move, miss } = event {
                observed.lock().unwrap().push(format!("{head_move} {miss}"));
            }
        });
    (Story::begin(world, agent).await, told)
}

async fn records(story: &Story) -> Vec<Record> {
    View::of(&story.store.load(&story.id()).await.unwrap()).unwrap().reverts().to_vec()
}

async fn misses(story: &Story) -> Vec<String> {
    let log = story.store.load(&story.id()).await.unwrap();
    let notes = log.records.iter().filter_map(|(_, record)| match record {
        trunkline_runtime::session_store::Record::Note(note) if note.kind == "cache_miss" => {
            Some(note.body.clone())
        }
        _ => None,
    });
    notes.collect()
}

fn result_line(story: &Story) -> String {
    let tree = story.tree();
    tree.lines().find(|line| line.contains("revert applied")).unwrap().to_owned()
}

#[tokio::test]
async fn the_record_of_a_revert_has_a_price_and_the_result_only_where_rates_are_known() {
    let (mut plain, _) = story(Reverts::default(), &[]).await;
    plain.prompt("do it").await.unwrap();
    expect![[r#"n7 result c3: revert applied (failure): the conversation goes on from n3; what came after it was left, and a note (lesson) stands there"#]].assert_eq(&result_line(&plain));
    expect!["~1,047 prompt tokens leave, 3,000 stay (none of them cached), ~3,029 are read anew; pays from the first turn"].assert_eq(&records(&plain).await[0].price.as_ref().unwrap().text());

    let (mut rated, _) = story(Reverts::default().rates(rates()), &[0, 1_000, 2_000]).await;
    rated.prompt("do it").await.unwrap();
    expect!["n7 result c3: revert applied (failure): the conversation goes on from n3; what came after it was left, and a note (lesson) stands there; ~1,016 prompt tokens leave, 3,000 stay (3,000 of them cached), ~29 are read anew; pays from the first turn"].assert_eq(&result_line(&rated));
    // What leaves with the results of the turn is in the record only.
    expect!["~1,074 prompt tokens leave, 3,000 stay (3,000 of them cached), ~29 are read anew; pays from the first turn"].assert_eq(&records(&rated).await[0].price.as_ref().unwrap().text());
}

#[tokio::test]
async fn a_price_stands_in_the_result_of_the_revert_and_in_no_other() {
    let arguments = json!({ "category": "failure", "step": "n3", "summary": "no" });
    let mut turns = turns();
    turns[2] = Turn::new()
        .call("c3", "list_revert_targets", &json!({}))
        .call("c4", "revert_to_state", &arguments)
        .call("c5", "revert_to_state", &arguments);
    let (mut story, _) = story_of(turns, Reverts::default().rates(rates()), &[0, 1_000, 2_000]).await;
    story.prompt("do it").await.unwrap();
    let tree = story.tree();
    let priced: Vec<&str> = tree.lines().filter(|line| line.contains("prompt tokens leave")).collect();
    assert_eq!(priced.len(), 1, "{tree}");
    assert!(priced[0].starts_with("n8 result c4: revert applied"), "{tree}");
}

#[tokio::test]
async fn a_miss_is_recorded_and_told_once_for_the_first_request_after_the_revert() {
    let (mut story, told) = story(Reverts::default().rates(rates()), &[0, 1_000, 2_000, 3, 0]).await;
    story.prompt("do it").await.unwrap();
    story.prompt("and now?").await.unwrap();
    expect![[r#"{"move":0,"node":"n8","expected":3000,"read":3,"lost":2997}"#]]
        .assert_eq(&misses(&story).await.join("\n"));
    expect!["m0 cache miss: 3,000 prompt tokens expected from the cache, 3 read, 2,997 lost"]
        .assert_eq(&told.lock().unwrap().join("\n"));
}

#[tokio::test]
async fn a_cache_that_held_is_no_news() {
    let (mut story, told) = story(Reverts::default().rates(rates()), &[0, 1_000, 2_000, 1_000_000]).await;
    story.prompt("do it").await.unwrap();
    assert!(told.lock().unwrap().is_empty());
    assert!(misses(&story).await.is_empty());
}

#[tokio::test]
async fn without_rates_nothing_is_expected_of_a_cache() {
    let (mut story, told) = story(Reverts::default(), &[0, 1_000, 2_000, 0]).await;
    story.prompt("do it").await.unwrap();
    assert!(told.lock().unwrap().is_empty());
}

#[tokio::test]
async fn what_is_expected_survives_a_restart_and_is_given_up_when_the_head_moves_again() {
    for moves in [false, true] {
        let (mut story, told) =
            story(Reverts::default().rates(rates()), &[0, 1_000, 2_000, 1_000_000, 3]).await;
        story.prompt("do it").await.unwrap();
        // The reply to the revert is on the trunk: a person goes back to before it.
        let to = trunkline_runtime::message_tree::NodeId::new(3);
        story.session.revert(to, Some("again")).await.unwrap();
        let mut story = story.restart().await;
        if moves {
            story.session.undo().await.unwrap();
        }
        story.prompt("go on").await.unwrap();
        assert_eq!(told.lock().unwrap().len(), usize::from(!moves), "moves: {moves}");
    }
}
