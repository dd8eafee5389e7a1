//! Puts calls together from pieces that dialects mark in different ways.
//!
//! By the specification a piece names its call's `index`, and only the first has id and name. Some servers leave the
//! index out, some repeat id and name in every piece, some send both in pieces too, some give every call index 0, and some
//! say whole calls again at the end. So a call is given out when its arguments begin, or when nothing more can belong to it.

use serde_json::value::RawValue;

use super::NAME;
use super::shapes::{CallPiece, ExtraContent};
use crate::arguments::Arguments;
use crate::event::CALL_LIMIT;
use crate::{DecodeError, Event, beside, framing, text};

/// Where the one call of the older form stands, `function_call`: it has no index.
const OLDER: i64 = i64::MIN;

#[derive(Default)]
pub(super) struct Calls {
    calls: Vec<Growing>,
    announced: usize,
    lost: bool,
}

struct Growing {
    key: Option<i64>,
    id: String,
    name: String,
    // Its number among the calls that were announced, which is the order in which their names came.
    number: Option<usize>,
    arguments: Arguments,
    // How much of the arguments was given out.
    given: usize,
    // What a gateway said beside the call, until it is given out.
    extra: Option<Extra>,
}

/// What a gateway says beside a call, and wants back with it.
enum Extra {
    /// The signature of a model of Google's, and nothing else.
    Signature(String),
    /// Anything else, as JSON.
    Other(String),
}

impl Extra {
    fn of(json: &RawValue) -> Option<Self> {
        if json.get() == "null" {
            return None;
        }
        match serde_json::from_str::<ExtraContent<'_>>(json.get()) {
            Ok(extra) if extra.google.thought_signature.is_empty() => None,
            Ok(extra) => Some(Extra::Signature(extra.google.thought_signature.into_owned())),
            Err(_) => Some(Extra::Other(json.get().to_owned())),
        }
    }

    fn event(self, index: usize) -> Option<Event> {
        match self {
            Extra::Signature(signature) => Some(Event::CallSignature { index, signature }),
            Extra::Other(json) => {
                let json: &RawValue = serde_json::from_str(&json).ok()?;
                let members = beside::Members::from([("extra_content".into(), json)]);
                beside::block(NAME, beside::Of::Call, members).map(Event::Block)
            }
        }
    }
}

impl Calls {
    /// Returns how many calls there are.
    pub(super) fn count(&self) -> usize {
        self.announced
    }

    /// Returns whether one came that could not be read.
    pub(super) fn lost(&self) -> bool {
        self.lost
    }

    /// Says that something was lost that may have belonged to a call which is not given out yet.
    pub(super) fn doubt(&mut self) {
        self.lost |= self.calls.iter().any(|call| call.number.is_none() && !call.arguments.is_whole());
    }

    /// Takes in one piece of a stream.
    pub(super) fn push(&mut self, piece: CallPiece<'_>, events: &mut Vec<Event>) -> Result<(), DecodeError> {
        let at = self.find(&piece);
        self.add(at, piece, false, events)
    }

    /// Takes in a call of the older form, or a piece of it; some servers send it beside the newer one.
    pub(super) fn push_older(
        &mut self,
        mut piece: CallPiece<'_>,
        events: &mut Vec<Event>,
    ) -> Result<(), DecodeError> {
        if self.calls.iter().any(|call| call.key != Some(OLDER)) {
            return Ok(());
        }
        piece.index = Some(OLDER);
        let at = self.calls.len().checked_sub(1);
        self.add(at, piece, false, events)
    }

    /// Takes in the calls of a whole message; those that are known already are only said again.
    pub(super) fn push_whole(
        &mut self,
        pieces: Vec<CallPiece<'_>>,
        events: &mut Vec<Event>,
    ) -> Result<(), DecodeError> {
        let known = self.calls.len();
        for (number, piece) in pieces.into_iter().enumerate() {
            let ours = self.calls.get(..known).unwrap_or_default();
            let by_id = ours.iter().position(|call| !piece.id.is_empty() && call.id == piece.id.0);
            let same_name = |call: &Growing| piece.name().is_empty() || call.name == piece.name();
            let by_place = ours.get(number).is_some_and(same_name).then_some(number);
            self.add(by_id.or(by_place), piece, true, events)?;
        }
        Ok(())
    }

    /// Gives out the calls whose names are known, before something else is.
    pub(super) fn announce(&mut self, events: &mut Vec<Event>) {
        for at in 0..self.calls.len() {
            self.announce_call(at, events);
        }
    }

    /// Ends all calls.
    pub(super) fn finish(&mut self, events: &mut Vec<Event>) {
        self.announce(events);
        for at in 0..self.calls.len() {
            self.give(at, true, events);
            let Some(call) = self.calls.get(at) else { continue };
            match call.number {
                Some(index) => events.push(Event::CallDone { index }),
                None => {
                    events.push(framing::unread(DecodeError::malformed("a call without a name", &call.id)));
                    self.lost = true;
                }
            }
        }
    }

