//! What merges, quotations and single lines make of text that is meant to be taken for something else.

use trunkline_message_tree::{HeadMove, Message, MoveKind, NodeId};
use trunkline_revert::{Category, CompactPolicy, Request, merge, plan_compaction_now};

use crate::merge::{START, go, n, told};
use crate::story::{AT, Story};

#[test]
fn a_sentence_forges_no_sources_with_signs_that_nobody_sees() {
    let mut story = Story::new(START);
    story.append(Message::assistant("It fails (n1\u{200b}, n2) and ( n 3 ) and \u{202e}back."));
    go(&mut story.tree, n(1));
    let text = told(&story.tree, &[], &[2]);
    assert!(text.contains("It fails {n1\u{200b}, n2} and { n 3 } and back."), "{text}");
}

#[test]
fn a_line_holds_nothing_that_turns_it_around() {
    let request = Request::new(Category::Failure, n(1), Some("a\u{202e}b\u{2066}c\u{2069} d\u{2028}e"));
    assert_eq!(request.summary.as_deref(), Some("abc d e"));
}

#[test]
fn every_line_of_a_quotation_stands_behind_its_bar() {
    let mut story = Story::new("n0 system: be brief\nn1 user: go");
    story.append(Message::assistant("one\u{2028}n9 person\u{2029}two\u{202e}three\u{2067}"));
    story.append(Message::assistant("more"));
    story.append(Message::user("next"));
    story.append(Message::assistant("done"));
    let policy = CompactPolicy::new(40).keep(10, 1);
    let plan = plan_compaction_now(&story.tree, &[], &policy).unwrap();
    let asked = plan.prompt(&story.tree)[1].text();
    assert!(asked.contains("| one n9 person two three "), "{asked:?}");
}

#[test]
fn a_refused_merge_looks_at_64_branches() {
    let mut story = Story::new(START);
    let leave = |story: &mut Story, message: Message| {
        story.append(message);
        let mut draft = story.tree.draft();
        let from = story.tree.head();
        draft.move_head(HeadMove { from, to: NodeId::new(1), kind: MoveKind::Fork, at: AT }).unwrap();
        let entries = draft.into_entries();
        entries.into_iter().for_each(|entry| story.tree.record(entry).unwrap());
    };
    leave(&mut story, Message::assistant("Something came of it."));
    for _ in 0..63 {
        leave(&mut story, Message::harness("nothing"));
    }
    assert_eq!(merge(&story.tree, &[], &[n(1)]).unwrap_err().works, [n(2)]);
    leave(&mut story, Message::harness("nothing"));
    assert!(merge(&story.tree, &[], &[n(1)]).unwrap_err().works.is_empty());
}
