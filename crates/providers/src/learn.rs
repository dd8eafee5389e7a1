//! Reads in a refusal what the service wants otherwise.
//!
//! Services name the field that they refuse in `param` and the fault in `code`; gateways drop both and keep the words. The
//! words are read only where they begin as the services' own do: what stands further on may be quoted from the
//! conversation, and must choose nothing.

use serde_json::Value;

use crate::{
    Trait, Traits, anthropic, bedrock, framing, gemini, ollama, openai_chat, openai_responses,
    refused_reasoning,
};

// As much of a refusal as is read once it is unpacked.
const BODY_LIMIT: usize = 256 * 1024;
// Longer words are no sentence of a service.
const WORDS_LIMIT: usize = 600;

/// Returns what a service of a wire wants, if its refusal says so and it was not sent so already.
pub(crate) fn of_refusal(wire: &str, sent: &Traits, status: u16, body: &[u8]) -> Option<Trait> {
    // 422 is what servers say whose fields are checked by a schema.
    if !matches!(status, 400 | 422) {
        return None;
    }
    let body = framing::unpacked(body, BODY_LIMIT);
    let body: Value = serde_json::from_slice(&body).ok()?;
    let refusals = Refusal::all_in(&body);
    let spoiled = |refusal: &Refusal| refused_reasoning::is_meant(&refusal.code, &refusal.words);
    if status == 400 && refusals.iter().any(spoiled) {
        // Who knows that it is bound is told which of it is not taken all the same.
        let bound = refusals.iter().any(|refusal| refused_reasoning::is_bound(&refusal.words));
        let one = if bound && !sent.has(Trait::BoundReasoning) {
            Trait::BoundReasoning
        } else {
            Trait::NoEarlierReasoning
        };
        return Some(one).filter(|one| !sent.has(*one));
    }
    refusals.iter().find_map(|refusal| wanted(wire, sent, refusal)).filter(|one| !sent.has(*one))
}

/// One thing that was refused.
#[derive(Default)]
struct Refusal {
    /// The field, as a path: `messages[0].role`.
    field: String,
    /// The fault, in the service's own word.
    code: String,
    /// The service's words in lower case, without quotation marks.
    words: String,
}

impl Refusal {
    fn all_in(body: &Value) -> Vec<Refusal> {
        let body = body.as_array().and_then(|list| list.first()).unwrap_or(body);
        let error = body.get("error").filter(|error| !error.is_null()).unwrap_or(body);
        if let Value::String(words) = error {
            return vec![Refusal { words: plain(words), ..Refusal::default() }];
        }
        // A router passes on what the service behind it said, as a text.
        let raw = error.get("metadata").and_then(|metadata| metadata.get("raw")).and_then(Value::as_str);
        let inner = raw.and_then(|raw| serde_json::from_str::<Value>(raw).ok()).filter(Value::is_object);
        if let Some(inner) = inner.filter(|inner| inner.pointer("/error/metadata").is_none()) {
            return Refusal::all_in(&inner);
        }
        // A list of fields that did not fit a schema.
        let details = [error.get("detail"), error.pointer("/message/detail"), body.get("detail")];
        if let Some(details) = details.into_iter().flatten().find_map(Value::as_array) {
            return details.iter().take(20).map(Refusal::of_detail).collect();
        }
        let text = |name: &str| error.get(name).and_then(Value::as_str).unwrap_or_default();
        let message = [
            text("message"),
            text("detail"),
            body.get("message").and_then(Value::as_str).unwrap_or_default(),
        ];
        let words = message.into_iter().find(|words| !words.is_empty()).unwrap_or_default();
        // Some gateways pass on the whole refusal of the service behind them as what is said.
        let inner = serde_json::from_str::<Value>(words).ok().filter(|inner| inner.get("error").is_some());
        let says = |inner: &Value| {
            let words = inner.pointer("/error/message").and_then(Value::as_str);
            words.is_some_and(|words| !words.trim_start().starts_with('{'))
        };
        if let Some(inner) = inner.filter(says) {
            return Refusal::all_in(&inner);
        }
        vec![Refusal { field: text("param").to_owned(), code: text("code").to_owned(), words: plain(words) }]
    }

    /// One entry of such a list: `{"type":"extra_forbidden","loc":["body","max_tokens"],"msg":"…"}`.
    fn of_detail(detail: &Value) -> Refusal {
        let places = detail.get("loc").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let mut field = String::new();
        for place in places.iter().filter(|place| *place != "body") {
            match place {
                Value::Number(number) => field.push_str(&format!("[{number}]")),
                Value::String(name) if field.is_empty() => field.push_str(name),
                Value::String(name) => field.push_str(&format!(".{name}")),
                _ => {}
            }
        }
        let code = detail.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
        Refusal { field, code, words: String::new() }
    }

