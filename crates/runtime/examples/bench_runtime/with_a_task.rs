//! A turn of a session that says what it is for and works on a task, against the same turn of one that does not.

use trunkline_runtime::orders::Order;
use trunkline_runtime::{Agent, NewTask};

use super::long_sessions::{Outcome, Times, open, store};
use super::{SHORT, turn};

/// How much dearer a turn may be: nothing is written for each call or answer, and what is counted is counted by the fold.
pub(crate) const BAR: f64 = 1.01;
/// After so many turns both sessions are new ones.
const FRESH_AFTER: usize = 20;
/// A difference of a hundredth takes more turns to see than one of a fifth.
const TIMES: usize = 10;

/// Measures turns of both agents' sessions, one after the other; which one is first changes each time.
pub(crate) async fn measure(
    (plain, keeping): (Agent, Agent),
    turns: usize,
    prompt: &str,
) -> Outcome<(Times, Times)> {
    let store = store(None).await?;
    let (mut without, mut with) = (Times::default(), Times::default());
    for _ in 0..(turns * TIMES).div_ceil(FRESH_AFTER) {
        let mut one = open(&plain, &store, SHORT).await?;
        let mut other = open(&keeping, &store, SHORT).await?;
        let task = NewTask::new("mend the failing test");
        other.order(Order::GiveTask { task }).await?;
        // The first turn of a session writes what later ones do not.
        turn(&mut one, prompt).await?;
        turn(&mut other, prompt).await?;
        for round in 0..FRESH_AFTER {
            if round % 2 == 0 {
                without.0.push(turn(&mut one, prompt).await?);
                with.0.push(turn(&mut other, prompt).await?);
            } else {
                with.0.push(turn(&mut other, prompt).await?);
                without.0.push(turn(&mut one, prompt).await?);
            }
        }
    }
    Ok((without, with))
}
