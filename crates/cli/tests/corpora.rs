//! Real session files, where they are there.
//!
//! `TRUNKLINE_CORPORA` names the folder; without it nothing is checked, and the test says so.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::fake::Scene;

#[test]
fn every_session_is_judged_and_repaired_for_every_wire() {
    let Some(folder) = std::env::var_os("TRUNKLINE_CORPORA").map(PathBuf::from) else {
        eprintln!("SKIPPED: TRUNKLINE_CORPORA is not set, no real session was repaired");
        return;
    };
    let scene = Scene::new();
    let logs = folder.join("transcripts");
    let real = repaired_everywhere(&scene, &logs);

    // The same with holes: every sixth line is gone, and with it calls, results and parents.
    let holes = scene.path("holes");
    std::fs::create_dir(&holes).expect("made");
    for (place, path) in real.sessions.iter().enumerate() {
        let text = std::fs::read_to_string(path).expect("text");
        let kept = text.lines().enumerate().filter(|(line, _)| line % 6 != 4).map(|(_, line)| line);
        let kept: Vec<&str> = kept.collect();
        std::fs::write(holes.join(format!("{place}.jsonl")), kept.join("\n")).expect("written");
    }
    let damaged = repaired_everywhere(&scene, &holes);

    eprintln!("{}\nwith holes: {}", real.told, damaged.told);
    let failures = [real.failures, damaged.failures].concat();
    assert!(failures.is_empty(), "{} failed:\n{}", failures.len(), failures.join("\n"));
    assert!(!real.sessions.is_empty(), "no session in {}", logs.display());
}

#[derive(Default)]
struct Outcome {
    sessions: Vec<String>,
    failures: Vec<String>,
    /// How many there were, in words.
    told: String,
}

fn repaired_everywhere(scene: &Scene, logs: &Path) -> Outcome {
    let (mut outcome, mut broken, mut repaired) = (Outcome::default(), 0, 0);
    for line in audit(scene, logs, "all") {
        let Some(path) = line["path"].as_str().filter(|_| line["format"] == "claude-code") else { continue };
        let wire = line["wire"].as_str().expect("a wire");
        if wire == "anthropic" {
            outcome.sessions.push(path.to_owned());
            broken += usize::from(line["broken"] == true);
        }
        if line["broken"] != true {
            continue;
        }
        repaired += 1;
        let out = scene.path(&format!("new-{repaired}.jsonl"));
        let out_name = out.to_str().expect("plain");
        let before = std::fs::read(path).expect("there");
        let said = scene.run(&["repair", path, "--for", wire, "--apply", "--out", out_name]);
        assert_eq!(std::fs::read(path).expect("still there"), before, "{path} was changed");
        if said.exit != Some(0) {
            outcome.failures.push(format!("{path} for {wire}: exit {:?}\n{}", said.exit, said.err));
        } else if let Some(line) = audit(scene, &out, wire).iter().find(|line| line["broken"] != false) {
            outcome.failures.push(format!("{path} for {wire} is still broken: {}", line["violations"]));
        }
        // Absent if nothing was written.
        let _ = std::fs::remove_file(out);
    }
    let sessions = outcome.sessions.len();
    outcome.told = format!(
        "{sessions} sessions, {broken} of them broken for anthropic; {repaired} repairs over all wires"
    );
    outcome
}

fn audit(scene: &Scene, path: &Path, wire: &str) -> Vec<Value> {
    let output = scene.command(&["audit", path.to_str().expect("plain"), "--wire", wire, "--json"]).output();
    let output = output.expect("it runs");
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).expect("UTF-8");
    lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}
