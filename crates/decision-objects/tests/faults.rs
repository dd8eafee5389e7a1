//! One fault for each rule: what is done to a family that fits, and everything that it then violates.
//!
//! A fault needs a place where it can be made; where a family has none, it says so.

use trunkline_decision_objects::{
    Digest, Object, ObjectKind as Kind, Relation, Rule, Timestamp, VerdictKind, Violation,
};
use uuid::Uuid;

use crate::given::{decision_id, evidence_id, run_id};
use crate::given_events::{plan_id, step_id};
use crate::given_family::{End, RunOf, World, id, name};

/// Does something wrong and says what comes of it; `None` if the family has no place for it.
pub(crate) type Fault = fn(&mut World) -> Option<Vec<Violation>>;

/// A number that nothing has.
const NOBODY: u128 = 77_777;

fn violation(kind: Kind, number: u128, rule: Rule) -> Violation {
    Violation { object: name(kind, number), rule }
}

fn some_run(world: &World, fits: impl Fn(&RunOf) -> bool) -> Option<RunOf> {
    world.runs.iter().copied().find(fits)
}

fn decided(run: &RunOf) -> bool {
    run.shape.end != End::Open
}

fn foreign(field: &'static str, to: (Kind, u128), owner: (Kind, u128), expected: (Kind, u128)) -> Rule {
    Rule::Foreign {
        field,
        to: name(to.0, to.1),
        owner: name(owner.0, owner.1),
        expected: name(expected.0, expected.1),
    }
}

