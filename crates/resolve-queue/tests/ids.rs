//! Ids are read leniently from people and strictly from logs.

use expect_test::{Expect, expect};
use proptest::prelude::*;
use trunkline_resolve_queue::{Attempt, ProposalId};

#[test]
fn what_people_write_is_understood() {
    for text in ["p12", "P12", "12", "[p12]", " [ 12 ] ", "p012"] {
        check(text, expect!["p12"]);
    }
}

#[test]
fn what_names_nothing_is_refused() {
    check("", expect!["`` is not a proposal's id such as p12"]);
    check("p", expect!["`p` is not a proposal's id such as p12"]);
    check("p+1", expect!["`p+1` is not a proposal's id such as p12"]);
    check("n12", expect!["`n12` is not a proposal's id such as p12"]);
    check("[p12", expect!["`[p12` is not a proposal's id such as p12"]);
    check("p4294967296", expect!["`p4294967296` is not a proposal's id such as p12"]);
}

#[test]
fn a_log_has_one_spelling() {
    let read = |text: &str| serde_json::from_str::<ProposalId>(text).map_err(|e| e.to_string());
    assert_eq!(read("\"p12\""), Ok(ProposalId(12)));
    for text in ["\"12\"", "\"P12\"", "\"p012\"", "\"[p12]\"", "12"] {
        assert!(read(text).is_err(), "{text}");
    }
}

proptest! {
    #[test]
    fn what_is_printed_is_read_back(proposal: u32, number: u32) {
        let id = ProposalId(proposal);
        let attempt = Attempt { proposal: id, number };
        prop_assert_eq!(id.to_string().parse(), Ok(id));
        prop_assert_eq!(attempt.to_string().parse(), Ok(attempt));
    }

    #[test]
    fn any_text_is_read_or_refused(text: String) {
        let _ = text.parse::<ProposalId>();
        let _ = text.parse::<Attempt>();
    }
}

#[track_caller]
fn check(text: &str, expected: Expect) {
    let answer = match text.parse::<ProposalId>() {
        Ok(id) => id.to_string(),
        Err(error) => error.to_string(),
    };
    expected.assert_eq(&answer);
}
