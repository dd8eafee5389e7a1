//! How a model goes back: what of it is told, what is set for it.

use serde_json::Value;

use crate::fake::{Answer, Endpoint, Scene, begins, calls, calls_all, says};

fn asks(arguments: &str) -> (&'static str, String) {
    ("revert_to_state", arguments.to_owned())
}

#[test]
fn every_request_to_go_back_has_a_line_also_one_that_could_not_be_read() {
    let all = [
        asks(r#"{"step":"n1"}"#),
        asks(r#"{"category":"failure","step":"n99","summary":"no"}"#),
        asks(r#"{"category":"wrong","step":"n1"}"#),
    ];
    let (scene, _endpoint) = Scene::with(vec![
        calls("list_files", "{}"),
        calls_all(&all),
        calls("revert_to_state", "[1]"),
        says("Well."),
    ]);
    let said = scene.run(&["run", "go back"]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    let lines = [
        r#"⤺ not read: category is required; the model wrote: {"step":"n1"}"#,
        "⤺ not left: revert target n99 not found; targets that would work: n1, n3 (newest last)",
        r#"⤺ not read: category must be one of failure | tangent | completion | step-summary; got "wrong"; the model wrote: {"category":"wrong","step":"n1"}"#,
        "⤺ not read: arguments must be a JSON object: invalid type: sequence, expected a map at line 1 column 0; the model wrote: [1]",
    ];
    for line in lines {
        assert_eq!(said.err.matches(line).count(), 1, "{line}: {}", said.err);
    }
    // In the order of the calls, and so in the log.
    let shown = scene.ok(&["show"]);
    let places: Vec<usize> = lines.iter().map(|line| shown.find(line).expect("it is shown")).collect();
    assert!(places.is_sorted(), "{shown}");
    let listed = scene.run(&["reflog"]);
    let listed: Vec<&str> = listed.out.lines().collect();
    let expected = [("n8", lines[3]), ("n4", lines[2]), ("n4", lines[1]), ("n4", lines[0])];
    assert_eq!(listed, expected.map(|(node, line)| format!("{node}  {line}")));
    for command in ["show", "reflog"] {
        let json: Value = serde_json::from_str(&scene.ok(&[command, "--json"])).expect("JSON");
        let unread = json["unread_reverts"].as_array().expect("a list");
        let places: Vec<String> =
            unread.iter().map(|one| format!("{} {}", one["call"]["node"], one["call"]["index"])).collect();
        assert_eq!(places, [r#""n4" 0"#, r#""n4" 2"#, r#""n8" 0"#], "{command}");
        assert_eq!(json["refused_reverts"][0]["target"], "n99");
    }
}

/// A model that looks, fails, goes back without a word and answers; `summary` is what is said of the branch.
fn goes_back_silently(summary: impl Fn() -> Answer + Send + Sync + 'static) -> (Scene, Endpoint) {
    let endpoint = Endpoint::by(move |request| {
        let has = |words: &str| request.contains(words);
        match () {
            () if has("What did it come to?") => summary(),
            () if has("[revert-") => says("Another way."),
            () if has("there is no missing.txt") => {
                calls("revert_to_state", r#"{"category":"failure","step":"n3"}"#)
            }
            () if has("[no files]") => calls("read_file", r#"{"path":"missing.txt"}"#),
            () => calls("list_files", "{}"),
        }
    });
    let mut scene = Scene::new();
    scene.set("OPENAI_BASE_URL", endpoint.address());
    scene.set("TRUNKLINE_MODEL", "big");
    (scene, endpoint)
}

const ASKING: &str = "… asking what came of the branch that m0 left";
const WAITING: &str = "… waiting for 1 summary, 10 s at most; Ctrl-C goes on without";

#[test]
fn a_model_says_what_a_branch_came_to_within_what_it_may_cost() {
    let (scene, endpoint) = goes_back_silently(|| says("The file is missing."));
    let flags =
        ["--summaries", "model", "--summary-model", "small", "--summary-limits", "tokens=77,bytes=300"];
    let said = scene.run(&[&["run", "read it"], &flags[..]].concat());
    assert_eq!((said.exit, said.out.as_str()), (Some(0), "Another way.\n"), "{}", said.err);
    assert!(said.err.contains(ASKING), "{}", said.err);
    assert!(said.err.contains("⤺ what m0 left came to: The file is missing."), "{}", said.err);
    // Five requests of 100 tokens: that of the summary is in the account.
    assert!(said.err.contains("500 tokens in, 25 out"), "{}", said.err);
    let again =
        format!("resume ID {} -p", flags.join(" ").replace("tokens=77,bytes=300", "'tokens=77,bytes=300'"));
    assert!(said.err.contains(&again), "{again}: {}", said.err);
    let requests = endpoint.requests();
    let asked: Vec<&String> =
        requests.iter().filter(|request| request.contains(r#""model":"small""#)).collect();
    assert_eq!(asked.len(), 1);
    assert!(
        asked[0].contains(r#":77"#) && asked[0].contains("older messages are not quoted"),
        "{}",
        asked[0]
    );
    scene.ok(&["resume", "-p", "and now?", "-q"]);
    let next = endpoint.requests().pop().expect("one");
    assert!(next.contains("a later summary of what was left (4 messages): The file is missing."), "{next}");
}

#[test]
fn without_the_flag_no_model_is_asked_for_a_summary() {
    for flags in [&[][..], &["--summaries", "mechanical"]] {
        let (scene, endpoint) = goes_back_silently(|| says("never"));
        let said = scene.run(&[&["run", "read it"], flags].concat());
        assert_eq!(said.exit, Some(0), "{}", said.err);
        assert!(!said.err.contains("asking what came"), "{}", said.err);
        assert_eq!(endpoint.requests().len(), 4);
        assert!(scene.ok(&["show"]).contains("called read_file (failed)"));
    }
    let said = Scene::new().run(&[
        "run",
        "x",
        "--base-url",
        "http://127.0.0.1:1/v1",
        "-m",
        "m",
        "--summary-model",
        "small",
    ]);
    assert_eq!(said.exit, Some(2));
    assert!(
        said.err.contains("--summary-model is about summaries that a model writes, and none does"),
        "{}",
        said.err
    );
}

#[test]
fn a_summary_that_fails_is_told_and_the_note_stands() {
    let (scene, _endpoint) =
        goes_back_silently(|| Answer::Refusal(400, r#"{"error":{"message":"no such model"}}"#));
    let said = scene.run(&["run", "read it", "--summaries", "model"]);
    assert_eq!((said.exit, said.out.as_str()), (Some(0), "Another way.\n"), "{}", said.err);
    assert!(said.err.contains("⤺ no summary of what m0 left: the summarizer's model failed"), "{}", said.err);
    assert!(said.err.contains("no such model; the note says what was called"), "{}", said.err);
    assert!(scene.ok(&["show"]).contains("called read_file (failed)"));
}

#[test]
fn the_end_of_a_run_waits_ten_seconds_for_a_summary_and_no_longer() {
    let (scene, endpoint) = goes_back_silently(|| begins("The"));
    let began = std::time::Instant::now();
    let said = scene.run(&["run", "read it", "--summaries", "model"]);
    let took = began.elapsed();
    assert_eq!((said.exit, said.out.as_str()), (Some(0), "Another way.\n"), "{}", said.err);
    assert!(said.err.contains(WAITING), "{}", said.err);
    assert!(
        said.err.contains("⤺ 1 summary did not come in time; the notes say what was called"),
        "{}",
        said.err
    );
    assert!((10..60).contains(&took.as_secs()), "{took:?}");
    // The next process asks once more, and then none does.
    for expected in [2, 2] {
        let mut command = scene.command(&["resume", "-p", "and now?", "--summaries", "model"]);
        let child = command.spawn().expect("it starts");
        let count =
            || endpoint.requests().iter().filter(|request| request.contains("What did it come to?")).count();
        scene.until("it is asked", || count() == expected);
        scene.said(child.wait_with_output().expect("it ends"));
        assert_eq!(count(), expected);
    }
}

#[test]
fn an_interrupt_ends_the_waiting_for_a_summary_and_not_the_run() {
    use std::io::{BufRead, BufReader, Read};
    let (scene, _endpoint) = goes_back_silently(|| begins("The"));
    let mut child = scene.command(&["run", "read it", "--summaries", "model"]).spawn().expect("it starts");
    let began = std::time::Instant::now();
    let mut told = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut line = String::new();
    while !line.contains(WAITING) {
        line.clear();
        assert!(told.read_line(&mut line).expect("it can be read") > 0, "it ended before");
    }
    let status = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(status.expect("there is kill").success());
    let mut rest = String::new();
    told.read_to_string(&mut rest).expect("it can be read");
    assert_eq!(child.wait().expect("it ends").code(), Some(0), "{rest}");
    assert!(rest.contains("⤺ 1 summary did not come in time"), "{rest}");
    assert!(began.elapsed().as_secs() < 10, "{:?}", began.elapsed());
    assert!(scene.ok(&["sessions"]).contains("answered"));
}

/// Runs a model that goes back once and then looks again, and returns its last request and what was told.
fn looks_again(flags: &[&str]) -> (Scene, String, String) {
    let revert = r#"{"category":"failure","step":"n3","summary":"it is a dead end"}"#;
    let (scene, endpoint) = Scene::with(vec![
        calls("list_files", "{}"),
        calls("read_file", r#"{"path":"missing.txt"}"#),
        calls("revert_to_state", revert),
        calls("list_files", "{}"),
        says("Done."),
    ]);
    let said = scene.run(&[&["run", "look"], flags].concat());
    assert_eq!(said.exit, Some(0), "{}", said.err);
    let last = endpoint.requests().pop().expect("one");
    (scene, last, said.err)
}

#[test]
fn how_long_a_lesson_is_shown_can_be_set() {
    let shows = |flags: &[&str]| looks_again(flags).1.contains("it is a dead end");
    assert!(shows(&[]));
    assert!(!shows(&["--lessons", "turns=0,count=0"]));
    assert!(shows(&["--lessons", "turns=0,count=1"]));
    assert!(shows(&["--lessons", "turns=1,count=0"]));
    // Its time is over, and its going would lose the cache.
    assert!(shows(&["--lessons", "turns=0,count=0,cache-minding"]));
}

#[test]
fn long_results_are_left_out_of_the_prompt_where_that_is_set() {
    let prunes = |flags: &[&str]| looks_again(flags).1.contains("that list_files returned are left out here");
    assert!(!prunes(&[]));
    assert!(prunes(&["--prune", "after=1,every=1,bytes=5"]));
    assert!(!prunes(&["--prune", "after=1,every=1,bytes=50"]));
    assert!(!prunes(&["--prune", "off"]));
}

#[test]
fn what_going_back_costs_is_told_where_the_price_of_the_cache_is_set() {
    let told = |flags: &[&str]| {
        let (scene, _, _) = looks_again(flags);
        let shown = scene.ok(&["show", "--all", "--full"]);
        let line =
            shown.lines().find(|line| line.contains("revert applied")).expect("it is shown").to_owned();
        line.contains("tokens")
    };
    assert!(!told(&[]));
    assert!(told(&["--revert-price", "read=10,write=125"]));
}

#[test]
fn when_a_run_gets_nowhere_can_be_set() {
    let stuck = |flags: &[&str]| {
        let mut answers = vec![calls("list_files", "{}")];
        answers.extend((0..5).map(|_| calls("read_file", r#"{"path":"missing.txt"}"#)));
        answers.push(says("I cannot read it."));
        let (scene, _endpoint) = Scene::with(answers);
        let said = scene.run(&[&["run", "read it"], flags].concat());
        assert_eq!(said.exit, Some(0), "{}", said.err);
        said.err
            .lines()
            .find(|line| line.contains("⤺ p0"))
            .map(|line| line.chars().take(7).collect::<String>())
    };
    assert_eq!(stuck(&[]).as_deref(), Some("⤺ p0: 5"));
    assert_eq!(stuck(&["--stall", "off"]), None);
    assert_eq!(stuck(&["--stall", "turns=2"]).as_deref(), Some("⤺ p0: 3"));
}

#[test]
fn figures_that_are_not_understood_are_told_with_what_was_meant() {
    let wrong = [
        ("--lessons", "turns=a", r#"turns is a whole number of at least 0, and not "a""#),
        ("--lessons", "turn=4", "did you mean turns?"),
        ("--lessons", "turns", "turns needs a number: turns=N"),
        ("--lessons", "turns=4,turns=5", "turns is said twice"),
        ("--lessons", "exact,cache-minding", "it says both exact and cache-minding"),
        ("--lessons", "exact=1", "exact stands by itself, without a number"),
        ("--lessons", "turns=99999999999999999999", "turns is a whole number"),
        ("--prune", "off,after=3", "off leaves nothing for after to say"),
        ("--prune", "after=0", "after is a whole number of at least 1"),
        ("--revert-price", "write=125", "`read` is missing"),
        ("--revert-price", "read=1.25", "read is in percent, such as read=10 or read=12.5"),
        ("--revert-price", "read=99999999999", "read is in percent"),
        ("--stall", "", "it says nothing; write it like turns=N or off"),
        ("--summary-limits", "tokens=0", "tokens is a whole number of at least 1"),
        ("--summary-limits", "bytes=100", "bytes is a whole number of at least 200"),
    ];
    for (flag, figures, told) in wrong {
        let said = Scene::new().run(&["run", "x", flag, figures]);
        assert_eq!(said.exit, Some(2), "{flag} {figures}");
        assert!(said.err.contains(told), "{flag} {figures}: {}", said.err);
    }
}

#[test]
fn screens_show_the_label_of_a_tool_beside_its_name() {
    let revert = r#"{"category":"failure","step":"n3","summary":"it is a dead end"}"#;
    let (scene, _endpoint) = Scene::with(vec![
        calls("list_files", "{}"),
        calls("revert_to_state", revert),
        calls("edit_files", r#"{"edits":[]}"#),
        calls("no.such/tool", "{}"),
        calls("write_file", r#"{"path":"a.txt","content":"a"}"#),
        says("Done."),
    ]);
    let said = scene.run(&["run", "look", "--non-interactive"]);
    assert!(said.err.contains("✓ List files (list_files) · "), "{}", said.err);
    assert!(said.err.contains("⊘ no.such/tool · "), "{}", said.err);
    let shown = scene.ok(&["show", "--all"]);
    assert!(shown.contains("  → Revert to State (revert_to_state) "), "{shown}");
    assert!(shown.contains("  ✓ Revert to State (revert_to_state)\n"), "{shown}");
    let tree = scene.ok(&["tree"]);
    assert!(tree.contains("→ Revert to State (revert_to_state) n3"), "{tree}");
    assert!(tree.contains("✓ List files  [no files]"), "a row has little room: {tree}");
    let asked = scene.ok(&["resolve", "p1"]);
    assert!(asked.contains("by Write file (write_file)"), "{asked}");
    // The answer to a machine says what the model said.
    assert!(scene.ok(&["tree", "--json"]).contains(r#""revert_to_state""#));
}