    /// Whether a field of that name is not taken, whatever stands in it.
    fn refuses(&self, name: &str) -> bool {
        if !self.field.is_empty() {
            let last = self.field.rsplit('.').next().unwrap_or_default();
            let code = self.code.as_str();
            let known =
                ["unsupported_parameter", "unknown_parameter", "extra_forbidden", "unsupported_value"];
            // Of a name that says it all the words may say why, as where the code is left out.
            return (self.field == name || last == name)
                && (known.contains(&code)
                    || self.says_unsupported(last)
                    || self.says_unsupported(&self.field));
        }
        self.says_unsupported(name)
    }

    /// Whether the words begin as those that say that a field is not taken.
    fn says_unsupported(&self, name: &str) -> bool {
        const BEFORE: [&str; 6] = [
            "unsupported parameter: ",
            "unsupported value: ",
            "unknown parameter: ",
            "unrecognized request argument supplied: ",
            "unrecognized request arguments supplied: ",
            "property ",
        ];
        const AFTER: [&str; 6] = [
            " is not supported",
            " does not support",
            " is unsupported",
            " is deprecated for this model",
            ": extra inputs are not permitted",
            " is not permitted",
        ];
        let words = self.words.as_str();
        let begins = |before: &&str| {
            words.strip_prefix(before).and_then(|rest| rest.strip_prefix(name)).is_some_and(ends_word)
        };
        let goes_on =
            words.strip_prefix(name).is_some_and(|rest| AFTER.iter().any(|after| rest.starts_with(after)));
        BEFORE.iter().any(begins) || goes_on || self.is_schema_of(name)
    }

    /// Groq's and Cerebras' words: `'messages.2.assistant' : property 'reasoning_content' is unsupported`, with more around.
    fn is_schema_of(&self, name: &str) -> bool {
        let words = self.words.strip_prefix("messages.").unwrap_or_default();
        let place = words.trim_start_matches(|c: char| c.is_ascii_digit());
        let tail = format!("property {name} is unsupported");
        let whole = format!(".{name} is unsupported");
        let satisfied =
            place.strip_prefix(" : for role:assistant the following must be satisfied[(messages.");
        let satisfied = satisfied.map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
        satisfied.is_some_and(|rest| rest.starts_with(&format!(" : {tail}")))
            || place.strip_prefix(".assistant").is_some_and(|rest| {
                let rest = rest.strip_prefix(&format!(".{name}")).unwrap_or(rest);
                let rest = rest.trim_start_matches([' ', ':']);
                rest.starts_with(&tail)
                    || rest.strip_prefix("property messages.").is_some_and(|rest| {
                        let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
                        rest.strip_prefix(".assistant").is_some_and(|rest| rest.starts_with(&whole))
                    })
            })
    }

    fn begins(&self, any: &[&str]) -> bool {
        any.iter().any(|words| self.words.starts_with(words))
    }

    /// Whether the first clause says that the reasoning of a call did not come back.
    fn misses_reasoning(&self) -> bool {
        const FIELDS: [&str; 4] =
            ["reasoning_content", "reasoning_details", "reasoning content", "content[].thinking"];
        const DEMANDS: [&str; 6] =
            ["missing", "passed back", "must be provided", "must be included", "must include", "is required"];
        let words = self.words.as_str();
        // `messages[2]: missing field …`
        let place = words.strip_prefix("messages").and_then(|rest| rest.split_once(": "));
        let is_place =
            |place: &str| place.chars().all(|c| c.is_ascii_digit() || matches!(c, '[' | ']' | '.'));
        let clause = match place {
            Some((place, rest)) if is_place(place) => rest,
            _ => words,
        };
        let clause = clause.split([':', ';', '\n']).next().unwrap_or_default();
        FIELDS.iter().any(|field| clause.contains(field))
            && DEMANDS.iter().any(|demand| clause.contains(demand))
    }

    /// Whether the first sentences name this too, as one word.
    fn names(&self, word: &str) -> bool {
        self.words
            .split(|c: char| !(c.is_ascii_alphanumeric() || "_.".contains(c)))
            .any(|one| one.trim_matches('.') == word)
    }
}

fn ends_word(rest: &str) -> bool {
    // A full stop ends a sentence, or leads on to a member.
    let rest = rest.strip_prefix('.').unwrap_or(rest);
    !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '['))
}

/// Returns words as they are compared: what a gateway puts before them is off, and so are quotation marks.
fn plain(words: &str) -> String {
    let mut words: String = words.chars().take(WORDS_LIMIT).collect::<String>().to_lowercase();
    words.retain(|c| !matches!(c, '`' | '\'' | '"' | '“' | '”' | '‘' | '’'));
    let mut rest = words.trim();
    // `litellm.BadRequestError: OpenAIException - …` and the like.
    rest = rest.strip_prefix("litellm.").unwrap_or(rest);
    for end in [": ", " - "] {
        if let Some((before, after)) = rest.split_once(end)
            && (before.ends_with("error") || before.ends_with("exception"))
            && before.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        {
            rest = after.trim_start();
        }
    }
    rest.to_owned()
}

