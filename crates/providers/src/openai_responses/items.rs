//! The items of a response while they come in.
//!
//! By the specification an event names its item's `output_index`. Some servers leave it out, and some give an item a new
//! id in every event. What is said when an item ends is the truth; the pieces only came earlier.

use std::borrow::Cow;

use serde_json::value::RawValue;
use trunkline_message_tree::Content;

use super::NAME;
use super::said::{hold, parse, parts, readable, said, same_json};
use super::shapes::{ArgumentsDone, Head, ItemEvent, ItemShape};
use crate::arguments::Arguments;
use crate::sse::EVENT_LIMIT;
use crate::text::{self, Text};
use crate::{DecodeError, Event, beside, framing, mend};

// No answer has nearly as many; keeps a hostile endpoint from making each event cost more than the one before.
const ITEM_LIMIT: usize = 4096;
const TOO_MANY: DecodeError = DecodeError::TooMany { what: "items", limit: ITEM_LIMIT };

/// All items of one response, in the order in which they began.
pub(super) struct Items {
    // The most bytes of items that have not ended.
    limit: usize,
    items: Vec<Item>,
    // The item and the part of it whose words are being given out.
    open: Option<(usize, u64)>,
    // How many blocks were given out.
    blocks: usize,
    calls: usize,
    refused: bool,
    lost_call: bool,
    // How many bytes of items that have not ended are kept.
    held: usize,
}

struct Item {
    output_index: Option<u64>,
    id: String,
    // The number of the block that it begins with, or of the one that it stands before.
    place: usize,
    state: State,
}

enum State {
    /// A message; what was given out of each of its parts.
    Message(Vec<(u64, String)>),
    /// Reasoning; the part that was shown last. What was shown is one block.
    Reasoning(Option<ReasoningPart>),
    Call(Call),
    /// Anything that we have no word for.
    Carried,
    /// All of it was given out.
    Done,
}

/// A call; it has an index and an id from when its name is known.
struct Call {
    index: Option<usize>,
    id: String,
    name: String,
    sent: Arguments,
    // The arguments as a whole, where they were said before the call's end; counts if no piece came and no end.
    whole: String,
    // How many blocks there were when it began, itself included.
    end: usize,
}

/// A paragraph of reasoning: of its summary, or of the reasoning itself where a model shows it.
#[derive(Clone, Copy, PartialEq)]
enum ReasoningPart {
    Summary(u64),
    Text(u64),
}

impl Default for Items {
    fn default() -> Self {
        Items {
            limit: EVENT_LIMIT,
            items: Vec::new(),
            open: None,
            blocks: 0,
            calls: 0,
            refused: false,
            lost_call: false,
            held: 0,
        }
    }
}

impl Items {
    pub(super) fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// Returns how many calls began.
    pub(super) fn calls(&self) -> usize {
        self.calls
    }

    /// Returns whether items came, and all of them to their ends.
    pub(super) fn all_done(&self) -> bool {
        !self.items.is_empty() && self.items.iter().all(|item| matches!(item.state, State::Done))
    }

    /// Returns whether a call came that could not be read.
    pub(super) fn lost_call(&self) -> bool {
        self.lost_call
    }

    /// Returns whether the model declined in words of their own kind.
    pub(super) fn refused(&self) -> bool {
        self.refused
    }

    /// Takes in an event about an item; others say nothing about the message.
    pub(super) fn event(
        &mut self,
        head: Head<'_>,
        data: &str,
        events: &mut Vec<Event>,
    ) -> Result<(), DecodeError> {
        match head.kind.0.as_ref() {
            "response.output_text.delta" => self.text(head, false, events),
            "response.function_call_arguments.delta" => self.arguments(head, events),
            "response.output_item.added" => self.add_once(&parse(data)?, events),
            "response.output_item.done" => self.complete(&parse(data)?, events),
            "response.refusal.delta" => self.text(head, true, events),
            "response.reasoning_summary_text.delta" => {
                let part = ReasoningPart::Summary(head.summary_index.unwrap_or_default());
                self.reasoning(head, part, events)
            }
            "response.reasoning_text.delta" => {
                let part = ReasoningPart::Text(head.content_index.unwrap_or_default());
                self.reasoning(head, part, events)
            }
            "response.function_call_arguments.done" => self.arguments_done(&parse(data)?),
            _ => Ok(()),
        }
    }

