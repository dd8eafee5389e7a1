//! A service that takes signed reasoning back only behind exactly what it was written behind, by the bytes that it is sent;
//! of one model, which is older, it only asks who wrote it.
//!
//! It knows nothing of digests and records: it keeps for each signature that it gives out what stood before it in the body of
//! the request, and compares that with the body in which it comes back. Marks for its cache are no content.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use serde_json::{Value, json};
use trunkline_runtime::message_tree::Origin;
use trunkline_runtime::providers::{
    Anthropic, Event, Feature, OpenAiResponses, Provider, ProviderError, Reply, Request, Support, Wire,
};

/// A model that does not bind its reasoning.
pub(crate) const FREE: &str = "claude-opus-4-8";

/// Which wire it speaks.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Speaks {
    Messages,
    Responses,
}

pub(crate) const BOTH: [Speaks; 2] = [Speaks::Messages, Speaks::Responses];

/// One block of an answer.
#[derive(Clone, Debug)]
pub(crate) enum Block {
    Think,
    Say(String),
    Call(&'static str, Value),
}

/// What a signature was given out behind, and what the answer said besides.
#[derive(Clone, Debug)]
struct Issued {
    model: String,
    before: Value,
    /// The blocks of the answer before it, and those behind it.
    rest: (Vec<Value>, Vec<Value>),
}

/// One request that it has seen.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) body: Value,
    /// The signatures that came back, in order.
    pub(crate) back: Vec<String>,
    /// Signatures that could have come back and did not.
    pub(crate) missed: Vec<String>,
}

/// The service, for all models that it has.
#[derive(Clone)]
pub(crate) struct Strict {
    pub(crate) speaks: Speaks,
    issued: Arc<Mutex<Vec<(String, Issued)>>>,
    seen: Arc<Mutex<Vec<Seen>>>,
    refused: Arc<Mutex<Vec<String>>>,
    numbers: Arc<Mutex<u32>>,
}

impl Strict {
    pub(crate) fn new(speaks: Speaks) -> Self {
        Strict {
            speaks,
            issued: Arc::default(),
            seen: Arc::default(),
            refused: Arc::default(),
            numbers: Arc::default(),
        }
    }

    /// Returns a model of it that answers so; a request for a summary gets one.
    pub(crate) fn model(
        &self,
        model: &str,
        script: impl Fn(&Value) -> Vec<Block> + Send + Sync + 'static,
    ) -> Model {
        let provider = if self.speaks == Speaks::Messages { "anthropic" } else { "openai-responses" };
        Model { service: self.clone(), origin: Origin::new(provider, model), script: Box::new(script) }
    }

