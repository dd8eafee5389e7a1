//! The results of one message's calls.

use std::collections::{HashMap, HashSet};

use trunkline_message_tree::{Content, MediaSource, Part};

use super::said::Said;

/// Results in their order, one for each call.
#[derive(Debug, Default)]
pub(super) struct Answers {
    list: Vec<Said>,
    by_call: HashMap<String, usize>,
}

impl Answers {
    /// Tells whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns how many there are.
    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// Returns the calls that are answered.
    pub(super) fn calls(&self) -> impl Iterator<Item = &str> {
        self.by_call.keys().map(String::as_str)
    }

    /// Returns the result of a call.
    pub(super) fn get(&self, call: &str) -> Option<&Said> {
        self.by_call.get(call).and_then(|at| self.list.get(*at))
    }

    /// Adds a result, in place of an earlier one of the same call only if that is said.
    pub(super) fn add(&mut self, answer: Said, in_place: bool) {
        let Some(call) = answer.result().map(|result| result.call_id.clone()) else { return };
        match self.by_call.get(&call).and_then(|at| self.list.get_mut(*at)) {
            Some(before) if in_place => *before = answer,
            Some(_) => {}
            None => {
                self.by_call.insert(call, self.list.len());
                self.list.push(answer);
            }
        }
    }

    /// Takes out the result of a call.
    pub(super) fn take(&mut self, call: &str) -> Option<Said> {
        let place = self.by_call.remove(call)?;
        let answer = self.list.get_mut(place)?;
        // The others keep their places; one without content is none.
        let taken = answer.clone();
        answer.message.content.clear();
        Some(taken)
    }

    /// Drops the results of all calls but these.
    pub(super) fn retain(&mut self, calls: &HashSet<&str>) {
        let of_these = |answer: &Said| answer.result().is_some_and(|of| calls.contains(of.call_id.as_str()));
        if self.list.iter().all(of_these) {
            return;
        }
        let list = std::mem::take(&mut self.list);
        self.by_call.clear();
        list.into_iter().filter(of_these).for_each(|answer| self.add(answer, false));
    }

    /// Returns them in order, to be changed.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Said> {
        self.list.iter_mut()
    }

    /// Returns them in order.
    pub(super) fn into_list(mut self) -> Vec<Said> {
        self.list.retain(|answer| !answer.message.content.is_empty());
        self.list
    }

    /// Tells whether all results of a call that both have are the same.
    pub(super) fn agree_with(&self, other: &Answers) -> bool {
        self.list.iter().filter_map(Said::result).all(|result| {
            let held = other.get(&result.call_id).and_then(Said::result);
            held.is_none_or(|held| held.content == result.content)
        })
    }
}

/// What stands beside results that were read already.
///
/// A result can stand in a file twice, with the pictures that belong to it both times.
#[derive(Debug, Default)]
pub(super) struct Beside(HashSet<(u8, String)>);

impl Beside {
    /// Notes what a result has beside its first words.
    pub(super) fn note(&mut self, answer: &Said) {
        // A result that has more is not compared to its end, so that a file of many copies is read in time.
        const MOST: usize = 64;
        let parts = answer.result().map(|result| result.content.as_slice()).unwrap_or_default();
        self.0.extend(parts.iter().take(MOST).map(|part| {
            let (kind, text) = match part {
                Part::Text { text } => (0, text),
                Part::Image(media) | Part::Document(media) => (1, bytes(&media.source)),
                Part::Opaque { json, .. } => (2, json),
            };
            (kind, text.clone())
        }));
    }

    /// Takes out of a message what was noted, and the message itself if nothing is left.
    pub(super) fn take_out(&self, message: &mut Option<Said>) {
        let Some(said) = message else { return };
        let is_known = |block: &Content| {
            let key = match block {
                Content::Text { text } => (0, text),
                Content::Image(media) | Content::Document(media) => (1, bytes(&media.source)),
                Content::Opaque { json, .. } => (2, json),
                _ => return false,
            };
            self.0.contains(&(key.0, key.1.clone()))
        };
        let known: Vec<bool> = said.message.content.iter().map(is_known).collect();
        if !known.contains(&true) {
            return;
        }
        let mut of_content = known.iter();
        said.message.content.retain(|_| of_content.next() == Some(&false));
        let mut of_pieces = known.iter();
        said.source.blocks.retain(|_| of_pieces.next() == Some(&false));
        said.source.exact = false;
        if said.message.content.is_empty() {
            *message = None;
        }
    }
}

fn bytes(source: &MediaSource) -> &String {
    match source {
        MediaSource::Base64(text) | MediaSource::Url(text) => text,
    }
}
