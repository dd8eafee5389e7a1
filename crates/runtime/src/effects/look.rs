//! Looks at the files for runs and around calls. What is recorded of it is planned in [`acts`](trunkline_session_machine::acts::look).

use crate::writer::Writer;
use trunkline_session_machine::acts::look;
use trunkline_session_machine::layers::decision::Start;
use trunkline_session_machine::{Base, RuntimeError, WorkspaceFault};

/// Returns how the files are now, for a run that begins.
pub(crate) async fn base(writer: &Writer) -> Result<Start, WorkspaceFault> {
    let Some(workspace) = &writer.settings().workspace else { return Ok(Start::default()) };
    Ok(match workspace.look().await? {
        Some(base) => Start { base, looks: true },
        None => Start { base: workspace.base().await?, looks: false },
    })
}

/// Looks when the last of calls that may change files has ended.
pub(crate) async fn look_after(writer: &mut Writer) -> Result<(), RuntimeError> {
    writer.perform(look::after).await
}

/// Looks where calls were cut off, or did not stop, and nobody has looked since.
pub(crate) async fn look_late(writer: &mut Writer) -> Result<(), RuntimeError> {
    writer.perform(look::late).await
}

/// Returns how the files are now, or why that cannot be told.
pub(crate) async fn look_at_files(writer: &Writer) -> Result<Base, String> {
    let Some(workspace) = &writer.settings().workspace else {
        return Err("this session was opened without its folder".to_owned());
    };
    match workspace.look().await {
        Ok(Some(files)) => Ok(files),
        Ok(None) => Err("what changes between two looks cannot be told here any more".to_owned()),
        Err(fault) => Err(fault.message),
    }
}
