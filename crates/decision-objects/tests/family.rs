//! Families that teach: what is told, under which object, and how much of it.

use expect_test::expect;
use trunkline_decision_objects::{
    Added, Family, Header, Intent, IntentContent, Object, ObjectKind, ObjectName, Rule, Timestamp, Usage,
    Violation,
};
use uuid::Uuid;

use crate::given::{at, coder, words};
use crate::given_events::{header, intent_id, usage_content};
use crate::given_family::{End, Shape, World, id, name};

fn told(family: &Family) -> String {
    family.violations().iter().map(|violation| format!("{violation}\n")).collect()
}

#[test]
fn everything_is_told_and_not_only_the_first() {
    let mut world = World::new();
    world.open(1, &format!(r#","continues":"{}","task":"{}""#, id(9), id(8)));
    world.event("run_event", &format!(r#""run":"{}","state":"patching""#, id(1)));
    let verdict = format!(r#"{{"kind":"rollback","of":"{}"}}"#, id(2));
    world.decide(2, 1, r#"{"kind":"abandon","reason":"no use"}"#, r#""evidence":[],"considered":[]"#);
    world.decide(3, 1, &verdict, &format!(r#""evidence":["{}"],"considered":[]"#, id(7)));
    world.event("run_event", &format!(r#""run":"{}","state":"completed""#, id(1)));
    world.event("run_event", &format!(r#""run":"{}","state":"failed""#, id(1)));
    let family: Family = world.objects.into_iter().collect();
    expect![[r#"
        run 00000000-0000-0000-0000-000000000001: `continues` names run 00000000-0000-0000-0000-000000000009, which is not here
        run 00000000-0000-0000-0000-000000000001: `task` names task 00000000-0000-0000-0000-000000000008, which is not here
        run_event 00000000-0000-0000-0000-000000000002: run 00000000-0000-0000-0000-000000000001 becomes patching first of all; that is not a move it can make
        run_event 00000000-0000-0000-0000-000000000003: run 00000000-0000-0000-0000-000000000001 becomes completed, and decision 00000000-0000-0000-0000-000000000002 ended the run as abandon
        run_event 00000000-0000-0000-0000-000000000004: run 00000000-0000-0000-0000-000000000001 was already completed and becomes failed
        decision 00000000-0000-0000-0000-000000000003: `evidence` names evidence 00000000-0000-0000-0000-000000000007, which is not here
        decision 00000000-0000-0000-0000-000000000003: run 00000000-0000-0000-0000-000000000001 was already decided, by 00000000-0000-0000-0000-000000000002
        decision 00000000-0000-0000-0000-000000000003: decision 00000000-0000-0000-0000-000000000002 cannot be rolled back: it ended its run as abandon, without changes
        decision 00000000-0000-0000-0000-000000000003: decision 00000000-0000-0000-0000-000000000002 is about the same run; a rollback needs a run of its own
    "#]].assert_eq(&told(&family));
    let dangling = family.violations().iter().filter(|violation| violation.is_dangling()).count();
    assert_eq!(dangling, 3);
}

#[test]
fn of_two_objects_with_one_name_both_are_kept_and_the_first_counts() {
    let usage = |input_tokens| {
        let mut content = usage_content(1);
        content.input_tokens = input_tokens;
        Object::from(Usage::new(header(9), content).unwrap())
    };
    let mut family = Family::new();
    let added = [1, 1, 2, 3, 2, 1].map(|input_tokens| family.add(usage(input_tokens)));
    use Added::{Clash, Known, New};
    assert_eq!(added, [New, Known, Clash, Clash, Known, Known]);
    assert_eq!(family.get(name(ObjectKind::Usage, 9)), Some(&usage(1)));
    assert_eq!(family.iter().count(), 1);
    assert_eq!(family.clashes().count(), 2);
    let of_names = |violation: &&Violation| matches!(violation.rule, Rule::NameTwice { .. });
    assert_eq!(family.violations().iter().filter(of_names).count(), 2);
}

#[test]
fn one_number_names_objects_of_several_kinds() {
    let world = World::of(&[Shape { end: End::Commit, linked: true, usages: 1, steps: true }]);
    let family: Family = world.objects.into_iter().collect();
    assert_eq!(family.violations(), Vec::new());
    let named = |kind: &&ObjectKind| family.get(name(**kind, 1)).is_some();
    assert!(ObjectKind::ALL.iter().filter(named).count() > 8);
}

#[test]
fn a_name_comes_back_from_its_text() {
    for &kind in ObjectKind::ALL {
        let name = ObjectName { kind, id: Uuid::from_u128(7) };
        assert_eq!(name.to_string().parse(), Ok(name));
    }
    let line = |text: &&str| match text.parse::<ObjectName>() {
        Ok(name) => format!("{name}\n"),
        Err(invalid) => format!("! {invalid}\n"),
    };
    let nil = format!("run {}", Uuid::nil());
    let lines: String = ["run", "runs 1", "run 1", nil.as_str()].iter().map(line).collect();
    expect![[r#"
        ! "" is not a UUID
        ! "runs" is not a word that can stand here; expected intent, plan, task, run, patch_set, context_snapshot, provenance, intent_event, task_event, run_event, step_event, usage, tool_invocation, context_frame, selection, evidence or decision
        ! "1" is not a UUID
        ! the id is nil (all zeros)
    "#]].assert_eq(&lines);
}

/// Decides a run as a rollback that changed a file.
fn roll_back(world: &mut World, number: u128, of: u128) {
    let file = format!(r#"{{"path":"a","after":"{}"}}"#, "9".repeat(64));
    let rest =
        format!(r#""evidence":[],"considered":[],"cites":{{"nodes":[],"proposals":[],"files":[{file}]}}"#);
    world.decide(number, number, &format!(r#"{{"kind":"rollback","of":"{}"}}"#, id(of)), &rest);
}

#[test]
fn rollbacks_go_in_no_circle() {
    let mut world = World::new();
    (1..4).for_each(|number| world.open(number, ""));
    for (number, of) in [(1, 2), (2, 3), (3, 1)] {
        roll_back(&mut world, number, of);
    }
    let family: Family = world.objects.into_iter().collect();
    expect![[r#"
        decision 00000000-0000-0000-0000-000000000001: the rollbacks of decisions go in a circle of 3: 00000000-0000-0000-0000-000000000001, 00000000-0000-0000-0000-000000000002, 00000000-0000-0000-0000-000000000003
    "#]].assert_eq(&told(&family));
}

#[test]
fn what_is_rolled_back_was_decided_before() {
    for (seconds, expected) in [
        (299, expect![[""]]),
        (
            300,
            expect![[r#"
        decision 00000000-0000-0000-0000-000000000001: it was made before decision 00000000-0000-0000-0000-000000000002, which it rolls back, was made, at 2026-09-21T14:18:32Z
    "#]],
        ),
    ] {
        let mut world = World::new();
        (1..4).for_each(|number| world.open(number, ""));
        roll_back(&mut world, 1, 2);
        (0..seconds).for_each(|_| _ = world.tick());
        roll_back(&mut world, 2, 3);
        let family: Family = world.objects.into_iter().collect();
        let rules = family.violations().into_iter().filter(|violation| !violation.is_dangling());
        expected.assert_eq(&rules.map(|violation| format!("{violation}\n")).collect::<String>());
    }
}

/// Intents of which each has the one before as parent, and the first perhaps the last.
fn chain(length: u128, closed: bool) -> Family {
    let intent = |number| {
        let first = if closed { Some(length) } else { None };
        let parent = if number == 1 { first } else { Some(number - 1) };
        let header = Header { id: intent_id(number), at: at(), by: coder() };
        let parents = parent.map(intent_id).into_iter().collect();
        Intent::new(header, IntentContent { parents, ..IntentContent::new(words("fix it")) })
            .expect("nothing is named twice")
    };
    (1..=length).map(intent).collect()
}

#[test]
fn fifty_thousand_ancestors_need_no_stack() {
    const LENGTH: u128 = 50_000;
    // Far too small for a call for each of them.
    let small = std::thread::Builder::new().stack_size(256 * 1024);
    let found = small.spawn(|| [chain(LENGTH, false).violations(), chain(LENGTH, true).violations()]);
    let [open, closed] = found.unwrap().join().unwrap();
    assert_eq!(open, Vec::new());
    let [Violation { object, rule: Rule::Cycle { members, .. } }] = closed.as_slice() else {
        panic!("{} violations", closed.len())
    };
    assert_eq!((*object, members.len()), (name(ObjectKind::Intent, 1), 50_000));
    expect!["intent 00000000-0000-0000-0000-000000000001: the parents of intents go in a circle of 50000: 00000000-0000-0000-0000-000000000001, 00000000-0000-0000-0000-000000000002, 00000000-0000-0000-0000-000000000003, 00000000-0000-0000-0000-000000000004, …"].assert_eq(&closed[0].to_string());
}

#[test]
fn circles_that_hang_together_are_one_and_others_are_told_apart() {
    let mut world = World::new();
    world.objects.clear();
    // 1 → 2 → 3 → 1 and 3 → 4 → 3; 5 → 6 → 5, which also names 1; 7 → 1 is in none.
    let parents: [(u128, &[u128]); 7] =
        [(1, &[2]), (2, &[3]), (3, &[1, 4]), (4, &[3]), (5, &[6, 1]), (6, &[5]), (7, &[1])];
    for (number, parents) in parents {
        let parents: Vec<String> = parents.iter().map(|&parent| format!("\"{}\"", id(parent))).collect();
        let body = format!(r#""parents":[{}],"prompt":"fix it","analysis_frames":[]"#, parents.join(","));
        world.put("intent", number, &body);
    }
    let family: Family = world.objects.into_iter().collect();
    expect![[r#"
        intent 00000000-0000-0000-0000-000000000001: the parents of intents go in a circle of 4: 00000000-0000-0000-0000-000000000001, 00000000-0000-0000-0000-000000000002, 00000000-0000-0000-0000-000000000003, 00000000-0000-0000-0000-000000000004
        intent 00000000-0000-0000-0000-000000000005: the parents of intents go in a circle of 2: 00000000-0000-0000-0000-000000000005, 00000000-0000-0000-0000-000000000006
    "#]].assert_eq(&told(&family));
}

#[test]
fn a_call_may_take_no_time_and_a_cost_may_be_unknown() {
    let mut world = World::new();
    world.open(1, "");
    let now = world.tick();
    let call = r#""tool":"edit","reads":[],"writes":[],"args":"{}","status":"ok","artifacts":[]"#;
    world.event("tool_invocation", &format!(r#""run":"{}",{call},"started":"{now}","ended":"{now}""#, id(1)));
    let counts = r#""input_tokens":1,"output_tokens":2,"cache_read_tokens":3,"cache_write_tokens":4"#;
    world.event("usage", &format!(r#""run":"{}",{counts}"#, id(1)));
    let cites =
        format!(r#""cites":{{"nodes":[],"proposals":[],"files":[],"cost":{{{counts},"microdollars":9}}}}"#);
    let rest = format!(r#""evidence":[],"considered":[],{cites}"#);
    world.decide(1, 1, r#"{"kind":"abandon","reason":"no use"}"#, &rest);
    assert_eq!(told(&world.objects.into_iter().collect()), "");
}

#[test]
fn the_intent_of_a_run_is_that_of_its_task_unless_it_says_so() {
    // Plan 3 is for intent 2, and so is task 2; task 3 is for no intent.
    let told = |serves: &str| {
        let mut world = World::new();
        for (number, intent) in [(2, format!(r#","intent":"{}""#, id(2))), (3, String::new())] {
            let lists = r#""constraints":[],"acceptance_criteria":[]"#;
            world.put("task", number, &format!(r#""title":"fix it",{lists}{intent},"dependencies":[]"#));
        }
        world.open(1, serves);
        told(&world.objects.into_iter().collect())
    };
    let serves = |task: u128, plan: u128| format!(r#","task":"{}","plan":"{}""#, id(task), id(plan));
    let intent = |number| format!(r#","intent":"{}""#, id(number));
    for fits in [serves(2, 3), serves(3, 1), intent(2) + &serves(2, 3), intent(1) + &serves(3, 1)] {
        assert_eq!(told(&fits), "", "{fits}");
    }
    let wrong = [serves(2, 1), intent(1) + &serves(3, 3), intent(1) + &serves(2, 1)];
    expect![[r#"
        run 00000000-0000-0000-0000-000000000001: `plan` names plan 00000000-0000-0000-0000-000000000001, which belongs to intent 00000000-0000-0000-0000-000000000001, not to intent 00000000-0000-0000-0000-000000000002
        --
        run 00000000-0000-0000-0000-000000000001: `plan` names plan 00000000-0000-0000-0000-000000000003, which belongs to intent 00000000-0000-0000-0000-000000000002, not to intent 00000000-0000-0000-0000-000000000001
        --
        run 00000000-0000-0000-0000-000000000001: `task` names task 00000000-0000-0000-0000-000000000002, which belongs to intent 00000000-0000-0000-0000-000000000002, not to intent 00000000-0000-0000-0000-000000000001
    "#]].assert_eq(&wrong.map(|serves| told(&serves)).join("--\n"));
}

#[test]
fn twenty_thousand_others_of_the_name_of_a_long_object_are_told() {
    // A megabyte once, and twenty thousand others of its name: printed again for each, it would be twenty gigabytes.
    let intent = |prompt: String| {
        let header = Header { id: intent_id(1), at: at(), by: coder() };
        Intent::new(header, IntentContent::new(words(&prompt))).expect("nothing is named twice")
    };
    let mut family = Family::new();
    family.add(intent("x".repeat(1 << 20)));
    family.extend((0..20_000).map(|number| intent(number.to_string())));
    assert_eq!(family.violations().len(), 20_000);
}

/// A run need name no plan for it to be known what its steps are for.
#[test]
fn a_step_is_of_a_plan_for_the_runs_intent_and_produces_frames_of_the_run() {
    let step = |used: &str, plan: u128, step: u128| {
        let of = format!(r#""plan":"{}","step":"{}","run":"{}""#, id(plan), id(step), id(1));
        format!(r#"{of},"state":"pending",{used}"#)
    };
    let lines = ["intent", "plan"].map(|named| {
        let mut world = World::new();
        world.open(1, &format!(r#","{named}":"{}""#, id(1)));
        world.open(2, "");
        let frame = format!(r#""run":"{}","kind":"code_change","summary":"a lock""#, id(2));
        world.put("context_frame", 5, &frame);
        world.event("step_event", &step(&format!(r#""consumed":["{}"],"produced":[]"#, id(5)), 2, 1));
        assert_eq!(told(&world.objects.iter().cloned().collect()), "");
        world.event("step_event", &step(&format!(r#""consumed":[],"produced":["{}"]"#, id(5)), 3, 3));
        told(&world.objects.into_iter().collect())
    });
    assert_eq!(lines[0], lines[1]);
    expect![[r#"
        step_event 00000000-0000-0000-0000-000000000003: `plan` names plan 00000000-0000-0000-0000-000000000003, which belongs to intent 00000000-0000-0000-0000-000000000002, not to intent 00000000-0000-0000-0000-000000000001
        step_event 00000000-0000-0000-0000-000000000003: `produced` names context_frame 00000000-0000-0000-0000-000000000005, which belongs to run 00000000-0000-0000-0000-000000000002, not to run 00000000-0000-0000-0000-000000000001
    "#]].assert_eq(&lines[0]);
}

#[test]
fn up_to_five_minutes_before_its_run_is_no_violation() {
    for (earlier, violates) in [(300_000, false), (300_001, true)] {
        let mut world = World::new();
        world.open(1, "");
        world.prove(2, 1, "");
        let (mut opened, mut proved) = (at(), at());
        for object in &world.objects {
            match object {
                Object::Run(run) => opened = run.opening().at,
                Object::Evidence(evidence) => proved = evidence.at(),
                _ => {}
            }
        }
        let then = Timestamp::from_milliseconds(opened.milliseconds() - earlier).unwrap().to_string();
        // A nanosecond is enough.
        let then = then.replace(".999Z", ".999999999Z");
        world.edit(name(ObjectKind::Evidence, 2), &proved.to_string(), &then);
        let told = told(&world.objects.into_iter().collect());
        assert_eq!(!told.is_empty(), violates, "{then}: {told}");
    }
}
