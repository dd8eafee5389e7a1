//! How runs ended: listed, shown with what they rest on, found by what they point at, and checked.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use trunkline_message_tree::Timestamp;
use trunkline_runtime::decision_objects::Digest;
use trunkline_session_store::{Batch, Note, Position, Record, SessionId, SessionStore, SqliteStore};

use crate::fake::{Answer, Scene, begins, calls, says};

/// A decision as git-internal writes it, with a SHA-1 commit filled up as Libra does.
const COMMIT: &str = r#"{"object_id":"01a1ffdf-0c36-7662-806b-85dcbc1f1c35","object_type":"decision","version":1,"created_at":"2026-11-21T20:49:30.166608121Z","created_by":{"kind":"agent","id":"coder-1"},"run_id":"01900000-0000-7000-8000-000000000001","decision_type":"commit","chosen_patchset_id":"00000000-0000-7000-8000-000000000002","result_commit_sha":"da39a3ee5e6b4b0d3255bfef95601890afd80709000000000000000000000000"}"#;
/// The same, and it does not say what it undoes.
const ROLLBACK: &str = r#"{"object_id":"01a1ffdf-0c36-7662-806b-85dcbc1f1c36","object_type":"decision","version":7,"created_at":"2026-11-21T20:49:30.166608121Z","created_by":{"kind":"agent","id":""},"run_id":"01900000-0000-7000-8000-000000000001","decision_type":"rollback"}"#;
/// A decision of ours that does not say what it undoes.
const OWN_ROLLBACK: &str = r#"{"type":"decision","version":1,"id":"01a1ffdf-0c36-7662-806b-85dcbc1f1c37","run":"01900000-0000-7000-8000-000000000009","at":"2026-11-21T20:49:30Z","decided_by":{"kind":"human","id":"ann"},"verdict":{"kind":"rollback","reverted_to":"da39a3ee5e6b4b0d3255bfef95601890afd80709"},"evidence":[],"considered":[],"colour":"red"}"#;

/// A run that fails, goes back with a lesson, succeeds and commits.
fn demo() -> Scene {
    let scene = Scene::new();
    demo_in(&scene, "demo");
    scene
}

fn demo_in(scene: &Scene, name: &str) {
    let folder = scene.path(name);
    scene.ok(&["demo", "--delay", "0", "--keep-dir", folder.to_str().expect("a plain path")]);
}

/// A run that ended with these words.
fn answered(words: &str) -> Scene {
    let (scene, _endpoint) = Scene::with(vec![says(words)]);
    scene.ok(&["run", "say something", "-q"]);
    scene
}

/// One line of `--json`, the records in it as texts.
#[derive(Deserialize)]
struct Line {
    session: String,
    run_id: String,
    state: String,
    decision: Option<Box<RawValue>>,
    digest: Option<String>,
    evidence: Vec<Value>,
    nodes: Vec<Value>,
}

