//! Signals to stop that stand below others.

use std::time::Duration;

use trunkline_agent_traits::Cancel;

#[tokio::test(start_paused = true)]
async fn a_signal_stops_what_is_below_it_and_nothing_above() {
    let all = Cancel::new();
    let (one, other) = (all.child(), all.child().child());
    one.cancel();
    assert!(one.is_cancelled() && !all.is_cancelled() && !other.is_cancelled());
    let waits = tokio::spawn({
        let other = other.clone();
        async move { other.cancelled().await }
    });
    tokio::task::yield_now().await;
    assert!(!waits.is_finished());
    all.cancel();
    waits.await.unwrap();
    assert!(other.is_cancelled());
    assert!(all.child().is_cancelled(), "what is begun after it is over at once");
    all.child().cancelled().await;
}

#[tokio::test(start_paused = true)]
async fn a_signal_with_a_time_stops_when_that_is_over() {
    let all = Cancel::new();
    let one = all.child_within(Duration::from_secs(5));
    let below = one.child();
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert!(!below.is_cancelled());
    below.cancelled().await;
    assert!(below.is_cancelled() && one.is_cancelled() && !all.is_cancelled());
    let long = all.child_within(Duration::MAX);
    assert!(!long.is_cancelled());
    assert!(all.child_within(Duration::ZERO).is_cancelled());
}
