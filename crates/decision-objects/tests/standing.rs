//! How intents, plans, tasks and runs stand: each line of each order of precedence, and what holds of every family.

use expect_test::expect;
use proptest::prelude::*;
use trunkline_decision_objects::{
    Family, IntentState, Object, ObjectKind, ObjectName, RunState, Standing, StepState, TaskState,
};

use crate::family_laws::reordered;
use crate::given_family::{End, Shape, World, any_world, id, name};

const OID: &str = "da39a3ee5e6b4b0d3255bfef95601890afd80709";
const OTHER: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

fn standing(world: &World) -> Standing {
    world.objects.iter().cloned().collect::<Family>().standing()
}

/// The word for a kind and the last digits of the name.
fn short(name: impl Into<ObjectName>) -> String {
    let name = name.into();
    format!("{} {}", name.kind, name.id.as_u128())
}

fn said_by(by: Option<ObjectName>) -> String {
    by.map_or_else(|| "-".into(), short)
}

fn task(world: &World) -> String {
    let standing = standing(world);
    let task = standing.tasks.values().next().expect("there is a task");
    let committed = task
        .committed
        .map_or_else(String::new, |(commit, by)| format!(", {:.4} by {}", commit.to_string(), short(by)));
    format!("{} by {}{committed}", task.state, said_by(task.by))
}

fn run(world: &World, number: u128) -> String {
    let standing = standing(world);
    let (_, run) = standing.runs.iter().find(|(run, _)| run.uuid().as_u128() == number).expect("it is there");
    let undone = run.undone_by.map_or_else(String::new, |by| format!(", undone by {}", short(by)));
    let chosen = run.patch_set.map_or_else(String::new, |chosen| format!(", chose {}", short(chosen)));
    format!("{} by {}{undone}{chosen}", run.state, said_by(run.by))
}

fn intent(world: &World, number: u128) -> String {
    let standing = standing(world);
    let found = standing.intents.iter().find(|(intent, _)| intent.uuid().as_u128() == number);
    let (_, intent) = found.expect("it is there");
    let state = intent.state.map_or("new", IntentState::as_str);
    let plan = intent.plan.map_or_else(String::new, |plan| format!(", {}", short(plan)));
    let release = intent
        .release
        .map_or_else(String::new, |(commit, by)| format!(", {:.4} by {}", commit.to_string(), short(by)));
    format!("{state} by {}{plan}{release}", said_by(intent.by))
}

