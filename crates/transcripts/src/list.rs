//! Message lists in JSON: bare, inside a request body, or one message a line.
//!
//! The text around the messages is kept, and a change of the list is a change of that text: what is not a message
//! stays as it was, to the white space.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use trunkline_message_tree::{Author, Message, NodeId, Role};

use crate::beside::MessageField;
use crate::conversation::Loss;
use crate::fault::{Fault, FaultKind};
use crate::format::Format;
use crate::json::{self, Fields, Value};
use crate::salvage::{BLANK, Records, salvage};
use crate::sniff::is_message;
use crate::source::{self, Losses, Parsed, Piece, Read, Source};
use crate::{anthropic, beside, openai_chat};

/// Where the list stands in its text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layout {
    /// Each element's place; a record is a position here.
    elements: Vec<Range<usize>>,
    /// From the first element to the last, or where one would stand.
    list: Range<usize>,
    /// What stands between two elements.
    gap: String,
    /// Whether the instructions stand outside of the list, in a field `system` (Anthropic).
    lifts_system: bool,
    /// Whether there is an object around the list.
    pub(crate) in_body: bool,
    /// Whether an element was left out, so that the text is not what was read.
    left_out: bool,
}

impl Layout {
    /// Returns where each element stands.
    pub(crate) fn places(&self) -> &[Range<usize>] {
        &self.elements
    }
}

/// A list as it was read.
#[derive(Clone, Debug, Default)]
pub(crate) struct List {
    pub(crate) layout: Layout,
    pub(crate) messages: Vec<Message>,
    pub(crate) sources: Vec<Source>,
    pub(crate) model: Option<String>,
}

/// Reads a list, or says what is there instead. `whole` is the text as one value, if it is one.
pub(crate) fn read(
    text: &str,
    whole: &Result<Value<'_>, serde_json::Error>,
    format: Format,
    faults: &mut Vec<Fault>,
) -> Result<List, String> {
    let found = match whole {
        Ok(whole) => within(whole)?,
        Err(fault) => lines(text, faults).ok_or_else(|| fault.to_string())?,
    };
    let mut list = List { layout: layout(text, &found), ..List::default() };
    let Found { elements, body, .. } = found;
    if let Some(body) = &body {
        list.model = body.text("model").map(|model| model.into_owned());
        if format == Format::Anthropic && body.get("system").is_some() {
            list.layout.lifts_system = true;
            list.push_system(text, body);
        }
    }
    let mut line_count = LineCount::default();
    let mut awaited = openai_chat::Awaited::default();
    for (record, element) in elements.iter().enumerate() {
        let fields = element.fields().ok_or_else(|| "it is not an object".to_owned());
        let read = fields.and_then(|fields| match format {
            Format::OpenAiChat => openai_chat::message(&fields),
            _ => anthropic_message(&fields),
        });
        match read {
            Ok(mut parsed) => {
                if format == Format::OpenAiChat {
                    awaited.follow(&mut parsed);
                }
                list.push(text, record, parsed);
            }
            Err(reason) => {
                let line = line_count.of(text, element.get());
                faults.push(Fault { line, kind: FaultKind::NotAMessage { reason } });
                list.layout.left_out = true;
            }
        }
    }
    if list.messages.is_empty() && !elements.is_empty() {
        return Err("none of its elements is a message".to_owned());
    }
    Ok(list)
}

impl List {
    fn push(&mut self, text: &str, record: usize, parsed: Parsed<'_>) {
        let piece = |raw: &&str| Piece { record, range: json::range_in(text, raw) };
        let blocks = parsed.raws.iter().map(piece).collect();
        let mut message = parsed.message;
        message.node = source::node(self.messages.len());
        self.messages.push(message);
        let (exact, older) = (parsed.exact, parsed.older);
        self.sources.push(Source { records: vec![record], blocks, exact, older });
    }

    fn push_system(&mut self, text: &str, body: &Fields<'_>) {
        let Ok(system) = anthropic::body(body.get("system")) else { return };
        let piece = |raw: &str| Piece { record: usize::MAX, range: json::range_in(text, raw) };
        let blocks = system.raws.into_iter().map(piece).collect();
        let mut message = Message::new(Role::System, Author::Harness, system.blocks);
        message.node = source::node(0);
        self.messages.push(message);
        self.sources.push(Source { blocks, exact: true, ..Source::default() });
    }
}

