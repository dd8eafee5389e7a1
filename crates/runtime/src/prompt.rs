//! From the tree to a request.
//!
//! The list that is sent is a copy, made for one request and thrown away: stored messages stay as they were, and every
//! difference between the two is a repair that somebody can read.

use trunkline_message_tree::Message;
use trunkline_providers::{Provider, Request};
use trunkline_sanitize::{Repair, RequestFacts, WireRules, sanitize};

use crate::agent::Settings;
use crate::layers::{resolve, revert};
use crate::state::State;

/// A request and what was repaired for it.
pub(crate) struct Prompt {
    pub(crate) request: Request,
    pub(crate) repairs: Vec<Repair>,
}

/// Builds the next request.
pub(crate) fn build(state: &State, settings: &Settings, provider: &dyn Provider) -> Prompt {
    let setup = &settings.setup;
    let rendered = revert::rendered(&setup.revert, &state.tree, &state.revert);
    let (messages, repairs) = legal(rendered, provider);
    let mut request = Request::new(provider.origin().model.clone(), messages);
    request.tools = setup.catalogue.specs().cloned().collect();
    request.tools.extend(resolve::spec(&setup.resolve));
    request.tools.extend(revert::spec(&setup.revert));
    request.max_output_tokens = settings.max_output_tokens;
    request.temperature = settings.temperature;
    Prompt { request, repairs }
}

/// Makes a list legal for the provider's wire.
fn legal(rendered: Vec<Message>, provider: &dyn Provider) -> (Vec<Message>, Vec<Repair>) {
    let rules = match provider.wire() {
        "anthropic" => WireRules::anthropic(),
        "openai-chat" => WireRules::openai_chat(),
        other => WireRules::open(other.to_owned()),
    };
    let mut facts = RequestFacts::default();
    facts.origin = Some(provider.origin().clone());
    let sanitized = sanitize(rendered, &rules, &facts);
    (sanitized.messages.into_owned(), sanitized.repairs)
}
