//! `trunkline doctor`.
use crate::args::Doctor;
use crate::fault::{Exit, Fault};
use crate::place::Place;
pub(crate) async fn run(_args: &Doctor, _place: &Place) -> Result<Exit, Fault> {
    Ok(Exit::Done)
}
