//! When a run ends: by its answer, by a person, by a letter. What is done until it has its verdict is planned in
//! [`acts`](trunkline_session_machine::acts::closing).

use trunkline_decision_objects::Verdict;
use trunkline_session_machine::acts::close::Ended;
use trunkline_session_machine::acts::close_request;
use trunkline_session_machine::acts::closing::Closing;
use trunkline_session_machine::{Event, RuntimeError, Stop};

use crate::driver::bind::{bind_decided, settle_binding, tell_staged};
use crate::writer::Writer;

/// Gives the open run its verdict: computes what changed, commits it if that is wanted, and records the decision.
pub(crate) async fn conclude(writer: &mut Writer) -> Result<Stop, RuntimeError> {
    let Some(mut closing) = Closing::of(&writer.view()) else { return Ok(Stop::Idle) };
    let again = writer.find_out(|view, asked| closing.still_stands(view, asked)).await?;
    if let Some(decision) = closing.heard(settle_binding(writer, again).await?, None) {
        return Ok(Stop::Decided(decision));
    }
    loop {
        closing.begin_try(&writer.view())?;
        let found = writer.perform(|view, asked| closing.announce(view, asked)).await?;
        let (decision, bound) =
            match writer.perform(|view, asked| closing.conclude(view, asked, &found)).await? {
                Ended::Not => return Ok(Stop::Idle),
                Ended::Decided(decision) => (decision, false),
                Ended::ToBind(prepared) => {
                    let settled = settle_binding(writer, true).await?;
                    let Some(decision) = closing.heard(settled, Some(prepared)) else { continue };
                    (decision, true)
                }
            };
        tell_others(writer, found.others);
        if !bound {
            tell_staged(writer, &decision).await;
            bind_decided(writer).await?;
        }
        return Ok(Stop::Decided(decision));
    }
}

/// Ends the open run as its model asked and as was approved. Returns why the drive ends, unless another run tries again.
pub(crate) async fn close_as_asked(writer: &mut Writer) -> Result<Option<Stop>, RuntimeError> {
    let (decision, others) = writer.perform(close_request::close_as_asked).await?;
    tell_others(writer, others);
    bind_decided(writer).await?;
    let goes_on = matches!(decision.verdict(), Verdict::Retry { .. });
    Ok((!goes_on).then(|| Stop::Decided(Box::new(decision))))
}

/// Tells which files were left alone because somebody else has changed them.
pub(crate) fn tell_others(writer: &Writer, files: Vec<String>) {
    if !files.is_empty() {
        writer.tell(&Event::LeftAlone { files });
    }
}
