//! From the tree to a request.
//!
//! The list that is sent is made for requests and never stored: stored messages stay as they were, and every
//! difference between the two is a repair that somebody can read.

use serde_json::{Map, Value};
use trunkline_message_tree::{Message, MessageList, ToolChoice};
use trunkline_providers::{Feature, Request, Thinking, Trait, Traits};
use trunkline_sanitize::{Prefix, Reasoning, Repair, RequestFacts, WireRules, sanitize};

use crate::request::rendering::Rendering;
use crate::request::{live, prefixes};
use crate::rules::plans;
use crate::setup::{AskedModel, Setup};
use crate::state::State;

/// A request and what was repaired for it.
pub struct Prompt {
    /// The request.
    pub request: Request,
    /// What was repaired in the copy that is sent.
    pub repairs: Vec<Repair>,
    /// What is noted of an answer, where reasoning is bound to what it was written behind.
    pub asked: Option<prefixes::Asked>,
}

/// What the next request is held to; nothing, mostly.
#[derive(Default)]
pub struct Held {
    pub(crate) choice: Option<ToolChoice>,
    /// Offer these tools alone.
    pub(crate) only: Option<Vec<String>>,
}

/// Builds the next request.
///
/// What was sent last lends its messages where the list has to be mended: what is mended alike is not encoded again.
pub fn build(
    state: &State,
    rendering: &mut Rendering,
    setup: &Setup,
    held: Held,
    sent: &MessageList,
) -> Prompt {
    let (model, asking) = (&setup.model, &setup.asking);
    let mut tools = plans::offered(state, setup);
    // A hold never offers less to a model whose reasoning is bound to its tools.
    if let Some(only) = held.only {
        tools.retain(|tool| only.contains(&tool.name));
    }
    let mut request = Request::new(model.origin.model.clone(), Vec::<Message>::new());
    request.tools = tools;
    request.max_output_tokens = Some(asking.max_output_tokens);
    request.temperature = asking.temperature;
    request.output = asking.output.clone().filter(|_| model.takes(Feature::OutputSchema));
    request.seed = asking.seed.filter(|_| model.takes(Feature::Seed));
    if model.takes(Feature::Stop) {
        request.stop.clone_from(&asking.stop);
    }
    request.thinking = asking.thinking;
    request.tool_choice = held.choice.unwrap_or_default();
    request.extra.clone_from(&asking.extra);
    request.traits = prefixes::traits(state, setup);
    let window = state.wants.window(model, setup.window());
    let (rules, mut facts) = asked(&mut request, window, model);
    let binds = rules.reasoning_bound;
    if binds {
        facts.head = Some(prefixes::head(&request.tools, &request.extra));
        facts.prefixes = state.prefixes.known().clone();
    }
    rendering.refresh(state);
    debug_assert!(
        rendering.shows(&live::rendered(&setup.revert, binds, &state.tree, &state.revert)),
        "what is kept is what would be rendered"
    );
    let refused = state.wants.refused_until(model);
    if let Some(legal) = rendering.legal(&rules, &facts, refused) {
        debug_assert!(rendering.agrees(&legal, &rules, &facts), "what was found legal needs no other repair");
        request.messages = legal.list;
        let asked = legal.prefix.map(|prefix| prefixes::Asked { prefix, rules });
        return Prompt { request, repairs: legal.repairs, asked };
    }
    let mut rendered: Vec<_> = rendering.messages().iter().map(|message| Message::clone(message)).collect();
    state.wants.disown(model, &mut rendered);
    let repairs = put(&mut request, rendered, &rules, &facts, model);
    share(&mut request.messages, rendering.list(), sent);
    let asked = binds.then(|| {
        let mut prefix = Prefix::after(facts.head.as_ref());
        request.messages.iter().for_each(|message| prefix.message(message));
        prefixes::Asked { prefix: prefix.digest(), rules }
    });
    Prompt { request, repairs, asked }
}

/// Takes the messages that lead the list from what was rendered or from what was sent last, where they are the same there.
///
/// A provider knows a message that it has encoded by its address. Content is compared and not assumed: a message that is
/// rendered or repaired differently today is another one.
fn share(messages: &mut MessageList, rendered: &MessageList, sent: &MessageList) {
    let known = |(index, message)| {
        let mut known = [rendered, sent].into_iter().filter_map(|list| list.get(index));
        known.find(|known| *known == message)
    };
    let mut shared: MessageList = messages.iter().enumerate().map_while(known).cloned().collect();
    shared.extend(messages.iter().skip(shared.len()).cloned());
    *messages = shared;
}

