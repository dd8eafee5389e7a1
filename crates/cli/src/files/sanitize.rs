//! `trunkline sanitize`: a message list made legal, in a pipe.
//!
//! What a request body says of itself — thinking, a forced choice, its tools — is heard, because the rules depend on it.

use std::fs;
use std::io::{IsTerminal, Read};

use serde::Deserialize;
use serde_json::{Value, json};
use trunkline_message_tree::Origin;
use trunkline_sanitize::{Account, RequestFacts, Thinking, WireRules};
use trunkline_transcripts::{Format, Heading, Loss, Transcript, export, read, read_as};

use crate::args::foreign::{self, End, GivenFormat, ListFormat, Sanitize};
use crate::files::beside;
use crate::files::findings::{account_json, damaged, fault_note, loss_note, repair_note, repairs_json};
use crate::files::history::{History, Mended, facts, is_own, own_wire, rules_for_files};
use crate::files::second_look::{self, problems_left};
use crate::term::fault::{Exit, Fault};
use crate::term::out;
use crate::term::style::{YELLOW, paint};
use crate::term::tell::tell;
use crate::term::text::{one_line, safe};

/// The byte-order mark of UTF-8.
const MARK: &[u8] = "\u{feff}".as_bytes();

/// Reads a list from stdin and writes a legal one to stdout.
pub(crate) fn run(args: &Sanitize) -> Result<Exit, Fault> {
    if std::io::stdin().is_terminal() {
        return Err(Fault::usage("a message list is read from stdin")
            .hint(format!("trunkline sanitize --wire {} < messages.json", args.wire)));
    }
    let mut bytes = Vec::new();
    let read_all = std::io::stdin().lock().read_to_end(&mut bytes);
    read_all.map_err(|error| Fault::new(format!("cannot read stdin: {error}")))?;
    // The mark that an editor puts in front is no part of the list: no service takes it, and no parser.
    while bytes.starts_with(MARK) {
        bytes.drain(..MARK.len());
    }
    let transcript = match args.from {
        Some(from) => read_as(&bytes, given(from)),
        None => read(&bytes),
    };
    let transcript = transcript.map_err(|error| Fault::new(format!("cannot read stdin: {error}")))?;
    let rules = rules_for_files(&args.wire).ok_or_else(|| {
        Fault::usage(format!("no wire is called {:?}", args.wire)).hint(WireRules::NAMES.join(", "))
    })?;
    let format = format_of(args, &rules, transcript.format);
    // What was said to be one is no list of both.
    let both = of_both(&bytes, format, &transcript).filter(|_| args.from.is_none());
    let transcript = both.unwrap_or(transcript);
    let conversation = transcript.conversation(0).ok_or_else(|| Fault::new("stdin holds no messages"))?;

    let own = own_wire(transcript.format, &conversation.messages);
    let mut facts = all_facts(args, &bytes, own, &rules)?;
    // Another format has none of them.
    let keeps_format = format == transcript.format;
    if keeps_format && is_own(own, &rules) {
        facts.fields.extend(beside::fields(&transcript));
    }
    let history = History::new(&conversation.messages, transcript.format, &rules, &facts, End::Request);
    let mended = if keeps_format { history.mended() } else { history.mended_as_sent() };

    // What is no Unicode was replaced on reading, and must not go on.
    let is_whole = damaged(&transcript.faults) == 0;
    let is_untouched = mended.repairs.is_empty() && is_whole && keeps_format;
    // Fields of a body mean other things to another API: what both can say is kept, and the rest is named.
    let fields = transcript.fields_for(format);
    let (bytes, losses) = if is_untouched {
        (bytes, Vec::new())
    } else if keeps_format {
        let left_out = beside::left_out(&transcript, &mended.repairs);
        let written = transcript.write_without(0, &mended.messages, "", &left_out);
        let written = written.map_err(|error| Fault::new(error.to_string()))?;
        (written.bytes, written.losses)
    } else {
        let written = export(&mended.messages, format, &Heading::default());
        (with_fields(written.bytes, &fields.kept), written.losses)
    };
    if !is_untouched {
        confirm(&bytes, format, &transcript, &rules, &facts, &mended)?;
    }
    out::print_foreign(&bytes)?;
    if !args.quiet {
        for fault in transcript.faults.iter().filter(|fault| fault.kind.is_damage() && !args.json) {
            tell(&format!("{}\n", paint(YELLOW, &fault_note(fault))));
        }
        tell(&account(args, &rules, &mended, &losses, &fields.lost));
    }
    // What was asked besides the messages is asked no more: nobody should send that unseen.
    Ok(if fields.lost.is_empty() { Exit::Done } else { Exit::Failure })
}

