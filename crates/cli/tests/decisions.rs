//! What was approved is applied, whole and once, whoever is killed, whatever else writes, and however many decide.
//!
//! Real processes: killed with `kill -9` at moments from a seeded sequence, or held to a size that no file may pass. Where
//! in an apply a moment falls depends on the machine, which is the point; what must hold afterwards does not.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trunkline_runtime::resolve_queue::{Change, Event, Outcome, ProposalId, Queue, State, Verdict};

use crate::fake::{Answer, Said, Scene, calls_all, says};
use crate::kills::{KILLS, SEED, Span, kill_at, next, set};

/// Long enough that writing one takes a while.
const LINES: usize = 20_000;
/// As many files as one change may have, and long ones would only make their preview slow.
const MANY: usize = 64;

/// The files that are proposed, each a proposal of its own, and what they are before and after.
struct Plan {
    files: Vec<String>,
    lines: usize,
}

impl Plan {
    fn of(count: usize) -> Self {
        let lines = if count == MANY { 20 } else { LINES };
        Plan { files: (0..count).map(|number| format!("f{number}.txt")).collect(), lines }
    }

    fn changed(&self, file: &str) -> String {
        (0..self.lines).map(|line| format!("{file} {line}\n")).collect()
    }

    fn before(&self, scene: &Scene) {
        for file in &self.files {
            std::fs::write(scene.work().join(file), old(file)).expect("written");
        }
    }

    /// Returns one reply that proposes to write all of them.
    fn proposed(&self) -> Answer {
        let calls: Vec<(&str, String)> = self
            .files
            .iter()
            .map(|file| ("write_file", json!({ "path": file, "content": self.changed(file) }).to_string()))
            .collect();
        calls_all(&calls)
    }

    /// Returns one reply that proposes to write all of them as one change.
    fn proposed_as_one(&self) -> Answer {
        let edits: Vec<Value> =
            self.files.iter().map(|file| json!({ "path": file, "content": self.changed(file) })).collect();
        calls_all(&[("edit_files", json!({ "edits": edits }).to_string())])
    }

    /// Returns which files are new. Each is as before or as after, and nothing in between.
    fn written(&self, scene: &Scene, when: &str) -> BTreeMap<String, bool> {
        let each = self.files.iter().map(|file| {
            let text = std::fs::read_to_string(scene.work().join(file)).expect("it is there");
            assert!(text == old(file) || text == self.changed(file), "{when}: {file} is half written");
            (file.clone(), text == self.changed(file))
        });
        each.collect()
    }
}

fn old(file: &str) -> String {
    format!("{file} before\n")
}

/// What the log of the only session says of proposals.
struct History {
    lines: Vec<String>,
    events: Vec<Event<Value>>,
}

impl History {
    fn of(scene: &Scene) -> Self {
        let exported = scene.command(&["export", "last"]).output().expect("it runs").stdout;
        let exported = String::from_utf8(exported).expect("UTF-8");
        let records = exported.lines().filter(|line| !line.starts_with("{\"trunkline\""));
        let lines: Vec<String> = records.map(str::to_owned).collect();
        let mut events = Vec::new();
        for line in &lines {
            let record: Value = serde_json::from_str(line).expect("JSON");
            if record["layer"] == "resolve" && record["kind"] == "event" {
                let body = match &record["body"] {
                    Value::String(text) => serde_json::from_str(text).expect("JSON"),
                    body => body.clone(),
                };
                events.push(serde_json::from_value(body).expect("an event"));
            }
        }
        History { lines, events }
    }

    /// Returns the queue, which refuses every move that is not legal.
    fn queue(&self) -> Queue<Value> {
        Queue::replay(self.events.iter().cloned()).expect("what is recorded was legal")
    }

    fn state(&self, id: u32) -> State {
        self.queue().get(ProposalId(id)).expect("it was staged").state
    }

    /// How often a proposal came to be applied.
    fn applied(&self, id: u32) -> usize {
        let mut queue = Queue::new();
        let mut times = 0;
        for event in self.events.iter().cloned() {
            let this = event.proposal == ProposalId(id);
            let state = queue.record(event).expect("it was legal");
            times += usize::from(this && state == State::Applied);
        }
        times
    }

    fn began(&self, id: u32) -> usize {
        let of_this = self.events.iter().filter(|event| event.proposal == ProposalId(id));
        of_this.filter(|event| matches!(event.change, Change::Began { .. })).count()
    }

