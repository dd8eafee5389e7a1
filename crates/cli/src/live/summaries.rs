//! The end of a run waits for the summaries that are still asked for, and not for long: without them the notes stand that say
//! what was called.

use std::time::Duration;

use trunkline_runtime::{Cancel, Session};

use crate::live::progress::Progress;
use crate::term::style::{DIM, YELLOW, paint};
use crate::term::text::one_line;

/// How long the end of a run waits for all of them together. A small model answers within it; whoever waits at a terminal has
/// the answer already.
const LONGEST: Duration = Duration::from_secs(10);

/// Waits for what is still asked for, until it has come, the time is over, or somebody cancels. What comes later is asked for
/// once more when the session goes on.
pub(crate) async fn await_summaries(progress: &Progress, session: &mut Session, cancel: &Cancel) {
    let waiting = progress.summaries_asked();
    if waiting == 0 || cancel.is_cancelled() {
        return;
    }
    let (what, seconds) = (count_of(waiting), LONGEST.as_secs());
    progress.line(&paint(DIM, &format!("… waiting for {what}, {seconds} s at most; Ctrl-C goes on without")));
    let ended = tokio::select! {
        () = cancel.cancelled() => None,
        ended = tokio::time::timeout(LONGEST, session.finish_summaries()) => ended.ok(),
    };
    match ended {
        Some(Ok(())) => {}
        Some(Err(fault)) => {
            let why = one_line(&fault.to_string(), 200);
            progress.line(&paint(YELLOW, &format!("⤺ not written: {what}: {why}")));
        }
        None => {
            let left = count_of(progress.summaries_asked());
            progress.line(&paint(
                YELLOW,
                &format!("⤺ {left} did not come in time; the notes say what was called"),
            ));
        }
    }
}

fn count_of(summaries: usize) -> String {
    if summaries == 1 { "1 summary".to_owned() } else { format!("{summaries} summaries") }
}
