//! Runs that other agents have recorded, where they are at hand: how often a watch speaks, and of what.
//!
//! `TRUNKLINE_CORPORA` names the folder. A run is what comes between two prompts of a person.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use serde_json::Value;
use trunkline_message_tree::{NodeId, Part, ToolCall, ToolResult};
use trunkline_revert::{Digest, Observation, Seen, StallEvent, StallPolicy, Watch};

/// One turn: the calls, each with its result.
type Turn = Vec<(ToolCall, ToolResult)>;

/// Returns the runs of a session of pi, or of Claude Code.
fn runs(path: &Path) -> Vec<Vec<Turn>> {
    let text = fs::read_to_string(path).unwrap();
    let mut runs: Vec<Vec<Turn>> = Vec::new();
    let mut open: Vec<ToolCall> = Vec::new();
    for line in text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        if line["isSidechain"] == true {
            continue;
        }
        let message = &line["message"];
        let blocks = message["content"].as_array().cloned().unwrap_or_default();
        match message["role"].as_str() {
            Some("assistant") => {
                let calls = blocks.iter().filter(|block| {
                    ["toolCall", "tool_use"].contains(&block["type"].as_str().unwrap_or_default())
                });
                for block in calls {
                    // A turn begins with its first call: its message may stand on several lines.
                    if open.is_empty() {
                        runs.last_mut().into_iter().for_each(|run| run.push(Turn::new()));
                    }
                    let arguments = block.get("arguments").or(block.get("input")).cloned();
                    let text = |name: &str| block[name].as_str().unwrap_or_default().to_owned();
                    let arguments = arguments.unwrap_or_default().to_string();
                    open.push(ToolCall { id: text("id"), name: text("name"), arguments, signature: None });
                }
            }
            Some("toolResult") => answered(&mut runs, &mut open, &message["toolCallId"], message),
            Some("user") => {
                let results = blocks.iter().filter(|block| block["type"] == "tool_result");
                for block in results.clone() {
                    answered(&mut runs, &mut open, &block["tool_use_id"], block);
                }
                if results.count() == 0 {
                    open.clear();
                    runs.push(Vec::new());
                }
            }
            _ => {}
        }
    }
    runs.retain(|run| !run.is_empty());
    runs
}

fn answered(runs: &mut [Vec<Turn>], open: &mut Vec<ToolCall>, id: &Value, result: &Value) {
    let Some(place) = open.iter().position(|call| call.id == id.as_str().unwrap_or_default()) else { return };
    let call = open.remove(place);
    let text = match &result["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => String::new(),
    };
    let is_error = result["isError"] == true || result["is_error"] == true;
    let result = ToolResult { call_id: call.id.clone(), content: vec![Part::text(text)], is_error };
    if let Some(turn) = runs.last_mut().and_then(|run| run.last_mut()) {
        turn.push((call, result));
    }
}

/// Which calls a watch hears of as changing files.
#[derive(Copy, Clone, PartialEq)]
enum Files {
    /// It hears nothing of files.
    Unknown,
    /// Tools that write, and no command: it hears of fewer changes than there were.
    Written,
    /// Commands that look like it, too.
    Changed,
}

impl Files {
    fn after(self, turn: &Turn, before: Digest) -> Digest {
        turn.iter()
            .filter(|(call, result)| !result.is_error && self.changes(call))
            .fold(before, |state, (call, _)| Digest::of_all([state, Digest::of(&call.arguments)]))
    }

    fn changes(self, call: &ToolCall) -> bool {
        let words = ["sed -i", "mv ", "cp ", "rm ", "mkdir ", "git ", "npm ", "cargo ", ">"];
        match call.name.to_ascii_lowercase().as_str() {
            "edit" | "write" | "multiedit" | "notebookedit" => true,
            "bash" => self == Files::Changed && words.iter().any(|word| call.arguments.contains(word)),
            _ => false,
        }
    }
}