    fn holds(&self, earlier: &History, when: &str) {
        assert_eq!(
            self.lines.get(..earlier.lines.len()),
            Some(&earlier.lines[..]),
            "{when}: what was said is there"
        );
    }
}

/// A session whose proposals wait, each of one file.
fn waiting(plan: &Plan, more: Vec<Answer>) -> Scene {
    let mut answers = vec![plan.proposed()];
    answers.extend(more);
    waiting_for(plan, answers)
}

fn waiting_for(plan: &Plan, answers: Vec<Answer>) -> Scene {
    let (scene, _endpoint) = Scene::with(answers);
    plan.before(&scene);
    assert_eq!(scene.run(&["run", "write them", "-q"]).exit, Some(1));
    assert!(plan.written(&scene, "nothing is decided").values().all(|written| !written));
    scene
}

fn quiet(scene: &Scene, arguments: &[&str]) -> std::process::Child {
    let mut command = scene.command(arguments);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts")
}

/// How long a command takes that nobody disturbs.
fn undisturbed(scene: &Scene, arguments: &[&str]) -> Span {
    let start = Instant::now();
    let said = scene.run(arguments);
    assert_eq!(said.exit, Some(0), "{}{}", said.out, said.err);
    Span::of(u64::try_from(start.elapsed().as_millis()).expect("not for ages"))
}

/// Kills a process a moment after a file has changed, unless the process ended before. Returns whether it was killed.
fn kill_after_change(child: &mut std::process::Child, path: &Path, moment: Duration) -> bool {
    let look = || std::fs::metadata(path).ok().map(|found| (found.len(), found.modified().ok()));
    let before = look();
    while look() == before {
        if child.try_wait().expect("a child can be asked").is_some() {
            return false;
        }
        // Not asleep: between two files there is no time for that.
        std::hint::spin_loop();
    }
    kill_at(child, moment)
}

#[test]
fn a_decision_that_is_killed_at_any_moment_is_carried_out_once_or_was_never_made() {
    let (wanted, first) = (set("TRUNKLINE_TEST_KILLS", KILLS), set("TRUNKLINE_TEST_SEED", SEED));
    let plan = Plan::of(3);
    let mut span = undisturbed(&waiting(&plan, Vec::new()), &["resolve", "p2", "apply"]);
    let (mut killed, mut run, mut found) = (0, 0, BTreeMap::<String, u64>::new());
    while killed < wanted {
        let mut seed = first.wrapping_add(run).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        run += 1;
        assert!(run <= wanted * 4 + 20, "{killed} kills in {run} runs: the moments come too late");
        let when = format!("run {run} from seed {first}");
        let scene = waiting(&plan, Vec::new());
        let mut before = History::of(&scene);
        for _ in 0..3 {
            let mut child = quiet(&scene, &["resolve", "p2", "apply"]);
            let takes = span.millis();
            let was_killed =
                kill_at(&mut child, Duration::from_millis(takes * 2 / 5 + next(&mut seed) % takes));
            span.came_out(was_killed);
            killed += u64::from(was_killed);
            let after = History::of(&scene);
            after.holds(&before, &when);
            let written = plan.written(&scene, &when);
            *found.entry(after.state(2).to_string()).or_default() += u64::from(was_killed);
            assert!(!written["f0.txt"] && !written["f2.txt"], "{when}: nobody approved these");
            // Nothing is written before it is recorded that it will be.
            assert!(!written["f1.txt"] || after.began(2) > 0, "{when}: written, and the log does not say so");
            if after.state(2) == State::Applied {
                assert!(written["f1.txt"], "{when}: it counts as applied and was not written");
            }
            before = after;
            if !was_killed {
                break;
            }
        }
        // Undisturbed: what was decided is done; what was not is decided now.
        scene.run(&["resolve", "p2", "apply"]);
        let after = History::of(&scene);
        after.holds(&before, &when);
        assert_eq!(after.state(2), State::Applied, "{when}");
        assert_eq!(after.applied(2), 1, "{when}: once");
        let written = plan.written(&scene, &when);
        assert!(written["f1.txt"] && !written["f0.txt"] && !written["f2.txt"], "{when}: {written:?}");
        scene.ok(&["doctor", "last"]);
    }
    let takes = span.millis();
    eprintln!(
        "{killed} kills in {run} runs from seed {first}, within {takes} ms; found afterwards: {found:?}"
    );
}

