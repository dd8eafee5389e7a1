//! Puts calls together from pieces that dialects mark in different ways.
//!
//! By the specification a piece names its call's `index`, and only the first has id and name. Some servers leave the
//! index out, some repeat id and name in every piece, some give every call index 0.

use std::borrow::Cow;

use super::NAME;
use super::shapes::CallPiece;
use crate::event::CALL_LIMIT;
use crate::sse::EVENT_LIMIT;
use crate::{DecodeError, Event, beside, text};

#[derive(Default)]
pub(super) struct Calls {
    calls: Vec<Growing>,
    announced: usize,
}

struct Growing {
    key: Option<i64>,
    id: String,
    // Its number among the calls that were announced, which is the order in which their names came.
    number: Option<usize>,
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
                let id = if id.is_empty() { self.made_up_id() } else { id.into_owned() };
                if self.calls.len() >= CALL_LIMIT {
                    return Err(DecodeError::malformed("more calls than an answer has", &name));
                }
                self.calls.push(Growing { key: piece.index, id, number: None, early: String::new() });
                self.calls.len() - 1
            }
        };
        let Some(call) = self.calls.get_mut(index) else { return Ok(()) };
        if call.number.is_none() && !name.is_empty() {
            let index = self.announced;
            call.number = Some(index);
            self.announced += 1;
            events.push(Event::CallStarted { index, id: call.id.clone(), name: name.into_owned() });
            if let Some(extra) = piece.extra_content.filter(|extra| extra.get() != "null") {
                let members = beside::Members::from([("extra_content".into(), extra)]);
                events.extend(beside::block(NAME, beside::Of::Call, members).map(Event::Block));
            }
            if !call.early.is_empty() {
                events.push(Event::ArgumentsDelta { index, text: std::mem::take(&mut call.early) });
            }
        }
        // Some servers send a whole object instead of a string; its bytes are taken.
        let text = arguments.map(text::string).transpose()?.unwrap_or_default();
        let Some(index) = call.number else {
            if call.early.len() + text.len() > EVENT_LIMIT {
                return Err(DecodeError::TooLarge { limit: EVENT_LIMIT });
            }
            call.early.push_str(&text);
            return Ok(());
        };
        if !text.is_empty() {
            events.push(Event::ArgumentsDelta { index, text: text.into_owned() });
        }
        Ok(())
    }

    /// Ends all calls.
    pub(super) fn finish(&mut self, events: &mut Vec<Event>) -> Result<(), DecodeError> {
        for call in &self.calls {
            let index =
                call.number.ok_or_else(|| DecodeError::malformed("a call without a name", &call.id))?;
            events.push(Event::CallDone { index });
        }
        Ok(())
    }

    /// The number of the call, or the next one that no other has for its id.
    fn made_up_id(&self) -> String {
        let taken = |id: &String| self.calls.iter().any(|call| call.id == *id);
        let mut ids = (self.calls.len()..).map(|number| format!("call_{number}"));
        ids.find(|id| !taken(id)).unwrap_or_default()
    }

    fn find(&self, key: Option<i64>, id: &str, name: &str) -> Option<usize> {
        let same_key = |call: &Growing| key.is_none() || call.key == key;
        let same_id = |call: &Growing| key.is_none() && !id.is_empty() && call.id == id;
        let at = self.calls.iter().rposition(same_id).or_else(|| self.calls.iter().rposition(same_key))?;
        let call = self.calls.get(at)?;
        // A name says that a call begins, unless the piece repeats what its index or its id already said.
        let repeats = if id.is_empty() { key.is_some() } else { id == call.id };
        let other = call.number.is_some() && !name.is_empty() && !repeats;
        (!other).then_some(at)
    }
}
