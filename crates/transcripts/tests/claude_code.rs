//! A session file as the client reads it.

use expect_test::{Expect, expect};

use crate::show::{main, session, shown, transcript};
use trunkline_transcripts::Format;

pub(crate) fn check(lines: &str, expected: Expect) {
    expected.assert_eq(&shown(&session(lines)));
}

#[test]
fn lines_of_one_message_are_one_message() {
    check(
        r#"
        u1 < - user "hi"
        a1 < u1 ai=m1 [{"type":"thinking","thinking":"hm","signature":"sig"}]
        a2 < a1 ai=m1 [{"type":"text","text":"let me look"}]
        a3 < a2 ai=m1 [{"type":"tool_use","id":"c1","name":"Read","input":{"path": "a.rs"}}]
        r1 < a3 user [{"type":"tool_result","tool_use_id":"c1","content":"42"}]
        a4 < r1 ai=m2 [{"type":"text","text":"it says 42"}]
        "#,
        expect![[r#"
            user: hi
            assistant:
            + thinking sig: hm
            + text: let me look
            + call c1 Read {"path": "a.rs"}
            + origin anthropic claude-x
            user:
            + result c1: 42
            + author tool
            assistant: it says 42
            + origin anthropic claude-x
        "#]],
    );
}

#[test]
fn calls_side_by_side_keep_all_their_results() {
    // The last line goes on from one result; a walk up from it meets neither the other result nor its call.
    check(
        r#"
        u1 < - user "both, please"
        a1 < u1 ai=m1 [{"type":"tool_use","id":"c1","name":"Read","input":{}}]
        a2 < a1 ai=m1 [{"type":"tool_use","id":"c2","name":"Read","input":{}}]
        r1 < a1 user [{"type":"tool_result","tool_use_id":"c1","content":"one"}]
        r2 < a2 user [{"type":"tool_result","tool_use_id":"c2","content":"two"}]
        a3 < r1 ai=m2 [{"type":"text","text":"done"}]
        "#,
        expect![[r#"
            user: both, please
            assistant:
            + call c1 Read {}
            + call c2 Read {}
            + origin anthropic claude-x
            user:
            + result c1: one
            + result c2: two
            + author tool
            assistant: done
            + origin anthropic claude-x
        "#]],
    );
}

#[test]
fn a_line_that_came_after_a_result_still_belongs_to_its_message() {
    check(
        r#"
        u1 < - user "both, please"
        a1 < u1 ai=m1 [{"type":"tool_use","id":"c1","name":"Read","input":{}}]
        r1 < a1 user [{"type":"tool_result","tool_use_id":"c1","content":"one"}]
        a2 < r1 ai=m1 [{"type":"tool_use","id":"c2","name":"Read","input":{}}]
        r2 < a2 user [{"type":"tool_result","tool_use_id":"c2","content":"two"}]
        a3 < r2 ai=m2 [{"type":"text","text":"done"}]
        "#,
        expect![[r#"
            user: both, please
            assistant:
            + call c1 Read {}
            + call c2 Read {}
            + origin anthropic claude-x
            user:
            + result c1: one
            + result c2: two
            + author tool
            assistant: done
            + origin anthropic claude-x
        "#]],
    );
}

#[test]
fn messages_that_a_proxy_gave_one_id_stay_apart() {
    check(
        r#"
        u1 < - user "hi"
        a1 < u1 assistant [{"type":"tool_use","id":"c","name":"Read","input":{}}] & {"x":1}
        r1 < a1 user [{"type":"tool_result","tool_use_id":"c","content":"one"}]
        a2 < r1 assistant [{"type":"tool_use","id":"c","name":"Read","input":{}}]
        r2 < a2 user [{"type":"tool_result","tool_use_id":"c","content":"two"}]
        "#,
        expect![[r#"
            user: hi
            assistant:
            + call c Read {}
            user:
            + result c: one
            + author tool
            assistant:
            + call c Read {}
            user:
            + result c: two
            + author tool
        "#]],
    );
}

#[test]
fn hooks_and_attachments_say_nothing_and_break_nothing() {
    check(
        r#"
        h1 < - progress {"type":"hook_progress"}
        u1 < h1 user "hi"
        x1 < u1 attachment {}
        a1 < x1 ai=m1 [{"type":"tool_use","id":"c1","name":"Read","input":{}}]
        h2 < a1 progress {"type":"hook_progress"}
        r1 < a1 user [{"type":"tool_result","tool_use_id":"c1","content":[{"type":"text","text":"ok"}],"is_error":true}]
        s1 < r1 system {}
        u2 < s1 user [{"type":"text","text":"and now?"}]
        h3 < u1 progress {"type":"hook_progress"}
        "#,
        expect![[r#"
            user: hi
            assistant:
            + call c1 Read {}
            + origin anthropic claude-x
            user:
            + result c1!: ok
            + author tool
            user: and now?
        "#]],
    );
}

#[test]
fn what_the_client_says_itself_is_not_a_persons_word() {
    check(
        r#"
        u1 < - user "<local-command-caveat>" & {"isMeta":true}
        u2 < u1 user "<command-name>/clear</command-name>"
        u3 < u2 user "hi"
        a1 < u3 assistant [{"type":"text","text":"API Error: 529"}] & {"isApiErrorMessage":true}
        u4 < a1 user "again"
        a2 < u4 ai=m1 [{"type":"text","text":"hello"}]
        u5 < a2 user [{"type":"text","text":"[Request interrupted by user]"}]
        "#,
        expect![[r#"
            harness: <local-command-caveat>
            harness: <command-name>/clear</command-name>
            user: hi
            user: again
            assistant: hello
            + origin anthropic claude-x
            harness: [Request interrupted by user]
        "#]],
    );
}

#[test]
fn after_a_compaction_the_summary_comes_first_and_what_it_covers_is_kept_apart() {
    check(
        r#"
        u1 < - user "a long story"
        a1 < u1 ai=m1 [{"type":"text","text":"a long answer"}]
        {"parentUuid":null,"logicalParentUuid":"a1","isSidechain":false,"type":"system","subtype":"compact_boundary","uuid":"b1","sessionId":"s1","compactMetadata":{"trigger":"auto"}}
        u2 < b1 user "summary" & {"isCompactSummary":true,"isVisibleInTranscriptOnly":true}
        u3 < u2 user "go on"
        "#,
        expect![[r#"
            harness: summary
            user: go on
            == covered s1
            user: a long story
            assistant: a long answer
            + origin anthropic claude-x
        "#]],
    );
}

#[test]
fn what_a_new_file_leaves_out_is_counted() {
    let log = session(
        r#"
        u1 < - user "a long story"
        a1 < u1 ai=m1 [{"type":"text","text":"a long answer"}]
        {"parentUuid":null,"logicalParentUuid":"a1","isSidechain":false,"type":"system","subtype":"compact_boundary","uuid":"b1","sessionId":"s1","compactMetadata":{"trigger":"auto"}}
        u2 < b1 user "summary" & {"isCompactSummary":true,"isVisibleInTranscriptOnly":true}
        u3 < u2 user "go on"
        "#,
    );
    let transcript = transcript(&log, Format::ClaudeCode);
    let left = |index| {
        let left = transcript.left_out(index);
        (left.covered, left.elsewhere, left.of_other_kinds)
    };
    assert_eq!(left(0), (2, 0, 1), "the story, and the mark of the compaction");
    assert_eq!(left(1), (0, 2, 1), "of the story's file: what came after it");
    assert_eq!(left(2), (2, 2, 1), "there is no such conversation, so nothing is written");
}

#[test]
fn what_a_compaction_kept_word_for_word_stands_after_its_anchor() {
    check(
        r#"
        u1 < - user "a long story"
        a1 < u1 ai=m1 [{"type":"text","text":"a long answer"}]
        u2 < a1 user "the last question"
        a2 < u2 ai=m2 [{"type":"text","text":"the last answer"}]
        {"parentUuid":null,"logicalParentUuid":"a2","isSidechain":false,"type":"system","subtype":"compact_boundary","uuid":"b1","sessionId":"s1","compactMetadata":{"preservedSegment":{"headUuid":"u2","anchorUuid":"u3","tailUuid":"a2"}}}
        u3 < b1 user "summary" & {"isCompactSummary":true}
        u4 < u3 user "go on"
        "#,
        expect![[r#"
            harness: summary
            user: the last question
            assistant: the last answer
            + origin anthropic claude-x
            user: go on
            == covered s1
            user: a long story
            assistant: a long answer
            + origin anthropic claude-x
            user: the last question
            assistant: the last answer
            + origin anthropic claude-x
        "#]],
    );
}

#[test]
fn a_sub_agent_is_a_conversation_that_hangs_on_its_call() {
    check(
        r#"
        u1 < - user "delegate"
        a1 < u1 ai=m1 [{"type":"tool_use","id":"c1","name":"Task","input":{"prompt":"count files"}}]
        t1 < - user "count files" & {"isSidechain":true}
        t2 < t1 ai=m2 [{"type":"text","text":"three"}] & {"isSidechain":true}
        r1 < a1 user [{"type":"tool_result","tool_use_id":"c1","content":"three"}]
        a2 < r1 ai=m3 [{"type":"tool_use","id":"c2","name":"Task","input":{}}]
        v1 < - user "count lines" & {"isSidechain":true,"agentId":"g7"}
        r2 < a2 user [{"type":"tool_result","tool_use_id":"c2","content":"ok"}] & {"toolUseResult":{"agentId":"g7"}}
        "#,
        expect![[r#"
            user: delegate
            assistant:
            + call c1 Task {"prompt":"count files"}
            + origin anthropic claude-x
            user:
            + result c1: three
            + author tool
            assistant:
            + call c2 Task {}
            + origin anthropic claude-x
            user:
            + result c2: ok
            + author tool
            == sidechain of c1 
            user: count files
            assistant: three
            + origin anthropic claude-x
            == sidechain of c2 g7
            user: count lines
        "#]],
    );
}

#[test]
fn the_file_of_a_sub_agent_is_a_conversation_like_any_other() {
    check(
        r#"
        t1 < - user "count files" & {"isSidechain":true,"agentId":"g7"}
        t2 < t1 ai=m2 [{"type":"text","text":"three"}] & {"isSidechain":true,"agentId":"g7"}
        "#,
        expect![[r#"
            user: count files
            assistant: three
            + origin anthropic claude-x
        "#]],
    );
}

#[test]
fn a_listing_has_what_it_wants() {
    let file = session(
        r#"
        u1 < - user "hi"
        a1 < u1 ai=m1 [{"type":"text","text":"hello"}]
        {"type":"summary","summary":"A greeting","leafUuid":"a1"}
        {"type":"ai-title","aiTitle":"Greeting","sessionId":"s1"}
        "#,
    );
    let transcript = transcript(&file, Format::ClaudeCode);
    let main = &main(&transcript);
    let at = |time: Option<trunkline_message_tree::Timestamp>| time.map(|at| at.0);
    assert_eq!(main.id, "s1");
    assert_eq!(main.title.as_deref(), Some("Greeting"));
    assert_eq!(main.cwd.as_deref(), Some("/p"));
    assert_eq!(main.model.as_deref(), Some("claude-x"));
    assert_eq!((at(main.started), at(main.ended)), (Some(1_769_940_000_000), Some(1_769_940_060_000)));
}

#[test]
fn usage_is_taken_once_and_counts_the_whole_prompt() {
    let usage = r#""usage":{"input_tokens":3,"cache_read_input_tokens":10,"cache_creation_input_tokens":5,"output_tokens":"#;
    let line = |id: &str, parent: &str, text: &str, output: u64, stop: &str| {
        format!(
            r#"{{"type":"assistant","sessionId":"s1","uuid":"{id}","parentUuid":{parent},"message":{{"id":"m","role":"assistant","content":[{{"type":"text","text":"{text}"}}],"stop_reason":{stop},{usage}{output}}}}}}}"#
        )
    };
    let file = [line("a", "null", "one", 1, "null"), line("b", "\"a\"", "two", 9, "\"end_turn\"")].join("\n");
    let transcript = transcript(&file, Format::ClaudeCode);
    let message = &main(&transcript).messages[0];
    let usage = message.usage.expect("the record says it");
    assert_eq!((usage.input_tokens, usage.output_tokens, usage.cache_read_tokens), (18, 9, 10));
    assert_eq!(message.stop, Some(trunkline_message_tree::StopReason::EndTurn));
}

#[test]
fn words_as_long_as_others_are_told_apart_and_repetitions_dropped() {
    check(
        r#"
        u1 < - user "count"
        a1 < u1 ai=m1 [{"type":"text","text":"one"}]
        a2 < a1 ai=m1 [{"type":"text","text":"two"}]
        a3 < a2 ai=m1 [{"type":"text","text":"six"}]
        a4 < a3 ai=m1 [{"type":"text","text":"two"}]
        a5 < a4 ai=m1 [{"type":"text","text":"one"}]
        a6 < a5 ai=m1 [{"type":"text","text":"ten"}]
        "#,
        expect![[r#"
            user: count
            assistant: one
            + text: two
            + text: six
            + text: ten
            + origin anthropic claude-x
        "#]],
    );
}
