//! A provider that plays a cassette.
//!
//! A request is known again by its digest, so a conversation that goes another way than the recorded one is told so at
//! the first request that differs. Each request is encoded on a real wire first: an illegal history fails here as it
//! did, or would have, at the service.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use trunkline_message_tree::Origin;

use crate::playback::{Playback, Step};
use crate::{
    Bounds, Cassette, Ending, Exchange, Feature, Provider, ProviderError, Reply, Request, Support, Wire,
    provider,
};

/// A provider that answers with what was recorded.
///
/// Each request takes the first exchange with its digest that was not played yet. Attempts that were followed by another
/// one are played as what they were: [`Event::Retrying`](crate::Event::Retrying) and then the next attempt, all within
/// one reply. What was cancelled ends in [`ProviderError::Cut`] where the recording ends. Nothing is waited for, unless
/// `at_recorded_speed` (feature `http`) says so.
///
/// ```
/// use trunkline_message_tree::Origin;
/// use trunkline_providers::{Anthropic, Cassette, Replay};
///
/// let cassette = Cassette::parse("{\"trunkline_cassette\":1}\n")?;
/// let origin = Origin::new("anthropic", "some-model");
/// let replay = Replay::new(cassette, Box::new(Anthropic::new()), origin);
/// assert_eq!(replay.left(), 0);
/// # Ok::<(), trunkline_providers::CassetteError>(())
/// ```
pub struct Replay {
    origin: Origin,
    wire: Box<dyn Wire>,
    tape: Mutex<Tape>,
    in_order: bool,
    // Whether the recorded times are kept.
    paced: bool,
    bounds: Bounds,
}

struct Tape {
    // What was not played yet, with its number from 1.
    left: VecDeque<(usize, Exchange)>,
    // How many requests came.
    asked: usize,
}

impl Replay {
    /// Returns a provider that plays a cassette; its wire must be the recorded one.
    pub fn new(cassette: Cassette, wire: Box<dyn Wire>, origin: Origin) -> Self {
        let left =
            cassette.exchanges.into_iter().zip(1..).map(|(exchange, number)| (number, exchange)).collect();
        Replay {
            origin,
            wire,
            tape: Mutex::new(Tape { left, asked: 0 }),
            in_order: false,
            paced: false,
            bounds: Bounds::default(),
        }
    }

    /// Plays one exchange after the other, whatever is asked.
    ///
    /// For conversations with something in them that differs each time, such as the date.
    pub fn in_order(mut self) -> Self {
        self.in_order = true;
        self
    }

    /// Lets everything take as long as it took; needs tokio's timers.
    #[cfg(feature = "http")]
    pub fn at_recorded_speed(mut self) -> Self {
        self.paced = true;
        self
    }

    /// Takes so much of one answer and no more.
    pub fn with_bounds(mut self, bounds: Bounds) -> Self {
        self.bounds = bounds;
        self
    }

    /// Returns how many exchanges were not played yet.
    pub fn left(&self) -> usize {
        self.tape.lock().unwrap_or_else(PoisonError::into_inner).left.len()
    }

    /// Takes the exchanges of one request off the tape: the last one, and the attempts before it.
    fn take(&self, digest: &str) -> Result<Vec<Exchange>, ProviderError> {
        let mut tape = self.tape.lock().unwrap_or_else(PoisonError::into_inner);
        tape.asked += 1;
        let request = tape.asked;
        let mut attempts: Vec<Exchange> = Vec::new();
        loop {
            let fits = |(_, exchange): &(usize, Exchange)| {
                exchange.wire == self.wire.name() && exchange.digest == digest
            };
            let at = if self.in_order { Some(0) } else { tape.left.iter().position(fits) };
            let Some((number, exchange)) = at.and_then(|at| tape.left.remove(at)) else {
                // The process was killed while it waited to try again.
                if !attempts.is_empty() {
                    return Ok(attempts);
                }
                return Err(ProviderError::NotRecorded { request, why: self.why(&tape) });
            };
            if exchange.wire != self.wire.name() {
                let why =
                    format!("exchange {number} is of the wire {}, not {}", exchange.wire, self.wire.name());
                return Err(ProviderError::NotRecorded { request, why });
            }
            let again = exchange.retried.is_some();
            attempts.push(exchange);
            if !again {
                return Ok(attempts);
            }
        }
    }

