//! Looks at the files for runs and around calls. What is recorded of it is planned in [`acts`](trunkline_session_machine::acts::look).

use crate::writer::Writer;
use trunkline_session_machine::RuntimeError;
use trunkline_session_machine::acts::look;

/// Looks when the last of calls that may change files has ended.
pub(crate) async fn look_after(writer: &mut Writer) -> Result<(), RuntimeError> {
    writer.perform(look::after).await
}

/// Looks where calls were cut off, or did not stop, and nobody has looked since.
pub(crate) async fn look_late(writer: &mut Writer) -> Result<(), RuntimeError> {
    writer.perform(look::late).await
}
