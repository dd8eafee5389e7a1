//! What a branch came to, asked of somebody after it was left.
//!
//! A revert never waits for this. It is asked beside the loop, and what it gives is written by the session's writer between
//! two turns, as a note of its own. What is lost in a kill is asked for once more by the next process, and then no more.

use crate::writer::Writer;
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;
use trunkline_agent_traits::{LeftBranch, Summarizer, SummaryError};
use trunkline_session_machine::notes::record;
use trunkline_session_machine::notes::revert::{LAYER, NOTE, SUMMARY_ASKED, SummaryAsked};
use trunkline_session_machine::{Event, RuntimeError};

use trunkline_message_tree::MoveId;
use trunkline_revert::Note;

/// How long a summary may take, whatever the summarizer itself says.
const LIMIT: Duration = Duration::from_secs(300);
/// How often a summary of one revert is asked for at most, over all processes.
const MOST_ASKED: u32 = 2;
/// How many summaries are asked for at once.
const MOST_AT_ONCE: usize = 2;
/// Of how many reverts of other processes, the latest, a process asks again. The log may come from anywhere, and each of
/// them costs a request.
const MOST_AGAIN: usize = 8;

/// Writes down what has come, and asks for what is missing. Waits for no summary.
pub(crate) async fn tend_summaries(writer: &mut Writer) -> Result<(), RuntimeError> {
    writer.summaries.take_ready();
    if writer.state.open_turn().is_none() {
        // It is given up only when it is written: it was paid for.
        while let Some((head_move, answer)) = writer.summaries.asking.came.front().cloned() {
            match answer {
                Ok(text) => write_summary(writer, head_move, &text).await?,
                Err(reason) => writer.tell(&Event::SummaryFailed { head_move, reason }),
            }
            writer.summaries.asking.came.pop_front();
        }
    }
    ask_again(writer).await?;
    start_summaries(writer);
    Ok(())
}

async fn write_summary(writer: &mut Writer, head_move: MoveId, text: &str) -> Result<(), RuntimeError> {
    let tree = &writer.state.tree;
    let first = writer.state.revert.unsaid().find(|note| note.made_by == head_move);
    // An undo was faster: there is nothing to say any more.
    let Some(first) = first.filter(|note| note.is_in_force(tree)) else { return Ok(()) };
    let late = Note::late(first, text, tree.head(), trunkline_revert::turn(tree));
    let record = record::note(LAYER, NOTE, writer.settings().now(), &late);
    writer.commit(vec![record], None).await
}

/// Records that this process asks for what another one did not live to see.
async fn ask_again(writer: &mut Writer) -> Result<(), RuntimeError> {
    if writer.summaries.ours_from == 0 || summarizer(writer).is_none() {
        return Ok(());
    }
    let part = &writer.state.revert;
    let old: HashSet<MoveId> =
        part.notes[..writer.summaries.ours_from].iter().map(|note| note.made_by).collect();
    let lost = part.unsaid().filter(|note| {
        let asked = part.asked.get(&note.made_by).copied().unwrap_or_default();
        let open =
            (1..MOST_ASKED).contains(&asked) && !writer.summaries.asking.started.contains(&note.made_by);
        open && old.contains(&note.made_by) && note.is_in_force(&writer.state.tree)
    });
    // Of one move there may be several notes.
    let lost: BTreeSet<MoveId> = lost.map(|note| note.made_by).collect();
    let lost: Vec<MoveId> = lost.into_iter().rev().take(MOST_AGAIN).collect();
    // From here on everything is ours; what is old and not asked for now was given up.
    writer.summaries.ours_from = 0;
    writer.summaries.asking.started.extend(old);
    if !lost.is_empty() {
        // Those branches are read.
        writer.load_whole().await?;
    }
    let at = writer.settings().now();
    let record =
        |head_move: &MoveId| record::note(LAYER, SUMMARY_ASKED, at, &SummaryAsked { head_move: *head_move });
    let records = lost.iter().map(record).collect();
    writer.commit(records, None).await?;
    writer.summaries.asking.waiting.extend(lost);
    Ok(())
}

/// Asks for what the reverts of this process did not say.
pub(crate) fn start_summaries(writer: &mut Writer) {
    let part = &writer.state.revert;
    if part.asked.is_empty() {
        return;
    }
    let ours = part.notes.iter().skip(writer.summaries.ours_from);
    let ours: HashSet<MoveId> = ours.map(|note| note.made_by).collect();
    let open = part.unsaid().filter(|note| {
        let first = part.asked.get(&note.made_by) == Some(&1);
        first && ours.contains(&note.made_by) && !writer.summaries.asking.started.contains(&note.made_by)
    });
    let open: Vec<MoveId> = open.map(|note| note.made_by).collect();
    for head_move in open {
        if writer.summaries.asking.started.insert(head_move) {
            writer.summaries.asking.waiting.push_back(head_move);
        }
    }
    start_waiting(writer);
}

fn start_waiting(writer: &mut Writer) {
    while writer.summaries.asking.by_task.len() < MOST_AT_ONCE
        && let Some(head_move) = writer.summaries.asking.waiting.pop_front()
    {
        start_summary(writer, head_move);
    }
}

/// Returns who says what branches came to, if the model may leave any.
fn summarizer(writer: &Writer) -> Option<&Arc<dyn Summarizer>> {
    writer.settings().summarizer.as_ref().filter(|_| writer.settings().setup.revert.is_some())
}

fn start_summary(writer: &mut Writer, head_move: MoveId) {
    let Some(summarizer) = summarizer(writer).cloned() else { return };
    let Some(note) = writer.state.revert.unsaid().find(|note| note.made_by == head_move) else { return };
    let nodes = note.abandoned.iter().filter_map(|id| writer.state.tree.node(*id).ok());
    let messages = nodes.map(|node| node.message().clone()).collect();
    let branch = LeftBranch::new(note.kind, messages, note.ledger.clone().unwrap_or_default());
    let task = writer.summaries.asking.tasks.spawn(async move {
        let asked = async { summarizer.summarize(branch).await };
        match tokio::time::timeout(LIMIT, asked).await {
            Ok(Ok(text)) if text.trim().is_empty() => Err(SummaryError::Empty),
            Ok(answer) => answer,
            Err(_) => Err(SummaryError::TimedOut { limit: LIMIT }),
        }
    });
    writer.summaries.asking.by_task.insert(task.id(), head_move);
}

/// Waits for the summaries that are asked for, at most five minutes, and writes down what has come.
pub(crate) async fn finish_summaries(writer: &mut Writer) -> Result<(), RuntimeError> {
    tend_summaries(writer).await?;
    let until = tokio::time::Instant::now() + LIMIT;
    let mut next = tokio::time::timeout_at(until, writer.summaries.asking.tasks.join_next_with_id()).await;
    while let Ok(Some(joined)) = next {
        writer.summaries.asking.take(joined);
        start_waiting(writer);
        next = tokio::time::timeout_at(until, writer.summaries.asking.tasks.join_next_with_id()).await;
    }
    tend_summaries(writer).await
}
