//! Holds the laws of a crate against new random cases for as long as one likes.
//!
//! The laws are the crate's own property tests in modules called `laws`; each turn draws fresh cases. What breaks one is
//! made small, printed, and its seed is written down in `proptest-regressions/`, from where every later test run tries it
//! first. The time is that of the laws: it begins when they are built.

mod turns;

use std::fs::{self, File};
use std::num::NonZero;
use std::path::PathBuf;
use std::process::{Command, ExitStatus};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::cargo::{cannot_start, cargo, text_of};
use crate::postgres::Postgres;
use crate::report::Tally;
use crate::test::binaries::{self, Binary};
use crate::test::result_line;
use crate::workspace::{Crate, Workspace};
use turns::Turns;

/// How often we look whether a law has ended.
const LOOK: Duration = Duration::from_millis(2);

/// Reads what follows `--minutes`.
pub(crate) fn minutes(word: &str) -> Result<Duration, String> {
    match word.parse::<u64>() {
        Ok(minutes @ 1..=10_000) => Ok(Duration::from_secs(60 * minutes)),
        _ => Err(format!("--minutes wants a whole number from 1 to 10000, not `{word}`")),
    }
}

/// Gives every law turns until the time is over or one breaks.
pub(crate) fn run(
    workspace: &Workspace,
    postgres: &mut Postgres,
    one: &Crate,
    time: Duration,
) -> Result<Tally, String> {
    if !workspace.root.join(format!("crates/{}/tests/laws.rs", one.name)).exists() {
        return Err(format!("crates/{}/tests/laws.rs is not there: no laws to try", one.name));
    }
    let call = ["test", "--release", "--all-features", "--package", &one.package];
    let Some(binaries) = binaries::build(&mut cargo(workspace, call))? else { return Ok(Tally::of(false)) };
    let mut laws = Vec::new();
    for binary in &binaries {
        let names = text_of(&mut binary.command(&["laws::", "--list", "--format", "terse"]))?;
        for name in listed(&names) {
            let mut command = binary.command(&[&name, "--exact"]);
            postgres.offer(Some(&one.package), &mut command)?;
            laws.push(Law { name, binary, variables: command });
        }
    }
    let notes = workspace.target.join("fuzz");
    fs::create_dir_all(&notes).map_err(|error| format!("cannot make {}: {error}", notes.display()))?;
    let fuzzing = Fuzzing { laws, start: Instant::now(), time, notes };
    let drawing = fuzzing.those_that_draw()?;
    fuzzing.turn_about(&drawing)
}

/// The names in what a test binary prints for `--list`.
fn listed(lines: &str) -> Vec<String> {
    lines.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect()
}

/// One property test.
struct Law<'a> {
    name: String,
    binary: &'a Binary,
    /// A command with the variables that its tests want.
    variables: Command,
}

/// What all turns have in common.
struct Fuzzing<'a> {
    laws: Vec<Law<'a>>,
    start: Instant,
    time: Duration,
    /// Where what the laws print is kept until they end.
    notes: PathBuf,
}

/// How a turn ended.
enum End {
    Held,
    Broke,
    /// It was stopped, because the time was long over.
    Stopped,
}

