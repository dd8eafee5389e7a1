//! Work that looks like a stall and is none, and words of a person after which a watch starts over.

use expect_test::expect;

use crate::play::check;

#[test]
fn p64_reading_file_after_file_is_left_alone_whatever_figures_they_hold() {
    let mut script = "reverts accept\nlooks\ntool own\napproval always\nhush\nmodel: own o {}\n".to_owned();
    for n in 1..=12_u64 {
        script.push_str(&format!("result c{n} = run {n}, {} s, 0 failed\n", n * 7919 % 1000));
        script.push_str(&format!("model: read c{n} {{\"path\":\"run {n}\"}}\n"));
    }
    check(
        &format!("{script}model: done\n> do it\nshow steps"),
        expect![[r#"
        show steps
    "#]],
    );
    // The same of one file, whatever it says, is no work.
    let again = (1..=12).fold(script, |script, n| script.replace(&format!(":\"run {n}\""), ":\"run\""));
    check(
        &format!("{again}model: done\n> do it\nshow steps"),
        expect![[r#"
            show steps
                p0: 4 turns in a row asked the same again without a new state of the files (read); proposed: go back to n5
                p0 accepted by Harness
                p1: 4 turns in a row asked the same again without a new state of the files (read); proposed: go back to n15
                p1 accepted by Harness
        "#]],
    );
}

#[test]
fn what_a_person_moved_counts_although_the_model_merges_in_its_next_turn() {
    check(
        r#"
        reverts told
        may merge
        model: read a {"path":"a"}
        model: revert_to_state b {"category":"failure","step":"n1","summary":"a says nothing"}
        3 times model: read c {"path":"c"}
        model: Done.
        hush
        > look
        go n10
        model: merge_left_branch d {"branches":["n3"]}
        3 times model: read e {"path":"c"}
        model: Done.
        resume
        show steps
        "#,
        expect![[r#"
            show steps
        "#]],
    );
}
