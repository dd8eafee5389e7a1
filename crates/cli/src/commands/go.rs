//! `trunkline go`: the head is put on any node.

use crate::args::moves::Go;
use crate::desk::place::Place;
use crate::live::moving::{Wanted, carry_out};
use crate::term::fault::{Exit, Fault};

/// `trunkline go`.
pub(crate) async fn run(args: &Go, place: &Place) -> Result<Exit, Fault> {
    carry_out(args.session.as_deref(), Wanted::Go { to: &args.node }, args.wait, place).await
}
