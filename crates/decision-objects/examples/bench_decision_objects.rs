//! Measures what a large family costs: adding its objects, and finding everything that does not fit between them.
//!
//! Each ratio is that of ten times as much to as much as that: ten would be linear, a hundred the square. Both sides take
//! turns in one run, because only their ratio means anything. `cargo xtask bench decision-objects`; it ends with exit
//! code 1 if a bar is missed.

#![expect(clippy::print_stdout, reason = "a bench speaks to people")]

use std::error::Error;
use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use trunkline_decision_objects::{
    Actor, ActorKind, Citations, Closing, Cost, DecisionId, Diff, EventId, Evidence, EvidenceId,
    EvidenceKind, Family, Finding, Header, Intent, IntentContent, IntentId, Invalid, NonBlank, Object,
    ObjectKind, Opening, PatchSet, PatchSetId, Predecessor, Run, RunEvent, RunEventContent, RunId, RunState,
    Task, TaskContent, TaskEvent, TaskEventContent, TaskId, TaskState, Timestamp, Usage, UsageContent,
    Verdict,
};
use uuid::Uuid;

type Outcomes<T> = Result<T, Box<dyn Error>>;

/// Objects of the small family; of the large one there are ten times as many.
const SMALL: usize = 10_000;
const LARGE: usize = 100_000;
/// Objects that one run brings along.
const EACH: usize = 12;
/// What ten times as much may cost: ten is linear, a hundred would be the square; the caches of the machine take a part.
const LINEARITHMIC: f64 = 25.0;
/// How often each side is measured.
const ROUNDS: usize = 7;

fn main() -> ExitCode {
    let mut report = Report { good: true };
    match measured(&mut report) {
        Ok(()) => ExitCode::from(u8::from(!report.good)),
        Err(fault) => {
            println!("# {fault}");
            ExitCode::FAILURE
        }
    }
}

fn measured(report: &mut Report) -> Outcomes<()> {
    let objects = [objects(SMALL / EACH)?, objects(LARGE / EACH)?];
    let [few, many] = turns(|side| {
        let objects = objects[side].clone();
        time(move || objects.into_iter().collect::<Family>())
    });
    println!("# an object takes {} bytes beside its texts", size_of::<Object>());
    println!("# {} objects added: {few:?}; {}: {many:?}", objects[0].len(), objects[1].len());
    report.at_most("objects added, 10 times as many / as many", ratio(many, few), LINEARITHMIC);

    let fitting = objects.clone().map(|objects| objects.into_iter().collect::<Family>());
    if let Some(violation) = fitting.iter().find_map(|family| family.violations().into_iter().next()) {
        return Err(format!("this family fits, and yet: {violation}").into());
    }
    let [few, many] = turns(|side| time(|| fitting[side].violations()));
    println!("# a family that fits, looked through: {few:?} and {many:?}");
    report.at_most("looked through, 10 times as many / as many", ratio(many, few), LINEARITHMIC);
    let each = many.as_secs_f64() * 1e6 / objects[1].len() as f64;
    report.at_most("microseconds to look at an object of 100,000", each, 20.0);

    let [few, many] = turns(|side| time(|| fitting[side].standing()));
    println!("# how all in it stands: {few:?} and {many:?}");
    report.at_most("how all stands, 10 times as many / as many", ratio(many, few), LINEARITHMIC);

    // Without its runs nearly every object names something that is not here.
    let broken = objects.map(|objects| {
        objects.into_iter().filter(|object| object.kind() != ObjectKind::Run).collect::<Family>()
    });
    let counts = [broken[0].violations().len(), broken[1].violations().len()];
    let [few, many] = turns(|side| time(|| broken[side].violations()));
    println!("# {} violations: {few:?}; {}: {many:?}", counts[0], counts[1]);
    report.at_most("violations told, 10 times as many / as many", ratio(many, few), LINEARITHMIC);

    // One circle of all the tasks: each waits for the one before, and the first for the last.
    let circles = [circle(SMALL)?, circle(LARGE)?];
    let [few, many] = turns(|side| time(|| circles[side].violations()));
    println!("# a circle of {SMALL} tasks: {few:?}; of {LARGE}: {many:?}");
    report.at_most("a circle, 10 times as long / as long", ratio(many, few), LINEARITHMIC);
    Ok(())
}

/// What so many runs leave, each but the first a retry of the one before.
fn objects(runs: usize) -> Outcomes<Vec<Object>> {
    let mut objects = Vec::with_capacity(runs * EACH);
    objects.push(Intent::new(header(IntentId::new, 1)?, IntentContent::new(words()?))?.into());
    let content = TaskContent { intent: Some(named(IntentId::new, 1)?), ..TaskContent::new(words()?) };
    objects.push(Task::new(header(TaskId::new, 1)?, content)?.into());
    objects.push(task_event(0, TaskState::Created, None)?);
    for number in 1..=runs {
        one_run(&mut objects, number)?;
    }
    Ok(objects)
}

