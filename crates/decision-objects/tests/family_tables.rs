//! Rules of a family that are tables: each row of them is tried.

use expect_test::expect;
use trunkline_decision_objects::{Family, ObjectKind, Rule, Violation};

use crate::given_family::{World, id};

fn violations(world: World) -> Vec<Violation> {
    world.objects.into_iter().collect::<Family>().violations()
}

/// A run with this verdict and an event of its own and of its task into this state: does either contradict it?
fn contradictions(verdict: &str, states: [&str; 6], kind: &str) -> String {
    let told = |state: &str| {
        let mut world = World::new();
        world.put(
            "task",
            1,
            r#""title":"fix it","constraints":[],"acceptance_criteria":[],"dependencies":[]"#,
        );
        world.open(1, &format!(r#","task":"{}""#, id(1)));
        world.decide(1, 1, verdict, r#""evidence":[],"considered":[]"#);
        let (of, why) = match kind {
            "task_event" => (format!(r#""task":"{}","run":"{}""#, id(1), id(1)), r#","reason":"no""#),
            _ => (format!(r#""run":"{}""#, id(1)), ""),
        };
        world.event(kind, &format!(r#"{of},"state":"{state}"{why}"#));
        let family: Family = world.objects.into_iter().collect();
        family.violations().iter().any(|violation| matches!(violation.rule, Rule::Contradicts { .. }))
    };
    states.into_iter().filter(|state| told(state)).collect::<Vec<_>>().join(" ")
}

#[test]
fn no_event_says_another_end_than_the_decision() {
    let oid = "da39a3ee5e6b4b0d3255bfef95601890afd80709";
    let verdicts = [
        ("commit", format!(r#"{{"kind":"commit","patch_set":"{}","commit":"{oid}"}}"#, id(101))),
        ("checkpoint", r#"{"kind":"checkpoint","checkpoint":"n12"}"#.into()),
        ("abandon", r#"{"kind":"abandon","reason":"no use"}"#.into()),
        ("retry", r#"{"kind":"retry","reason":"the lock"}"#.into()),
        ("rollback", format!(r#"{{"kind":"rollback","of":"{}"}}"#, id(9))),
        ("other", r#"{"kind":"other","label":"answered","reason":"it asked"}"#.into()),
    ];
    let runs = ["created", "patching", "validating", "completed", "failed", "checkpointed"];
    let tasks = ["created", "running", "blocked", "done", "failed", "cancelled"];
    let row = |(word, verdict): &(&str, String)| {
        let (of_run, of_task) =
            (contradictions(verdict, runs, "run_event"), contradictions(verdict, tasks, "task_event"));
        format!("{word:10} | {of_run:22} | {of_task}\n")
    };
    expect![[r#"
        commit     | failed checkpointed    | 
        checkpoint | completed failed       | done failed cancelled
        abandon    | completed checkpointed | done cancelled
        retry      | completed checkpointed | done failed cancelled
        rollback   | failed checkpointed    | 
        other      | checkpointed           | 
    "#]]
    .assert_eq(&verdicts.iter().map(row).collect::<String>());
}

#[test]
fn each_count_of_a_cost_is_that_of_the_usages() {
    let counts = ["input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "microdollars"];
    for wrong in counts {
        let body = |other: u8| {
            let count = |name: &&str| format!(r#""{name}":{}"#, if *name == wrong { other } else { 20 });
            counts.iter().map(count).collect::<Vec<_>>().join(",")
        };
        let mut world = World::new();
        world.open(1, "");
        world.event("usage", &format!(r#""run":"{}",{}"#, id(1), body(20)).replace("20", "10"));
        world.event("usage", &format!(r#""run":"{}",{}"#, id(1), body(20)).replace("20", "10"));
        let cites = format!(r#""cites":{{"nodes":[],"proposals":[],"files":[],"cost":{{{}}}}}"#, body(19));
        let rest = format!(r#""evidence":[],"considered":[],{cites}"#);
        world.decide(1, 1, r#"{"kind":"abandon","reason":"no use"}"#, &rest);
        let rules: Vec<Rule> = violations(world).into_iter().map(|violation| violation.rule).collect();
        assert_eq!(rules, [Rule::UsageSum { count: wrong, summed: 20, decided: 19 }]);
    }
}

#[test]
fn whatever_is_of_a_run_is_not_older_than_it() {
    let run = format!(r#""run":"{}""#, id(1));
    let step = format!(r#""plan":"{}","step":"{}",{run}"#, id(1), id(1));
    let call = r#""tool":"edit","reads":[],"writes":[],"args":"{}","status":"ok","artifacts":[]"#;
    let counts = r#""input_tokens":1,"output_tokens":2,"cache_read_tokens":3,"cache_write_tokens":4"#;
    let bodies = [
        ("provenance", format!(r#"{run},"provider":"anthropic","model":"m""#)),
        ("task_event", format!(r#""task":"{}","state":"created",{run}"#, id(1))),
        ("run_event", format!(r#"{run},"state":"created""#)),
        ("step_event", format!(r#"{step},"state":"pending","consumed":[],"produced":[]"#)),
        ("usage", format!("{run},{counts}")),
        // Also one that says that it started later than it came to be.
        ("tool_invocation", format!(r#"{run},{call},"started":"2027-01-01T00:00:00Z""#)),
        ("context_frame", format!(r#"{run},"kind":"code_change","summary":"a lock""#)),
    ];
    let mut world = World::new();
    let before = world.objects.len();
    for (number, (kind, body)) in (1..).zip(&bodies) {
        world.put(kind, number, body);
    }
    world.prove(1, 1, "");
    world.decide(1, 1, r#"{"kind":"abandon","reason":"no use"}"#, r#""evidence":[],"considered":[]"#);
    let all: Vec<ObjectKind> = world.objects[before..].iter().map(|object| object.kind()).collect();
    let older = |world: World| -> Vec<ObjectKind> {
        let found = violations(world).into_iter();
        let mut kinds: Vec<ObjectKind> = found
            .filter(|violation| matches!(violation.rule, Rule::BeforeItsRun { .. }))
            .map(|violation| violation.object.kind)
            .collect();
        kinds.sort_by_key(|kind| all.iter().position(|one| one == kind));
        kinds
    };
    // Within the skew only the decision is too old; beyond it, all are.
    let (mut now, mut late) = (world.clone(), world);
    now.open(1, "");
    assert_eq!(older(now), [ObjectKind::Decision]);
    (0..300).for_each(|_| _ = late.tick());
    late.open(1, "");
    assert_eq!(older(late), all);
}

#[test]
fn events_of_each_sort_are_looked_at_in_their_turn() {
    let step =
        format!(r#""plan":"{}","step":"{}","run":"{}","consumed":[],"produced":[]"#, id(1), id(1), id(1));
    let rows: [(&str, String, &str, [&str; 3]); 4] = [
        ("intent_event", format!(r#""intent":"{}""#, id(2)), "kind", ["analyzed", "cancelled", "completed"]),
        (
            "task_event",
            format!(r#""task":"{}","reason":"no""#, id(1)),
            "state",
            ["running", "failed", "done"],
        ),
        ("run_event", format!(r#""run":"{}""#, id(1)), "state", ["patching", "completed", "failed"]),
        ("step_event", step, "state", ["completed", "pending", "progressing"]),
    ];
    let told = rows.map(|(kind, of, key, words)| {
        let mut world = World::new();
        for word in words {
            world.event(kind, &format!(r#"{of},"{key}":"{word}""#));
        }
        let found = violations(world).into_iter().filter(|violation| !violation.is_dangling());
        found.map(|violation| format!("{}\n", violation.rule)).collect::<String>()
    });
    expect![[r#"
        intent 00000000-0000-0000-0000-000000000002 was already cancelled and becomes completed
        task 00000000-0000-0000-0000-000000000001 becomes running first of all; that is not a move it can make
        task 00000000-0000-0000-0000-000000000001 was already failed and becomes done
        run 00000000-0000-0000-0000-000000000001 becomes patching first of all; that is not a move it can make
        run 00000000-0000-0000-0000-000000000001 was already completed and becomes failed
        plan 00000000-0000-0000-0000-000000000001 becomes completed first of all; that is not a move it can make
        plan 00000000-0000-0000-0000-000000000001 was already completed and becomes pending
        plan 00000000-0000-0000-0000-000000000001 was already completed and becomes progressing
    "#]].assert_eq(&told.concat());
}
