//! Asks the model, and takes in what comes of it.

use crate::world::spans::Span;
use tokio::time::Instant;
use trunkline_message_tree::{Role, StopReason};
use trunkline_providers::{ErrorKind, Fold, ProviderError, Request};
use trunkline_session_machine::acts::hold::hold;
use trunkline_session_machine::acts::reply::{Came, take_reply};
use trunkline_session_machine::request::prefixes::binds_reasoning;
use trunkline_session_machine::request::prompt;
use trunkline_session_machine::request::rendering::Rendering;
use trunkline_session_machine::{Event, RuntimeError};

use super::compact::note_break;
use super::service::note_who_is_asked;
use crate::world::ask_beside::chance;
use crate::writer::Writer;
use crate::writer::waiting::asked_to_end;
use trunkline_agent_traits::Cancel;

/// Asks the model and records its reply, whole or as far as it came. Returns the tokens that it cost.
pub(crate) async fn ask_model(writer: &mut Writer, turn: u32, cancel: &Cancel) -> Result<u64, RuntimeError> {
    let held = writer.perform(|view, _| hold(view)).await?;
    load_last_reply(writer).await?;
    note_break(writer).await?;
    note_who_is_asked(writer).await?;
    let provider = writer.settings().provider.clone();
    let binds = binds_reasoning(&writer.state, &writer.settings().setup);
    let settings = &writer.settings;
    let rendering = Rendering::of(&mut writer.kept.rendering, &settings.setup.revert, binds);
    let prompt = prompt::build(&writer.state, rendering, &settings.setup, held, &writer.kept.sent);
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
        writer.on_trial.clear();
        writer.cuts = 0;
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
    let came = Came {
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
    };
    let plan = take_reply(&writer.view(), came)?;
    writer.write(plan, None).await?
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

/// Reads everything if the newest reply is on a branch that was left: the provider's cache has that branch, and what is
/// lost of it is told.
async fn load_last_reply(writer: &mut Writer) -> Result<(), RuntimeError> {
    if writer.state.whole {
        return Ok(());
    }
    let nodes = writer.state.tree.nodes().rev();
    let mut replies = nodes.filter(|(_, node)| node.message().role == Role::Assistant && !node.is_filed());
    let newest = replies.next().map(|(id, _)| id);
    drop(replies);
    match newest {
        Some(reply) => writer.load_words_of(reply).await,
        None => Ok(()),
    }
}
