//! What stands between one turn of the assistant and the next, and the calls that are answered there.

use std::collections::HashMap;

use trunkline_message_tree::{Author, Content, Media, Message, Part, Role, ToolResult};

use super::known_calls::KnownCalls;
use super::turn::OpenCall;
use super::{Item, is_blank_part, quoted_words};
use crate::{Fate, Place, QuoteCause, Repair, RepairKind, RequestFacts, ResultPlace, WireRules, facts};

/// The messages between two turns of the assistant.
pub(super) struct Slot<'a> {
    calls: Vec<OpenCall>,
    /// The calls by stored id, in order, and how many of them have a result.
    by_stored_id: HashMap<String, (Vec<usize>, usize)>,
    items: Vec<Item>,
    /// Quotes from tool messages wait until the results are through.
    quotes: Vec<Item>,
    repairs: &'a mut Vec<Repair>,
}

impl<'a> Slot<'a> {
    pub(super) fn new(calls: Vec<OpenCall>, repairs: &'a mut Vec<Repair>) -> Self {
        let mut by_stored_id: HashMap<String, (Vec<usize>, usize)> = HashMap::new();
        for (index, call) in calls.iter().enumerate() {
            by_stored_id.entry(call.stored_id.clone()).or_default().0.push(index);
        }
        Slot { calls, by_stored_id, items: Vec::new(), quotes: Vec::new(), repairs }
    }

    /// Takes the next message; its results meet their calls or become words.
    pub(super) fn receive(&mut self, mut item: Item, closed: &dyn Fn(&str) -> Option<String>) {
        if item.message.role != Role::Tool {
            self.items.append(&mut self.quotes);
        }
        if item.message.results().next().is_none() {
            self.items.push(item);
            return;
        }
        if self.answers_alone(&mut item) {
            self.items.push(item);
            return;
        }
        let places: Vec<Place> = (0..item.message.content.len()).map(|block| item.place_of(block)).collect();
        let mut kept: Vec<Content> = Vec::with_capacity(item.message.content.len());
        let mut quoted: Vec<Content> = Vec::new();
        for (block, content) in std::mem::take(&mut item.message.content).into_iter().enumerate() {
            let Content::ToolResult(mut result) = content else {
                kept.push(content);
                continue;
            };
            let at = places[block];
            match self.by_stored_id.get_mut(&result.call_id) {
                Some((calls, answered)) if *answered < calls.len() => {
                    let call = &mut self.calls[calls[*answered]];
                    *answered += 1;
                    call.answer = Some((self.items.len(), kept.len()));
                    result.call_id.clone_from(&call.id);
                    kept.push(Content::ToolResult(result));
                }
                Some((calls, answered)) => {
                    let answer =
                        calls.get(answered.wrapping_sub(1)).and_then(|call| self.calls[*call].answer);
                    let first = match answer {
                        Some((at, block)) if at == self.items.len() => kept.get_mut(block),
                        Some((at, block)) => {
                            self.items.get_mut(at).and_then(|i| i.message.content.get_mut(block))
                        }
                        None => None,
                    };
                    if let Some(Content::ToolResult(first)) = first {
                        self.repairs.push(Repair { at, kind: merge(first, result) });
                    }
                }
                None => {
                    let (name, why) = match closed(&result.call_id) {
                        Some(id) => (id, QuoteCause::Late),
                        None => (result.call_id.clone(), QuoteCause::NoCall),
                    };
                    let call_id = result.call_id.clone();
                    let quote = quote(result, &name, why);
                    let kind = match quote.is_empty() {
                        true => RepairKind::ResultDropped { call_id, why },
                        false => RepairKind::Quoted { call_id, why },
                    };
                    self.repairs.push(Repair { at, kind });
                    let words = if item.message.role == Role::Tool { &mut quoted } else { &mut kept };
                    words.extend(quote);
                }
            }
        }
        if !quoted.is_empty() {
            self.quotes.push(item.piece(Role::User, quoted));
        }
        if kept.is_empty() {
            // What it held is accounted for; only the turn that it marks is left.
            item.ghost = true;
            item.message.role = Role::User;
        }
        item.message.content = kept;
        self.items.push(item);
    }

