//! How a process becomes the writer of a session.

use std::sync::Arc;

use trunkline_session_machine::RuntimeError;
use trunkline_session_store::{Claim, SessionId, SessionStore};

use super::Session;
use crate::driver::bind::take_up_bindings;
use crate::driver::decide::adopt_rules;
use crate::driver::letters::distrust_import;
use crate::driver::recover::recover;
use crate::driver::roll_back::try_rest_of_rollback;
use crate::writer::open;
use crate::writer::settings::Settings;

/// Becomes the writer of a session, and settles what an earlier one has left half done.
pub(crate) async fn open_session(
    settings: Arc<Settings>,
    store: Arc<dyn SessionStore>,
    id: &SessionId,
    claim: Claim,
) -> Result<Session, RuntimeError> {
    let mut writer = open(settings, store, id, claim).await?;
    recover(&mut writer).await?;
    distrust_import(&mut writer).await?;
    adopt_rules(&mut writer).await?;
    take_up_bindings(&mut writer).await?;
    try_rest_of_rollback(&mut writer).await;
    Ok(Session { writer })
}
