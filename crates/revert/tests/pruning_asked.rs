//! Results that a model leaves out of its requests: which may go, what it costs, and that they can be had again.

use expect_test::expect;
use trunkline_message_tree::{
    Author, Content, Message, MessageTree, NodeId, Part, ToolCall, ToolResult, notation,
};
use trunkline_revert::{
    BreakCause, CallPlace, Clock, Price, PruneRequest, Prunings, Rates, RenderPolicy, Stays, cache_break_at,
    mark, plan_pruning, recall, render_at, turn,
};

use crate::story::Story;

fn n(index: u32) -> NodeId {
    NodeId::new(index)
}

fn call_of(story: &mut Story, id: &str, name: &str, result: Message) {
    let mut message = Message::assistant("");
    let arguments = "{}".to_owned();
    message.content = vec![Content::ToolCall(ToolCall {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments,
        signature: None,
    })];
    story.append(message);
    story.append(result);
}

fn long(id: &str, text: &str, failed: bool) -> Message {
    Message::tool_result(id, text.repeat(100), failed)
}

/// Two long results, one of which says that its tool failed; one that nobody ran; a short one; and a call that is open.
fn story() -> Story {
    let mut story = Story::new("n0 system: be brief\nn1 user: go");
    call_of(&mut story, "c1", "read", long("c1", "long ", false));
    call_of(&mut story, "c2", "make", long("c2", "failed ", true));
    let mut denied = long("c3", "not run: the person declined it ", true);
    denied.author = Author::Harness;
    call_of(&mut story, "c3", "make", denied);
    call_of(&mut story, "c4", "read", Message::tool_result("c4", "short", false));
    call_of(&mut story, "c5", "edit", long("c5", "Staged as p1. ", false));
    let mut message = Message::assistant("");
    let arguments = "{}".to_owned();
    message.content = vec![Content::ToolCall(ToolCall {
        id: "c6".to_owned(),
        name: "prune_result".to_owned(),
        arguments,
        signature: None,
    })];
    story.append(message);
    story
}

#[test]
fn what_a_tool_returned_that_is_gone_is_no_decision_and_stays() {
    let story = story();
    assert_eq!(
        told_with(&story.tree, &Prunings::default(), &[5], true),
        "pruning refused: n5 cannot be left out: its tool is no longer available, so it is not known what it did; \
         results that could be left out: n3 (500 bytes)\n"
    );
}

fn asked(tree: &MessageTree, results: &[u32]) -> PruneRequest {
    let call = CallPlace { node: tree.head(), index: 0, call_id: "c6".to_owned() };
    let results: Vec<String> = results.iter().map(|index| format!("n{index}")).collect();
    PruneRequest::parse(&serde_json::json!({ "results": results }).to_string(), call).unwrap()
}

fn told(tree: &MessageTree, prunings: &Prunings, results: &[u32]) -> String {
    told_with(tree, prunings, results, false)
}

fn told_with(tree: &MessageTree, prunings: &Prunings, results: &[u32], gone: bool) -> String {
    let stays = |_: NodeId, call: &ToolCall| match call.name.as_str() {
        "edit" => Some(Stays::Decision),
        "make" => Some(Stays::ToolGone).filter(|_| gone),
        _ => None,
    };
    match plan_pruning(tree, prunings, &asked(tree, results), stays) {
        Ok(plan) => format!("{}\n", plan.result_text()),
        Err(refusal) => format!("{refusal}\n"),
    }
}