    /// Takes the usual case, a message that is the first result of one call, as it stands.
    fn answers_alone(&mut self, item: &mut Item) -> bool {
        let [Content::ToolResult(result)] = &mut item.message.content[..] else { return false };
        let Some((calls, answered)) = self.by_stored_id.get_mut(&result.call_id) else { return false };
        let Some(call) = calls.get(*answered) else { return false };
        let call = &mut self.calls[*call];
        *answered += 1;
        call.answer = Some((self.items.len(), 0));
        if result.call_id != call.id {
            result.call_id.clone_from(&call.id);
        }
        true
    }

    /// Moves results before everything else, unless they stand where the wire takes them.
    pub(super) fn put_results_first(&mut self, rules: &WireRules) {
        self.items.append(&mut self.quotes);
        if stand_first(&self.items, rules) {
            return;
        }
        let mut results: Vec<Item> = Vec::new();
        let mut rest: Vec<Item> = Vec::new();
        let mut words = false;
        for mut item in std::mem::take(&mut self.items) {
            if rules.results_may_wait() {
                results.append(&mut rest);
                words = false;
            }
            if item.message.role == Role::Tool {
                if words {
                    let moved = item.message.results().map(|result| moved(item.at, result));
                    self.repairs.extend(moved);
                }
                results.push(item);
                continue;
            }
            let mut split = 0;
            let mut kept = Vec::new();
            for content in std::mem::take(&mut item.message.content) {
                if let Content::ToolResult(result) = content {
                    if words {
                        self.repairs.push(moved(item.at, &result));
                    }
                    split += 1;
                    results.push(item.piece(Role::Tool, vec![Content::ToolResult(result)]));
                } else {
                    words = true;
                    kept.push(content);
                }
            }
            if split > 0 {
                self.repairs.push(Repair { at: item.at, kind: RepairKind::Split { results: split } });
                item.ghost |= kept.is_empty();
            }
            item.message.content = kept;
            rest.push(item);
        }
        self.items = results;
        self.items.append(&mut rest);
    }

    /// Writes lost arguments into their results, and takes media out of results where the wire has no place for them.
    pub(super) fn note_arguments_and_move_media(&mut self, media_in_results: bool) {
        if media_in_results && self.calls.iter().all(|call| call.raw.is_none()) {
            return;
        }
        let raw: HashMap<&str, &str> =
            self.calls.iter().filter_map(|call| Some((call.id.as_str(), call.raw.as_deref()?))).collect();
        let mut media: Vec<Item> = Vec::new();
        let mut after = 0;
        for (index, item) in self.items.iter_mut().enumerate() {
            let mut pictures = Vec::new();
            for content in &mut item.message.content {
                let Content::ToolResult(result) = content else { continue };
                after = index + 1;
                if let Some(raw) = raw.get(result.call_id.as_str()) {
                    result.content.retain(|part| !is_blank_part(part));
                    result.content.push(arguments_as_written(raw));
                }
                if media_in_results || !result.content.iter().any(is_media) {
                    continue;
                }
                let mut parts = 0;
                pictures.push(Content::text(format!("from the result of call {}:", result.call_id)));
                for part in &mut result.content {
                    if is_media(part) {
                        let here = Part::text("(see the user message after the results)");
                        pictures.extend(media_block(std::mem::replace(part, here)));
                        parts += 1;
                    }
                }
                let call_id = result.call_id.clone();
                self.repairs.push(Repair { at: item.at, kind: RepairKind::MediaMoved { call_id, parts } });
            }
            if !pictures.is_empty() {
                let message = Message::new(Role::User, Author::Harness, pictures);
                media.push(Item { message, at: item.at, given: usize::MAX, ghost: false });
            }
        }
        self.items.splice(after..after, media);
    }

