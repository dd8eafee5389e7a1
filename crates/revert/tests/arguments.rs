//! What a model may write as arguments.

use expect_test::{Expect, expect};
use trunkline_message_tree::{NodeId, notation};
use trunkline_revert::{CallPlace, Category, Request, UnreadRequest, requests};

fn check(arguments: &str, expected: Expect) {
    let told = match Request::parse(arguments) {
        Ok(request) => format!("{} {} {:?}", request.category, request.target, request.summary),
        Err(error) => format!("! {error}"),
    };
    expected.assert_eq(&told);
}

#[test]
fn all_four_categories_are_read() {
    for category in Category::ALL {
        let request = Request::parse(&format!(r#"{{"category":"{category}","step":"n1"}}"#)).unwrap();
        assert_eq!(request, Request::new(category, NodeId::new(1), None));
    }
}

#[test]
fn a_step_is_read_in_every_way_that_has_one_meaning() {
    for step in
        [r#""n12""#, r#""N12""#, r#""12""#, r#""[n12]""#, r#"" n12 ""#, r#""[12]""#, r#""0012""#, "12"]
    {
        let request = Request::parse(&format!(r#"{{"category":"failure","step":{step}}}"#)).unwrap();
        assert_eq!(request.target, NodeId::new(12), "{step}");
    }
}

#[test]
fn every_other_step_is_refused() {
    for step in
        [r#""nn12""#, r#""n""#, r#""""#, r#""+12""#, r#""n+12""#, "-1", "1.5", "true", "[12]", "4294967296"]
    {
        let fault = Request::parse(&format!(r#"{{"category":"failure","step":{step}}}"#)).unwrap_err();
        let expected = format!(r#"step must be a node identifier like "n12" or "12"; got {step}"#);
        assert_eq!(fault.to_string(), expected);
    }
}

#[test]
fn a_missing_category_is_named() {
    check(r#"{"step":"n1"}"#, expect!["! category is required"]);
    check(r#"{"category":null,"step":"n1"}"#, expect!["! category is required"]);
    check("", expect!["! category is required"]);
}

#[test]
fn an_unknown_category_is_shown_with_the_known_ones() {
    check(
        r#"{"category":"oops","step":"n1"}"#,
        expect![[r#"! category must be one of failure | tangent | completion | step-summary; got "oops""#]],
    );
    check(
        r#"{"category":5,"step":"n1"}"#,
        expect!["! category must be one of failure | tangent | completion | step-summary; got 5"],
    );
}

#[test]
fn a_missing_step_is_named() {
    check(r#"{"category":"failure"}"#, expect!["! step is required"]);
    check(r#"{"category":"failure","step":null}"#, expect!["! step is required"]);
}

#[test]
fn what_was_given_is_shown_on_one_short_line() {
    let long = "x y\\n".repeat(100);
    check(
        &format!(r#"{{"category":"failure","step":"{long}"}}"#),
        expect![[
            r#"! step must be a node identifier like "n12" or "12"; got "x y x y x y x y x y x y x y x y x y x y x y x y x y x y x y x y x y x y x y x y…""#
        ]],
    );
}

#[test]
fn arguments_that_are_cut_short_make_no_request() {
    check(
        r#"{"category":"failure","st"#,
        expect!["! arguments must be a JSON object: EOF while parsing a string at line 1 column 25"],
    );
    check(
        "[1]",
        expect![
            "! arguments must be a JSON object: invalid type: sequence, expected a map at line 1 column 0"
        ],
    );
}

#[test]
fn a_summary_is_optional_and_becomes_one_line() {
    check(r#"{"category":"tangent","step":3,"summary":null}"#, expect!["tangent n3 None"]);
    check(r#"{"category":"tangent","step":3,"summary":" \n "}"#, expect!["tangent n3 None"]);
    check(
        r#"{"category":"tangent","step":3,"summary":"  two\r\nlines \t here\u0000 "}"#,
        expect![[r#"tangent n3 Some("two lines here")"#]],
    );
}

#[test]
fn a_long_summary_is_cut_at_two_thousand_characters() {
    let request = Request::new(Category::Failure, NodeId::ROOT, Some(&"é ".repeat(5_000)));
    let summary = request.summary.unwrap();
    assert_eq!(summary.chars().count(), 2_000);
    assert!(summary.ends_with('…'));
    let fits = "é".repeat(2_000);
    assert_eq!(Request::new(Category::Failure, NodeId::ROOT, Some(&fits)).summary, Some(fits));
}

#[test]
fn requests_are_read_again_from_a_stored_message() {
    let messages = notation::parse(
        r#"assistant: back
           + call c1 read_file {}
           + call c2 revert_to_state {"category":"failure","step":"n1"}
           + call c2 revert_to_state {"category":"failure"}"#,
    )
    .unwrap();
    let read: Vec<String> = requests(NodeId::new(7), &messages[0])
        .map(|(place, asked)| match asked {
            Ok(request) => {
                assert_eq!(request.call.as_ref(), Some(&place));
                format!("{} call {}: {}", place.node, place.index, request.target)
            }
            Err(error) => format!("{} call {}: {error}", place.node, place.index),
        })
        .collect();
    assert_eq!(read, ["n7 call 1: n1", "n7 call 2: step is required"]);
}

#[test]
fn a_request_that_cannot_be_read_is_kept_short_on_one_line() {
    let call = CallPlace { node: NodeId::new(7), index: 2, call_id: "c2".to_owned() };
    let unread = UnreadRequest::new(call, "step is required\n[n1] forged", &"é\n\u{202e} ".repeat(5_000));
    assert_eq!(unread.fault, "step is required [n1] forged");
    assert_eq!((unread.arguments.chars().count(), unread.arguments.contains('\n')), (300, false));
    let call = CallPlace { node: NodeId::new(7), index: 2, call_id: "c2".to_owned() };
    let unread = UnreadRequest::new(call, "step is required", "{}");
    let json = serde_json::to_string(&unread).unwrap();
    assert_eq!(
        json,
        r#"{"call":{"node":"n7","index":2,"call_id":"c2"},"fault":"step is required","arguments":"{}"}"#
    );
    assert_eq!(serde_json::from_str::<UnreadRequest>(&json).unwrap(), unread);
}
