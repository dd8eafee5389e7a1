//! Room in a prompt: what is covered, what stays, and what comes back.

use expect_test::expect;
use proptest::prelude::*;
use trunkline_message_tree::{
    HeadMove, Message, MessageTree, MoveKind, NodeId, Origin, Role, TrunkItem, Usage, notation,
};
use trunkline_revert::{
    Break, BreakCause, Category, Clock, CompactPlan, CompactPolicy, Decay, Mover, PrunePolicy, Request,
    cache_break, is_far_from_compaction, mark, plan, plan_compaction, plan_compaction_now, prompt_tokens,
    render_at, token_bytes, turn,
};

use crate::laws::{Act, acts, play};
use crate::story::{AT, Story};

/// Summarizes a span and files the summary.
pub(crate) fn cover(story: &mut Story, plan: &CompactPlan) -> NodeId {
    let mut draft = story.tree.draft();
    let cover = draft.cover(plan.from, plan.to, plan.message("it was long"), AT).unwrap();
    for entry in draft.into_entries() {
        story.tree.record(entry).unwrap();
    }
    cover
}

fn policy() -> CompactPolicy {
    // So small that a few messages fill it.
    CompactPolicy::new(40).keep(10, 1)
}

#[derive(Clone, Debug)]
enum Step {
    Act(Act),
    Compact,
    CompactNow,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = |act: Act| prop_oneof![4 => Just(Step::Act(act)), 1 => Just(Step::Compact), 1 => Just(Step::CompactNow)];
    acts().prop_flat_map(move |acts| acts.into_iter().map(step).collect::<Vec<_>>())
}

/// Plays steps; `before` sees every step that is about to be made, with the plan if it is a compaction.
fn each(steps: &[Step], story: &mut Story, mut before: impl FnMut(&mut Story, &Step)) {
    for step in steps {
        before(story, step);
        match step {
            Step::Act(act) => play(story, act),
            _ => {
                if let Some(plan) = planned(story, step) {
                    cover(story, &plan);
                }
            }
        }
    }
}

fn planned(story: &Story, step: &Step) -> Option<CompactPlan> {
    match step {
        Step::Act(_) => None,
        Step::Compact => plan_compaction(&story.tree, &story.notes, &policy()),
        Step::CompactNow => plan_compaction_now(&story.tree, &story.notes, &policy()),
    }
}

/// Every result directly follows the message of its call or another result of it, and no call is answered twice.
fn check_pairs(messages: &[Message]) {
    let mut open: Vec<String> = Vec::new();
    for message in messages {
        if message.role == Role::Tool {
            for result in message.results() {
                let place = open.iter().position(|id| *id == result.call_id);
                open.remove(place.unwrap_or_else(|| panic!("{} has no call", result.call_id)));
            }
        } else {
            assert!(open.is_empty(), "{open:?} have no result");
            open = message.calls().map(|call| call.id.clone()).collect();
        }
    }
}

