//! Files that a model moves, deletes, or changes by the shape of their code.

use expect_test::expect;
use serde_json::json;

use crate::fake::{Scene, calls, calls_all, says};

fn shape() -> String {
    json!({ "language": "rust", "pattern": "old($A)", "replacement": "new($A)" }).to_string()
}

/// Leaves of what is said the lines that tell what became of proposals.
fn told(text: &str) -> String {
    let lines = text.lines().filter(|line| line.starts_with("· p") || line.starts_with("✓ p"));
    lines.map(|line| format!("{line}\n")).collect()
}

#[test]
fn rules_judge_both_ends_of_a_move_and_every_file_of_a_structural_edit() {
    let move_to = |to: &str| ("move_file", json!({ "from": "src/a.rs", "to": to }).to_string());
    let (scene, _endpoint) = Scene::with(vec![
        calls_all(&[move_to("secret/a.rs"), ("delete_file", json!({ "path": "secret/b.rs" }).to_string())]),
        calls("ast_edit", &shape()),
        calls_all(&[move_to("src/c.rs")]),
        says("done"),
    ]);
    for path in ["src", "secret"] {
        std::fs::create_dir_all(scene.work().join(path)).expect("made");
    }
    for path in ["src/a.rs", "secret/b.rs"] {
        std::fs::write(scene.work().join(path), "fn f() { old(1) }\n").expect("written");
    }
    let rules = json!({ "rules": [
        { "verdict": "allow", "target": { "path": "src/**" } },
        { "verdict": "deny", "target": { "path": "secret/**" }, "reason": "they stay" },
    ] });
    std::fs::write(scene.path("rules.json"), rules.to_string()).expect("written");
    let said = scene.run(&["run", "tidy up", "--policy", scene.path("rules.json").to_str().expect("plain")]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    expect![[r#"
        · p1 discarded by the policy r2: forbidden by r2 (they stay)
        · p2 discarded by the policy r2: forbidden by r2 (they stay)
        · p3 discarded by the policy r2: forbidden by r2 (they stay)
        · p4 approved by the policy r1: allowed by r1
        ✓ p4 done
    "#]]
    .assert_eq(&told(&format!("{}{}", said.out, said.err)));
    let read = |path: &str| std::fs::read_to_string(scene.work().join(path)).ok();
    assert_eq!(read("src/c.rs").as_deref(), Some("fn f() { old(1) }\n"));
    assert_eq!(read("secret/b.rs").as_deref(), Some("fn f() { old(1) }\n"));
    assert_eq!((read("src/a.rs"), read("secret/a.rs")), (None, None));
}

#[test]
fn a_verdict_shows_a_move_as_one_and_a_rollback_takes_all_of_it_back() {
    let (scene, _endpoint) = Scene::with(vec![
        calls("ast_edit", &shape()),
        calls("move_file", &json!({ "from": "a.rs", "to": "lib/b.rs" }).to_string()),
        calls("delete_file", &json!({ "path": "c.txt" }).to_string()),
        says("done"),
    ]);
    std::fs::write(scene.work().join("a.rs"), "fn f() { old(1) }\n").expect("written");
    std::fs::write(scene.work().join("c.txt"), "c\n").expect("written");
    let said = scene.run(&["run", "tidy up", "-y"]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    let work = || {
        let lib = std::fs::read_to_string(scene.work().join("lib/b.rs")).ok();
        let file = |name: &str| std::fs::read_to_string(scene.work().join(name)).ok();
        (lib, file("a.rs"), file("c.txt"))
    };
    assert_eq!(work(), (Some("fn f() { new(1) }\n".to_owned()), None, None));
    let shown = scene.ok(&["decisions", "last"]);
    let lines = shown.lines().map(str::trim_start);
    let changes: Vec<&str> = lines.filter(|line| line.starts_with("R ") || line.starts_with("D ")).collect();
    assert_eq!(changes, ["D c.txt  lines not counted", "R a.rs → lib/b.rs  lines not counted"]);
    scene.ok(&["decide", "rollback", "last", "--yes"]);
    assert_eq!(work(), (None, Some("fn f() { old(1) }\n".to_owned()), Some("c\n".to_owned())));
}
