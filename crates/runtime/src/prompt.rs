//! From the tree to a request.
//!
//! The list that is sent is a copy, made for one request and thrown away: stored messages stay as they were, and every
//! difference between the two is a repair that somebody can read.

use std::sync::Arc;

use trunkline_message_tree::{Message, ToolChoice, ToolSpec};
use trunkline_providers::{Provider, Request};
use trunkline_sanitize::{Repair, RequestFacts, WireRules, sanitize};

use crate::agent::Settings;
use crate::choices;
use crate::layers::revert;
use crate::state::State;

/// A request and what was repaired for it.
pub(crate) struct Prompt {
    pub(crate) request: Request,
    pub(crate) repairs: Vec<Repair>,
}

/// What the next request is held to; nothing, mostly.
#[derive(Default)]
pub(crate) struct Held {
    pub(crate) choice: Option<ToolChoice>,
    /// Offer these tools alone.
    pub(crate) only: Option<Vec<String>>,
}

/// Builds the next request.
pub(crate) fn build(state: &State, settings: &Settings, provider: &dyn Provider, held: Held) -> Prompt {
    let rendered = revert::rendered(&settings.setup.revert, &state.tree, &state.revert);
    let mut tools = tools(settings);
    if let Some(only) = held.only {
        tools.retain(|tool| only.contains(&tool.name));
    }
    let (messages, repairs) = legal(rendered, provider, &tools);
    let mut request = Request::new(provider.origin().model.clone(), messages);
    request.tools = tools;
    request.max_output_tokens = Some(settings.max_output_tokens);
    request.temperature = settings.temperature;
    request.thinking = settings.thinking;
    request.tool_choice = held.choice.unwrap_or_default();
    Prompt { request, repairs }
}

/// Returns the tools on offer.
pub(crate) fn tools(settings: &Settings) -> Vec<ToolSpec> {
    let setup = &settings.setup;
    let mut tools: Vec<_> = setup.catalogue.specs().cloned().collect();
    tools.extend(choices::spec(setup));
    tools.extend(revert::specs(&setup.revert));
    tools
}

/// Takes the messages that lead both lists from the one that was sent last.
///
/// A provider knows a message that it has encoded by its address. Content is compared and not assumed: a message that is
/// rendered or repaired differently today is another one.
pub(crate) fn share(messages: &mut [Arc<Message>], sent: &[Arc<Message>]) {
    for (message, sent) in messages.iter_mut().zip(sent).take_while(|(message, sent)| message == sent) {
        message.clone_from(sent);
    }
}

/// Makes a list legal for the provider's wire. `tools` are those that are offered beside it.
pub(crate) fn legal(
    rendered: Vec<Message>,
    provider: &dyn Provider,
    tools: &[ToolSpec],
) -> (Vec<Message>, Vec<Repair>) {
    let mut facts = RequestFacts::default();
    facts.origin = Some(provider.origin().clone());
    facts.tools_offered = Some(!tools.is_empty());
    facts.tools = tools.iter().map(|tool| tool.name.clone()).collect();
    let sanitized = sanitize(rendered, &rules(provider), &facts);
    (sanitized.messages.into_owned(), sanitized.repairs)
}

/// Returns the rules of the provider where it speaks a dialect of its own, otherwise those of the wire.
fn rules(provider: &dyn Provider) -> WireRules {
    let wire = provider.wire();
    WireRules::named(&provider.origin().provider)
        .filter(|rules| rules.wire == wire)
        .or_else(|| WireRules::named(wire))
        .unwrap_or_else(|| WireRules::open(wire.to_owned()))
}
