//! What a run and its verdict are, in a few words.
//!
//! Everything here was written by a model, a tool or another program: it is cut to a line and made safe.

use std::fmt::Display;

use anstyle::Style;
use trunkline_message_tree::{MessageTree, NodeId, Timestamp};
use trunkline_runtime::decision_objects::{
    Actor, Alternative, Change, Cost, EvidenceKind, PatchSet, Timestamp as Instant, TouchedFile,
};
use trunkline_runtime::{DecidedRun, FoundEvidence};

use crate::shown::call::label_of;
use crate::shown::session::OPEN;
use crate::shown::time::ago;
use crate::shown::tree_words::{calls_in_words, role_style, speaker};
use crate::shown::verdict::{outcome, verdict_style};
use crate::term::style::{DIM, GREEN, RED, YELLOW, paint};
use crate::term::text::{count, grouped, one_line};

/// How a run ended, in a word or two, and its colour.
pub(crate) fn state(run: &DecidedRun) -> (Style, String) {
    match run.decision() {
        Some(decision) => (verdict_style(decision.verdict()), outcome(decision)),
        None => (YELLOW, OPEN.to_owned()),
    }
}

/// What a run was for: the first line of its prompt.
pub(crate) fn goal(run: &DecidedRun, limit: usize) -> String {
    let goal = run.opened.as_ref().map_or("", |opened| opened.record.opening().goal.as_str());
    let first = goal.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    match first {
        "" => "(no prompt)".to_owned(),
        first => one_line(first, limit),
    }
}

/// Names who did something: what it is, and how it is called.
pub(crate) fn actor(actor: &Actor) -> String {
    let id = one_line(actor.id.as_str(), 60);
    let kind = one_line(actor.kind.as_str(), 20);
    match actor.display_name.as_deref().map(|name| one_line(name, 60)).filter(|name| !name.is_empty()) {
        Some(name) => format!("{kind} {name} ({id})"),
        None => format!("{kind} {id}"),
    }
}

/// Tells how long ago something was.
pub(crate) fn when(at: Instant, now: Timestamp) -> String {
    ago(Timestamp(u64::try_from(at.milliseconds()).unwrap_or(0)), now)
}

/// Counts what a run changed, if that was anything.
pub(crate) fn changed(run: &DecidedRun) -> Option<String> {
    match (run.patch_set(), run.decision()) {
        (Some(patch_set), _) => Some(size(patch_set)),
        // Of one that cannot be read the files are known still.
        (None, Some(decision)) => {
            Some(decision.cites().files.len()).filter(|files| *files > 0).map(|files| count(files, "file"))
        }
        (None, None) => None,
    }
}

/// Counts added and deleted lines. Numbers of a hostile record can be as large as they like.
pub(crate) fn changed_lines(patch_set: &PatchSet) -> (u64, u64) {
    let sum = |lines: fn(&TouchedFile) -> Option<u32>| -> u64 {
        patch_set.files().iter().filter_map(lines).map(u64::from).sum()
    };
    (sum(|file| file.added_lines), sum(|file| file.deleted_lines))
}

/// Counts files and lines: `2 files +14 −3`.
pub(crate) fn size(patch_set: &PatchSet) -> String {
    if !patch_set.files().is_empty() && !has_counts(patch_set) {
        return count(patch_set.files().len(), "file");
    }
    sized(patch_set.files().len(), changed_lines(patch_set))
}

/// Whether somebody has counted the lines of a file in it.
pub(crate) fn has_counts(patch_set: &PatchSet) -> bool {
    let counted = |file: &TouchedFile| file.added_lines.is_some() || file.deleted_lines.is_some();
    patch_set.files().iter().any(counted)
}

/// Prints how many files and lines were counted.
pub(crate) fn sized(files: usize, (added, deleted): (impl Display, impl Display)) -> String {
    format!(
        "{} {} {}",
        count(files, "file"),
        paint(GREEN, &format!("+{added}")),
        paint(RED, &format!("−{deleted}"))
    )
}

/// The letter of a change, as git has it, and its colour.
pub(crate) fn letter(change: &Change) -> String {
    match change {
        Change::Added => paint(GREEN, "A"),
        Change::Modified => paint(YELLOW, "M"),
        Change::Deleted => paint(RED, "D"),
        Change::Renamed { .. } => paint(YELLOW, "R"),
    }
}

