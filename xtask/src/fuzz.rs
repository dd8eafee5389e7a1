//! Holds the laws of a crate against new random cases for as long as one likes.
//!
//! The laws are the crate's own property tests in `tests/laws.rs`; each round draws fresh cases. What breaks one is made
//! small, printed, and its seed is written down in `proptest-regressions/`, from where every later test run tries it first.

use std::time::{Duration, Instant};

use crate::cargo::{cargo, passes};
use crate::postgres::Postgres;
use crate::report::Tally;
use crate::workspace::{Crate, Workspace};

/// Cases for each law in one round: half a minute or so.
const CASES: u32 = 100_000;

/// Reads what follows `--minutes`.
pub(crate) fn minutes(word: &str) -> Result<Duration, String> {
    match word.parse::<u64>() {
        Ok(minutes @ 1..=10_000) => Ok(Duration::from_secs(60 * minutes)),
        _ => Err(format!("--minutes wants a whole number from 1 to 10000, not `{word}`")),
    }
}

/// Runs rounds until the time is over or something is found.
pub(crate) fn run(
    workspace: &Workspace,
    postgres: &mut Postgres,
    one: &Crate,
    time: Duration,
) -> Result<Tally, String> {
    if !workspace.root.join(format!("crates/{}/tests/laws.rs", one.name)).exists() {
        return Err(format!("crates/{}/tests/laws.rs is not there: no laws to try", one.name));
    }
    let start = Instant::now();
    let mut tally = Tally::default();
    loop {
        let mut command =
            cargo(workspace, ["test", "--quiet", "--release", "--package", &one.package, "laws::"]);
        command.env("PROPTEST_CASES", CASES.to_string());
        postgres.offer(Some(&one.package), &mut command)?;
        if !passes(&mut command)? {
            println!("the small case is above; put it into crates/{}/tests as a test of its own", one.name);
            tally.failed += 1;
            return Ok(tally);
        }
        tally.passed += 1;
        println!("-- {:.1} min: {} rounds of {CASES} cases for each law", minutes_since(start), tally.passed);
        if start.elapsed() >= time {
            return Ok(tally);
        }
    }
}

fn minutes_since(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() / 60.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minutes_are_whole_and_sane() {
        assert_eq!(minutes("2"), Ok(Duration::from_secs(120)));
        for wrong in ["0", "-1", "1.5", "soon", "99999"] {
            assert!(minutes(wrong).is_err(), "{wrong}");
        }
    }
}