    /// Answers every call that has no result with what is known of it.
    pub(super) fn answer_open_calls(&mut self, known: &KnownCalls<'_>) {
        let mut answers = Vec::new();
        for call in self.calls.iter().filter(|call| call.answer.is_none()) {
            let fact = known.find(&call.stored_id, call.node(), call.position);
            let fate = fact.map_or(Fate::Unknown, |fact| fact.fate.clone());
            let said = fact.map_or_else(|| fate.text(), |fact| fact.text());
            let mut content = vec![Part::text(said.clone())];
            content.extend(call.raw.as_deref().map(arguments_as_written));
            let result = ToolResult { call_id: call.id.clone(), content, is_error: true };
            let message = Message::new(Role::Tool, Author::Harness, vec![Content::ToolResult(result)]);
            answers.push(Item { message, at: call.at, given: usize::MAX, ghost: false });
            let call_id = call.stored_id.clone();
            self.repairs.push(Repair { at: call.at, kind: RepairKind::Answered { call_id, fate, said } });
        }
        let is_answer = |item: &Item| item.message.role == Role::Tool && !item.is_empty();
        let after = self.items.iter().rposition(is_answer).map_or(0, |last| last + 1);
        self.items.splice(after..after, answers);
    }

    /// Puts the results of one tool's calls in the order of these calls.
    pub(super) fn put_in_call_order(&mut self) {
        let position: HashMap<&str, usize> =
            self.calls.iter().enumerate().map(|(index, call)| (call.id.as_str(), index)).collect();
        let mut last: HashMap<&str, usize> = HashMap::new();
        let mut results = 0;
        let mut sorted = true;
        for result in self.items.iter().flat_map(|item| item.message.results()) {
            results += 1;
            let Some(call) = position.get(result.call_id.as_str()) else { continue };
            let before = last.insert(&self.calls[*call].name, *call);
            sorted &= before.is_none_or(|before| before < *call);
        }
        if sorted {
            return;
        }
        let at = self.items.iter().find(|item| item.message.results().next().is_some()).map(|item| item.at);
        let mut taken: Vec<ToolResult> = Vec::with_capacity(results);
        for content in self.items.iter_mut().flat_map(|item| &mut item.message.content) {
            if let Content::ToolResult(result) = content {
                let empty = ToolResult { call_id: String::new(), content: Vec::new(), is_error: false };
                taken.push(std::mem::replace(result, empty));
            }
        }
        taken.sort_by_key(|result| position.get(result.call_id.as_str()).copied());
        let places = self.items.iter_mut().flat_map(|item| &mut item.message.content);
        let places = places.filter(|content| content.as_result().is_some());
        for (place, result) in places.zip(taken) {
            *place = Content::ToolResult(result);
        }
        let at = at.unwrap_or(Place::end(0));
        self.repairs.push(Repair { at, kind: RepairKind::Reordered { results } });
    }

    /// Gives words to empty results that report a failure, and cuts what alone is larger than the window.
    pub(super) fn fit_results(&mut self, rules: &WireRules, facts: &RequestFacts) {
        if !rules.results_are_blocks && facts.context_window.is_none() {
            return;
        }
        for item in &mut self.items {
            for content in &mut item.message.content {
                let Content::ToolResult(result) = content else { continue };
                let silent = result.content.iter().all(is_blank_part);
                if result.is_error && silent && rules.results_are_blocks {
                    result.content = vec![Part::text(NO_OUTPUT)];
                    let call_id = result.call_id.clone();
                    self.repairs.push(Repair { at: item.at, kind: RepairKind::ResultFilled { call_id } });
                }
                if let Some(bytes) = cut(result, facts) {
                    let call_id = result.call_id.clone();
                    self.repairs.push(Repair { at: item.at, kind: RepairKind::ResultCut { call_id, bytes } });
                }
            }
        }
    }

    pub(super) fn close(self) -> (Vec<OpenCall>, Vec<Item>) {
        (self.calls, self.items)
    }
}

/// What an error result says that said nothing.
const NO_OUTPUT: &str = "(the tool reported a failure and returned nothing)";

