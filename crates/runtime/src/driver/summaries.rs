//! What a branch came to, asked of somebody after it was left: beside the loop. Which branches that are is planned in
//! [`acts`](trunkline_session_machine::acts::summaries).

use std::sync::Arc;

use tokio::time::{Instant, timeout_at};
use trunkline_agent_traits::{Meter, Summarizer};
use trunkline_session_machine::acts::summaries::{Asked, said};
use trunkline_session_machine::words::bill::tokens_of;
use trunkline_session_machine::{Event, RuntimeError};

use crate::effects::ask_summarizer::{LIMIT, ask_summarizer};
use crate::writer::Writer;
use crate::writer::summaries::{Came, UnderWay};

/// Writes down what has come, and asks for what is missing. Waits for no summary.
pub(crate) async fn tend_summaries(writer: &mut Writer) -> Result<(), RuntimeError> {
    writer.summaries.take_ready();
    if writer.state.open_turn().is_none() {
        // It is given up only when it is written: it was paid for.
        while let Some(Came { asked, answer }) = writer.summaries.asking.came.front().cloned() {
            let plan = said(&writer.view(), &asked, answer.as_deref().ok());
            writer.write(plan, None).await?;
            writer.summaries.asking.came.pop_front();
            writer.facts.cost(asked.usage.map_or(0, tokens_of));
            if let Err(reason) = answer {
                writer.tell(&Event::SummaryFailed { head_move: asked.head_move, reason });
            }
        }
    }
    ask_again(writer).await?;
    start_summaries(writer);
    Ok(())
}

/// Records that this process asks for what another one did not live to see.
async fn ask_again(writer: &mut Writer) -> Result<(), RuntimeError> {
    let others = writer.summaries.ours_from;
    if others == 0 || summarizer(writer).is_none() {
        return Ok(());
    }
    let mut asked = writer.summaries.asking.asked.clone();
    let Some(plan) = asked.take_up(&writer.view(), others, writer.facts.spent.tokens) else {
        return Ok(());
    };
    if plan.then {
        // Those branches are read.
        writer.load_whole().await?;
    }
    // If this fails, or is dropped, it is found out again what was asked.
    writer.write(plan, None).await?;
    // From here on everything is ours.
    writer.summaries.ours_from = 0;
    writer.summaries.asking.asked = asked;
    Ok(())
}

/// Asks for what the reverts of this process did not say.
pub(crate) fn start_summaries(writer: &mut Writer) {
    if writer.state.revert.asked.is_empty() {
        return;
    }
    let mut asked = std::mem::take(&mut writer.summaries.asking.asked);
    asked.add_own(&writer.view(), writer.summaries.ours_from);
    writer.summaries.asking.asked = asked;
    start_waiting(writer);
}

fn start_waiting(writer: &mut Writer) {
    if !writer.summaries.asking.asked.is_waiting() {
        return;
    }
    let Some(summarizer) = summarizer(writer).cloned() else { return };
    let mut waiting = std::mem::take(&mut writer.summaries.asking.asked);
    let given_up = waiting.give_up(&writer.view(), writer.facts.spent.tokens);
    while let Some(unsaid) = waiting.next(&writer.view(), writer.summaries.asking.by_task.len()) {
        let asking = &mut *writer.summaries.asking;
        let asked = Asked { head_move: unsaid.head_move, task: unsaid.task, usage: None };
        let meter = Meter::default();
        let task = asking.tasks.spawn(ask_summarizer(Arc::clone(&summarizer), unsaid, meter.clone()));
        asking.by_task.insert(task.id(), UnderWay { asked, meter });
    }
    writer.summaries.asking.asked = waiting;
    given_up.iter().for_each(|event| writer.tell(event));
}

/// Returns who says what branches came to, if the model may leave any.
fn summarizer(writer: &Writer) -> Option<&Arc<dyn Summarizer>> {
    writer.settings().summarizer.as_ref().filter(|_| writer.settings().setup.revert.is_some())
}

/// Waits for the summaries that are asked for, at most five minutes, and writes down what has come.
pub(crate) async fn finish_summaries(writer: &mut Writer) -> Result<(), RuntimeError> {
    tend_summaries(writer).await?;
    let until = Instant::now() + LIMIT;
    let mut next = timeout_at(until, writer.summaries.asking.tasks.join_next_with_id()).await;
    while let Ok(Some(joined)) = next {
        writer.summaries.asking.take(joined);
        start_waiting(writer);
        next = timeout_at(until, writer.summaries.asking.tasks.join_next_with_id()).await;
    }
    tend_summaries(writer).await
}
