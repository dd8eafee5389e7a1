//! Counts, complaints and minutes: what every command prints at its end.
//!
//! A test counts one, and so does every other check (a cargo call, a crate's edges, a house rule that is broken),
//! so a lint that fails cannot hide behind a thousand tests that pass.

use std::ffi::OsStr;
use std::fmt;
use std::ops::AddAssign;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// How many tests or checks passed and failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Those that passed.
    pub(crate) passed: usize,
    /// Those that failed.
    pub(crate) failed: usize,
}

impl Tally {
    /// One check.
    pub(crate) fn of(passed: bool) -> Tally {
        Tally { passed: usize::from(passed), failed: usize::from(!passed) }
    }

    /// Prints the complaints; none is one check that passed.
    pub(crate) fn of_complaints(complaints: &[Complaint]) -> Tally {
        for complaint in complaints {
            println!("{complaint}");
        }
        Tally { passed: usize::from(complaints.is_empty()), failed: complaints.len() }
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)
    }
}

/// A place where a house rule is broken, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Complaint {
    /// A path from the root, with a line number where there is one.
    pub(crate) place: String,
    /// What to do.
    pub(crate) text: String,
}

impl Complaint {
    /// A complaint about a whole file.
    pub(crate) fn file(path: &str, text: impl Into<String>) -> Complaint {
        Complaint { place: path.to_owned(), text: text.into() }
    }

    /// A complaint about a line, counted from 0 as `enumerate` does.
    pub(crate) fn line(path: &str, index: usize, text: impl Into<String>) -> Complaint {
        Complaint { place: format!("{path}:{}", index + 1), text: text.into() }
    }
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.text)
    }
}

/// The steps so far.
#[derive(Default)]
pub(crate) struct Report {
    steps: Vec<Step>,
    skipped: Vec<String>,
    failed_before: Vec<String>,
}

struct Step {
    name: &'static str,
    took: Option<Duration>,
    tally: Tally,
}

impl Report {
    /// Runs a step and keeps what it found. A step that could not run counts as one failure, and the next ones still run.
    pub(crate) fn step(&mut self, name: &'static str, act: impl FnOnce() -> Result<Tally, String>) {
        println!("\n== {name}");
        let start = Instant::now();
        let tally = act().unwrap_or_else(|problem| {
            println!("{name}: {problem}");
            Tally::of(false)
        });
        self.steps.push(Step { name, took: Some(start.elapsed()), tally });
    }

    /// Takes over the result of a step that ran before this program started, and what failed in it: that is told again at the
    /// end, since of a long log often only the end is kept.
    pub(crate) fn ran_before(&mut self, name: &'static str, tally: Tally, failed: Vec<String>) {
        self.steps.push(Step { name, took: None, tally });
        self.failed_before.extend(failed);
    }

    /// Remembers what was left out because something is missing here. Where `CI` is set that is a failure: nobody reads
    /// the log of a run that passed.
    pub(crate) fn skipped(&mut self, what: &str) {
        self.skipped.push(what.to_owned());
    }

    /// Prints the table and the closing line.
    pub(crate) fn finish(&self) -> ExitCode {
        let mut sum = Tally::default();
        println!();
        for step in &self.steps {
            sum += step.tally;
            println!("{step}");
        }
        for what in &self.skipped {
            let fails = says_yes(std::env::var_os("CI").as_deref());
            sum.failed += usize::from(fails);
            println!("SKIPPED{} {what}", if fails { " although CI is set:" } else { "" });
        }
        for line in &self.failed_before {
            println!("failed before: {line}");
        }
        println!("{sum}");
        ExitCode::from(u8::from(sum.failed > 0))
    }
}

/// Whether a variable is set and not to a word for no.
fn says_yes(value: Option<&OsStr>) -> bool {
    value.is_some_and(|value| !["", "0", "false"].iter().any(|no| value == *no))
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let minutes = match self.took {
            Some(took) => format!("{:.1} min", took.as_secs_f64() / 60.0),
            None => "ran before".to_owned(),
        };
        let verdict = if self.tally.failed == 0 { "ok" } else { "FAILED" };
        // No comma between the counts: only the closing line reads `N passed, M failed`.
        let Tally { passed, failed } = self.tally;
        write!(f, "{:<10} {minutes:>10}  {passed:>5} passed {failed:>4} failed  {verdict}", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_can_say_no() {
        for no in [None, Some(""), Some("0"), Some("false")] {
            assert!(!says_yes(no.map(OsStr::new)), "{no:?}");
        }
        assert!(says_yes(Some(OsStr::new("true"))));
    }
}
