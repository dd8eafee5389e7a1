//! A request: made ready, sent, and taken in, with what follows where the service refuses it.

use trunkline_agent_traits::Cancel;
use trunkline_message_tree::Role;
use trunkline_session_machine::acts::hold::hold;
use trunkline_session_machine::acts::reply::take_reply;
use trunkline_session_machine::acts::service::{note_asked, shrink};
use trunkline_session_machine::request::prefixes::binds_reasoning;
use trunkline_session_machine::request::prompt;
use trunkline_session_machine::request::rendering::Rendering;
use trunkline_session_machine::{Event, RuntimeError};

use super::compact::make_room;
use super::learn::learn_from;
use crate::effects::ask_model::ask_model;
use crate::writer::Writer;

/// Asks the model and records its reply; where the service wants it otherwise, or finds it too long, it is made so and asked again in the
/// next step.
pub(crate) async fn request(writer: &mut Writer, cancel: &Cancel) -> Result<(), RuntimeError> {
    let tokens = match ask(writer, cancel).await {
        Err(fault) if learn_from(writer, &fault).await? => {
            writer.facts.unasked();
            return Ok(());
        }
        Err(fault) => match make_room(writer, fault, cancel).await {
            Err(fault) if shrink_window(writer, &fault).await? => return Ok(()),
            made => made?,
        },
        asked => asked?,
    };
    writer.facts.cost(tokens);
    Ok(())
}

/// Returns the tokens that a reply has cost, which is recorded.
async fn ask(writer: &mut Writer, cancel: &Cancel) -> Result<u64, RuntimeError> {
    let held = writer.perform(|view, _| hold(view)).await?;
    load_last_reply(writer).await?;
    note_break(writer).await?;
    note_who_is_asked(writer).await?;
    let binds = binds_reasoning(&writer.state, &writer.settings().setup);
    let settings = &writer.settings;
    let rendering = Rendering::of(&mut writer.kept.rendering, &settings.setup.revert, binds);
    let prompt = prompt::build(&writer.state, rendering, &settings.setup, held, &writer.kept.sent);
    let turn = writer.facts.spent.turns;
    let came = ask_model(writer, prompt, turn, cancel).await?;
    let plan = take_reply(&writer.view(), came)?;
    writer.write(plan, None).await?
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

/// Records where and why the next request does not continue the one before it, before it is sent.
async fn note_break(writer: &mut Writer) -> Result<(), RuntimeError> {
    let (binds, at) = (binds_reasoning(&writer.state, &writer.settings().setup), writer.settings().now());
    let setting = &writer.settings.setup.revert;
    let rendering = Rendering::of(&mut writer.kept.rendering, setting, binds);
    rendering.refresh(&writer.state);
    let lost = rendering.live().cache_break(&writer.state.tree, &writer.state.revert, at);
    if let Some(lost) = lost {
        writer.commit(vec![lost], None).await?;
        // Notes may go with what is lost anyway.
        let setting = &writer.settings.setup.revert;
        Rendering::of(&mut writer.kept.rendering, setting, binds).refresh(&writer.state);
    }
    let delayed = writer.kept.rendering.as_ref().and_then(|kept| kept.live().delayed(&writer.state.revert));
    if let Some((notes, messages)) = delayed {
        writer.tell(&Event::DecayDelayed { notes, messages });
    }
    Ok(())
}

/// Notes whom the next request goes to, where that was named by its address and is news.
async fn note_who_is_asked(writer: &mut Writer) -> Result<(), RuntimeError> {
    let plan = note_asked(&writer.view(), writer.settings().url.as_deref());
    writer.write(plan, None).await
}

/// After a list that was too long and cannot be summed up: takes the window for so small that the largest result is cut, and
/// returns whether that is news.
async fn shrink_window(writer: &mut Writer, fault: &RuntimeError) -> Result<bool, RuntimeError> {
    let RuntimeError::Provider(fault) = fault else { return Ok(false) };
    let plan = shrink(&writer.view(), fault, writer.facts.cuts);
    let shrunk = writer.write(plan, None).await?;
    writer.facts.cuts += u8::from(shrunk);
    Ok(shrunk)
}
