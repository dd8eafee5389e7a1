//! Several patch sets of one run, each with its place, and what was chosen.

use std::num::NonZeroU32;

use expect_test::expect;
use trunkline_decision_objects::{Family, PatchSet, Selection};

use crate::given::patch_set;
use crate::given_family::{End, Shape, World, id};

fn at(sequence: u32) -> NonZeroU32 {
    NonZeroU32::new(sequence).expect("a test counts from 1")
}

/// A run with two patch sets, 101 and 102.
fn world() -> World {
    World::of(&[Shape { end: End::Open, linked: true, usages: 1, steps: true }])
}

fn told(world: World) -> String {
    let family: Family = world.objects.into_iter().collect();
    family.violations().iter().map(|violation| format!("{violation}\n")).collect()
}

#[test]
fn a_patch_set_without_a_place_has_the_bytes_that_it_had_before_there_were_places() {
    expect![[r#"{"type":"patch_set","version":1,"id":"00000000-0000-0000-0000-000000000002","run":"00000000-0000-0000-0000-000000000001","base":"da39a3ee5e6b4b0d3255bfef95601890afd80709","files":[{"path":"src/lib.rs","change":"modified","added_lines":2,"deleted_lines":1}],"diff_digest":"2c6fc3bbdbdf21e563d87da52e3048b31c1952c116648135c0a91e071c350328","diff":"-1\n+2\n+3\n"}"#]]
        .assert_eq(&patch_set(2, 1).print());
    let third = patch_set(2, 1).with_sequence(at(3));
    assert_eq!(third.print(), patch_set(2, 1).print().replace(r#","base""#, r#","sequence":3,"base""#));
    assert_eq!(PatchSet::parse(third.print().as_bytes()), Ok(third));
}

#[test]
fn a_place_is_counted_from_one() {
    let text = patch_set(2, 1).with_sequence(at(3)).print();
    let refused = |place: &str| {
        let text = text.replace(r#""sequence":3"#, &format!(r#""sequence":{place}"#));
        PatchSet::parse(text.as_bytes()).map_or_else(|error| error.to_string(), |read| read.print())
    };
    let lines: Vec<String> = ["0", "-1", "4294967296", "\"3\""].map(refused).into();
    expect![[r#"
        $.sequence: 0 is not a whole number from 1 to 4294967295
        $.sequence: -1 is not a whole number from 1 to 4294967295
        $.sequence: 4294967296 is not a whole number from 1 to 4294967295
        $.sequence: expected a number, found a string"#]]
    .assert_eq(&lines.join("\n"));
}

#[test]
fn two_candidates_of_a_run_do_not_have_one_place() {
    let place = |patch_set: u128, run: u128, sequence: u32| {
        let (patch_set, run, digest) = (id(patch_set), id(run), "0".repeat(64));
        format!(
            r#"{{"type":"patch_set","version":1,"id":"{patch_set}","run":"{run}","sequence":{sequence},"files":[],"diff_digest":"{digest}"}}"#
        )
    };
    let mut world = World::of(&[Shape { end: End::Open, linked: true, usages: 1, steps: true }; 2]);
    for patch_set in [place(7, 1, 1), place(6, 1, 1), place(8, 1, 2), place(9, 2, 1)] {
        world.add(&patch_set);
    }
    expect![[r#"
        patch_set 00000000-0000-0000-0000-000000000007: run 00000000-0000-0000-0000-000000000001 already has a patch set with the sequence 1, 00000000-0000-0000-0000-000000000006
    "#]]
    .assert_eq(&told(world));
}

#[test]
fn a_selection_names_a_candidate_of_what_it_is_about() {
    let mut world = world();
    // A patch set of the run and a plan for the intent; then one that is not here, one for another intent, one of another run.
    for (of, chosen) in [
        (format!(r#""run":"{}""#, id(1)), format!(r#""patch_set":"{}""#, id(102))),
        (format!(r#""intent":"{}""#, id(1)), format!(r#""plan":"{}","reason":"shorter""#, id(2))),
        (format!(r#""run":"{}""#, id(1)), format!(r#""patch_set":"{}""#, id(9))),
        (format!(r#""intent":"{}""#, id(1)), format!(r#""plan":"{}""#, id(3))),
    ] {
        world.event("selection", &format!("{of},{chosen}"));
    }
    world.open(9, "");
    world.event("selection", &format!(r#""run":"{}","patch_set":"{}""#, id(9), id(101)));
    expect![[r#"
        selection 00000000-0000-0000-0000-00000000000f: `patch_set` names patch_set 00000000-0000-0000-0000-000000000009, which is not here
        selection 00000000-0000-0000-0000-000000000010: `plan` names plan 00000000-0000-0000-0000-000000000003, which belongs to intent 00000000-0000-0000-0000-000000000002, not to intent 00000000-0000-0000-0000-000000000001
        selection 00000000-0000-0000-0000-000000000011: `patch_set` names patch_set 00000000-0000-0000-0000-000000000065, which belongs to run 00000000-0000-0000-0000-000000000001, not to run 00000000-0000-0000-0000-000000000009
    "#]].assert_eq(&told(world));
}

#[test]
fn a_selection_is_of_a_patch_set_or_of_a_plan() {
    let read = |keys: &str| {
        let head = format!(
            r#""type":"selection","version":1,"id":"{}","at":"2026-11-21T20:49:30Z","by":{{"kind":"human","id":"kim"}}"#,
            id(7)
        );
        let text = format!("{{{head},{keys}}}");
        Selection::parse(text.as_bytes()).map_or_else(|error| error.to_string(), |read| read.print())
    };
    let one = id(1);
    let lines = [
        format!(r#""run":"{one}","patch_set":"{one}","reason":"it keeps the lock""#),
        format!(r#""intent":"{one}","plan":"{one}""#),
        format!(r#""intent":"{one}","plan":"{one}","patch_set":"{one}""#),
        format!(r#""intent":"{one}","patch_set":"{one}""#),
        format!(r#""run":"{one}","plan":"{one}""#),
        String::from(r#""reason":"none""#),
        format!(r#""run":"{one}","patch_set":"{one}","reason":" ""#),
    ];
    expect![[r#"
        {"type":"selection","version":1,"id":"00000000-0000-0000-0000-000000000007","at":"2026-11-21T20:49:30Z","by":{"kind":"human","id":"kim"},"run":"00000000-0000-0000-0000-000000000001","patch_set":"00000000-0000-0000-0000-000000000001","reason":"it keeps the lock"}
        {"type":"selection","version":1,"id":"00000000-0000-0000-0000-000000000007","at":"2026-11-21T20:49:30Z","by":{"kind":"human","id":"kim"},"intent":"00000000-0000-0000-0000-000000000001","plan":"00000000-0000-0000-0000-000000000001"}
        $.patch_set: unknown key
        $.run: missing key
        $.intent: missing key
        $.run: missing key
        $.reason: the text is blank"#]].assert_eq(&lines.map(|keys| read(&keys)).join("\n"));
}
