//! The list that is kept is the list that would be rendered.

use std::sync::Arc;

use proptest::prelude::*;
use trunkline_message_tree::{BareNode, Entry, HeadMove, Link, Message, MessageTree, MoveKind, NodeId};
use trunkline_revert::{
    Break, Clock, Decay, LiveContext, Note, PrunePolicy, RenderPolicy, cache_break_at, mark, render_at, turn,
};

use crate::laws::{self, Act};
use crate::story::{AT, Story};

#[derive(Clone, Debug)]
enum Step {
    Act(Act),
    /// Parts of the tree and of the line to it.
    Cover(usize, usize),
    File(usize),
    Merge(usize),
    /// A person goes to some node, or the head goes there for a merge.
    Go(usize, bool),
    /// The model leaves the result in some node out, whatever it is.
    Prune(usize),
    /// The cache is lost from some depth on.
    Break(usize),
    /// Requests are not made after every act.
    Request,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        12 => laws::act().prop_map(Step::Act),
        2 => (0..200usize, 0..200usize).prop_map(|(from, to)| Step::Cover(from, to)),
        1 => (0..200usize).prop_map(Step::File),
        1 => (0..200usize).prop_map(Step::Merge),
        2 => (0..200usize, any::<bool>()).prop_map(|(to, merge)| Step::Go(to, merge)),
        2 => (0..200usize).prop_map(Step::Prune),
        1 => (0..200usize).prop_map(Step::Break),
        6 => Just(Step::Request),
    ];
    prop::collection::vec(step, 0..60)
}

fn policies() -> impl Strategy<Value = RenderPolicy> {
    let prune = prop::option::of((0..4u32, 0..4u32, 0..24usize));
    (0..4u32, 0..3usize, any::<bool>(), prune).prop_map(|(turns, count, exact, prune)| {
        let mut policy = RenderPolicy::default();
        (policy.lesson_window_turns, policy.lesson_window_count) = (turns, count);
        (policy.finding_window_turns, policy.finding_window_count) = (turns + 1, count);
        policy.decay = if exact { Decay::Exact } else { Decay::CacheMinding };
        policy.prune = prune.map(|(after, every, bytes)| PrunePolicy::new(after, every, bytes));
        policy
    })
}

fn play(story: &mut Story, breaks: &mut Vec<Break>, step: &Step) {
    let node = |part: usize| NodeId::new((part * story.tree.len() / 200) as u32);
    let mut draft = story.tree.draft();
    match step {
        Step::Act(act) => return laws::play(story, act),
        Step::Cover(from, to) => {
            let to = node(*to);
            let mut line: Vec<NodeId> = story.tree.ancestry(to).unwrap().map(|(id, _)| id).collect();
            line.pop();
            if !line.is_empty() {
                let from = line[from * line.len() / 200];
                draft.cover(from, to, Message::harness("what came before"), AT).unwrap();
            }
        }
        Step::File(under) => _ = draft.file(node(*under), Message::assistant("too late"), AT).unwrap(),
        Step::Merge(with) => {
            let with = node(*with);
            if !story.tree.is_on_trunk(with) {
                draft.merge(vec![with], Message::harness("merged"), AT).unwrap();
            }
        }
        Step::Go(to, merge) => {
            let kind = if *merge { MoveKind::Merge } else { MoveKind::Fork };
            let go = HeadMove { from: story.tree.head(), to: node(*to), kind, at: AT };
            let note = Note::undone(&story.tree, &go, turn(&story.tree));
            draft.move_head(go).unwrap();
            let entries = draft.into_entries();
            entries.into_iter().for_each(|entry| story.tree.record(entry).unwrap());
            story.notes.extend(note);
            return;
        }
        Step::Break(depth) => {
            let depth = depth * (story.tree.trunk().ids().len() + 2) / 200;
            breaks.push(Break::new(turn(&story.tree), depth));
        }
        Step::Prune(part) => {
            let record = serde_json::json!({
                "results": [{ "node": node(*part), "call_id": "", "tool": "", "bytes": 0 }],
                "since": story.tree.newest(),
                "call": { "node": story.tree.newest(), "index": 0, "call_id": "" },
            });
            story.prunings.record(&serde_json::from_value(record).unwrap());
        }
        Step::Request => {}
    }
    let entries = draft.into_entries();
    for entry in entries {
        story.tree.record(entry).unwrap();
    }
}