fn one_run(objects: &mut Vec<Object>, number: usize) -> Outcomes<()> {
    let id: RunId = named(RunId::new, number)?;
    let follows = if number == 1 { None } else { Some(named(RunId::new, number - 1)?) };
    let opening = Opening {
        task: Some(named(TaskId::new, 1)?),
        predecessor: follows.map(Predecessor::RetryOf),
        ..Opening::new(id, at()?, actor()?, "make the failing test pass")
    };
    let run = Run::open(opening)?;
    objects.push(run.record().clone().into());
    let event = |offset: usize| header(EventId::new, EACH * number + offset);
    objects.push(task_event(EACH * number, TaskState::Running, Some(id))?);
    let patch_set_id = named(PatchSetId::new, number)?;
    for (offset, state) in [(1, RunState::Created), (2, RunState::Patching), (3, RunState::Validating)] {
        let patch_set = (state == RunState::Patching).then_some(patch_set_id);
        let content = RunEventContent { run: id, state, reason: None, error: None, metrics: None, patch_set };
        objects.push(RunEvent::new(event(offset)?, content)?.into());
    }
    objects.push(PatchSet::new(patch_set_id, id, None, Vec::new(), Diff::kept("-1\n+2\n"))?.into());
    let finding = Finding {
        kind: EvidenceKind::Test,
        tool: words()?,
        command: Some("cargo test".into()),
        exit_code: Some(101),
        summary: None,
        output: None,
    };
    let patch_set = Some(patch_set_id);
    let decision = named(DecisionId::new, number)?;
    let evidence =
        Evidence::new(named(EvidenceId::new, number)?, id, at()?, patch_set, Some(decision), finding);
    objects.push(evidence.clone().into());
    let mut cost = Cost::default();
    for offset in [4, 5] {
        let content = UsageContent {
            run: id,
            input_tokens: 100,
            output_tokens: 20,
            cache_read_tokens: 3_000,
            cache_write_tokens: 4,
            microdollars: None,
        };
        cost.input_tokens += content.input_tokens;
        cost.output_tokens += content.output_tokens;
        cost.cache_read_tokens += content.cache_read_tokens;
        cost.cache_write_tokens += content.cache_write_tokens;
        objects.push(Usage::new(event(offset)?, content)?.into());
    }
    let closing = Closing {
        evidence: &[evidence],
        cites: Citations { cost: Some(cost), ..Citations::default() },
        ..Closing::new(decision, at()?, actor()?)
    };
    let (_, decision) = run.decide(Verdict::Retry { reason: words()? }, closing)?;
    objects.push(decision.into());
    let state = RunState::Failed;
    let content = RunEventContent { run: id, state, reason: None, error: None, metrics: None, patch_set };
    objects.push(RunEvent::new(event(6)?, content)?.into());
    Ok(())
}

fn task_event(number: usize, state: TaskState, run: Option<RunId>) -> Outcomes<Object> {
    let content = TaskEventContent { task: named(TaskId::new, 1)?, state, reason: None, run };
    Ok(TaskEvent::new(header(EventId::new, number + 1)?, content)?.into())
}

fn circle(length: usize) -> Outcomes<Family> {
    let mut family = Family::new();
    for number in 1..=length {
        let before = if number == 1 { length } else { number - 1 };
        let dependencies = vec![named(TaskId::new, before)?];
        let content = TaskContent { dependencies, ..TaskContent::new(words()?) };
        family.add(Task::new(header(TaskId::new, number)?, content)?);
    }
    Ok(family)
}

/// A name by number, in no order that a map could make use of, as names drawn by chance are.
fn named<Id>(new: impl Fn(Uuid) -> Result<Id, Invalid>, number: usize) -> Result<Id, Invalid> {
    let spread = (number as u128).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
    new(Uuid::from_u128(spread))
}

fn header<Id>(new: impl Fn(Uuid) -> Result<Id, Invalid>, number: usize) -> Outcomes<Header<Id>> {
    Ok(Header { id: named(new, number)?, at: at()?, by: actor()? })
}

fn at() -> Outcomes<Timestamp> {
    Ok(Timestamp::from_milliseconds(1_790_000_000_000)?)
}

fn actor() -> Outcomes<Actor> {
    Ok(Actor::new(ActorKind::Agent, "coder-1")?)
}

fn words() -> Outcomes<NonBlank> {
    Ok(NonBlank::new("the lock was held twice")?)
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

/// Measures both sides in turns and returns the least of each: what else the machine does only makes it slower.
fn turns(mut side: impl FnMut(usize) -> Duration) -> [Duration; 2] {
    let mut least = [Duration::MAX; 2];
    for _ in 0..ROUNDS {
        for (at, least) in least.iter_mut().enumerate() {
            *least = side(at).min(*least);
        }
    }
    least
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