#[test]
fn several_files_are_written_whole_or_not_at_all_wherever_among_them_it_is_killed() {
    let (wanted, first) = (set("TRUNKLINE_TEST_KILLS", KILLS), set("TRUNKLINE_TEST_SEED", SEED));
    let plan = Plan::of(MANY);
    let (mut killed, mut torn, mut run) = (0, 0, 0);
    while killed < wanted {
        let mut seed = first.wrapping_add(run).wrapping_mul(0xa076_1d64_78bd_642f);
        run += 1;
        assert!(run <= wanted * 4 + 20, "{killed} kills in {run} runs: the moments come too late");
        let when = format!("run {run} from seed {first}");
        let scene = waiting_for(&plan, vec![plan.proposed_as_one()]);
        let somewhere = |seed: &mut u64| {
            let nth = usize::try_from(next(seed)).unwrap_or(0) % (MANY / 2);
            scene.work().join(&plan.files[nth])
        };
        let mut before = History::of(&scene);
        // Once in the middle of the apply, and once or twice while that is tidied up.
        for _ in 0..3 {
            let mut child = quiet(&scene, &["resolve", "p1", "apply"]);
            let moment = Duration::from_micros(next(&mut seed) % 200);
            let was_killed = kill_after_change(&mut child, &somewhere(&mut seed), moment);
            killed += u64::from(was_killed);
            let after = History::of(&scene);
            after.holds(&before, &when);
            let there = plan.written(&scene, &when).values().filter(|written| **written).count();
            torn += usize::from(there > 0 && there < plan.files.len());
            assert!(there == 0 || after.began(1) > 0, "{when}: written, and the log does not say so");
            before = after;
            if !was_killed {
                break;
            }
        }
        if run % 3 == 0 {
            // Somebody else writes one of them before anybody has tidied up.
            let file = somewhere(&mut seed);
            std::fs::write(&file, "mine\n").expect("written");
            scene.run(&["resolve", "p1", "apply"]);
            assert_eq!(std::fs::read_to_string(&file).ok().as_deref(), Some("mine\n"), "{when}");
            let after = History::of(&scene);
            let state = after.state(1);
            assert!(state == State::Discarded || after.applied(1) == 1, "{when}: {state}");
            continue;
        }
        scene.run(&["resolve", "p1", "apply"]);
        let after = History::of(&scene);
        after.holds(&before, &when);
        assert_eq!((after.state(1), after.applied(1)), (State::Applied, 1), "{when}");
        assert!(plan.written(&scene, &when).values().all(|written| *written), "{when}: all of it");
        scene.ok(&["doctor", "last"]);
    }
    eprintln!(
        "{killed} kills in {run} runs from seed {first}; {torn} times some files were new and some were not"
    );
}