/// Puts fields before the messages of a body that was just written.
fn with_fields(body: Vec<u8>, fields: &[(String, String)]) -> Vec<u8> {
    let fields = fields.iter().map(|(name, value)| format!("{}:{value},", json!(name)));
    let fields: String = fields.collect();
    match body.strip_prefix(b"{") {
        Some(rest) => [b"{", fields.as_bytes(), rest].concat(),
        None => body,
    }
}

/// Judges what is about to be written.
fn confirm(
    bytes: &[u8],
    format: Format,
    given: &Transcript,
    rules: &WireRules,
    facts: &RequestFacts,
    mended: &Mended,
) -> Result<(), Fault> {
    let mut facts = facts.clone();
    // What others thought is gone, and a list does not say who thought the rest.
    facts.origin = None;
    if mended.thinking_off {
        facts.thinking = Thinking::Off;
    }
    let left = problems_left(bytes, format, &given.faults, rules, &facts, End::Request)
        .map_err(|error| Fault::new(format!("the result cannot be read: {error}")))?;
    if left.is_empty() { Ok(()) } else { Err(second_look::fault("the result", &left)) }
}

/// Returns what is known of the request: from a file or the body, and above both what was typed.
fn all_facts(args: &Sanitize, bytes: &[u8], own: &str, rules: &WireRules) -> Result<RequestFacts, Fault> {
    let mut facts = match &args.facts {
        Some(path) => {
            let cannot = |error: String| Fault::usage(format!("cannot use {}: {error}", path.display()));
            let text = fs::read(path).map_err(|error| cannot(error.to_string()))?;
            let text = text.strip_prefix(MARK).unwrap_or(&text);
            serde_json::from_slice(text).map_err(|error| cannot(error.to_string()))?
        }
        None => said_by_body(bytes, facts(own, rules)),
    };
    match args.thinking {
        Some(foreign::Thinking::On) => facts.thinking = Thinking::On,
        Some(foreign::Thinking::Off) => facts.thinking = Thinking::Off,
        Some(foreign::Thinking::Adaptive) => facts.thinking = Thinking::Adaptive,
        None => {}
    }
    if args.no_tools {
        facts.tools_offered = Some(false);
    }
    if let Some(model) = &args.model {
        let (provider, model) = model.split_once('/').ok_or_else(|| {
            Fault::usage(format!("--model {model:?} names no provider"))
                .hint("write it like anthropic/claude-sonnet-5-5")
        })?;
        facts.origin = Some(Origin::new(provider, model));
    }
    Ok(facts)
}

/// What a request body says besides its messages. Whatever is of another shape says nothing.
#[derive(Deserialize)]
struct Body {
    thinking: Option<Kind>,
    tool_choice: Option<Choice>,
    tools: Option<Vec<Tool>>,
}

#[derive(Deserialize)]
struct Kind {
    #[serde(rename = "type")]
    kind: String,
}

/// A tool on offer, of either API.
#[derive(Deserialize)]
struct Tool {
    name: Option<Value>,
    function: Option<Box<Tool>>,
}