/// The elements of a text, and what is around them.
struct Found<'r, 'a> {
    elements: Cow<'r, [Value<'a>]>,
    body: Option<Cow<'r, Fields<'a>>>,
    one_a_line: bool,
    left_out: bool,
}

/// Finds the elements in an array, or in the `messages` of an object.
fn within<'r, 'a>(whole: &'r Value<'a>) -> Result<Found<'r, 'a>, String> {
    let found = |elements, body| Found { elements, body, one_a_line: false, left_out: false };
    if let Some(items) = whole.items() {
        return Ok(found(items, None));
    }
    let body = whole.fields().ok_or("it is neither an array nor an object")?;
    let items = match &body {
        Cow::Borrowed(body) => body.items("messages"),
        Cow::Owned(body) => body.items("messages").map(|items| Cow::Owned(items.into_owned())),
    };
    if let Some(items) = items {
        return Ok(found(items, Some(body)));
    }
    // One message a line, and there is one line.
    let one = || Cow::Borrowed(std::slice::from_ref(whole));
    let alone = body.has("role").then(|| Found { one_a_line: true, ..found(one(), None) });
    alone.ok_or_else(|| "it has no array `messages`".to_owned())
}

/// Finds the elements of a text that holds one a line; none of them is enough to say that it is no such text.
fn lines<'a>(text: &'a str, faults: &mut Vec<Fault>) -> Option<Found<'a, 'a>> {
    // In a whole list that was torn messages do not stand for themselves; one of them a line would be another thing.
    let is_one_a_line = !text.trim_start().starts_with('[') && !text.contains("\"messages\"");
    let mut bad = Vec::new();
    let mut elements = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim_matches(BLANK);
        if line.is_empty() {
            continue;
        }
        let kind = match Value::read(line) {
            Ok(value) if value.fields().is_some() => {
                elements.push(value);
                continue;
            }
            Ok(_) => FaultKind::NotJson { reason: "not an object".to_owned() },
            Err(fault) if !is_one_a_line => FaultKind::NotJson { reason: json::reason(&fault) },
            Err(fault) => {
                let salvaged = salvage(line, &fault, Records::WithoutId, is_message);
                let raws = salvaged.records.iter().map(|(raw, _)| Value::read(raw));
                elements.extend(raws.flatten());
                salvaged.fault
            }
        };
        bad.push(Fault { line: index + 1, kind });
    }
    if elements.is_empty() {
        return None;
    }
    let left_out = !bad.is_empty();
    faults.extend(bad);
    Some(Found { elements: Cow::Owned(elements), body: None, one_a_line: true, left_out })
}

fn layout(text: &str, found: &Found<'_, '_>) -> Layout {
    let Found { elements, body, one_a_line, left_out } = found;
    let (body, one_a_line, left_out) = (body.as_deref(), *one_a_line, *left_out);
    let elements: Vec<_> = elements.iter().map(|raw| json::range_in(text, raw.get())).collect();
    let list = match (elements.first(), elements.last()) {
        // What was left out may stand before the first and after the last, on their lines too.
        (Some(_), Some(_)) if one_a_line && left_out => 0..text.trim_end().len(),
        (Some(first), Some(last)) => first.start..last.end,
        _ => {
            let array = body.and_then(|body| body.get("messages")).map_or(text.trim_start(), Value::get);
            let inside = json::range_in(text, array).start + 1;
            inside..inside
        }
    };
    let between = elements.first().zip(elements.get(1)).and_then(|(one, two)| text.get(one.end..two.start));
    let plain = |gap: &&str| gap.chars().all(|sign| sign == ',' || sign.is_whitespace());
    let parts = |gap: &&str| plain(gap) && (!one_a_line || gap.contains('\n'));
    let gap = between.filter(parts).unwrap_or(if one_a_line { "\n" } else { "," }).to_owned();
    Layout { elements, list, gap, in_body: body.is_some(), left_out, ..Layout::default() }
}

/// Counts lines on the way through a text.
#[derive(Default)]
struct LineCount {
    at: usize,
    lines: usize,
}

