//! A task from the command line: given, worked on by several runs, bounded, ended by a person.

use serde_json::{Value, json};

use crate::fake::{Scene, calls_all, says};

/// Returns the family of the last session, an object each.
fn family(scene: &Scene) -> Vec<Value> {
    let lines = scene.ok(&["decisions", "--family"]);
    lines.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

fn of_type<'f>(family: &'f [Value], kind: &str) -> Vec<&'f Value> {
    family.iter().filter(|object| object["type"] == kind).collect()
}

fn twice() -> Vec<crate::fake::Answer> {
    let write = |content: &str| ("write_file", json!({ "path": "b.txt", "content": content }).to_string());
    vec![calls_all(&[write("one\n"), write("two\n")]), says("b.txt is there.")]
}

#[test]
fn a_task_in_a_file_is_worked_on_and_a_person_ends_it() {
    let (scene, endpoint) = Scene::with(twice());
    let task = "# Write b.txt\n\nIn the folder itself.\n\nConstraints\n- nothing else\n\nDone when:\n- b.txt is there\n";
    std::fs::write(scene.work().join("task.md"), task).expect("written");
    let said = scene.run(&["run", "--task", "task.md", "be quick", "--yes"]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    assert!(said.err.contains("the task “Write b.txt” stays open until you end it"), "{}", said.err);
    let asked = endpoint.requests().remove(0);
    let told = r"Write b.txt\n\nIn the folder itself.\n\nKeep to this:\n- nothing else\n\nIt is done when:\n- b.txt is there\n\nbe quick";
    assert!(asked.contains(told), "{asked}");

    let before = family(&scene);
    assert_eq!(of_type(&before, "intent")[0]["prompt"], "be quick");
    assert_eq!(of_type(&before, "task")[0]["acceptance_criteria"], json!(["b.txt is there"]));
    assert_eq!(of_type(&before, "run")[0]["task"], of_type(&before, "task")[0]["id"]);
    let states = |family: &[Value]| -> Vec<String> {
        of_type(family, "task_event")
            .iter()
            .map(|event| event["state"].as_str().expect("a word").to_owned())
            .collect()
    };
    assert_eq!(states(&before), ["created", "running"]);
    assert_eq!(of_type(&before, "tool_invocation").len(), 2);

    // Of the two the older one was put aside; which one is preferred is recorded, and nothing is applied by it.
    assert!(scene.ok(&["decisions", "last"]).contains("1  1 file +1 −0  p1, superseded"));
    let said = scene.run(&["decide", "select", "last", "1", "--reason", "shorter"]);
    assert_eq!(
        (said.exit, said.out.as_str()),
        (Some(0), "selected 1  1 file +1 −0  p1, superseded\n"),
        "{}",
        said.err
    );
    assert_eq!(std::fs::read_to_string(scene.work().join("b.txt")).expect("there"), "two\n");
    assert!(scene.ok(&["decisions", "last"]).contains("p1, superseded  ← selected: shorter"));
    scene.ok(&["decide", "select", "last", "2"]);
    assert!(scene.ok(&["decisions", "last"]).contains("what the run has changed  ← selected\n"));
    let said = scene.run(&["decide", "select", "last", "9"]);
    assert_eq!(said.exit, Some(2));
    assert!(said.err.contains("  1  1 file +1 −0  p1, superseded\n"), "{}", said.err);
    assert!(said.err.contains("--diff` shows what each changes"), "{}", said.err);
    let page = scene.ok(&["decisions", "last", "--diff"]);
    assert!(page.contains("p1, superseded\n  --- /dev/null\n") && page.contains("  +one\n"), "{page}");

    let status = scene.ok(&["decisions", "--status"]);
    assert!(status.lines().all(|line| !line.ends_with(' ')), "{status:?}");
    assert!(status.contains("task ID  created  Write b.txt"), "{status}");
    assert_eq!(scene.ok(&["decide", "done", "I saw it"]), "done the task “Write b.txt”\n");
    let after = family(&scene);
    assert_eq!(states(&after), ["created", "running", "done"]);
    assert_eq!(of_type(&after, "intent_event")[0]["kind"], "completed");
    assert_eq!(scene.run(&["decide", "done"]).exit, Some(1));
    assert_eq!(scene.run(&["decisions", "--check"]).exit, Some(0));
    // What was there before is there still, word for word.
    assert!(before.iter().all(|object| after.contains(object)));
}

#[test]
fn a_task_is_tried_again_as_often_as_was_said_and_fails_when_a_run_is_given_up() {
    let (scene, _endpoint) = Scene::with(Vec::new());
    let run = ["run", "--task", "write b", "--max-retries", "1", "--max-turns", "0", "-q"];
    assert_eq!(scene.run(&run).exit, Some(1));
    scene.ok(&["decide", "retry", "otherwise"]);
    let said = scene.run(&["decide", "retry", "and again"]);
    assert_eq!(said.exit, Some(1));
    assert!(said.err.contains("has used all of its retries (1)"), "{}", said.err);
    // What would be refused all the same bounds nothing.
    let bounds = |scene: &Scene| scene.ok(&["export"]).matches("task_bounds").count();
    let before = bounds(&scene);
    let said = scene.run(&["decide", "retry", "and again", "--max-retries", "1"]);
    assert_eq!((said.exit, bounds(&scene)), (Some(2), before), "{}", said.err);
    assert!(said.err.contains("tried again 1 time already, and --max-retries counts those"), "{}", said.err);
    scene.ok(&["decide", "retry", "and again", "--max-retries", "2"]);
    // A verdict stands before the prompt of the run that tries it again.
    let tree = scene.ok(&["tree"]);
    let place = |words: &str| tree.find(words).unwrap_or_else(|| panic!("{words} in {tree}"));
    assert!(place("retry: otherwise") < place("you     otherwise"), "{tree}");
    let said = scene.run(&["decide", "done"]);
    assert!(said.err.contains("a run of the task is open"), "{}", said.err);
    scene.ok(&["decide", "abandon", "it cannot be done"]);
    let family = family(&scene);
    let runs = of_type(&family, "run");
    assert_eq!(runs.len(), 3);
    assert!(runs.iter().all(|run| run["task"] == of_type(&family, "task")[0]["id"]));
    assert_eq!(of_type(&family, "task_event").last().expect("one")["state"], "failed");
    assert_eq!(of_type(&family, "intent_event")[0]["kind"], "cancelled");
    assert_eq!(scene.run(&["decisions", "--check"]).exit, Some(0));
}

#[test]
fn a_bound_on_turns_holds_over_all_runs_of_a_task() {
    let (mut scene, _endpoint) = Scene::with(vec![says("One."), says("Two."), says("Three.")]);
    assert_eq!(scene.run(&["run", "--task", "count", "--max-turns", "2"]).exit, Some(0));
    assert_eq!(scene.run(&["resume", "-p", "go on"]).exit, Some(0));
    let said = scene.run(&["resume", "-p", "go on"]);
    assert_eq!(said.exit, Some(1));
    assert!(said.err.contains("the task has had its turns"), "{}", said.err);
    assert!(said.err.contains("--max-turns 4"), "what was reached would be reached again: {}", said.err);
    // What is usual is no word on this task.
    let settings = scene.path("settings.json");
    std::fs::write(&settings, r#"{"max_turns":80}"#).expect("written");
    scene.set("TRUNKLINE_SETTINGS", settings.to_str().expect("a plain path"));
    assert_eq!(scene.run(&["resume"]).exit, Some(1));
    assert!(scene.run(&["decide", "retry", "again"]).err.contains("--max-turns 4"));
    let said = scene.run(&["resume", "--max-turns", "3"]);
    assert_eq!((said.exit, said.out.as_str()), (Some(0), "Three.\n"), "{}", said.err);
}

#[test]
fn what_is_no_task_is_said_before_anything_is_written() {
    let (scene, _endpoint) = Scene::with(Vec::new());
    for (content, why) in [
        ("{\"titel\": \"x\"}", "unknown field `titel`"),
        ("{\"title\": \"\"}", "the task is empty"),
        ("\u{0}\u{1}\n\n", ""),
    ] {
        std::fs::write(scene.work().join("t"), content).expect("written");
        let said = scene.run(&["run", "--task", "t", "-q", "--max-turns", "0"]);
        assert!(said.err.contains(why), "{}", said.err);
    }
    std::fs::write(scene.work().join("t"), "x".repeat(70_000)).expect("written");
    std::fs::create_dir(scene.work().join("folder")).expect("made");
    let before = scene.ok(&["sessions", "--json"]);
    for task in ["t", "folder", "nope.md", "docs/nope", "-"] {
        assert_eq!(scene.run(&["run", "--task", task]).exit, Some(2));
    }
    assert_eq!(scene.ok(&["sessions", "--json"]), before, "no session was begun for it");
    let said = scene.run(&["run", "--max-retries", "2", "do it"]);
    assert_eq!(said.exit, Some(2), "{}", said.err);
    assert_eq!(scene.run(&["decide", "done"]).exit, Some(1));
}

#[test]
fn lists_and_the_head_of_a_session_tell_of_its_task() {
    let (scene, _) = Scene::with(vec![says("One."), says("Two."), says("Three.")]);
    assert_eq!(scene.run(&["run", "no task here"]).exit, Some(0));
    assert!(!scene.ok(&["sessions"]).contains("task open"));
    assert!(scene.ok(&["show"]).starts_with("n0"), "without a task nothing stands above the conversation");
    let run = ["run", "--task", "count to two", "be quick", "--max-turns", "5", "--max-tokens", "400000"];
    assert_eq!(scene.run(&run).exit, Some(0));
    let listed = scene.ok(&["sessions"]);
    let marked: Vec<bool> = listed.lines().map(|line| line.contains("  task open")).collect();
    assert_eq!(marked, [true, false], "{listed}");
    let told: Value = serde_json::from_str(&scene.ok(&["sessions", "--json"])).expect("JSON");
    assert_eq!(told["sessions"][0]["open_task"], "count to two");
    assert_eq!(told["sessions"][1].get("open_task"), None);

    let shown = scene.ok(&["show"]);
    let mut lines = shown.lines();
    assert_eq!(lines.next(), Some("intent  be quick"));
    assert_eq!(lines.next(), Some("task    count to two · running"));
    let spent = lines.next().expect("a line").to_owned();
    assert!(spent.starts_with("        spent: 0 of 5 retries, 1 of 5 turns, "), "{spent}");
    assert!(spent.ends_with(" of 400 000 tokens"), "{spent}");
    let told: Value = serde_json::from_str(&scene.ok(&["show", "--json"])).expect("JSON");
    assert_eq!((&told["intent"], &told["task"]["state"]), (&json!("be quick"), &json!("running")));
    assert_eq!(told["task"]["bounds"], json!({ "retries": 5, "turns": 5, "tokens": 400000 }));
    assert_eq!(told["task"]["spent"]["turns"], 1);
    assert!(told["task"]["spent"]["tokens"].as_u64().expect("a number") > 0, "{told}");

    scene.ok(&["decide", "done", "I saw it"]);
    assert!(!scene.ok(&["sessions"]).contains("task open"));
    assert!(scene.ok(&["show"]).contains("task    count to two · done\n"));
    // What comes after that is for something else.
    assert_eq!(scene.run(&["resume", "-p", "and now three"]).exit, Some(0));
    assert!(scene.ok(&["show"]).starts_with("n0"));
}

#[test]
fn a_task_that_failed_with_its_run_is_not_told_as_open() {
    let (scene, _) = Scene::with(vec![]);
    scene.run(&["run", "--task", "write b", "--max-turns", "0", "-q"]);
    assert!(scene.ok(&["sessions"]).contains("task open"));
    scene.ok(&["decide", "abandon", "it cannot be done"]);
    assert!(!scene.ok(&["sessions"]).contains("task open"));
    assert!(scene.ok(&["show"]).contains("task    write b · failed\n"));
}

#[test]
fn a_commit_leaves_its_task_open_and_is_told_with_it() {
    let write = calls_all(&[("write_file", json!({ "path": "b.txt", "content": "one\n" }).to_string())]);
    let (scene, _endpoint) = Scene::with(vec![write, says("b.txt is there.")]);
    crate::binding::make(&scene.work(), "init -q");
    std::fs::write(scene.work().join("task.md"), "# Write b.txt\n\nIn the folder.\n").expect("written");
    let said = scene.run(&["run", "--task", "task.md", "--commit", "--yes"]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    let status = scene.ok(&["decisions", "--status"]);
    assert!(status.contains("task ID  created  Write b.txt"), "{status}");
    assert!(status.contains("the task has not ended"), "{status}");
    assert!(status.contains("intent ID  new  Write b.txt In the folder."), "{status}");
    scene.ok(&["decide", "done", "I saw it"]);
    let status = scene.ok(&["decisions", "--status"]);
    assert!(status.contains("task ID  done  Write b.txt"), "{status}");
    assert!(status.contains("intent ID  completed  Write b.txt"), "{status}");
}

#[test]
fn what_is_exported_of_a_run_without_a_task_says_what_gives_it_one() {
    let (scene, _endpoint) = Scene::with(vec![says("Yes.")]);
    assert_eq!(scene.run(&["run", "is it?"]).exit, Some(0));
    let said = scene.run(&["decisions", "--export", "git-internal"]);
    assert_eq!(said.exit, Some(1), "{}", said.err);
    assert!(said.err.contains("a run needs `task` there"), "{}", said.err);
    assert!(said.err.contains("hint: a run that begins with `run --task` has one"), "{}", said.err);
}
