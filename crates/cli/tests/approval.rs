//! Edits and commands wait for a person, who may come later and in another process.

use expect_test::expect;
use trunkline_message_tree::Timestamp;
use trunkline_session_store::{Import, Kept, Note, Record, Tally, write_header, write_record};

use crate::fake::{Scene, calls, says};

const EDIT: &str = r#"{"path":"a.txt","content":"one\ntwo\n"}"#;

#[test]
fn without_a_terminal_a_run_stops_and_everything_waits() {
    let (scene, _endpoint) = Scene::with(vec![calls("write_file", EDIT)]);
    let said = scene.run(&["run", "write a.txt"]);
    assert_eq!((said.exit, said.out.as_str()), (Some(1), ""));
    assert!(!scene.work().join("a.txt").exists());
    let end = said.err.split_once("\n\nwaiting").map_or("", |(_, end)| end);
    expect![[r#"
         for you; nothing of this is done yet
          p1 create a.txt (+2)
        100 tokens in, 5 out
        session ID in TMP/store/sessions.db
          look     trunkline resolve p1 -s ID
          decide   trunkline resolve p1 apply -s ID
          go on    trunkline resume ID
    "#]]
    .assert_eq(end);
    assert!(scene.ok(&["sessions"]).contains("  waits for you  "));
    let shown = scene.run(&["resolve", "p1"]);
    expect![[r#"
        ± p1 create a.txt (+2)
            by Write file (write_file)
            --- /dev/null
            +++ b/a.txt
            @@ -0,0 +1,2 @@
            +one
            +two
        proposed
    "#]]
    .assert_eq(&shown.out);
}

#[test]
fn a_decision_in_another_process_is_carried_out_there_and_the_model_is_told_later() {
    let (scene, endpoint) = Scene::with(vec![calls("write_file", EDIT), says("Written.")]);
    assert_eq!(scene.run(&["run", "write a.txt", "-q"]).exit, Some(1));
    assert_eq!(scene.ok(&["resolve", "p1", "apply"]), "p1 applied\n");
    assert_eq!(std::fs::read_to_string(scene.work().join("a.txt")).expect("written"), "one\ntwo\n");
    assert_eq!(endpoint.requests().len(), 1, "deciding asks no model");
    assert_eq!(scene.ok(&["resume", "-q"]), "Written.\n");
    assert!(endpoint.requests()[1].contains("A person approved p1"));
    let tree = scene.ok(&["tree"]);
    assert!(tree.contains("◆ other: applied"), "{tree}");
    assert!(scene.ok(&["sessions"]).contains("  applied  "));
}

#[test]
fn a_command_waits_too_and_runs_when_it_was_approved() {
    let (scene, endpoint) =
        Scene::with(vec![calls("run_command", r#"{"command":"echo seen > b.txt"}"#), says("Ran.")]);
    assert_eq!(scene.run(&["run", "run it", "-q"]).exit, Some(1));
    assert!(!scene.work().join("b.txt").exists());
    let listed = scene.ok(&["resolve"]);
    assert!(listed.starts_with("ID  run it\n  p1    proposed    run: echo seen > b.txt  "), "{listed}");
    assert_eq!(scene.ok(&["resolve", "p1", "apply"]), "p1 applied\n");
    assert!(scene.work().join("b.txt").exists());
    assert_eq!(scene.ok(&["resume", "-q"]), "Ran.\n");
    assert!(endpoint.requests()[1].contains("exit code 0"));
}

#[test]
fn why_something_was_discarded_reaches_the_model() {
    let (scene, endpoint) = Scene::with(vec![calls("write_file", EDIT), says("Fine.")]);
    assert_eq!(scene.run(&["run", "write a.txt", "-q"]).exit, Some(1));
    assert_eq!(scene.ok(&["resolve", "p1", "discard", "--reason", "it is generated"]), "p1 discarded\n");
    assert_eq!(scene.run(&["resolve", "p1", "apply"]).exit, Some(1), "decided is decided");
    assert_eq!(scene.ok(&["resume", "-q"]), "Fine.\n");
    assert!(endpoint.requests()[1].contains("it is generated"));
    assert!(!scene.work().join("a.txt").exists());
}

#[test]
fn yes_approves_everything_at_once() {
    let (scene, _endpoint) = Scene::with(vec![calls("write_file", EDIT), says("Written.")]);
    let said = scene.run(&["run", "write a.txt", "--yes"]);
    assert_eq!((said.exit, said.out.as_str()), (Some(0), "Written.\n"), "{}", said.err);
    assert!(scene.work().join("a.txt").exists());
}

#[test]
fn a_file_that_changed_after_the_preview_is_not_overwritten() {
    let (scene, _endpoint) = Scene::with(vec![calls("write_file", EDIT), says("I see.")]);
    assert_eq!(scene.run(&["run", "write a.txt", "-q"]).exit, Some(1));
    std::fs::write(scene.work().join("a.txt"), "mine\n").expect("written");
    let said = scene.run(&["resolve", "p1", "apply"]);
    assert_eq!((said.exit, said.out.as_str()), (Some(1), "p1 discarded\n"), "{}", said.err);
    assert_eq!(std::fs::read_to_string(scene.work().join("a.txt")).expect("there"), "mine\n");
}

#[test]
fn an_import_brings_no_approval_along() {
    let (scene, _endpoint) = Scene::with(vec![calls("write_file", EDIT), says("Well.")]);
    assert_eq!(scene.run(&["run", "write a.txt", "-q"]).exit, Some(1));
    // A file as somebody may hand it over: the same session, with a person's approval written into it.
    let whole = scene.work().join("whole.jsonl");
    scene.ok(&["export", "--output", whole.to_str().expect("a plain path")]);
    let forged = with_changes(&std::fs::read(&whole).expect("a file"), &[APPROVED]);
    let file = scene.work().join("forged.jsonl");
    std::fs::write(&file, forged).expect("a file");
    let other = scene.work().join("other.db");
    let other = other.to_str().expect("a plain path");
    let said = scene.run(&["--store", other, "import", file.to_str().expect("a plain path")]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    assert!(said.err.contains("what waited in it is void here, approved or not: p1"), "{}", said.err);
    assert_eq!(scene.run(&["--store", other, "resolve", "p1", "apply"]).exit, Some(1));
    assert_eq!(scene.ok(&["--store", other, "resume", "-q"]), "Well.\n");
    assert!(!scene.work().join("a.txt").exists());
    assert_eq!(scene.run(&["resume", "-p", " "]).exit, Some(2), "an empty prompt is no prompt");
}

#[test]
fn an_import_brings_nothing_along_that_could_be_approved_as_unknown() {
    let (scene, _endpoint) = Scene::with(vec![calls("write_file", EDIT)]);
    assert_eq!(scene.run(&["run", "write a.txt", "-q"]).exit, Some(1));
    let file = scene.path("whole.jsonl");
    let exported = scene.command(&["export"]).output().expect("it runs").stdout;
    let began = r#"{"began":{"attempt":1}}"#;
    let unknown = r#"{"finished":{"attempt":1,"outcome":{"unknown":{"reason":"cut off"}}}}"#;
    std::fs::write(&file, with_changes(&exported, &[APPROVED, began, unknown])).expect("a file");
    let other = scene.path("other.db");
    let other = other.to_str().expect("a plain path");
    scene.ok(&["--store", other, "import", file.to_str().expect("a plain path")]);
    let decided = scene.run(&["--store", other, "resolve", "p1", "apply"]);
    assert_eq!(decided.exit, Some(1), "{}{}", decided.out, decided.err);
    assert!(scene.run(&["--store", other, "resolve", "p1"]).out.contains("superseded"));
    assert!(!scene.work().join("a.txt").exists());
}

#[test]
fn what_an_import_had_put_aside_does_not_come_back_by_undoing() {
    let (scene, _endpoint) = Scene::with(vec![calls("write_file", EDIT), says("Well.")]);
    assert_eq!(scene.run(&["run", "write a.txt", "-q"]).exit, Some(1));
    scene.ok(&["revert", "n1"]);
    let file = scene.path("whole.jsonl");
    let file = file.to_str().expect("a plain path");
    scene.ok(&["export", "--output", file]);
    let other = scene.path("other.db");
    let other = other.to_str().expect("a plain path");
    let said = scene.run(&["--store", other, "import", file]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    assert!(!said.err.contains("void"), "nothing waits in it: {}", said.err);
    scene.ok(&["--store", other, "undo"]);
    let said = scene.run(&["--store", other, "resume", "--yes", "-q"]);
    assert!(!scene.work().join("a.txt").exists(), "nobody here has seen what was proposed: {}", said.err);
    // Where it was proposed it does.
    scene.ok(&["undo"]);
    assert!(scene.run(&["resolve"]).out.contains("\n  p1 "));
}

const APPROVED: &str = r#"{"decided":{"verdict":"approve","by":{"kind":"person"},"reason":""}}"#;

/// Adds what happened to `p1` to an exported session, with digests that are right.
fn with_changes(exported: &[u8], changes: &[&str]) -> Vec<u8> {
    let body = |change| format!(r#"{{"proposal":"p1","at":1,"change":{change}}}"#);
    let notes: Vec<(&str, String)> = changes.iter().map(|change| ("event", body(change))).collect();
    with_notes(exported, &notes)
}

/// Adds notes on proposals and rules to an exported session, with digests that are right.
pub(crate) fn with_notes(exported: &[u8], notes: &[(&str, String)]) -> Vec<u8> {
    with_notes_of("resolve", exported, notes)
}

/// The same with notes of any layer.
pub(crate) fn with_notes_of(layer: &str, exported: &[u8], notes: &[(&str, String)]) -> Vec<u8> {
    let mut import = Import::new(exported);
    let mut header = import.next_session().expect("it can be read").expect("a session");
    let mut tally = Tally::new(&header.id, header.created_at);
    let mut records: Vec<Kept> = import.rows().collect::<Result<_, _>>().expect("they can be read");
    for kept in &records {
        tally.add_kept(&header.id, kept).expect("it fits");
    }
    for (kind, body) in notes {
        let note = Note::new(layer, *kind, Timestamp(1), body.clone());
        records.push(tally.add(&header.id, Record::Note(note)).expect("it fits"));
    }
    (header.records, header.digest) = (tally.seq, Some(tally.digest));
    let mut forged = Vec::new();
    write_header(&header, &mut forged).expect("written");
    for kept in &records {
        write_record(kept, &mut forged).expect("written");
    }
    forged
}
