//! What a command is taken to prove.

use expect_test::{Expect, expect};
use serde_json::json;

use crate::scene::Scene;

fn check(commands: &[&str], said: Expect) {
    let scene = Scene::new();
    let mut kinds = String::new();
    for command in commands {
        // Judged by its words alone, so it need not really run.
        let output = scene.call("run_command", json!({"command": format!("false && {command}")}));
        kinds.push_str(&format!("{}: {command}\n", output.finding.unwrap().kind));
    }
    said.assert_eq(&kinds);
}

#[test]
fn the_words_of_a_command_tell_its_kind() {
    check(
        &[
            "cargo test",
            "cd . && RUST_BACKTRACE=1 cargo nextest run 2>&1",
            "./run-tests.sh",
            "sh tests/run.sh",
            "python3 -m pytest",
            "cargo clippy",
            "cargo check",
            "make -j 4",
            "ls tests",
            "cargo --version",
        ],
        expect![[r#"
            test: cargo test
            test: cd . && RUST_BACKTRACE=1 cargo nextest run 2>&1
            test: ./run-tests.sh
            test: sh tests/run.sh
            test: python3 -m pytest
            lint: cargo clippy
            build: cargo check
            build: make -j 4
            command: ls tests
            command: cargo --version
        "#]],
    );
}

#[test]
fn what_need_not_be_the_exit_code_of_a_test_is_no_test() {
    check(
        &[
            "cargo test | tail -1",
            "cargo test || true",
            "cargo test; echo done",
            "echo 'cargo test'",
            "echo cargo test",
            "cat test.log",
            "sh -c 'cargo test | tail'",
            "! cargo test",
        ],
        expect![[r#"
            command: cargo test | tail -1
            command: cargo test || true
            command: cargo test; echo done
            command: echo 'cargo test'
            command: echo cargo test
            command: cat test.log
            command: sh -c 'cargo test | tail'
            command: ! cargo test
        "#]],
    );
}

#[test]
fn a_finding_has_the_exit_code_and_the_last_line() {
    let scene = Scene::new();
    let finding = |command| {
        scene.call("run_command", json!({"command": command, "timeout_seconds": 1})).finding.unwrap()
    };
    let failed = finding("echo one; echo; echo 'test result: 1 failed'; echo; exit 101");
    assert_eq!(failed.exit_code, Some(101));
    assert!(failed.summary.starts_with("exit code 101 after 0."), "{}", failed.summary);
    assert!(failed.summary.ends_with(" s: test result: 1 failed"), "{}", failed.summary);
    assert_eq!(finding("sleep 9").exit_code, None);
    assert!(finding("true").summary.ends_with(": no output"));
}
