//! The entries of a session as they come about: what continues what, what was left by going back, and what a summary
//! covers.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::ops::Range;

use trunkline_message_tree::{Author, Content, Message, Origin, Role, StopReason, Timestamp, Usage};

use super::item::{Item, is_injected};
use super::{SUMMARY, WIRE};
use crate::json;
use crate::log::{Entry, Log, Part};
use crate::source::{Piece, Source};

/// How many tokens of a person's words stay beside a summary that says nothing of them, with four bytes to a token (its
/// `compact.rs`, read 2026-11).
const KEPT_TOKENS: usize = 20_000;

/// A log that grows by what each record says.
#[derive(Debug)]
pub(super) struct Turns<'a> {
    text: &'a str,
    pub(super) log: Log,
    /// By entry: the nearest words of a person at or above it.
    prompts: Vec<Option<usize>>,
    /// The message of the model that goes on.
    open: Option<usize>,
    /// The last message of the model, as long as nothing but results follows it.
    last: Option<usize>,
    /// The model that is asked.
    pub(super) model: Option<String>,
    /// The record that named it, if no message has taken it along.
    pub(super) context: Option<usize>,
    /// Entries by what they say, as far as they were looked at.
    said: HashMap<u64, usize>,
    looked_at: usize,
    /// How many bytes of records may still be said once more without standing there once more: a file can be made of
    /// nothing but compactions.
    budget: usize,
}

