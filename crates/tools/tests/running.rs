//! `run_command`.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use expect_test::{Expect, expect};
use serde_json::{Value, json};
use trunkline_agent_traits::Cancel;
use trunkline_tools::CommandPolicy;

use crate::scene::{Scene, block_on, context, object};

/// Long enough for a busy machine, and half of what the commands here would take if nobody ended them.
const WELL_BEFORE: Duration = Duration::from_secs(30);

fn check(arguments: Value, said: Expect) {
    let scene = Scene::new();
    fs::create_dir(scene.root().join("sub")).unwrap();
    said.assert_eq(&without_seconds(&scene.said("run_command", arguments)));
}

/// Replaces the number in "after 1.2 s".
fn without_seconds(said: &str) -> String {
    let Some((before, after)) = said.split_once("after ") else { return said.to_owned() };
    let rest = after.trim_start_matches(|character: char| character.is_ascii_digit() || character == '.');
    format!("{before}after N{rest}")
}

#[test]
fn both_outputs_come_in_the_order_in_which_they_were_written() {
    check(
        json!({"command": "echo one; echo two >&2; echo three"}),
        expect![[r#"
        exit code 0 after N s
        one
        two
        three
    "#]],
    );
}

#[test]
fn an_exit_code_other_than_zero_is_a_failure() {
    check(
        json!({"command": "echo no; exit 3"}),
        expect![[r#"
        error: exit code 3 after N s
        no

    "#]],
    );
}

#[test]
fn a_signal_is_named() {
    check(
        json!({"command": "kill -SEGV $$"}),
        expect![[r#"
        error: ended by signal 11 after N s

    "#]],
    );
}

#[test]
fn a_command_runs_in_the_folder_that_it_names() {
    check(
        json!({"command": "basename \"$PWD\"", "cwd": "sub"}),
        expect![[r#"
        exit code 0 after N s
        sub
    "#]],
    );
}

#[test]
fn a_folder_outside_is_refused() {
    check(
        json!({"command": "pwd", "cwd": ".."}),
        expect![[r#"
        error: .. leads out of the workspace /folder
    "#]],
    );
    check(
        json!({"command": "pwd", "cwd": "missing"}),
        expect![[r#"
        error: there is no missing in the workspace
    "#]],
    );
}

#[test]
fn there_is_no_input_to_wait_for() {
    check(
        json!({"command": "cat; echo done"}),
        expect![[r#"
        exit code 0 after N s
        done
    "#]],
    );
}

#[test]
fn a_command_that_is_longer_than_a_word_may_be_runs_as_any_other() {
    let scene = Scene::new();
    let lines = "x\n".repeat(100_000);
    let command = format!("cat > big.txt <<'E'\n{lines}E\necho $# \"$0\" ä; exit 3");
    let said = without_seconds(&scene.said("run_command", json!({"command": command})));
    assert_eq!(said, "error: exit code 3 after N s\n0 sh ä\n\n");
    assert_eq!(scene.read("big.txt").unwrap(), lines);
    // Cut where a character of several bytes stands.
    let letters = "ä€".repeat(60_000);
    let said = scene.said("run_command", json!({"command": format!("printf %s {letters} > letters")}));
    assert!(said.starts_with("exit code 0"), "{said}");
    assert_eq!(scene.read("letters").unwrap(), letters);
    let said = scene.said("run_command", json!({"command": format!("- {}", "x".repeat(200_000))}));
    assert!(said.starts_with("error: exit code 127"), "{said}");
}

#[test]
fn what_no_shell_could_be_given_is_refused_with_what_to_do_and_not_asked_about() {
    let scene = Scene::new();
    let tool = scene.tool("run_command");
    for (command, says) in [
        ("x".repeat(10_000_000), "the command has 10000000 bytes, and this system takes about "),
        ("echo a\0b".to_owned(), "the command holds a NUL byte"),
        (" \n".to_owned(), "the command is empty"),
    ] {
        let arguments = json!({ "command": command });
        assert!(tool.gate(&object(arguments.clone())).is_none(), "{says}");
        let said = scene.said("run_command", arguments);
        assert!(said.starts_with(&format!("error: {says}")), "{said}");
    }
    let said = scene.said("run_command", json!({"command": "x".repeat(10_000_000)}));
    assert!(said.contains("write_file"), "{said}");
}

#[test]
fn an_empty_command_is_refused() {
    check(
        json!({"command": "  "}),
        expect![[r#"
        error: the command is empty
    "#]],
    );
}

#[test]
fn escape_sequences_are_taken_out_and_a_progress_bar_is_what_it_was_last() {
    check(
        json!({"command": r"printf '\033[31mred\033[0m \033]0;title\007plain\n10%%\r50%%\r100%%\r\nend\033]0;open\nseen\n'"}),
        expect![[r#"
            exit code 0 after N s
            red plain
            100%
            end
            seen
            [2 terminal control strings left out, lines were overwritten 2 times, as on a terminal]
        "#]],
    );
}

#[test]
fn what_was_overwritten_is_told() {
    check(
        json!({"command": r"printf 'hidden\033[2K\rshown\nat once\r\n  \rx\n\r\ry\n'"}),
        expect![[r#"
            exit code 0 after N s
            shown
            at once
            x
            y
            [a line was overwritten once, as on a terminal]
        "#]],
    );
    check(
        json!({"command": r"for i in 1 2 3 4; do printf $i'%%\r'; done; echo; printf '\033]0;\007\033[1mx\033[0m\n'"}),
        expect![[r#"
            exit code 0 after N s
            4%
            x
            [1 terminal control string left out, lines were overwritten 3 times, as on a terminal]
        "#]],
    );
    let mut policy = CommandPolicy::default();
    policy.output_limit = 100;
    let command = r"printf 'a\rb\n'; seq 1 100000; printf 'c\rd\n'";
    let said = Scene::with(policy).said("run_command", json!({"command": command}));
    assert!(said.ends_with("d\n[lines were overwritten 2 times, as on a terminal]\n"), "{said}");
}

#[test]
fn bytes_that_are_not_text_are_replaced() {
    check(
        json!({"command": r"printf 'a\377b\0c\n'"}),
        expect![[r#"
        exit code 0 after N s
        a�bc
        [1 byte that is no UTF-8 is shown as U+FFFD, 1 NUL byte left out]
    "#]],
    );
    check(
        json!({"command": r"printf 'gr\374\337e \342\202 x\n\0\0\007\010\033[1mbold\033[0m \357\277\275\n'"}),
        expect![[r#"
        exit code 0 after N s
        gr��e � x
        bold �
        [4 bytes that are no UTF-8 are shown as U+FFFD, 2 NUL bytes and 2 other control characters left out]
    "#]],
    );
}

#[test]
fn a_character_that_the_cut_goes_through_is_no_odd_byte() {
    let mut policy = CommandPolicy::default();
    policy.output_limit = 100;
    let scene = Scene::with(policy);
    let said = scene.said("run_command", json!({"command": "printf x; yes äöüß€ | head -n 4000"}));
    assert!(said.contains("not shown") && !said.contains("UTF-8"), "{said}");
}

#[test]
fn long_output_keeps_its_start_and_its_end() {
    let mut policy = CommandPolicy::default();
    policy.output_limit = 100;
    let scene = Scene::with(policy);
    let said = scene.said("run_command", json!({"command": "seq 1 20"}));
    assert!(!said.contains("not shown"), "{said}");
    for count in [200, 200_000] {
        let said = scene.said("run_command", json!({"command": format!("seq 1 {count}")}));
        assert!(said.contains("\n1\n2\n3\n"), "{said}");
        assert!(said.contains("bytes of output are not shown …]\n"), "{said}");
        assert!(said.ends_with(&format!("{}\n{count}\n", count - 1)), "{said}");
        assert!(said.len() < 300, "{said}");
    }
    let said = scene.said("run_command", json!({"command": "seq 1 200000"}));
    let shown: usize =
        said.lines().skip(1).filter(|line| !line.starts_with('[')).map(|line| line.len() + 1).sum();
    let cut: usize = said
        .split(&['…', ' '][..])
        .find_map(|word| word.parse().ok().filter(|number| *number > 1_000))
        .unwrap();
    // The line break after the cut line of the start is ours.
    let all: usize = (1..=200_000_usize).map(|number| number.to_string().len() + 1).sum();
    assert!(all.abs_diff(shown + cut) <= 1, "{shown} shown and {cut} cut are not {all}");
}

#[test]
fn output_without_end_is_held_in_bounded_memory_until_the_time_limit() {
    let scene = Scene::new();
    let said = scene.said("run_command", json!({"command": "yes", "timeout_seconds": 1}));
    let after = said.strip_prefix("error: stopped: still running at the time limit, after ");
    let after = after.and_then(|rest| rest.split_once(' ')?.0.parse::<f64>().ok());
    // A busy machine notices later.
    assert!(after.is_some_and(|seconds| (1.0..30.0).contains(&seconds)), "{}", &said[..200]);
    assert!(said.len() < 31_000);
}

#[test]
fn a_time_limit_stops_even_what_does_not_listen() {
    let scene = Scene::new();
    let started = Instant::now();
    let said = scene.said(
        "run_command",
        json!({"command": "trap '' TERM; echo deaf; sleep 60; sleep 60", "timeout_seconds": 1}),
    );
    assert!(said.starts_with("error: stopped: still running at the time limit"), "{said}");
    assert!(said.contains("deaf"), "{said}");
    assert!(started.elapsed() < WELL_BEFORE, "{:?}", started.elapsed());
}

#[test]
fn a_child_left_in_the_background_neither_hangs_the_call_nor_outlives_it() {
    let scene = Scene::new();
    let started = Instant::now();
    let said = scene.said("run_command", json!({"command": "sleep 60 & echo $! > pid; echo started"}));
    assert!(started.elapsed() < WELL_BEFORE, "{:?}", started.elapsed());
    assert!(
        said.ends_with("started\n[what it left running in the background was stopped: sleep]\n"),
        "{said}"
    );
    assert_gone(&scene.root().join("pid"));
}

/// Waits in a command until what it has started in the background sleeps.
const ASLEEP: &str = "until [ \"$(cat /proc/$(cat pid)/comm)\" = sleep ]; do sleep 0.05; done 2> /dev/null";

#[test]
fn what_does_not_hold_the_output_is_stopped_and_told_too() {
    let scene = Scene::new();
    for command in [
        "nohup sleep 60 > log 2>&1 & echo $! > pid",
        // A shell with job control puts it into a group of its own.
        "set -m; sleep 60 > log 2>&1 & echo $! > pid",
        "set -m; sleep 60 & echo $! > pid",
        "(sh -c 'echo $$ > pid; exec sleep 60' > log 2>&1 &)",
    ] {
        let said = scene.said("run_command", json!({"command": format!("{command}; {ASLEEP}")}));
        let told = "[what it left running in the background was stopped: sleep]\n";
        assert!(said.ends_with(told), "{command}: {said}");
        assert_gone(&scene.root().join("pid"));
        fs::remove_file(scene.root().join("pid")).unwrap();
    }
}

#[test]
fn what_waits_for_a_signal_to_go_on_is_stopped_and_told_too() {
    let scene = Scene::new();
    let suspended = "until grep -q 'State:.T' /proc/$(cat pid)/status 2> /dev/null; do sleep 0.05; done";
    for command in [
        "sh -c 'echo $$ > pid; kill -STOP $$; exec sleep 60' > /dev/null 2>&1 &",
        "sh -c 'echo $$ > pid; kill -STOP $$; exec sleep 60' &",
        "set -m; sh -c 'echo $$ > pid; kill -STOP $$; exec sleep 60' > /dev/null 2>&1 &",
    ] {
        let line = format!("{command}\n{suspended}; echo done");
        let said = scene.said("run_command", json!({ "command": line }));
        let told = "done\n[what it left running in the background was stopped: sh]\n";
        assert!(said.ends_with(told), "{command}: {said}");
        assert_gone(&scene.root().join("pid"));
        fs::remove_file(scene.root().join("pid")).unwrap();
    }
}

#[test]
fn what_has_a_session_of_its_own_goes_on_and_is_told() {
    let scene = Scene::new();
    for command in [
        "setsid sleep 60 & echo $! > pid",
        "setsid sleep 60 > log 2>&1 & echo $! > pid",
        "setsid sh -c 'echo $$ > pid; exec sleep 60' > log 2>&1 &",
    ] {
        let said = scene.said("run_command", json!({"command": format!("{command}\n{ASLEEP}")}));
        let pid = read_pid(&scene.root().join("pid"));
        let told = format!("[still running, on its own: sleep (process {pid}); `kill` ends it]\n");
        assert!(said.ends_with(&told), "{command}: {said}");
        let killed = std::process::Command::new("kill").arg(&pid).status().unwrap();
        assert!(killed.success(), "it was alive");
        fs::remove_file(scene.root().join("pid")).unwrap();
    }
}

#[test]
fn what_goes_on_unseen_and_holds_the_output_is_told() {
    let scene = Scene::new();
    // Without the variable nobody knows where it comes from.
    let command = "env -i PATH=\"$PATH\" setsid sh -c 'echo $$ > pid; exec sleep 60' &";
    let said = scene.said("run_command", json!({"command": format!("{command}\n{ASLEEP}; echo done")}));
    let pid = read_pid(&scene.root().join("pid"));
    assert!(
        said.ends_with("done\n[something that it started is still running and holds its output open]\n"),
        "{said}"
    );
    assert!(std::process::Command::new("kill").arg(&pid).status().unwrap().success());
}

#[test]
fn what_ends_by_itself_is_not_told() {
    let scene = Scene::new();
    for command in ["sleep 0.05 & wait; echo done", "true | echo done"] {
        let said = scene.said("run_command", json!({"command": command}));
        assert!(said.ends_with("done\n"), "{command}: {said}");
    }
}

#[test]
fn a_cancel_ends_the_command_and_its_grandchildren() {
    let scene = Scene::new();
    let pid = scene.root().join("pid");
    let cancel = Cancel::new();
    let giver = {
        let (pid, cancel) = (pid.clone(), cancel.clone());
        std::thread::spawn(move || {
            read_pid(&pid);
            cancel.cancel();
        })
    };
    let command = "sh -c 'sleep 60 & echo $! > pid; wait'; true";
    let output = scene.call_until("run_command", json!({"command": command}), &cancel);
    giver.join().unwrap();
    let said = scene.words(&output);
    assert!(said.starts_with("error: cancelled after "), "{said}");
    assert!(output.finding.is_none());
    assert_gone(&pid);
}

#[test]
fn a_call_that_was_cancelled_before_is_not_started() {
    let scene = Scene::new();
    let cancel = Cancel::new();
    cancel.cancel();
    let output = scene.call_until("run_command", json!({"command": "touch started"}), &cancel);
    assert_eq!(scene.words(&output), "error: cancelled before it was started\n");
    assert_eq!(scene.read("started"), None);
}

#[test]
fn a_call_that_is_dropped_ends_its_command() {
    let scene = Scene::new();
    let pid = scene.root().join("pid");
    block_on(async {
        let context = context(&Cancel::new());
        let arguments = object(json!({"command": "sleep 60 & echo $! > pid; wait"}));
        let call = scene.tool("run_command").run(arguments, &context);
        let seen = tokio::task::spawn_blocking({
            let pid = pid.clone();
            move || read_pid(&pid)
        });
        tokio::select! {
            output = call => panic!("{output:?}"),
            seen = seen => drop(seen.unwrap()),
        }
    });
    assert_gone(&pid);
}

#[test]
fn a_command_is_shown_whole_and_safely_before_it_runs() {
    let scene = Scene::new();
    let gate =
        scene.gate(json!({"command": "cargo test \\\n  --all\u{1b}[2K", "cwd": "sub", "timeout_seconds": 9}));
    assert_eq!(gate.label, r"run: cargo test \ --all\u{1b}[2K");
    let preview = gate.preview.replace(&scene.root().display().to_string(), "/root");
    assert!(
        preview.starts_with("cargo test \\\n  --all\\u{1b}[2K\n\nin /root → sub\nat most 9 s\n"),
        "{preview}"
    );
}

#[test]
fn only_commands_have_a_gate() {
    let scene = Scene::new();
    for name in ["read_file", "list_files", "search_text", "edit_file", "write_file"] {
        assert!(scene.tool(name).gate(&object(json!({"path": "x"}))).is_none());
    }
}

#[test]
fn secrets_in_the_environment_are_not_handed_on() {
    let scene = Scene::new();
    // What is set depends on who runs the tests, for a test cannot set a variable without unsafe code.
    let said = scene.said("run_command", json!({"command": "env | cut -d= -f1"}));
    assert!(said.lines().any(|line| line == "PATH"), "{said}");
    for line in said.lines() {
        let secret = ["_API_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_ACCESS_KEY", "_PRIVATE_KEY"];
        assert!(!secret.iter().any(|end| line.ends_with(end)) && !line.starts_with("TRUNKLINE_"), "{line}");
    }
}

fn read_pid(path: &Path) -> String {
    let started = Instant::now();
    loop {
        if let Some(pid) = fs::read_to_string(path).ok().filter(|pid| pid.ends_with('\n')) {
            return pid.trim().to_owned();
        }
        assert!(started.elapsed() < Duration::from_secs(60), "the command did not start");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn assert_gone(pid: &Path) {
    let pid = read_pid(pid);
    let started = Instant::now();
    loop {
        let state =
            std::process::Command::new("ps").args(["-o", "stat=", "-p", &pid]).output().unwrap().stdout;
        let state = String::from_utf8_lossy(&state).trim().to_owned();
        // Dead but not yet collected by its new parent is gone too.
        if state.is_empty() || state.starts_with('Z') {
            return;
        }
        assert!(started.elapsed() < WELL_BEFORE, "{pid} still lives: {state}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