/// Counts what was found, by kind and exit code: `test 2 passed 1 failed, lint 1 passed`.
pub(crate) fn tally(evidence: &[FoundEvidence]) -> String {
    let mut kinds: Vec<(String, [usize; 3])> = Vec::new();
    for found in evidence {
        let finding = found.evidence.finding();
        let kind = kind(&finding.kind);
        let place = match finding.exit_code {
            Some(0) => 0,
            Some(_) => 1,
            None => 2,
        };
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, counted)) => counted[place] += 1,
            None => {
                let mut counted = [0; 3];
                counted[place] = 1;
                kinds.push((kind, counted));
            }
        }
    }
    let words = [(GREEN, "passed"), (RED, "failed"), (YELLOW, "cut off")];
    let told = kinds.iter().map(|(kind, counted)| {
        let counts = counted.iter().zip(words).filter(|(number, _)| **number > 0);
        let counts: Vec<String> =
            counts.map(|(number, (style, word))| paint(style, &format!("{number} {word}"))).collect();
        format!("{kind} {}", counts.join(" "))
    });
    told.collect::<Vec<_>>().join(", ")
}

pub(crate) fn kind(kind: &EvidenceKind) -> String {
    match kind {
        EvidenceKind::Test => "test".to_owned(),
        EvidenceKind::Lint => "lint".to_owned(),
        EvidenceKind::Build => "build".to_owned(),
        EvidenceKind::Other(label) => one_line(label.as_str(), 30),
    }
}

/// Tells what a run cost.
pub(crate) fn cost(cost: &Cost) -> String {
    let asked = [cost.input_tokens, cost.cache_read_tokens, cost.cache_write_tokens];
    let asked = asked.into_iter().fold(0_u64, u64::saturating_add);
    let cached = match cost.cache_read_tokens {
        0 => String::new(),
        cached => format!(" ({} from the cache)", grouped(cached)),
    };
    // To a hundredth of a cent: less is nobody's money.
    let price = cost.microdollars.map(|price| {
        let rounded = price.saturating_add(50) / 100;
        format!(", ${}.{:04}", grouped(rounded / 10_000), rounded % 10_000)
    });
    format!(
        "{} tokens in{cached}, {} out{}",
        grouped(asked),
        grouped(cost.output_tokens),
        price.unwrap_or_default()
    )
}

/// What a run points at in its conversation: each node once, with what it is to the run, in the order of their numbers.
pub(crate) fn cited(run: &DecidedRun) -> Vec<(NodeId, &'static str)> {
    let mut nodes: Vec<(NodeId, &'static str)> = Vec::new();
    nodes.extend(run.opened.as_ref().map(|opened| (opened.prompt, "prompt")));
    let calls = run.evidence.iter().filter_map(|found| found.call.as_ref());
    nodes.extend(calls.map(|call| (call.node, "evidence")));
    if let Some(given) = &run.verdict {
        // A verdict cites the answer that it was given at; that it is the end says more.
        nodes.push((given.newest, "end"));
        let names = given.decision.cites().nodes.iter();
        // A name of somebody else's node is shown and leads nowhere.
        nodes.extend(names.filter_map(|name| Some((name.as_str().parse().ok()?, "cited"))));
        let left =
            given.decision.considered().iter().filter_map(|considered| match &considered.alternative {
                Alternative::Branch(name) => Some((name.as_str().parse().ok()?, "left")),
                Alternative::PatchSet(_) | Alternative::Named(_) => None,
            });
        nodes.extend(left);
    }
    // Stable: of several reasons the first one stays.
    nodes.sort_by_key(|(node, _)| *node);
    nodes.dedup_by_key(|(node, _)| *node);
    nodes
}

/// Tells in a line what was said at a node.
pub(crate) fn words(tree: Option<&MessageTree>, id: NodeId, limit: usize) -> String {
    let Some(message) = tree.and_then(|tree| tree.node(id).ok()).map(|node| node.message()) else {
        return paint(DIM, "not in this session");
    };
    let who = paint(role_style(message), &format!("{:<7}", speaker(message)));
    let mut text = message.text();
    if let Some(result) = message.results().next() {
        text = result.text();
    }
    let calls = calls_in_words(message, label_of);
    if !calls.is_empty() {
        text = format!("{text} → {}", calls.join(", "));
    }
    format!("{who} {}", one_line(&text, limit))
}
