//! Distributes a store over the servers of a Citus: shown first, and done when that is agreed to.

use trunkline_session_store::Distributed;

use super::agreement::is_agreed;
use crate::args::store::DistributeArgs;
use crate::desk::place::Place;
use crate::term::fault::{Exit, Fault};
use crate::term::out;
use crate::term::style::{DIM, paint};
use crate::term::tell::tell;
use crate::term::text::{count, one_line};

const WHAT: &str = "\
the tables of the store are distributed by session over the servers of this Citus, with what they hold;
who writes meanwhile waits, and may be told that the store is busy
";

/// `trunkline store distribute`.
pub(super) async fn run(args: &DistributeArgs, place: &Place) -> Result<Exit, Fault> {
    let Some(admin) = place.admin().await? else {
        return Err(Fault::usage("the store is a file, and only a store on a server is distributed")
            .hint("name one with --store postgres://…, whose database has Citus"));
    };
    if !args.yes {
        tell(WHAT);
    }
    if !is_agreed(
        args.yes,
        "distribute the store?",
        "nothing is distributed",
        "store distribute --yes",
        place,
    )? {
        return Ok(Exit::Failure);
    }
    let done = admin.distribute(|table| tell(&paint(DIM, &format!("  {}\n", one_line(table, 80))))).await;
    admin.close().await;
    let done = done?;
    out::print(&shown(&done))?;
    if !done.tables.is_empty() {
        tell(&paint(DIM, "  programs that have it open go on; opened again, they write by shards\n"));
    }
    Ok(Exit::Done)
}

/// Returns what was done, in lines.
fn shown(done: &Distributed) -> String {
    let number = |of: u64| usize::try_from(of).unwrap_or(usize::MAX);
    let place =
        format!("{} on {}", count(number(done.shards), "shard"), count(number(done.servers), "server"));
    let mut lines = match done.tables.len() {
        0 => format!("the store is distributed already, in {place}\n"),
        tables => format!("{} distributed, in {place}\n", count(tables, "table")),
    };
    if !done.gathered.is_empty() {
        lines.push_str(&format!("gathered on one server again: {}\n", done.gathered.join(", ")));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_done_is_told_in_lines() {
        let mut done = Distributed::default();
        (done.shards, done.servers) = (32, 1);
        assert_eq!(shown(&done), "the store is distributed already, in 32 shards on 1 server\n");
        (done.tables, done.gathered, done.servers) =
            (vec!["sessions".to_owned()], vec!["owners".to_owned()], 2);
        assert_eq!(
            shown(&done),
            "1 table distributed, in 32 shards on 2 servers\ngathered on one server again: owners\n"
        );
    }
}
