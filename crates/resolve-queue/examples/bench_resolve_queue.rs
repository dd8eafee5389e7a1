//! Measures what a long queue costs: reading its log, asking the rules, taking a preview in, and finding what is next.
//!
//! Each ratio is that of ten times as much to as much as that: ten would be linear, a hundred the square. Both sides take
//! turns in one run, because only their ratio means anything. `cargo xtask bench resolve-queue`; it ends with exit code 1
//! if a bar is missed.

#![expect(clippy::print_stdout, reason = "a bench speaks to people")]

use std::error::Error;
use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use trunkline_resolve_queue::{
    Actor, ActorKind, Answer, Effect, Event, Fingerprint, On, Outcome, PathPattern, Proposal, ProposalId,
    Queue, Rule, RuleTarget, RuleVerdict, Rules, Start, Step, Verdict, Wanted,
};

type Outcomes<T> = Result<T, Box<dyn Error>>;

const SMALL: usize = 1_000;
const LARGE: usize = 10_000;
/// What one proposal would write: a file of usual length.
const PAYLOAD: usize = 2_000;
/// What ten times as much may cost: ten is linear, a hundred would be the square.
const LINEAR: f64 = 20.0;
/// How often each side is measured.
const ROUNDS: usize = 15;

fn main() -> ExitCode {
    let mut report = Report { good: true };
    let done = folding(&mut report)
        .and_then(|()| rules(&mut report))
        .and_then(|()| offering(&mut report))
        .and_then(|()| settled(&mut report));
    match done {
        Ok(()) => ExitCode::from(u8::from(!report.good)),
        Err(fault) => {
            println!("# {fault}");
            ExitCode::FAILURE
        }
    }
}

/// Reading the log of a session in which this many proposals came to their end.
fn folding(report: &mut Report) -> Outcomes<()> {
    let logs = [finished(SMALL)?.1, finished(LARGE)?.1];
    let [few, many] = turns(|side| {
        let events = logs[side].clone();
        time(move || Queue::replay(events))
    });
    println!("# {} events of {SMALL} proposals: {few:?}; of {LARGE}: {many:?}", logs[0].len());
    report.at_most("events folded, 10 times as many / as many", ratio(many, few), LINEAR);
    let each = many.as_secs_f64() * 1e6 / logs[1].len() as f64;
    report.at_most("microseconds to fold an event", each, 10.0);
    Ok(())
}

/// Asking a hundred rules about a file, and ten times as many; about one file, and about ten.
fn rules(report: &mut Report) -> Outcomes<()> {
    let sets = [given(100)?, given(1_000)?];
    let wanted = Wanted::new("edit_file", Effect::Reversible, On::Paths(&["src/deep/in/a/folder/file.rs"]));
    let [few, many] = turns(|side| repeated(100, |_| sets[side].judge(&wanted, 1)));
    println!("# a hundred rules on one file: {:?}; a thousand: {:?}", few / 100, many / 100);
    report.at_most("rules asked, 10 times as many / as many", ratio(many, few), LINEAR);
    report.at_most("milliseconds for a hundred rules", few.as_secs_f64() * 1e3 / 100.0, 1.0);
    let ten: Vec<String> = (0..10).map(|number| format!("src/deep/in/a/folder/file{number}.rs")).collect();
    let ten: Vec<&str> = ten.iter().map(String::as_str).collect();
    let [one, ten] = turns(|side| {
        let paths = if side == 0 { &ten[..1] } else { &ten[..] };
        let wanted = Wanted::new("edit_files", Effect::Reversible, On::Paths(paths));
        repeated(100, |_| sets[0].judge(&wanted, 1))
    });
    report.at_most("paths judged, 10 times as many / as many", ratio(ten, one), LINEAR);
    Ok(())
}

/// Taking a preview in while many others wait.
fn offering(report: &mut Report) -> Outcomes<()> {
    let queues = [waiting(SMALL / 10)?, waiting(LARGE / 10)?];
    let [few, many] = turns(|side| repeated(50, |number| queues[side].offer(edit(number), 9)));
    println!("# an offer with {} waiting: {:?}; with {}: {:?}", SMALL / 10, few / 50, LARGE / 10, many / 50);
    report.at_most("offer, 10 times as many waiting / as many", ratio(many, few), LINEAR);
    let [few, many] = turns(|side| repeated(50, |_| queues[side].gate(9)));
    report.at_most("what waits, 10 times as many / as many", ratio(many, few), LINEAR);
    let [few, many] = turns(|side| time(|| (0..50).map(|_| queues[side].due(9).count()).sum::<usize>()));
    report.at_most("what is due, 10 times as many / as many", ratio(many, few), LINEAR);
    Ok(())
}