pub(crate) const FAULTS: &[(&str, Fault)] = &[
    ("two evidences of one name", |world| {
        let first = world.objects.iter().find(|object| object.kind() == Kind::Evidence)?.clone();
        let text = first.print().replace("cargo", "make");
        world.add(&text);
        let other = Digest::of(text.as_bytes());
        Some(vec![Violation { object: first.name(), rule: Rule::NameTwice { first: first.digest(), other } }])
    }),
    ("a snapshot that is not here", |world| {
        let run = some_run(world, |_| true)?.number;
        world.edit(
            name(Kind::Run, run),
            &format!(r#""snapshot":"{}""#, id(1)),
            &format!(r#""snapshot":"{}""#, id(NOBODY)),
        );
        let rule = Rule::Dangling { field: "snapshot", to: name(Kind::ContextSnapshot, NOBODY) };
        Some(vec![violation(Kind::Run, run, rule)])
    }),
    ("a step that is in no plan", |world| {
        let task = some_run(world, |_| true)?.task;
        world.edit(
            name(Kind::Task, task),
            &format!(r#""origin_step":"{}""#, id(1)),
            &format!(r#""origin_step":"{}""#, id(NOBODY)),
        );
        let rule = Rule::UnknownStep { field: "origin_step", step: step_id(NOBODY), plan: None };
        Some(vec![violation(Kind::Task, task, rule)])
    }),
    ("a step of another plan", |world| {
        let run = some_run(world, |_| true)?.number;
        world.edit(
            name(Kind::ContextFrame, run),
            &format!(r#""step":"{}""#, id(1)),
            &format!(r#""step":"{}""#, id(3)),
        );
        let rule = Rule::UnknownStep { field: "step", step: step_id(3), plan: Some(plan_id(1)) };
        Some(vec![violation(Kind::ContextFrame, run, rule)])
    }),
    ("the patch set of another run is chosen", |world| {
        let run = some_run(world, |run| run.shape.end == End::Commit)?.number;
        let other = some_run(world, |other| other.number != run)?.number;
        let (ours, theirs) = (100 * run + 1, 100 * other + 1);
        world.edit(name(Kind::Decision, run), &id(ours), &id(theirs));
        let to = (Kind::PatchSet, theirs);
        let rule = foreign("verdict.patch_set", to, (Kind::Run, other), (Kind::Run, run));
        Some(vec![violation(Kind::Decision, run, rule)])
    }),
    ("the patch set of another run is considered", |world| {
        let run = some_run(world, decided)?.number;
        let other = some_run(world, |other| other.number != run)?.number;
        world.edit(name(Kind::Decision, run), &id(100 * run + 2), &id(100 * other + 2));
        let to = (Kind::PatchSet, 100 * other + 2);
        let rule = foreign("considered", to, (Kind::Run, other), (Kind::Run, run));
        Some(vec![violation(Kind::Decision, run, rule)])
    }),
    ("the evidence of another run", |world| {
        let run = some_run(world, |run| decided(run) && !run.shape.linked)?.number;
        let other =
            some_run(world, |other| other.number != run && !(other.shape.linked && decided(other)))?.number;
        world.edit(
            name(Kind::Decision, run),
            &format!(r#""evidence":["{}"]"#, id(run)),
            &format!(r#""evidence":["{}"]"#, id(other)),
        );
        let rule = foreign("evidence", (Kind::Evidence, other), (Kind::Run, other), (Kind::Run, run));
        Some(vec![violation(Kind::Decision, run, rule)])
    }),
    ("evidence about the patch set of another run", |world| {
        let run = some_run(world, |_| true)?.number;
        let other = some_run(world, |other| other.number != run)?.number;
        world.edit(name(Kind::Evidence, run), &id(100 * run + 1), &id(100 * other + 1));
        let to = (Kind::PatchSet, 100 * other + 1);
        let rule = foreign("patch_set", to, (Kind::Run, other), (Kind::Run, run));
        Some(vec![violation(Kind::Evidence, run, rule)])
    }),
    ("an event about the patch set of another run", |world| {
        let run = some_run(world, |_| true)?.number;
        let other = some_run(world, |other| other.number != run)?.number;
        let event = world.find(Kind::RunEvent, &[&format!(r#""run":"{}""#, id(run)), "patching"]);
        world.edit(event, &id(100 * run + 1), &id(100 * other + 1));
        let to = (Kind::PatchSet, 100 * other + 1);
        let rule = foreign("patch_set", to, (Kind::Run, other), (Kind::Run, run));
        Some(vec![Violation { object: event, rule }])
    }),
    ("a plan for another intent", |world| {
        let run = some_run(world, |run| !run.shape.steps)?.number;
        world.edit(
            name(Kind::Run, run),
            &format!(r#""plan":"{}""#, id(1)),
            &format!(r#""plan":"{}""#, id(3)),
        );
        let rule = foreign("plan", (Kind::Plan, 3), (Kind::Intent, 2), (Kind::Intent, 1));
        Some(vec![violation(Kind::Run, run, rule)])
    }),
    ("a revision of a plan for another intent", |world| {
        world.edit(name(Kind::Plan, 3), r#""parents":[]"#, &format!(r#""parents":["{}"]"#, id(1)));
        let rule = foreign("parents", (Kind::Plan, 1), (Kind::Intent, 1), (Kind::Intent, 2));
        Some(vec![violation(Kind::Plan, 3, rule)])
    }),
    ("a step event for a plan of another intent", |world| {
        let run = some_run(world, |run| run.shape.steps)?.number;
        world.event(
            "step_event",
            &format!(
                r#""plan":"{}","step":"{}","run":"{}","state":"skipped","consumed":[],"produced":[]"#,
                id(3),
                id(3),
                id(run)
            ),
        );
        let event = world.objects.last()?.name();
        let rule = foreign("plan", (Kind::Plan, 3), (Kind::Intent, 2), (Kind::Intent, 1));
        Some(vec![Violation { object: event, rule }])
    }),
    ("the task of another run", |world| {
        // An earlier one, since the event would be older than a later one.
        let two = |run: &RunOf| {
            some_run(world, |other| other.task != run.task && other.number < run.number)
                .filter(|_| run.shape.end == End::Open)
        };
        let run = some_run(world, |run| two(run).is_some())?;
        let other = two(&run)?;
        let event = world.find(Kind::TaskEvent, &[&format!(r#""run":"{}""#, id(run.number)), "running"]);
        world.edit(
            event,
            &format!(r#""run":"{}""#, id(run.number)),
            &format!(r#""run":"{}""#, id(other.number)),
        );
        // Whatever the other run came to, it can have been at work before.
        let rule =
            foreign("run", (Kind::Run, other.number), (Kind::Task, other.task), (Kind::Task, run.task));
        Some(vec![Violation { object: event, rule }])
    }),
    ("a second decision", |world| {
        let run = some_run(world, |run| decided(run) && run.undoes.is_none())?.number;
        world.decide(900, run, r#"{"kind":"abandon","reason":"no"}"#, r#""evidence":[],"considered":[]"#);
        let rule = Rule::SecondDecision { run: run_id(run), first: decision_id(run) };
        Some(vec![violation(Kind::Decision, 900, rule)])
    }),
    ("a second provenance", |world| {
        let run = some_run(world, |_| true)?.number;
        world.put("provenance", 900, &format!(r#""run":"{}","provider":"x","model":"m""#, id(run)));
        let first = Uuid::from_u128(run).to_string().parse().ok()?;
        Some(vec![violation(Kind::Provenance, 900, Rule::SecondProvenance { run: run_id(run), first })])
    }),
    // Who lists it and whom it names cannot both be right: it is told under both.
    ("evidence that names another decision", |world| {
        let run = some_run(world, |run| decided(run) && !run.shape.linked)?.number;
        let other = some_run(world, |other| decided(other) && other.number != run)?.number;
        world.edit(name(Kind::Evidence, run), r#""kind""#, &format!(r#""decision":"{}","kind""#, id(other)));
        let names = decision_id(other);
        Some(vec![
            violation(Kind::Evidence, run, Rule::UnnamedEvidence { decision: names }),
            violation(Kind::Decision, run, Rule::EvidenceOfAnother { evidence: evidence_id(run), names }),
        ])
    }),
    ("evidence that its decision does not name", |world| {
        let run = some_run(world, decided)?.number;
        world.prove(900, run, &format!(r#","decision":"{}""#, id(run)));
        let rule = Rule::UnnamedEvidence { decision: decision_id(run) };
        Some(vec![violation(Kind::Evidence, 900, rule)])
    }),
    ("a successor of a run that is open", |world| {
        let run = some_run(world, |run| run.shape.end == End::Open)?;
        world.open(900, &format!(r#","continues":"{}""#, id(run.number)));
        let rule = Rule::PredecessorUndecided { run: run_id(run.number) };
        Some(vec![violation(Kind::Run, 900, rule)])
    }),
    ("a successor of another sort", |world| {
        let run = some_run(world, |run| run.shape.end == End::Commit)?.number;
        world.open(900, &format!(r#","retry_of":"{}""#, id(run)));
        let (found, needed) = (VerdictKind::Commit, VerdictKind::Retry);
        Some(vec![violation(Kind::Run, 900, Rule::PredecessorVerdict { run: run_id(run), found, needed })])
    }),
    ("a successor that works on another task", |world| {
        let run = some_run(world, |run| run.follows.is_some())?;
        let before = some_run(world, |before| Some(before.number) == run.follows)?;
        let other = some_run(world, |other| other.task != run.task)?.task;
        let ours = format!(r#""task":"{}""#, id(run.task));
        world.edit(name(Kind::Run, run.number), &ours, &format!(r#""task":"{}""#, id(other)));
        let field = if before.shape.end == End::Retry { "retry_of" } else { "continues" };
        let to = (Kind::Run, before.number);
        let rule = foreign(field, to, (Kind::Task, run.task), (Kind::Task, other));
        let mut found = vec![violation(Kind::Run, run.number, rule)];
        // What its events say of its old task is then of another one, and so is what the run after it follows.
        for object in &world.objects {
            let text = object.print();
            if object.kind() == Kind::TaskEvent && text.contains(&format!(r#""run":"{}""#, id(run.number))) {
                let rule =
                    foreign("run", (Kind::Run, run.number), (Kind::Task, other), (Kind::Task, run.task));
                found.push(Violation { object: object.name(), rule });
            }
        }
        if let Some(next) = some_run(world, |next| next.follows == Some(run.number)) {
            let field = if run.shape.end == End::Retry { "retry_of" } else { "continues" };
            let rule = foreign(field, (Kind::Run, run.number), (Kind::Task, other), (Kind::Task, run.task));
            found.push(violation(Kind::Run, next.number, rule));
        }
        Some(found)
    }),
    ("a successor that was opened too early", |world| {
        let run = some_run(world, |run| run.follows.is_some())?;
        let before = run.follows?;
        let text = world.objects.iter().find(|object| object.name() == name(Kind::Decision, before))?.print();
        let at = text.split(r#""at":""#).nth(1)?.split('"').next()?;
        let opened: Timestamp = time_of(world, Kind::Run, run.number)?.parse().ok()?;
        let late = opened.milliseconds() + trunkline_decision_objects::Family::SKEW_MILLISECONDS + 1;
        let late = Timestamp::from_milliseconds(late).ok()?;
        world.edit(name(Kind::Decision, before), at, &late.to_string());
        let rule = Rule::OpenedTooEarly { run: run_id(before), decided: late };
        Some(vec![violation(Kind::Run, run.number, rule)])
    }),
    ("a rollback of what changed nothing", |world| {
        let run = some_run(world, |run| run.undoes.is_some())?;
        let rollback = world.objects.iter().find(|object| object.name() == name(Kind::Decision, run.number));
        let Some(Object::Decision(rollback)) = rollback else { return None };
        // As old as the rollback: what is rolled back is not younger.
        let then = rollback.at();
        let at = world.tick();
        world.open(900, "");
        let verdict = r#"{"kind":"abandon","reason":"no time"}"#;
        world.decide(900, 900, verdict, r#""evidence":[],"considered":[]"#);
        for (kind, seconds) in [(Kind::Run, 1), (Kind::Decision, 2)] {
            let made = Timestamp::from_milliseconds(at.milliseconds() + 1000 * seconds).ok()?;
            world.edit(name(kind, 900), &made.to_string(), &then.to_string());
        }
        world.edit(
            name(Kind::Decision, run.number),
            &format!(r#""of":"{}""#, id(run.undoes?)),
            &format!(r#""of":"{}""#, id(900)),
        );
        let rule = Rule::NothingToUndo { of: decision_id(900), found: VerdictKind::Abandon };
        Some(vec![violation(Kind::Decision, run.number, rule)])
    }),
    // A decision about the same run is the second one of that run.
    ("a rollback of its own run", |world| {
        let undone: Vec<u128> = world.runs.iter().filter_map(|run| run.undoes).collect();
        let run =
            some_run(world, |run| run.shape.end == End::Commit && !undone.contains(&run.number))?.number;
        let verdict = format!(r#"{{"kind":"rollback","of":"{}"}}"#, id(run));
        world.decide(900, run, &verdict, r#""evidence":[],"considered":[]"#);
        let (of, run) = (decision_id(run), run_id(run));
        Some(vec![
            violation(Kind::Decision, 900, Rule::SecondDecision { run, first: of }),
            violation(Kind::Decision, 900, Rule::UndoesItsRun { of }),
        ])
    }),
    ("a second rollback", |world| {
        let run = some_run(world, |run| run.undoes.is_some())?;
        let of = run.undoes?;
        world.open(900, "");
        let verdict = format!(r#"{{"kind":"rollback","of":"{}"}}"#, id(of));
        world.decide(900, 900, &verdict, r#""evidence":[],"considered":[]"#);
        let rule = Rule::UndoneAlready { of: decision_id(of), first: decision_id(run.number) };
        Some(vec![violation(Kind::Decision, 900, rule)])
    }),
    ("intents that are each other's parents", |world| {
        world.edit(name(Kind::Intent, 1), r#""parents":[]"#, &format!(r#""parents":["{}"]"#, id(2)));
        Some(vec![circle(Kind::Intent, Relation::IntentParents, &[1, 2])])
    }),
    ("plans that are each other's parents", |world| {
        world.edit(name(Kind::Plan, 1), r#""parents":[]"#, &format!(r#""parents":["{}"]"#, id(2)));
        Some(vec![circle(Kind::Plan, Relation::PlanParents, &[1, 2])])
    }),
    ("tasks that are each other's parents", |world| {
        let task = some_run(world, |run| run.task != 1)?.task;
        world.edit(name(Kind::Task, 1), r#""intent""#, &format!(r#""parent":"{}","intent""#, id(task)));
        Some(vec![circle(Kind::Task, Relation::TaskParents, &[1, task])])
    }),
    ("tasks that wait for each other", |world| {
        let task = some_run(world, |run| run.task != 1)?.task;
        world.edit(
            name(Kind::Task, 1),
            r#""dependencies":[]"#,
            &format!(r#""dependencies":["{}"]"#, id(task)),
        );
        Some(vec![circle(Kind::Task, Relation::TaskDependencies, &[1, task])])
    }),
    // Within the skew, so that nothing else is wrong.
    ("runs that retry each other", |world| {
        for (run, other) in [(900, 901), (901, 900)] {
            world.open(run, &format!(r#","retry_of":"{}""#, id(other)));
            world.decide(run, run, r#"{"kind":"retry","reason":"no"}"#, r#""evidence":[],"considered":[]"#);
        }
        Some(vec![circle(Kind::Run, Relation::RunPredecessors, &[900, 901])])
    }),
    ("an event that is missing", |world| {
        let run = some_run(world, |_| true)?.number;
        let of = format!(r#""run":"{}""#, id(run));
        let first = world.find(Kind::RunEvent, &[&of, "created"]);
        world.remove(first);
        let next = world.find(Kind::RunEvent, &[&of, "patching"]);
        let rule = Rule::OutOfOrder { of: name(Kind::Run, run), before: None, state: "patching" };
        Some(vec![Violation { object: next, rule }])
    }),
    ("an event after the last", |world| {
        let run = some_run(world, |run| run.shape.end == End::Abandon)?.number;
        world.event("run_event", &format!(r#""run":"{}","state":"patching""#, id(run)));
        let rule = Rule::AfterTheEnd { of: name(Kind::Run, run), end: "failed", state: "patching" };
        Some(vec![Violation { object: world.objects.last()?.name(), rule }])
    }),
    ("an intent that goes on after its end", |world| {
        world.event("intent_event", &format!(r#""intent":"{}","kind":"other","label":"reworded""#, id(1)));
        let rule = Rule::AfterTheEnd { of: name(Kind::Intent, 1), end: "completed", state: "other" };
        Some(vec![Violation { object: world.objects.last()?.name(), rule }])
    }),
    ("a commit whose run failed", |world| {
        let run = some_run(world, |run| run.shape.end == End::Commit)?.number;
        let last = world.find(Kind::RunEvent, &[&format!(r#""run":"{}""#, id(run)), "completed"]);
        world.edit(last, "completed", "failed");
        let rule = contradiction((Kind::Run, run), "failed", run, VerdictKind::Commit);
        Some(vec![Violation { object: last, rule }])
    }),
    ("an abandoned run whose task is done", |world| {
        let run = some_run(world, |run| run.shape.end == End::Abandon)?;
        let last = world.find(Kind::TaskEvent, &[&format!(r#""run":"{}""#, id(run.number)), "failed"]);
        world.edit(last, "failed", "done");
        let rule = contradiction((Kind::Task, run.task), "done", run.number, VerdictKind::Abandon);
        Some(vec![Violation { object: last, rule }])
    }),
    ("usages that do not add up", |world| {
        let run = some_run(world, |run| decided(run) && run.shape.usages > 0)?;
        let usage = world.find(Kind::Usage, &[&format!(r#""run":"{}""#, id(run.number))]);
        world.edit(usage, r#""output_tokens":7"#, r#""output_tokens":8"#);
        let decided = 7 * run.shape.usages;
        let rule = Rule::UsageSum { count: "output_tokens", summed: u128::from(decided) + 1, decided };
        Some(vec![violation(Kind::Decision, run.number, rule)])
    }),
    ("evidence from before its run", |world| {
        let run = some_run(world, |_| true)?.number;
        let opened = time_of(world, Kind::Run, run)?;
        let found = time_of(world, Kind::Evidence, run)?;
        let opened: Timestamp = opened.parse().ok()?;
        let early = opened.milliseconds() - trunkline_decision_objects::Family::SKEW_MILLISECONDS - 1;
        let early = Timestamp::from_milliseconds(early).ok()?;
        world.edit(name(Kind::Evidence, run), &found, &early.to_string());
        Some(vec![violation(Kind::Evidence, run, Rule::BeforeItsRun { run: run_id(run), opened })])
    }),
    ("a decision from before its run", |world| {
        let run = some_run(world, |run| decided(run) && run.undoes.is_none())?.number;
        let opened: Timestamp = time_of(world, Kind::Run, run)?.parse().ok()?;
        let decided = time_of(world, Kind::Decision, run)?;
        let early = Timestamp::from_milliseconds(opened.milliseconds() - 1).ok()?;
        world.edit(name(Kind::Decision, run), &decided, &early.to_string());
        Some(vec![violation(Kind::Decision, run, Rule::BeforeItsRun { run: run_id(run), opened })])
    }),
    ("a call that ended before it started", |world| {
        let call = world.find(Kind::ToolInvocation, &[]);
        let text = world.objects.iter().find(|object| object.name() == call)?.print();
        let started: Timestamp = text.split(r#""started":""#).nth(1)?.split('"').next()?.parse().ok()?;
        let ended = text.split(r#""ended":""#).nth(1)?.split('"').next()?;
        let before = Timestamp::from_milliseconds(started.milliseconds() - 1).ok()?;
        world.edit(call, &format!(r#""ended":"{ended}""#), &format!(r#""ended":"{before}""#));
        Some(vec![Violation { object: call, rule: Rule::EndedBeforeStart { started, ended: before } }])
    }),
    ("a run that is retried and whose task is done", |world| {
        // The last, or the task of its successor would have two things wrong with it.
        let run = world.runs.last().copied().filter(|run| run.shape.end == End::Retry)?;
        let (task, of) = (id(run.task), id(run.number));
        world.event("task_event", &format!(r#""task":"{task}","state":"done","run":"{of}""#));
        let rule = contradiction((Kind::Task, run.task), "done", run.number, VerdictKind::Retry);
        Some(vec![Violation { object: world.objects.last()?.name(), rule }])
    }),
    ("a commit whose run was put down", |world| {
        let run = some_run(world, |run| run.shape.end == End::Commit)?.number;
        let last = world.find(Kind::RunEvent, &[&format!(r#""run":"{}""#, id(run)), "completed"]);
        world.edit(last, "completed", "checkpointed");
        let rule = contradiction((Kind::Run, run), "checkpointed", run, VerdictKind::Commit);
        Some(vec![Violation { object: last, rule }])
    }),
    ("a frame about a plan for another intent", |world| {
        let run = some_run(world, |_| true)?.number;
        world.edit(name(Kind::ContextFrame, run), r#""run""#, &format!(r#""intent":"{}","run""#, id(2)));
        let rule = foreign("plan", (Kind::Plan, 1), (Kind::Intent, 1), (Kind::Intent, 2));
        Some(vec![violation(Kind::ContextFrame, run, rule)])
    }),
    ("a task for another intent", |world| {
        let run = some_run(world, |_| true)?;
        world.edit(name(Kind::Run, run.number), r#""task""#, &format!(r#""intent":"{}","task""#, id(2)));
        let theirs = (Kind::Intent, 1);
        Some(vec![
            violation(
                Kind::Run,
                run.number,
                foreign("task", (Kind::Task, run.task), theirs, (Kind::Intent, 2)),
            ),
            violation(Kind::Run, run.number, foreign("plan", (Kind::Plan, 1), theirs, (Kind::Intent, 2))),
        ])
    }),
    ("an intent that is to come next and is not here", |world| {
        let end = world.find(Kind::IntentEvent, &["completed"]);
        world.edit(end, r#""completed""#, &format!(r#""completed","next_intent":"{}""#, id(NOBODY)));
        let rule = Rule::Dangling { field: "next_intent", to: name(Kind::Intent, NOBODY) };
        Some(vec![Violation { object: end, rule }])
    }),
    ("a call that started before its run", |world| {
        let run = some_run(world, |_| true)?.number;
        let call = world.find(Kind::ToolInvocation, &[&format!(r#""run":"{}""#, id(run))]);
        let opened: Timestamp = time_of(world, Kind::Run, run)?.parse().ok()?;
        let text = world.objects.iter().find(|object| object.name() == call)?.print();
        let started = text.split(r#""started":""#).nth(1)?.split('"').next()?;
        world.edit(call, &format!(r#""started":"{started}""#), r#""started":"1970-01-01T00:00:00Z""#);
        Some(vec![Violation { object: call, rule: Rule::BeforeItsRun { run: run_id(run), opened } }])
    }),
];

fn circle(kind: Kind, relation: Relation, members: &[u128]) -> Violation {
    let members: Vec<Uuid> = members.iter().map(|&number| Uuid::from_u128(number)).collect();
    Violation {
        object: trunkline_decision_objects::ObjectName { kind, id: members[0] },
        rule: Rule::Cycle { relation, members },
    }
}

fn contradiction(of: (Kind, u128), state: &'static str, decision: u128, verdict: VerdictKind) -> Rule {
    Rule::Contradicts { of: name(of.0, of.1), state, decision: decision_id(decision), verdict }
}

fn time_of(world: &World, kind: Kind, number: u128) -> Option<String> {
    let text = world.objects.iter().find(|object| object.name() == name(kind, number))?.print();
    Some(text.split(r#""at":""#).nth(1)?.split('"').next()?.to_owned())
}