/// Puts a list into a request that is no part of the conversation, made legal for its wire. `window` is how many tokens the
/// model can read at once, if somebody said so.
pub fn fill(
    request: &mut Request,
    rendered: Vec<Message>,
    window: Option<u64>,
    model: &AskedModel,
) -> Vec<Repair> {
    let (rules, facts) = asked(request, window, model);
    put(request, rendered, &rules, &facts, model)
}

/// Returns the rules that a list is held to, and what else is asked.
fn asked(request: &mut Request, window: Option<u64>, model: &AskedModel) -> (WireRules, RequestFacts) {
    let mut facts = RequestFacts::default();
    facts.origin = Some(model.origin.clone());
    facts.tools_offered = Some(!request.tools.is_empty());
    facts.tools = request.tools.iter().map(|tool| tool.name.clone()).collect();
    facts.thinking = thinking(request, &model.wire);
    facts.choice_forced = matches!(request.tool_choice, ToolChoice::Any | ToolChoice::Named(_));
    facts.context_window = window.map(|tokens| u32::try_from(tokens).unwrap_or(u32::MAX));
    (rules(model, &request.traits), facts)
}

/// Puts a list into a request, made legal for the provider's wire and for everything else that is asked. Returns what was
/// repaired.
///
/// Where the list cannot be sent to a model that reasons, because the reasoning of a running loop is lost, it is asked not to.
fn put(
    request: &mut Request,
    rendered: Vec<Message>,
    rules: &WireRules,
    facts: &RequestFacts,
    model: &AskedModel,
) -> Vec<Repair> {
    let sanitized = sanitize(rendered, rules, facts);
    if sanitized.thinking_off {
        if let Some(fields) = fields_of_claude(&mut request.extra, &model.wire) {
            fields.remove("thinking");
        }
        request.thinking = if model.can_stop_reasoning { Thinking::Off } else { Thinking::Unsaid };
    }
    request.messages = sanitized.messages.into_owned().into();
    sanitized.repairs
}

/// Returns whether the request asks the model to think, as far as rules depend on it.
fn thinking(request: &mut Request, wire: &str) -> trunkline_sanitize::Thinking {
    use trunkline_sanitize::Thinking as Asked;
    let claude = matches!(wire, "anthropic" | "bedrock");
    // A field that was added to the request goes before what the request says.
    let field = fields_of_claude(&mut request.extra, wire).and_then(|fields| fields.get("thinking"));
    if let Some(kind) = field.and_then(|asked| asked.get("type")).and_then(Value::as_str) {
        return match kind {
            "adaptive" => Asked::Adaptive,
            "disabled" => Asked::Off,
            _ => Asked::On,
        };
    }
    match request.thinking_on(wire) {
        // A service that wants the reasoning of each call says by that that its model thinks unasked.
        Thinking::Unsaid if request.traits.has(Trait::ReasoningBesideCalls) => Asked::Adaptive,
        Thinking::Unsaid | Thinking::Off => Asked::Off,
        Thinking::Effort(_) if claude => Asked::Adaptive,
        _ => Asked::On,
    }
}

/// Returns where a request has the field that asks Claude to think, among what was added to it.
fn fields_of_claude<'a>(extra: &'a mut Map<String, Value>, wire: &str) -> Option<&'a mut Map<String, Value>> {
    match wire {
        "anthropic" => Some(extra),
        "bedrock" => extra.get_mut("additionalModelRequestFields")?.as_object_mut(),
        _ => None,
    }
}

/// Returns the rules of the provider where it speaks a dialect of its own, otherwise those of the wire; with what is known of
/// the service.
fn rules(model: &AskedModel, traits: &Traits) -> WireRules {
    let wire = model.wire.as_str();
    let mut rules = WireRules::named(&model.origin.provider)
        .filter(|rules| rules.wire == wire)
        .or_else(|| WireRules::named(wire))
        .unwrap_or_else(|| WireRules::open(wire.to_owned()));
    if traits.has(Trait::UnsignedReasoning) && rules.reasoning == Reasoning::Signed {
        rules.reasoning = Reasoning::SignedOrReturned;
    }
    rules.reasoning_bound = traits.has(Trait::BoundReasoning);
    if traits.has(Trait::NoReasoningBack) {
        rules.reasoning = Reasoning::Absent;
    }
    if traits.has(Trait::ReasoningBesideCalls) {
        rules.reasoning_beside_calls = true;
        rules.reasoning = match rules.reasoning {
            Reasoning::Signed | Reasoning::SignedOrReturned => Reasoning::Own,
            Reasoning::Returned | Reasoning::Absent => Reasoning::Plain,
            reasoning => reasoning,
        };
    }
    rules
}
