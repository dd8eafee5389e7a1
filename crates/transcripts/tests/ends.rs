//! Where a session goes on: at what nothing continues, and of several at the last in the file.

use expect_test::expect;
use trunkline_transcripts::read;

use crate::claude_code::check;
use crate::show::{main, session, shown, text};

const FOUR: &str = r#"
    u1 < - user "one"
    a1 < u1 ai=m1 [{"type":"text","text":"two"}]
    u2 < a1 user "three"
    a2 < u2 ai=m2 [{"type":"text","text":"four"}]
"#;

fn reversed(file: &str) -> String {
    let mut lines: Vec<&str> = file.lines().collect();
    lines.reverse();
    lines.join("\n")
}

#[test]
fn lines_in_any_order_are_one_conversation() {
    let in_order = shown(&session(FOUR));
    let file = session(FOUR);
    let lines: Vec<&str> = file.lines().collect();
    for order in [[3, 2, 1, 0], [1, 0, 3, 2], [2, 3, 0, 1], [3, 0, 1, 2], [0, 2, 1, 3]] {
        let file: Vec<&str> = order.iter().map(|at| lines[*at]).collect();
        assert_eq!(shown(&file.join("\n")), in_order, "{order:?}");
    }
}

#[test]
fn what_hangs_beside_the_chain_at_the_end_is_not_its_end() {
    check(
        r#"
        u1 < - user "one"
        a1 < u1 ai=m1 [{"type":"text","text":"two"}]
        u2 < a1 user "three"
        a2 < u2 ai=m2 [{"type":"text","text":"four"}]
        h1 < u1 progress {"type":"hook_progress"}
        {"type":"last-prompt","leafUuid":"a1","sessionId":"s1"}
        {"type":"summary","summary":"t","leafUuid":"a1"}
        "#,
        expect![[r#"
            user: one
            assistant: two
            + origin anthropic claude-x
            user: three
            assistant: four
            + origin anthropic claude-x
        "#]],
    );
}

#[test]
fn the_last_end_in_the_file_counts_whatever_the_clock_says() {
    check(
        r#"
        u1 < - user "one"
        a1 < u1 ai=m1 [{"type":"text","text":"two"}]
        u2 < a1 user "three" & {"timestamp":"2026-02-02T10:00:00.000Z"}
        u3 < a1 user "another three" & {"timestamp":"2026-02-01T10:00:00.000Z"}
        a3 < u3 ai=m3 [{"type":"text","text":"four"}] & {"timestamp":"2026-02-01T10:00:00.000Z"}
        "#,
        expect![[r#"
            user: one
            assistant: two
            + origin anthropic claude-x
            user: another three
            assistant: four
            + origin anthropic claude-x
            == branch s1
            user: one
            assistant: two
            + origin anthropic claude-x
            user: three
        "#]],
    );
}

#[test]
fn a_result_that_came_after_the_answer_to_its_turn_is_no_end() {
    let lines = r#"
        u1 < - user "both"
        a1 < u1 ai=m1 [{"type":"tool_use","id":"c1","name":"Read","input":{}}]
        a2 < a1 ai=m1 [{"type":"tool_use","id":"c2","name":"Read","input":{}}]
        r1 < a1 user [{"type":"tool_result","tool_use_id":"c1","content":"one"}]
        a3 < r1 ai=m2 [{"type":"text","text":"done"}]
        r2 < a2 user [{"type":"tool_result","tool_use_id":"c2","content":"two"}]
    "#;
    for file in [session(lines), reversed(&session(lines))] {
        let transcript = read(file.as_bytes()).expect("a session");
        let main = main(&transcript);
        assert_eq!(main.messages.len(), 4, "{}", text(&main.messages));
        let calls: Vec<&str> = main.messages[1].calls().map(|call| call.id.as_str()).collect();
        assert_eq!((calls, main.messages[2].results().count()), (vec!["c1", "c2"], 2));
        assert_eq!(main.messages[3].text(), "done");
    }
}

#[test]
fn the_mark_of_a_compaction_without_its_summary_is_no_end() {
    check(
        r#"
        u1 < - user "one"
        a1 < u1 ai=m1 [{"type":"text","text":"two"}]
        {"parentUuid":null,"logicalParentUuid":"a1","isSidechain":false,"type":"system","subtype":"compact_boundary","uuid":"b1","sessionId":"s1"}
        "#,
        expect![[r#"
            user: one
            assistant: two
            + origin anthropic claude-x
        "#]],
    );
}

#[test]
fn a_gap_in_a_file_of_reversed_lines_closes_no_circle() {
    let file = reversed(&session(&FOUR.replace("u1 < -", "u1 < gone")));
    let transcript = read(file.as_bytes()).expect("a session");
    assert_eq!(main(&transcript).messages.len(), 4);
}

#[test]
fn a_sub_agent_is_read_to_its_end_whatever_the_order() {
    let file = session(
        r#"
        u1 < - user "delegate"
        t1 < - user "count" & {"isSidechain":true,"agentId":"g7"}
        t2 < t1 ai=m2 [{"type":"text","text":"three"}] & {"isSidechain":true,"agentId":"g7"}
        "#,
    );
    assert_eq!(shown(&file), shown(&reversed(&file)));
    let alone: Vec<&str> = file.lines().skip(1).collect();
    assert_eq!(shown(&alone.join("\n")), shown(&reversed(&alone.join("\n"))));
}

#[test]
fn sub_agents_that_go_on_from_each_other_have_each_its_way() {
    let file = session(
        r#"
        u1 < - user "delegate"
        t1 < u1 user "one" & {"isSidechain":true,"agentId":"g1"}
        t2 < t1 user "two" & {"isSidechain":true,"agentId":"g2"}
        t3 < t2 user "three" & {"isSidechain":true,"agentId":"g1"}
        "#,
    );
    expect![[r#"
        user: delegate
        == sidechain g1
        user: delegate
        user: one
        user: two
        user: three
        == sidechain g2
        user: delegate
        user: one
        user: two
    "#]]
    .assert_eq(&shown(&file));
}

#[test]
fn what_many_conversations_have_in_common_is_held_once() {
    // Each of two thousand agents goes on from the one before, so their ways together are a thousand times the file.
    let lines: String = (0..20_000)
        .map(|at: usize| {
            let parent = at.checked_sub(1).map_or_else(|| "u".to_owned(), |above| format!("w{above}"));
            format!(
                "w{at} < {parent} user \"t\" & {{\"isSidechain\":true,\"agentId\":\"g{}\"}}\n",
                at % 2_000
            )
        })
        .collect();
    let lines = format!("u < - user \"delegate\"\n{lines}");
    let transcript = read(session(&lines).as_bytes()).expect("a session");
    assert_eq!(transcript.listed().len(), 2_001);
    let last = transcript.conversation(2_000).expect("it is listed");
    assert_eq!(last.messages.len(), 20_001);
    assert_eq!(transcript.left_out(0).elsewhere, 20_000, "each counted once");
}
