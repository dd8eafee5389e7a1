//! Decisions on what waits, in all sessions of a store and from several terminals.

use std::process::Stdio;

use expect_test::expect;
use serde_json::{Value, json};

use crate::fake::{Answer, Endpoint, Said, Scene, begins, calls, says};

fn writes(name: &str) -> Answer {
    calls("write_file", &json!({ "path": name, "content": "one\n" }).to_string())
}

/// Two sessions, each with one proposal that waits, the older one first.
fn two_waiting() -> (Scene, Endpoint) {
    let (scene, endpoint) = Scene::with(vec![writes("a.txt"), writes("b.txt")]);
    assert_eq!(scene.run(&["run", "write a.txt", "-q"]).exit, Some(1));
    assert_eq!(scene.run(&["run", "write b.txt", "-q"]).exit, Some(1));
    (scene, endpoint)
}

/// Leaves out how long ago something was: a machine with much to do takes its time.
fn ageless(text: &str) -> String {
    let line = |line: &str| match line.rsplit_once("  ") {
        Some((rest, age)) if age == "just now" || age.ends_with(" ago") => format!("{rest}\n"),
        _ => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

fn has(scene: &Scene, name: &str) -> bool {
    scene.work().join(name).exists()
}

fn json_of(scene: &Scene, arguments: &[&str]) -> Value {
    let out = scene.command(arguments).output().expect("the binary runs").stdout;
    serde_json::from_slice(&out).expect("JSON")
}

#[test]
fn what_waits_is_listed_across_sessions_the_oldest_question_first() {
    let (scene, _endpoint) = two_waiting();
    let said = scene.run(&["resolve"]);
    assert_eq!(said.exit, Some(0));
    expect![[r#"
        ID  write a.txt
          p1    proposed    create a.txt (+1)

        ID  write b.txt
          p1    proposed    create b.txt (+1)
    "#]]
    .assert_eq(&ageless(&said.out));
    expect![[r#"
        next:
          look:    trunkline resolve p1 -s ID
          decide:  trunkline resolve p1 apply -s ID
          all:     trunkline resolve all apply
    "#]]
    .assert_eq(&format!("next:\n{}", said.err));
    let ids = scene.ids();
    let one = ageless(&scene.ok(&["resolve", "-s", &ids[0]]));
    assert_eq!(one, "ID  write b.txt\n  p1    proposed    create b.txt (+1)\n");
    let listed = json_of(&scene, &["resolve", "--json"]);
    let proposals = listed["proposals"].as_array().expect("a list");
    let told: Vec<_> = proposals.iter().map(|one| (one["session"].clone(), one["title"].clone())).collect();
    assert_eq!(told, [(json!(ids[1]), json!("write a.txt")), (json!(ids[0]), json!("write b.txt"))]);
    assert_eq!((&listed["version"], &proposals[0]["writer"]), (&json!(1), &Value::Null));
    assert_eq!(json_of(&scene, &["resolve", "--json", "-s", &ids[0]])["session"], json!(ids[0]));
    scene.ok(&["resolve", "p1", "apply", "-s", &ids[1]]);
    assert!(!scene.ok(&["resolve"]).contains("a.txt"));
    assert!(scene.ok(&["resolve", "--all"]).contains("p1    applied     create a.txt (+1)"));
}

#[test]
fn a_proposal_is_found_where_it_waits_and_two_of_one_name_are_told_apart() {
    let (scene, _endpoint) = two_waiting();
    let said = scene.run(&["resolve", "p1", "apply"]);
    assert_eq!((said.exit, said.out.as_str()), (Some(2), ""));
    expect![[r#"
        error: p1 waits in 2 sessions; say which
          trunkline resolve p1 apply -s ID   create b.txt (+1)
          trunkline resolve p1 apply -s ID   create a.txt (+1)
    "#]]
    .assert_eq(&said.err);
    assert!(!has(&scene, "a.txt") && !has(&scene, "b.txt"));
    let ids = scene.ids();
    assert_eq!(scene.ok(&["resolve", "p1", "discard", "-s", &ids[0]]), "p1 discarded\n");
    // Only one of them waits now, and it is not in the last session.
    assert_eq!(scene.ids()[0], ids[0]);
    assert_eq!(scene.ok(&["resolve", "p1", "apply"]), "p1 applied\n");
    assert!(has(&scene, "a.txt") && !has(&scene, "b.txt"));
}

#[test]
fn all_are_applied_at_once_only_if_somebody_agrees() {
    let (scene, _endpoint) = two_waiting();
    let said = scene.run(&["resolve", "all", "apply"]);
    assert_eq!((said.exit, said.out.as_str()), (Some(2), ""));
    expect![[r#"
        ID  write a.txt
          p1    proposed    create a.txt (+1)
        ID  write b.txt
          p1    proposed    create b.txt (+1)
        error: nothing was decided: nobody can be asked here
          hint: if all of them are meant: trunkline resolve all apply --yes
    "#]]
    .assert_eq(&ageless(&said.err));
    assert!(!has(&scene, "a.txt") && !has(&scene, "b.txt"));
    let said = scene.run(&["resolve", "all", "apply", "--yes"]);
    assert_eq!((said.exit, said.out.as_str()), (Some(0), "ID  p1 applied\nID  p1 applied\n"), "{}", said.err);
    assert!(said.err.ends_with("2 applied\n"), "{}", said.err);
    assert!(has(&scene, "a.txt") && has(&scene, "b.txt"));
    let said = scene.run(&["resolve", "all", "apply", "--yes"]);
    assert_eq!((said.exit, said.err.as_str()), (Some(0), "nothing waits for a decision\n"));
}

#[test]
fn one_that_fails_stops_none_of_the_others_and_the_exit_code_says_so() {
    let (scene, _endpoint) = two_waiting();
    std::fs::write(scene.work().join("a.txt"), "mine\n").expect("written");
    let said = scene.run(&["resolve", "all", "apply", "--yes"]);
    assert_eq!(said.exit, Some(1), "{}", said.err);
    let (first, second) = said.out.split_once('\n').expect("two lines");
    assert!(first.starts_with("ID  p1 discarded"), "{first}");
    assert_eq!(second, "ID  p1 applied\n");
    assert!(said.err.ends_with("1 applied, 1 not\n"), "{}", said.err);
    assert_eq!(std::fs::read_to_string(scene.work().join("a.txt")).expect("there"), "mine\n");
}

#[test]
fn all_of_one_session_leaves_the_others_alone() {
    let (scene, _endpoint) = two_waiting();
    let ids = scene.ids();
    let said = scene.run(&["resolve", "all", "discard", "-s", &ids[0], "--yes", "--reason", "no"]);
    assert_eq!((said.exit, said.out.as_str()), (Some(0), "p1 discarded\n"), "{}", said.err);
    assert!(scene.ok(&["resolve"]).contains("a.txt"));
    let results = json_of(&scene, &["resolve", "all", "discard", "--yes", "--json"]);
    let wanted = json!({ "session": ids[1], "proposal": "p1", "state": "discarded", "error": null });
    assert_eq!(results, json!({ "version": 1, "results": [wanted] }));
}

#[test]
fn what_cannot_be_meant_is_wrong_usage_and_decides_nothing() {
    let (scene, _endpoint) = Scene::with(vec![writes("a.txt")]);
    assert_eq!(scene.run(&["run", "write a.txt", "-q"]).exit, Some(1));
    for wrong in [
        &["resolve", "p7", "apply"][..],
        &["resolve", "p99999999999", "apply"],
        &["resolve", "\u{1b}[2J", "apply"],
        &["resolve", "r1", "apply"],
        &["resolve", "p1", "approve"],
        &["resolve", "p1", "apply", "--only", "a.txt"],
        &["resolve", "p1", "discard", "--only", "a.txt"],
        &["resolve", "all", "apply", "--yes", "--only", "a.txt"],
        &["resolve", "p1", "apply", "-s", "nothing"],
        &["resolve", "--only", "a.txt"],
    ] {
        let said = scene.run(wrong);
        assert_eq!(said.exit, Some(2), "{wrong:?}: {}", said.err);
        assert!(!said.err.contains('\u{1b}'), "{wrong:?}: {:?}", said.err);
    }
    assert!(scene.ok(&["resolve"]).contains("p1    proposed"));
    assert!(!has(&scene, "a.txt"));
}

/// Lets two processes decide on one proposal in the same moment.
fn two_at_once(scene: &Scene, first: &[&str], second: &[&str]) -> [Said; 2] {
    let start = |arguments: &[&str]| {
        let mut command = scene.command(arguments);
        command.stdin(Stdio::null()).spawn().expect("it starts")
    };
    let (first, second) = (start(first), start(second));
    [first, second].map(|child| scene.said(child.wait_with_output().expect("it ends")))
}

#[test]
fn of_two_who_decide_otherwise_at_once_one_decides_and_the_other_is_told() {
    for round in 0..4 {
        let (scene, _endpoint) = Scene::with(vec![writes("a.txt")]);
        assert_eq!(scene.run(&["run", "write a.txt", "-q"]).exit, Some(1));
        let said = two_at_once(&scene, &["resolve", "p1", "apply"], &["resolve", "p1", "discard"]);
        let (mut won, mut lost): (Vec<_>, Vec<_>) = said.iter().partition(|said| said.exit == Some(0));
        let told = format!("round {round}: {}\n{}\n", said[0].err, said[1].err);
        let (won, lost) = (won.pop().expect(&told), lost.pop().expect(&told));
        let listed = json_of(&scene, &["resolve", "--all", "--json"]);
        let state = listed["proposals"][0]["state"].as_str().expect("a state").to_owned();
        assert_eq!(won.out, format!("p1 {state}\n"), "{told}");
        assert_eq!(has(&scene, "a.txt"), state == "applied", "{told}");
        assert_eq!((lost.exit, lost.out.as_str()), (Some(1), ""), "{told}");
        // What it says may be a moment old: approved, and not applied yet.
        let on_the_way: &[&str] =
            if state == "applied" { &["approved", "applying", "applied"] } else { &["discarded"] };
        let named =
            on_the_way.iter().any(|state| lost.err.contains(&format!("error: p1 is {state}: the person ")));
        assert!(named, "{told}");
        let out = scene.command(&["export"]).output().expect("it runs").stdout;
        let log = String::from_utf8(out).expect("UTF-8").replace('\\', "");
        let decided = log.matches(r#""decided":{"verdict""#).count();
        assert_eq!(decided, 1, "{told}");
    }
}

#[test]
fn of_two_who_decide_the_same_at_once_it_is_done_once_and_both_are_told_so() {
    let (scene, _endpoint) = Scene::with(vec![calls("run_command", r#"{"command":"echo seen >> b.txt"}"#)]);
    assert_eq!(scene.run(&["run", "run it", "-q"]).exit, Some(1));
    let said = two_at_once(&scene, &["resolve", "p1", "apply"], &["resolve", "p1", "apply"]);
    for said in &said {
        assert_eq!(said.exit, Some(0), "{}\n{}", said.out, said.err);
    }
    assert_eq!(std::fs::read_to_string(scene.work().join("b.txt")).expect("there"), "seen\n");
}

#[test]
fn a_note_that_is_not_read_soon_says_where_to_look() {
    let (scene, endpoint) = Scene::with(vec![writes("a.txt"), begins("Thinking")]);
    let child = scene.command(&["run", "write a.txt", "--policy", "model"]).spawn().expect("it starts");
    scene.until("the model is asked", || endpoint.requests().len() == 2);
    let said = scene.run(&["resolve", "p1", "apply"]);
    assert_eq!((said.exit, said.out.as_str()), (Some(0), ""), "{}", said.err);
    let (told, hint) = said.err.split_once('\n').expect("two lines");
    assert!(told.contains("is being written by process ") && told.contains("; left a note"), "{told}");
    assert_eq!(hint, "  not read yet; see what becomes of it: trunkline resolve p1 -s ID\n");
    scene.run(&["cancel", "--wait"]);
    child.wait_with_output().expect("it ends");
}

#[test]
fn what_was_applied_is_taken_back_by_a_proposal_of_its_own() {
    let (scene, _endpoint) = Scene::with(vec![writes("a.txt")]);
    std::fs::write(scene.work().join("a.txt"), "before\n").expect("written");
    assert_eq!(scene.run(&["run", "write a.txt", "-q"]).exit, Some(1));
    let early = scene.run(&["resolve", "p1", "undo"]);
    assert_eq!(early.exit, Some(1), "{}", early.err);
    assert_eq!(scene.ok(&["resolve", "p1", "apply"]), "p1 applied\n");
    assert!(scene.run(&["resolve", "p1"]).err.contains("resolve p1 undo -s ID"));
    let said = scene.run(&["resolve", "p1", "undo"]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    expect![[r#"
        ± p2 undo p1: overwrite a.txt (+1 −1)
            by Write file (write_file)
            --- a/a.txt
            +++ b/a.txt
            @@ -1 +1 @@
            -one
            +before
    "#]]
    .assert_eq(&said.out);
    expect![[r#"
        p2 takes back what p1 did, once it is applied
          trunkline resolve p2 apply -s ID
          trunkline resolve p2 discard -s ID
    "#]]
    .assert_eq(&said.err);
    assert_eq!(std::fs::read_to_string(scene.work().join("a.txt")).expect("there"), "one\n");
    assert!(scene.ok(&["resolve", "p2"]).contains("takes back what p1 did"));
    assert_eq!(scene.ok(&["resolve", "p2", "apply"]), "p2 applied\n");
    assert_eq!(std::fs::read_to_string(scene.work().join("a.txt")).expect("there"), "before\n");
    let again = scene.run(&["resolve", "p1", "undo"]);
    assert_eq!(again.exit, Some(1), "{}", again.err);
    for wrong in [&["resolve", "all", "undo"][..], &["resolve", "p1", "undo", "--only", "a.txt"]] {
        assert_eq!(scene.run(wrong).exit, Some(2), "{wrong:?}");
    }
}

#[test]
fn a_part_is_applied_by_name_or_number_and_the_rest_counts_as_discarded() {
    let edits = json!([
        { "path": "a.txt", "content": "a\n" },
        { "path": "dir/b.txt", "content": "+++ b/x\n--- a/x\n@@ -1 +1 @@\n" },
        { "path": "c.txt", "content": "c\n" },
    ]);
    let answer = calls("edit_files", &json!({ "edits": edits }).to_string());
    let (scene, _endpoint) = Scene::with(vec![answer]);
    assert_eq!(scene.run(&["run", "write", "-q"]).exit, Some(1));
    let shown = scene.run(&["resolve", "p1"]);
    let files = shown.out.split_once("files:\n").map_or("", |(_, files)| files);
    expect![[r#"
          1  a.txt  +1
          2  dir/b.txt  +3
          3  c.txt  +1
        proposed
    "#]]
    .assert_eq(files);
    expect![[r#"
        next:
          trunkline resolve p1 apply -s ID
          trunkline resolve p1 apply -s ID --only FILE
          trunkline resolve p1 discard -s ID --reason "…"
    "#]]
    .assert_eq(&format!("next:\n{}", shown.err));
    let wrong = scene.run(&["resolve", "p1", "apply", "--only", "d.txt"]);
    assert_eq!(wrong.exit, Some(2));
    expect![[r#"
        error: it does not write "d.txt"; it writes a.txt, dir/b.txt, c.txt
    "#]]
    .assert_eq(&wrong.err);
    assert_eq!(scene.run(&["resolve", "p1", "discard", "--only", "a.txt"]).exit, Some(2));
    let said = scene.run(&["resolve", "p1", "apply", "--only", "./a.txt", "--only", "2"]);
    assert_eq!((said.exit, said.out.as_str()), (Some(0), "p1 applied\n"), "{}", said.err);
    assert!(said.err.starts_with("counts as discarded: c.txt\n"), "{}", said.err);
    assert!(has(&scene, "a.txt") && has(&scene, "dir/b.txt") && !has(&scene, "c.txt"));
    assert!(scene.ok(&["resolve", "p1"]).contains("left out, and so discarded: c.txt"));
    let shown = scene.ok(&["show"]);
    let told = "only a part of it: written is a.txt, dir/b.txt; left out, and not written, is c.txt.";
    assert!(shown.contains(told), "the model is told so: {shown}");
}

#[test]
fn a_file_of_rules_is_understood_as_a_whole_or_refused_with_its_place() {
    let (scene, endpoint) = Scene::with(vec![]);
    let file = scene.path("rules.json");
    let name = file.to_str().expect("a plain path");
    let mut told = String::new();
    for wrong in [
        "",
        "{",
        "[]",
        r#"{"rules":[],"more":1}"#,
        "{\"rules\":[\n  {\"verdict\":\"allow\",\"tols\":\"edit_file\"}\n]}",
        r#"{"rules":[{"tool":"edit_file"}]}"#,
        r#"{"rules":[{"verdict":"perhaps"}]}"#,
        r#"{"rules":[{"verdict":"deny","target":{"path":"../up"}}]}"#,
        r#"{"rules":[{"verdict":"deny","target":{"command":{"words":[]}}}]}"#,
        r#"{"rules":[{"verdict":"allow","scope":"once"}]}"#,
        r#"{"rules":[{"verdict":"allow","tool":""}]}"#,
        r#"{"rules":[{"verdict":"allow"}]}"#,
        r#"{"rules":[{"verdict":"ask","given_by":{"kind":"model"}}]}"#,
        "{\"rules\":[{\"verdict\":\"\u{1b}[2J\"}]}",
    ] {
        std::fs::write(&file, wrong).expect("written");
        let said = scene.run(&["run", "hi", "--policy", name]);
        assert_eq!(said.exit, Some(2), "{wrong}: {}", said.err);
        let first = said.err.lines().next().unwrap_or_default();
        told.push_str(&format!(
            "{}\n",
            first.strip_prefix("error: cannot use TMP/rules.json as a policy: ").expect(first)
        ));
    }
    expect![[r#"
        EOF while parsing a value at line 1 column 0
        EOF while parsing an object at line 1 column 1
        it is no object of the form {"rules":[{…}]}
        unknown field `more`, expected `rules` at line 1 column 18
        rule 1: unknown field `tols`, expected one of `tool`, `effects`, `target`, `verdict`, `deciders`, `scope`, `given_by`, `reason`, `expires_at` at line 2 column 27
        rule 1: missing field `verdict` at line 1 column 30
        rule 1: unknown variant `perhaps`, expected one of `allow`, `ask`, `deny` at line 1 column 30
        rule 1: "../up" cannot be used as a pattern: write where it leads, without `.` and `..` at line 1 column 53
        rule 1: "" cannot be used as a pattern: it needs a word; a rule for every command names the tool alone at line 1 column 61
        rule 1: the rules of a file count whenever it is named; give one that counts once with `rules add --once`
        rule 1: the name of the tool is empty; leave it out for all tools
        rule 1: it would allow whatever any tool does; narrow it by a path, a command, a tool or an effect (or say --policy always, which means that)
        rule 1: model may neither give rules nor take them back; a person may
        control character (\u0000-\u001F) found while parsing a string at line 1 column 23
    "#]].assert_eq(&told);
    let missing = scene.run(&["run", "hi", "--policy", "modell"]);
    assert_eq!(missing.exit, Some(2));
    expect![[r#"
        error: cannot use modell as a policy: No such file or directory (os error 2)
          hint: --policy takes person, model, always, or a file such as {"rules":[{"verdict":"allow","target":{"path":"docs/**"}}]}; `trunkline help run`
    "#]]
    .assert_eq(&missing.err);
    for wrong in [&["--policy", "model", "--yes"][..], &["--policy", name, "--yes"], &["--policy", ""]] {
        assert_eq!(scene.run(&[&["run", "hi"], wrong].concat()).exit, Some(2), "{wrong:?}");
    }
    assert!(endpoint.requests().is_empty() && !scene.store().exists());
}

#[test]
fn terms_come_back_in_what_is_suggested_next() {
    let (scene, _endpoint) = Scene::with(vec![writes("a.txt"), says("Done.")]);
    let said = scene.run(&["run", "write a.txt", "--non-interactive"]);
    assert_eq!(said.exit, Some(1), "{}", said.err);
    assert!(said.err.contains("  go on    trunkline resume ID --non-interactive\n"), "{}", said.err);
    std::fs::write(scene.path("my rules.json"), r#"{"rules":[]}"#).expect("written");
    let said = scene.run(&["resume", "last", "--policy", "../my rules.json", "--non-interactive"]);
    assert_eq!(said.exit, Some(1), "{}", said.err);
    let again = "resume ID --policy '../my rules.json' --non-interactive\n";
    assert!(said.err.contains(again), "{}", said.err);
}