impl LineCount {
    /// Returns the line of a part that does not stand before the last one that was asked for.
    fn of(&mut self, text: &str, part: &str) -> usize {
        let start = json::range_in(text, part).start;
        let between = text.get(self.at..start).unwrap_or_default();
        self.lines += between.bytes().filter(|byte| *byte == b'\n').count();
        self.at = start.max(self.at);
        self.lines + 1
    }
}

fn anthropic_message<'a>(fields: &Fields<'a>) -> Result<Parsed<'a>, String> {
    let role = match fields.text("role").as_deref() {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("system") => Role::System,
        // A row of the other wire in a list of this one: its result is worth more than its shape.
        Some("tool") => return openai_chat::message(fields).map(|parsed| Parsed { exact: false, ..parsed }),
        Some(other) => return Err(format!("its role is {other:?}")),
        None => return Err("it has no role".to_owned()),
    };
    if !fields.has("content") {
        return Err("it has no content".to_owned());
    }
    let body = anthropic::body(fields.get("content"))?;
    let (content, raws, exact) = (body.blocks, body.raws, body.odd == 0);
    let only_results = !content.is_empty() && content.iter().all(|block| block.as_result().is_some());
    let author = match role {
        Role::System => Author::Harness,
        Role::Assistant => Author::Model,
        _ if only_results => Author::Tool,
        _ => Author::Person,
    };
    let mut message = Message::new(role, author, content);
    message.stop = fields.text("stop_reason").map(|word| anthropic::stop_reason(&word));
    message.usage = fields.object("usage").map(|usage| anthropic::usage(&usage));
    message.origin =
        fields.text("model").map(|model| trunkline_message_tree::Origin::new(anthropic::WIRE, model));
    Ok(Parsed { message, raws, exact, older: false })
}

/// Writes the text with these messages in place of those that were read.
pub(crate) fn write(
    read: Read<'_>,
    layout: &Layout,
    format: Format,
    messages: &[Message],
    left_out: &[MessageField],
    losses: &mut Vec<Loss>,
) -> String {
    let is_whole = !layout.left_out && left_out.is_empty();
    if is_whole && read.messages == messages && read.sources.iter().all(|source| source.exact) {
        return read.text.to_owned();
    }
    // A list without a request around it has no field for instructions; there they stay where they are.
    let lifts = format == Format::Anthropic && layout.in_body;
    let lead = if lifts { lead_of(messages) } else { 0 };
    let (leading, rest) = messages.split_at(lead);
    let place = Place { read, layout, lead, left_out: by_node(left_out) };
    let elements = match format {
        Format::OpenAiChat => openai(&place, rest, losses),
        _ => anthropic_elements(&place, rest, losses),
    };
    let before = read.text.get(..layout.list.start).unwrap_or_default();
    let after = read.text.get(layout.list.end..).unwrap_or_default();
    let text = format!("{before}{}{after}", elements.join(&layout.gap));
    if !lifts || system_is_kept(&place, leading) {
        return text;
    }
    let system = system(leading, &read, losses);
    let body = Fields::parse(text.trim());
    body.map(|body| body.rewrite(&[("system", system)])).unwrap_or(text)
}

/// Counts the instructions that lead a list.
fn lead_of(messages: &[Message]) -> usize {
    messages.iter().take_while(|message| message.role == Role::System).count()
}

/// What writing an element needs to know.
struct Place<'a> {
    read: Read<'a>,
    layout: &'a Layout,
    /// How many messages stand before the elements.
    lead: usize,
    /// The fields that must go, by their message.
    left_out: HashMap<NodeId, Vec<&'a MessageField>>,
}

impl<'a> Place<'a> {
    /// Returns the bytes of the elements that a message was read from.
    fn element(&self, source: &Source) -> Option<&'a str> {
        self.layout.element(self.read.text, source)
    }

    /// Returns the fields that a message must be written without.
    fn left_out(&self, message: &Message) -> &[&'a MessageField] {
        message.node.and_then(|node| self.left_out.get(&node)).map(Vec::as_slice).unwrap_or_default()
    }
}

impl Layout {
    /// Returns the bytes of the element that a message was read from.
    pub(crate) fn element<'a>(&self, text: &'a str, source: &Source) -> Option<&'a str> {
        let range = self.elements.get(*source.records.first()?)?;
        text.get(range.clone())
    }
}