/// Watches runs, each followed by turns of one more call, and returns when the watch spoke: the run, the turn of it, and why.
fn told(runs: &[Vec<Turn>], files: Files, then: &[Turn]) -> Vec<(usize, usize, String)> {
    let mut watch = Watch::new(StallPolicy::default());
    let mut told = Vec::new();
    let (mut node, mut state) = (0_u32, Digest(0));
    for (run, turns) in runs.iter().enumerate() {
        watch.observe(&StallEvent::Person { node: NodeId::new(node) });
        for (at, turn) in turns.iter().chain(then).enumerate() {
            node += 1;
            state = files.after(turn, state);
            let calls = turn.iter().map(|(call, result)| Seen::of(call, Some(result)));
            let seen = Observation::new(NodeId::new(node), calls).with_lookers(only_looks);
            let seen = if files == Files::Unknown { seen } else { seen.with_files(state) };
            if let Some(stall) = watch.observe(&StallEvent::Turn(seen)) {
                told.push((run, at, stall.because.to_string()));
            }
        }
    }
    told
}

fn only_looks(tool: &str) -> bool {
    ["read", "grep", "glob", "ls", "find"].contains(&tool.to_ascii_lowercase().as_str())
}

/// Returns turns that ask the same, but for the number in the question if it counts, and are answered with another number and name
/// each time.
fn hidden(counts: bool) -> Vec<Turn> {
    let turn = |number: u64| {
        let counter = if counts { format!("={number}") } else { String::new() };
        let call = ToolCall {
            id: "c".to_owned(),
            name: "bash".to_owned(),
            arguments: format!(r#"{{"command":"./deploy --retry{counter}"}}"#),
            signature: None,
        };
        let text = format!("attempt {number}: request r{:x}q was not taken up", number * 7919);
        let result = ToolResult { call_id: "c".to_owned(), content: vec![Part::text(text)], is_error: false };
        vec![(call, result)]
    };
    (1..=12).map(turn).collect()
}

#[test]
fn p64_recorded_runs_that_get_somewhere_are_left_alone() {
    let Some(corpora) = env::var_os("TRUNKLINE_CORPORA") else {
        eprintln!("TRUNKLINE_CORPORA is not set: no recorded run was watched");
        return;
    };
    let folder = Path::new(&corpora).join("transcripts");
    let sessions = [
        "pi/pi-large-session.jsonl",
        "pi/pi-before-compaction.jsonl",
        "spotter/258c7280-ae70-4798-800f-63464d01a85d.jsonl",
        "spotter/tool_heavy.jsonl",
    ];
    let (mut watched, mut turns, mut lines) = (0, 0, String::new());
    let (mut spoken, mut missed) = ([0; 3], [[0; 3]; 2]);
    for session in sessions {
        let runs = runs(&folder.join(session));
        watched += runs.len();
        turns += runs.iter().map(Vec::len).sum::<usize>();
        for (at, files) in [Files::Unknown, Files::Written, Files::Changed].into_iter().enumerate() {
            for (run, turn, why) in told(&runs, files, &[]) {
                spoken[at] += 1;
                writeln!(lines, "{session}, run {run}, turn {turn}: {why}").unwrap();
            }
            for counts in [false, true] {
                let noticed = told(&runs, files, &hidden(counts));
                let is_noticed =
                    |run: usize| noticed.iter().any(|(of, turn, _)| *of == run && *turn >= runs[run].len());
                missed[usize::from(counts)][at] += (0..runs.len()).filter(|run| !is_noticed(*run)).count();
            }
        }
    }
    eprintln!("{watched} runs, {turns} turns; told of {spoken:?}, hidden stalls missed {missed:?}\n{lines}");
    assert!(watched >= 100, "{watched} runs were found");
    // One run says `echo "fixed …"` after each of a dozen commands, which is news only to who knows that files changed.
    assert_eq!(spoken, [1, 1, 0]);
    // Where nothing is known of the files, a counter in the question is not seen through.
    assert_eq!(missed, [[0, 0, 0], [watched, 0, 0]]);
}
