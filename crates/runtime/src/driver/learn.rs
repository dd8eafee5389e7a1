//! What a refusal teaches of the service.

use trunkline_session_machine::RuntimeError;
use trunkline_session_machine::acts::service::{Learned, learn};

use crate::writer::Writer;

/// After a request that was refused: notes what the service wants otherwise, if it said so, and returns whether it can be
/// asked again. What was learned in vain is dropped.
pub(crate) async fn learn_from(writer: &mut Writer, fault: &RuntimeError) -> Result<bool, RuntimeError> {
    let RuntimeError::Provider(fault) = fault else { return Ok(false) };
    let plan = learn(&writer.view(), fault, &writer.facts.on_trial);
    match writer.write(plan, None).await? {
        Learned::Wants(mut learned) => {
            writer.facts.on_trial.append(&mut learned);
            return Ok(true);
        }
        Learned::Nothing { forgets: true } => writer.facts.on_trial.clear(),
        Learned::Nothing { .. } => {}
    }
    Ok(false)
}
