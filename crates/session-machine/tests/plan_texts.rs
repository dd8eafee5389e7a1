//! The text of plans: what a model and a person may write.

use expect_test::{Expect, expect};
use proptest::prelude::*;
use serde_json::{Map, Value};
use trunkline_session_machine::PlanText;

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
        the title has 201 characters, and 200 are the most: say it in fewer words
    "#]],
    );
    check(
        &plan("a", "b".to_owned(), 101),
        expect![[r#"
        the plan has 101 steps, and 100 are the most: say it in fewer words
    "#]],
    );
    check(
        &plan("a", "b".repeat(4001), 1),
        expect![[r#"
        step 1 has 4001 characters, and 4000 are the most: say it in fewer words
    "#]],
    );
    check(
        &plan("a", "b".repeat(4000), 9),
        expect![[r#"
        the plan has 36001 characters, and 32000 are the most: say it in fewer words
    "#]],
    );
    check(
        &plan("a", "b".repeat(1 << 20), 1),
        expect![[r#"
        the plan has 1048577 bytes, and 128000 are the most: say it in fewer words
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