    /// Ends all items; `output` is what the service says at the end that they were. One that cannot be read is no reason to
    /// lose the others.
    pub(super) fn settle(&mut self, output: &[&RawValue], events: &mut Vec<Event>) {
        let told = |outcome: Result<(), DecodeError>, events: &mut Vec<Event>| {
            events.extend(outcome.err().map(framing::unread));
        };
        if self.items.is_empty() {
            for (index, item) in (0_u64..).zip(output) {
                let outcome = self.complete(&ItemEvent { output_index: Some(index), item }, events);
                told(outcome, events);
            }
        }
        for at in 0..self.items.len() {
            let outcome = self.settle_item(at, output, events);
            told(outcome, events);
        }
        self.close(events);
    }

    fn settle_item(
        &mut self,
        at: usize,
        output: &[&RawValue],
        events: &mut Vec<Event>,
    ) -> Result<(), DecodeError> {
        let Some(Item { output_index, state, .. }) = self.items.get(at) else { return Ok(()) };
        if matches!(state, State::Done) {
            return Ok(());
        }
        let number = output_index.and_then(|index| usize::try_from(index).ok()).unwrap_or(at);
        match output.get(number) {
            Some(raw) if state.is(&parse(raw.get())?) => self.complete_at(at, raw, events),
            _ => self.end(at, events),
        }
    }

    /// Begins an item, unless it has begun already and is only said again, as a line is that came twice.
    fn add_once(&mut self, event: &ItemEvent<'_>, events: &mut Vec<Event>) -> Result<(), DecodeError> {
        let item: ItemShape<'_> = parse(event.item.get())?;
        let known = |one: &Item| one.output_index == event.output_index && one.id == item.id.0;
        if !item.id.is_empty() && self.items.iter().any(known) {
            return Ok(());
        }
        self.begin(event, events)
    }

    /// Begins an item.
    fn begin(&mut self, event: &ItemEvent<'_>, events: &mut Vec<Event>) -> Result<(), DecodeError> {
        let item: ItemShape<'_> = parse(event.item.get())?;
        // The index of an item that has not ended: its server forgot to end it.
        if event.output_index.is_some()
            && let Some(at) = self.find(event.output_index, "")
        {
            self.end(at, events)?;
        }
        let state = match item.kind.0.as_ref() {
            "message" => State::Message(Vec::new()),
            "reasoning" => State::Reasoning(None),
            "function_call" => {
                let whole = item.arguments.map(text::string).transpose()?.unwrap_or_default().into_owned();
                hold(&mut self.held, whole.len(), self.limit)?;
                let mut call = Call {
                    index: None,
                    id: String::new(),
                    name: String::new(),
                    sent: Arguments::default(),
                    whole,
                    end: 0,
                };
                self.name_call(self.items.len(), &mut call, &item, events);
                State::Call(call)
            }
            _ => State::Carried,
        };
        self.add(event.output_index, item.id.0.into_owned(), state)?;
        Ok(())
    }

    /// Takes in a piece of a message.
    fn text(&mut self, event: Head<'_>, refusal: bool, events: &mut Vec<Event>) -> Result<(), DecodeError> {
        self.refused |= refusal;
        let part = event.content_index.unwrap_or_default();
        match self.find_or_begin(&event, || State::Message(Vec::new()))? {
            Some(at) => self.give_text(at, part, event.delta.0, events),
            None => Ok(()),
        }
    }

    /// Takes in a piece of reasoning that may be shown.
    fn reasoning(
        &mut self,
        event: Head<'_>,
        part: ReasoningPart,
        events: &mut Vec<Event>,
    ) -> Result<(), DecodeError> {
        let Some(at) = self.find_or_begin(&event, || State::Reasoning(None))? else { return Ok(()) };
        let going_on = self.open == Some((at, 0));
        let Some(Item { state: State::Reasoning(last), place, .. }) = self.items.get_mut(at) else {
            return Ok(());
        };
        // Something else came in between. Its end says all of it, and where it belongs.
        let shown = if last.is_some() { going_on } else { *place == self.blocks };
        if event.delta.is_empty() || !shown {
            return Ok(());
        }
        let paragraph = last.is_some_and(|last| last != part);
        *last = Some(part);
        let delta = event.delta.0;
        let text = if paragraph { format!("\n\n{delta}") } else { delta.into_owned() };
        self.open(at, 0, events);
        events.push(Event::ThinkingDelta(text));
        Ok(())
    }

