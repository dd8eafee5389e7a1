//! The demo, killed with `kill -9` at many points and taken up again with the real binary.
//!
//! The moments come from a seeded sequence, so a failure can be repeated; where in the run a moment falls depends on the
//! machine, which is the point. What must hold afterwards does not depend on it.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

/// How often runs are killed unless somebody says otherwise in `TRUNKLINE_TEST_KILLS`; each run is killed several times.
pub(crate) const KILLS: u64 = 20;
/// Where the moments begin unless somebody says otherwise in `TRUNKLINE_TEST_SEED`.
pub(crate) const SEED: u64 = 1;
/// No moment is later than this at first; an undisturbed demo without pauses is over well before on most machines.
const LATEST: u64 = 600;

struct Scene {
    folder: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        Scene { folder: tempfile::tempdir().expect("a temporary folder") }
    }

    fn workspace(&self) -> std::path::PathBuf {
        self.folder.path().join("project")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trunkline"));
        command.args(arguments).env("TRUNKLINE_STORE", self.folder.path().join("sessions.db"));
        command.env("NO_COLOR", "1").stdin(Stdio::null());
        command
    }

    fn start(&self, arguments: &[&str]) -> Child {
        let mut command = self.command(arguments);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the binary starts")
    }

    fn demo(&self) -> Child {
        let workspace = self.workspace();
        self.start(&["demo", "--delay", "2", "--keep-dir", workspace.to_str().expect("a plain path")])
    }

    fn read(&self, arguments: &[&str]) -> String {
        let output = self.command(arguments).output().expect("the binary runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?} failed: {said}");
        String::from_utf8(output.stdout).expect("stdout is UTF-8")
    }

    /// Computes the chain of the session anew; nothing may be wrong with it, whoever was killed.
    fn verify(&self) {
        self.read(&["doctor", "last"]);
    }

    /// Returns what is in the log, a line a record; empty if there is no session yet.
    fn log(&self) -> Vec<String> {
        let sessions: Value = match self.command(&["sessions", "--json"]).output() {
            Ok(output) if output.status.success() => serde_json::from_slice(&output.stdout).expect("JSON"),
            _ => return Vec::new(),
        };
        let some = sessions["sessions"].as_array().is_some_and(|list| !list.is_empty());
        if !some {
            return Vec::new();
        }
        // The first line and the last one are about all of them, and their times and counts grow.
        let exported = self.read(&["export", "last"]);
        exported.lines().filter(|line| !line.starts_with("{\"trunkline\"")).map(str::to_owned).collect()
    }
}

/// Returns a number that a person may have set.
pub(crate) fn set(variable: &str, otherwise: u64) -> u64 {
    match std::env::var(variable) {
        Ok(number) => number.parse().unwrap_or_else(|_| panic!("{variable} is a number, not {number:?}")),
        Err(_) => otherwise,
    }
}

/// Small, seeded, and the same everywhere.
pub(crate) fn next(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *seed >> 33
}

/// How long the processes take that are to be killed, in milliseconds: a guess that follows what comes of it.
///
/// One measurement would not do. A machine that is busy then and idle later would have every kill come too late, and the
/// other way round too early.
pub(crate) struct Span(u64);

impl Span {
    /// The guess to begin with.
    pub(crate) fn of(millis: u64) -> Self {
        Span(millis.max(10))
    }

    pub(crate) fn millis(&self) -> u64 {
        self.0
    }

    /// The process was over before the moment came.
    pub(crate) fn too_late(&mut self) {
        self.0 = (self.0 * 3 / 4).max(10);
    }

    /// It had not begun anything.
    pub(crate) fn too_early(&mut self) {
        self.0 = (self.0 * 5 / 4).min(60_000);
    }

    /// It was killed: the next may come a little later, so that the guess does not stay too small.
    pub(crate) fn in_time(&mut self) {
        self.0 = (self.0 + self.0 / 16 + 1).min(60_000);
    }

    /// As it came out.
    pub(crate) fn came_out(&mut self, was_killed: bool) {
        match was_killed {
            true => self.in_time(),
            false => self.too_late(),
        }
    }
}

/// Kills a process at a moment, unless it was quicker. Returns whether it was killed.
pub(crate) fn kill_at(child: &mut Child, after: Duration) -> bool {
    std::thread::sleep(after);
    if child.try_wait().expect("a child can be asked").is_some() {
        return false;
    }
    child.kill().expect("a child can be killed");
    child.wait().expect("a child can be waited for");
    true
}

fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git").arg("-C").arg(folder).args(arguments).output().expect("git runs");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Returns the proposals that were applied, as often as the log says so.
fn applied(log: &[String]) -> Vec<String> {
    let mut applied = Vec::new();
    for line in log {
        let record: Value = serde_json::from_str(line).expect("a record is JSON");
        if record["layer"] != "resolve" || record["kind"] != "event" {
            continue;
        }
        let body = match &record["body"] {
            Value::String(text) => serde_json::from_str(text).expect("a body is JSON"),
            body => body.clone(),
        };
        let finished = body.pointer("/change/finished/outcome") == Some(&Value::from("applied"));
        let found = body.pointer("/change/recovered/observation") == Some(&Value::from("after"));
        if finished || found {
            applied.push(body["proposal"].to_string());
        }
    }
    applied
}

#[test]
fn a_demo_that_is_killed_again_and_again_ends_as_if_it_had_not_been() {
    let (wanted, first) = (set("TRUNKLINE_TEST_KILLS", KILLS), set("TRUNKLINE_TEST_SEED", SEED));
    let (mut killed, mut run, mut records, mut span) = (0, 0, 0, Span::of(LATEST));
    while killed < wanted {
        let mut seed = first.wrapping_add(run).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        run += 1;
        assert!(run <= wanted * 4 + 20, "{killed} kills in {run} runs: the moments do not fall into them");
        let scene = Scene::new();
        let mut child = scene.demo();
        let mut alive = kill_at(&mut child, Duration::from_millis(next(&mut seed) % span.millis()));
        let mut before = scene.log();
        match before.is_empty() {
            true => span.too_early(),
            false => span.came_out(alive),
        }
        if before.is_empty() {
            // It died before there was a session, so nothing was promised. Once more, undisturbed this time, and elsewhere: a
            // git that it had started may not be done with the folder.
            let elsewhere = scene.folder.path().join("elsewhere");
            scene.read(&["demo", "--delay", "2", "--keep-dir", elsewhere.to_str().expect("a plain path")]);
            scene.verify();
            continue;
        }
        // Later lives are shorter, so that the kills fall into the resume as well.
        for life in 1..4 {
            if !alive {
                break;
            }
            killed += 1;
            let mut child = scene.start(&["resume", "last"]);
            alive = kill_at(&mut child, Duration::from_millis(next(&mut seed) % (span.millis() / life)));
            let after = scene.log();
            scene.verify();
            assert_eq!(
                after.get(..before.len()),
                Some(&before[..]),
                "run {run}: what was acknowledged is there"
            );
            before = after;
        }
        let last = scene.command(&["resume", "last"]).output().expect("the binary runs");
        let said = String::from_utf8_lossy(&last.stderr);
        assert!(last.status.success(), "run {run}: {said}");

        let log = scene.log();
        scene.verify();
        records += log.len();
        assert_eq!(log.get(..before.len()), Some(&before[..]), "run {run}: what was acknowledged is there");
        let applied = applied(&log);
        let mut once = applied.clone();
        once.sort();
        once.dedup();
        assert_eq!(once.len(), applied.len(), "run {run}: nothing is applied twice: {applied:?}");
        let decided: Vec<&String> = log.iter().filter(|line| line.contains(r#""kind":"decided""#)).collect();
        assert_eq!(decided.len(), 1, "run {run}: one verdict");
        let head = git(&scene.workspace(), &["rev-parse", "HEAD"]);
        assert!(decided[0].contains(&head), "run {run}: the verdict names the commit {head}: {}", decided[0]);
        assert_eq!(git(&scene.workspace(), &["rev-list", "--count", "HEAD"]), "2", "run {run}: one commit");
        assert_eq!(
            git(&scene.workspace(), &["status", "--porcelain"]),
            "",
            "run {run}: nothing is left lying about"
        );
        let test =
            Command::new("sh").arg("test.sh").current_dir(scene.workspace()).output().expect("sh runs");
        assert!(test.status.success(), "run {run}: the test passes");
    }
    eprintln!("{killed} kills in {run} runs from seed {first}: {records} records verified, none lost");
}

#[test]
fn processes_that_take_a_session_from_each_other_and_are_killed_leave_one_history() {
    let (wanted, first) = (set("TRUNKLINE_TEST_KILLS", KILLS), set("TRUNKLINE_TEST_SEED", SEED));
    let (mut killed, mut fenced) = (0, 0);
    for run in 0..wanted.div_ceil(6) {
        let mut seed = first.wrapping_add(run).wrapping_mul(0xd134_2543_de82_ef95);
        let scene = Scene::new();
        let mut one = scene.demo();
        while scene.log().is_empty() && one.try_wait().expect("a child can be asked").is_none() {}
        let mut before = scene.log();
        for _ in 0..6 {
            // Each takes it from the one before, which may still be in the middle of something.
            let mut other = scene.start(&["resume", "last", "--take-over"]);
            std::thread::sleep(Duration::from_millis(next(&mut seed) % LATEST));
            // Who is killed? The new one, the old one, or nobody: then the old one has to find out by itself.
            let (killed_new, killed_old) = match next(&mut seed) % 3 {
                0 => (kill_at(&mut other, Duration::ZERO), false),
                1 => (false, kill_at(&mut one, Duration::ZERO)),
                _ => (false, false),
            };
            killed += u64::from(killed_new) + u64::from(killed_old);
            let after = scene.log();
            scene.verify();
            assert_eq!(after.get(..before.len()), Some(&before[..]), "run {run}: nothing is written over");
            before = after;
            if !killed_old {
                let ended = one.wait().expect("a child can be waited for").code();
                assert!(matches!(ended, None | Some(0 | 1)), "run {run}: {ended:?}");
                fenced += u64::from(ended == Some(1));
            }
            one = other;
        }
        let _ = one.kill();
        let _ = one.wait();
        let last = scene.command(&["resume", "last"]).output().expect("the binary runs");
        assert!(matches!(last.status.code(), Some(0 | 1)), "run {run}: {:?}", last.status);
        let log = scene.log();
        scene.verify();
        let mut once = applied(&log);
        let often = once.len();
        once.sort();
        once.dedup();
        assert_eq!(once.len(), often, "run {run}: nothing is recorded as applied twice");
        let decided = log.iter().filter(|line| line.contains(r#""kind":"decided""#)).count();
        assert!(decided <= 1, "run {run}: {decided} verdicts on one run");
    }
    assert!(killed > 0, "nobody was killed, {fenced} were fenced out");
}

#[test]
fn a_call_that_had_begun_when_the_process_died_is_told_to_the_model_as_it_was() {
    // A command that outlives its process: the next life finds that it began and nothing else.
    let scene = Scene::new();
    let mut child = scene.demo();
    let began = |log: &[String]| {
        log.iter().any(|line| line.contains(r#""kind":"call_started""#) && line.contains("run_command"))
    };
    // Whether it is still running is asked before the log is read: what the log lacks then will not come any more.
    let started = loop {
        let over = child.try_wait().expect("a child can be asked").is_some();
        let seen = began(&scene.log());
        if seen || over {
            break seen;
        }
    };
    let _ = child.kill();
    let _ = child.wait();
    assert!(started, "the demo runs a command");
    assert!(scene.command(&["resume", "last"]).output().expect("the binary runs").status.success());
    let log = scene.log();
    let began =
        log.iter().filter(|line| line.contains(r#""kind":"call_started""#) && line.contains("run_command"));
    let unknown = log.iter().any(|line| line.contains("outcome unknown: this call had begun"));
    let finished =
        log.iter().filter(|line| line.contains(r#""kind":"call_finished""#) && line.contains("exit code"));
    let (began, finished) = (began.count(), finished.count());
    // Either its result was recorded in time, or the model was told that nobody knows, and looked again.
    assert!(unknown || began == finished, "{began} began, {finished} finished");
}

#[test]
fn a_demo_that_a_person_takes_back_goes_on_and_ends() {
    for back in [&["undo"][..], &["revert", "n6"], &["revert", "n1"]] {
        let scene = Scene::new();
        let workspace = scene.workspace();
        scene.read(&["demo", "--delay", "0", "--keep-dir", workspace.to_str().expect("a plain path")]);
        let before = scene.log().len();
        scene.read(back);
        // After an undo the head is words of the model: there has to be something to answer.
        let resume: &[&str] =
            if back == ["undo"] { &["resume", "last", "-p", "go on"] } else { &["resume", "last"] };
        scene.read(resume);
        let replies =
            scene.log()[before..].iter().filter(|line| line.contains(r#""role":"assistant""#)).count();
        assert!((1..14).contains(&replies), "{back:?}: {replies} replies");
    }
}