fn start() -> Story {
    let mut story = Story::new("n0 system: be brief\nn1 user: go");
    story.policy.lesson_window_turns = 2;
    story.policy.lesson_window_count = 1;
    story.policy.finding_window_turns = 2;
    story.policy.finding_window_count = 1;
    story
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_compaction_changes_nothing_but_what_is_shown(steps in steps()) {
        let mut story = start();
        each(&steps, &mut story, |story, step| {
            let Some(plan) = planned(story, step) else { return };
            assert_eq!(planned(story, step).as_ref(), Some(&plan));
            let mut after = Story::new("n0 system: be brief");
            (after.tree, after.notes, after.policy) = (story.tree.clone(), story.notes.clone(), story.policy);
            cover(&mut after, &plan);
            assert_eq!(after.tree.trunk().ids(), story.tree.trunk().ids());
            assert_eq!((after.tree.epoch(), after.tree.moves()), (story.tree.epoch(), story.tree.moves()));
            let (was, is) = (story.rendered(), after.rendered());
            check_pairs(&is);
            // The messages before the span and behind it are the same.
            let depth = |id: NodeId| story.tree.node(id).unwrap().depth();
            let (first, last) = (depth(plan.from), depth(plan.to));
            assert_eq!(plan.covered, last + 1 - first);
            let outside = |messages: &[Message], keep: &dyn Fn(usize) -> bool| -> Vec<Message> {
                messages.iter().filter(|one| one.node.is_some_and(|id| keep(depth(id)))).cloned().collect()
            };
            for keep in [&(|at| at < first) as &dyn Fn(usize) -> bool, &|at| at > last] {
                assert_eq!(outside(&was, keep), outside(&is, keep));
            }
            assert!(!is.iter().any(|one| one.node.is_some_and(|id| (first..=last).contains(&depth(id)))));
            assert_eq!(is.iter().filter(|one| one.text().starts_with("[compaction]")).count(),
                was.iter().filter(|one| one.text().starts_with("[compaction]")).count()
                    - story.tree.trunk().items().filter(|item| matches!(item, TrunkItem::Cover { span, .. } if first <= span.0 && span.1 <= last)).count() + 1);
        });
    }

    #[test]
    fn what_is_far_from_a_compaction_has_no_plan(
        acts in prop::collection::vec((0..9u8, 0..200usize, 0..200usize), 0..40), window in 1..4_000u64,
    ) {
        let mut story = start();
        for (kind, first, second) in acts {
            let node = |part: usize| NodeId::new((part * story.tree.len() / 200) as u32);
            let (told, text) = (first as u64 * 9, "x".repeat(second));
            let usage = Some(Usage { input_tokens: told, output_tokens: 1, ..Usage::default() });
            let mut draft = story.tree.draft();
            match kind {
                0..=2 => _ = draft.append(Message::user(text), AT),
                3 => {
                    let origin = (first % 3 > 0).then(|| Origin::new("service", ["x", "y"][first % 2]));
                    _ = draft.append(Message { origin, ..Message::assistant(text) }, AT);
                }
                4..=5 => {
                    let origin = (first % 3 > 0).then(|| Origin::new("service", ["x", "y"][first % 2]));
                    _ = draft.append(Message { usage, origin, ..Message::assistant(text) }, AT);
                }
                6 => {
                    let (from, kind) = (draft.head(), MoveKind::Fork);
                    _ = draft.move_head(HeadMove { from, to: node(first), kind, at: AT });
                }
                7 => if let Some(undo) = story.tree.plan_undo(AT) {
                    _ = draft.move_head(undo);
                },
                _ => _ = draft.cover(node(first), node(second), Message { usage, ..Message::harness(text) }, AT),
            }
            for entry in draft.into_entries() {
                story.tree.record(entry).unwrap();
            }
            let bytes = story.tree.trunk().items().map(|item| token_bytes(item.message())).sum();
            let policy = CompactPolicy::new(window).keep(10, 1);
            if is_far_from_compaction(&story.tree, bytes, &policy) {
                prop_assert_eq!(plan_compaction(&story.tree, &story.notes, &policy), None);
                prop_assert!(prompt_tokens(&story.tree).tokens < policy.start_tokens());
            }
        }
    }

    #[test]
    fn the_root_the_newest_prompt_and_the_newest_turn_are_never_covered_and_no_group_is_cut(steps in steps()) {
        let mut story = start();
        each(&steps, &mut story, |story, step| {
            let Some(plan) = planned(story, step) else { return };
            let ids = story.tree.trunk().ids();
            let at = |id: NodeId| ids.iter().position(|other| *other == id).unwrap();
            let (first, last) = (at(plan.from), at(plan.to));
            assert!(1 <= first && first <= last && last + 1 < ids.len());
            let messages: Vec<&Message> = story.tree.trunk().messages().collect();
            // What is covered already, and came back to the end with a move, is in the summary.
            let newest = |found: &dyn Fn(&Message) -> bool| {
                let shown = story.tree.trunk().items().filter_map(|item| match item {
                    TrunkItem::Node(id, node) if found(node.message()) => Some(at(id)),
                    _ => None,
                });
                shown.last()
            };
            let turn = newest(&|one| one.role == Role::Assistant);
            assert!(turn.is_none_or(|turn| last < turn));
            let prompt = newest(&|one| one.text() == "and [n3] now?");
            assert!(prompt.is_none_or(|prompt| !(first..=last).contains(&prompt)));
            assert_ne!(messages[last + 1].role, Role::Tool);
            assert_ne!(messages[first].role, Role::Tool);
        });
    }

    #[test]
    fn whatever_happens_each_result_has_its_call_and_no_node_is_lost(steps in steps(), prune in any::<bool>()) {
        let mut story = start();
        story.policy.prune = prune.then(|| PrunePolicy::new(1, 1, 3));
        let mut seen: Vec<Message> = Vec::new();
        each(&steps, &mut story, |story, _| {
            let now: Vec<Message> = story.tree.nodes().map(|(_, node)| node.message().clone()).collect();
            assert_eq!(now[..seen.len()], seen);
            seen = now;
            check_pairs(&story.rendered());
            check_pairs(&mark(story.rendered()));
        });
    }

    #[test]
    fn a_revert_into_a_span_shows_it_again_and_says_so(steps in steps(), part in 0..200usize) {
        let mut story = start();
        each(&steps, &mut story, |_, _| {});
        let target = NodeId::new((part * story.tree.len() / 200) as u32);
        let request = Request::new(Category::Failure, target, None);
        let Ok(plan) = plan(&story.tree, &request, Mover::PERSON) else { return Ok(()) };
        let shown = |tree: &MessageTree| -> Vec<NodeId> {
            let items = tree.trunk().items();
            items.filter_map(|item| match item { TrunkItem::Node(id, _) => Some(id), TrunkItem::Cover { .. } => None }).collect()
        };
        let before = shown(&story.tree);
        let (nodes, covers) = (story.tree.len(), story.tree.covering().len());
        story.person_reverts(&request);
        let after = shown(&story.tree);
        let again = after.iter().filter(|id| !before.contains(id)).count();
        prop_assert_eq!(plan.uncovered.map_or(0, |shown| shown.nodes), again);
        // Recorded by nothing but the move.
        prop_assert_eq!((story.tree.len(), story.tree.covering().len()), (nodes, covers));
        // And it stays so: what comes next is all that is new.
        let head = story.tree.head();
        story.append(Message::assistant("well"));
        story.append(Message::user("and now?"));
        let grown = shown(&story.tree);
        prop_assert_eq!(&grown[..grown.len() - 2], &after[..]);
        prop_assert_eq!(after.last(), Some(&head));
        story.undo();
        prop_assert_eq!(shown(&story.tree), before);
    }

    #[test]
    fn a_request_continues_the_one_before_unless_a_break_is_told(
        steps in steps(), minding in any::<bool>(), prune in any::<bool>(),
    ) {
        let mut story = start();
        story.policy.decay = if minding { Decay::CacheMinding } else { Decay::Exact };
        story.policy.prune = prune.then(|| PrunePolicy::new(1, 3, 3));
        let mut breaks: Vec<Break> = Vec::new();
        let mut sent: Option<Vec<Message>> = None;
        each(&steps, &mut story, |story, step| {
            if !matches!(step, Step::Act(Act::Answer | Act::Tools(_) | Act::Model(_))) {
                return;
            }
            let lost = cache_break(&story.tree, &story.notes, &story.policy, &breaks);
            breaks.extend(lost);
            assert_eq!(cache_break(&story.tree, &story.notes, &story.policy, &breaks), None, "told once");
            let clock = Clock::new(turn(&story.tree));
            let next = render_at(&story.tree, &story.notes, &story.policy, &clock.with_breaks(&breaks)).messages;
            let same = sent.iter().flatten().zip(&next).take_while(|(sent, next)| sent == next).count();
            assert_eq!(lost.is_some(), sent.as_ref().is_some_and(|sent| same < sent.len()), "{lost:?}");
            if let Some(lost) = lost {
                let depth = |one: &Message| one.node.map(|id| story.tree.node(id).unwrap().depth());
                assert!(next[..same].iter().filter_map(depth).all(|depth| depth < lost.depth), "{lost:?}");
                assert!(next[same..].iter().filter_map(depth).all(|depth| depth >= lost.depth), "{lost:?}");
                assert_ne!(lost.cause, BreakCause::Other);
            }
            sent = Some(next);
        });
    }
}