impl Tool {
    fn name(&self) -> Option<&str> {
        self.name.as_ref().and_then(Value::as_str).or_else(|| self.function.as_ref()?.name())
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Choice {
    Word(String),
    Kind(Kind),
}

fn said_by_body(bytes: &[u8], mut facts: RequestFacts) -> RequestFacts {
    let Ok(body) = serde_json::from_slice::<Body>(bytes) else { return facts };
    facts.thinking = match body.thinking.as_ref().map(|thinking| thinking.kind.as_str()) {
        Some("enabled") => Thinking::On,
        Some("adaptive") => Thinking::Adaptive,
        _ => facts.thinking,
    };
    let choice = match &body.tool_choice {
        Some(Choice::Word(word)) => word,
        Some(Choice::Kind(kind)) => &kind.kind,
        None => "",
    };
    // Anthropic says `any` and `tool`, OpenAI `required` and `function` (both references read 2026-11).
    facts.choice_forced |= matches!(choice, "any" | "tool" | "required" | "function");
    if let Some(tools) = body.tools {
        facts.tools_offered = Some(!tools.is_empty());
        facts.tools.extend(tools.iter().filter_map(Tool::name).map(str::to_owned));
    }
    facts
}

/// Reads the list as another format, if it says the same there: a list of plain words is of both.
fn of_both(bytes: &[u8], format: Format, read: &Transcript) -> Option<Transcript> {
    if format == read.format || read.is_of_one_format() {
        return None;
    }
    let other = read_as(bytes, format).ok()?;
    let said = |transcript: &Transcript| {
        let messages = transcript.conversation(0).map(|conversation| conversation.messages);
        let said = messages.into_iter().flatten().map(|message| (message.role, message.content));
        said.collect::<Vec<_>>()
    };
    (other.faults == read.faults && said(&other) == said(read)).then_some(other)
}

fn given(from: GivenFormat) -> Format {
    match from {
        GivenFormat::Anthropic => Format::Anthropic,
        GivenFormat::OpenaiChat => Format::OpenAiChat,
        GivenFormat::ClaudeCode => Format::ClaudeCode,
        GivenFormat::Codex => Format::Codex,
        GivenFormat::Pi => Format::Pi,
        GivenFormat::Opencode => Format::Opencode,
        GivenFormat::GeminiCli => Format::GeminiCli,
    }
}

fn format_of(args: &Sanitize, rules: &WireRules, input: Format) -> Format {
    match (args.format, rules.wire.as_ref(), input) {
        (Some(ListFormat::Anthropic), ..) | (None, "anthropic", _) => Format::Anthropic,
        (Some(ListFormat::OpenaiChat), ..) | (None, "openai-chat", _) => Format::OpenAiChat,
        // A session is no message list.
        (None, _, Format::Codex) => Format::OpenAiChat,
        (None, _, input) if input.is_session() => Format::Anthropic,
        (None, _, input) => input,
    }
}

/// Prints what was done: nothing if nothing was, unless a program asks.
fn account(
    args: &Sanitize,
    rules: &WireRules,
    mended: &Mended,
    losses: &[Loss],
    fields: &[String],
) -> String {
    let no_place = losses.iter().map(loss_note);
    if args.json {
        let fields = fields.iter().map(|field| format!("body: no place for the field {field}"));
        let told = json!({
            "version": 1,
            "wire": rules.name,
            "account": account_json(&mended.repairs),
            "repairs": repairs_json(&mended.repairs),
            "thinking_off": mended.thinking_off,
            "no_place": no_place.chain(fields).collect::<Vec<_>>(),
        });
        return format!("{}\n", safe(&told.to_string()));
    }
    let mut lines: Vec<String> = mended.repairs.iter().map(repair_note).collect();
    lines.extend(no_place);
    if !fields.is_empty() {
        let names = one_line(&fields.join(", "), 300);
        lines.push(format!("left out: {names} (fields of the other format)"));
    }
    if !mended.repairs.is_empty() {
        lines.push(Account::of(&mended.repairs).to_string());
    }
    if mended.thinking_off {
        lines.push("send this request without thinking".to_owned());
    }
    lines.into_iter().map(|line| line + "\n").collect()
}
