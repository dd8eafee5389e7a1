//! What is not shown is not read: damage shows what is.

use crate::damage::change;
use crate::fake::{Said, Scene};
use crate::made::{DAY, of_tree, session, with_note};
use trunkline_message_tree::Timestamp;
use trunkline_session_store::Note;

/// A session in which one message of the middle is no JSON any more.
fn scene() -> Scene {
    let scene = Scene::new();
    let said: Vec<String> = (1..=60).map(|number| format!("{number} drops.")).collect();
    scene.import(&session(1, "rain", DAY, &said.iter().map(String::as_str).collect::<Vec<_>>()));
    change(&scene, "30 drops.\"", "30 drops.}");
    scene
}

fn is_refused(said: &Said) {
    assert_eq!((said.exit, said.out.as_str()), (Some(3), ""), "{}", said.err);
    assert!(said.err.starts_with("error: record 31 of session ID is damaged: "), "{}", said.err);
}

#[test]
fn a_picture_needs_only_the_words_that_are_in_it() {
    let scene = scene();
    let picture = scene.ok(&["tree"]);
    assert!(picture.contains(" 9 drops.") && picture.contains(" 60 drops."), "{picture}");
    assert!(picture.contains("… 40 nodes more; --all draws them"), "{picture}");
    is_refused(&scene.run(&["tree", "--all"]));
    is_refused(&scene.run(&["tree", "--json"]));
}

#[test]
fn a_node_is_shown_without_the_others() {
    let scene = scene();
    for node in ["n29", "n31"] {
        assert!(scene.ok(&["show", "--node", node]).contains(" drops."));
        assert!(scene.ok(&["show", "--node", node, "--json"]).contains(" drops."));
    }
    is_refused(&scene.run(&["show", "--node", "n30"]));
    is_refused(&scene.run(&["show", "--node", "n30", "--json"]));
    is_refused(&scene.run(&["show"]));
    assert_eq!(scene.run(&["show", "--node", "n61"]).exit, Some(2), "there is none");
}

const BRANCHES: &str = r#"
    n0 system: Speak of the weather.
    n1 user: Look out.
    n2 assistant: I look.
       + call c1 window {"path":"north"}
       + call c2 window {"path":"east"}
       + call c3 door {"path":"yard"}
    n3 result c1: clouds
    n4 result c2: clouds as well
    n5 result c3: a puddle
    n6 < n1 assistant: It is raining.
"#;

#[test]
fn a_trunk_is_shown_without_its_branches_and_a_result_with_its_call() {
    let scene = Scene::new();
    scene.import(&of_tree(1, "rain", DAY, BRANCHES));
    for (node, call) in [("n3", "Window (window)"), ("n5", "Door (door)")] {
        let shown = scene.ok(&["show", "--node", node]);
        assert!(shown.contains(&format!("✓ {call}")), "{shown}");
    }
    let drawn = scene.ok(&["tree"]);
    assert!(drawn.contains("✓ Window north  clouds") && drawn.contains("✓ Door yard  a puddle"), "{drawn}");
    change(&scene, "a puddle\"", "a puddle}");
    assert!(scene.ok(&["show"]).contains("It is raining."));
    assert!(scene.ok(&["show", "--node", "n4"]).contains("✓ Window"));
    assert_eq!(scene.run(&["show", "--all"]).exit, Some(3));
    assert_eq!(scene.run(&["tree"]).exit, Some(3), "it stands in the picture");
}

#[test]
fn a_list_of_sessions_reads_no_words() {
    let scene = scene();
    scene.import(&with_note(2, 2 * DAY, Note::new("weather", "rain", Timestamp(DAY), "{\"mm\":\"much.\"}")));
    change(&scene, "much.\"", "much.}");
    let listed = scene.run(&["sessions"]);
    assert_eq!((listed.exit, listed.err.as_str()), (Some(0), ""));
    assert_eq!(listed.out.matches("  open  ").count(), 2, "{}", listed.out);
}