/// Leaves out the middle of a result that cannot fit the window; returns how many bytes.
fn cut(result: &mut ToolResult, facts: &RequestFacts) -> Option<usize> {
    let bytes =
        result.content.iter().map(|part| if let Part::Text { text } = part { text.len() } else { 0 }).sum();
    let room = facts::room_for(bytes, facts)?;
    let text = result.text();
    let head = text.floor_char_boundary(room / 2);
    let tail = text.ceil_char_boundary(text.len() - room / 2);
    let (head, tail) = (&text[..head], &text[tail..]);
    let left_out = text.len() - head.len() - tail.len();
    let note =
        format!("\n[{left_out} bytes left out: this result alone is larger than the context window]\n");
    let short = Part::text(format!("{head}{note}{tail}"));
    result.content.retain(is_media);
    result.content.insert(0, short);
    Some(left_out)
}

/// Whether all results stand where the wire takes them, before all words.
fn stand_first(items: &[Item], rules: &WireRules) -> bool {
    if rules.results_may_wait() {
        return items.iter().all(|item| item.message.role == Role::Tool || !holds_results(item));
    }
    let mut user_messages = 0;
    for item in items.iter().filter(|item| !item.is_empty()) {
        let content = &item.message.content;
        let results = content.iter().filter(|block| block.as_result().is_some()).count();
        let in_front = content.iter().take_while(|block| block.as_result().is_some()).count();
        let taken = match item.message.role {
            Role::Tool => user_messages == 0,
            _ if results == 0 => true,
            _ => {
                rules.results == ResultPlace::UserMessage
                    && user_messages == 0
                    && results == in_front
                    // Words in the same message would need somebody to speak in between.
                    && (rules.words_after_results || results == content.len())
            }
        };
        if !taken {
            return false;
        }
        user_messages += usize::from(item.message.role != Role::Tool);
    }
    true
}

fn holds_results(item: &Item) -> bool {
    item.message.results().next().is_some()
}

fn moved(at: Place, result: &ToolResult) -> Repair {
    Repair { at, kind: RepairKind::Moved { call_id: result.call_id.clone() } }
}

/// Adds a further result of one call to the first.
fn merge(first: &mut ToolResult, again: ToolResult) -> RepairKind {
    let call_id = again.call_id;
    if first.content == again.content && first.is_error == again.is_error {
        return RepairKind::DuplicateDropped { call_id };
    }
    // A text that was fine alone may not be beside others; those that were joined before are not looked at again.
    if first.content.len() == 1 {
        first.content.retain(|part| !is_blank_part(part));
    }
    first.content.extend(again.content.into_iter().filter(|part| !is_blank_part(part)));
    first.is_error |= again.is_error;
    RepairKind::Merged { call_id }
}

/// Returns a result as words; nothing if it holds nothing.
fn quote(result: ToolResult, name: &str, why: QuoteCause) -> Vec<Content> {
    if result.content.iter().all(is_blank_part) {
        return Vec::new();
    }
    let kind = if result.is_error { "error result" } else { "result" };
    let head = match why {
        QuoteCause::Late => format!("late {kind} of call {name}:"),
        QuoteCause::NoCall if name.is_empty() => format!("{kind} without a call:"),
        QuoteCause::NoCall => format!("{kind} without a call ({name}):"),
    };
    let text = quoted_words(&result);
    let text = if text.is_empty() { head } else { format!("{head}\n{text}") };
    let media = result.content.into_iter().filter_map(media_block);
    std::iter::once(Content::text(text)).chain(media).collect()
}

fn arguments_as_written(raw: &str) -> Part {
    Part::text(format!("the arguments of this call were not a JSON object; as written: {raw}"))
}

fn is_media(part: &Part) -> bool {
    match part {
        Part::Text { .. } | Part::Opaque { .. } => false,
        Part::Image(Media { .. }) | Part::Document(Media { .. }) => true,
    }
}

fn media_block(part: Part) -> Option<Content> {
    match part {
        // In the words of the quote.
        Part::Text { .. } | Part::Opaque { .. } => None,
        Part::Image(media) => Some(Content::Image(media)),
        Part::Document(media) => Some(Content::Document(media)),
    }
}
