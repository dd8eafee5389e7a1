//! `trunkline redo`: the move is made again that was taken back.

use crate::args::Sent;
use crate::desk::place::Place;
use crate::live::moving::{Wanted, carry_out};
use crate::term::fault::{Exit, Fault};

/// `trunkline redo`.
pub(crate) async fn run(args: &Sent, place: &Place) -> Result<Exit, Fault> {
    carry_out(args.session.as_deref(), Wanted::Redo, args.wait, place).await
}