/// A task for intent 1, without events.
fn with_task() -> World {
    let mut world = World::new();
    let lists = r#""constraints":[],"acceptance_criteria":[],"dependencies":[]"#;
    world.put("task", 1, &format!(r#""title":"fix it","intent":"{}",{lists}"#, id(1)));
    world
}

fn open(world: &mut World, number: u128) {
    world.open(number, &format!(r#","task":"{}""#, id(1)));
}

fn decide(world: &mut World, run: u128, verdict: &str) {
    world.decide(run, run, verdict, r#""evidence":[],"considered":[]"#);
}

fn commit(world: &mut World, run: u128, oid: &str) {
    let patch_set = id(100 * run + 1);
    candidate(world, run, 100 * run + 1, "");
    decide(world, run, &format!(r#"{{"kind":"commit","patch_set":"{patch_set}","commit":"{oid}"}}"#));
}

fn roll_back(world: &mut World, run: u128, of: u128) {
    world.open(run, "");
    decide(world, run, &format!(r#"{{"kind":"rollback","of":"{}"}}"#, id(of)));
}

fn candidate(world: &mut World, run: u128, number: u128, more: &str) {
    let (run, id, digest) = (id(run), id(number), "0".repeat(64));
    world.add(&format!(
        r#"{{"type":"patch_set","version":1,"id":"{id}","run":"{run}"{more},"files":[],"diff_digest":"{digest}"}}"#
    ));
}

fn task_event(world: &mut World, state: &str, more: &str) {
    world.event("task_event", &format!(r#""task":"{}","state":"{state}"{more}"#, id(1)));
}

#[test]
fn a_task_stands_as_the_first_line_says_that_says_something() {
    let mut lines = Vec::new();
    let mut world = with_task();
    lines.push(format!("5, nothing else: {}", task(&world)));
    task_event(&mut world, "created", "");
    lines.push(format!("4, an event: {}", task(&world)));
    open(&mut world, 1);
    lines.push(format!("3, an open run: {}", task(&world)));
    task_event(&mut world, "blocked", r#","reason":"a person is asked""#);
    lines.push(format!("3, blocked meanwhile: {}", task(&world)));
    task_event(&mut world, "running", &format!(r#","run":"{}""#, id(1)));
    decide(&mut world, 1, r#"{"kind":"other","label":"answered","reason":"it asked"}"#);
    lines.push(format!("4, its run has only answered: {}", task(&world)));
    open(&mut world, 2);
    commit(&mut world, 2, OID);
    lines.push(format!("4, a commit: {}", task(&world)));
    let mut undone = world.clone();
    roll_back(&mut undone, 9, 2);
    lines.push(format!("4, rolled back: {}", task(&undone)));
    roll_back(&mut undone, 10, 9);
    lines.push(format!("4, and brought back: {}", task(&undone)));
    open(&mut world, 3);
    lines.push(format!("3, another run beside the commit: {}", task(&world)));
    decide(&mut world, 3, r#"{"kind":"abandon","reason":"no use"}"#);
    open(&mut world, 4);
    lines.push(format!("2, abandoned, and a run after it: {}", task(&world)));
    decide(&mut world, 4, r#"{"kind":"abandon","reason":"again no use"}"#);
    lines.push(format!("2, abandoned twice: {}", task(&world)));
    task_event(&mut world, "done", "");
    task_event(&mut world, "cancelled", r#","reason":"too late""#);
    lines.push(format!("1, an event that ends it: {}", task(&world)));
    expect![[r#"
        5, nothing else: created by -
        4, an event: created by task_event 2
        3, an open run: running by run 1
        3, blocked meanwhile: blocked by task_event 3
        4, its run has only answered: created by task_event 4
        4, a commit: created by task_event 4, da39 by decision 2
        4, rolled back: created by task_event 4
        4, and brought back: created by task_event 4, da39 by decision 2
        3, another run beside the commit: running by run 3, da39 by decision 2
        2, abandoned, and a run after it: failed by decision 3, da39 by decision 2
        2, abandoned twice: failed by decision 3, da39 by decision 2
        1, an event that ends it: done by task_event 5, da39 by decision 2"#]]
    .assert_eq(&lines.join("\n"));
}

#[test]
fn a_run_stands_as_its_decision_says_and_else_its_events() {
    let mut lines = Vec::new();
    let event = |world: &mut World, state: &str| {
        world.event("run_event", &format!(r#""run":"{}","state":"{state}""#, id(1)));
    };
    let mut world = with_task();
    open(&mut world, 1);
    lines.push(format!("4, nothing else: {}", run(&world, 1)));
    event(&mut world, "validating");
    lines.push(format!("3, its last event: {}", run(&world, 1)));
    event(&mut world, "failed");
    event(&mut world, "completed");
    lines.push(format!("2, the first that ends it: {}", run(&world, 1)));
    let verdicts = [
        r#"{"kind":"checkpoint","checkpoint":"n12"}"#,
        r#"{"kind":"abandon","reason":"no use"}"#,
        r#"{"kind":"retry","reason":"the lock"}"#,
        r#"{"kind":"other","label":"answered","reason":"it asked"}"#,
    ];
    for verdict in verdicts {
        let mut world = world.clone();
        decide(&mut world, 1, verdict);
        lines.push(format!("1, {verdict}: {}", run(&world, 1)));
    }
    commit(&mut world, 1, OID);
    lines.push(format!("1, a commit: {}", run(&world, 1)));
    roll_back(&mut world, 2, 1);
    lines.push(format!("rolled back: {}", run(&world, 1)));
    lines.push(format!("the rollback: {}", run(&world, 2)));
    roll_back(&mut world, 3, 2);
    lines.push(format!("brought back: {}", run(&world, 1)));
    expect![[r#"
        4, nothing else: created by -
        3, its last event: validating by run_event 2
        2, the first that ends it: failed by run_event 3
        1, {"kind":"checkpoint","checkpoint":"n12"}: checkpointed by decision 1
        1, {"kind":"abandon","reason":"no use"}: failed by decision 1
        1, {"kind":"retry","reason":"the lock"}: failed by decision 1
        1, {"kind":"other","label":"answered","reason":"it asked"}: failed by decision 1
        1, a commit: completed by decision 1, chose patch_set 101
        rolled back: completed by decision 1, undone by decision 2, chose patch_set 101
        the rollback: completed by decision 2
        brought back: completed by decision 1, chose patch_set 101"#]]
    .assert_eq(&lines.join("\n"));
}

#[test]
fn of_several_candidates_one_is_chosen_by_the_decision_by_a_selection_or_as_the_only_one() {
    let mut lines = Vec::new();
    let select = |world: &mut World, patch_set: u128| {
        world.event("selection", &format!(r#""run":"{}","patch_set":"{}""#, id(1), id(patch_set)));
    };
    let mut world = with_task();
    open(&mut world, 1);
    candidate(&mut world, 1, 12, r#","sequence":1"#);
    lines.push(format!("3, the only one: {}", run(&world, 1)));
    candidate(&mut world, 1, 11, r#","sequence":2"#);
    candidate(&mut world, 1, 13, "");
    candidate(&mut world, 2, 21, "");
    lines.push(format!("3, of several none: {}", run(&world, 1)));
    let of_run = standing(&world).runs.into_values().next().expect("there is a run");
    lines.push(of_run.candidates.into_iter().map(short).collect::<Vec<_>>().join(", "));
    select(&mut world, 11);
    select(&mut world, 12);
    lines.push(format!("2, the last selection: {}", run(&world, 1)));
    select(&mut world, 21);
    lines.push(format!("2, one of another run is passed over: {}", run(&world, 1)));
    let mut rejected = world.clone();
    let reject = |number: u128| format!(r#"{{"patch_set":"{}","reason":"worse"}}"#, id(number));
    rejected.objects.retain(|object| object.kind() != ObjectKind::Selection);
    let considered = format!(r#""evidence":[],"considered":[{},{}]"#, reject(11), reject(12));
    let other = r#"{"kind":"other","label":"answered","reason":"it asked"}"#;
    rejected.decide(1, 1, other, &considered);
    lines.push(format!("3, the others were rejected: {}", run(&rejected, 1)));
    commit(&mut world, 1, OID);
    lines.push(format!("1, the decision: {}", run(&world, 1)));
    expect![[r#"
        3, the only one: created by -, chose patch_set 12
        3, of several none: created by -
        patch_set 13, patch_set 12, patch_set 11
        2, the last selection: created by -, chose patch_set 12
        2, one of another run is passed over: created by -, chose patch_set 12
        3, the others were rejected: completed by decision 1, chose patch_set 13
        1, the decision: completed by decision 1, chose patch_set 101"#]]
    .assert_eq(&lines.join("\n"));
}

#[test]
fn an_intent_stands_as_its_events_say_and_else_as_its_tasks_leave_it() {
    let mut lines = Vec::new();
    let mut world = with_task();
    lines.push(format!("3, an event: {}", intent(&world, 1)));
    lines.push(format!("3, none: {}", intent(&world, 2)));
    open(&mut world, 1);
    commit(&mut world, 1, OID);
    lines.push(format!("3, a commit, and its task is open: {}", intent(&world, 1)));
    world.open(2, &format!(r#","intent":"{}""#, id(2)));
    commit(&mut world, 2, OTHER);
    lines.push(format!("3, a commit without a task: {}", intent(&world, 2)));
    let mut undone = world.clone();
    roll_back(&mut undone, 8, 1);
    lines.push(format!("3, rolled back: {}", intent(&undone, 1)));
    task_event(&mut undone, "cancelled", r#","reason":"no longer wanted""#);
    lines.push(format!("2, its task is not wanted: {}", intent(&undone, 1)));
    let mut failed = world.clone();
    open(&mut failed, 3);
    decide(&mut failed, 3, r#"{"kind":"abandon","reason":"no use"}"#);
    lines.push(format!("2, its task has failed: {}", intent(&failed, 1)));
    task_event(&mut world, "done", "");
    lines.push(format!("2, its task is done: {}", intent(&world, 1)));
    let lists = r#""constraints":[],"acceptance_criteria":[],"dependencies":[]"#;
    world.put("task", 2, &format!(r#""title":"and that","intent":"{}",{lists}"#, id(1)));
    lines.push(format!("3, of two tasks one is open: {}", intent(&world, 1)));
    world.event("task_event", &format!(r#""task":"{}","state":"cancelled","reason":"later""#, id(2)));
    lines.push(format!("2, the last of them is not wanted: {}", intent(&world, 1)));
    world.open(4, &format!(r#","intent":"{}""#, id(1)));
    lines.push(format!("3, a run is open: {}", intent(&world, 1)));
    let ended = format!(r#""intent":"{}","kind":"completed","result_commit":"{OID}""#, id(1));
    world.event("intent_event", &ended);
    undone.event("intent_event", &ended);
    lines.push(format!("1, an event that ends it: {}", intent(&world, 1)));
    lines.push(format!("1, with a commit that is gone: {}", intent(&undone, 1)));
    expect![[r#"
        3, an event: analyzed by intent_event 1, plan 2
        3, none: new by -, plan 3
        3, a commit, and its task is open: analyzed by intent_event 1, plan 2, da39 by decision 1
        3, a commit without a task: new by -, plan 3, bbbb by decision 2
        3, rolled back: analyzed by intent_event 1, plan 2
        2, its task is not wanted: cancelled by task_event 2, plan 2
        2, its task has failed: cancelled by decision 3, plan 2, da39 by decision 1
        2, its task is done: completed by task_event 2, plan 2, da39 by decision 1
        3, of two tasks one is open: analyzed by intent_event 1, plan 2, da39 by decision 1
        2, the last of them is not wanted: completed by task_event 3, plan 2, da39 by decision 1
        3, a run is open: analyzed by intent_event 1, plan 2, da39 by decision 1
        1, an event that ends it: completed by intent_event 4, plan 2, da39 by decision 1
        1, with a commit that is gone: completed by intent_event 3, plan 2"#]]
    .assert_eq(&lines.join("\n"));
}

#[test]
fn a_plan_is_selected_or_worked_by_or_the_only_one_that_is_not_revised() {
    let mut lines = Vec::new();
    let mut world = with_task();
    lines.push(format!("3, plan 2 revises plan 1: {}", intent(&world, 1)));
    let plan = |world: &mut World, number: u128| {
        let content = r#""frames":[],"steps":[]"#;
        world.put("plan", number, &format!(r#""intent":"{}","parents":["{}"],{content}"#, id(1), id(1)));
    };
    plan(&mut world, 4);
    lines.push(format!("3, two that are not revised: {}", intent(&world, 1)));
    world.open(1, &format!(r#","intent":"{}","plan":"{}""#, id(1), id(1)));
    lines.push(format!("2, a run works by it: {}", intent(&world, 1)));
    for plan in [4, 3] {
        world.event("selection", &format!(r#""intent":"{}","plan":"{}""#, id(1), id(plan)));
    }
    lines.push(format!("1, selected; plan 3 is for another intent: {}", intent(&world, 1)));
    expect![[r#"
        3, plan 2 revises plan 1: analyzed by intent_event 1, plan 2
        3, two that are not revised: analyzed by intent_event 1
        2, a run works by it: analyzed by intent_event 1, plan 1
        1, selected; plan 3 is for another intent: analyzed by intent_event 1, plan 4"#]]
    .assert_eq(&lines.join("\n"));
}

#[test]
fn a_plan_is_finished_dropped_superseded_closed_or_open() {
    let mut lines = Vec::new();
    let stands = |world: &World| {
        let standing = standing(world);
        let plans = standing.plans.iter().map(|(id, plan)| format!("{} {}", short(*id), plan.state.as_str()));
        format!("{}; {}", plans.collect::<Vec<_>>().join(", "), intent(world, 1))
    };
    let step = |world: &mut World, plan: u128, run: u128, state: &str| {
        let of = format!(r#""plan":"{}","step":"{}","run":"{}""#, id(plan), id(plan), id(run));
        world.event("step_event", &format!(r#"{of},"state":"{state}","consumed":[],"produced":[]"#));
    };
    let mut world = with_task();
    open(&mut world, 1);
    // Of another step each, as two proposals have them.
    for plan in [4, 5] {
        let steps = format!(r#"{{"id":"{}","description":"do it"}}"#, id(plan));
        let content = format!(r#""frames":[],"steps":[{steps}]"#);
        world.put("plan", plan, &format!(r#""intent":"{}","parents":["{}"],{content}"#, id(1), id(2)));
    }
    lines.push(format!("two of one: {}", stands(&world)));
    step(&mut world, 4, 1, "skipped");
    lines.push(format!("one is dropped: {}", stands(&world)));
    let mut both = world.clone();
    step(&mut both, 5, 1, "skipped");
    lines.push(format!("what dropped plans revise is good again: {}", stands(&both)));
    let mut closed = world.clone();
    step(&mut closed, 5, 1, "pending");
    decide(&mut closed, 1, r#"{"kind":"other","label":"answered","reason":"it asked"}"#);
    task_event(&mut closed, "done", "");
    lines.push(format!("its task is done: {}", stands(&closed)));
    step(&mut world, 5, 1, "progressing");
    step(&mut world, 5, 1, "completed");
    lines.push(format!("all of it is done: {}", stands(&world)));
    expect![[r#"
        two of one: plan 1 superseded, plan 2 superseded, plan 3 open, plan 4 open, plan 5 open; analyzed by intent_event 1
        one is dropped: plan 1 superseded, plan 2 superseded, plan 3 open, plan 4 dropped, plan 5 open; analyzed by intent_event 1, plan 5
        what dropped plans revise is good again: plan 1 superseded, plan 2 open, plan 3 open, plan 4 dropped, plan 5 dropped; analyzed by intent_event 1, plan 2
        its task is done: plan 1 superseded, plan 2 superseded, plan 3 open, plan 4 dropped, plan 5 closed; completed by task_event 4, plan 5
        all of it is done: plan 1 superseded, plan 2 superseded, plan 3 open, plan 4 dropped, plan 5 finished; analyzed by intent_event 1, plan 5"#]].assert_eq(&lines.join("\n"));
}

#[test]
fn a_step_stands_over_all_runs_and_revisions() {
    let mut lines = Vec::new();
    let mut world = with_task();
    let step = |world: &mut World, plan: u128, run: u128, state: &str| {
        let of = format!(r#""plan":"{}","step":"{}","run":"{}""#, id(plan), id(1), id(run));
        world.event("step_event", &format!(r#"{of},"state":"{state}","consumed":[],"produced":[]"#));
    };
    let stands = |world: &World| {
        let standing = standing(world);
        let plans = standing.plans.values().map(|plan| {
            let step = plan.steps.first().expect("each has one");
            let state = step.state.map_or("-", StepState::as_str);
            format!("{state} by {}, {}", said_by(step.by), plan.state.as_str())
        });
        plans.collect::<Vec<_>>().join(" | ")
    };
    lines.push(format!("3: {}", stands(&world)));
    open(&mut world, 1);
    step(&mut world, 1, 1, "progressing");
    step(&mut world, 1, 1, "failed");
    step(&mut world, 1, 1, "completed");
    lines.push(format!("2, failed in the first run: {}", stands(&world)));
    open(&mut world, 2);
    step(&mut world, 2, 2, "progressing");
    lines.push(format!("2, begun in the next, by a revision: {}", stands(&world)));
    step(&mut world, 2, 2, "completed");
    open(&mut world, 3);
    step(&mut world, 2, 3, "pending");
    lines.push(format!("1, completed once: {}", stands(&world)));
    commit(&mut world, 2, OID);
    roll_back(&mut world, 9, 2);
    lines.push(format!("2, that run was rolled back: {}", stands(&world)));
    expect![[r#"
        3: - by -, superseded | - by -, open | - by -, open
        2, failed in the first run: failed by step_event 3, superseded | failed by step_event 3, open | - by -, open
        2, begun in the next, by a revision: progressing by step_event 5, superseded | progressing by step_event 5, open | - by -, open
        1, completed once: completed by step_event 6, finished | completed by step_event 6, finished | - by -, open
        2, that run was rolled back: pending by step_event 7, superseded | pending by step_event 7, open | - by -, open"#]].assert_eq(&lines.join("\n"));
}

#[test]
fn heads_are_followed_by_nothing_and_the_release_is_what_the_last_decision_leaves() {
    use End::{Commit, Open, Retry};
    let shape = |end| Shape { end, linked: true, usages: 0, steps: false };
    let mut world = World::of(&[Commit, Retry, Open].map(shape));
    let told = |world: &World| {
        let standing = standing(world);
        let runs = standing.head_runs().map(short).collect::<Vec<_>>().join(", ");
        let intents = standing.head_intents().map(short).collect::<Vec<_>>().join(", ");
        let plans = standing.head_plans().map(short).collect::<Vec<_>>().join(", ");
        let release = standing
            .release
            .map_or_else(|| "-".into(), |(commit, by)| format!("{:.4} by {}", commit.to_string(), short(by)));
        format!("{runs} | {intents} | {plans} | {release}\n")
    };
    let mut lines = told(&world);
    world.open(9, "");
    decide(&mut world, 9, &format!(r#"{{"kind":"rollback","of":"{}","reverted_to":"{OTHER}"}}"#, id(1)));
    lines.push_str(&told(&world));
    expect![[r#"
        run 1, run 3 | intent 2 | plan 2, plan 3 | da39 by decision 1
        run 1, run 3, run 9 | intent 2 | plan 2, plan 3 | bbbb by decision 9
    "#]]
    .assert_eq(&lines);
}

#[test]
fn what_contradicts_itself_has_a_standing_too() {
    // Each rolls back the next, and the last the first; then one that leads into the circle.
    let mut world = with_task();
    for (run, of) in [(1, 2), (2, 3), (3, 1), (4, 1), (5, 4)] {
        open(&mut world, run);
        decide(&mut world, run, &format!(r#"{{"kind":"rollback","of":"{}"}}"#, id(of)));
    }
    let lines: Vec<String> = (1..=5).map(|number| run(&world, number)).collect();
    expect![[r#"
        completed by decision 1, undone by decision 3
        completed by decision 2, undone by decision 1
        completed by decision 3, undone by decision 2
        completed by decision 4, undone by decision 5
        completed by decision 5"#]]
    .assert_eq(&lines.join("\n"));
}

#[test]
fn a_long_row_of_rollbacks_is_followed_once() {
    let mut world = World::new();
    for number in 1..=20_000 {
        roll_back(&mut world, number, number + 1);
    }
    let standing = standing(&world);
    let undone = standing.runs.values().filter(|run| run.undone_by.is_some()).count();
    assert_eq!(undone, 10_000);
}

/// A family whose objects all name each other: names are thrown together.
fn tangled(world: &World, keys: &[u64]) -> Family {
    let few = |place: usize, number: u128| {
        let key = keys.get(place % keys.len().max(1)).copied().unwrap_or_default();
        1 + u128::from(key).wrapping_add(number) % 5
    };
    let tangle = |(place, object): (usize, &Object)| {
        let mut text = object.print();
        for number in 1..400 {
            text = text.replace(&id(number), &format!("<{}>", few(place, number)));
        }
        for number in 1..=5 {
            text = text.replace(&format!("<{number}>"), &id(number));
        }
        Object::parse(text.as_bytes()).ok()
    };
    world.objects.iter().enumerate().filter_map(tangle).collect()
}

proptest! {
    #![proptest_config(crate::given::one_in(3))]

    #[test]
    fn the_order_of_adding_says_nothing_but_for_events_of_one_thing(
        world in any_world(),
        keys in prop::collection::vec(any::<u64>(), 1..20),
    ) {
        let family: Family = reordered(&world.objects, &keys).into_iter().collect();
        prop_assert_eq!(family.standing(), standing(&world));
    }

    #[test]
    fn whatever_names_whatever_has_a_standing(
        world in any_world(),
        keys in prop::collection::vec(any::<u64>(), 1..20),
    ) {
        let family = tangled(&world, &keys);
        let standing = family.standing();
        let count = |kind: ObjectKind| family.iter().filter(|object| object.kind() == kind).count();
        prop_assert_eq!(standing.intents.len(), count(ObjectKind::Intent));
        prop_assert_eq!(standing.plans.len(), count(ObjectKind::Plan));
        prop_assert_eq!(standing.tasks.len(), count(ObjectKind::Task));
        prop_assert_eq!(standing.runs.len(), count(ObjectKind::Run));
        // What says something is here.
        let said = standing.intents.values().filter_map(|intent| intent.by);
        let said = said.chain(standing.tasks.values().filter_map(|task| task.by));
        for by in said.chain(standing.runs.values().filter_map(|run| run.by)) {
            prop_assert!(family.get(by).is_some(), "{}", by);
        }
    }

    #[test]
    fn of_two_with_one_name_the_first_stands(mut world in any_world(), place: prop::sample::Index) {
        let before = standing(&world);
        let object = world.objects[place.index(world.objects.len())].print();
        let clash = object.replace("coder-1", "coder-2");
        world.add(&clash);
        prop_assert_eq!(standing(&world), before);
    }

    /// The events of a family that fits say what its decisions entail; that a task is done, they say alone.
    #[test]
    fn decisions_say_what_events_say(world in any_world()) {
        let with = standing(&world);
        let mut without = world.clone();
        without.objects.retain(|object| !matches!(object, Object::RunEvent(_) | Object::TaskEvent(_)));
        let without = standing(&without);
        for (id, run) in &with.runs {
            let other = &without.runs[id];
            prop_assert_eq!(run.is_open(), other.is_open());
            prop_assert!(run.is_open() || run.state == other.state, "{:?} {:?}", run, other);
            prop_assert_eq!(run.state.is_terminal(), run.decision.is_some());
            prop_assert!(run.state != RunState::Created || run.is_open());
        }
        for (id, task) in &with.tasks {
            let other = without.tasks[id].state;
            let ends = world.runs.iter().filter(|run| task.runs.iter().any(|id| id.uuid().as_u128() == run.number));
            let ends: Vec<End> = ends.map(|run| run.shape.end).collect();
            let last = ends.last().copied().unwrap_or(End::Open);
            let expected = match last {
                End::Abandon => TaskState::Failed,
                End::Open => TaskState::Running,
                _ => TaskState::Created,
            };
            prop_assert_eq!(other, expected, "{:?}", ends);
        }
    }
}

#[test]
fn an_event_about_what_is_not_here_gives_it_no_standing() {
    let mut world = World::new();
    world.event("run_event", &format!(r#""run":"{}","state":"created""#, id(7)));
    let family: Family = world.objects.into_iter().collect();
    assert!(family.get(name(ObjectKind::Run, 7)).is_none());
    assert!(family.standing().runs.is_empty());
}