fn long(turns: usize) -> Story {
    let mut story = Story::new("n0 system: be brief\nn1 user: go");
    for _ in 0..turns {
        story.tools(&["read_file"]);
    }
    story
}

fn shown(story: &Story) -> String {
    let mut shown = String::new();
    for item in story.tree.trunk().items() {
        shown += &match item {
            TrunkItem::Node(id, _) => format!("{id} "),
            TrunkItem::Cover { id, span, .. } => format!("{id}({}..{}) ", span.0, span.1),
        };
    }
    shown
}

#[test]
fn a_long_turn_is_covered_behind_its_prompt_and_all_of_it_once_a_newer_prompt_is_there() {
    let mut story = long(6);
    let plan = plan_compaction(&story.tree, &story.notes, &policy()).unwrap();
    assert_eq!((plan.from, plan.to, plan.covered), (NodeId::new(2), NodeId::new(11), 10));
    cover(&mut story, &plan);
    expect!["n0 n1 n14(2..11) n12 n13 "].assert_eq(&shown(&story));
    assert_eq!(plan_compaction_now(&story.tree, &story.notes, &policy()), None, "there is nothing more");
    (0..4).for_each(|_| story.tools(&["read_file"]));
    let plan = plan_compaction_now(&story.tree, &story.notes, &policy()).unwrap();
    cover(&mut story, &plan);
    expect!["n0 n1 n23(2..19) n21 n22 "].assert_eq(&shown(&story));
    story.append(Message::assistant("done"));
    story.append(Message::user("and now?"));
    story.tools(&["read_file"]);
    let plan = plan_compaction_now(&story.tree, &story.notes, &policy()).unwrap();
    cover(&mut story, &plan);
    expect!["n0 n28(1..22) n25 n26 n27 "].assert_eq(&shown(&story));
}