fn by_node(left_out: &[MessageField]) -> HashMap<NodeId, Vec<&MessageField>> {
    let mut by_node: HashMap<NodeId, Vec<&MessageField>> = HashMap::new();
    for field in left_out {
        by_node.entry(field.node).or_default().push(field);
    }
    by_node
}

fn losses_at<'a>(list: &'a mut Vec<Loss>, index: usize, message: &Message) -> Losses<'a> {
    Losses { list, message: index, node: message.node }
}

fn openai(place: &Place<'_>, rest: &[Message], losses: &mut Vec<Loss>) -> Vec<String> {
    let mut elements = Vec::with_capacity(rest.len());
    let mut names = CallNames::new(place.read.messages, rest);
    let kept = |message: &Message| {
        let untouched = place.read.untouched(message).filter(|_| place.left_out(message).is_empty());
        untouched.and_then(|source| place.element(source))
    };
    let older = |message: &Message| place.read.origin(message).is_some_and(|(_, source)| source.older);
    let messages = rest.iter().enumerate().collect::<Vec<_>>();
    // A call and what answers it.
    for round in messages.chunk_by(|_, (_, next)| next.role == Role::Tool) {
        let goes_over = round.iter().any(|(_, message)| older(message))
            && round.iter().any(|(_, message)| kept(message).is_none());
        for &(index, message) in round {
            let mut losses = losses_at(losses, index + place.lead, message);
            let left_out = place.left_out(message);
            let goes_over = goes_over && older(message);
            if let Some(element) = kept(message).filter(|_| !goes_over) {
                elements.push(names.follow(message, element.to_owned(), false));
                continue;
            }
            let read = place.read.origin(message);
            let fields =
                read.and_then(|(_, source)| place.element(source)).and_then(|text| Fields::parse(text).ok());
            let mut reuse = place.read.reuse(message);
            let before = elements.len();
            openai_chat::write(
                message,
                read.map(|(read, _)| read),
                fields.as_ref(),
                &mut reuse,
                &mut losses,
                &mut elements,
            );
            for element in elements.iter_mut().skip(before) {
                if !left_out.is_empty() {
                    *element = beside::without(element, left_out);
                }
                *element = names.follow(message, std::mem::take(element), goes_over);
            }
        }
    }
    elements
}

/// The names of calls, for results that repeat them.
struct CallNames<'a> {
    /// Names that were read and that no call has any more.
    gone: HashSet<&'a str>,
    /// The name of each call by its id, so far.
    called: HashMap<&'a str, &'a str>,
}

impl<'a> CallNames<'a> {
    fn new(read: &'a [Message], written: &'a [Message]) -> Self {
        let names = |messages: &'a [Message]| -> HashSet<&'a str> {
            messages.iter().flat_map(Message::calls).map(|call| call.name.as_str()).collect()
        };
        let mut gone = names(read);
        names(written).into_iter().for_each(|name| {
            gone.remove(name);
        });
        CallNames { gone, called: HashMap::new() }
    }

    /// Returns a message of JSON whose result bears the name that its call has now; one that was written anew from the older
    /// form bears it in any case.
    fn follow(&mut self, message: &'a Message, element: String, anew: bool) -> String {
        self.called.extend(message.calls().map(|call| (call.id.as_str(), call.name.as_str())));
        if message.role != Role::Tool || (self.gone.is_empty() && !anew) {
            return element;
        }
        let renamed = Fields::parse(&element).ok().and_then(|fields| {
            let had = fields.text("name")?;
            let is_gone = anew || self.gone.contains(had.as_ref());
            let name = self.called.get(fields.text("tool_call_id")?.as_ref()).filter(|_| is_gone)?;
            Some(fields.rewrite(&[("name", Some(json::quote(name)))]))
        });
        renamed.unwrap_or(element)
    }
}

/// One element to be, and what may still be joined with it.
struct Open {
    text: String,
    /// The blocks, where joining is possible: a run of results and the user message after it are one on this wire.
    joinable: Option<Vec<String>>,
}