/// What a queue costs in which nothing waits any more, but much has happened.
fn settled(report: &mut Report) -> Outcomes<()> {
    let queues = [finished(SMALL)?.0, finished(LARGE)?.0];
    let [few, many] = turns(|side| repeated(500, |number| queues[side].offer(edit(number), 9)));
    println!("# an offer after {SMALL} are done: {:?}; after {LARGE}: {:?}", few / 500, many / 500);
    // What is done is not walked over.
    report.at_most("offer, 10 times as many done / as many", ratio(many, few), 4.0);
    let count =
        |side: usize| (0..20_000).map(|_| black_box(&queues[side]).unsettled().count()).sum::<usize>();
    let [few, many] = turns(|side| time(|| count(side)));
    report.at_most("unsettled, 10 times as many done / as many", ratio(many, few), 4.0);
    let [few, many] = turns(|side| time(|| queues[side].clone()));
    println!("# a copy of {SMALL}: {few:?}; of {LARGE}: {many:?}");
    report.at_most("a copy, 10 times as many / as many", ratio(many, few), 30.0);
    Ok(())
}

/// Proposes to write one file of its own.
fn edit(number: usize) -> Proposal<String> {
    let file = format!("src/file{number}.rs");
    let mut proposal = Proposal::new(format!("edit {file}"), "edit_file", "x".repeat(PAYLOAD));
    proposal.fingerprints = vec![Fingerprint::digest(&file, "sha256:old")];
    proposal.after = vec![Fingerprint::digest(&file, "sha256:new")];
    proposal.effect = Effect::Reversible;
    proposal.deciders.insert(ActorKind::Model);
    proposal
}

/// A queue in which this many wait.
fn waiting(count: usize) -> Outcomes<Queue<String>> {
    let mut queue = Queue::new();
    for number in 0..count {
        stage(&mut queue, number)?;
    }
    Ok(queue)
}

/// A queue in which this many were applied, and its events.
fn finished(count: usize) -> Outcomes<(Queue<String>, Vec<Event<String>>)> {
    let (mut queue, mut log) = (Queue::new(), Vec::new());
    for number in 0..count {
        let (id, staged) = stage(&mut queue, number)?;
        log.push(staged);
        let Answer::New(decided) = queue.decide(id, Verdict::Approve, anna(), "fine", 2)? else { continue };
        keep(&mut queue, &mut log, decided)?;
        let before = [Fingerprint::digest(format!("src/file{number}.rs"), "sha256:old")];
        let start = Start::leased("one", 60_000).keeping(before.to_vec());
        let Step::Apply { attempt, event } = queue.begin_with(id, &before, start, 3)? else { continue };
        keep(&mut queue, &mut log, event)?;
        let done = queue.finish(attempt, Outcome::Applied, 4)?;
        keep(&mut queue, &mut log, done)?;
    }
    Ok((queue, log))
}

fn stage(queue: &mut Queue<String>, number: usize) -> Outcomes<(ProposalId, Event<String>)> {
    // Not `offer`, or making the queue would be what takes the time.
    let staged = queue.stage(edit(number), 1)?;
    queue.record(staged.clone())?;
    Ok((staged.proposal, staged))
}

fn keep(queue: &mut Queue<String>, log: &mut Vec<Event<String>>, event: Event<String>) -> Outcomes<()> {
    queue.record(event.clone())?;
    log.push(event);
    Ok(())
}

/// Rules of which none speaks of the file that is asked about, but the last.
fn given(count: usize) -> Outcomes<Rules> {
    let mut rules = Rules::new();
    for number in 0..count {
        let mut rule = Rule::new(RuleVerdict::Allow, anna());
        let pattern: PathPattern = match number + 1 == count {
            true => "src/**".parse()?,
            false => format!("src/**/part{number}*/**/*.rs").parse()?,
        };
        rule.target = Some(RuleTarget::Path(pattern));
        let event = rules.add(rule, 1)?;
        rules.record(event)?;
    }
    Ok(rules)
}

fn anna() -> Actor {
    Actor::new(ActorKind::Person, "anna")
}

struct Report {
    good: bool,
}

impl Report {
    fn at_most(&mut self, name: &str, value: f64, bar: f64) {
        let verdict = if value <= bar { "ok" } else { "SHORT" };
        self.good &= value <= bar;
        println!("{name}  {value:.4}  {bar}  {verdict}");
    }
}

/// Measures both sides in turns and returns the middle of each.
fn turns(mut side: impl FnMut(usize) -> Duration) -> [Duration; 2] {
    let mut taken: [Vec<Duration>; 2] = Default::default();
    for _ in 0..ROUNDS {
        for (at, times) in taken.iter_mut().enumerate() {
            times.push(side(at));
        }
    }
    taken.map(|mut times| {
        times.sort();
        times[times.len() / 2]
    })
}

/// Measures so many calls.
fn repeated<T>(times: usize, mut call: impl FnMut(usize) -> T) -> Duration {
    time(|| {
        for number in 0..times {
            black_box(call(number));
        }
    })
}

fn time<T>(run: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    let out = black_box(run());
    let taken = start.elapsed();
    drop(out);
    taken
}

fn ratio(many: Duration, few: Duration) -> f64 {
    many.as_secs_f64() / few.as_secs_f64().max(1e-9)
}
