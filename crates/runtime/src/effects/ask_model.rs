//! Asks the model, and takes in what comes of it.

use tokio::time::Instant;
use trunkline_agent_traits::Cancel;
use trunkline_message_tree::StopReason;
use trunkline_providers::{ErrorKind, Fold, ProviderError, Request};
use trunkline_session_machine::acts::reply::Came;
use trunkline_session_machine::request::prompt::Prompt;
use trunkline_session_machine::{Event, RuntimeError};

use crate::world::ask_beside::chance;
use crate::world::spans::Span;
use crate::writer::Writer;
use crate::writer::waiting::asked_to_end;

/// Asks the model. Returns what came of it, whole or as far as it came.
pub(crate) async fn ask_model(
    writer: &mut Writer,
    prompt: Prompt,
    turn: u32,
    cancel: &Cancel,
) -> Result<Came, RuntimeError> {
    let provider = writer.settings().provider.clone();
    let (sent, asked) = (prompt.request.messages.clone(), prompt.asked);
    let background = provider.answers_in_background(&prompt.request);
    writer.tell(&Event::Asking { turn, messages: sent.len(), repairs: prompt.repairs });
    let mut fold = Fold::new(provider.origin().clone());
    let (began, mut within) = (Instant::now(), 0);
    let span = Span::request(Some(writer.id()), provider.origin());
    let cancelled = tokio::select! {
        biased;
        () = cancel.cancelled() => Ok(true),
        asked = asked_to_end(writer) => {
            // What was streamed until then cannot be kept: that is for whoever writes now.
            asked.map_err(|by| writer.lost(by))?;
            cancel.cancel();
            Ok(true)
        }
        received = span.around(receive(writer, prompt.request, &mut fold, &mut within)) => received.map(|()| false),
    };
    if matches!(cancelled, Ok(false)) {
        writer.facts.answered();
    }
    let (wants, unread) = (fold.wants().to_vec(), fold.unread().to_vec());
    let (remark, id) = (fold.remark().map(str::to_owned), fold.id().map(str::to_owned));
    let stopped = matches!(cancelled, Ok(true));
    let (message, fault) = match cancelled {
        Ok(false) => (Some(fold.finish()), None),
        Ok(true) => (fold.cut(StopReason::Cancelled), None),
        Err(fault) => (fold.cut(StopReason::Cut), Some(fault)),
    };
    span.answered(message.as_ref(), fault.as_ref());
    writer.kept.sent = sent.clone();
    Ok(Came {
        message,
        fault,
        cancelled: stopped,
        wants,
        unread,
        remark,
        id,
        background,
        behind: asked,
        sent,
        took: began.elapsed(),
        within,
        chance: chance(),
    })
}

/// Takes an answer in as it comes. `within` counts the attempts that the provider itself made in vain.
async fn receive(
    writer: &Writer,
    request: Request,
    fold: &mut Fold,
    within: &mut u32,
) -> Result<(), ProviderError> {
    let provider = &writer.settings().provider;
    let fetched = match writer.state.tries.answer(provider.origin(), writer.state.tree.head()) {
        Some(id) => provider.fetch(&request, id).await?,
        None => None,
    };
    // What is sent in its place, should it be gone.
    let mut instead = None;
    let mut reply = match fetched {
        Some(reply) => {
            instead = Some(request);
            reply
        }
        None => provider.send(request).await?,
    };
    loop {
        let event = match reply.next().await {
            // It is not kept any more, or never was.
            Err(fault) if fault.kind() == Some(ErrorKind::NotFound) => match instead.take() {
                Some(request) => {
                    reply = provider.send(request).await?;
                    continue;
                }
                None => return Err(fault),
            },
            event => event?,
        };
        let Some(event) = event else { return Ok(()) };
        *within += u32::from(matches!(event, trunkline_providers::Event::Retrying { .. }));
        fold.push(&event);
        writer.tell(&Event::Stream(event));
    }
}
