//! What `decisions --git` and `decisions --commit` say of commits that people have moved, dropped, or never bound.

use std::path::Path;

use serde_json::Value;
use trunkline_runtime::message_tree::Timestamp;
use trunkline_session_store::{Batch, Note, Position, Record, SessionId, SessionStore, SqliteStore};

use crate::binding::{RUN, bound, git, listed, scene, scene_at_its_limit};
use crate::fake::{Answer, Endpoint, Scene, calls, says};

/// What a command says as it is, ids included.
fn raw(scene: &Scene, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = scene.command(arguments).output().expect("it runs");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn words_like_ids(text: &str) -> Vec<&str> {
    let plain = |sign: char| !(sign.is_ascii_alphanumeric() || sign == '-' || sign == '…');
    let is_id = |word: &&str| word.len() >= 20 && word.starts_with("01") && word.contains('-');
    text.split(plain).filter(is_id).collect()
}

/// A run that is bound to be bound, and was ended without.
fn to_be_bound() -> (Scene, Endpoint) {
    let (scene, endpoint) = scene_at_its_limit();
    scene.ok(&["decide", "abandon", "enough"]);
    (scene, endpoint)
}

#[test]
fn every_id_that_is_told_can_be_typed() {
    let (scene, _endpoint) = to_be_bound();
    let (exit, out, err) = raw(&scene, &["decisions", "--git"]);
    assert_eq!(exit, Some(3), "{err}");
    assert!(err.contains("is not bound yet"), "{err}");
    // What stands in the way of its ref is named too.
    block(&scene.work());
    let (_, more, told) = raw(&scene, &["resume", "--bind"]);
    let (all, mut ids) = (format!("{out}{err}{more}{told}"), 0);
    for id in words_like_ids(&all) {
        assert!(!id.contains('…'), "{id} in {all}");
        assert_eq!(raw(&scene, &["decisions", id]).0, Some(0), "{id} in {all}");
        ids += 1;
    }
    assert!(ids >= 2, "{all}");
}

/// Lets no ref be made below refs/trunkline.
fn block(work: &Path) {
    std::fs::write(work.join(".git/refs/trunkline"), "").expect("written");
}

#[test]
fn what_has_no_ref_is_a_line_for_programs_and_a_command_for_people() {
    let (scene, _endpoint) = to_be_bound();
    std::fs::create_dir(scene.work().join("sub")).expect("made");
    let (exit, out, _) = raw(&scene, &["decisions", "--git", "--json"]);
    let line: Value = serde_json::from_str(&out).expect("one line");
    assert_eq!(
        (exit, &line["reference"], line["missing"].as_str()),
        (Some(3), &Value::Null, Some("to_bind"))
    );
    assert_eq!(line["session"].as_str(), scene.ids().first().map(String::as_str));
    // The session works in its own folder, and not where somebody has looked.
    let (_, _, err) = raw(&scene, &["decisions", "--git", "-C", "sub"]);
    let next =
        err.lines().find(|line| line.contains("bind:") && line.contains("resume")).expect("it is named");
    assert!(next.ends_with(" --bind") && !next.contains("-C"), "{err}");
    scene.ok(&["resume", "--bind", "-q"]);
    for reference in git(&scene, "for-each-ref --format=%(refname) refs/trunkline").lines() {
        git(&scene, &format!("update-ref --no-deref -d {reference}"));
    }
    let gone = listed(&scene, &["decisions", "--git", "--json"]).remove(0);
    assert_eq!(gone["missing"].as_str(), Some("gone"));
}

/// The key of a note may be anything, and an import brings notes.
#[test]
fn what_an_import_calls_a_run_becomes_no_part_of_a_command() {
    let (scene, _endpoint) = to_be_bound();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("it starts");
    runtime.block_on(async {
        let store = SqliteStore::open(scene.store()).await.expect("it opens");
        let id = SessionId::parse(&scene.ids()[0]).expect("an id");
        let lease = store.lease(&id).await.expect("nobody has it");
        let info = store.info(&id).await.expect("it is there");
        let at = Timestamp(1);
        let note = |state: &str| {
            Record::Note(Note::new("decision", "bound", at, "{}").about("$(touch pwned)", state))
        };
        let batch =
            Batch::new(Position { seq: info.records, head: info.head }, vec![note("bound"), note("to_bind")]);
        store.append(&lease, batch).await.expect("it is kept");
        drop(lease);
        store.close().await;
    });
    for arguments in [["decisions", "--git"].as_slice(), &["decisions", "--git", "--json"]] {
        let (_, out, err) = raw(&scene, arguments);
        assert!(!out.contains("touch") && !err.contains("touch"), "{out}{err}");
    }
}

#[test]
fn that_something_is_not_bound_is_told_once() {
    for arguments in [["resume", "--bind", "--yes"].as_slice(), &["resume", "--bind", "--yes", "-p", "go on"]]
    {
        let (scene, _endpoint) = to_be_bound();
        block(&scene.work());
        let (_, _, told) = raw(&scene, arguments);
        let lines: Vec<&str> = told.lines().filter(|line| line.contains("not bound:")).collect();
        let mut distinct = lines.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert!(!lines.is_empty(), "{arguments:?}: {told}");
        assert_eq!(distinct.len(), lines.len(), "{arguments:?}: {told}");
    }
}

#[test]
fn where_nothing_is_bound_the_next_command_is_named() {
    let (scene, _endpoint) = scene("init -q -b main");
    let said = scene.run(&["decisions", "--git"]);
    assert_eq!((said.exit, said.out.as_str()), (Some(0), ""));
    assert!(said.err.contains("no decision is bound to this repository\n"), "{}", said.err);
    assert!(said.err.contains("trunkline run \"…\" --commit --bind"), "{}", said.err);
}

#[test]
fn a_commit_is_said_to_be_where_it_is_now() {
    let (scene, _endpoint) = bound();
    let told = || scene.ok(&["decisions", "--git"]);
    let held = || {
        let line = listed(&scene, &["decisions", "--git", "--json"]).remove(0);
        (line["held"].as_str().map(str::to_owned), line["held_by"].as_str().map(str::to_owned))
    };
    let on = |branch: &str| (Some("branch".to_owned()), Some(format!("refs/heads/{branch}")));
    assert!(told().contains(" on main\n"), "{}", told());
    assert_eq!(held(), on("main"));
    git(&scene, "branch side");
    git(&scene, "reset -q --hard HEAD~1");
    assert!(told().contains(" on side, no longer on main\n"), "{}", told());
    assert_eq!(held(), on("side"));
    git(&scene, "branch -q -D side");
    assert!(told().contains(", made on main: no branch holds it any more\n"), "{}", told());
    assert_eq!(held(), (Some("none".to_owned()), None));
    git(&scene, "reflog expire --expire=now --all");
    git(&scene, "gc -q --prune=now");
    assert!(told().contains(", made on main: it is gone from this repository\n"), "{}", told());
    assert_eq!(held(), (Some("gone".to_owned()), None));
}

#[test]
fn a_commit_that_was_made_without_binding_is_found_in_the_store() {
    let (scene, _endpoint) = scene("init -q -b main");
    scene.ok(&["run", "write a.txt", "--yes", "--commit", "-q"]);
    let by = |revision: &str| {
        let found = listed(&scene, &["decisions", "--commit", revision, "--json"]);
        let [line] = found.as_slice() else { panic!("{revision}: {found:?}") };
        assert_eq!((&line["reference"], &line["store"]), (&Value::Null, &"same".into()), "{line}");
        assert_eq!(line["decision"]["verdict"]["kind"], "commit", "{line}");
        line["found_by"].as_str().expect("a word").to_owned()
    };
    assert_eq!(by("HEAD"), "commit");
    let said = scene.run(&["decisions", "--commit", "HEAD"]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    for part in ["found by its id", "only in this store, not bound here", "trunkline decisions ID -s ID"] {
        assert!(said.out.contains(part), "{part}: {}", said.out);
    }
    // Another commit that carries the message on: the line in it is what is left.
    git(&scene, "commit -q --amend --no-edit --date=2020-01-01T00:00:00");
    assert_eq!(by("HEAD"), "trailer");
    let said = scene.run(&["decisions", "--commit", "HEAD"]);
    assert!(said.out.contains("found by the line in its message"), "{}", said.out);
    assert!(said.out.contains("it was about commit "), "{}", said.out);
    // Nor do other lines hide it, however many and whatever is in them.
    let message = git(&scene, "log -1 --format=%B");
    let id = |number: u32| {
        format!("Trunkline-Run: 00000000-0000-7000-8000-{number:012}\nTrunkline-Run: x{number}\n")
    };
    let many: String = (0..20_000).map(id).collect();
    std::fs::write(scene.path("many"), format!("{}\n{many}", message.trim_end())).expect("written");
    let kept = git(&scene, "rev-parse HEAD");
    git(&scene, &format!("commit -q --amend --cleanup=verbatim -F {}", scene.path("many").display()));
    assert_eq!(by("HEAD"), "trailer");
    git(&scene, &format!("reset -q --soft {}", kept.trim()));
    // In another store the same line leads nowhere, and that is said.
    let other = scene.path("other.db");
    let other = other.to_str().expect("a plain path");
    let said = scene.run(&["--store", other, "decisions", "--commit", "HEAD"]);
    assert_eq!(said.exit, Some(1), "{}", said.err);
    assert!(
        said.err.contains("its message names ID, which is neither bound here nor in this store"),
        "{}",
        said.err
    );
    git(&scene, "commit -q --amend -m mine");
    let said = scene.run(&["decisions", "--commit", "HEAD"]);
    assert_eq!(said.exit, Some(1), "{}", said.err);
    assert!(said.err.contains("decisions --git` lists"), "{}", said.err);
}

#[test]
fn what_is_bound_is_not_found_twice() {
    let (scene, _endpoint) = bound();
    let found = listed(&scene, &["decisions", "--commit", "HEAD", "--json"]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0]["reference"].is_string(), "{found:?}");
}

#[test]
fn a_trailer_without_a_commit_or_a_ref_is_refused_and_says_what_is_missing() {
    let (scene, endpoint) = scene("init -q -b main");
    let cases: [(&[&str], &str); 4] = [
        (&["--trailer"], "--commit and --bind"),
        (&["--trailer", "--bind"], "--commit"),
        (&["--trailer", "--commit"], "--bind"),
        (&["--trailer", "--commit", "--bind", "--no-bind"], "--bind"),
    ];
    for (terms, missing) in cases {
        let said = scene.run(&[["run", "x"].as_slice(), terms].concat());
        assert_eq!(said.exit, Some(2), "{terms:?}: {}", said.err);
        assert!(said.err.contains(&format!("so it needs {missing} too")), "{terms:?}: {}", said.err);
        assert_eq!(said.err.matches("error:").count(), 1, "{}", said.err);
    }
    assert!(endpoint.requests().is_empty() && scene.run(&["sessions"]).out.is_empty());
    let help = scene.ok(&["run", "--help"]);
    assert!(help.contains("needs --commit and --bind"), "{help}");
    assert!(help.contains("with or without a commit"), "{help}");
}

#[test]
fn what_is_bound_without_leave_to_commit_has_no_commit() {
    let (scene, _endpoint) = scene("init -q -b main");
    let without: Vec<&str> = RUN.iter().copied().filter(|word| *word != "--commit").collect();
    scene.ok(&without);
    let [line] = &listed(&scene, &["decisions", "--git", "--json"])[..] else { panic!("one decision") };
    assert_eq!((&line["commit"], &line["held"]), (&Value::Null, &Value::Null), "{line}");
    assert_eq!(git(&scene, "rev-list --count HEAD").trim(), "1");
    assert!(!scene.ok(&["decisions", "--git"]).contains("  commit "), "nothing is said of one");
}

#[test]
fn a_hostile_message_is_no_claim_that_hides_the_others() {
    let answers: Vec<Answer> =
        vec![calls("write_file", r#"{"path":"a.txt","content":"new\n"}"#), says("Done.")];
    let (scene, _endpoint) = Scene::with(answers);
    crate::binding::make(&scene.work(), "init -q -b main");
    scene.ok(&["run", "write a.txt", "--yes", "--commit", "-q"]);
    let message = scene.path("message");
    let names: String = (0..50).map(|n| format!("Trunkline-Run: \u{1b}[2J{n}\u{202e}\n")).collect();
    std::fs::write(&message, format!("mine\n\nTrunkline-Run:\nTrunkline-Run: \"\n{names}")).expect("written");
    git(&scene, &format!("commit -q --amend -F {}", message.display()));
    let (exit, out, err) = raw(&scene, &["decisions", "--commit", "HEAD"]);
    assert_eq!((exit, out.as_str()), (Some(1), ""), "{err}");
    assert!(!err.contains(['\u{1b}', '\u{202e}']) && err.lines().count() < 20, "{err}");
}
