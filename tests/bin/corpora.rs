//! Holds every wire against a folder of recorded exchanges: `corpora FOLDER [--splits N]`.
//!
//! The folder may be the whole corpora or any part of them; `TRUNKLINE_CORPORA` names it if no argument does. Ends with
//! status 1 if an answer or a request fails, and with 2 if there is nothing to read.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

use std::path::PathBuf;
use std::process::ExitCode;

use trunkline_tests::{corpora, recorded};

// Enough to find what one in ten places of a stream would break; a run takes a few seconds.
const SPLITS: u32 = 24;

fn main() -> ExitCode {
    let mut folder = std::env::var_os("TRUNKLINE_CORPORA").map(PathBuf::from);
    let mut splits = SPLITS;
    let mut words = std::env::args_os().skip(1);
    while let Some(word) = words.next() {
        if word == "--splits" {
            match words.next().and_then(|number| number.to_str()?.parse().ok()) {
                Some(number) => splits = number,
                None => return problem("--splits wants a number"),
            }
        } else {
            folder = Some(PathBuf::from(word));
        }
    }
    let Some(folder) = folder else { return problem("name a folder, or set TRUNKLINE_CORPORA") };
    let recordings = match recorded::read_folder(&folder) {
        Ok(recordings) if recordings.exchanges.is_empty() => {
            return problem(&format!("no recorded exchange below {}", folder.display()));
        }
        Ok(recordings) => recordings,
        Err(words) => return problem(&words),
    };
    let report = corpora::run(&recordings, splits);
    print!("{report}");
    let failures = report.failures();
    println!("\n{}", if failures == 0 { "all is well".to_owned() } else { format!("{failures} faults") });
    ExitCode::from(u8::from(failures > 0))
}

fn problem(words: &str) -> ExitCode {
    eprintln!("corpora: {words}");
    ExitCode::from(2)
}
