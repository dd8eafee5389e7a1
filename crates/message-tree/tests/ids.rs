//! Node ids as models write them.

use trunkline_message_tree::NodeId;

#[test]
fn a_model_may_write_an_id_in_every_way_that_has_one_reading() {
    for text in ["n12", "N12", "12", "[n12]", " n12\n", "[ 12 ]", "0012", "n012"] {
        assert_eq!(text.parse(), Ok(NodeId::new(12)), "{text:?}");
    }
}

#[test]
fn what_could_mean_something_else_is_refused() {
    for text in
        ["", "n", "[n12", "n12]", "nn12", "+12", "n+12", "-1", "1 2", "n12.0", "４", "4294967296", "m3"]
    {
        assert!(text.parse::<NodeId>().is_err(), "{text:?}");
    }
}

#[test]
fn a_refusal_quotes_at_most_forty_characters() {
    let fault = "x".repeat(10_000).parse::<NodeId>().unwrap_err();
    assert!(fault.to_string().len() < 100);
}
