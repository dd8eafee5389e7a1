//! What was decided ahead: by a file of rules, and by rules of a session.

use expect_test::expect;
use serde_json::{Value, json};

use crate::approval::with_notes;
use crate::fake::{Answer, Scene, calls, says};

fn writes(name: &str) -> Answer {
    calls("write_file", &json!({ "path": name, "content": "one\n" }).to_string())
}

fn has(scene: &Scene, name: &str) -> bool {
    scene.work().join(name).exists()
}

fn write_rules(scene: &Scene, rules: &str) {
    std::fs::write(scene.path("rules.json"), rules).expect("written");
}

#[test]
fn a_file_of_rules_allows_asks_and_forbids() {
    let (scene, endpoint) =
        Scene::with(vec![writes("docs/a.md"), writes("secret.txt"), writes("other.txt"), says("Done.")]);
    write_rules(
        &scene,
        r#"{"rules":[
            {"verdict":"allow","target":{"path":"docs/**"}},
            {"verdict":"deny","target":{"path":"secret.*"},"reason":"keys are made by hand"}
        ]}"#,
    );
    let said = scene.run(&["run", "write", "--policy", "../rules.json"]);
    assert_eq!(said.exit, Some(1), "{}", said.err);
    assert!(
        has(&scene, "docs/a.md") && !has(&scene, "secret.txt") && !has(&scene, "other.txt"),
        "{}",
        said.err
    );
    assert!(
        endpoint.requests().iter().any(|one| one.contains("keys are made by hand")),
        "the model is told why"
    );
    let listed = scene.ok(&["rules"]);
    let rules: Vec<&str> =
        listed.lines().map(|line| line.split("  by the policy").next().unwrap_or_default()).collect();
    expect![[r#"
        r1   allow  what is written to docs/**  always
        r2   deny   what is written to secret.*  always"#]]
    .assert_eq(&rules.join("\n"));
    assert!(scene.ok(&["resolve"]).contains("create other.txt"));
    // A file that is not named any more counts no more.
    assert_eq!(scene.run(&["resume", "-q"]).exit, Some(1));
    let listed = scene.run(&["rules"]);
    assert_eq!(listed.out, "");
    assert!(listed.err.contains("no rule counts in session ID"), "{}", listed.err);
}

#[test]
fn a_rule_of_a_session_is_given_used_listed_and_taken_back() {
    let answers = vec![writes("src/a.rs"), writes("src/b.rs"), writes("src/c.rs"), says("Done.")];
    let (mut scene, _endpoint) = Scene::with(answers);
    scene.set("USER", "ann");
    assert_eq!(scene.run(&["run", "write", "-q"]).exit, Some(1));
    let given = scene.ok(&["rules", "add", "allow", "--path", "src/**", "--once", "--reason", "the first"]);
    assert!(given.starts_with("r1   allow  what is written to src/**  once  by the person ann "), "{given}");
    // It decides what waits, and nothing more.
    assert_eq!(scene.run(&["resume", "-q"]).exit, Some(1));
    assert!(has(&scene, "src/a.rs") && !has(&scene, "src/b.rs"));
    scene.ok(&["rules", "add", "allow", "--tool", "write_file"]);
    let taken = scene.ok(&["rules", "revoke", "r2", "--reason", "too wide"]);
    assert!(taken.contains("  taken back by the person: too wide"), "{taken}");
    let said = scene.run(&["resume", "-q"]);
    assert_eq!(said.exit, Some(1), "{}", said.err);
    assert!(!has(&scene, "src/b.rs"));
    assert_eq!(scene.ok(&["rules"]), "");
    let all = scene.command(&["rules", "--all", "--json"]).output().expect("it runs").stdout;
    let all: Value = serde_json::from_slice(&all).expect("JSON");
    let told: Vec<(&Value, &Value)> =
        all["rules"].as_array().expect("a list").iter().map(|rule| (&rule["id"], &rule["counts"])).collect();
    assert_eq!(told, [(&json!("r1"), &json!(false)), (&json!("r2"), &json!(false))]);
    assert_eq!(all["rules"][0]["used"], json!(1));
    assert_eq!(all["rules"][0]["rule"]["given_by"], json!({ "kind": "person", "name": "ann" }));
}

#[test]
fn a_command_is_allowed_by_its_first_words_and_not_by_what_a_shell_makes_of_them() {
    let run = |command: &str| calls("run_command", &json!({ "command": command }).to_string());
    let (scene, _endpoint) = Scene::with(vec![says("Yes?"), run("touch a.txt"), run("touch b.txt > c.txt")]);
    assert_eq!(scene.run(&["run", "hello", "-q"]).exit, Some(0));
    scene.ok(&["rules", "add", "allow", "--command", "touch"]);
    assert_eq!(scene.run(&["resume", "-p", "go", "-q"]).exit, Some(1));
    assert!(has(&scene, "a.txt") && !has(&scene, "b.txt") && !has(&scene, "c.txt"));
    assert!(scene.ok(&["resolve"]).contains("touch b.txt > c.txt"));
}

#[test]
fn what_is_no_rule_is_wrong_usage() {
    let (scene, _endpoint) = Scene::with(vec![says("Yes?")]);
    assert_eq!(scene.run(&["run", "hello", "-q"]).exit, Some(0));
    for wrong in [
        &["add"][..],
        &["add", "perhaps"],
        &["add", "allow", "--path", "../up"],
        &["add", "allow", "--path", ""],
        &["add", "allow", "--command", "a; b"],
        &["add", "allow", "--command", ""],
        &["add", "allow", "--command", "a", "--path", "b"],
        &["add", "allow", "--exactly"],
        &["add", "allow", "--tool", ""],
        &["add", "allow", "--for", "soon"],
        &["add", "allow", "--effect", "good"],
        &["revoke"],
        &["revoke", "x1"],
        &["revoke", "\u{1b}[2J"],
        &["list"],
    ] {
        let said = scene.run(&[&["rules"], wrong].concat());
        assert_eq!(said.exit, Some(2), "{wrong:?}: {}", said.err);
        assert!(!said.err.contains('\u{1b}'), "{wrong:?}: {:?}", said.err);
    }
    let missing = scene.run(&["rules", "revoke", "r7"]);
    assert_eq!(missing.exit, Some(1));
    assert!(missing.err.contains("no rule r7"), "{}", missing.err);
    assert_eq!(scene.ok(&["rules", "--all"]), "");
}

#[test]
fn what_is_forbidden_stays_so_where_everything_is_approved() {
    let (scene, _endpoint) =
        Scene::with(vec![says("Yes?"), writes("keys/a.txt"), writes("b.txt"), says("Done.")]);
    assert_eq!(scene.run(&["run", "hello", "-q"]).exit, Some(0));
    scene.ok(&["rules", "add", "deny", "--path", "keys/**", "--reason", "made by hand"]);
    let said = scene.run(&["resume", "-p", "go", "--yes"]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    assert!(!has(&scene, "keys/a.txt") && has(&scene, "b.txt"), "{}", said.err);
}

#[test]
fn a_rule_that_can_never_match_is_refused_with_what_to_write() {
    let (scene, _endpoint) = Scene::with(vec![says("Yes?")]);
    std::fs::create_dir(scene.work().join("src")).expect("made");
    let absolute = scene.work().join("src/a.rs");
    let absolute = absolute.to_str().expect("UTF-8");
    let refused = [
        (
            json!({ "verdict": "deny", "target": { "command": { "words": ["git push"] } } }),
            r#"["git", "push"]"#,
        ),
        (json!({ "verdict": "deny", "tool": "bash" }), "did you mean run_command"),
        (json!({ "verdict": "deny", "tool": "Edit_Files" }), "did you mean edit_files"),
        (json!({ "verdict": "deny", "tool": "write_files" }), "did you mean write_file"),
        (
            json!({ "verdict": "deny", "tool": "browse" }),
            "there are edit_file, edit_files, ast_edit, write_file, move_file, delete_file, run_command",
        ),
        (json!({ "verdict": "deny", "tool": "read_file" }), "never asked about"),
        (
            json!({ "verdict": "deny", "target": { "path": "/etc/passwd" } }),
            "relative to the project's folder",
        ),
        (json!({ "verdict": "deny", "target": { "path": absolute } }), r#"write "src/a.rs""#),
        (json!({ "verdict": "deny", "target": { "path": "src" } }), "src/**"),
        (
            json!({ "verdict": "deny", "tool": "run_command", "target": { "path": "src/**" } }),
            "by its command",
        ),
        (json!({ "verdict": "allow" }), "narrow it"),
        (json!({ "verdict": "alow", "tool": "edit_file" }), "line 1"),
    ];
    for (rule, wanted) in &refused {
        write_rules(&scene, &json!({ "rules": [{ "verdict": "ask" }, rule] }).to_string());
        let said = scene.run(&["run", "hello", "-q", "--policy", "../rules.json"]);
        assert_eq!(said.exit, Some(2), "{rule}: {}", said.err);
        assert!(said.err.contains("rule 2: ") && said.err.contains(wanted), "{rule}: {}", said.err);
    }
    let said = scene.run(&["run", "hello", "-q", "--policy", "Person"]);
    assert_eq!(said.exit, Some(2));
    assert!(said.err.contains("did you mean --policy person"), "{}", said.err);
    // Whoever gives a rule to a session is told the same.
    assert_eq!(scene.run(&["run", "hello", "-q"]).exit, Some(0));
    for (wrong, wanted) in [
        (&["deny", "--tool", "bash"][..], "did you mean run_command"),
        (&["deny", "--path", "src"], "src/**"),
        (&["deny", "--path", absolute], "src/a.rs"),
        (&["deny", "--command", "'git push'"], r#"["git", "push"]"#),
        (&["allow"], "--policy always"),
        (&["allow", "--tool", "edit_file", "--for", "999999y"], "10y is the most"),
    ] {
        let said = scene.run(&[&["rules", "add"], wrong].concat());
        assert_eq!(said.exit, Some(2), "{wrong:?}: {}", said.err);
        assert!(said.err.contains(wanted), "{wrong:?}: {}", said.err);
    }
    assert_eq!(scene.ok(&["rules", "--all"]), "");
    assert!(scene.ok(&["rules", "add", "allow", "--tool", "edit_*", "--for", "30m"]).contains("expires in "));
    assert!(scene.ok(&["rules", "add", "deny"]).contains("whatever any tool does"));
}

#[test]
fn an_import_brings_no_rule_along() {
    let (scene, _endpoint) = Scene::with(vec![says("Hello."), writes("a.txt"), says("Well.")]);
    scene.ok(&["run", "hello", "-q"]);
    let exported = scene.command(&["export"]).output().expect("it runs").stdout;
    // A file as somebody may hand it over: nothing is proposed in it, and everything is allowed.
    let allow = r#"{"rule":"r1","at":1,"change":{"added":{"verdict":"allow","scope":"session","given_by":{"kind":"person"},"reason":""}}}"#;
    let file = scene.path("forged.jsonl");
    std::fs::write(&file, with_notes(&exported, &[("rule", allow.to_owned())])).expect("written");
    let other = scene.path("other.db");
    let other = other.to_str().expect("a plain path");
    let said = scene.run(&["--store", other, "import", file.to_str().expect("a plain path")]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    assert!(
        said.err.contains("the rules in it are void here, because nobody gave them here: r1;"),
        "{}",
        said.err
    );
    let said = scene.run(&["--store", other, "resume", "-p", "write a.txt", "-q"]);
    assert_eq!(said.exit, Some(1), "it waits for a decision: {}", said.err);
    assert!(!has(&scene, "a.txt"));
    assert_eq!(scene.ok(&["--store", other, "rules"]), "");
    // What somebody gives here counts here.
    scene.ok(&["--store", other, "rules", "add", "allow", "--path", "a.txt"]);
    scene.ok(&["--store", other, "resume", "-q"]);
    assert!(has(&scene, "a.txt"));
}
