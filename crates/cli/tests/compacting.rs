//! `trunkline compact`: a summary stands for older messages, is seen in the tree, and can be taken back by going there.

use expect_test::expect;

use crate::fake::{Endpoint, Scene, says};

/// Four prompts and their answers, each long enough to be worth a summary; then what the summarizer says, and one more.
fn long_talk() -> (Scene, Endpoint) {
    let part =
        |name: &str| says(&format!("The part {name}. {}", "It was looked at from every side. ".repeat(40)));
    let (scene, endpoint) = Scene::with(vec![
        part("a"),
        part("b"),
        part("c"),
        part("d"),
        says("Parts a and b were looked at and are sound."),
        says("And so is this."),
    ]);
    scene.ok(&["run", "look at a", "-q", "--system", "/dev/null"]);
    for name in ["b", "c", "d"] {
        scene.ok(&["resume", "--prompt", &format!("look at {name}"), "-q"]);
    }
    (scene, endpoint)
}

#[test]
fn a_summary_stands_for_older_messages_and_they_stay_in_the_tree() {
    let (scene, endpoint) = long_talk();
    let planned = scene.run(&["compact", "--dry-run"]);
    assert_eq!(planned.exit, Some(0), "{}", planned.err);
    expect![[r#"
        n1 to n5 would be covered (5 messages)
        about 443 (100 of them counted) prompt tokens, about 270 without them; the summary comes on top
    "#]]
    .assert_eq(&planned.out);
    assert_eq!(endpoint.requests().len(), 4, "a plan asks nobody");
    let made = scene.run(&["compact"]);
    assert_eq!(made.exit, Some(0), "{}", made.err);
    expect![[r#"
        ⤓ n9 now stands for n1 to n5 (5 messages)
    "#]]
    .assert_eq(&made.out);
    expect![[r#"
        asking m at 127.0.0.1 for a summary
        about 173 prompt tokens leave, about 36 come
          see it  trunkline tree ID
    "#]]
    .assert_eq(&made.err);
    expect![[r#"
        look at a
        ID

        ● n0 system  (no words)
        ┊ … 2 messages covered by n9
        ◆ other: answered — the model answered and no file was changed
        ┊ … 2 messages covered by n9
        ◆ other: answered — the model answered and no file was changed
        ┊ … 1 message covered by n9
        ├ n9 stands for n1–n5  [compaction] This summary stands for 5 earlier messages, n1 to n5; they were…
        ● n6 model   The part c. It was looked at from every side. It was looked at from every side. It was…
        ◆ other: answered — the model answered and no file was changed
        ● n7 you     look at d
        ◉ n8 model   The part d. It was looked at from every side. It was looked at from every side…  ← head
        ◆ other: answered — the model answered and no file was changed

        9 nodes on the trunk, 1 that stands for others
    "#]]
    .assert_eq(&scene.ok(&["tree"]));
    scene.ok(&["resume", "--prompt", "and this?", "-q"]);
    let last = endpoint.requests().pop().expect("it was asked");
    assert!(last.contains("Parts a and b were looked at"), "{last}");
    assert!(!last.contains("The part a."), "{last}");
    let whole = scene.ok(&["export", "last"]);
    assert!(whole.contains("The part a."), "nothing of it is lost");
}
