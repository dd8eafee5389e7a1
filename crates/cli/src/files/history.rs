//! A conversation of a file, as one wire would get it.
//!
//! A session is a history: what the assistant said last is followed by the next prompt, so a prompt is put there before
//! anything is judged and taken away again after a repair. A message list is taken as a request and judged as it stands.
//! What a client or an encoder lays out differently before it sends it is laid out so here too, and put back if no repair
//! touched it.

use trunkline_message_tree::{Author, Content, Message, Origin, Role};
use trunkline_sanitize::{
    CallSignatures, Repair, RequestFacts, ResultPlace, TakenFields, TakenMedia, Violation, WireRules,
    sanitize, violations,
};
use trunkline_transcripts::Format;

use crate::args::foreign::End;

/// Stands for what a person will say next. It never leaves this module.
const NEXT_PROMPT: &str = "(the next prompt)";
/// Said where the model is not known that will be asked.
const ANY_MODEL: &str = "(any)";

/// A message list under the rules of one wire.
pub(crate) struct History<'a> {
    spans: Vec<Span<'a>>,
    /// What is judged: messages as they stand on the wire, and the next prompt.
    pub(crate) shaped: Vec<Message>,
    rules: &'a WireRules,
    facts: &'a RequestFacts,
    has_prompt: bool,
}

/// Messages that stand differently on the wire.
struct Span<'a> {
    given: &'a [Message],
    shaped: Vec<Message>,
}

/// A list that the wire takes, and what was done to make it so.
pub(crate) struct Mended {
    pub(crate) messages: Vec<Message>,
    pub(crate) repairs: Vec<Repair>,
    pub(crate) thinking_off: bool,
}

impl<'a> History<'a> {
    pub(crate) fn new(
        given: &'a [Message],
        format: Format,
        rules: &'a WireRules,
        facts: &'a RequestFacts,
        end: End,
    ) -> Self {
        let (mut spans, mut shaped) = (Vec::new(), Vec::with_capacity(given.len()));
        // The client joins what it says in a row before it sends it; a list is sent as it is.
        let joins = |one: &Message, next: &Message| {
            format == Format::ClaudeCode && one.role == Role::User && next.role == Role::User
        };
        for run in given.chunk_by(joins) {
            let span = on_wire(run, rules);
            shaped.extend_from_slice(span.as_deref().unwrap_or(run));
            spans.extend(span.map(|shaped| Span { given: run, shaped }));
        }
        let waits = !matches!(given.last().map(|message| message.role), Some(Role::User | Role::Tool));
        let has_prompt = end == End::History && waits;
        if has_prompt {
            shaped.push(Message::user(NEXT_PROMPT));
        }
        History { spans, shaped, rules, facts, has_prompt }
    }

    /// Returns what the wire would refuse.
    pub(crate) fn violations(&self) -> Vec<Violation> {
        violations(&self.shaped, self.rules, self.facts)
    }

    /// Returns the list as the wire takes it, and as the format that it was read from writes it.
    pub(crate) fn mended(&self) -> Mended {
        let mended = self.mended_as_sent();
        Mended { messages: self.folded(&mended.messages), ..mended }
    }

    /// Returns the list as the wire takes it, for another format: that knows nothing of what a client joins or an encoder splits
    /// before it sends it.
    pub(crate) fn mended_as_sent(&self) -> Mended {
        let sanitized = sanitize(self.shaped.as_slice(), self.rules, self.facts);
        let (mut messages, mut repairs) = (sanitized.messages.into_owned(), sanitized.repairs);
        if self.has_prompt {
            without_prompt(&mut messages);
            let prompt = self.shaped.len() - 1;
            repairs.retain(|repair| repair.at.message != prompt);
        }
        Mended { messages, repairs, thinking_off: sanitized.thinking_off }
    }

    /// Puts back what only stands differently on the wire, so that it is written as it was read.
    fn folded(&self, messages: &[Message]) -> Vec<Message> {
        let (mut spans, mut rest) = (self.spans.iter().peekable(), messages);
        let mut folded = Vec::with_capacity(messages.len());
        while let Some((first, others)) = rest.split_first() {
            // Spans come in the order of the list; one that was changed is passed over.
            while spans.next_if(|span| first.node > span.shaped.first().and_then(|one| one.node)).is_some() {}
            let whole =
                spans.peek().and_then(|span| Some((span.given, rest.strip_prefix(span.shaped.as_slice())?)));
            match whole {
                Some((given, after)) => {
                    folded.extend_from_slice(given);
                    rest = after;
                }
                None => {
                    folded.push(first.clone());
                    rest = others;
                }
            }
        }
        folded
    }
}

