//! Deleting sessions: what is shown, who has to agree, and what stays.

use expect_test::expect;

use crate::fake::{Scene, begins, calls, says};
use crate::made::{DAY, id, session, with_note};
use trunkline_message_tree::Timestamp;
use trunkline_session_store::Note;

/// Long ago, all of it.
fn scene() -> Scene {
    let scene = Scene::new();
    let sessions: Vec<String> =
        (1..=5).map(|day| session(day, &format!("day {day}"), u64::from(day) * DAY, &["x"])).collect();
    scene.import(&sessions.concat());
    scene
}

/// Returns the titles that are left, the newest first.
fn left(scene: &Scene) -> String {
    let out = scene.ok(&["sessions", "--all"]);
    out.lines().filter_map(|line| line.split_once("day ")).map(|(_, day)| day).collect::<Vec<_>>().join(" ")
}

#[test]
fn without_a_terminal_nothing_is_deleted_unless_it_was_said() {
    let scene = scene();
    let said = scene.run(&["delete", &id(2)]);
    assert_eq!((said.exit, said.out.as_str()), (Some(2), ""));
    assert!(said.err.contains("  day 2\n"), "it is shown first: {}", said.err);
    assert!(
        said.err.ends_with("error: nothing was deleted: say --yes where nobody can be asked\n"),
        "{}",
        said.err
    );
    assert_eq!(left(&scene), "5 4 3 2 1");
    let said = scene.run(&["delete", &id(2), &id(4), &id(2), "--yes"]);
    assert_eq!((said.exit, said.out.as_str()), (Some(0), ""), "{}", said.err);
    assert!(said.err.ends_with("2 sessions deleted, 4 records with 382 B\n"), "{}", said.err);
    assert_eq!(left(&scene), "5 3 1");
    assert_eq!(scene.run(&["delete", &id(2), "--yes"]).exit, Some(2), "there is none");
    assert_eq!(scene.run(&["delete", "--yes"]).exit, Some(2), "one has to be named");
}

#[test]
fn old_sessions_are_pruned_and_what_would_go_is_shown() {
    let scene = scene();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
    let days = now.as_secs() / 86_400;
    let older = format!("{}d", days - 2);
    let said = scene.run(&["prune", "--older-than", &older, "--dry-run"]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    let titles: Vec<&str> = said.out.lines().filter_map(|line| line.rsplit("  ").next()).collect();
    assert_eq!(titles, ["day 1", "day 2"], "the oldest first");
    expect![[r#"
        2 sessions with 382 B would be deleted
    "#]]
    .assert_eq(&said.err);
    assert_eq!(scene.run(&["prune", "--older-than", &older]).exit, Some(2), "nobody was asked");
    assert_eq!(left(&scene), "5 4 3 2 1");
    assert_eq!(scene.run(&["prune", "--older-than", &older, "--yes"]).exit, Some(0));
    assert_eq!(left(&scene), "5 4 3");
    let again = scene.run(&["prune", "--older-than", &older, "--yes"]);
    assert_eq!((again.exit, again.err.as_str()), (Some(0), "nothing has had its time\n"));
}

#[test]
fn the_oldest_go_until_the_rest_is_small_enough_but_not_those_that_are_to_stay() {
    let scene = scene();
    scene.ok(&["tag", "keep", "-s", &id(1)]);
    assert_eq!(scene.run(&["prune", "--max-size", "700B", "--keep-tag", "keep", "--yes"]).exit, Some(0));
    assert_eq!(left(&scene), "5 4 1  #keep");
    scene.run(&["archive", &id(4)]);
    assert_eq!(scene.run(&["prune", "--max-size", "0B", "--archived", "--yes"]).exit, Some(0));
    assert_eq!(left(&scene), "5 1  #keep");
    assert_eq!(scene.run(&["prune", "--yes"]).exit, Some(2), "some limit has to be named");
    for wrong in
        [["--older-than", "90"], ["--older-than", "-1d"], ["--max-size", "two"], ["--max-size", "1.25GB"]]
    {
        assert_eq!(scene.run(&["prune", wrong[0], wrong[1]]).exit, Some(2), "{wrong:?}");
    }
}

#[test]
fn a_session_in_which_something_is_open_is_not_pruned() {
    let edit = r#"{"path":"a.txt","content":"one\n"}"#;
    let (scene, endpoint) = Scene::with(vec![calls("write_file", edit), says("Done."), begins("Hm")]);
    assert_eq!(scene.run(&["run", "write", "-q"]).exit, Some(1));
    assert_eq!(scene.run(&["run", "talk", "-q"]).exit, Some(0));
    let child = scene.command(&["run", "think"]).spawn().expect("it starts");
    scene.until("the run waits for its model", || endpoint.requests().len() == 3);
    scene.import(&with_note(
        9,
        1_000,
        Note::new("decision", "run", Timestamp(1_000), "{}").about("r1", "open"),
    ));
    // Everything else is too much; `talk` alone has nothing open.
    let said = scene.run(&["prune", "--max-size", "0B", "--yes"]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    assert_eq!(said.out.lines().count(), 1, "{}", said.out);
    assert!(said.out.contains("  talk"), "{}", said.out);
    assert_eq!(scene.ids().len(), 3);
    // Who asks for it gets it, but not under the hands of a writer.
    let running = scene.run(&["delete", "last", "--yes"]);
    assert_eq!(running.exit, Some(1), "{}", running.err);
    assert!(running.err.contains("is being written by process "), "{}", running.err);
    assert_eq!(scene.run(&["cancel"]).exit, Some(0));
    child.wait_with_output().expect("it ends");
    let waiting = scene.ids().into_iter().nth(1).expect("the first run");
    let said = scene.run(&["delete", &waiting, "--yes"]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    assert!(said.err.contains("waits for a decision: p1"), "{}", said.err);
}

#[test]
fn what_was_agreed_to_beforehand_is_deleted_though_nobody_can_read_the_list() {
    let scene = scene();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
    let mut command = scene.command(&["prune", "--older-than", "1d", "--yes"]);
    let child = command.stdout(full).spawn().expect("it starts");
    let said = scene.said(child.wait_with_output().expect("it ends"));
    assert_eq!(said.exit, Some(1), "{}", said.err);
    assert!(said.err.starts_with("5 sessions deleted"), "{}", said.err);
    assert!(said.err.contains("was done to its end all the same"), "{}", said.err);
    assert_eq!(left(&scene), "");
}