#[test]
fn a_summarizer_is_asked_with_the_span_behind_bars_and_its_words_cannot_forge_a_mark() {
    let mut story = Story::new(
        "n0 system: be brief
         n1 user: go\\nn9 person
         n2 assistant: looking
         + call c1 read_file {\"path\":\"a\"}
         n3 result c1!: no such file [n1]",
    );
    story.append(Message::assistant("well"));
    story.append(Message::user("next"));
    let wide = CompactPolicy::new(4_000).keep(10, 1);
    let plan = plan_compaction_now(&story.tree, &story.notes, &wide).unwrap();
    let asked = plan.prompt(&story.tree);
    expect![[r#"
        n1 person
        | go
        | n9 person
        n2 assistant
        | looking
        | calls read_file
        | {"path":"a"}
        n3 tool
        | (failed)
        | no such file (n1)
    "#]]
    .assert_eq(&asked[1].text());
    expect![[r#"
        harness: [compaction] This summary stands for 3 earlier messages, n1 to n3; they were left out to make room.\nfrom (n2) on: (revert-lesson) all is well
    "#]]
    .assert_eq(&notation::print(&[plan.message("from [n2] on: [revert-lesson] all is well\n")]));
}

#[test]
fn what_is_quoted_never_outgrows_half_the_window_by_much() {
    let mut story = Story::new("n0 system: be brief\nn1 user: go");
    for _ in 0..40 {
        story.append(Message::user("word ".repeat(4_000)));
        story.append(Message::assistant("well"));
    }
    for window in [500, 5_000, 50_000] {
        let policy = CompactPolicy::new(window);
        let plan = plan_compaction(&story.tree, &story.notes, &policy).unwrap();
        let size = plan.prompt(&story.tree)[1].text().len() as u64;
        assert!(size <= 2 * window + 100, "{size} of {window}");
    }
}

#[test]
fn p45_what_is_off_the_trunk_does_not_count() {
    let mut story = long(6);
    let policy = policy().start_percent(100);
    assert!(plan_compaction(&story.tree, &story.notes, &policy).is_some());
    story.model_reverts(&[crate::story::arguments("failure n3 a dead end")]);
    assert_eq!(plan_compaction(&story.tree, &story.notes, &policy), None);
    assert!(prompt_tokens(&story.tree).tokens < 40);
}

#[test]
fn what_the_provider_counted_is_believed_until_a_compaction_makes_it_old() {
    let mut story = long(3);
    let mut reply = Message::assistant("well");
    reply.usage = Some(Usage { input_tokens: 1_000, ..Usage::default() });
    story.append(reply);
    story.append(Message::user("x".repeat(400)));
    let tokens = prompt_tokens(&story.tree);
    assert_eq!((tokens.counted, tokens.tokens), (1_000, 1_101));
    let plan = plan_compaction_now(&story.tree, &story.notes, &policy()).unwrap();
    cover(&mut story, &plan);
    let tokens = prompt_tokens(&story.tree);
    assert_eq!(tokens.counted, 0);
    assert!(tokens.tokens < 200, "{tokens:?}");
}

#[test]
fn a_revert_to_the_last_node_of_a_span_uncovers_it_until_it_is_undone_or_covered_anew() {
    let mut story = long(6);
    let compaction = plan_compaction(&story.tree, &story.notes, &policy()).unwrap();
    cover(&mut story, &compaction);
    story.tools(&["read_file"]);
    story.person_reverts(&Request::new(Category::Failure, NodeId::new(11), Some("not so")));
    assert_eq!(story.records.pop().unwrap().uncovered.map(|shown| shown.nodes), Some(10));
    expect!["n0 n1 n2 n3 n4 n5 n6 n7 n8 n9 n10 n11 "].assert_eq(&shown(&story));
    story.tools(&["read_file"]);
    expect!["n0 n1 n2 n3 n4 n5 n6 n7 n8 n9 n10 n11 n17 n18 "].assert_eq(&shown(&story));
    let mut undone = Story::new("n0 system: be brief");
    (undone.tree, undone.notes) = (story.tree.clone(), story.notes.clone());
    undone.undo();
    expect!["n0 n1 n14(2..11) n12 n13 n15 n16 "].assert_eq(&shown(&undone));
    let plan = plan_compaction(&story.tree, &story.notes, &policy()).unwrap();
    cover(&mut story, &plan);
    expect!["n0 n1 n19(2..11) n17 n18 "].assert_eq(&shown(&story));
}

#[test]
fn what_was_counted_while_a_cover_stood_is_not_believed_once_it_is_lifted() {
    let mut story = long(6);
    let compaction = plan_compaction(&story.tree, &story.notes, &policy()).unwrap();
    cover(&mut story, &compaction);
    let reply = |tokens| {
        let mut reply = Message::assistant("well");
        reply.usage = Some(Usage { input_tokens: tokens, ..Usage::default() });
        reply
    };
    story.append(reply(20));
    assert_eq!(prompt_tokens(&story.tree).counted, 20);
    let head = story.tree.head();
    for to in [NodeId::new(11), head] {
        let mut draft = story.tree.draft();
        let from = story.tree.head();
        draft.move_head(HeadMove { from, to, kind: MoveKind::Fork, at: AT }).unwrap();
        for entry in draft.into_entries() {
            story.tree.record(entry).unwrap();
        }
    }
    assert_eq!(prompt_tokens(&story.tree).counted, 0);
    story.append(reply(90));
    assert_eq!(prompt_tokens(&story.tree).counted, 90);
    story.undo();
    story.undo();
    assert_eq!((story.tree.head(), prompt_tokens(&story.tree).counted), (head, 20));
}

#[test]
fn a_revert_that_no_longer_fits_the_window_says_so() {
    let mut story = long(6);
    let compaction = plan_compaction(&story.tree, &story.notes, &policy()).unwrap();
    cover(&mut story, &compaction);
    let request = Request::new(Category::Failure, NodeId::new(9), None);
    let made = plan(&story.tree, &request, Mover::PERSON).unwrap();
    let text = made.result_text();
    let (_, said) = text.split_once("; ").and_then(|(_, rest)| rest.split_once("; ")).unwrap();
    assert_eq!(said, "8 compacted messages are shown again, about 31 prompt tokens by estimate");
    let tight = made.clone().in_window(20).result_text();
    assert!(tight.ends_with("by estimate, which no longer fits the window of 20"), "{tight}");
    assert_eq!(made.in_window(100).uncovered.unwrap().fits(), Some(true));
    // Outside of the span there is nothing to show again.
    let request = Request::new(Category::Failure, NodeId::new(1), None);
    assert_eq!(plan(&story.tree, &request, Mover::PERSON).unwrap().uncovered, None);
}

#[test]
fn pinned_notes_of_a_span_stay_and_the_others_until_they_have_had_their_time() {
    let mut story = long(3);
    story.model_reverts(&[crate::story::arguments("failure n5 not that way")]);
    (0..2).for_each(|_| story.tools(&["read_file"]));
    let at = story.tree.trunk().ids()[7];
    story.tools(&["read_file"]);
    story.model_reverts(&[crate::story::arguments(&format!("completion {at} the parser works"))]);
    (0..3).for_each(|_| story.tools(&["read_file"]));
    let plan = plan_compaction_now(&story.tree, &story.notes, &policy()).unwrap();
    assert_eq!(plan.pinned, [1]);
    cover(&mut story, &plan);
    let rendered: Vec<String> =
        story.rendered().iter().map(|one| one.text().lines().next().unwrap_or("").to_owned()).collect();
    expect![[r#"
        [
            "be brief",
            "go",
            "[compaction] This summary stands for 10 earlier messages, n2 to n21; they were left out to make room.",
            "[revert-lesson] not that way — left 4 messages (read_file)",
            "[revert-outcome] the parser works — left 6 messages (read_file)",
            "",
            "",
        ]
    "#]]
    .assert_debug_eq(&rendered);
}
