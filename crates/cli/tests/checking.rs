//! Records from elsewhere that `decisions --check` is given: by the line, however many, and whatever stands between them.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::Value;

use crate::fake::Scene;

/// A decision with nothing wrong with it.
fn decision(number: u64) -> String {
    format!(
        r#"{{"type":"decision","version":1,"id":"00000000-0000-7000-8000-{number:012}","run":"00000000-0000-7000-9000-{number:012}","at":"2026-11-21T20:49:30Z","decided_by":{{"kind":"human","id":"ada"}},"verdict":{{"kind":"abandon","reason":"no use"}},"evidence":[],"considered":[]}}"#
    )
}

/// The same with so many keys that nobody knows.
fn with_unknown_keys(number: u64, keys: usize) -> String {
    let more: String = (0..keys).map(|key| format!(",\"k{key}\":1")).collect();
    decision(number).replace(",\"evidence\"", &format!("{more},\"evidence\""))
}

fn check_file(scene: &Scene, bytes: &[u8], more: &[&str]) -> Output {
    let file = scene.path("records.jsonl");
    std::fs::write(&file, bytes).expect("written");
    let file = file.to_str().expect("a plain path");
    scene.command(&[["decisions", "--check", file].as_slice(), more].concat()).output().expect("it runs")
}

fn check_stdin(scene: &Scene, bytes: &[u8], more: &[&str]) -> Output {
    let mut command = scene.command(&[["decisions", "--check", "-"].as_slice(), more].concat());
    let mut child = command.stdin(Stdio::piped()).spawn().expect("it starts");
    child.stdin.take().expect("a pipe").write_all(bytes).expect("it is read");
    child.wait_with_output().expect("it ends")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("UTF-8")
}

#[derive(Clone, Debug)]
enum Line {
    Fine(u64),
    Unknown(u64),
    NoJson(String),
    Blank,
    Bytes,
}

fn line() -> impl Strategy<Value = Line> {
    prop_oneof![
        4 => (0..4_u64).prop_map(Line::Fine),
        2 => (0..4_u64).prop_map(Line::Unknown),
        1 => "[ -~]{1,12}".prop_map(Line::NoJson),
        1 => Just(Line::Blank),
        1 => Just(Line::Bytes),
    ]
}

impl Line {
    fn bytes(&self) -> Vec<u8> {
        match self {
            Line::Fine(number) => decision(*number).into_bytes(),
            Line::Unknown(number) => with_unknown_keys(*number, 2).into_bytes(),
            Line::NoJson(words) => words.clone().into_bytes(),
            Line::Blank => b" \t".to_vec(),
            Line::Bytes => b"{\"type\":\"\xff\"}".to_vec(),
        }
    }
}

/// Each line that is not blank is told with its number and as it is, whatever the others are, from wherever it comes.
#[test]
fn every_line_is_told_once_with_its_number() {
    let scene = Scene::new();
    let lines = proptest::collection::vec(line(), 1..12);
    let mut runner = TestRunner::new(Config { cases: 24, failure_persistence: None, ..Config::default() });
    let law = |(lines, marked, returns, ends): (Vec<Line>, bool, bool, bool)| {
        let end: &[u8] = if returns { b"\r\n" } else { b"\n" };
        let mut bytes = if marked { "\u{feff}".as_bytes().to_vec() } else { Vec::new() };
        bytes.extend(lines.iter().map(Line::bytes).collect::<Vec<_>>().join(end));
        if ends {
            bytes.extend(end);
        }
        let wanted: Vec<(u64, String)> = (1..)
            .zip(&lines)
            .map(|(number, line)| (number, String::from_utf8_lossy(&line.bytes()).into_owned()))
            .filter(|(_, line)| !line.trim().is_empty())
            .collect();
        let output = check_file(&scene, &bytes, &["--json"]);
        let told: Vec<Value> =
            text(&output.stdout).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        if wanted.len() > 1 {
            let told: Vec<(u64, String)> = told
                .iter()
                .map(|line| {
                    let original = line["original"].as_str().expect("a text").to_owned();
                    (line["record"].as_u64().expect("a number"), original)
                })
                .collect();
            prop_assert_eq!(&told, &wanted);
        }
        prop_assert_eq!(told.len(), wanted.len());
        let faulty = told
            .iter()
            .filter(|line| line["violations"] != serde_json::json!([]) || line["unreadable"].is_string())
            .count();
        prop_assert_eq!(matches!(output.status.code(), Some(0 | 2)), faulty == 0);
        let piped = check_stdin(&scene, &bytes, &["--json"]);
        prop_assert_eq!(piped.stdout, output.stdout);
        prop_assert_eq!(piped.status.code(), output.status.code());
        Ok(())
    };
    runner.run(&(lines, any::<bool>(), any::<bool>(), any::<bool>()), law).expect("the law holds");
}