    /// Takes in a piece of a call's arguments.
    fn arguments(&mut self, event: Head<'_>, events: &mut Vec<Event>) -> Result<(), DecodeError> {
        // A call that never began has no name yet; its end will say all of it.
        let Some(at) = self.find(event.output_index, &event.item_id.0) else { return Ok(()) };
        let Some(Item { state: State::Call(call), .. }) = self.items.get_mut(at) else { return Ok(()) };
        hold(&mut self.held, event.delta.0.len(), self.limit)?;
        let new = call.sent.more(&event.delta.0);
        if let (Some(index), false) = (call.index, new.is_empty()) {
            events.push(Event::ArgumentsDelta { index, text: new.to_owned() });
        }
        Ok(())
    }

    /// Takes in what the service says that a call's arguments were.
    fn arguments_done(&mut self, event: &ArgumentsDone<'_>) -> Result<(), DecodeError> {
        let Some(at) = self.find(event.output_index, &event.item_id.0) else { return Ok(()) };
        let Some(Item { state: State::Call(call), .. }) = self.items.get_mut(at) else { return Ok(()) };
        if let (true, Some(arguments)) = (call.whole.is_empty(), event.arguments) {
            let whole = text::string(arguments)?;
            hold(&mut self.held, whole.len(), self.limit)?;
            call.whole.push_str(&whole);
        }
        Ok(())
    }

    /// Takes in an item that is complete, whether or not it began and whatever came of it before.
    fn complete(&mut self, event: &ItemEvent<'_>, events: &mut Vec<Event>) -> Result<(), DecodeError> {
        let item: ItemShape<'_> = parse(event.item.get())?;
        let id = item.id.0.as_ref();
        let found = self.find(event.output_index, id);
        let at = match found.filter(|at| self.items.get(*at).is_some_and(|one| one.state.is(&item))) {
            Some(at) => at,
            None if found.is_none() && self.is_over(event.output_index, id) => return Ok(()),
            None => {
                self.begin(event, events)?;
                self.items.len() - 1
            }
        };
        self.complete_at(at, event.item, events)
    }

    fn complete_at(&mut self, at: usize, raw: &RawValue, events: &mut Vec<Event>) -> Result<(), DecodeError> {
        let item: ItemShape<'_> = parse(raw.get())?;
        let Some(began) = self.items.get_mut(at) else { return Ok(()) };
        match (item.kind.0.as_ref(), std::mem::replace(&mut began.state, State::Done)) {
            ("message", state @ State::Message(_)) => {
                began.state = state;
                self.complete_message(at, &item, events)?;
                self.end(at, events)
            }
            ("reasoning", State::Reasoning(shown)) => {
                let mut shown = shown.is_some();
                let words = readable(&item)?;
                if !shown && began.place == self.blocks && !words.is_empty() {
                    shown = true;
                    self.open(at, 0, events);
                    events.push(Event::ThinkingDelta(words));
                }
                self.carry(at, shown, raw, events);
                Ok(())
            }
            ("function_call", State::Call(call)) => {
                self.held = self.held.saturating_sub(call.sent.sent().len() + call.whole.len());
                self.complete_call(at, call, &item, events)
            }
            _ => {
                self.carry(at, false, raw, events);
                Ok(())
            }
        }
    }

    /// Ends an item with what came of it.
    fn end(&mut self, at: usize, events: &mut Vec<Event>) -> Result<(), DecodeError> {
        if self.open.is_some_and(|(open, _)| open == at) {
            self.close(events);
        }
        let Some(item) = self.items.get_mut(at) else { return Ok(()) };
        self.held = self.held.saturating_sub(item.state.held());
        match std::mem::replace(&mut item.state, State::Done) {
            State::Call(Call { index: Some(index), sent, whole, .. }) => {
                if sent.sent().is_empty() && !whole.is_empty() {
                    events.push(Event::ArgumentsDelta { index, text: whole });
                }
                events.push(Event::CallDone { index });
            }
            State::Call(Call { index: None, .. }) => {
                self.lost_call = true;
                return Err(DecodeError::malformed("a call without a name", &item.id));
            }
            // What has no word of ours and no end is not known, and nothing is lost by that.
            State::Message(_) | State::Reasoning(_) | State::Carried | State::Done => {}
        }
        Ok(())
    }

