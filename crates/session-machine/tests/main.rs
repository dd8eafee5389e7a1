//! What an agent session does next, tried without a task and without a store.

use trunkline_session_machine::reading::across;

#[test]
fn queries_name_the_layer_that_writes() {
    assert_eq!(across::verdicts(), across::verdicts());
}