#[test]
fn what_was_refused_or_decided_stays_and_so_does_what_no_tool_said() {
    let story = story();
    let none = Prunings::default();
    let asked: [&[u32]; 9] = [&[3], &[5, 3], &[7], &[9], &[11], &[1], &[2], &[99], &[3, 7]];
    let told: String = asked.iter().map(|results| told(&story.tree, &none, results)).collect();
    expect![[r#"
        left out from now on: n3 (500 bytes of read); recall_result returns one again
        left out from now on: n5 (700 bytes of make), n3 (500 bytes of read); recall_result returns one again
        pruning refused: n7 reports a call that was refused or did not run; such results cannot be left out; results that could be left out: n3 (500 bytes), n5 (700 bytes)
        pruning refused: n9 has only 5 bytes, so nothing would be saved; results that could be left out: n3 (500 bytes), n5 (700 bytes)
        pruning refused: n11 belongs to a proposal or a decision; such results cannot be left out; results that could be left out: n3 (500 bytes), n5 (700 bytes)
        pruning refused: n1 is no result of a tool; results that could be left out: n3 (500 bytes), n5 (700 bytes)
        pruning refused: n2 is no result of a tool; results that could be left out: n3 (500 bytes), n5 (700 bytes)
        pruning refused: n99 not found; results that could be left out: n3 (500 bytes), n5 (700 bytes)
        pruning refused: n7 reports a call that was refused or did not run; such results cannot be left out; results that could be left out: n3 (500 bytes), n5 (700 bytes)
    "#]]
    .assert_eq(&told);
}

#[test]
fn arguments_are_read_leniently_and_refused_with_words() {
    let place = || CallPlace { node: n(1), index: 0, call_id: "c".to_owned() };
    let read = |arguments: &str| match PruneRequest::parse(arguments, place()) {
        Ok(request) => format!("{:?}\n", request.results),
        Err(fault) => format!("{fault}\n"),
    };
    let many: Vec<u32> = (0..70).collect();
    let many = serde_json::json!({ "results": many }).to_string();
    let all = [
        r#"{"results":["n3","[n4]",5,"n3"]}"#,
        r#"{"results":"n3"}"#,
        r#"{"results":7}"#,
        r#"{"results":[]}"#,
        r#"{"results":["all"]}"#,
        r#"{"results":{"node":"n3"}}"#,
        "{}",
        r#"{"results":["#,
        &many,
    ];
    expect![[r#"
        [n3, n4, n5]
        [n3]
        [n7]
        results is required: name a node such as "n12"
        results must name nodes like "n12" or "12"; got "all"
        results must name nodes like "n12" or "12"; got {"node":"n3"}
        results is required: name a node such as "n12"
        arguments must be a JSON object: EOF while parsing a list at line 1 column 12
        results names too many nodes; at most 64 at once
    "#]]
    .assert_eq(&all.map(read).concat());
}

#[test]
fn what_is_left_out_is_one_line_from_then_on_and_the_cache_is_lost_from_there_because_of_it() {
    let mut story = story();
    let plan =
        plan_pruning(&story.tree, &Prunings::default(), &asked(&story.tree, &[3]), |_, _| None).unwrap();
    story.append(Message::tool_result("c6", plan.result_text(), false));
    let mut prunings = Prunings::default();
    prunings.record(&plan.record(story.tree.head(), None));
    let clock = Clock::new(turn(&story.tree)).with_prunings(&prunings);
    let policy = RenderPolicy::default();
    let rendered = render_at(&story.tree, &[], &policy, &clock);
    expect![[r#"
        result c1: [n3]
        ++ text: [pruned] 500 bytes that read returned are left out here; the call itself was answered.
    "#]]
    .assert_eq(&notation::print(&mark(rendered.messages)[3..4]));
    let lost = cache_break_at(&story.tree, &[], &policy, &clock).unwrap();
    assert_eq!((lost.depth, lost.cause), (3, BreakCause::Pruning));
    assert_eq!(
        cache_break_at(&story.tree, &[], &policy, &clock.with_breaks(&[lost])),
        None,
        "it is told once"
    );
    // The next request continues this one.
    story.append(Message::assistant("on"));
    let clock = Clock::new(turn(&story.tree)).with_prunings(&prunings);
    assert_eq!(cache_break_at(&story.tree, &[], &policy, &clock), None);
    assert!(told(&story.tree, &prunings, &[3]).contains("n3 is left out already"));
}

#[test]
fn a_pruning_costs_all_that_stands_behind_it() {
    let story = story();
    let price = |results: &[u32]| {
        let plan = plan_pruning(&story.tree, &Prunings::default(), &asked(&story.tree, results), |_, _| None);
        let rates = Rates::new(100, 1_250, 0, trunkline_revert::CacheGrain::Steps(1), "a test");
        let price = Price::of_pruning(&story.tree, &plan.unwrap().results, &rates);
        assert!(price.leaving + price.kept + price.recached > 0);
        format!("{}\n", price.text())
    };
    expect![[r#"
        ~103 prompt tokens leave, ~4 stay (~4 of them cached), ~1,358 are read anew; pays from turn 152
        ~328 prompt tokens leave, ~1,112 stay (~1,112 of them cached), ~25 are read anew; pays from the first turn
        ~430 prompt tokens leave, ~4 stay (~4 of them cached), ~1,031 are read anew; pays from turn 28
    "#]]
    .assert_eq(&[price(&[3]), price(&[11]), price(&[3, 11])].concat());
}

#[test]
fn a_result_is_had_again_as_it_was_returned_with_all_its_parts() {
    let mut story = story();
    let parts = vec![Part::text("[n3] one"), Part::Opaque { wire: "w".to_owned(), json: "1".repeat(500) }];
    let result = ToolResult { call_id: "c9".to_owned(), content: parts.clone(), is_error: true };
    let mut message = Message::tool_result("c9", "", true);
    message.content = vec![Content::ToolResult(result)];
    call_of(&mut story, "c9", "look", message);
    let result = story.tree.head();
    let plan = plan_pruning(
        &story.tree,
        &Prunings::default(),
        &asked(&story.tree, &[result.index() as u32]),
        |_, _| None,
    );
    let mut prunings = Prunings::default();
    prunings.record(&plan.unwrap().record(result, None));
    let had = recall(&story.tree, &prunings, &[], result).unwrap();
    assert_eq!(had[0], Part::text("what look returned then, which failed:"));
    assert_eq!(had[1..], parts);
    let refused: String = [n(3), n(1), n(99)]
        .map(|node| format!("{}\n", recall(&story.tree, &prunings, &[], node).unwrap_err()))
        .concat();
    expect![[r#"
        recall refused: n3 was never left out; its full text is still in the conversation; results that are left out: n14
        recall refused: n1 is no result of a tool; results that are left out: n14
        recall refused: n99 not found; results that are left out: n14
    "#]]
    .assert_eq(&refused);
}