    /// The requests for the conversation, without those for summaries.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        let seen = self.seen.lock().unwrap();
        seen.iter().filter(|seen| !asks_for_summary(&seen.body)).cloned().collect()
    }

    pub(crate) fn back(&self) -> Vec<String> {
        self.seen().pop().map(|seen| seen.back).unwrap_or_default()
    }

    pub(crate) fn refused(&self) -> Vec<String> {
        self.refused.lock().unwrap().clone()
    }

    fn wire(&self) -> Box<dyn Wire> {
        match self.speaks {
            Speaks::Messages => Box::new(Anthropic::new()),
            Speaks::Responses => Box::new(OpenAiResponses::new()),
        }
    }

    fn next(&self) -> u32 {
        let mut number = self.numbers.lock().unwrap();
        *number += 1;
        *number
    }

    /// The places of a body at which reasoning may stand: what is before them, and the block there.
    fn places<'a>(&self, body: &'a Value) -> Vec<(Value, &'a Value)> {
        let list = self.list(body);
        let mut places = Vec::new();
        for (index, entry) in list.iter().enumerate() {
            match self.speaks {
                Speaks::Responses => places.push((self.before(body, index, &[]), entry)),
                Speaks::Messages if entry["role"] == "assistant" => {
                    let blocks = entry["content"].as_array().map(Vec::as_slice).unwrap_or_default();
                    let place = |at: usize| (self.before(body, index, &blocks[..at]), &blocks[at]);
                    places.extend((0..blocks.len()).map(place));
                }
                Speaks::Messages => {}
            }
        }
        places
    }

    fn list<'a>(&self, body: &'a Value) -> &'a [Value] {
        let name = if self.speaks == Speaks::Messages { "messages" } else { "input" };
        body[name].as_array().map(Vec::as_slice).unwrap_or_default()
    }

    /// What a block stands behind: the first entries of the list, and blocks of the answer that it belongs to.
    fn before(&self, body: &Value, index: usize, blocks: &[Value]) -> Value {
        let list = &self.list(body)[..index];
        plain(
            &json!({ "system": body["system"], "instructions": body["instructions"], "tools": body["tools"],
            "list": list, "blocks": blocks }),
        )
    }

    /// Says why a body is refused, if it is; else which signatures came.
    fn check(&self, model: &str, body: &Value) -> Result<Vec<String>, String> {
        let issued: HashMap<String, Issued> = self.issued.lock().unwrap().iter().cloned().collect();
        let mut back = Vec::new();
        for (before, block) in self.places(body) {
            let Some(signature) = signature(block) else { continue };
            let Some(known) = issued.get(signature) else { return Err("Invalid `signature`".to_owned()) };
            if known.model != model {
                return Err("the model is another one".to_owned());
            }
            if known.before != before && model != FREE {
                return Err(format!("{signature} was written behind something else"));
            }
            back.push(signature.to_owned());
        }
        Ok(back)
    }

    /// Which signatures could have come back, since all that they were written behind stands where it stood.
    fn missed(&self, model: &str, body: &Value, back: &[String]) -> Vec<String> {
        let list = self.list(body);
        if model == FREE {
            return Vec::new();
        }
        let issued = self.issued.lock().unwrap();
        let missing =
            issued.iter().filter(|(signature, known)| known.model == model && !back.contains(signature));
        let could = |known: &Issued| {
            let (first, last) = &known.rest;
            (0..list.len()).any(|index| match self.speaks {
                // Reasoning comes first here.
                Speaks::Responses => {
                    let said = list[index..].iter().take(last.len()).map(words);
                    last.iter().map(words).eq(said) && self.before(body, index, &[]) == known.before
                }
                Speaks::Messages => {
                    let blocks: Vec<Value> = first.iter().chain(last).cloned().collect();
                    let answered = plain(&list[index]["content"]) == json!(blocks);
                    list[index]["role"] == "assistant"
                        && answered
                        && self.before(body, index, first) == known.before
                }
            })
        };
        missing.filter(|(_, known)| could(known)).map(|(signature, _)| signature.clone()).collect()
    }

    /// Writes an answer, and notes what its reasoning stands behind.
    fn answer(&self, model: &str, body: &Value, blocks: Vec<Block>) -> Value {
        let (length, mut written, mut calls) = (self.list(body).len(), Vec::new(), false);
        let mut signed = Vec::new();
        for block in blocks {
            let number = self.next();
            written.push(match (block, self.speaks) {
                (Block::Think, Speaks::Messages) => {
                    signed.push((format!("s{number}"), written.len()));
                    json!({ "type": "thinking", "thinking": "hmm", "signature": format!("s{number}") })
                }
                (Block::Think, Speaks::Responses) => {
                    signed.push((format!("s{number}"), written.len()));
                    let id = format!("rs_{number}");
                    json!({ "type": "reasoning", "id": id, "summary": [], "encrypted_content": format!("s{number}") })
                }
                (Block::Say(text), Speaks::Messages) => json!({ "type": "text", "text": text }),
                (Block::Say(text), Speaks::Responses) => {
                    let part = json!({ "type": "output_text", "text": text, "annotations": [] });
                    json!({ "type": "message", "id": format!("msg_{number}"), "role": "assistant", "status": "completed",
                        "content": [part] })
                }
                (Block::Call(name, input), Speaks::Messages) => {
                    calls = true;
                    json!({ "type": "tool_use", "id": format!("c{number}"), "name": name, "input": input })
                }
                (Block::Call(name, input), Speaks::Responses) => {
                    json!({ "type": "function_call", "id": format!("fc_{number}"), "call_id": format!("c{number}"),
                        "name": name, "arguments": input.to_string(), "status": "completed" })
                }
            });
        }
        for (signature, at) in signed {
            let before = match self.speaks {
                Speaks::Messages => self.before(body, length, &written[..at]),
                Speaks::Responses => self.before(body, length, &[]),
            };
            let unsigned = |blocks: &[Value]| -> Vec<Value> {
                blocks.iter().filter(|block| self::signature(block).is_none()).cloned().collect()
            };
            let rest = (unsigned(&written[..at]), unsigned(&written[at + 1..]));
            self.issued.lock().unwrap().push((signature, Issued { model: model.to_owned(), before, rest }));
        }
        match self.speaks {
            Speaks::Messages => {
                json!({ "id": "msg", "type": "message", "role": "assistant", "model": model, "content": written,
                "stop_reason": if calls { "tool_use" } else { "end_turn" }, "stop_sequence": null,
                "usage": { "input_tokens": 10, "output_tokens": 5 } })
            }
            Speaks::Responses => {
                json!({ "id": "resp", "object": "response", "status": "completed", "model": model, "output": written,
                "usage": { "input_tokens": 10, "output_tokens": 5, "total_tokens": 15 } })
            }
        }
    }
}

