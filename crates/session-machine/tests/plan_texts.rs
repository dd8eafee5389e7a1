//! The text of plans: what a model and a person may write.

use expect_test::{Expect, expect};
use proptest::prelude::*;
use serde_json::{Map, Value};
use trunkline_session_machine::{PlanText, PlanTextError};

fn check(arguments: &str, expected: Expect) {
    let arguments: Map<String, Value> = serde_json::from_str(arguments).unwrap();
    expected.assert_eq(&told(PlanText::of_arguments(&arguments)));
}

fn check_text(text: &str, expected: Expect) {
    expected.assert_eq(&told(PlanText::parse(text)));
}

fn told<E: std::fmt::Display>(read: Result<PlanText, E>) -> String {
    match read {
        Ok(plan) => plan.to_string(),
        Err(fault) => format!("{fault}\n"),
    }
}

#[test]
fn a_step_is_a_text_or_says_also_how_one_sees_that_it_is_done() {
    check(
        r#"{"title":"Greet","steps":["write a",{"text":"test\nall of it","done_when":"cargo test"}]}"#,
        expect![[r#"
            Greet

            1. write a
            2. test
               all of it
               done when: cargo test
        "#]],
    );
}

#[test]
fn what_cannot_be_seen_is_taken_out() {
    check(
        r##"{"title":"# Gr\u001b[31meet\u202e\nall","steps":["\u0007write\u200b a\r\n\n\n  # and b  ","Done when: twice","x"]}"##,
        expect![[r#"
            step 2 of the plan says nothing
        "#]],
    );
    check(
        r##"{"title":"# Gr\u001b[31meet\u202e\nall","steps":["\u0007write\u200b a\r\n\n\n  # and b  \ndone WHEN: it\tis"]}"##,
        expect![[r#"
            Gr[31meet all

            1. write a
               # and b
               done when: it is
        "#]],
    );
}

#[test]
fn a_text_of_which_nothing_is_seen_is_none() {
    let blank = [
        "\u{3164}",
        "\u{ffa0}",
        "\u{115f}\u{1160}",
        "\u{200c}",
        "\u{200d}\u{200d}",
        "\u{fe0f}",
        "\u{e0100}\u{e01ef}",
        "\u{2800} \u{3164}",
        "\u{34f}",
        "\u{180b}",
        "\u{17b4}",
        "\u{fff0}",
        "\u{1bca0}",
        "\u{1d173}",
        "\u{e0020}",
        "\u{e0fff}",
    ];
    for text in blank {
        let (title, step) = (PlanText::new(text).step("a").tidied(), PlanText::new("a").step(text).tidied());
        assert_eq!(title, Err(PlanTextError::NoTitle), "{text:?}");
        assert_eq!(step, Err(PlanTextError::EmptyStep { number: 1 }), "{text:?}");
        let done = PlanText::new("a").step("b").done_when(text).tidied().unwrap();
        assert_eq!(done.steps[0].done_when, None, "{text:?}");
    }
}

#[test]
fn signs_that_are_not_drawn_stay_where_they_shape_what_is() {
    let tidied = |title: &str| PlanText::new(title).step("a").tidied().unwrap().title;
    // A family, a heart, Persian, Devanagari, a variant of an ideograph, a keycap, an accent.
    for title in [
        "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}",
        "\u{2764}\u{fe0f}\u{200d}\u{1f525}",
        "\u{645}\u{6cc}\u{200c}\u{62e}",
        "\u{915}\u{94d}\u{200d}\u{937}",
        "\u{845b}\u{e0100}",
        "1\u{fe0f}\u{20e3}",
        "e\u{301}",
    ] {
        assert_eq!(tidied(title), title);
    }
    // Where they shape nothing they only hold what nobody sees.
    for (title, left) in [
        ("a\u{fe0f}\u{fe01}\u{fe02}\u{fe03}b", "a\u{fe0f}b"),
        ("a\u{e0100}\u{e0168}b", "ab"),
        ("\u{845b}\u{e0100}\u{e0101}", "\u{845b}\u{e0100}"),
        ("\u{200d}a \u{200c}b\u{200d}\u{200d}c\u{200d}", "a b\u{200d}c"),
        ("a\u{3164}b\u{2800}", "a b"),
    ] {
        assert_eq!(tidied(title), left, "{title:?}");
        assert_eq!(tidied(left), left, "{title:?}");
    }
}

#[test]
fn what_is_no_plan_is_told() {
    check(
        r#"{"steps":["a"]}"#,
        expect![[r#"
        the plan has no title: say on one line what it is for
    "#]],
    );
    check(
        r#"{"title":" \u0000 ","steps":["a"]}"#,
        expect![[r#"
        the plan has no title: say on one line what it is for
    "#]],
    );
    check(
        r#"{"title":"a"}"#,
        expect![[r#"
        the plan has no steps: say what is to be done, one step after the other
    "#]],
    );
    check(
        r#"{"title":"a","steps":[]}"#,
        expect![[r#"
        the plan has no steps: say what is to be done, one step after the other
    "#]],
    );
    check(
        r#"{"title":"a","steps":"b"}"#,
        expect![[r#"
        the steps are no list; a plan is {"title": TEXT, "steps": [{"text": TEXT, "done_when": TEXT}, …]}
    "#]],
    );
    check(
        r#"{"title":"a","steps":["b",3]}"#,
        expect![[r#"
        step 2 is neither a text nor such an object; a plan is {"title": TEXT, "steps": [{"text": TEXT, "done_when": TEXT}, …]}
    "#]],
    );
    check(
        r#"{"title":"a","steps":["b",{"text":""}]}"#,
        expect![[r#"
        step 2 of the plan says nothing
    "#]],
    );
    check(
        r#"{"title":"a","steps":["b"],"approved":true}"#,
        expect![[r#"
        a plan has no "approved"; a plan is {"title": TEXT, "steps": [{"text": TEXT, "done_when": TEXT}, …]}
    "#]],
    );
}

#[test]
fn what_nobody_would_read_is_refused() {
    let plan = |title: &str, step: String, times: usize| {
        let steps = vec![step; times];
        serde_json::json!({ "title": title, "steps": steps }).to_string()
    };
    check(
        &plan(&"a".repeat(201), "b".to_owned(), 1),
        expect![[r#"
            the title has 201 characters; at most 200 are allowed
        "#]],
    );
    check(
        &plan("a", "b".to_owned(), 101),
        expect![[r#"
            the plan has 101 steps; at most 100 are allowed
        "#]],
    );
    check(
        &plan("a", "b".repeat(4001), 1),
        expect![[r#"
            step 1 has 4001 characters; at most 4000 are allowed
        "#]],
    );
    check(
        &plan("a", "b".repeat(4000), 9),
        expect![[r#"
            the plan has 36001 characters; at most 32000 are allowed
        "#]],
    );
    check(
        &plan("a", "b".repeat(1 << 20), 1),
        expect![[r#"
            the plan has 1048577 bytes; at most 128000 are allowed
        "#]],
    );
}

#[test]
fn a_person_writes_it_as_a_text() {
    check_text(
        "\n# a remark\nGreet\n\n1. write a\n   and b\n - and c\nand d\n\n2) test it\n   done when: cargo test\n* read it\n",
        expect![[r#"
            Greet

            1. write a
               and b
            2. and c
               and d
            3. test it
               done when: cargo test
            4. read it
        "#]],
    );
    check_text(
        "Greet\nwrite a\n",
        expect![[r#"
        line 2 belongs to no step: begin each step with a number, such as `1. …`
    "#]],
    );
    check_text(
        "# nothing\n\n",
        expect![[r#"
        the plan has no title: say on one line what it is for
    "#]],
    );
    check_text(
        "Greet\n",
        expect![[r#"
        the plan has no steps: say what is to be done, one step after the other
    "#]],
    );
    check_text(
        "Greet\n1.\n2. b\n",
        expect![[r#"
        step 1 of the plan says nothing
    "#]],
    );
}

/// Lines of what a plan may hold, and of what looks like its form.
fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-z #.*)-]{0,12}",
        1 => "done when: [a-z]{0,4}",
        1 => "done when: done when:[a-z ]{0,4}",
        1 => "[0-9]{1,2}[.)] [a-z]{0,4}",
        1 => "[a#葛 \u{200c}\u{200d}\u{fe0f}\u{e0100}\u{3164}\u{2060}]{0,8}",
        1 => "done when:[\u{200d}\u{fe0f}a ]{0,4}(done when:)?[\u{200d}\u{fe0f}a ]{0,4}",
        1 => "\\PC{0,6}",
        1 => any::<String>(),
    ]
}

proptest! {
    #[test]
    fn what_is_printed_is_read_back(title in line(), steps in prop::collection::vec((prop::collection::vec(line(), 0..4), prop::option::of(line())), 0..4)) {
        let mut plan = PlanText::new(title);
        for (lines, done) in steps {
            plan = plan.step(lines.join("\n"));
            if let Some(done) = done {
                plan = plan.done_when(done);
            }
        }
        if let Ok(tidy) = plan.tidied() {
            prop_assert_eq!(PlanText::parse(&tidy.to_string()), Ok(tidy.clone()));
            prop_assert_eq!(tidy.clone().tidied(), Ok(tidy));
        }
    }

    #[test]
    fn whatever_is_read_is_read_without_a_panic(text in "(\\PC|\\n|\\t|#|-|[0-9]|\\.| ){0,60}") {
        if let Ok(plan) = PlanText::parse(&text) {
            prop_assert!(!plan.title.is_empty() && !plan.steps.is_empty());
        }
    }
}