    fn complete_message(
        &mut self,
        at: usize,
        item: &ItemShape<'_>,
        events: &mut Vec<Event>,
    ) -> Result<(), DecodeError> {
        for (number, part) in (0_u64..).zip(parts(item.content)?) {
            let beside =
                [("annotations", part.annotations), ("logprobs", part.logprobs), ("phase", item.phase)];
            let whole = match part.kind.0.as_ref() {
                "refusal" => {
                    self.refused = true;
                    part.refusal
                }
                "output_text" | "text" => part.text,
                _ => Text::default(),
            };
            let sent = match self.items.get(at) {
                Some(Item { state: State::Message(sent), .. }) => sent,
                _ => return Ok(()),
            };
            let sent = sent.iter().find(|(part, _)| *part == number).map_or("", |(_, sent)| sent);
            let (sent, whole) = (mend::plain(sent), mend::plain(&whole.0));
            // Words that were shown cannot be taken back; only what is missing is added.
            if let Some(rest) = whole.strip_prefix(sent.as_ref()).map(str::to_owned) {
                self.give_text(at, number, Cow::Owned(rest), events)?;
            }
            // Behind another block it would be that one's.
            if self.open == Some((at, number))
                && let Some(block) = beside::block(NAME, beside::Of::Text, said(beside))
            {
                self.close(events);
                events.push(Event::Block(block));
                self.take(at, self.blocks);
            }
        }
        Ok(())
    }

    fn complete_call(
        &mut self,
        at: usize,
        mut call: Call,
        item: &ItemShape<'_>,
        events: &mut Vec<Event>,
    ) -> Result<(), DecodeError> {
        if call.index.is_none() {
            self.name_call(at, &mut call, item, events);
            if let (Some(index), false) = (call.index, call.sent.sent().is_empty()) {
                events.push(Event::ArgumentsDelta { index, text: call.sent.sent().to_owned() });
            }
        }
        let Some(index) = call.index else {
            self.lost_call = true;
            return Err(DecodeError::malformed("a call without a name", &item.call_id.0));
        };
        if !item.name.is_empty() && call.name != item.name.0 {
            events.push(Event::CallName { index, name: item.name.0.to_string() });
        }
        let whole = match item.arguments {
            Some(arguments) => text::string(arguments)?,
            None => Cow::Borrowed(call.whole.as_str()),
        };
        let (whole, sent) = (mend::plain(&whole), mend::plain(call.sent.sent()));
        match whole.strip_prefix(sent.as_ref()) {
            Some("") => {}
            Some(rest) => events.push(Event::ArgumentsDelta { index, text: rest.to_owned() }),
            // Nothing is said at the end, or the same in other bytes: what the model wrote came in the pieces.
            None if whole.is_empty() || same_json(&whole, &sent) => {}
            // Neither may run: nobody knows which of the two the model meant.
            None => {
                return Err(DecodeError::doubtful("a call whose pieces are not its arguments", &whole));
            }
        }
        events.push(Event::CallDone { index });
        let beside = said([("caller", item.caller), ("namespace", item.namespace)]);
        // Behind another block it would be that one's.
        if call.end == self.blocks
            && let Some(block) = beside::block(NAME, beside::Of::Call, beside)
        {
            self.close(events);
            events.push(Event::Block(block));
            self.take(at, self.blocks);
        }
        Ok(())
    }

    fn name_call(&mut self, at: usize, call: &mut Call, item: &ItemShape<'_>, events: &mut Vec<Event>) {
        if item.name.is_empty() {
            return;
        }
        self.close(events);
        let index = self.calls;
        self.calls += 1;
        self.take(at, self.blocks);
        call.end = self.blocks;
        // Results name the `call_id`. A server without one knows its calls by the item's own id.
        let id = [&item.call_id, &item.id].into_iter().find(|id| !id.is_empty());
        call.id = id.map_or_else(|| format!("call_{index}"), |id| id.0.to_string());
        call.index = Some(index);
        call.name = item.name.0.to_string();
        events.push(Event::CallStarted { index, id: call.id.clone(), name: item.name.0.to_string() });
    }