/// Renders everything anew and compares.
fn check(live: &mut LiveContext, story: &Story, notes: &[Note], policy: &RenderPolicy, breaks: &[Break]) {
    let before = live.messages().to_vec();
    live.leave_out(&story.prunings);
    let kept = live.refresh(&story.tree, notes, breaks);
    let now = turn(&story.tree);
    assert_eq!(live.turn(), now);
    let clock = Clock::new(now).with_breaks(breaks).with_prunings(&story.prunings);
    let rendered = render_at(&story.tree, notes, policy, &clock);
    assert_eq!(live.delayed(notes), rendered.delayed);
    let anew = mark(rendered.messages);
    let ours: Vec<Message> = live.messages().iter().map(|message| (**message).clone()).collect();
    assert_eq!(ours, anew);
    assert!(live.list().iter().eq(live.messages()));
    let lost = cache_break_at(&story.tree, notes, policy, &clock);
    assert_eq!(live.cache_break(&story.tree, notes, breaks), lost);
    assert!(kept <= before.len() && live.messages()[..kept] == before[..kept]);
    if kept < before.len() && kept < ours.len() {
        assert_ne!(live.messages()[kept], before[kept]);
    }
    for message in live.messages().iter().filter(|message| message.node.is_some()) {
        let same = before.iter().find(|old| old.node == message.node);
        let same = same.filter(|old| *old == message);
        assert!(same.is_none_or(|old| Arc::ptr_eq(old, message)), "what stays is the same allocation");
    }
}

/// Returns the tree with bare nodes where no trunk and no summary is.
fn without_words(tree: &MessageTree) -> MessageTree {
    let mut entries = tree.entries();
    let Some(Entry::Node { message, at, .. }) = entries.next() else { panic!("a tree has its root") };
    let mut bare = MessageTree::new(message, at);
    for entry in entries {
        match entry {
            Entry::Node { id, parent: Some(parent), at, link, message }
                if !tree.is_on_trunk(id) && !matches!(link, Link::Cover { .. }) =>
            {
                let (role, author) = (message.role, message.author);
                bare.record_bare(BareNode { id, parent, at, link, role, author }).expect("it was there");
            }
            entry => bare.record(entry).expect("it was there"),
        }
    }
    bare
}

/// Two notes that stand on one node, with a tree whose clock is at 2.
fn two_notes() -> (Story, Note, Note) {
    let mut story = Story::new("n0 system: be brief\nn1 user: go\nn2 assistant: one\nn3 assistant: two");
    for _ in 0..2 {
        play(&mut story, &mut Vec::new(), &Step::Go(100, false));
        story.undo();
    }
    let notes = <[Note; 2]>::try_from(std::mem::take(&mut story.notes)).expect("one for each undo");
    let [first, second] = notes;
    (story, first, second)
}

/// Holds the list against a new one in each of some turns.
fn check_turns(mut story: Story, notes: &[Note], window: u32, lost: Break) {
    let mut policy = RenderPolicy::default();
    (policy.lesson_window_turns, policy.lesson_window_count) = (window, 1);
    policy.decay = Decay::CacheMinding;
    let mut live = LiveContext::new(policy);
    for turn in 2..8 {
        assert_eq!(turn, trunkline_revert::turn(&story.tree));
        check(&mut live, &story, notes, &policy, &[lost]);
        story.append(Message::assistant("on"));
    }
}

/// Only notes of another tree can be ahead of the clock. One that counts is what lets an older one go.
#[test]
fn a_note_that_is_ahead_of_the_clock_counts_when_its_turn_comes() {
    let (story, mut old, mut ahead) = two_notes();
    let mut gone = ahead.clone();
    (old.turn, gone.turn, ahead.turn) = (0, 1, 4);
    gone.abandoned = vec![NodeId::new(1)];
    check_turns(story, &[old, gone, ahead], 0, Break::new(1, 0));
}

