//! The list of sessions: finding some, and what they are called.

use expect_test::expect;
use serde_json::Value;

use crate::fake::Scene;
use crate::made::{id, session};

/// Three sessions of long ago.
fn scene() -> Scene {
    let scene = Scene::new();
    let sessions = [
        session(1, "umbrella", 1_000, &["Will it rain?", "Take the blue one, in any case."]),
        session(2, "a crash", 2_000, &["Fix the\nNULL pointer", "It rains exceptions."]),
        session(3, "", 3_000, &["nothing"]),
    ];
    scene.import(&sessions.concat());
    scene
}

/// Returns the table without the column that grows older.
fn table(scene: &Scene, arguments: &[&str]) -> String {
    let out = scene.ok(arguments);
    let lines = out.lines().map(|line| match line.split_once(" days ago") {
        Some((before, after)) => {
            format!("{} …{after}\n", before.trim_end_matches(|c: char| c.is_ascii_digit()))
        }
        None => format!("{line}\n"),
    });
    lines.collect()
}

#[test]
fn the_list_shows_what_a_session_is() {
    expect![[r#"
        ID   …     2 nodes     197 B  open  (no title)
        ID   …     3 nodes     314 B  open  a crash
        ID   …     3 nodes     317 B  open  umbrella
    "#]]
    .assert_eq(&table(&scene(), &["sessions"]));
}

#[test]
fn sessions_are_found_by_what_was_said_and_show_where() {
    let scene = scene();
    expect![[r#"
        ID   …     3 nodes     314 B  open  a crash
            n2    It rains exceptions.
        ID   …     3 nodes     317 B  open  umbrella
            n1    Will it rain?
    "#]]
    .assert_eq(&table(&scene, &["sessions", "RAIN"]));
    expect![[r#"
        ID   …     3 nodes     317 B  open  umbrella
            n2    Take the blue one, in any case.
    "#]]
    .assert_eq(&table(&scene, &["sessions", "umbrella", "blue one"]));
    let found: Value = serde_json::from_str(&scene.ok(&["sessions", "pointer", "--json"])).expect("JSON");
    let hit = &found["sessions"][0]["hit"];
    assert_eq!((&hit["node"], &hit["seq"], &hit["found"]), (&"n1".into(), &2.into(), &"pointer".into()));
    assert_eq!(hit["before"], "Fix the NULL ");
    let none = scene.run(&["sessions", "snow"]);
    assert_eq!((none.exit, none.out.as_str()), (Some(0), ""));
    expect![[r#"
        none of 3 sessions is meant by that
    "#]]
    .assert_eq(&none.err);
}

#[test]
fn what_many_tag_at_once_is_all_there() {
    let scene = scene();
    let tags: Vec<String> = (10..18).map(|number| format!("tag {number}")).collect();
    let begun: Vec<_> = tags
        .iter()
        .map(|tag| scene.command(&["tag", tag, "-s", &id(2)]).spawn().expect("it starts"))
        .collect();
    for tagging in begun {
        let said = scene.said(tagging.wait_with_output().expect("it ends"));
        assert_eq!(said.exit, Some(0), "{}", said.err);
    }
    assert_eq!(scene.ok(&["tag", "-s", &id(2)]).lines().collect::<Vec<_>>(), tags);
}

#[test]
fn tags_are_put_on_and_taken_off_and_narrow_the_list() {
    let scene = scene();
    assert_eq!(scene.ok(&["tag", "work", "urgent", "-s", &id(2)]), "urgent\nwork\n");
    assert_eq!(scene.ok(&["tag", "work", "-s", &id(1)]), "work\n");
    expect![[r#"
        ID   …     3 nodes     314 B  open  a crash  #urgent  #work
    "#]]
    .assert_eq(&table(&scene, &["sessions", "--tag", "work", "--tag", "urgent"]));
    assert_eq!(scene.ok(&["tag", "--remove", "work", "-s", &id(2)]), "urgent\n");
    let said = scene.run(&["tag", "--remove", "work", "-s", &id(2)]);
    assert_eq!(said.exit, Some(2));
    expect![[r#"
        error: it has no tag "work"; it has urgent
    "#]]
    .assert_eq(&said.err);
    assert_eq!(scene.ok(&["tag", "-s", &id(2)]), "urgent\n");
    assert_eq!(scene.run(&["tag", " ", "-s", &id(2)]).exit, Some(2));
}

#[test]
fn archived_sessions_are_listed_on_request_and_never_meant_by_last() {
    let scene = scene();
    let said = scene.run(&["archive", &id(3), &id(2)]);
    assert_eq!((said.exit, said.out.as_str()), (Some(0), ""));
    expect![[r#"
        2 sessions archived: left out by `sessions`, and never meant by `last`
          take it back trunkline unarchive ID ID
    "#]]
    .assert_eq(&said.err);
    expect![[r#"
        ID   …     3 nodes     317 B  open  umbrella
    "#]]
    .assert_eq(&table(&scene, &["sessions"]));
    expect![[r#"
        ID   …     2 nodes     197 B  open  (no title)  archived
        ID   …     3 nodes     314 B  open  a crash  archived
    "#]]
    .assert_eq(&table(&scene, &["sessions", "--archived"]));
    assert!(scene.ok(&["show"]).contains("Will it rain?"), "`last` is the newest that is listed");
    assert!(scene.run(&["sessions", "pointer"]).err.contains("--all looks at 2 archived ones too"));
    assert!(scene.ok(&["sessions", "--all", "pointer"]).contains("a crash"));
    assert_eq!(scene.run(&["archive", "last"]).exit, Some(0));
    assert_eq!(scene.run(&["tree"]).exit, Some(2), "no session is listed");
    assert_eq!(scene.run(&["unarchive", &id(3)]).exit, Some(0));
    assert!(scene.ok(&["show"]).contains("nothing"));
}

#[test]
fn a_session_can_be_called_by_another_title() {
    let scene = scene();
    let said = scene.run(&["title", "the quiet one"]);
    assert_eq!((said.exit, said.err.as_str()), (Some(0), "session ID is called \"the quiet one\" now\n"));
    assert!(scene.ok(&["sessions", "--titles", "QUIET"]).contains("the quiet one"));
}

#[test]
fn a_listing_reads_no_session_that_says_by_its_notes_where_it_stands() {
    let (scene, _endpoint) = Scene::with(vec![crate::fake::says("Hello.")]);
    assert_eq!(scene.run(&["run", "greet", "-q"]).exit, Some(0));
    assert!(scene.ok(&["sessions"]).contains("  answered  greet"));
}