#[test]
fn a_run_that_is_killed_while_it_applies_leaves_nothing_half_done_and_does_nothing_twice() {
    let (wanted, first) = (set("TRUNKLINE_TEST_KILLS", KILLS), set("TRUNKLINE_TEST_SEED", SEED));
    let plan = Plan::of(4);
    let done = || (0..8).map(|_| says("Done.")).collect::<Vec<_>>();
    let mut span = {
        let (scene, _endpoint) = Scene::with(vec![plan.proposed(), says("Done.")]);
        plan.before(&scene);
        undisturbed(&scene, &["run", "write them", "--yes", "-q"])
    };
    let (mut killed, mut run) = (0, 0);
    while killed < wanted {
        let mut seed = first.wrapping_add(run).wrapping_mul(0xd134_2543_de82_ef95);
        run += 1;
        assert!(run <= wanted * 4 + 20, "{killed} kills in {run} runs: the moments come too late");
        let when = format!("run {run} from seed {first}");
        let mut answers = vec![plan.proposed()];
        answers.extend(done());
        let (scene, _endpoint) = Scene::with(answers);
        plan.before(&scene);
        let mut child = quiet(&scene, &["run", "write them", "--yes", "-q"]);
        let takes = span.millis();
        let moment = takes / 3 + next(&mut seed) % (takes * 2 / 3 + 1);
        let was_killed = kill_at(&mut child, Duration::from_millis(moment));
        span.came_out(was_killed);
        killed += u64::from(was_killed);
        if scene.run(&["sessions", "--json"]).out.contains(r#""sessions": []"#)
            || scene.run(&["export", "last"]).exit != Some(0)
        {
            continue;
        }
        for _ in 0..2 {
            plan.written(&scene, &when);
            let mut child = quiet(&scene, &["resume", "last", "--yes", "-q"]);
            let moment = next(&mut seed) % takes;
            killed += u64::from(kill_at(&mut child, Duration::from_millis(moment)));
        }
        let before = History::of(&scene);
        let last = scene.run(&["resume", "last", "--yes", "-q"]);
        assert!(last.exit.is_some(), "{when}: {}", last.err);
        let after = History::of(&scene);
        after.holds(&before, &when);
        let queue = after.queue();
        let written = plan.written(&scene, &when);
        for entry in queue.iter() {
            let file = entry.proposal.after[0].subject.clone();
            let applied = after.applied(entry.id.0);
            assert!(applied <= 1, "{when}: {} was applied {applied} times", entry.id);
            assert_eq!(entry.state, State::Applied, "{when}: {}", entry.id);
            assert!(written[&file], "{when}: {file}");
        }
        scene.ok(&["doctor", "last"]);
    }
    let takes = span.millis();
    eprintln!("{killed} kills in {run} runs from seed {first}, within {takes} ms");
}

#[test]
fn what_another_process_wrote_between_preview_and_apply_stays_and_the_decider_is_told() {
    let plan = Plan::of(3);
    type Meddling = (&'static str, fn(&Path));
    let meddlings: [Meddling; 4] = [
        ("rewritten", |file| std::fs::write(file, "mine\n").expect("written")),
        ("one byte more", |file| {
            let text = std::fs::read_to_string(file).expect("read");
            std::fs::write(file, text + "x").expect("written");
        }),
        ("gone", |file| std::fs::remove_file(file).expect("removed")),
        ("emptied", |file| std::fs::write(file, "").expect("written")),
    ];
    for (what, meddle) in meddlings {
        let scene = waiting(&plan, vec![says("I see.")]);
        let file = scene.work().join("f1.txt");
        // Not by this process: another one's write is what nobody here could have noticed.
        meddle(&file);
        let found = std::fs::read(&file).ok();
        let said = scene.run(&["resolve", "p2", "apply"]);
        assert_eq!(said.exit, Some(1), "{what}: {}{}", said.out, said.err);
        assert_eq!(std::fs::read(&file).ok(), found, "{what}: what somebody wrote stays");
        let history = History::of(&scene);
        assert_eq!(history.began(2), 0, "{what}: nothing was begun");
        let stale = history.events.iter().any(|event| matches!(event.change, Change::WentStale { .. }));
        assert!(stale, "{what}: the log says that it went stale");
        // The others are none of its business.
        assert_eq!((history.state(1), history.state(3)), (State::Proposed, State::Proposed), "{what}");
        assert_eq!(scene.run(&["resolve", "p1", "apply"]).exit, Some(0), "{what}");
        assert!(history.lines.iter().any(|line| line.contains("changed after the preview")), "{what}");
    }
}

#[test]
fn of_two_terminals_that_decide_at_once_one_decides_and_the_other_hears_who_was_first() {
    let rounds = set("TRUNKLINE_TEST_KILLS", KILLS);
    let plan = Plan::of(1);
    let (mut applied, mut discarded, mut letters) = (0, 0, 0);
    let mut untold = Vec::new();
    for round in 0..rounds {
        let when = format!("round {round}");
        let scene = waiting(&plan, Vec::new());
        let apply = ["resolve", "p1", "apply", "--reason", "yes", "--wait"];
        let discard = ["resolve", "p1", "discard", "--reason", "no", "--wait"];
        let (one, other) = if round % 2 == 0 { (&apply, &discard) } else { (&discard, &apply) };
        let spawn = |arguments: &[&str]| scene.command(arguments).spawn().expect("it starts");
        let (one_of, other_of) = (spawn(&one[..]), spawn(&other[..]));
        let one_said = scene.said(one_of.wait_with_output().expect("it ends"));
        let other_said = scene.said(other_of.wait_with_output().expect("it ends"));
        letters += usize::from(one_said.err.contains("left a note"));
        letters += usize::from(other_said.err.contains("left a note"));

        let history = History::of(&scene);
        let decided: Vec<Verdict> = history
            .events
            .iter()
            .filter_map(|event| match &event.change {
                Change::Decided { verdict, .. } => Some(*verdict),
                _ => None,
            })
            .collect();
        assert_eq!(decided.len(), 1, "{when}: {decided:?}");
        let written = plan.written(&scene, &when)["f0.txt"];
        let winner = if decided[0] == Verdict::Approve {
            assert_eq!(history.state(1), State::Applied, "{when}");
            assert!(written, "{when}: approved and written");
            applied += 1;
            "apply"
        } else {
            assert_eq!(history.state(1), State::Discarded, "{when}");
            assert!(!written, "{when}: discarded and not written");
            discarded += 1;
            "discard"
        };
        let (won, lost): (&Said, &Said) =
            if one[2] == winner { (&one_said, &other_said) } else { (&other_said, &one_said) };
        assert_eq!(won.exit, Some(0), "{when}: {}{}", won.out, won.err);
        assert_eq!(
            lost.exit,
            Some(1),
            "{when}: whose word does not count is told so: {}{}",
            lost.out,
            lost.err
        );
        if !lost.err.contains("person") {
            untold.push(lost.err.clone());
        }
        // Whatever is still in the inbox changes nothing any more.
        let before = history.state(1);
        scene.run(&["resolve", "p1", if winner == "apply" { "discard" } else { "apply" }]);
        assert_eq!(History::of(&scene).state(1), before, "{when}: decided is decided");
        assert_eq!(plan.written(&scene, &when)["f0.txt"], written, "{when}");
    }
    assert!(
        untold.is_empty(),
        "{} of {rounds} losers were not told who was first: {untold:#?}",
        untold.len()
    );
    eprintln!("{rounds} rounds: {applied} applied, {discarded} discarded, {letters} notes left");
}

/// Runs the command with a limit on how long any file may get, as a disk without room would.
#[cfg(unix)]
fn without_room(scene: &Scene, arguments: &[&str], blocks: u64) -> Said {
    let whole = scene.command(arguments);
    let mut shell = Command::new("sh");
    // Without the trap the limit kills; a full disk answers.
    shell.arg("-c").arg(format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\"")).arg("sh");
    shell.arg(whole.get_program()).args(whole.get_args());
    shell.current_dir(scene.work()).env_clear();
    shell.envs(whole.get_envs().filter_map(|(name, value)| value.map(|value| (name, value))));
    shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    scene.said(shell.output().expect("sh runs"))
}

#[cfg(unix)]
#[test]
fn where_the_store_has_no_room_nothing_is_applied_that_is_not_recorded() {
    let plan = Plan::of(1);
    let (mut refused, mut done, mut ends) = (0, 0, BTreeMap::<String, usize>::new());
    let mut blocks = 0;
    // From nothing fits to everything does, so that each of its writes is once the first that does not.
    while done < 2 {
        assert!(blocks < 20_000, "it never had room enough: {ends:?}");
        let scene = waiting(&plan, Vec::new());
        let before = History::of(&scene);
        let said = without_room(&scene, &["resolve", "p1", "apply"], blocks);
        let when = format!("{blocks} blocks: {}{}", said.out, said.err);
        let after = History::of(&scene);
        after.holds(&before, &when);
        let written = plan.written(&scene, &when)["f0.txt"];
        let state = after.state(1);
        assert!(!written || after.began(1) == 1, "{when}: written without a word in the log");
        if said.exit == Some(0) {
            assert_eq!((state, written), (State::Applied, true), "{when}: told so");
            done += 1;
        } else {
            refused += 1;
            assert!(!said.err.trim().is_empty(), "{when}: a refusal says why");
        }
        let failed = after
            .events
            .iter()
            .any(|event| matches!(&event.change, Change::Finished { outcome: Outcome::Failed { .. }, .. }));
        *ends.entry(format!("{state}{}", if failed { ", failed once" } else { "" })).or_default() += 1;
        // With room again it comes to its end.
        if state != State::Discarded {
            scene.run(&["resolve", "p1", "apply"]);
            let end = History::of(&scene);
            assert_eq!((end.state(1), end.applied(1)), (State::Applied, 1), "{when}");
            assert!(plan.written(&scene, &when)["f0.txt"], "{when}");
        }
        scene.ok(&["doctor", "last"]);
        // Pages of the store are 4096 bytes, and its log holds a few of them.
        blocks += if blocks < 64 { 8 } else { 48 };
    }
    assert!(refused > 3, "only {refused} were without room");
    eprintln!("{refused} without room, {done} with; where they stood: {ends:?}");
}
