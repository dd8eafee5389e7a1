//! What the proxy breaks: commits, statements, connections.

use expect_test::expect;
use trunkline_session_store::kit::engine::{Profile, Way};

use super::super::runtime;
use super::boxed::{Boxed, chances, with};

#[test]
fn a_commit_that_is_answered_with_40001_was_rolled_back() {
    let mut profile = chances(|chances| chances.commit_conflicts = 1);
    profile.conflict = "it's in conflict";
    let Some(boxed) = Boxed::new(profile) else { return };
    boxed.check(
        "query BEGIN
         query INSERT INTO @t VALUES (1)
         query COMMIT
         query BEGIN; INSERT INTO @t VALUES (2); COMMIT
         parse BEGIN
         bind
         execute
         sync
         parse INSERT INTO @t VALUES (3)
         bind
         execute
         sync
         parse COMMIT
         bind
         execute
         sync
         parse BEGIN
         bind
         execute
         parse INSERT INTO @t VALUES (4)
         bind
         execute
         parse COMMIT
         bind
         execute
         parse SELECT 'never'
         bind
         execute
         sync
         query COMMIT
         query INSERT INTO @t VALUES (5)
         query BEGIN
         query SELECT 1/0
         query COMMIT",
        &expect![[r#"
            done BEGIN
            ready T
            done INSERT 0 1
            ready T
            error 40001 it's in conflict
            ready I
            done BEGIN
            done INSERT 0 1
            error 40001 it's in conflict
            ready I
            parsed
            bound
            done BEGIN
            ready T
            parsed
            bound
            done INSERT 0 1
            ready T
            parsed
            bound
            error 40001 it's in conflict
            ready I
            parsed
            bound
            done BEGIN
            parsed
            bound
            done INSERT 0 1
            parsed
            bound
            error 40001 it's in conflict
            ready I
            warning there is no transaction in progress
            done COMMIT
            ready I
            done INSERT 0 1
            ready I
            done BEGIN
            ready T
            error 22012 division by zero
            ready E
            done ROLLBACK
            ready I
        "#]],
    );
    assert_eq!((boxed.rows().as_str(), boxed.engine.report().commit_conflicts), ("1", 4));
}

#[test]
fn a_statement_that_is_answered_with_40001_was_not_done() {
    let Some(boxed) = Boxed::new(chances(|chances| chances.conflicts = 1)) else { return };
    boxed.check(
        "query INSERT INTO @t VALUES (1)
         query BEGIN
         parse INSERT INTO @t VALUES (1)
         bind
         execute
         sync
         query COMMIT",
        &expect![[r#"
            error 40001 could not serialize access due to concurrent update
            ready I
            done BEGIN
            ready T
            parsed
            bound
            error 40001 could not serialize access due to concurrent update
            ready E
            done ROLLBACK
            ready I
        "#]],
    );
    assert_eq!((boxed.rows().as_str(), boxed.engine.report().conflicts), ("0", 2));
}

#[test]
fn a_cut_after_a_commit_leaves_it_done_and_one_before_it_does_not() {
    let scripts = [
        "query BEGIN\nquery INSERT INTO @t VALUES (1)\nquery COMMIT",
        "parse BEGIN\nbind\nexecute\nparse INSERT INTO @t VALUES (1)\nbind\nexecute\nparse COMMIT\nbind\nexecute\nsync",
        "query INSERT INTO @t VALUES (1)",
        "parse INSERT INTO @t VALUES (1)\nbind\nexecute\nsync",
    ];
    for (kept, profile) in [
        (1, chances(|chances| chances.cuts_after_commit = 1)),
        (0, chances(|chances| chances.cuts_before_commit = 1)),
    ] {
        let Some(boxed) = Boxed::new(profile) else { return };
        for (at, script) in (1..).zip(scripts) {
            let said = boxed.raw().say(&boxed.sql(script));
            assert!(said.ends_with("cut\n") && !said.contains("COMMIT"), "{said}");
            assert_eq!(boxed.rows(), (kept * at).to_string(), "{script}");
        }
        let report = boxed.engine.report();
        assert_eq!((report.cuts_after_commit, report.cuts_before_commit), (4 * kept, 4 - 4 * kept));
        // Reading is not cut.
        assert_eq!(boxed.raw().value("SELECT 1"), "1");
    }
}

#[test]
fn what_is_spared_is_not_cut() {
    let profile = with(|profile| {
        profile.spares = Some("INTO spared");
        profile.chances.cuts_before_commit = 1;
    });
    let Some(boxed) = Boxed::new(profile) else { return };
    let said = boxed
        .raw()
        .say("query BEGIN; CREATE TEMP TABLE spared (); INSERT INTO spared DEFAULT VALUES\nquery COMMIT");
    assert!(said.ends_with("done COMMIT\nready I\n"), "{said}");
    assert_eq!(boxed.raw().say("query BEGIN; SELECT 'INTO'; COMMIT"), "cut\n");
}

#[test]
fn messages_that_are_counted_are_cut_where_they_are_to_be() {
    let Some(boxed) = Boxed::new(Profile::plain()) else { return };
    let script = boxed.sql("parse INSERT INTO @t VALUES (1)\nbind\nexecute\nsync");
    boxed.raw().say(&script);
    assert_eq!((boxed.engine.passed(Way::ToServer), boxed.engine.passed(Way::ToClient)), (4, 4));
    let mut kept = Vec::new();
    for (way, messages) in
        [Way::ToServer, Way::ToClient].iter().flat_map(|way| (0..4).map(move |n| (*way, n)))
    {
        let before: u32 = boxed.rows().parse().unwrap();
        boxed.engine.cut_after(way, messages);
        let said = boxed.raw().say(&script);
        assert!(said.ends_with("cut\n"), "{said}");
        assert!(!boxed.engine.forget_cut());
        // Before Sync the server has not committed; after it everything that was said is done.
        let now: u32 = boxed.rows().parse().unwrap();
        kept.push((said.lines().count() - 1, now - before));
    }
    assert_eq!(kept, [(0, 0), (0, 0), (0, 0), (0, 0), (0, 1), (1, 1), (2, 1), (3, 1)]);
}

#[test]
fn no_client_sees_the_answer_to_anothers_statement() {
    let mut profile = Profile::hardest();
    profile.backends = 3;
    let Some(boxed) = Boxed::new(profile) else { return };
    std::thread::scope(|scope| {
        for client in 0..8 {
            let boxed = &boxed;
            scope.spawn(move || {
                let mut raw = boxed.raw();
                for round in 0..40 {
                    let mark = format!("{client}-{round}");
                    let said = raw.say(&boxed.sql(&format!(
                        "query BEGIN
                         parse SELECT 'a-{mark}'
                         bind
                         execute
                         sync
                         parse INSERT INTO @t VALUES ({client}, '{mark}') RETURNING 'b-' || b
                         bind
                         execute
                         sync
                         query COMMIT
                         query SELECT 'c-{mark}'"
                    )));
                    let rows = said.lines().filter_map(|line| line.strip_prefix("row "));
                    assert!(rows.clone().all(|row| row[2..] == mark), "{mark}: {said}");
                    if said.ends_with("cut\n") {
                        raw = boxed.raw();
                    } else {
                        assert_eq!(said.matches("ready").count(), 5, "{said}");
                        let committed = said.contains("done COMMIT");
                        let [tag] = ["done ROLLBACK", "error 40001"].map(|word| said.contains(word))[..1]
                        else {
                            return;
                        };
                        assert!(committed || tag || said.contains("error 40001"), "{said}");
                    }
                }
            });
        }
    });
    let report = boxed.engine.report();
    assert!(report.swaps > 100 && report.commit_conflicts > 0 && report.cuts_after_commit > 0, "{report}");
    let doubled = "SELECT count(*) AS n FROM (SELECT b FROM @t GROUP BY b HAVING count(*) > 1) AS doubled";
    assert_eq!(runtime().block_on(boxed.schema.count(doubled)), 0);
}