impl Fuzzing<'_> {
    /// The laws that draw cases, and what the first one took; a plain test among them is run here and not again.
    fn those_that_draw(&self) -> Result<Vec<(usize, Duration)>, String> {
        let mut drawing = Vec::new();
        for (place, law) in self.laws.iter().enumerate() {
            let start = Instant::now();
            // Told to say all, proptest says what it draws.
            let verbose = [("PROPTEST_CASES", "1"), ("PROPTEST_VERBOSE", "2")];
            let (end, said) = self.turn(place, &["--nocapture"], &verbose)?;
            match end {
                End::Held if said.contains("proptest: ") => drawing.push((place, start.elapsed())),
                End::Held => {}
                End::Broke => return Err(format!("{} broke at its first case:\n{said}", law.name)),
                End::Stopped => return Err(format!("{} had no case in all the time", law.name)),
            }
        }
        println!("-- {} laws draw cases, {} are plain tests", drawing.len(), self.laws.len() - drawing.len());
        some(drawing)
    }

    /// Gives them turns, as many at once as there are cores.
    fn turn_about(&self, drawing: &[(usize, Duration)]) -> Result<Tally, String> {
        let at_once = thread::available_parallelism().map_or(1, NonZero::get);
        let turns = Mutex::new(Turns::of(drawing.iter().map(|(_, took)| *took), at_once));
        let broken = Mutex::new(Vec::new());
        let lane = || -> Result<(), String> {
            loop {
                let found = !held(&broken).is_empty();
                let next = held(&turns).next(self.left()).filter(|_| !found);
                let Some((law, cases)) = next else { return Ok(()) };
                let start = Instant::now();
                match self.turn(drawing[law].0, &[], &[("PROPTEST_CASES", &cases.to_string())])? {
                    (End::Held, _) => held(&turns).passed(law, cases, start.elapsed()),
                    (End::Broke, said) => held(&broken).push((law, said)),
                    (End::Stopped, _) => held(&broken).push((
                        law,
                        format!(
                            "stopped: a turn of {cases} cases was still on when the time was long over\n"
                        ),
                    )),
                }
            }
        };
        thread::scope(|scope| {
            let lanes: Vec<_> = (0..at_once).map(|_| scope.spawn(lane)).collect();
            lanes.into_iter().try_for_each(|lane| {
                lane.join().unwrap_or_else(|_| Err("a thread that ran laws panicked".to_owned()))
            })
        })?;
        for (had, (law, _)) in held(&turns).had.iter().zip(drawing) {
            println!("{:>12} cases {:>8.1} s  {}", had.cases, had.time.as_secs_f64(), self.laws[*law].name);
        }
        println!("-- {:.1} s of {} s", self.start.elapsed().as_secs_f64(), self.time.as_secs());
        let broken = held(&broken);
        for (law, said) in broken.iter() {
            println!("\n{}:\n{said}", self.laws[drawing[*law].0].name);
            println!("put the small case into the crate's tests as a test of its own");
        }
        Ok(Tally { passed: self.laws.len() - broken.len(), failed: broken.len() })
    }

    fn left(&self) -> Duration {
        self.time.saturating_sub(self.start.elapsed())
    }

    /// One turn of one law: how it ended, and what it said.
    fn turn(&self, law: usize, flags: &[&str], variables: &[(&str, &str)]) -> Result<(End, String), String> {
        let one = &self.laws[law];
        let path = self.notes.join(format!("{law}.txt"));
        let lost =
            |error: std::io::Error| format!("lost what {} said in {}: {error}", one.name, path.display());
        let note = File::create(&path).map_err(lost)?;
        let mut command = one.binary.command(&[&[one.name.as_str(), "--exact"], flags].concat());
        for (name, value) in one.variables.get_envs() {
            if let Some(value) = value {
                command.env(name, value);
            }
        }
        command.envs(variables.iter().copied());
        // To make a case small takes a while too; the seed that is written down can be made smaller later.
        command.env("PROPTEST_MAX_SHRINK_TIME", (self.time / 20).as_millis().to_string());
        command.stdout(note.try_clone().map_err(lost)?).stderr(note);
        let ended = self.wait(&mut command)?;
        let said = String::from_utf8_lossy(&fs::read(&path).map_err(lost)?).into_owned();
        let _ = fs::remove_file(&path); // one that stays is written over
        let end = match ended {
            None => End::Stopped,
            Some(status) if status.success() && ran_one(&said) => End::Held,
            Some(_) => End::Broke,
        };
        Ok((end, said))
    }

    /// Waits for a program, but not longer than a tenth over the time.
    fn wait(&self, command: &mut Command) -> Result<Option<ExitStatus>, String> {
        let mut child = command.spawn().map_err(|error| cannot_start(command, &error))?;
        let lost = |error: std::io::Error| format!("lost a law: {error}");
        loop {
            if let Some(status) = child.try_wait().map_err(lost)? {
                return Ok(Some(status));
            }
            if self.start.elapsed() > self.time.mul_f64(1.1) {
                child.kill().map_err(lost)?;
                child.wait().map_err(lost)?;
                return Ok(None);
            }
            thread::sleep(LOOK);
        }
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Refuses to go on with nothing: what tries no case finds no fault.
fn some<T>(drawing: Vec<T>) -> Result<Vec<T>, String> {
    match drawing.is_empty() {
        true => {
            Err("no law draws cases: none has `laws::` in its name, or proptest no longer says what it draws"
                .to_owned())
        }
        false => Ok(drawing),
    }
}

/// Whether a test binary says that it ran one test and that it passed: a program that ends well may have run none.
fn ran_one(said: &str) -> bool {
    said.lines().filter_map(result_line).any(|tally| tally == Tally { passed: 1, failed: 0 })
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

    #[test]
    fn only_tests_are_listed() {
        let lines =
            "laws::one: test\nlaws::two: benchmark\nobject_laws::three: test\n\n2 tests, 1 benchmark\n";
        assert_eq!(listed(lines), ["laws::one", "object_laws::three"]);
    }

    #[test]
    fn no_law_at_all_is_a_fault() {
        assert!(some(Vec::<u8>::new()).is_err());
        assert_eq!(some(vec![1]), Ok(vec![1]));
    }

    #[test]
    fn a_law_that_was_not_run_does_not_hold() {
        assert!(ran_one("test result: ok. 1 passed; 0 failed; 0 ignored\n"));
        assert!(!ran_one("test result: ok. 0 passed; 0 failed; 0 ignored\n"));
        assert!(!ran_one(""));
    }
}