#[test]
fn a_break_that_is_ahead_of_the_clock_lets_a_note_go_when_its_time_is_over() {
    let (story, mut old, mut newer) = two_notes();
    (old.turn, newer.turn) = (0, 1);
    check_turns(story, &[old, newer], 3, Break::new(10, 0));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_kept_is_what_would_be_rendered(steps in steps(), policy in policies()) {
        let mut story = Story::new("n0 system: be brief\nn1 user: go");
        let (mut live, mut breaks) = (LiveContext::new(policy), Vec::new());
        for step in &steps {
            play(&mut story, &mut breaks, step);
            if matches!(step, Step::Request) {
                check(&mut live, &story, &story.notes, &policy, &breaks);
            }
        }
        check(&mut live, &story, &story.notes, &policy, &breaks);
    }

    /// Looked at after each step, so that what each reply answered is known, and told of each break.
    #[test]
    fn a_break_of_the_cache_is_found_where_two_renderings_differ(steps in steps(), policy in policies()) {
        let mut story = Story::new("n0 system: be brief\nn1 user: go");
        let (mut live, mut breaks) = (LiveContext::new(policy), Vec::new());
        for step in &steps {
            play(&mut story, &mut breaks, step);
            check(&mut live, &story, &story.notes, &policy, &breaks);
            if matches!(step, Step::Request) {
                breaks.extend(live.cache_break(&story.tree, &story.notes, &breaks));
                check(&mut live, &story, &story.notes, &policy, &breaks);
            }
        }
    }

    #[test]
    fn one_that_begins_late_has_missed_nothing(steps in steps(), policy in policies()) {
        let mut story = Story::new("n0 system: be brief\nn1 user: go");
        let (mut early, mut breaks) = (LiveContext::new(policy), Vec::new());
        for step in &steps {
            play(&mut story, &mut breaks, step);
            early.leave_out(&story.prunings);
            early.refresh(&story.tree, &story.notes, &breaks);
        }
        early.refresh(&story.tree, &story.notes, &breaks);
        let mut late = LiveContext::new(policy);
        late.leave_out(&story.prunings);
        late.refresh(&story.tree, &story.notes, &breaks);
        prop_assert_eq!(early.messages(), late.messages());
    }

    /// Such as a log that somebody wrote by hand: they name what is not there, or not yet, and their turns are in no order.
    #[test]
    fn notes_of_another_tree_are_kept_as_they_would_be_rendered(steps in steps(), other in steps(), policy in policies(), turn_back in any::<bool>()) {
        let mut stranger = Story::new("n0 system: be brief\nn1 user: go");
        other.iter().for_each(|step| play(&mut stranger, &mut Vec::new(), step));
        let mut notes = stranger.notes;
        if turn_back {
            notes.reverse();
        }
        let mut story = Story::new("n0 system: be brief\nn1 user: go");
        let (mut live, mut breaks) = (LiveContext::new(policy), Vec::new());
        for (index, step) in steps.iter().enumerate() {
            play(&mut story, &mut breaks, step);
            check(&mut live, &story, &notes[..notes.len().min(index)], &policy, &breaks);
        }
    }

    /// A session that is taken up without the words of what it left.
    #[test]
    fn a_tree_whose_branches_are_bare_is_rendered_as_the_whole(steps in steps(), policy in policies()) {
        let mut story = Story::new("n0 system: be brief\nn1 user: go");
        let mut breaks = Vec::new();
        for step in &steps {
            play(&mut story, &mut breaks, step);
        }
        let mut whole = LiveContext::new(policy);
        whole.leave_out(&story.prunings);
        whole.refresh(&story.tree, &story.notes, &breaks);
        story.tree = without_words(&story.tree);
        check(&mut LiveContext::new(policy), &story, &story.notes, &policy, &breaks);
        let mut bare = LiveContext::new(policy);
        bare.leave_out(&story.prunings);
        bare.refresh(&story.tree, &story.notes, &breaks);
        prop_assert_eq!(bare.messages(), whole.messages());
        prop_assert_eq!(bare.turn(), whole.turn());
    }

    #[test]
    fn another_session_is_rendered_anew(steps in steps(), policy in policies()) {
        let mut story = Story::new("n0 system: be brief\nn1 user: go");
        for step in &steps {
            play(&mut story, &mut Vec::new(), step);
        }
        let mut live = LiveContext::new(policy);
        live.refresh(&story.tree, &story.notes, &[]);
        let fresh = Story::new("n0 system: be short");
        let before = live.messages().len();
        prop_assert_eq!(live.refresh(&fresh.tree, &[], &[]), 0, "{} before", before);
        prop_assert_eq!(live.messages()[0].text(), "be short");
    }
}