fn raw_out(scene: &Scene, arguments: &[&str]) -> String {
    let output = scene.command(arguments).output().expect("it runs");
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn lines(scene: &Scene, arguments: &[&str]) -> Vec<Line> {
    let out = raw_out(scene, arguments);
    out.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

/// Writes a note into the newest session, as another program would.
pub(crate) fn write(scene: &Scene, note: Note) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("it starts");
    let id = SessionId::parse(&scene.ids()[0]).expect("an id");
    runtime.block_on(async {
        let store = SqliteStore::open(scene.store()).await.expect("it opens");
        let info = store.info(&id).await.expect("it is there");
        let lease = store.lease(&id).await.expect("nobody writes it");
        let batch = Batch::new(Position { seq: info.records, head: info.head }, vec![Record::Note(note)]);
        store.append(&lease, batch).await.expect("it fits");
        drop(lease);
        store.close().await;
    });
}

fn damaged() -> Scene {
    let scene = answered("Hello.");
    let note = Note::new("decision", "decided", Timestamp(1), OWN_ROLLBACK);
    write(&scene, note.once("01900000-0000-7000-8000-000000000009", "rollback"));
    scene
}

#[test]
fn a_run_is_listed_with_its_verdict_who_gave_it_and_what_it_rests_on() {
    let scene = demo();
    let said = scene.run(&["decisions"]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    let rows: Vec<&str> = said.out.lines().collect();
    assert_eq!(rows.len(), 3, "a heading and two lines: {}", said.out);
    assert!(rows[1].contains("  commit "), "{}", said.out);
    assert!(rows[1].ends_with("just now"), "{}", said.out);
    for part in ["by agent ", " file", " +", " −", "test 1 passed"] {
        assert!(rows[2].contains(part), "{part}: {}", said.out);
    }
    assert!(said.err.contains("look:  trunkline decisions ID"), "{}", said.err);
}

#[test]
fn an_open_run_is_listed_first_and_leads_to_its_end() {
    let (scene, _endpoint) = Scene::with(vec![says("Hello."), begins("And")]);
    scene.ok(&["run", "say something", "-q"]);
    scene.run(&["resume", "-p", "and more", "--max-turns", "0"]);
    let listed = lines(&scene, &["decisions", "--json"]);
    let states: Vec<&str> = listed.iter().map(|line| line.state.as_str()).collect();
    assert_eq!(states, ["open", "answered"]);
    let shown = scene.run(&["decisions", &listed[0].run_id]);
    assert!(shown.out.contains("and more"), "{}", shown.out);
    assert!(shown.err.contains("resume ID"), "{}", shown.err);
    // The newest decision is meant, not the newest run.
    assert!(scene.ok(&["decisions", "last"]).contains("other: answered"));
}

#[test]
fn a_decision_is_shown_with_everything_it_rests_on() {
    let scene = demo();
    let said = scene.run(&["decisions", "last"]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    for part in [
        "◆ commit: ",
        "decision   ID\n",
        "run        ID\n",
        "opened by  human user, just now\n",
        "decided by agent ",
        "rationale  ",
        "changes    ",
        "evidence   ",
        "  exit 0",
        "considered 1 way that was not taken\n",
        "points at  ",
        " prompt    you ",
        " end       model ",
        "digest     ",
    ] {
        assert!(said.out.contains(part), "{part:?} in\n{}", said.out);
    }
    assert!(!said.out.contains("@@"), "the diff only if it is asked for: {}", said.out);
    assert!(said.err.contains("the diff:  trunkline decisions ID --diff\n"), "{}", said.err);
    assert!(said.err.contains("take back: trunkline decide rollback ID -s ID --dry-run\n"), "{}", said.err);
    let with_diff = scene.ok(&["decisions", "last", "--diff"]);
    assert!(with_diff.contains("\n  @@ "), "{with_diff}");
}

#[test]
fn a_goal_without_line_ends_is_cut_unless_all_of_it_is_asked_for() {
    let (scene, _endpoint) = Scene::with(vec![says("Done.")]);
    scene.ok(&["run", &"long".repeat(5_000), "-q"]);
    let shown = scene.ok(&["decisions", "last"]);
    assert!(shown.len() < 4_000 && shown.contains("… 19000 characters more; --full shows all\n"), "{shown}");
    let full = scene.ok(&["decisions", "last", "--full"]);
    assert!(full.contains(&"long".repeat(5_000)) && !full.contains("--full"), "{full}");
}

#[test]
fn a_decision_is_found_by_its_beginning_its_runs_or_by_its_session() {
    let scene = demo();
    let line = &lines(&scene, &["decisions", "--json"])[0];
    let decision: Value =
        serde_json::from_str(line.decision.as_ref().expect("it ended").get()).expect("JSON");
    let id = decision["id"].as_str().expect("an id");
    let whole = raw_out(&scene, &["decisions", id]);
    assert!(whole.contains(id), "{whole}");
    let upper = line.run_id.to_uppercase();
    for name in [line.run_id.as_str(), upper.as_str(), "last", &id[..id.len() - 3]] {
        assert_eq!(raw_out(&scene, &["decisions", name]), whole, "{name}");
    }
    assert_eq!(raw_out(&scene, &["decisions", &line.session]), raw_out(&scene, &["decisions"]));
    // What is printed as short can be typed.
    let listed = raw_out(&scene, &["decisions"]);
    let short = listed.lines().nth(1).and_then(|row| row.split_whitespace().next()).expect("a name");
    assert_eq!(raw_out(&scene, &["decisions", short]), whole);
}

#[test]
fn what_is_not_there_says_what_is() {
    let scene = answered("Hello.");
    let said = scene.run(&["decisions", "ffff"]);
    assert_eq!((said.exit, said.out.as_str()), (Some(2), ""));
    assert!(said.err.contains("no decision, no run and no session \"ffff\""), "{}", said.err);
    assert!(said.err.contains("ID  other: answered\n"), "{}", said.err);
    assert!(said.err.contains("hint: `trunkline decisions --all` lists them all"), "{}", said.err);
    assert_eq!(scene.run(&["decisions", ""]).exit, Some(2), "nothing is the beginning of everything");
    assert_eq!(scene.run(&["decisions", "--node", "n99"]).exit, Some(2));
    let nowhere = Scene::new().run(&["decisions"]);
    assert_eq!(nowhere.exit, Some(2), "{}", nowhere.err);
}

#[test]
fn from_a_decision_to_its_nodes_and_from_a_node_to_its_decisions() {
    let scene = demo();
    let line = &lines(&scene, &["decisions", "--json"])[0];
    assert!(!line.evidence.is_empty());
    let nodes: Vec<(&str, &str)> = line
        .nodes
        .iter()
        .map(|cited| (cited["node"].as_str().expect("a node"), cited["as"].as_str().expect("a word")))
        .collect();
    assert!(nodes.iter().any(|(_, what)| *what == "prompt"), "{nodes:?}");
    // Every call behind a piece of evidence is one of them.
    for evidence in &line.evidence {
        let node = evidence["call"]["node"].as_str().expect("a call found it");
        assert!(nodes.iter().any(|(cited, _)| *cited == node), "{node}: {nodes:?}");
    }
    for (node, what) in &nodes {
        let said = scene.run(&["decisions", "--node", node]);
        assert!(said.out.contains(&format!("{node}: {what}")), "{node}: {}", said.out);
        assert!(scene.ok(&["decisions", "last"]).contains(&format!("\n  {node:<5} {what:<8}")), "{node}");
    }
    let nothing = scene.run(&["decisions", "--node", "n0"]);
    assert_eq!((nothing.exit, nothing.out.as_str()), (Some(0), ""));
    assert!(nothing.err.contains("points at n0"), "{}", nothing.err);
}

#[test]
fn the_digest_is_that_of_the_text_in_the_same_line() {
    let scene = demo();
    let listed = lines(&scene, &["decisions", "--json"]);
    assert_eq!(listed.len(), 1);
    for line in listed {
        let text = line.decision.expect("it ended");
        assert_eq!(Some(Digest::of(text.get().as_bytes()).to_string()), line.digest);
        // And it is a record that the strict parser takes.
        let file = scene.path("record.json");
        std::fs::write(&file, text.get()).expect("written");
        let checked = scene.run(&["decisions", "--check", file.to_str().expect("a plain path")]);
        assert_eq!((checked.exit, checked.out.contains("  ok\n")), (Some(0), true), "{}", checked.out);
    }
    let shown = raw_out(&scene, &["decisions", "last", "--json"]);
    assert_eq!(shown, raw_out(&scene, &["decisions", "--json"]));
}

#[test]
fn a_record_that_cannot_be_read_hides_nothing_and_keeps_its_bytes() {
    let scene = damaged();
    let listed = scene.run(&["decisions"]);
    assert_eq!(listed.exit, Some(0), "{}", listed.err);
    assert!(listed.out.contains("  answered  "), "{}", listed.out);
    assert!(listed.err.contains("1 record cannot be read and is kept as it is"), "{}", listed.err);
    let checked = scene.run(&["decisions", "--check"]);
    assert_eq!(checked.exit, Some(3), "{}", checked.err);
    assert!(checked.out.contains("$.verdict.of: missing key"), "{}", checked.out);
    assert!(checked.out.contains("$.colour: unknown key"), "all that is wrong: {}", checked.out);
    assert!(checked.err.contains("4 records: 3 ok, 1 with violations"), "{}", checked.err);
    let out = scene.command(&["decisions", "--check", "--json"]).output().expect("it runs").stdout;
    let kept: Vec<Value> =
        out.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
    assert_eq!(kept[3]["original"], OWN_ROLLBACK);
    assert_eq!(kept[0]["violations"], json!([]));
    let named = scene.run(&["decisions", "01900000-0000-7000-8000-000000000009"]);
    assert_eq!(named.exit, Some(1), "{}", named.err);
    assert!(named.err.contains("missing key") && named.err.contains("--check"), "{}", named.err);
}

#[test]
fn the_records_of_a_session_are_checked_beside_each_other() {
    let scene = demo();
    let whole = scene.run(&["decisions", "--check"]);
    assert_eq!(whole.exit, Some(0), "{}", whole.out);
    let kinds = ["run ", "patch_set ", "evidence ", "decision "];
    assert!(kinds.iter().all(|kind| whole.out.contains(&format!("  {kind}ID  ok\n"))), "{}", whole.out);
    assert!(whole.err.contains("proven by  trunkline doctor ID\n"), "{}", whole.err);
    // A second verdict on the same run, which is fine by itself.
    let line = &lines(&scene, &["decisions", "--json"])[0];
    let first = line.decision.as_ref().expect("it ended").get();
    let id = serde_json::from_str::<Value>(first).expect("JSON")["id"].as_str().expect("an id").to_owned();
    let second = first.replace(&id, "01a1ffdf-0c36-7662-806b-85dcbc1f1c37");
    write(&scene, Note::new("decision", "decided", Timestamp(1), second));
    let checked = scene.run(&["decisions", "--check"]);
    assert_eq!(checked.exit, Some(3), "{}", checked.out);
    assert_eq!(scene.run(&["decisions", "last"]).exit, Some(0), "the first one stands");
    assert_eq!(lines(&scene, &["decisions", &id, "--json"])[0].digest, line.digest);
}

#[test]
fn records_from_elsewhere_are_checked_one_by_one_whatever_their_form() {
    let scene = Scene::new();
    let check = |text: &str| {
        let file = scene.path("records.jsonl");
        std::fs::write(&file, text).expect("written");
        scene.run(&["decisions", "--check", file.to_str().expect("a plain path")])
    };
    let fine = check(COMMIT);
    assert_eq!(fine.exit, Some(0), "{}", fine.out);
    assert!(fine.out.contains("sha-1 name"), "that it was filled up is no fault, and told: {}", fine.out);
    let all = check(&[COMMIT, ROLLBACK, "", OWN_ROLLBACK, "{\"type\":\"weather\"}", "not JSON"].join("\n"));
    assert_eq!(all.exit, Some(3), "{}", all.err);
    for told in [
        "version: 7 is not known",
        "created_by.id: ",
        "a rollback does not say which decision it undoes",
        "$.verdict.of: missing key",
        "$.type: \"weather\" ",
        "it is no JSON object",
    ] {
        assert!(all.out.contains(told), "{told}: {}", all.out);
    }
    assert!(all.err.contains("5 records: 1 ok, 3 with violations, 1 cannot be read"), "{}", all.err);
    assert_eq!(check("not JSON\n").exit, Some(1));
    assert_eq!(check("\n").exit, Some(2));
    assert_eq!(check(&COMMIT.replace(',', ",\n")).exit, Some(0), "one record over many lines");
    assert_eq!(scene.run(&["decisions", "--check", "/no/such/file"]).exit, Some(1));
}

#[test]
fn records_in_one_file_are_checked_beside_each_other() {
    let scene = Scene::new();
    let check = |text: &str| {
        let file = scene.path("records.jsonl");
        std::fs::write(&file, text).expect("written");
        scene.run(&["decisions", "--check", file.to_str().expect("a plain path")])
    };
    let id = |number: u8| format!("00000000-0000-0000-0000-00000000000{number}");
    let decision = |number: u8, reason: &str| {
        let by = r#"{"kind":"human","id":"ada"}"#;
        let verdict = format!(r#"{{"kind":"abandon","reason":"{reason}"}}"#);
        format!(
            r#"{{"type":"decision","version":1,"id":"{}","run":"{}","at":"2026-11-21T20:49:30Z","decided_by":{by},"verdict":{verdict},"evidence":[],"considered":[]}}"#,
            id(number),
            id(1),
        )
    };
    let alone = check(&decision(2, "no use"));
    assert_eq!((alone.exit, alone.out.contains("is not here")), (Some(0), false), "{}", alone.out);
    // Each is fine by itself.
    let twice = check(&[decision(2, "no use"), decision(3, "too dear")].join("\n"));
    assert_eq!(twice.exit, Some(3), "{}", twice.out);
    assert!(twice.out.contains("run ID was already decided, by ID"), "{}", twice.out);
    assert!(twice.out.contains("which is not here"), "that the run is missing is told: {}", twice.out);
    assert!(twice.err.contains("2 records: 1 ok, 1 with violations"), "that is no violation: {}", twice.err);
    let again = check(&[decision(2, "no use"), decision(2, "no use")].join("\n"));
    assert_eq!(again.exit, Some(0), "the same again: {}", again.out);
    let other = check(&[decision(2, "no use"), decision(2, "too dear")].join("\n"));
    assert_eq!(
        (other.exit, other.out.contains("two objects have this name")),
        (Some(3), true),
        "{}",
        other.out
    );
}

#[test]
fn all_sessions_are_listed_the_newest_first() {
    let (scene, _endpoint) = Scene::with(vec![says("One."), says("Two.")]);
    scene.ok(&["run", "the first thing", "-q"]);
    scene.ok(&["run", "the second thing", "-q"]);
    demo_in(&scene, "demo");
    let said = scene.run(&["decisions", "--all"]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    let at = |words: &str| said.out.find(words).unwrap_or_else(|| panic!("{words}: {}", said.out));
    assert!(at("commit ") < at("the second thing"), "the newest first: {}", said.out);
    assert!(at("the second thing") < at("the first thing"), "the newest first: {}", said.out);
    let listed = lines(&scene, &["decisions", "--all", "--json"]);
    assert_eq!(listed.len(), 3);
    let ids = scene.ids();
    assert_eq!(listed.iter().map(|line| line.session.as_str()).collect::<Vec<_>>(), ids);
}

#[test]
fn a_pipe_gets_no_colours_and_a_terminal_no_escape_sequences_of_a_model() {
    let answers: Vec<Answer> = vec![
        calls("write_file", r#"{"path":"a\u001b[2J.txt","content":"\u001b]0;mine\u0007\n"}"#),
        says("Done.\u{1b}[2J\u{202e}evil\r\u{7}"),
    ];
    let (scene, _endpoint) = Scene::with(answers);
    scene.ok(&["run", "go \u{1b}[31m red", "--yes", "-q"]);
    for arguments in [vec!["decisions"], vec!["decisions", "last", "--diff", "--full"]] {
        let plain = raw_out(&scene, &arguments);
        assert!(!plain.contains(['\u{1b}', '\u{7}', '\u{202e}', '\r']), "{plain:?}");
        let mut coloured = vec!["--color", "always"];
        coloured.extend(&arguments);
        let painted = raw_out(&scene, &coloured);
        assert!(painted.contains("\u{1b}["), "{painted:?}");
        for escape in ["\u{1b}[2J", "\u{1b}]0;", "\u{202e}", "\u{7}"] {
            assert!(!painted.contains(escape), "{painted:?}");
        }
    }
    // For programs it is what was written, and still one line each.
    assert_eq!(lines(&scene, &["decisions", "--json"]).len(), 1);
}