    fn why(&self, tape: &Tape) -> String {
        let wires: Vec<&str> = tape.left.iter().map(|(_, exchange)| exchange.wire.as_str()).collect();
        match (wires.first(), tape.left.front()) {
            (Some(other), _) if wires.iter().all(|wire| *wire != self.wire.name()) => {
                format!("what is left was recorded on the wire {other}, not {}", self.wire.name())
            }
            (_, Some((next, _))) => {
                format!("the conversation differs from the recorded one, which goes on with exchange {next}")
            }
            _ => "all recorded exchanges were played".to_owned(),
        }
    }

    fn steps(&self, attempts: Vec<Exchange>, request: &Request) -> Vec<Step> {
        let mut steps = Vec::new();
        // When the attempt at hand began.
        let mut began = Duration::ZERO;
        for exchange in attempts {
            let ended = began.saturating_add(exchange.ended);
            let retried = exchange.retried;
            self.attempt(exchange, request, began, &mut steps);
            steps.extend(retried.map(Step::Retry));
            began = ended.saturating_add(retried.unwrap_or_default());
        }
        if let Some(Step::Retry(_)) = steps.last() {
            let why = "the recording ends before the next attempt".to_owned();
            steps.push(Step::Fail(ProviderError::NotRecorded { request: self.asked(), why }));
        }
        steps
    }

    fn asked(&self) -> usize {
        self.tape.lock().unwrap_or_else(PoisonError::into_inner).asked
    }

    fn attempt(&self, exchange: Exchange, request: &Request, began: Duration, steps: &mut Vec<Step>) {
        let ended = began.saturating_add(exchange.ended);
        match exchange.status {
            Some(status) if provider::is_answer(status) => {
                steps.push(Step::Open(self.bounds.around(self.wire.decoder(request))));
                for chunk in exchange.body {
                    self.pause(began.saturating_add(chunk.at), steps);
                    steps.push(Step::Bytes(chunk.bytes));
                }
                self.pause(ended, steps);
                steps.push(match exchange.ending {
                    Ending::Complete => Step::Close,
                    other => Step::Fail(broken(other)),
                });
            }
            Some(status) => {
                self.pause(ended, steps);
                let body: Vec<u8> =
                    exchange.body.iter().flat_map(|chunk| chunk.bytes.iter().copied()).collect();
                let refusal =
                    provider::refusal(self.wire.as_ref(), &request.traits, status, &exchange.headers, &body);
                steps.push(Step::Fail(refusal));
            }
            None => {
                self.pause(ended, steps);
                steps.push(Step::Fail(broken(exchange.ending)));
            }
        }
    }

    fn pause(&self, until: Duration, steps: &mut Vec<Step>) {
        #[cfg(feature = "http")]
        if self.paced {
            steps.push(Step::Until(until));
        }
        #[cfg(not(feature = "http"))]
        let _ = (until, steps, self.paced);
    }
}

/// Returns what an answer that did not come to its end was to the caller.
fn broken(ending: Ending) -> ProviderError {
    match ending {
        Ending::Unreached { cause } => {
            ProviderError::Transport { endpoint: "the recorded service".to_owned(), message: cause }
        }
        Ending::TimedOut { waiting, after } => ProviderError::Timeout { what: waiting, after },
        Ending::Complete | Ending::Cut | Ending::Cancelled => ProviderError::Cut,
    }
}

#[async_trait]
impl Provider for Replay {
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
        let encoded = self.wire.encode(&request)?;
        let attempts = self.take(&Exchange::digest_of(&encoded))?;
        Ok(Box::new(Playback::new(self.steps(attempts, &request))))
    }

    fn answers_in_background(&self, request: &Request) -> bool {
        self.wire.fetch(request, "id").is_some()
    }

    async fn fetch(&self, request: &Request, id: &str) -> Result<Option<Box<dyn Reply>>, ProviderError> {
        let Some(encoded) = self.wire.fetch(request, id) else { return Ok(None) };
        let attempts = self.take(&Exchange::digest_of(&encoded))?;
        Ok(Some(Box::new(Playback::new(self.steps(attempts, request)))))
    }
}