    fn give_text(
        &mut self,
        at: usize,
        part: u64,
        text: Cow<'_, str>,
        events: &mut Vec<Event>,
    ) -> Result<(), DecodeError> {
        let Some(Item { state: State::Message(sent), .. }) = self.items.get_mut(at) else { return Ok(()) };
        if text.is_empty() {
            return Ok(());
        }
        hold(&mut self.held, text.len(), self.limit)?;
        let parts = sent.len();
        match sent.iter_mut().rfind(|(number, _)| *number == part) {
            Some((_, sent)) => sent.push_str(&text),
            None if parts >= ITEM_LIMIT => return Err(TOO_MANY),
            None => sent.push((part, text.as_ref().to_owned())),
        }
        self.open(at, part, events);
        events.push(Event::TextDelta(text.into_owned()));
        Ok(())
    }

    /// Gives out an item as it came, at its place; `shown` says that its block is there already, in words.
    fn carry(&mut self, at: usize, shown: bool, raw: &RawValue, events: &mut Vec<Event>) {
        let Some(place) = self.items.get(at).map(|item| item.place) else { return };
        let block = Content::Opaque { wire: NAME.to_owned(), json: raw.get().to_owned() };
        if shown {
            if self.open.is_some_and(|(open, _)| open == at) {
                self.close(events);
            }
            events.push(Event::Replace { blocks: place..place + 1, with: block });
            return;
        }
        if place == self.blocks {
            self.close(events);
            events.push(Event::Block(block));
        } else {
            events.push(Event::Replace { blocks: place..place, with: block });
        }
        self.take(at, place);
    }

    fn open(&mut self, at: usize, part: u64, events: &mut Vec<Event>) {
        if self.open != Some((at, part)) {
            self.close(events);
            self.open = Some((at, part));
            self.take(at, self.blocks);
        }
    }

    /// Counts a new block of an item; what comes after it moves on.
    fn take(&mut self, at: usize, place: usize) {
        self.blocks += 1;
        for (other, item) in self.items.iter_mut().enumerate() {
            item.place += usize::from(item.place > place || (item.place == place && other > at));
        }
    }

    fn close(&mut self, events: &mut Vec<Event>) {
        events.extend(self.open.take().map(|_| Event::BlockDone));
    }

    fn find_or_begin(
        &mut self,
        event: &Head<'_>,
        state: impl Fn() -> State,
    ) -> Result<Option<usize>, DecodeError> {
        let id = event.item_id.0.as_ref();
        let found = self.find(event.output_index, id);
        if found.is_none() && !self.is_over(event.output_index, id) {
            return self.add(event.output_index, id.to_owned(), state()).map(Some);
        }
        Ok(found)
    }

    fn add(&mut self, output_index: Option<u64>, id: String, state: State) -> Result<usize, DecodeError> {
        if self.items.len() >= ITEM_LIMIT {
            return Err(TOO_MANY);
        }
        self.items.push(Item { output_index, id, place: self.blocks, state });
        Ok(self.items.len() - 1)
    }

    /// Returns the item that an event means, if it has not ended.
    fn find(&self, output_index: Option<u64>, id: &str) -> Option<usize> {
        self.items.iter().rposition(|item| {
            !matches!(item.state, State::Done)
                && match (output_index, item.output_index) {
                    (Some(asked), Some(index)) => asked == index,
                    _ if !id.is_empty() && !item.id.is_empty() => item.id == id,
                    // Nothing tells them apart: the newest.
                    _ => true,
                }
        })
    }

    fn is_over(&self, output_index: Option<u64>, id: &str) -> bool {
        self.items.iter().any(|item| match (output_index, item.output_index) {
            (Some(asked), Some(index)) => asked == index && item.id == id,
            _ => !id.is_empty() && item.id == id,
        })
    }
}

impl State {
    /// Returns whether this can be the item that is said to be complete.
    fn is(&self, item: &ItemShape<'_>) -> bool {
        let kind = item.kind.0.as_ref();
        match self {
            State::Message(_) => kind == "message",
            State::Reasoning(_) => kind == "reasoning",
            State::Call(call) => {
                let other = call.index.is_some() && !item.call_id.is_empty() && item.call_id.0 != call.id;
                kind == "function_call" && !other
            }
            State::Carried => !matches!(kind, "message" | "reasoning" | "function_call"),
            State::Done => false,
        }
    }

    /// Returns how many bytes are kept until the item ends.
    fn held(&self) -> usize {
        match self {
            State::Message(parts) => parts.iter().map(|(_, sent)| sent.len()).sum(),
            State::Call(call) => call.sent.sent().len() + call.whole.len(),
            State::Reasoning(_) | State::Carried | State::Done => 0,
        }
    }
}