/// Returns what the end of a file means unless somebody says otherwise.
pub(crate) fn end_of(format: Format) -> End {
    if format.is_session() { End::History } else { End::Request }
}

/// Returns the name of the wire that a conversation was written for. An agent that speaks to several says with each answer which
/// it was; the last one counts.
pub(crate) fn own_wire(format: Format, messages: &[Message]) -> &'static str {
    let last = || messages.iter().rev().find_map(|message| message.origin.as_ref());
    match format {
        Format::OpenAiChat => "openai-chat",
        Format::Codex => "openai-responses",
        Format::GeminiCli => gemini(last()),
        Format::Pi | Format::Opencode => match last().map(|origin| origin.provider.as_str()) {
            Some("openai-chat") => "openai-chat",
            Some("openai-responses") => "openai-responses",
            Some("gemini") => gemini(last()),
            _ => "anthropic",
        },
        _ => "anthropic",
    }
}

fn gemini(origin: Option<&Origin>) -> &'static str {
    let is_older =
        origin.is_some_and(|origin| ["gemini-1", "gemini-2"].iter().any(|old| origin.model.starts_with(old)));
    if is_older { "gemini-2" } else { "gemini-3" }
}

/// Returns the rules of a wire, as far as a file can meet them; `None` if no wire has the name.
pub(crate) fn rules_for_files(name: &str) -> Option<WireRules> {
    let mut rules = WireRules::named(name)?;
    if rules.fields == TakenFields::Mistral {
        // It has a part for documents, but not the one that lists of this wire have.
        rules.media = TakenMedia::Images;
    }
    // No format has a place for what a provider signs on a call: whoever sends the request adds it.
    rules.call_signatures = CallSignatures::Ignored;
    Some(rules)
}

/// Returns what is known of a request over a wire that continues a file: above all whether its reasoning is of others.
pub(crate) fn facts(own: &str, rules: &WireRules) -> RequestFacts {
    let mut facts = RequestFacts::default();
    if !is_own(own, rules) {
        facts.origin = Some(Origin::new(rules.wire.to_string(), ANY_MODEL));
    }
    facts
}

/// Tells whether what was written for the wire `own` was written for this one or one of its family.
pub(crate) fn is_own(own: &str, rules: &WireRules) -> bool {
    let family = WireRules::named(own).is_some_and(|own| own.wire == rules.wire);
    // The same models sign on Bedrock.
    family || (own == "anthropic" && rules.name == "bedrock-claude")
}

/// Returns how messages that are sent as one stand on the wire; `None` if they stand there as they are.
///
/// An encoder would do the same, so it is no repair.
fn on_wire(run: &[Message], rules: &WireRules) -> Option<Vec<Message>> {
    let (first, others) = run.split_first()?;
    if others.is_empty() {
        return if rules.results == ResultPlace::UserMessage { None } else { parts_of(first) };
    }
    let mut whole = first.clone();
    whole.content.extend(others.iter().flat_map(|message| message.content.iter().cloned()));
    let parts = if rules.results == ResultPlace::UserMessage { None } else { parts_of(&whole) };
    Some(parts.unwrap_or_else(|| vec![whole]))
}

/// Returns the results that lead a user message as messages of their own, and what follows them; `None` if there are none.
fn parts_of(message: &Message) -> Option<Vec<Message>> {
    let leading = message.content.iter().take_while(|block| block.as_result().is_some()).count();
    if message.role != Role::User || leading == 0 {
        return None;
    }
    let (results, words) = message.content.split_at(leading);
    let part = |role, author, content: &[Content]| Message {
        node: message.node,
        ..Message::new(role, author, content.to_vec())
    };
    let mut parts: Vec<Message> =
        results.chunks(1).map(|result| part(Role::Tool, Author::Tool, result)).collect();
    if !words.is_empty() {
        parts.push(part(Role::User, message.author, words));
    }
    Some(parts)
}

/// Takes the next prompt away again, also out of a message that it was joined to.
fn without_prompt(messages: &mut Vec<Message>) {
    let Some(last) = messages.last_mut() else { return };
    if last.content.last() == Some(&Content::text(NEXT_PROMPT)) {
        last.content.pop();
    }
    if last.content.is_empty() {
        messages.pop();
    }
}
