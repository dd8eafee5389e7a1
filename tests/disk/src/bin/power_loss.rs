//! Cuts the power under SQLite and under the store: `power-loss [--seed N] [--minutes N]`.
//!
//! Each round lives another life of each kind, and runs the kit on a disk that fails or kills at any write. Ends with
//! status 1 if something that was acknowledged is lost, or if a life that must lose something does not: then the
//! simulation is blind.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

use std::process::ExitCode;
use std::time::{Duration, Instant};

use trunkline_disk::{Figures, stories, subject};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let Some(("writer", words)) = words.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        let Err(words) = subject::write_for_ever(words);
        return problem(&words);
    }
    let (mut seed, mut minutes) = (1, 0);
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        match (word.as_str(), words.next().and_then(|number| number.parse::<u64>().ok())) {
            ("--seed", Some(number)) => seed = number,
            ("--minutes", Some(number)) => minutes = number,
            _ => return problem("--seed and --minutes want a number each, and there is nothing else to say"),
        }
    }
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return problem(&error.to_string()),
    };
    let end = Instant::now() + Duration::from_secs(60 * minutes);
    let mut sums = vec![Figures::default(); stories::ALL.len()];
    loop {
        println!("-- seed {seed}");
        let mut wrong = 0;
        for (story, sum) in stories::ALL.iter().zip(&mut sums) {
            let lived = runtime.block_on(story.live(seed, 3));
            match lived {
                Ok(figures) => {
                    println!("{story}: {figures}");
                    wrong += usize::from(!story.ends_well(&figures));
                    sum.add(figures);
                }
                Err(words) => {
                    println!("{story}: {words}");
                    wrong += 1;
                }
            }
        }
        match subject::try_everything(seed) {
            Ok(report) => {
                print!("{report}");
                wrong += usize::from(!report.is_ok());
            }
            Err(words) => return problem(&words),
        }
        if wrong > 0 {
            println!("{wrong} stories did not end as they should; --seed {seed} lives these lives again");
            return ExitCode::FAILURE;
        }
        if Instant::now() >= end {
            break;
        }
        seed += 1;
    }
    println!("-- all rounds");
    for (story, sum) in stories::ALL.iter().zip(&sums) {
        println!("{story}: {sum}");
    }
    ExitCode::SUCCESS
}

fn problem(words: &str) -> ExitCode {
    eprintln!("power-loss: {words}");
    ExitCode::from(2)
}
