//! Old results are left out of a prompt, and nothing else.

use expect_test::expect;
use trunkline_message_tree::{Content, Message, MessageTree, ToolCall, notation};
use trunkline_revert::{Clock, PrunePolicy, RenderPolicy, Rendered, mark, render_at, turn};

use crate::story::Story;

fn policy(prune: PrunePolicy) -> RenderPolicy {
    let mut policy = RenderPolicy::default();
    policy.prune = Some(prune);
    policy
}

fn at(tree: &MessageTree, prune: PrunePolicy) -> Rendered {
    render_at(tree, &[], &policy(prune), &Clock::new(turn(tree)))
}

fn call(story: &mut Story, id: &str, result: &str, failed: bool) {
    let mut message = Message::assistant("");
    let call = ToolCall {
        id: id.to_owned(),
        name: "read_file".to_owned(),
        arguments: "{}".to_owned(),
        signature: None,
    };
    message.content = vec![Content::ToolCall(call)];
    story.append(message);
    story.append(Message::tool_result(id, result, failed));
}

/// Five turns; the first result is long, the second long and failed, the third short.
fn story() -> Story {
    let mut story = Story::new("n0 system: be brief\nn1 user: go");
    call(&mut story, "c1", &"long ".repeat(20), false);
    call(&mut story, "c2", &"error-".repeat(20), true);
    call(&mut story, "c3", "short", false);
    call(&mut story, "c4", &"long ".repeat(20), false);
    call(&mut story, "c5", &"newest-".repeat(20), false);
    story
}

#[test]
fn p40_every_call_keeps_a_result_that_says_what_is_missing() {
    let story = story();
    let pruned = at(&story.tree, PrunePolicy::new(1, 1, 50));
    expect![[r#"
        system: be brief
        user: go
        assistant:
        + call c1 read_file {}
        result c1: [pruned] 100 bytes that read_file returned are left out here; the call itself was answered.
        assistant:
        + call c2 read_file {}
        result c2!: error-error-error-error-error-error-error-error-error-error-error-error-error-error-error-error-error-error-error-error-
        assistant:
        + call c3 read_file {}
        result c3: short
        assistant:
        + call c4 read_file {}
        result c4: [pruned] 100 bytes that read_file returned are left out here; the call itself was answered.
        assistant:
        + call c5 read_file {}
        result c5: newest-newest-newest-newest-newest-newest-newest-newest-newest-newest-newest-newest-newest-newest-newest-newest-newest-newest-newest-newest-
    "#]]
    .assert_eq(&notation::print(&pruned.messages));
}

#[test]
fn p39_what_is_reported_as_pruned_is_what_left_the_request() {
    let story = story();
    let (whole, pruned) =
        (at(&story.tree, PrunePolicy::new(9, 1, 50)), at(&story.tree, PrunePolicy::new(1, 1, 50)));
    assert!(whole.pruned.is_empty());
    let bytes = |rendered: &Rendered| -> usize {
        let results = rendered.messages.iter().flat_map(Message::results).map(|result| result.text());
        results.filter(|text| !text.starts_with("[pruned]")).map(|text| text.len()).sum()
    };
    let reported: usize = pruned.pruned.iter().map(|one| one.bytes).sum();
    assert_eq!(bytes(&whole) - bytes(&pruned), reported);
    let differ = whole.messages.iter().zip(&pruned.messages).filter(|(a, b)| a != b);
    let differ: Vec<_> = differ.map(|(whole, _)| whole.node).collect();
    assert_eq!(differ, pruned.pruned.iter().map(|one| one.node).collect::<Vec<_>>());
}

#[test]
fn nothing_is_edited_and_the_newest_turn_is_never_pruned() {
    let story = story();
    let before: Vec<_> = story.tree.entries().collect();
    let pruned = at(&story.tree, PrunePolicy::new(0, 0, 0));
    assert!(pruned.pruned.iter().all(|one| one.call_id != "c5"));
    assert_eq!(story.tree.entries().collect::<Vec<_>>(), before);
}

#[test]
fn the_age_is_looked_at_in_steps() {
    let mut story = Story::new("n0 system: be brief\nn1 user: go");
    let mut counts = Vec::new();
    for turn in 0..12 {
        call(&mut story, &format!("c{turn}"), &"long ".repeat(20), false);
        counts.push(at(&story.tree, PrunePolicy::new(2, 4, 50)).pruned.len());
    }
    assert_eq!(counts, [0, 0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8]);
}

#[test]
fn a_policy_from_an_older_log_prunes_nothing() {
    let policy: RenderPolicy = serde_json::from_str(r#"{"lesson_window_turns":7}"#).unwrap();
    assert_eq!((policy.prune, policy.lesson_window_turns), (None, 7));
    assert!(!serde_json::to_string(&RenderPolicy::default()).unwrap().contains("prune"));
}

#[test]
fn what_stands_in_place_of_a_result_keeps_its_label_and_asks_for_nothing() {
    let story = story();
    let marked = mark(at(&story.tree, PrunePolicy::new(1, 1, 50)).messages);
    let said: Vec<String> = marked.iter().flat_map(Message::results).map(|result| result.text()).collect();
    let own = "[pruned] 100 bytes that read_file returned are left out here; the call itself was answered.";
    assert_eq!(said.iter().filter(|text| text.ends_with(own)).count(), 2, "{said:?}");
    assert!(said.iter().all(|text| !text.contains("again")));
}
