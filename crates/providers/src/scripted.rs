//! A provider that plays a script.
//!
//! The script is a function of the request, so it can tell where it stands from the conversation alone: a process that
//! was killed and started again goes on where the conversation is. Every request is encoded on a real wire first, so an
//! illegal history fails here as it would at the service.

use async_trait::async_trait;
use serde_json::Value;
use trunkline_message_tree::{Origin, StopReason, Usage};

use crate::memos::Memos;
use crate::playback::{Playback, Step};
use crate::{Anthropic, Event, Feature, Provider, ProviderError, Reply, Request, Support, Wire};

/// A provider whose answers are computed from the request.
///
/// What a tool answered is in a message's `results()`, not in its `text()`.
///
/// ```
/// use trunkline_providers::{Scripted, Turn};
///
/// let provider = Scripted::new("scripted", "parrot", |request| {
///     let last = request.messages.last().map(|message| message.text()).unwrap_or_default();
///     Turn::say(format!("you said: {last}"))
/// });
/// ```
pub struct Scripted {
    origin: Origin,
    wire: Box<dyn Wire>,
    memos: Memos,
    script: Box<dyn Fn(&Request) -> Turn + Send + Sync>,
}

impl Scripted {
    /// Returns a provider that speaks the Anthropic wire.
    pub fn new(
        provider: impl Into<String>,
        model: impl Into<String>,
        script: impl Fn(&Request) -> Turn + Send + Sync + 'static,
    ) -> Self {
        Scripted {
            origin: Origin::new(provider, model),
            wire: Box::new(Anthropic::new()),
            memos: Memos::default(),
            script: Box::new(script),
        }
    }

    /// Answers as if from an address, of which this is the digest.
    pub fn at(mut self, address: impl Into<String>) -> Self {
        self.origin = self.origin.at(address);
        self
    }

    /// Speaks another wire: what is not legal there is refused.
    pub fn on(mut self, wire: impl Wire + 'static) -> Self {
        self.wire = Box::new(wire);
        self
    }
}

#[async_trait]
impl Provider for Scripted {
    fn origin(&self) -> &Origin {
        &self.origin
    }

    fn wire(&self) -> &str {
        self.wire.name()
    }

    fn support(&self, feature: Feature) -> Support {
        self.wire.support(feature)
    }

    async fn send(&self, request: Request) -> Result<Box<dyn Reply>, ProviderError> {
        let mut memo = self.memos.take(&request.messages);
        let encoded = self.wire.encode_next(&request, &mut memo)?;
        self.memos.put(memo);
        let turn = (self.script)(&request);
        // Nobody counts tokens here: four bytes each is the usual estimate for English and code.
        let input_tokens = encoded.body.len() as u64 / 4;
        Ok(Box::new(Playback::new(turn.into_steps(request.model, input_tokens))))
    }
}

/// What a scripted model answers to one request.
///
/// Text, reasoning and arguments are streamed in several pieces. Without [`Turn::stop`] it stops for tools if it asks
/// for any, and is done otherwise.
#[derive(Clone, Debug, Default)]
pub struct Turn {
    parts: Vec<Part>,
    stop: Option<StopReason>,
    end: End,
}

#[derive(Clone, Debug)]
enum Part {
    Say(String),
    Think { text: String, signature: Option<String> },
    Call { id: String, name: String, arguments: String },
}

#[derive(Clone, Debug, Default)]
enum End {
    #[default]
    Complete,
    Fail(ProviderError),
    Hang,
}

impl Turn {
    /// Returns an answer without any block.
    pub fn new() -> Self {
        Turn::default()
    }

    /// Returns an answer that begins with words.
    pub fn say(text: impl Into<String>) -> Self {
        Turn::new().and_say(text)
    }

    /// Adds words.
    pub fn and_say(mut self, text: impl Into<String>) -> Self {
        self.parts.push(Part::Say(text.into()));
        self
    }

    /// Adds reasoning.
    pub fn think(mut self, text: impl Into<String>, signature: Option<&str>) -> Self {
        self.parts.push(Part::Think { text: text.into(), signature: signature.map(str::to_owned) });
        self
    }

    /// Adds a call.
    pub fn call(self, id: impl Into<String>, name: impl Into<String>, arguments: &Value) -> Self {
        self.call_raw(id, name, arguments.to_string())
    }

    /// Adds a call with exactly these bytes as arguments; they need not be JSON.
    pub fn call_raw(
        mut self,
        id: impl Into<String>,
        name: impl Into<String>,
        arguments: impl Into<String>,
    ) -> Self {
        self.parts.push(Part::Call { id: id.into(), name: name.into(), arguments: arguments.into() });
        self
    }

    /// Stops for this reason.
    pub fn stop(mut self, reason: StopReason) -> Self {
        self.stop = Some(reason);
        self
    }

    /// Breaks off with this error after everything that was added; the last block stays open.
    pub fn fail(mut self, error: ProviderError) -> Self {
        self.end = End::Fail(error);
        self
    }

    /// Goes silent after everything that was added and never ends; the last block stays open.
    pub fn hang(mut self) -> Self {
        self.end = End::Hang;
        self
    }

    fn into_steps(self, model: String, input_tokens: u64) -> Vec<Step> {
        let mut events = vec![Event::Started { model, id: None }];
        let mut calls = 0;
        let mut written = 0;
        let last = self.parts.len().saturating_sub(1);
        for (position, part) in self.parts.into_iter().enumerate() {
            let closes = position < last || matches!(self.end, End::Complete);
            match part {
                Part::Say(text) => {
                    written += text.len();
                    events.extend(pieces(&text).map(|piece| Event::TextDelta(piece.to_owned())));
                    events.extend(closes.then_some(Event::BlockDone));
                }
                Part::Think { text, signature } => {
                    written += text.len();
                    events.extend(pieces(&text).map(|piece| Event::ThinkingDelta(piece.to_owned())));
                    events.extend(signature.filter(|_| closes).map(Event::Signature));
                    events.extend(closes.then_some(Event::BlockDone));
                }
                Part::Call { id, name, arguments } => {
                    written += arguments.len();
                    let index = calls;
                    calls += 1;
                    events.push(Event::CallStarted { index, id, name });
                    events.extend(
                        pieces(&arguments)
                            .map(|piece| Event::ArgumentsDelta { index, text: piece.to_owned() }),
                    );
                    events.extend(closes.then_some(Event::CallDone { index }));
                }
            }
        }
        if matches!(self.end, End::Complete) {
            let usage =
                Usage { input_tokens, output_tokens: (written as u64).div_ceil(4), ..Usage::default() };
            let stop = self.stop.unwrap_or(if calls > 0 { StopReason::ToolUse } else { StopReason::EndTurn });
            events.push(Event::Usage(usage));
            events.push(Event::Stopped(stop));
        }
        let mut steps: Vec<Step> = events.into_iter().map(Step::Event).collect();
        steps.extend(match self.end {
            End::Complete => None,
            End::Fail(error) => Some(Step::Fail(error)),
            End::Hang => Some(Step::Hang),
        });
        steps
    }
}

/// Cuts a text into pieces of about a word or two.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = rest.char_indices().map(|(at, c)| at + c.len_utf8()).nth(11).unwrap_or(rest.len());
        let (piece, tail) = rest.split_at(end);
        rest = tail;
        (!piece.is_empty()).then_some(piece)
    })
}
