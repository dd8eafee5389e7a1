//! Runs test binaries two at a time and shows them one after the other.
//!
//! Cargo runs one binary after the other, and one whose last tests are long leaves a core idle. Here the oldest one is
//! shown as it comes and the others when their turn comes, so that what a test says stands together.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::Command;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{JoinHandle, spawn};

use crate::cargo::cannot_start;
use crate::report::Tally;
use crate::test::{is_listing, result_line, sum_after};

/// How many run at once. Each has a thread per core of its own; the second fills what the first leaves idle.
const WIDTH: usize = 2;

/// Programs that run and wait to run.
pub(crate) struct Lanes {
    jobs: Sender<(usize, String, Command)>,
    workers: Vec<JoinHandle<Tally>>,
    printer: JoinHandle<()>,
    given: usize,
}

/// What a program does, as the printer hears it.
enum Event {
    Said(Vec<u8>),
    Ended,
}

impl Lanes {
    /// Empty lanes that show on standard output what runs on them.
    pub(crate) fn open() -> Lanes {
        Lanes::showing_in(std::io::stdout())
    }

    fn showing_in(mut out: impl Write + Send + 'static) -> Lanes {
        let (jobs, waiting) = channel();
        let waiting = Arc::new(Mutex::new(waiting));
        let (events, heard) = channel();
        let workers = (0..WIDTH).map(|_| {
            let (waiting, events) = (Arc::clone(&waiting), events.clone());
            spawn(move || work(&waiting, &events))
        });
        Lanes { jobs, workers: workers.collect(), printer: spawn(move || show(&heard, &mut out)), given: 0 }
    }

    /// Runs a program as soon as a lane is free.
    pub(crate) fn run(&mut self, title: String, command: Command) {
        // Lanes end before we do only if a thread of theirs panicked, and then `close` says so.
        let _ = self.jobs.send((self.given, title, command));
        self.given += 1;
    }

    /// Waits until all have ended, and adds up their result lines.
    pub(crate) fn close(self) -> Result<Tally, String> {
        drop(self.jobs);
        let mut sum = Tally::default();
        for worker in self.workers {
            sum += worker.join().map_err(|_| "a thread that ran tests panicked".to_owned())?;
        }
        self.printer.join().map_err(|_| "the thread that showed the tests panicked".to_owned())?;
        Ok(sum)
    }
}

/// Takes programs until there are no more.
fn work(waiting: &Mutex<Receiver<(usize, String, Command)>>, events: &Sender<(usize, Event)>) -> Tally {
    let mut sum = Tally::default();
    loop {
        let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((id, title, command)) = next else { return sum };
        let mut say = |bytes: Vec<u8>| {
            let _ = events.send((id, Event::Said(bytes))); // without a printer there is nobody to tell
        };
        say(format!("\n     Running {title}\n").into_bytes());
        sum += follow(command, &mut say).unwrap_or_else(|problem| {
            say(format!("{title}: {problem}\n").into_bytes());
            Tally::of(false)
        });
        let _ = events.send((id, Event::Ended));
    }
}

/// Runs one program and counts what its result lines say.
fn follow(mut command: Command, say: &mut impl FnMut(Vec<u8>)) -> Result<Tally, String> {
    let lost = |error: std::io::Error| format!("lost the tests: {error}");
    let (output, input) = std::io::pipe().map_err(lost)?;
    command.stdout(input.try_clone().map_err(lost)?).stderr(input);
    let mut child = command.spawn().map_err(|error| cannot_start(&command, &error))?;
    let listing = is_listing(&command);
    drop(command); // and with it our ends of the pipe, so that it ends when the program does
    let found = sum_of(output, say).map_err(lost)?;
    let status = child.wait().map_err(lost)?;
    let (sum, complaint) = sum_after(found, status, listing);
    say(complaint.into_bytes());
    Ok(sum)
}

/// Passes each line on and adds up the result lines; `None` if there is none.
fn sum_of(output: impl Read, say: &mut impl FnMut(Vec<u8>)) -> std::io::Result<Option<Tally>> {
    let mut output = BufReader::new(output);
    let mut sum: Option<Tally> = None;
    loop {
        // Bytes, not lines: a test may print anything.
        let mut line = Vec::new();
        if output.read_until(b'\n', &mut line)? == 0 {
            return Ok(sum);
        }
        if let Some(result) = result_line(&String::from_utf8_lossy(&line)) {
            *sum.get_or_insert_default() += result;
        }
        say(line);
    }
}

