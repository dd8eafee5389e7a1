//! `trunkline undo`: the latest move of the head is taken back.

use crate::args::Sent;
use crate::desk::place::Place;
use crate::live::moving::{Wanted, carry_out};
use crate::term::fault::{Exit, Fault};

/// `trunkline undo`.
pub(crate) async fn run(args: &Sent, place: &Place) -> Result<Exit, Fault> {
    carry_out(args.session.as_deref(), Wanted::Undo, args.wait, place).await
}
