//! Asks again where a service said what it wants otherwise. What is learned is planned in [`acts`](trunkline_session_machine::acts::service).

use crate::writer::Writer;
use trunkline_session_machine::RuntimeError;
use trunkline_session_machine::acts::service::{Learned, learn, note_asked, shrink};

/// Notes whom the next request goes to, where that was named by its address and is news.
pub(crate) async fn note_who_is_asked(writer: &mut Writer) -> Result<(), RuntimeError> {
    let plan = note_asked(&writer.view(), writer.settings().url.as_deref());
    writer.write(plan, None).await
}

/// After a list that was too long and cannot be summed up: takes the window for so small that the largest result is cut, and
/// returns whether that is news.
pub(crate) async fn shrink_window(writer: &mut Writer, fault: &RuntimeError) -> Result<bool, RuntimeError> {
    let RuntimeError::Provider(fault) = fault else { return Ok(false) };
    let plan = shrink(&writer.view(), fault, writer.cuts);
    let shrunk = writer.write(plan, None).await?;
    writer.cuts += u8::from(shrunk);
    Ok(shrunk)
}

/// After a request that was refused: notes what the service wants otherwise, if it said so, and returns whether it can be
/// asked again. What was learned in vain is dropped.
pub(crate) async fn learn_from(writer: &mut Writer, fault: &RuntimeError) -> Result<bool, RuntimeError> {
    let RuntimeError::Provider(fault) = fault else { return Ok(false) };
    let plan = learn(&writer.view(), fault, &writer.on_trial);
    match writer.write(plan, None).await? {
        Learned::Wants(mut learned) => {
            writer.on_trial.append(&mut learned);
            return Ok(true);
        }
        Learned::Nothing { forgets: true } => writer.on_trial.clear(),
        Learned::Nothing { .. } => {}
    }
    Ok(false)
}