/// Shows the oldest program as it comes, and keeps what the others say for their turn.
fn show(heard: &Receiver<(usize, Event)>, out: &mut impl Write) {
    let mut kept: VecDeque<Kept> = VecDeque::new();
    for (id, event) in heard {
        let at = kept.iter().position(|one| one.id == id).unwrap_or_else(|| {
            kept.push_back(Kept { id, said: Vec::new(), ended: false });
            kept.len() - 1
        });
        match event {
            Event::Said(bytes) => kept[at].said.extend(bytes),
            Event::Ended => kept[at].ended = true,
        }
        while let Some(oldest) = kept.front_mut() {
            let _ = out.write_all(&oldest.said).and_then(|()| out.flush()); // who closed our output wants none
            oldest.said.clear();
            if !oldest.ended {
                break;
            }
            kept.pop_front();
        }
    }
}

/// What a program said that is not yet shown.
struct Kept {
    id: usize,
    said: Vec<u8>,
    ended: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn result_lines_of_all_programs_are_added_up() {
        let mut lanes = Lanes::showing_in(std::io::sink());
        for number in 1..=5 {
            let line = format!("echo 'test result: ok. {number} passed; 0 failed; 0 ignored'");
            lanes.run(number.to_string(), shell(&line));
        }
        assert_eq!(lanes.close(), Ok(Tally { passed: 15, failed: 0 }));
    }

    #[test]
    fn a_program_that_dies_or_does_not_start_is_one_failure_each() {
        let mut lanes = Lanes::showing_in(std::io::sink());
        lanes.run("dies".to_owned(), shell("kill -9 $$"));
        lanes
            .run("says so".to_owned(), shell("echo 'test result: FAILED. 1 passed; 2 failed' >&2; exit 101"));
        lanes.run("is not there".to_owned(), Command::new("/nowhere/at/all"));
        assert_eq!(lanes.close(), Ok(Tally { passed: 1, failed: 4 }));
    }

    /// What is counted of a script, and what is said of it at the end.
    fn followed(script: &str) -> (Tally, String) {
        let mut said = Vec::new();
        let tally = follow(shell(script), &mut |bytes| said.extend(bytes)).expect("it runs");
        let said = String::from_utf8(said).expect("text");
        (tally, said.lines().next_back().unwrap_or_default().to_owned())
    }

    #[test]
    fn a_program_that_ends_well_without_a_result_line_is_one_failure_and_one_line() {
        let (tally, said) = followed("echo running 3 tests; echo test one ... ok; exit 0");
        assert_eq!(tally, Tally { passed: 0, failed: 1 });
        assert_eq!(
            said,
            "no `test result` line, though the program ended well: something in it ended the program before its tests were done"
        );
        let none = "test result: ok. 0 passed; 0 failed; 0 ignored";
        assert_eq!(followed(&format!("echo '{none}'")), (Tally::default(), none.to_owned()));
    }

    #[test]
    fn a_listing_is_no_failure() {
        let mut list = shell("echo one: test; echo; echo 1 test, 0 benchmarks");
        list.arg("--list");
        let mut said = Vec::new();
        let tally = follow(list, &mut |bytes| said.extend(bytes));
        assert_eq!(tally, Ok(Tally::default()));
        assert!(said.ends_with(b"1 test, 0 benchmarks\n"), "{}", String::from_utf8_lossy(&said));
    }

    #[test]
    fn programs_that_run_at_once_are_shown_one_after_the_other() {
        let (events, heard) = channel();
        let said = |id, text: &str| events.send((id, Event::Said(text.into()))).expect("we hear it");
        let ended = |id| events.send((id, Event::Ended)).expect("we hear it");
        said(0, "a1 ");
        said(1, "b1 ");
        said(0, "a2 ");
        ended(1);
        said(2, "c1 ");
        ended(0);
        said(2, "c2");
        ended(2);
        drop(events);
        let mut shown = Vec::new();
        show(&heard, &mut shown);
        assert_eq!(String::from_utf8(shown).expect("text"), "a1 a2 b1 c1 c2");
    }
}