impl<'a> Turns<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Turns {
            text,
            log: Log::default(),
            prompts: Vec::new(),
            open: None,
            last: None,
            model: None,
            context: None,
            said: HashMap::new(),
            looked_at: 0,
            budget: text.len(),
        }
    }

    /// Takes in an item of the conversation.
    pub(super) fn take(&mut self, item: Item<'a>, record: usize, at: Option<Timestamp>) {
        if item.role == Role::Assistant {
            self.say(item, record, at);
            return;
        }
        self.open = None;
        if item.role != Role::Tool {
            self.last = None;
        }
        let prompts = item.prompts;
        let message = Message::new(item.role, item.author, item.blocks);
        let source = self.source(item.raws, record, item.exact);
        self.push(Entry { parent: self.log.head, at, message, source, part: Part::Said }, prompts);
    }

    /// Takes in a part of what the model says.
    fn say(&mut self, item: Item<'a>, record: usize, at: Option<Timestamp>) {
        let mut source = self.source(item.raws, record, item.exact);
        if let Some(entry) = self.open.and_then(|open| self.log.entries.get_mut(open)) {
            entry.message.content.extend(item.blocks);
            entry.message.stop = item.stop.or(entry.message.stop.take());
            entry.source.records.push(record);
            entry.source.blocks.append(&mut source.blocks);
            entry.source.exact &= item.exact;
            return;
        }
        source.records = self.context.take().into_iter().chain([record]).collect();
        let mut message = Message::new(item.role, item.author, item.blocks);
        message.origin = self.model.as_ref().map(|model| Origin::new(WIRE, model));
        message.stop = item.stop;
        let entry = Entry { parent: self.log.head, at, message, source, part: Part::Said };
        let place = self.push(entry, false);
        self.open = Some(place);
        self.last = Some(place);
    }

    fn source(&self, raws: Vec<&'a str>, record: usize, exact: bool) -> Source {
        let pieces = raws.into_iter().map(|raw| Piece { record, range: self.range(raw) });
        Source { records: vec![record], blocks: pieces.collect(), exact, older: false }
    }

    /// Returns where a part of the text stands in it.
    pub(super) fn range(&self, raw: &str) -> Range<usize> {
        if raw.is_empty() { 0..0 } else { json::range_in(self.text, raw) }
    }

    fn push(&mut self, entry: Entry, prompts: bool) -> usize {
        let above = entry.parent.and_then(|parent| self.prompts.get(parent).copied().flatten());
        let place = self.log.push(entry);
        self.prompts.push(if prompts { Some(place) } else { above });
        self.log.head = Some(place);
        place
    }

    /// Ends what the model says.
    pub(super) fn close(&mut self) {
        self.open = None;
    }

    /// Notes what a response cost. `is_new` is for counts that are said again and again: whether they have changed.
    pub(super) fn usage(&mut self, usage: Usage, record: usize, is_new: bool) {
        let late = || self.last.filter(|_| is_new);
        let Some(place) = self.open.or_else(late) else { return };
        self.open = None;
        if let Some(entry) = self.log.entries.get_mut(place)
            && entry.message.usage.is_none()
        {
            entry.message.usage = Some(usage);
            entry.source.records.push(record);
        }
    }

    /// Notes that a person cut the model off.
    pub(super) fn abort(&mut self, record: usize) {
        if let Some(entry) = self.open.take().and_then(|open| self.log.entries.get_mut(open)) {
            entry.message.stop = Some(StopReason::Cancelled);
            entry.source.records.push(record);
        }
    }

    /// Goes back before the last so many words of a person, as the client does (its `drop_last_n_user_turns`, read
    /// 2026-11): what it had put in directly before them goes too, but for what stood before the first of all.
    pub(super) fn go_back(&mut self, turns: u64) {
        self.close();
        self.last = None;
        let above =
            |this: &Self, at: Option<usize>| at.and_then(|at| this.prompts.get(at).copied().flatten());
        let parent = |this: &Self, at: usize| this.log.entries.get(at).and_then(|entry| entry.parent);
        let mut cut = None;
        let mut next = above(self, self.log.head);
        for _ in 0..turns {
            let Some(prompt) = next else { break };
            cut = Some(prompt);
            next = above(self, parent(self, prompt));
        }
        let Some(cut) = cut else { return };
        let mut head = parent(self, cut);
        while let Some(at) = head.filter(|_| next.is_some())
            && self.log.entries.get(at).is_some_and(is_context)
        {
            head = parent(self, at);
        }
        self.log.head = head;
    }

    /// Takes in a summary and what stays beside it; the first of these items takes the place of what was before.
    pub(super) fn replace(&mut self, items: Vec<(Item<'a>, usize)>, at: Option<Timestamp>) {
        self.close();
        self.last = None;
        self.look();
        let first = self.log.entries.len();
        for (mut item, record) in items {
            // Going back counts the turns that were, not what is said of them.
            item.prompts = false;
            self.take(item, record, at);
        }
        self.close();
        self.last = None;
        for place in first..self.log.entries.len() {
            let print = self.log.entries.get(place).map(|entry| print_of(&entry.message));
            let above = print.and_then(|print| self.said.get(&print).copied());
            let of = above.filter(|of| self.same(*of, place));
            if let Some(entry) = self.log.entries.get_mut(place) {
                entry.part = match of {
                    _ if place == first => Part::Compaction { kept: None },
                    Some(of) => Part::Copy { of },
                    None => Part::Said,
                };
            }
        }
        self.look();
    }

    /// Takes in a summary that says nothing of what stays beside it: the last words of a person do, before it.
    pub(super) fn summarise(&mut self, item: Item<'a>, record: usize, at: Option<Timestamp>) {
        self.close();
        self.last = None;
        let mut kept = Vec::new();
        let mut tokens = 0_usize;
        let mut next = self.log.head.and_then(|head| self.prompts.get(head).copied().flatten());
        while let Some(entry) = next.and_then(|prompt| self.log.entries.get(prompt)) {
            let cost = entry.source.records.iter().filter_map(|record| self.log.records.get(*record));
            let cost = cost.map(|range| range.len()).sum::<usize>().max(1);
            if tokens >= KEPT_TOKENS || cost > self.budget {
                break;
            }
            self.budget -= cost;
            if entry.message.author == Author::Person {
                tokens = tokens.saturating_add(entry.message.text().len().div_ceil(4));
                kept.extend(next);
            }
            next = entry.parent.and_then(|parent| self.prompts.get(parent).copied().flatten());
        }
        let mut part = Part::Compaction { kept: None };
        for of in kept.into_iter().rev() {
            let Some(entry) = self.log.entries.get(of).cloned() else { continue };
            let copied = std::mem::replace(&mut part, Part::Said);
            let part = if copied == Part::Said { Part::Copy { of } } else { copied };
            self.push(Entry { parent: self.log.head, part, ..entry }, false);
        }
        let source = self.source(item.raws, record, false);
        let message = Message::new(item.role, item.author, item.blocks);
        self.push(Entry { parent: self.log.head, at, message, source, part }, false);
    }

    /// Looks at the entries that are new, so that copies of them are known.
    fn look(&mut self) {
        while let Some(entry) = self.log.entries.get(self.looked_at) {
            if entry.part == Part::Said || matches!(entry.part, Part::Compaction { .. }) {
                self.said.entry(print_of(&entry.message)).or_insert(self.looked_at);
            }
            self.looked_at += 1;
        }
    }

    fn same(&self, one: usize, other: usize) -> bool {
        match (self.log.entries.get(one), self.log.entries.get(other)) {
            (Some(one), Some(other)) => {
                one.message.role == other.message.role && one.message.content == other.message.content
            }
            _ => false,
        }
    }
}

/// Tells whether an entry is what the client puts before the words of a person.
fn is_context(entry: &Entry) -> bool {
    let is_summary = |block: &Content| matches!(block, Content::Text { text } if text.starts_with(SUMMARY));
    match entry.message.role {
        Role::System => entry.part == Part::Said,
        Role::User => {
            let said = &entry.message.content;
            entry.part == Part::Said && said.iter().any(is_injected) && !said.iter().any(is_summary)
        }
        Role::Assistant | Role::Tool => false,
    }
}

/// Returns a number that is the same for messages that say the same.
fn print_of(message: &Message) -> u64 {
    struct Into<'h>(&'h mut DefaultHasher);
    impl io::Write for Into<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.write(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut hasher = DefaultHasher::new();
    message.role.hash(&mut hasher);
    // It writes no map and no number that JSON does not have, so it never fails; if it did, more would look the same.
    let _ = serde_json::to_writer(Into(&mut hasher), &message.content);
    hasher.finish()
}
