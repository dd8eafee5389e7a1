//! Runs for programs: a line of JSON each.
//!
//! The records stand in it as their canonical texts, so that a reader can compute their digests from what is there.

use serde::Serialize;
use serde_json::value::RawValue;
use trunkline_message_tree::NodeId;
use trunkline_runtime::{CallPlace, DecidedRun, Unreadable};

use crate::commands::decisions::found::Book;
use crate::shown::decision::{changed_lines, cited, state};

#[derive(Serialize)]
struct Line<'a> {
    version: u32,
    session: &'a str,
    run_id: String,
    state: String,
    decision: Option<Box<RawValue>>,
    /// The SHA-256 of the text under `decision`.
    digest: Option<String>,
    /// The number of the decision's record in the log.
    seq: Option<u64>,
    run: Option<Box<RawValue>>,
    patch_sets: Vec<Option<Box<RawValue>>>,
    /// What the run changed.
    changed: Option<Changed>,
    /// The decision by which it is taken back now.
    rolled_back_by: Option<String>,
    /// The decision by which it is there again after that.
    applied_again_by: Option<String>,
    evidence: Vec<Found<'a>>,
    nodes: Vec<Cited>,
    follows: Option<String>,
    followed_by: Vec<String>,
}

#[derive(Serialize)]
struct Changed {
    /// The one of `patch_sets` that the decision is about; of one that cannot be read the files alone are known.
    patch_set: Option<String>,
    files: usize,
    added: Option<u64>,
    deleted: Option<u64>,
}

#[derive(Serialize)]
struct Found<'a> {
    evidence: Option<Box<RawValue>>,
    call: Option<&'a CallPlace>,
}

#[derive(Serialize)]
struct Cited {
    node: NodeId,
    #[serde(rename = "as")]
    what: &'static str,
}

#[derive(Serialize)]
struct Lost<'a> {
    version: u32,
    session: &'a str,
    run_id: Option<&'a str>,
    state: &'static str,
    kind: &'a str,
    seq: u64,
    faults: &'a [String],
    /// Byte for byte.
    original: &'a str,
}

/// Returns everything that is known of a run, on a line.
pub(super) fn of_run(book: &Book, run: &DecidedRun) -> String {
    let follows = run.opened.as_ref().and_then(|opened| opened.record.opening().predecessor);
    let since = book.since(run);
    let by = |is_applied: bool| {
        since.filter(|since| since.is_applied == is_applied).map(|since| since.by.to_string())
    };
    line(&Line {
        version: 1,
        session: book.info.id.as_str(),
        run_id: run.id.to_string(),
        state: state(run).1,
        decision: run.decision().and_then(|decision| raw(decision.print())),
        digest: run.decision().map(|decision| decision.digest().to_string()),
        seq: run.verdict.as_ref().map(|given| given.seq),
        run: run.opened.as_ref().and_then(|opened| raw(opened.record.print())),
        patch_sets: run.patch_sets.iter().map(|patch_set| raw(patch_set.print())).collect(),
        changed: changed(run),
        rolled_back_by: by(false),
        applied_again_by: by(true),
        evidence: run
            .evidence
            .iter()
            .map(|found| Found { evidence: raw(found.evidence.print()), call: found.call.as_ref() })
            .collect(),
        nodes: cited(run).into_iter().map(|(node, what)| Cited { node, what }).collect(),
        follows: follows.map(|predecessor| predecessor.run().to_string()),
        followed_by: book.decided.successors(run.id).map(|run| run.id.to_string()).collect(),
    })
}

fn changed(run: &DecidedRun) -> Option<Changed> {
    if let Some(patch_set) = run.patch_set() {
        let (added, deleted) = changed_lines(patch_set);
        return Some(Changed {
            patch_set: Some(patch_set.id().to_string()),
            files: patch_set.files().len(),
            added: Some(added),
            deleted: Some(deleted),
        });
    }
    let files = run.decision()?.cites().files.len();
    (files > 0).then_some(Changed { patch_set: None, files, added: None, deleted: None })
}

/// Returns a record that cannot be read, on a line, with its bytes.
pub(super) fn of_unreadable(book: &Book, record: &Unreadable) -> String {
    line(&Lost {
        version: 1,
        session: book.info.id.as_str(),
        run_id: record.run.as_deref(),
        state: "unreadable",
        kind: &record.kind,
        seq: record.seq,
        faults: &record.faults,
        original: &record.body,
    })
}

/// Prints a value on a line.
pub(super) fn line(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("it is plain data with text keys") + "\n"
}

/// Lets a canonical text stand in a line as it is.
fn raw(text: String) -> Option<Box<RawValue>> {
    RawValue::from_string(text).ok()
}
