//! Every object of ours in git-internal's form, and back.

use expect_test::expect;
use proptest::prelude::*;
use trunkline_decision_objects::git_internal::{Imported, NoForm, Violation, import, project};
use trunkline_decision_objects::{Actor, ActorKind, GitOid, Object, Opening, Run};

use crate::given::{any_actor, at, opening, patch_set, sha1};
use crate::given_events::task_id;
use crate::given_objects::any_object;

fn teller() -> Actor {
    Actor::new(ActorKind::System, "export").expect("a test name is not blank")
}

fn exported(object: &Object) -> Result<String, NoForm> {
    project(object, at(), &teller())
}

#[test]
fn what_its_reader_wants_must_be_there() {
    let run = |opening: Opening| Object::from(Run::open(opening).unwrap().record().clone());
    let without_task = run(Opening { task: None, ..opening(1) });
    let mut with_task = Opening { task: Some(task_id(5)), ..opening(1) };
    with_task.base.commit = None;
    let refused = [without_task, run(with_task.clone()), Object::from(patch_set(2, 1))];
    let lines: Vec<String> =
        refused.iter().map(|object| exported(object).unwrap_or_else(|error| error.to_string())).collect();
    expect![[r#"
        a run needs `task` there, and ours says none
        a run needs `commit` there, and ours says none
        {"object_id":"00000000-0000-0000-0000-000000000002","object_type":"patch_set","version":1,"created_at":"2026-11-21T20:49:30.166608121Z","created_by":{"kind":"system","id":"export"},"run":"00000000-0000-0000-0000-000000000001","sequence":0,"commit":"da39a3ee5e6b4b0d3255bfef95601890afd80709000000000000000000000000","format":"unified_diff","artifact":{"store":"sha256","key":"2c6fc3bbdbdf21e563d87da52e3048b31c1952c116648135c0a91e071c350328"},"touched":[{"path":"src/lib.rs","change_type":"modify","lines_added":2,"lines_deleted":1}]}"#]].assert_eq(&lines.join("\n"));
    with_task.base.commit = Some(sha1());
    assert!(
        exported(&run(with_task))
            .unwrap()
            .contains("da39a3ee5e6b4b0d3255bfef95601890afd80709000000000000000000000000")
    );
}

/// Says why nothing strict came back, where that is to be expected.
fn is_explained(object: &Object, imported: &Imported) -> bool {
    use Violation::{Field, Needs, RollbackOfNothing, Unfit};
    let harmful = imported.violations.iter().filter(|one| !one.is_harmless());
    let explained = |one: &Violation| match object {
        // A renamed file does not say there what it was called.
        Object::PatchSet(_) => matches!(one, Unfit { .. }),
        Object::Decision(_) => matches!(one, RollbackOfNothing | Needs { .. }),
        // A word that is none of the other form's is not looked for in ours.
        _ => matches!(one, Field { .. }),
    };
    harmful.into_iter().all(explained)
}

proptest! {
    #[test]
    fn what_is_exported_is_read_without_respelling_and_exported_as_the_same(object in any_object()) {
        let Ok(json) = exported(&object) else {
            prop_assert!(matches!(object, Object::Run(_) | Object::PatchSet(_) | Object::Selection(_)));
            return Ok(());
        };
        let imported = import(json.as_bytes()).unwrap();
        prop_assert_eq!(imported.print(), json.as_str());
        prop_assert!(!imported.violations.contains(&Violation::Respelled));
        match &imported.object {
            Some(again) => prop_assert_eq!(exported(again), Ok(json)),
            None => prop_assert!(is_explained(&object, &imported), "{:?}\n{}", imported.violations, json),
        }
    }

    #[test]
    fn who_and_when_are_only_asked_where_ours_does_not_say(object in any_object(), by in any_actor()) {
        let other = project(&object, "2000-01-01T00:00:00Z".parse().unwrap(), &by);
        match object {
            Object::PatchSet(_) | Object::Evidence(_) => {}
            _ => prop_assert_eq!(other, exported(&object)),
        }
    }

    #[test]
    fn a_sha1_name_is_filled_up_wherever_it_stands(object in any_object()) {
        if let (Object::Run(run), Ok(json)) = (&object, exported(&object)) {
            let Some(commit) = run.opening().base.commit else { return Ok(()) };
            let zeros = if matches!(commit, GitOid::Sha1(_)) { "0".repeat(24) } else { String::new() };
            let padded = format!("\"commit\":\"{commit}{zeros}\"");
            prop_assert!(json.contains(&padded));
        }
    }
}
