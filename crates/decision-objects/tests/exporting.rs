//! A whole family in git-internal's form, what is lost by it, and the way back.

use std::collections::BTreeMap;

use expect_test::expect;
use proptest::prelude::*;
use trunkline_decision_objects::git_internal::{Exported, Projected, export, import};
use trunkline_decision_objects::{Family, Object, ObjectKind};

use crate::given_family::{End, Shape, World, any_world, based, id};

fn family(objects: impl IntoIterator<Item = Object>) -> Family {
    objects.into_iter().collect()
}

/// What has a form there.
fn texts(exported: &[Exported]) -> Vec<&Projected> {
    exported.iter().filter_map(|one| one.projected.as_ref().ok()).collect()
}

#[test]
fn what_is_lost_is_told_for_each_object() {
    use End::{Checkpoint, Commit, Retry, Rollback};
    let shape = |end| Shape { end, linked: true, usages: 1, steps: true };
    let mut world = based(World::of(&[Commit, Retry, Checkpoint, Rollback].map(shape)));
    world.event("selection", &format!(r#""run":"{}","patch_set":"{}""#, id(1), id(101)));
    let mut told: BTreeMap<ObjectKind, Vec<String>> = BTreeMap::new();
    for one in export(&family(world.objects)) {
        let line = match one.projected {
            Ok(projected) => projected.lost.join(", "),
            Err(error) => format!("! {error}"),
        };
        let lines = told.entry(one.object.kind).or_default();
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    let lines: String =
        told.iter().map(|(kind, lines)| format!("{kind:17} {}\n", lines.join(" | ").trim_end())).collect();
    expect![[r#"
        intent            
        plan              
        task              
        run               goal | goal, retry_of | continues, goal
        patch_set         
        context_snapshot  
        provenance        
        intent_event      
        task_event        
        run_event         
        step_event        
        usage             cache_read_tokens, cache_write_tokens, input_tokens
        tool_invocation   ended, started
        context_frame     
        selection         ! git-internal has no selection object; it records the choice of a patch set in the decision of the run, and none of a plan
        evidence          decision
        decision          cites, considered, evidence | decision_type: a rollback does not say which decision it undoes
    "#]].assert_eq(&lines);
}

#[test]
fn the_words_of_a_checkpoint_go_there_and_its_state_does_not() {
    let text = r#"{"type":"decision","version":1,"id":"00000000-0000-0000-0000-000000000009","run":"00000000-0000-0000-0000-000000000001","at":"2026-11-21T20:49:30Z","decided_by":{"kind":"human","id":"user"},"verdict":{"kind":"checkpoint","checkpoint":"the parser works","state":{"node":"n12","not_kept":"there is no git here"}},"evidence":[],"considered":[]}"#;
    let object = Object::parse(text.as_bytes()).expect("it is well formed");
    let [one] = export(&family([object])).try_into().expect("there is one");
    let projected = one.projected.expect("it has a form there");
    assert!(projected.json.contains(r#""decision_type":"checkpoint","checkpoint_id":"the parser works"}"#));
    assert_eq!(projected.lost, ["verdict"]);
    let imported = import(projected.json.as_bytes()).expect("its reader takes it");
    assert_eq!(imported.print(), projected.json);
    let decision = imported.decision().expect("it is one of ours");
    assert_eq!(decision.verdict().checkpoint_state(), None);
}

#[test]
fn a_patch_set_whose_run_is_not_here_has_the_time_and_the_actor_of_its_decision() {
    let mut world = based(World::of(&[Shape { end: End::Commit, linked: true, usages: 0, steps: false }]));
    world.objects.retain(|object| matches!(object, Object::PatchSet(_) | Object::Decision(_)));
    let lines = |world: &World| {
        let exported = export(&family(world.objects.clone()));
        let line = |one: Exported| match one.projected {
            Ok(projected) => {
                let json: serde_json::Value = serde_json::from_str(&projected.json).expect("it is JSON");
                format!("{} {} {}\n", one.object, json["created_at"], json["created_by"]["id"])
            }
            Err(error) => format!("{}: {error}\n", one.object),
        };
        exported.into_iter().map(line).collect::<String>()
    };
    let mut told = lines(&world);
    world.objects.retain(|object| matches!(object, Object::PatchSet(_)));
    told.push_str(&lines(&world));
    expect![[r#"
        patch_set 00000000-0000-0000-0000-000000000065 "2026-09-21T14:19:41Z" "coder-1"
        patch_set 00000000-0000-0000-0000-000000000066 "2026-09-21T14:19:41Z" "coder-1"
        decision 00000000-0000-0000-0000-000000000001 "2026-09-21T14:19:41Z" "coder-1"
        patch_set 00000000-0000-0000-0000-000000000065: a patch_set needs `created_by` there, and ours says none
        patch_set 00000000-0000-0000-0000-000000000066: a patch_set needs `created_by` there, and ours says none
    "#]].assert_eq(&told);
}

#[test]
fn a_patch_set_comes_back_with_its_place_and_the_digest_of_its_diff() {
    let text = r#"{"object_id":"00000000-0000-0000-0000-000000000002","object_type":"patch_set","version":1,"created_at":"2026-11-21T20:49:30Z","created_by":{"kind":"system","id":"export"},"run":"00000000-0000-0000-0000-000000000001","sequence":3,"commit":"2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881","format":"unified_diff","artifact":{"store":"sha256","key":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"},"touched":[{"path":"src/lib.rs","change_type":"add","lines_added":2,"lines_deleted":0}]}"#;
    let read = |from: &str, to: &str| {
        let imported = import(text.replace(from, to).as_bytes()).expect("its reader takes it");
        let violations: Vec<String> = imported.violations.iter().map(ToString::to_string).collect();
        let object = imported.object.map_or_else(|| "none".into(), |object| object.print());
        format!("{object}\n  {}\n", violations.join("; "))
    };
    let mut lines = read("", "");
    lines.push_str(&read(r#""sequence":3"#, r#""sequence":0"#));
    lines.push_str(&read("unified_diff", "git_diff"));
    lines.push_str(&read(r#""store":"sha256""#, r#""store":"s3""#));
    lines.push_str(&read("bbbb\"", "BBBB\""));
    lines.push_str(&read("\"add\"", "\"rename\""));
    expect![[r#"
        {"type":"patch_set","version":1,"id":"00000000-0000-0000-0000-000000000002","run":"00000000-0000-0000-0000-000000000001","sequence":3,"base":"2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881","files":[{"path":"src/lib.rs","change":"added","added_lines":2,"deleted_lines":0}],"diff_digest":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"}
          created_at: our form has no place for it; created_by: our form has no place for it
        {"type":"patch_set","version":1,"id":"00000000-0000-0000-0000-000000000002","run":"00000000-0000-0000-0000-000000000001","base":"2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881","files":[{"path":"src/lib.rs","change":"added","added_lines":2,"deleted_lines":0}],"diff_digest":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"}
          created_at: our form has no place for it; created_by: our form has no place for it
        {"type":"patch_set","version":1,"id":"00000000-0000-0000-0000-000000000002","run":"00000000-0000-0000-0000-000000000001","sequence":3,"base":"2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881","files":[{"path":"src/lib.rs","change":"added","added_lines":2,"deleted_lines":0}],"diff_digest":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"}
          created_at: our form has no place for it; created_by: our form has no place for it; format: our form has no place for it
        none
          created_at: our form has no place for it; created_by: our form has no place for it; artifact: the digest of a diff is missing, by which ours names it
        none
          created_at: our form has no place for it; created_by: our form has no place for it; artifact: the digest of a diff is missing, by which ours names it
        none
          created_at: our form has no place for it; created_by: our form has no place for it; touched[0].change_type: a rename does not say what the path was
    "#]].assert_eq(&lines);
}

proptest! {
    #![proptest_config(crate::given::one_in(3))]

    /// What came back is exported as the same, byte for byte, whatever was lost before.
    #[test]
    fn a_family_that_went_there_and_back_goes_there_as_the_same(world in any_world()) {
        let world = based(world);
        let first = export(&family(world.objects));
        prop_assert!(first.iter().all(|one| one.projected.is_ok()));
        let read: Vec<Object> = texts(&first)
            .iter()
            .filter_map(|one| import(one.json.as_bytes()).expect("it can be read").object)
            .collect();
        let names: Vec<_> = read.iter().map(Object::name).collect();
        let again = export(&family(read));
        let second: BTreeMap<_, _> = again.iter().map(|one| (one.object, &one.projected)).collect();
        for one in &first {
            let projected = one.projected.as_ref().expect("each has a form");
            // A rollback does not come back, and says so.
            prop_assert_eq!(names.contains(&one.object), second.contains_key(&one.object));
            match second.get(&one.object) {
                Some(Ok(other)) => prop_assert_eq!(&projected.json, &other.json),
                Some(Err(error)) => prop_assert!(false, "{}", error),
                None => prop_assert!(!projected.lost.is_empty(), "{}", projected.json),
            }
        }
    }
}
