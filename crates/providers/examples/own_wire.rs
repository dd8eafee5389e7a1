//! A wire and a provider of one's own, and what the conformance kit says about them.
//!
//! The service speaks in lines: `model tiny`, `say "hel"`, `say "lo"`, `stop done`. It knows words, a temperature and a
//! limit, and nothing else.

#![expect(clippy::print_stdout, reason = "an example speaks to its reader")]

use std::collections::VecDeque;
use std::error::Error;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::json;
use trunkline_message_tree::{Content, Message, Origin, StopReason};
use trunkline_providers::conformance::{self, Answer, Samples};
use trunkline_providers::{
    Decode, DecodeError, EncodeError, Event, Feature, HttpRequest, Provider, ProviderError, Reply, Request,
    Secret, Support, Wire,
};

const ANSWER: &str = "model tiny\nsay \"grüße, \"\nsay \"world\"\nstop done\n";

/// The wire.
struct Lines;

impl Wire for Lines {
    fn name(&self) -> &'static str {
        "lines"
    }

    fn support(&self, feature: Feature) -> Support {
        match feature {
            Feature::Streaming | Feature::System | Feature::Temperature => Support::Native,
            Feature::CacheBreakpoints => Support::Near("automatic"),
            _ => Support::None,
        }
    }

    fn encode(&self, request: &Request) -> Result<HttpRequest, EncodeError> {
        // Whatever else a request may ask for, now or in a later version, is refused and not dropped.
        request.check_features("lines", |feature| self.support(feature))?;
        if request.messages.is_empty() {
            return Err(EncodeError::NoMessages);
        }
        let words_only = |message: &Message| {
            !message.content.is_empty()
                && message.content.iter().all(|block| matches!(block, Content::Text { .. }))
        };
        if !request.messages.iter().all(|message| words_only(message)) {
            return Err(EncodeError::Unsupported { wire: "lines", what: "anything but words" });
        }
        let said =
            request.messages.iter().map(|message| json!({"by": message.role, "words": message.text()}));
        let body = json!({
            "model": request.model,
            "said": said.collect::<Vec<_>>(),
            "in_pieces": request.stream,
            "temperature": request.temperature,
            "limit": request.max_output_tokens,
        });
        Ok(HttpRequest::post_json("/ask", body.to_string().into_bytes()))
    }

    fn key_header(&self, key: &Secret) -> (String, String) {
        ("x-lines-key".to_owned(), key.expose().to_owned())
    }

    fn decoder(&self, _request: &Request) -> Box<dyn Decode> {
        Box::new(Decoder::default())
    }

    fn error(&self, status: u16, headers: &[(String, String)], body: &[u8]) -> ProviderError {
        // Services refuse in much the same words everywhere.
        ProviderError::of_response(status, headers, body)
    }
}

#[derive(Default)]
struct Decoder {
    // A line whose end has not come.
    partial: Vec<u8>,
    open: bool,
    stopped: bool,
}

impl Decode for Decoder {
    fn push(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<(), DecodeError> {
        for byte in bytes {
            if *byte != b'\n' {
                self.partial.push(*byte);
                continue;
            }
            let line = std::mem::take(&mut self.partial);
            self.line(str::from_utf8(&line).map_err(|_| DecodeError::NotUtf8)?, events)?;
        }
        match self.partial.len() {
            0..=65_536 => Ok(()),
            _ => Err(DecodeError::TooLarge { limit: 65_536 }),
        }
    }

    fn finish(&mut self, _events: &mut Vec<Event>) -> Result<(), DecodeError> {
        if self.stopped { Ok(()) } else { Err(DecodeError::Cut) }
    }
}

impl Decoder {
    fn line(&mut self, line: &str, events: &mut Vec<Event>) -> Result<(), DecodeError> {
        let fault = || DecodeError::Malformed {
            reason: "not a line of ours".to_owned(),
            excerpt: line.chars().take(80).collect(),
        };
        match line.split_once(' ') {
            _ if self.stopped || line.is_empty() => {}
            _ if line.starts_with('<') => return Err(DecodeError::Html),
            Some(("model", model)) => events.push(Event::Started { model: model.to_owned(), id: None }),
            Some(("say", words)) => {
                let words: String = serde_json::from_str(words).map_err(|_| fault())?;
                if !words.is_empty() {
                    self.open = true;
                    events.push(Event::TextDelta(words));
                }
            }
            Some(("stop", reason)) => {
                events.extend(self.open.then_some(Event::BlockDone));
                let limit = reason == "limit";
                events.push(Event::Stopped(if limit { StopReason::MaxTokens } else { StopReason::EndTurn }));
                self.stopped = true;
            }
            _ => return Err(fault()),
        }
        Ok(())
    }
}

/// A provider without a network: the service is a constant.
struct InProcess {
    origin: Origin,
}

#[async_trait]
impl Provider for InProcess {
    fn origin(&self) -> &Origin {
        &self.origin
    }

    fn wire(&self) -> &str {
        Lines.name()
    }

    async fn send(&self, request: Request) -> Result<Box<dyn Reply>, ProviderError> {
        Lines.encode(&request)?;
        let pieces = ANSWER.as_bytes().chunks(5).collect();
        Ok(Box::new(InPieces { pieces, decoder: Lines.decoder(&request), events: Vec::new(), over: false }))
    }
}

struct InPieces {
    pieces: VecDeque<&'static [u8]>,
    decoder: Box<dyn Decode>,
    events: Vec<Event>,
    over: bool,
}

#[async_trait]
impl Reply for InPieces {
    async fn next(&mut self) -> Result<Option<Event>, ProviderError> {
        while self.events.is_empty() && !self.over {
            match self.pieces.pop_front() {
                Some(piece) => self.decoder.push(piece, &mut self.events)?,
                None => {
                    self.over = true;
                    self.decoder.finish(&mut self.events)?;
                }
            }
        }
        Ok((!self.events.is_empty()).then(|| self.events.remove(0)))
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let request = Request::new("tiny", [Message::user("hello")]);
    let answer = Answer::new("words", request.clone(), ANSWER)
        .saying([Content::text("grüße, world")], StopReason::EndTurn);
    let samples = Samples::new([answer]);
    println!("{}", conformance::wire(&Lines, &samples));

    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let provider = InProcess { origin: Origin::new("lines", "tiny") };
    let patience = Duration::from_secs(10);
    println!("{}", runtime.block_on(conformance::provider(&provider, &[request], patience)));

    #[cfg(feature = "http")]
    println!("{}", runtime.block_on(conformance::over_http(&samples, over_http)));
    Ok(())
}

/// The wire over the HTTP that is in the box, as impatient as the kit asks for.
#[cfg(feature = "http")]
fn over_http(endpoint: &conformance::Endpoint) -> Result<trunkline_providers::HttpProvider, ProviderError> {
    use trunkline_providers::{HttpProvider, RetryPolicy, Timeouts};

    let mut timeouts = Timeouts::default();
    timeouts.response = endpoint.response;
    timeouts.next_bytes = endpoint.next_bytes;
    let mut retry = RetryPolicy::default();
    retry.base = endpoint.pause;
    let origin = Origin::new("lines", "tiny");
    let provider = HttpProvider::new(Box::new(Lines), endpoint.base.clone(), Some(&endpoint.key), origin)?;
    Ok(provider.with_retry(retry).with_timeouts(timeouts))
}