#[test]
fn a_byte_order_mark_at_the_beginning_is_no_fault() {
    let scene = Scene::new();
    let one = decision(1);
    for records in [one.clone(), one.replace(',', ",\n"), format!("{one}\n{}\n", decision(2))] {
        let marked = format!("\u{feff}{records}");
        for output in
            [check_file(&scene, marked.as_bytes(), &[]), check_stdin(&scene, marked.as_bytes(), &[])]
        {
            assert_eq!(output.status.code(), Some(0), "{marked}: {}", text(&output.stdout));
        }
    }
    // Elsewhere it is one.
    let later = format!("{one}\n\u{feff}{}\n", decision(2));
    assert_eq!(check_file(&scene, later.as_bytes(), &[]).status.code(), Some(1));
    assert_eq!(check_file(&scene, "\u{feff}".as_bytes(), &[]).status.code(), Some(2));
}

#[test]
fn of_many_faults_the_first_are_shown_and_all_are_counted() {
    let scene = Scene::new();
    let bad: String = (0..2_000).map(|number| with_unknown_keys(number, 30) + "\n").collect();
    let fine: String = (2_000..3_000).map(|number| decision(number) + "\n").collect();
    let bytes = (bad + &fine).into_bytes();
    let short = check_file(&scene, &bytes, &[]);
    assert_eq!(short.status.code(), Some(3));
    let out = text(&short.stdout);
    // Each that is fine has a remark: its run is not in the file.
    assert_eq!(out.lines().count(), 100 * 22 + 100 * 2 + 2);
    assert!(out.contains("… 10 more; --full shows all\n"), "{out}");
    assert!(out.ends_with(
        "… 1900 more records with a fault; --full shows all\n… 900 more records without a fault; --full shows all\n"
    ));
    assert!(text(&short.stderr).contains("3000 records: 1000 ok, 2000 with violations\n"));
    let full = check_file(&scene, &bytes, &["--full"]);
    assert_eq!(text(&full.stdout).matches("30 violations\n").count(), 2_000);
    assert_eq!(text(&full.stdout).matches("  ok\n").count(), 1_000);
    assert!(!text(&full.stdout).contains("--full"));
    let json = check_file(&scene, &bytes, &["--json"]);
    assert_eq!(text(&json.stdout).lines().count(), 3_000);
    assert!(text(&json.stdout).lines().next().expect("a line").contains("k29"));
}

/// Far more than the process may have: what is no object is gone before the next line is read.
#[test]
fn what_is_held_is_a_line_and_not_the_file() {
    let scene = Scene::new();
    let file = scene.path("large");
    let mut large = std::fs::File::create(&file).expect("made");
    let line = format!("{}\n", "no JSON ".repeat(128 * 1024));
    for _ in 0..100 {
        large.write_all(line.as_bytes()).expect("written");
    }
    for source in ["\"$1\"", "- < \"$1\"", "- < <(cat \"$1\")"] {
        let script = format!("ulimit -d 70000; exec trunkline decisions --check {source}");
        let plain = scene.command(&[]);
        let mut command = Command::new("bash");
        command.args(["-c", &script, "bash"]).arg(&file).env_clear().env("TMPDIR", scene.path("."));
        command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let output = command.output().expect("it runs");
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{source}: {err}");
        assert!(err.contains("100 records: 0 ok, 0 with violations, 100 cannot be read"), "{source}: {err}");
    }
    assert!(left_over(&scene.path(".")).is_empty(), "what was laid aside is gone");
}

fn left_over(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let names = entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
    names.filter(|name| name.ends_with(".tmp")).collect()
}

#[test]
fn one_line_that_no_record_has_does_not_hide_the_next() {
    let scene = Scene::new();
    let mut bytes = vec![b'['; 65 * 1024 * 1024];
    bytes.extend(b"\n");
    bytes.extend(decision(1).bytes());
    let output = check_file(&scene, &bytes, &[]);
    let out = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(out.contains("it has more than 64 MiB, which no record has\n"), "{out}");
    assert!(out.contains("   2  decision 00000000-0000-7000-8000-000000000001  ok\n"), "{out}");
}

#[test]
fn what_can_be_read_only_once_is_not_laid_aside_without_end() {
    let (scene, _endpoint) = Scene::with(Vec::new());
    let mut endless = Command::new("head");
    endless.args(["-c", &(256 * 1024 * 1024 + 1).to_string(), "/dev/zero"]);
    let mut zeros = endless.stdout(Stdio::piped()).spawn().expect("it starts");
    let mut command = scene.command(&["decisions", "--check", "-"]);
    command.stdin(zeros.stdout.take().expect("a pipe"));
    let output = command.output().expect("it runs");
    drop(command);
    zeros.wait().expect("it ends");
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), ""));
    assert!(text(&output.stderr).contains("more than 256 MiB"), "{}", text(&output.stderr));
}