/// Returns what the service wants.
fn wanted(wire: &str, sent: &Traits, refusal: &Refusal) -> Option<Trait> {
    let chat = wire == openai_chat::NAME;
    let responses = wire == openai_responses::NAME;
    if chat && let Some(limit) = limit(sent, refusal) {
        return Some(limit);
    }
    if chat && refusal.refuses("stream_options") {
        return Some(Trait::NoStreamOptions);
    }
    if chat && let Some(role) = role(refusal) {
        return Some(role);
    }
    if chat && wants_parts(refusal) {
        return Some(Trait::ResultsAsParts);
    }
    if (chat || wire == anthropic::NAME) && refusal.misses_reasoning() {
        return Some(Trait::ReasoningBesideCalls);
    }
    if chat && ["reasoning_content", "reasoning_details"].iter().any(|field| refusal.refuses(field)) {
        return Some(Trait::NoReasoningBack);
    }
    // The field of this name beside the messages is the switch.
    if chat && refusal.refuses("reasoning") {
        let switch = refusal.field == "reasoning" || refusal.words.starts_with("unsupported parameter");
        return Some(if switch { Trait::NoThinkingSwitch } else { Trait::NoReasoningBack });
    }
    if responses && (refusal.field == "include" || refusal.refuses("include")) {
        let says = ["encrypted content is not supported", "unsupported", "unknown parameter"];
        if refusal.begins(&says) || refusal.refuses("include") {
            return Some(Trait::NoEncryptedReasoning);
        }
    }
    let limits: &[&str] = match wire {
        openai_responses::NAME => &["max_output_tokens"],
        gemini::NAME => &["maxoutputtokens"],
        _ => &[],
    };
    if limits.iter().any(|field| refusal.refuses(field)) {
        return Some(Trait::NoTokenLimit);
    }
    if (chat || responses) && refusal.refuses("parallel_tool_calls") {
        return Some(Trait::NoParallelCalls);
    }
    if wire == anthropic::NAME {
        let adaptive = ["thinking.type.enabled is not supported", "thinking: type: enabled is not supported"];
        let budget = ["thinking.type.adaptive is not supported", "adaptive thinking is not supported"];
        if refusal.begins(&adaptive) {
            return Some(Trait::AdaptiveThinking);
        }
        if refusal.begins(&budget) {
            return Some(Trait::BudgetThinking);
        }
    }
    let switches: &[&str] = match wire {
        openai_chat::NAME => &["reasoning_effort", "thinking"],
        openai_responses::NAME => &["reasoning.effort", "effort", "reasoning"],
        anthropic::NAME | bedrock::NAME => &["thinking"],
        gemini::NAME => &["thinking budget", "thinking level", "thinking_budget", "thinking_level"],
        ollama::NAME => &["think"],
        _ => &[],
    };
    // Where the value is refused, another may do, and nobody here can choose it.
    let by_value = refusal.code == "unsupported_value" || refusal.words.starts_with("unsupported value");
    let no_switch = !by_value && switches.iter().any(|field| refusal.refuses(field));
    // `"llama3.2" does not support thinking`: the model's name stands first, and nothing of the conversation is quoted.
    let model_cannot = wire == ollama::NAME
        && refusal.words.strip_suffix(" does not support thinking").is_some_and(|name| !name.contains(' '));
    if no_switch || model_cannot {
        return Some(Trait::NoThinkingSwitch);
    }
    let sampling = ["temperature", "top_p"].iter().any(|field| refusal.refuses(field));
    sampling.then_some(Trait::NoTemperature)
}

/// Returns how the limit of output has to be called.
fn limit(sent: &Traits, refusal: &Refusal) -> Option<Trait> {
    let (old, new) = ("max_tokens", "max_completion_tokens");
    let (refused, other, trait_of_other) = match () {
        () if refusal.refuses(old) => (Trait::MaxTokens, new, Trait::MaxCompletionTokens),
        () if refusal.refuses(new) => (Trait::MaxCompletionTokens, old, Trait::MaxTokens),
        () => return None,
    };
    // Both names were refused, unless the service itself names the other one.
    let tried = sent.has(refused) && !refusal.names(other);
    Some(if tried { Trait::NoTokenLimit } else { trait_of_other })
}

/// Returns which role instructions have to be of.
fn role(refusal: &Refusal) -> Option<Trait> {
    let of_role =
        refusal.field.ends_with(".role") || refusal.words.starts_with("unsupported value: messages[");
    if !of_role || !refusal.words.contains(".role does not support system") {
        return None;
    }
    match refusal.names("developer") {
        true => Some(Trait::InstructionsOfDeveloper),
        false => Some(Trait::InstructionsOfUser),
    }
}

/// Whether the content of a result has to be a list.
fn wants_parts(refusal: &Refusal) -> bool {
    let of_tool = refusal.field.contains(".tool.content") || refusal.field.ends_with("[tool].content");
    (of_tool && refusal.code == "list_type")
        || refusal.begins(&["tool message content must be a list", "tool message content must be an array"])
}