fn anthropic_elements(place: &Place<'_>, rest: &[Message], losses: &mut Vec<Loss>) -> Vec<String> {
    let mut elements: Vec<Open> = Vec::with_capacity(rest.len());
    for (index, message) in rest.iter().enumerate() {
        let mut losses = losses_at(losses, index + place.lead, message);
        let user_side = matches!(message.role, Role::User | Role::Tool);
        let earlier = elements.last_mut().filter(|_| user_side);
        if let Some(joined) =
            earlier.and_then(|open| open.joinable.as_mut().map(|blocks| (&mut open.text, blocks)))
        {
            let (text, blocks) = joined;
            blocks.extend(anthropic::blocks(message, &mut place.read.reuse(message), &mut losses));
            *text = element("user", blocks);
            if message.role == Role::User {
                elements.last_mut().expect("an element was just extended").joinable = None;
            }
            continue;
        }
        let left_out = place.left_out(message);
        let source = place.read.untouched(message);
        if let Some(text) = source.and_then(|source| place.element(source)) {
            // A result that was put in after others belongs to the same answer.
            let more = rest.get(index + 1).is_some_and(|next| next.role == Role::Tool);
            let joins = more && user_side && message.content.iter().all(|block| block.as_result().is_some());
            let joinable =
                joins.then(|| anthropic::blocks(message, &mut place.read.reuse(message), &mut losses));
            elements.push(Open { text: without(text.to_owned(), left_out), joinable });
            continue;
        }
        let blocks = anthropic::blocks(message, &mut place.read.reuse(message), &mut losses);
        let role = match message.role {
            Role::Assistant => "assistant",
            Role::System => "system",
            Role::User | Role::Tool => "user",
        };
        let read = place.read.origin(message).and_then(|(_, source)| place.element(source));
        let fields = read.and_then(|text| Fields::parse(text).ok());
        let text = match fields.filter(|fields| fields.text("role").as_deref() == Some(role)) {
            Some(fields) => {
                let content = Some(array(&blocks));
                fields.rewrite(&[("content", content)])
            }
            None => element(role, &blocks),
        };
        elements.push(Open {
            text: without(text, left_out),
            joinable: (message.role == Role::Tool).then_some(blocks),
        });
    }
    elements.into_iter().map(|open| open.text).collect()
}

fn without(text: String, left_out: &[&MessageField]) -> String {
    if left_out.is_empty() { text } else { beside::without(&text, left_out) }
}

fn element(role: &str, blocks: &[String]) -> String {
    format!(r#"{{"role":"{role}","content":{}}}"#, array(blocks))
}

fn array(blocks: &[String]) -> String {
    format!("[{}]", blocks.join(","))
}

/// Tells whether the instructions outside of the list are still what they were.
fn system_is_kept(place: &Place<'_>, leading: &[Message]) -> bool {
    let read = place.read.messages.first().filter(|_| place.layout.lifts_system);
    leading.iter().eq(read)
}

/// Writes instructions as the wire has them: a string if that is all they are.
fn system(leading: &[Message], read: &Read<'_>, losses: &mut Vec<Loss>) -> Option<String> {
    let mut blocks = Vec::new();
    for (index, message) in leading.iter().enumerate() {
        let mut losses = losses_at(losses, index, message);
        blocks.extend(anthropic::blocks(message, &mut read.reuse(message), &mut losses));
    }
    (!blocks.is_empty()).then(|| array(&blocks))
}

/// Writes a request body from scratch: instructions and messages.
pub(crate) fn export(messages: &[Message], format: Format, losses: &mut Vec<Loss>) -> String {
    let layout = Layout::default();
    let read = Read { text: "", messages: &[], sources: &[] };
    if format == Format::OpenAiChat {
        let place = Place { read, layout: &layout, lead: 0, left_out: HashMap::new() };
        return format!("{{\"messages\":[{}]}}", openai(&place, messages, losses).join(","));
    }
    let lead = lead_of(messages);
    let (leading, rest) = messages.split_at(lead);
    let place = Place { read, layout: &layout, lead, left_out: HashMap::new() };
    let system =
        system(leading, &read, losses).map(|system| format!("\"system\":{system},")).unwrap_or_default();
    let elements = anthropic_elements(&place, rest, losses).join(",");
    format!("{{{system}\"messages\":[{elements}]}}")
}
