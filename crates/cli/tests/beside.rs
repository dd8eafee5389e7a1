//! `decide` beside a process that only writes a word, and ends without reading notes.

use std::process::Child;
use std::time::Duration;

use tokio::runtime::Runtime;
use trunkline_session_store::{Claim, Lease, SessionId, SessionStore, SqliteStore};

use crate::deciding_runs::{at_the_limit, rolled_back};
use crate::fake::{Said, Scene};

/// A process that has a session, and reads no notes.
struct Holder {
    runtime: Runtime,
    store: SqliteStore,
    lease: Lease,
}

impl Holder {
    fn of(scene: &Scene) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("it starts");
        let id = SessionId::parse(&scene.ids()[0]).expect("an id");
        let (store, lease) = runtime.block_on(async {
            let store = SqliteStore::open(scene.store()).await.expect("it opens");
            let lease = store.claim(&id, Claim::IfFree).await.expect("nobody has it");
            (store, lease)
        });
        Holder { runtime, store, lease }
    }

    /// Waits until somebody has left a note. They do not wait long for who holds the session, so this may not take long.
    fn is_asked(&self, scene: &Scene) {
        let letters =
            || self.runtime.block_on(self.store.inbox(self.lease.session())).expect("it can be read");
        scene.until("the note is left", || letters().len() == 1);
    }

    fn end(self) {
        drop(self.lease);
        self.runtime.block_on(self.store.close());
    }
}

fn start(scene: &Scene, arguments: &[&str]) -> Child {
    scene.command(arguments).spawn().expect("it starts")
}

fn ended(scene: &Scene, child: Child) -> Said {
    scene.said(child.wait_with_output().expect("it ends"))
}

#[test]
fn a_close_that_a_process_did_not_read_before_it_ended_is_carried_out_all_the_same() {
    for word in ["checkpoint", "abandon", "retry"] {
        let (scene, _endpoint) = at_the_limit(Vec::new());
        let id = scene.ids()[0].clone();
        let holder = Holder::of(&scene);
        let child = start(&scene, &["decide", word, "half of it"]);
        holder.is_asked(&scene);
        holder.end();
        let said = ended(&scene, child);
        assert_eq!(said.exit, Some(0), "{}", said.err);
        assert!(said.err.contains("left a note"), "{}", said.err);
        assert!(said.out.contains(&format!("{word}: half of it")), "{}{}", said.out, said.err);
        assert_eq!(scene.letters(&id), 0);
    }
}

#[test]
fn a_close_that_nobody_reads_in_time_says_who_will() {
    let (scene, _endpoint) = at_the_limit(Vec::new());
    let holder = Holder::of(&scene);
    let said = scene.run(&["decide", "abandon", "half of it"]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    assert!(
        said.err.contains("not read yet; if that one ends without it, `trunkline resume ID` reads it first"),
        "{}",
        said.err
    );
    holder.end();
    let said = scene.run(&["resume", "-q"]);
    assert_eq!(said.exit, Some(1), "{}{}", said.out, said.err);
    assert!(scene.ok(&["sessions"]).contains("abandoned"));
}

#[test]
fn a_rollback_waits_for_who_only_writes_a_word_and_is_no_note() {
    let (scene, _endpoint) = rolled_back();
    let holder = Holder::of(&scene);
    let child = start(&scene, &["decide", "rollback", "last", "--yes"]);
    // Far less than it waits, and usually enough to come upon the holder.
    std::thread::sleep(Duration::from_millis(300));
    holder.end();
    let said = ended(&scene, child);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    assert!(said.out.contains("rollback"), "{}", said.out);
    let holder = Holder::of(&scene);
    let said = scene.run(&["decide", "rollback", "last", "--yes"]);
    assert_eq!(said.exit, Some(1), "{}", said.err);
    assert!(
        said.err.contains("nothing was changed, and no note was left: say it again when that one has ended"),
        "{}",
        said.err
    );
    assert_eq!(scene.letters(&scene.ids()[0]), 0);
    holder.end();
}

#[test]
fn words_that_come_with_terms_of_a_run_are_no_note_since_those_would_be_ignored() {
    let (mut scene, _endpoint) = at_the_limit(Vec::new());
    let id = scene.ids()[0].clone();
    let settings = scene.path("settings.json");
    std::fs::write(&settings, r#"{"policy":"always","max_turns":3}"#).expect("it can be written");
    scene.set("TRUNKLINE_SETTINGS", settings.to_str().expect("a plain path"));
    let holder = Holder::of(&scene);
    for terms in [
        &["--plan"][..],
        &["--yes", "--commit"],
        &["--tool-choice", "never"],
        &["--policy", "person"],
        &["--max-turns", "4"],
        &["--model", "m"],
        &["--no-bind"],
        &["--json"],
    ] {
        let said = scene.run(&[&["resume", "-q", "-p", "go on"], terms].concat());
        assert_eq!((said.exit, scene.letters(&id)), (Some(1), 0), "{terms:?} {}", said.err);
        let flags: Vec<&str> = terms.iter().copied().filter(|term| term.starts_with("--")).collect();
        let told = format!("whose run goes by its own terms: {} would be ignored", flags.join(", "));
        assert!(said.err.contains(&told) && said.err.contains("resume ID -p"), "{}", said.err);
    }
    // What stands in the settings says nothing of these words.
    let work = scene.work();
    let said = scene.run(&["resume", "-q", "-C", work.to_str().expect("a plain path"), "-p", "go on"]);
    assert_eq!((said.exit, scene.letters(&id)), (Some(0), 1), "{}", said.err);
    holder.end();
}