    fn add(
        &mut self,
        at: Option<usize>,
        piece: CallPiece<'_>,
        whole: bool,
        events: &mut Vec<Event>,
    ) -> Result<(), DecodeError> {
        let at = match at {
            Some(at) => at,
            None => {
                if self.calls.len() >= CALL_LIMIT {
                    return Err(DecodeError::TooMany { what: "calls", limit: CALL_LIMIT });
                }
                self.calls.push(Growing {
                    key: piece.index,
                    id: String::new(),
                    name: String::new(),
                    number: None,
                    arguments: Arguments::default(),
                    given: 0,
                    extra: None,
                });
                self.calls.len() - 1
            }
        };
        let Some(call) = self.calls.get_mut(at) else { return Ok(()) };
        // Once it is given out, an id of another form is one that its server makes anew for each piece.
        if call.number.is_none() {
            grow(&mut call.id, &piece.id.0);
        }
        if grow(&mut call.name, piece.name())
            && let Some(index) = call.number
        {
            events.push(Event::CallName { index, name: call.name.clone() });
        }
        call.extra = piece.extra_content.and_then(Extra::of).or(call.extra.take());
        // Some servers send a whole object instead of a string; its bytes are taken.
        let text = piece.arguments().map(text::string).transpose()?.unwrap_or_default();
        // What many begin with, and some then replace by what was meant.
        let placeholder =
            call.given == 0 && call.arguments.sent().trim() == "{}" && text.trim_start().starts_with('{');
        if placeholder && text.trim() != "{}" {
            call.arguments = Arguments::default();
        }
        call.arguments.more(&text);
        // A signature may come after its call began; anything else has its place right behind the beginning.
        if let (Some(index), Some(Extra::Signature(_))) = (call.number, &call.extra) {
            events.extend(call.extra.take().and_then(|extra| extra.event(index)));
        }
        self.give(at, whole, events);
        Ok(())
    }

    /// Gives out the arguments that came, and the call before them. `whole` says that nothing follows that could be meant
    /// instead of `{}`.
    fn give(&mut self, at: usize, whole: bool, events: &mut Vec<Event>) {
        let sent = self.calls.get(at).map_or("", |call| call.arguments.sent());
        if sent.is_empty() {
            return;
        }
        let waits = !whole && sent.trim() == "{}";
        // In the order in which they came, as far as they have names.
        (0..=at).for_each(|at| self.announce_call(at, events));
        if waits {
            return;
        }
        let Some(call) = self.calls.get_mut(at) else { return };
        let new = call.arguments.sent().get(call.given..).unwrap_or_default();
        if let (Some(index), false) = (call.number, new.is_empty()) {
            events.push(Event::ArgumentsDelta { index, text: new.to_owned() });
            call.given = call.arguments.sent().len();
        }
    }

    fn announce_call(&mut self, at: usize, events: &mut Vec<Event>) {
        let Some(call) = self.calls.get(at) else { return };
        if call.number.is_some() || call.name.is_empty() {
            return;
        }
        // Servers without ids exist, and some have one for all; results go by place, so any that is unique in the
        // message will do.
        let taken = |id: &str| self.calls.iter().any(|other| other.number.is_some() && other.id == id);
        let id = match call.id.is_empty() || taken(&call.id) {
            true => self.made_up_id(),
            false => call.id.clone(),
        };
        let Some(call) = self.calls.get_mut(at) else { return };
        let index = self.announced;
        self.announced += 1;
        call.number = Some(index);
        call.id.clone_from(&id);
        events.push(Event::CallStarted { index, id, name: call.name.clone() });
        // Right behind it: that is how an encoder finds what belongs to it.
        events.extend(call.extra.take().and_then(|extra| extra.event(index)));
    }

    /// The number of the call, or the next one that no other has for its id.
    fn made_up_id(&self) -> String {
        let taken = |id: &String| self.calls.iter().any(|call| call.id == *id);
        let mut ids = (self.announced..).map(|number| format!("call_{number}"));
        ids.find(|id| !taken(id)).unwrap_or_default()
    }

    /// Returns the call that a piece belongs to, or `None` if it begins one.
    fn find(&self, piece: &CallPiece<'_>) -> Option<usize> {
        let (key, id, name) = (piece.index, piece.id.0.as_ref(), piece.name());
        let same_key = |call: &Growing| key.is_none() || call.key == key;
        let same_id = |call: &Growing| key.is_none() && !id.is_empty() && call.id == id;
        let at = self.calls.iter().rposition(same_id).or_else(|| self.calls.iter().rposition(same_key))?;
        let call = self.calls.get(at)?;
        if name.is_empty() || call.name.is_empty() {
            return Some(at);
        }
        // A name says that a call begins, unless it repeats, or goes on with, what its index or its id already said.
        let goes_on = match id.is_empty() {
            true => key.is_some() && (!call.arguments.is_whole() || name.starts_with(&call.name)),
            false => id == call.id,
        };
        goes_on.then_some(at)
    }
}

/// Takes in a piece of a name or an id; returns whether it is another one now. A piece that says what is already there, or
/// begins with it, is a repetition.
fn grow(whole: &mut String, piece: &str) -> bool {
    if piece.is_empty() || *whole == piece {
        return false;
    }
    if piece.starts_with(whole.as_str()) {
        piece.clone_into(whole);
    } else {
        whole.push_str(piece);
    }
    true
}

impl CallPiece<'_> {
    fn name(&self) -> &str {
        match &self.function {
            Some(function) if !function.name.is_empty() => &function.name.0,
            _ => &self.name.0,
        }
    }

    fn arguments(&self) -> Option<&RawValue> {
        self.function.as_ref().and_then(|function| function.arguments).or(self.arguments)
    }
}
