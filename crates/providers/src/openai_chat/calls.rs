//! Puts calls together from pieces that dialects mark in different ways.
//!
//! By the specification a piece names its call's `index`, and only the first has id and name. Some servers leave the
//! index out, some repeat id and name in every piece, some give every call index 0.

use std::borrow::Cow;

use super::shapes::CallPiece;
use crate::sse::EVENT_LIMIT;
use crate::{DecodeError, Event, text};

// No answer has nearly as many; keeps a hostile endpoint from making each piece cost more than the one before.
const CALL_LIMIT: usize = 1024;

#[derive(Default)]
pub(super) struct Calls {
    calls: Vec<Growing>,
}

struct Growing {
    key: Option<i64>,
    id: String,
    started: bool,
    // Arguments that came before the name.
    early: String,
}

impl Calls {
    /// Returns how many calls there are.
    pub(super) fn count(&self) -> usize {
        self.calls.len()
    }

    /// Takes in one piece; `whole` says that it is a call of its own, whatever it is marked with.
    pub(super) fn push(
        &mut self,
        piece: CallPiece<'_>,
        whole: bool,
        events: &mut Vec<Event>,
    ) -> Result<(), DecodeError> {
        let id = piece.id.0;
        let (name, arguments) = match piece.function {
            Some(function) => (function.name.0, function.arguments),
            None => (Cow::Borrowed(""), None),
        };
        let index = match self.find(piece.index, &id, &name).filter(|_| !whole) {
            Some(index) => index,
            None => {
                // Servers without ids exist; results go by place, so any id that is unique in the message will do.
                let id = if id.is_empty() { format!("call_{}", self.calls.len()) } else { id.into_owned() };
                if self.calls.len() >= CALL_LIMIT {
                    return Err(DecodeError::malformed("more calls than an answer has", &name));
                }
                self.calls.push(Growing { key: piece.index, id, started: false, early: String::new() });
                self.calls.len() - 1
            }
        };
        let Some(call) = self.calls.get_mut(index) else { return Ok(()) };
        if !call.started && !name.is_empty() {
            call.started = true;
            events.push(Event::CallStarted { index, id: call.id.clone(), name: name.into_owned() });
            if !call.early.is_empty() {
                events.push(Event::ArgumentsDelta { index, text: std::mem::take(&mut call.early) });
            }
        }
        // Some servers send a whole object instead of a string; its bytes are taken.
        let text = arguments.map(text::string).transpose()?.unwrap_or_default();
        if !call.started {
            if call.early.len() + text.len() > EVENT_LIMIT {
                return Err(DecodeError::TooLarge { limit: EVENT_LIMIT });
            }
            call.early.push_str(&text);
        } else if !text.is_empty() {
            events.push(Event::ArgumentsDelta { index, text: text.into_owned() });
        }
        Ok(())
    }

    /// Ends all calls.
    pub(super) fn finish(&mut self, events: &mut Vec<Event>) -> Result<(), DecodeError> {
        for (index, call) in self.calls.iter().enumerate() {
            if !call.started {
                return Err(DecodeError::malformed("a call without a name", &call.id));
            }
            events.push(Event::CallDone { index });
        }
        Ok(())
    }

    fn find(&self, key: Option<i64>, id: &str, name: &str) -> Option<usize> {
        let same_key = |call: &Growing| key.is_none() || call.key == key;
        let at = self.calls.iter().rposition(same_key)?;
        let call = self.calls.get(at)?;
        // A name says that a call begins, unless the piece repeats what its index or its id already said.
        let repeats = if id.is_empty() { key.is_some() } else { id == call.id };
        let other = call.started && !name.is_empty() && !repeats;
        (!other).then_some(at)
    }
}