/// What an item says that an answer has and a later request repeats in other words.
fn words(item: &Value) -> Value {
    match item["type"].as_str() {
        Some("function_call") => json!([item["call_id"], item["name"]]),
        _ => match &item["content"] {
            Value::Array(parts) => parts.iter().map(|part| part["text"].clone()).collect(),
            text => json!([text]),
        },
    }
}

fn signature(block: &Value) -> Option<&str> {
    match block["type"].as_str()? {
        "thinking" => block["signature"].as_str(),
        "redacted_thinking" => block["data"].as_str(),
        "reasoning" => block["encrypted_content"].as_str(),
        _ => None,
    }
}

/// Content without marks for the cache.
pub(crate) fn plain(value: &Value) -> Value {
    match value {
        Value::Array(all) => all.iter().map(plain).collect(),
        Value::Object(all) => {
            let kept = all.iter().filter(|(name, _)| *name != "cache_control");
            kept.map(|(name, value)| (name.clone(), plain(value))).collect()
        }
        value => value.clone(),
    }
}

fn asks_for_summary(body: &Value) -> bool {
    body.to_string().contains("You write the summary")
}

/// What a model answers to a body.
type Script = dyn Fn(&Value) -> Vec<Block> + Send + Sync;

/// A model of the service.
pub(crate) struct Model {
    service: Strict,
    origin: Origin,
    script: Box<Script>,
}

#[async_trait]
impl Provider for Model {
    fn origin(&self) -> &Origin {
        &self.origin
    }

    fn wire(&self) -> &str {
        self.service.wire().name()
    }

    fn support(&self, feature: Feature) -> Support {
        self.service.wire().support(feature)
    }

    async fn send(&self, request: Request) -> Result<Box<dyn Reply>, ProviderError> {
        let (service, wire) = (&self.service, self.service.wire());
        let bytes = wire.encode(&request)?.body.to_vec();
        let body: Value = serde_json::from_slice(&bytes).unwrap();
        let back = match service.check(&self.origin.model, &body) {
            Ok(back) => back,
            Err(why) => {
                service.refused.lock().unwrap().push(why);
                let words = "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different \
                    conversation. Remove the block.";
                let refusal = json!({ "type": "error", "error": { "type": "invalid_request_error", "message": words } });
                let refusal = refusal.to_string();
                let wants = wire.learn(&request.traits, 400, refusal.as_bytes());
                return Err(wire.error(400, &[], refusal.as_bytes()).wanting(wants));
            }
        };
        let missed = service.missed(&self.origin.model, &body, &back);
        let model = self.origin.model.clone();
        service.seen.lock().unwrap().push(Seen { body: body.clone(), back, missed });
        let blocks = match asks_for_summary(&body) {
            true => vec![Block::Say("they talked".to_owned())],
            false => (self.script)(&body),
        };
        let answer = service.answer(&model, &body, blocks).to_string();
        let mut decoder = wire.decoder(&request);
        let mut events = Vec::new();
        decoder.push(answer.as_bytes(), &mut events)?;
        decoder.finish(&mut events)?;
        Ok(Box::new(Played(events.into())))
    }
}

struct Played(VecDeque<Event>);

#[async_trait]
impl Reply for Played {
    async fn next(&mut self) -> Result<Option<Event>, ProviderError> {
        Ok(self.0.pop_front())
    }
}
