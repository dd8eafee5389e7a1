//! Family C where wires differ: Bedrock, Gemini, Groq, DeepSeek, and what alone is larger than the window.

use expect_test::expect;
use trunkline_message_tree::{Message, Part, notation};
use trunkline_sanitize::{BlankText, RequestFacts, WireRules, sanitize, violations};

use crate::check::{check, check_legal, check_legal_with, check_with};

fn tools_offered(offered: bool) -> RequestFacts {
    let mut facts = RequestFacts::default();
    facts.tools_offered = Some(offered);
    facts
}

#[test]
fn c2_blank_text_beside_a_call_is_dropped_where_none_is_taken() {
    let mut rules = WireRules::gemini_2();
    rules.blank_text = BlankText::Refused;
    let input = r"user: hi
         assistant: \s
         + call c1 read {}
         result c1: 42";
    check(
        &rules,
        input,
        expect![[r#"
            ?? message 1 block 0: text is blank
            user: hi
            assistant:
            + call c1 read {}
            result c1: 42
            -- dropped text: blank
        "#]],
    );
    check_legal(&WireRules::anthropic(), input);
    check_legal(&WireRules::bedrock_claude(), input);
}

#[test]
fn c2_blank_parts_of_gemini_stay() {
    let input = r"user:
         + text:
         assistant: \s
         user: hi
         + text: \s";
    check_legal(&WireRules::gemini_2(), input);
    check_legal(&WireRules::gemini_3(), input);
}

#[test]
fn c6_an_error_says_something() {
    let input = "user: hi
         assistant:
         + call c1 read {}
         result c1!:";
    check(
        &WireRules::bedrock(),
        input,
        expect![[r#"
            ?? message 2 block 0: error result "c1" says nothing
            user: hi
            assistant:
            + call c1 read {}
            result c1!: (the tool reported a failure and returned nothing)
            -- filled result c1: an error must say something
        "#]],
    );
    check_legal(&WireRules::anthropic(), input);
}

#[test]
fn c6_a_result_that_is_no_error_may_be_empty() {
    check_legal(
        &WireRules::bedrock(),
        "user: hi
         assistant:
         + call c1 read {}
         result c1:",
    );
}

#[test]
fn c7_a_turn_without_parts_is_dropped_or_filled() {
    check(
        &WireRules::gemini_2(),
        r"user: hi
         assistant:
         user: \n
         assistant: hello
         user:
         assistant: still here
         user: good",
        expect![[r#"
            ?? message 1: message is empty
            ?? message 4: message is empty
            user: hi
            user: \n
            assistant: hello
            harness: continue
            assistant: still here
            user: good
            -- dropped assistant message: empty
            -- filled user message: empty
        "#]],
    );
}

#[test]
fn c7_a_list_without_contents_gets_some() {
    check(
        &WireRules::gemini_2(),
        "system: be brief",
        expect![[r#"
            ?? message 1: there is no message
            system: be brief
            harness: (the conversation begins here)
            -- added user message: the list must begin with one
        "#]],
    );
}

#[test]
fn c9_null_for_no_arguments_is_legal_where_it_was_seen_to_be_taken() {
    let input = "user: hi
         assistant:
         + call c1 read null
         result c1: 42";
    check_legal(&WireRules::groq(), input);
    check(
        &WireRules::openai_chat(),
        input,
        expect![[r#"
            ?? message 1 block 0: arguments of call "c1" are not an object
            user: hi
            assistant:
            + call c1 read {}
            result c1: 42
            -- replaced arguments of call c1: not an object
        "#]],
    );
}

#[test]
fn c9_groq_takes_null_and_no_other_value() {
    check(
        &WireRules::groq(),
        "user: hi
         assistant:
         + call c1 read []
         result c1: 42",
        expect![[r#"
            ?? message 1 block 0: arguments of call "c1" are not an object
            user: hi
            assistant:
            + call c1 read {}
            result c1: 42
            -- replaced arguments of call c1: not an object
        "#]],
    );
}

#[test]
fn c12_responses_takes_longer_ids_than_chat() {
    let long = "x".repeat(64);
    let input = format!("user: hi\nassistant:\n+ call {long} read {{}}\nresult {long}: 42");
    check_legal(&WireRules::openai_responses(), &input);
    let shortened = notation::parse(&input).expect("the input of a test is notation");
    let sanitized = sanitize(&shortened, &WireRules::openai_chat(), &RequestFacts::default());
    assert_eq!(sanitized.messages[1].calls().map(|call| call.id.len()).collect::<Vec<_>>(), [40]);
}

const WITH_TOOLS: &str = r#"user: compare
     assistant: let me look
     + call c1 read {"path":"a"}
     + call c2 read {"path":"b"}
     result c1: 1
     ++ image image/png base64 AAAA
     result c2!: no such file
     assistant: only one is there
     user: sum it up"#;

#[test]
fn c14_calls_and_results_are_told_in_words_where_no_tools_are_offered() {
    check_with(
        &WireRules::bedrock_claude(),
        &tools_offered(false),
        WITH_TOOLS,
        expect![[r#"
            ?? message 1 block 1: call or result, but no tools are offered
            ?? message 1 block 2: call or result, but no tools are offered
            ?? message 2 block 0: call or result, but no tools are offered
            ?? message 3 block 0: call or result, but no tools are offered
            user: compare
            assistant: let me look
            + text: [called read with {"path":"a"}]
            + text: [called read with {"path":"b"}]
            harness: [read returned]\n1
            + image image/png base64 AAAA
            + text: [read failed]\nno such file
            assistant: only one is there
            user: sum it up
            -- turned call c1 and its result into text: no tools are offered
            -- turned call c2 and its result into text: no tools are offered
            -- joined user message to the one before
        "#]],
    );
}

#[test]
fn c14_they_stay_where_tools_are_offered_or_nothing_is_known_or_the_wire_does_not_mind() {
    let rules = WireRules::bedrock_claude();
    check_legal_with(&rules, &tools_offered(true), WITH_TOOLS);
    check_legal(&rules, WITH_TOOLS);
    check_legal_with(&WireRules::anthropic(), &tools_offered(false), WITH_TOOLS);
}

#[test]
fn c14_without_results_there_is_nothing_to_bridge() {
    check_with(
        &WireRules::bedrock(),
        &tools_offered(false),
        "user: hi
         assistant:
         + call c1 read {}
         result c1: 42
         user: well?",
        expect![[r#"
            ?? message 1 block 0: call or result, but no tools are offered
            ?? message 2 block 0: call or result, but no tools are offered
            ?? message 3 block 0: the user speaks right after results
            user: hi
            assistant: [called read with {}]
            harness: [read returned]\n42
            + text: well?
            -- turned call c1 and its result into text: no tools are offered
            -- joined user message to the one before
        "#]],
    );
}

#[test]
fn c15_pictures_become_words_where_a_wire_takes_none() {
    let input = "user: look
         + image image/png base64 AAAA
         assistant:
         + call c1 screenshot {}
         result c1: here
         ++ image image/jpeg base64 BBBB
         user:
         + document application/pdf url https://example.org/a.pdf";
    check(
        &WireRules::deepseek(),
        input,
        expect![[r#"
            ?? message 0 block 1: pictures and documents are not taken
            ?? message 2 block 0: pictures and documents are not taken
            ?? message 3 block 0: pictures and documents are not taken
            user: look
            + text: (image/png left out: not taken here)
            assistant:
            + call c1 screenshot {}
            result c1: here
            ++ text: (image/jpeg left out: not taken here)
            user: (application/pdf left out: not taken here)
            -- replaced media (1) by words: not taken on this wire
            -- replaced media (1) by words: not taken on this wire
            -- replaced media (1) by words: not taken on this wire
        "#]],
    );
}

#[test]
fn c16_the_middle_of_a_result_that_cannot_fit_is_left_out() {
    let mut facts = RequestFacts::default();
    facts.context_window = Some(256);
    let rules = WireRules::anthropic();
    let list = |text: String| {
        let mut list = notation::parse("user: hi\nassistant:\n+ call c1 read {}").expect("notation");
        list.push(Message::tool_result("c1", text, false));
        list
    };

    let long = list(format!("{}{}", "a".repeat(600), "z".repeat(600)));
    assert_eq!(violations(&long, &rules, &facts).len(), 1);
    assert_eq!(
        violations(&long, &rules, &RequestFacts::default()),
        [],
        "without a window nothing is too long"
    );
    let sanitized = sanitize(&long, &rules, &facts);
    let lines: Vec<String> = sanitized.repairs.iter().map(ToString::to_string).collect();
    assert_eq!(lines, ["cut 688 bytes out of result c1: larger than the context window"]);
    assert!(sanitized.repairs[0].is_loss());
    let (head, tail) = ("a".repeat(256), "z".repeat(256));
    let note = "[688 bytes left out: this result alone is larger than the context window]";
    let result = sanitized.messages[2].results().next().expect("the result is still there");
    assert_eq!(result.content, [Part::text(format!("{head}\n{note}\n{tail}"))]);
    assert_eq!(violations(&sanitized.messages, &rules, &facts), []);
    assert_eq!(sanitize(&*sanitized.messages, &rules, &facts).repairs, []);

    // Four bytes for each token: what could fit stays whole, and so does the conversation, however long it is.
    assert_eq!(sanitize(list("a".repeat(1024)), &rules, &facts).repairs, []);
    let many: Vec<Message> = (0..100).map(|_| Message::user("a".repeat(1024))).collect();
    assert_eq!(sanitize(&many, &rules, &facts).repairs, []);
}

#[test]
fn c16_a_letter_is_never_cut_in_two() {
    let mut facts = RequestFacts::default();
    facts.context_window = Some(1);
    let mut list = notation::parse("user: hi\nassistant:\n+ call c1 read {}").expect("notation");
    list.push(Message::tool_result("c1", format!("a{}", "ü".repeat(700)), false));
    let sanitized = sanitize(&list, &WireRules::openai_chat(), &facts);
    let text = sanitized.messages[2].results().next().expect("the result is still there").text();
    assert!(text.starts_with("aüü") && text.ends_with("üü"), "{text}");
    assert_eq!(violations(&sanitized.messages, &WireRules::openai_chat(), &facts), []);
}

#[test]
fn c15_openai_takes_no_document_by_its_address_and_openrouter_does() {
    let input = "user:
         + document application/pdf url https://example.org/a.pdf
         + document application/pdf base64 AAAA
         + image image/png url https://example.org/a.png
         + text: see all";
    check(
        &WireRules::openai_chat(),
        input,
        expect![[r#"
        ?? message 0 block 0: pictures and documents are not taken
        user: (application/pdf left out: not taken here)
        + document application/pdf base64 AAAA
        + image image/png url "https://example.org/a.png"
        + text: see all
        -- replaced media (1) by words: not taken on this wire
    "#]],
    );
    check_legal(&WireRules::openrouter(), input);
    check_legal(&WireRules::openai_responses(), input);
}

#[test]
fn c15_bedrock_fetches_from_amazons_storage_only_and_knows_a_few_types() {
    check(
        &WireRules::bedrock_claude(),
        "user:
         + document application/pdf url https://example.org/a.pdf
         + document application/pdf url s3://bucket/a.pdf
         + document text/x-rust;charset=utf-8 base64 AAAA
         + document video/mp4 base64 AAAA
         + image Image/PNG base64 AAAA
         + image image/tiff base64 AAAA
         + text: see all
         assistant:
         + call c1 read {}
         result c1: here
         ++ image image/png url https://example.org/a.png
         ++ image image/webp url s3://bucket/a.webp",
        expect![[r#"
            ?? message 0 block 0: pictures and documents are not taken
            ?? message 0 block 3: pictures and documents are not taken
            ?? message 0 block 5: pictures and documents are not taken
            ?? message 2 block 0: pictures and documents are not taken
            user: (application/pdf left out: not taken here)
            + document application/pdf url "s3://bucket/a.pdf"
            + document "text/x-rust;charset=utf-8" base64 AAAA
            + text: (video/mp4 left out: not taken here)
            + image Image/PNG base64 AAAA
            + text: (image/tiff left out: not taken here)
            + text: see all
            assistant:
            + call c1 read {}
            result c1: here
            ++ text: (image/png left out: not taken here)
            ++ image image/webp url "s3://bucket/a.webp"
            -- replaced media (1) by words: not taken on this wire
            -- replaced media (1) by words: not taken on this wire
            -- replaced media (1) by words: not taken on this wire
            -- replaced media (1) by words: not taken on this wire
        "#]],
    );
}

#[test]
fn c15_gemini_reads_no_vector_graphics_and_no_office_files() {
    let media = r"user: look
         + image image/svg+xml base64 AAAA
         + image IMAGE/HEIC;q=1 base64 AAAA
         + document application/pdf base64 BBBB
         + document application/json base64 BBBB
         + document video/mp4 base64 BBBB
         + image image/svg+xml url https://example.org/a.svg
         assistant:
         + call c1 draw {}
         result c1: drawn
         ++ image image/svg+xml base64 AAAA
         ++ image image/gif base64 AAAA";
    let mut rules = WireRules::gemini_2();
    rules.media_in_results = true;
    check(
        &rules,
        media,
        expect![[r#"
        ?? message 0 block 1: pictures and documents are not taken
        ?? message 0 block 4: pictures and documents are not taken
        ?? message 2 block 0: pictures and documents are not taken
        user: look
        + text: (image/svg+xml left out: not taken here)
        + image "IMAGE/HEIC;q=1" base64 AAAA
        + document application/pdf base64 BBBB
        + text: (application/json left out: not taken here)
        + document video/mp4 base64 BBBB
        + image "image/svg+xml" url "https://example.org/a.svg"
        assistant:
        + call c1 draw {}
        result c1: drawn
        ++ text: (image/svg+xml left out: not taken here)
        ++ image image/gif base64 AAAA
        -- replaced media (1) by words: not taken on this wire
        -- replaced media (1) by words: not taken on this wire
        -- replaced media (1) by words: not taken on this wire
    "#]],
    );
    check_legal(
        &WireRules::gemini_2(),
        r"user: look
         + image image/png base64 AAAA
         + image image/avif base64 AAAA
         + document text/csv base64 BBBB
         + document audio/wav base64 BBBB
         + document application/x-python base64 BBBB",
    );
}

#[test]
fn c15_ollama_takes_the_bytes_of_pictures_and_no_documents() {
    check(
        &WireRules::ollama(),
        "user: look
         + image image/png base64 AAAA
         + image image/png url https://example.org/a.png
         + document application/pdf base64 BBBB",
        expect![[r#"
            ?? message 0 block 2: pictures and documents are not taken
            ?? message 0 block 3: pictures and documents are not taken
            user: look
            + image image/png base64 AAAA
            + text: (image/png left out: not taken here)
            + text: (application/pdf left out: not taken here)
            -- replaced media (1) by words: not taken on this wire
            -- replaced media (1) by words: not taken on this wire
        "#]],
    );
}
