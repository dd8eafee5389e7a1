//! Schemas.

use trunkline_session_store::kit::OldPlace;

pub(super) fn old_places(_: &tokio::runtime::Runtime, _: &str) -> Result<Vec<OldPlace>, String> {
    Ok(Vec::new())
}
