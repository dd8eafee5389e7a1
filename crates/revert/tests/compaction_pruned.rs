//! How large a prompt is of which results are left out, and when it is compacted.

use proptest::prelude::*;
use trunkline_message_tree::{Content, HeadMove, Message, MoveKind, NodeId, ToolCall, Usage};
use trunkline_revert::{
    CallPlace, Clock, CompactPolicy, PrunePolicy, PruneRequest, Prunings, RenderPolicy, Sent,
    is_far_from_compaction, plan_compaction, plan_compaction_now, plan_pruning, prompt_tokens, render_at,
    turn,
};

use crate::story::{AT, Story};

/// Appends a call with what the provider counted for its request, and its result.
fn call(story: &mut Story, counted: u64, bytes: usize) -> NodeId {
    let id = format!("c{}", story.tree.len());
    let call =
        ToolCall { id: id.clone(), name: "read".to_owned(), arguments: "{}".to_owned(), signature: None };
    let usage = (counted > 0).then(|| Usage { input_tokens: counted, ..Usage::default() });
    story.append(Message { content: vec![Content::ToolCall(call)], usage, ..Message::assistant("") });
    story.append(Message::tool_result(id, "x".repeat(bytes), false));
    story.tree.head()
}

/// Leaves a result out from the head on.
fn prune(story: &Story, prunings: &mut Prunings, result: NodeId) {
    let place = CallPlace { node: story.tree.head(), index: 0, call_id: "p".to_owned() };
    let request =
        PruneRequest::parse(&serde_json::json!({ "results": [result.to_string()] }).to_string(), place);
    if let Ok(plan) = plan_pruning(&story.tree, prunings, &request.unwrap(), |_, _| None) {
        prunings.record(&plan.record(story.tree.head(), None));
    }
}

fn story() -> Story {
    Story::new("n0 system: be brief\nn1 user: go")
}

#[test]
fn what_was_left_out_since_the_last_report_is_no_reason_to_compact() {
    let policy = CompactPolicy::new(10_000).keep(10, 1);
    let mut story = story();
    let long = call(&mut story, 100, 36_000);
    call(&mut story, 9_110, 40);
    assert!(plan_compaction(&story.tree, &story.notes, &policy).is_some());

    let mut prunings = Prunings::default();
    prune(&story, &mut prunings, long);
    let sent = Sent::whole(&story.tree).without(&prunings);
    assert_eq!(sent.compaction(&story.notes, &policy), None);
    // 9,110 less 35,900 bytes at 4 bytes a token, and what came since.
    assert!((100..300).contains(&sent.tokens().tokens), "{:?}", sent.tokens());

    // What is counted from then on is without it, and is believed.
    call(&mut story, 150, 40);
    let sent = Sent::whole(&story.tree).without(&prunings);
    assert_eq!(sent.tokens().counted, 150);
    call(&mut story, 8_200, 40);
    let sent = Sent::whole(&story.tree).without(&prunings);
    assert!(sent.tokens().tokens >= 8_200, "{:?}", sent.tokens());
}

#[test]
fn bytes_that_are_left_out_make_no_tokens() {
    // The bytes of the result alone are sixteen times what a prompt may have.
    let policy = CompactPolicy::new(1_000).keep(10, 1);
    let mut story = story();
    let long = call(&mut story, 100, 16_000 * 20);
    let mut prunings = Prunings::default();
    prune(&story, &mut prunings, long);
    for counted in [150, 170, 190, 210] {
        call(&mut story, counted, 60);
        let sent = Sent::whole(&story.tree).without(&prunings);
        assert_eq!((sent.tokens().counted, sent.compaction(&story.notes, &policy)), (counted, None));
        let bytes = story.tree.trunk().items();
        let bytes = bytes.map(|item| prunings.token_bytes(item.id(), item.message())).sum();
        assert!(is_far_from_compaction(&story.tree, bytes, &policy));
    }
    assert!(plan_compaction(&story.tree, &story.notes, &policy).is_some());
}

#[test]
fn neither_do_those_that_a_rule_leaves_out() {
    let policy = CompactPolicy::new(1_000).keep(10, 1);
    let rule = Some(PrunePolicy::new(2, 1, 400));
    let mut story = story();
    call(&mut story, 100, 2_800);
    call(&mut story, 800, 40);
    let tokens = |story: &Story| Sent::whole(&story.tree).by_rule(rule).tokens();
    // It stays for two turns.
    assert!(tokens(&story).tokens >= 800);
    call(&mut story, 820, 40);
    // The next request is without it, and the one that was counted last was not.
    assert!((100..200).contains(&tokens(&story).tokens), "{:?}", tokens(&story));
    assert_eq!(Sent::whole(&story.tree).by_rule(rule).compaction(&story.notes, &policy), None);
    assert!(plan_compaction(&story.tree, &story.notes, &policy).is_some());
    call(&mut story, 160, 40);
    assert_eq!(tokens(&story).counted, 160);
}

proptest! {
    #[test]
    fn whatever_is_left_out_what_is_far_has_no_plan_and_without_any_of_it_all_is_as_before(
        steps in proptest::collection::vec((0..8_usize, any::<u32>(), 0..3_000_usize, 0..2_000_u64), 1..40),
        window in 1..4_000_u64,
        rule in proptest::option::of((1..6_u32, 1..4_u32, 0..1_000_usize)),
    ) {
        let mut story = story();
        let mut prunings = Prunings::default();
        let rule = rule.map(|(after, every, larger)| PrunePolicy::new(after, every, larger));
        let policy = CompactPolicy::new(window).keep(10, 1);
        for (kind, which, bytes, counted) in steps {
            let node = NodeId::new(which % story.tree.len() as u32);
            match kind {
                0..=3 => drop(call(&mut story, counted, bytes)),
                4 | 5 => prune(&story, &mut prunings, node),
                6 => {
                    let mut draft = story.tree.draft();
                    let from = draft.head();
                    _ = draft.move_head(HeadMove { from, to: node, kind: MoveKind::Fork, at: AT });
                    for entry in draft.into_entries() {
                        story.tree.record(entry).unwrap();
                    }
                }
                _ => {
                    if let Some(plan) = plan_compaction_now(&story.tree, &story.notes, &policy) {
                        crate::compaction::cover(&mut story, &plan);
                    }
                }
            }
            let sent = Sent::whole(&story.tree).without(&prunings).by_rule(rule);
            let bytes = story.tree.trunk().items();
            let bytes = bytes.map(|item| prunings.token_bytes(item.id(), item.message())).sum();
            if is_far_from_compaction(&story.tree, bytes, &policy) {
                prop_assert_eq!(sent.compaction(&story.notes, &policy), None);
            }
            _ = sent.compaction_now(&story.notes, &policy);
            if let Some(rule) = rule {
                let mut render = RenderPolicy::default();
                render.prune = Some(rule);
                let now = turn(&story.tree);
                let shown = render_at(&story.tree, &story.notes, &render, &Clock::new(now));
                let left_out: Vec<NodeId> = shown.pruned.iter().filter_map(|one| one.node).collect();
                prop_assert_eq!(rule.left_out_of(&story.tree, now), left_out);
            }
            let whole = Sent::whole(&story.tree);
            prop_assert_eq!(whole.tokens(), prompt_tokens(&story.tree));
            prop_assert_eq!(whole.compaction(&story.notes, &policy), plan_compaction(&story.tree, &story.notes, &policy));
        }
    }
}
