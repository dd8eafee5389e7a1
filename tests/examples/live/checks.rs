//! What is checked at an endpoint.
//!
//! Each check says what it saw, or the first thing that was not as it must be.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use tokio::time::sleep;
use trunkline_message_tree::{Message, Role, StopReason, Usage};
use trunkline_providers::{Event, Fold, OutputSchema, Provider, Request};
use trunkline_runtime::{Agent, AgentBuilder, Cancel, Limit, Limits, Session, Stop};
use trunkline_session_store::{MemoryStore, SessionStore};

use crate::endpoint::Endpoint;
use crate::weather::Weather;

/// What a check saw, for people.
pub(crate) struct Facts(pub(crate) String);

/// How a check ended: what it saw, or what was wrong.
pub(crate) type Outcome = Result<Facts, String>;

/// Enough to see that something comes; without a limit this model never ends.
const A_FEW_WORDS: u32 = 12;
/// Enough for a call or a form.
const A_CALL: u32 = 64;
/// More than is ever read of it.
const A_STORY: u32 = 2000;
/// What letting go of a connection may take.
const AT_ONCE: Duration = Duration::from_secs(1);

/// Words come, in pieces if they were asked for, with a stop reason and a count of tokens.
pub(crate) async fn words(at: &Endpoint, streamed: bool) -> Outcome {
    let (message, (first, pieces)) = answer(at, |request| request.stream = streamed).await?;
    ensure(!message.text().trim().is_empty(), || "no words came".to_owned())?;
    ensure(!streamed || pieces > 1, || format!("a stream of {pieces} piece"))?;
    let usual = matches!(message.stop, Some(StopReason::EndTurn | StopReason::MaxTokens));
    ensure(usual, || format!("stopped with {:?}", message.stop))?;
    let tokens = counted(&message)?;
    let first = first.unwrap_or_default().as_millis();
    Ok(Facts(format!("{tokens}, pieces: {pieces}, the first after {first} ms")))
}

/// The answer is JSON of the form that was asked for.
pub(crate) async fn by_schema(at: &Endpoint) -> Outcome {
    let schema = json!({
        "type": "object",
        "properties": {
            "city": {"type": "string", "enum": ["Paris", "Rome", "Oslo"]},
            "degrees": {"type": "integer", "minimum": 0, "maximum": 40},
        },
        "required": ["city", "degrees"],
        "additionalProperties": false,
    });
    let (message, _) = answer(at, |request| {
        request.max_output_tokens = Some(A_CALL);
        request.output = Some(OutputSchema::new("weather", schema));
    })
    .await?;
    let text = message.text();
    let fields: Map<String, Value> = serde_json::from_str(&text)
        .map_err(|fault| format!("{:?} is not a JSON object: {fault}", shortened(&text)))?;
    let city = fields.get("city").and_then(Value::as_str);
    let degrees = fields.get("degrees").and_then(Value::as_i64).filter(|degrees| (0..=40).contains(degrees));
    ensure(fields.len() == 2 && degrees.is_some() && city.is_some(), || {
        format!("{:?} is not of the form that was asked for", shortened(&text))
    })?;
    Ok(Facts(counted(&message)?))
}

/// The agent asks, the model calls, the tool runs, its result goes back, and an answer comes.
pub(crate) async fn agent(at: &Endpoint) -> Outcome {
    let (weather, told) = (Weather::default(), Told::default());
    let before = at.relay.connections();
    let mut session = begin(at, &weather, &told, 2).await?;
    let stop = prompt(&mut session, "What is the weather in Paris?").await?;
    let conversation: Vec<&Message> = session.tree().trunk().messages().skip(2).collect();
    called_and_ran(&conversation, &weather)?;
    let answer = answered(conversation.get(2).copied(), &stop)?;
    let (words, arguments) = told.pieces();
    ensure(words > 1, || format!("the answer came in {words} piece"))?;
    ensure(arguments > 1, || format!("the arguments came in {arguments} piece"))?;
    let call = conversation.first().map(|message| counted(message)).transpose()?.unwrap_or_default();
    let connections = at.relay.connections() - before;
    Ok(Facts(format!(
        "call {call} in {arguments} pieces; answer {answer} in {words}; {connections} connection(s)"
    )))
}

/// A conversation that stops between a result and its answer goes on at another endpoint, and then at a third, where
/// there is a call again.
pub(crate) async fn taken_up(first: &Endpoint, second: &Endpoint, third: &Endpoint) -> Outcome {
    let (weather, told) = (Weather::default(), Told::default());
    let store: Arc<dyn SessionStore> = Arc::new(MemoryStore::new());
    let agent = build(equipped(first, &weather, &told, 1)?)?;
    let mut session =
        agent.start(Arc::clone(&store), "a conversation on three wires", None).await.map_err(causes)?;
    prompt(&mut session, "What is the weather in Paris?").await?;
    let begun: Vec<&Message> = session.tree().trunk().messages().skip(2).collect();
    called_and_ran(&begun, &weather)?;
    ensure(begun.len() == 2, || format!("{} messages before the conversation moves", begun.len()))?;
    let (id, told_first) = (session.id().clone(), begun.len() + 2);
    drop(session);

    let agent = build(equipped(second, &weather, &told, 1)?)?;
    let mut session = agent.open(Arc::clone(&store), &id).await.map_err(causes)?;
    let stop = session.resume(&Cancel::new()).await.map_err(causes)?;
    let said = session.tree().trunk().messages().nth(told_first);
    let at_second = answered(said, &stop).map_err(|fault| format!("{}: {fault}", second.name))?;
    let told_second = session.tree().trunk().messages().len();
    drop(session);

    let (weather, told) = (Weather::default(), Told::default());
    let agent = build(equipped(third, &weather, &told, 2)?)?;
    let mut session = agent.open(store, &id).await.map_err(causes)?;
    let stop = prompt(&mut session, "And in Rome?").await?;
    let rest: Vec<&Message> = session.tree().trunk().messages().skip(told_second + 1).collect();
    called_and_ran(&rest, &weather).map_err(|fault| format!("{}: {fault}", third.name))?;
    let at_third =
        answered(rest.get(2).copied(), &stop).map_err(|fault| format!("{}: {fault}", third.name))?;
    Ok(Facts(format!(
        "{at_second} at {}, {at_third} at {}, {} repairs",
        second.name,
        third.name,
        told.repairs()
    )))
}

/// A drive that is cancelled in the middle of a stream lets go of the connection, the server stops working on it, and
/// the session goes on.
pub(crate) async fn cancelled(at: &Endpoint, model: SocketAddr) -> Outcome {
    let cancel = Cancel::new();
    let given: Arc<Mutex<(usize, Option<Instant>)>> = Arc::default();
    let (signal, noted) = (cancel.clone(), Arc::clone(&given));
    let provider = at.provider().map_err(|fault| fault.to_string())?;
    let agent = Agent::builder(provider).max_output_tokens(A_STORY).temperature(0.0).on_event(move |event| {
        let trunkline_runtime::Event::Stream(Event::TextDelta(_)) = event else { return };
        let mut noted = noted.lock().unwrap_or_else(PoisonError::into_inner);
        noted.0 += 1;
        if noted.0 == 5 {
            noted.1 = Some(Instant::now());
            signal.cancel();
        }
    });
    let store: Arc<dyn SessionStore> = Arc::new(MemoryStore::new());
    let mut session = build(agent)?.start(Arc::clone(&store), "a story", None).await.map_err(causes)?;
    let stop = session.prompt("Tell a very long story about a ship.", &cancel).await.map_err(causes)?;
    ensure(stop == Stop::Cancelled, || format!("the story ended by itself: {stop}"))?;
    let (pieces, at_time) = *given.lock().unwrap_or_else(PoisonError::into_inner);
    let at_time = at_time.ok_or("cancelled before anything came")?;
    let dropped = at.relay.dropped_after(at_time, AT_ONCE).await;
    let dropped = dropped.ok_or_else(|| format!("the connection is open {} s later", AT_ONCE.as_secs()))?;
    let kept = session.tree().trunk().messages().next_back().cloned();
    let kept =
        kept.filter(|message| message.stop == Some(StopReason::Cancelled) && !message.text().is_empty());
    let kept = kept.ok_or("what was streamed is not kept")?.text().len();
    let idle = idle_after(model, at_time).await?.as_millis();

    let id = session.id().clone();
    drop(session);
    let provider = at.provider().map_err(|fault| fault.to_string())?;
    let agent = build(Agent::builder(provider).max_output_tokens(A_FEW_WORDS).limits(turns(1)))?;
    let mut session = agent.open(store, &id).await.map_err(causes)?;
    let stop = session.resume(&Cancel::new()).await.map_err(causes)?;
    let last = session.tree().trunk().messages().rfind(|message| message.role == Role::Assistant);
    answered(last, &stop).map_err(|fault| format!("after the cancel: {fault}"))?;
    let dropped = dropped.as_micros() as f64 / 1000.0;
    Ok(Facts(format!(
        "after {pieces} pieces: dropped after {dropped:.1} ms, server idle after {idle} ms, {kept} bytes kept, went on"
    )))
}

/// Asks once, without an agent; returns the answer, when its first words came, and in how many pieces.
async fn answer(
    at: &Endpoint,
    with: impl FnOnce(&mut Request),
) -> Result<(Message, (Option<Duration>, usize)), String> {
    let provider = at.provider().map_err(|fault| fault.to_string())?;
    let prompt = [Message::system("You are brief."), Message::user("Say something about the sea.")];
    let mut request = Request::new(provider.origin().model.clone(), prompt);
    request.max_output_tokens = Some(A_FEW_WORDS);
    request.temperature = Some(0.0);
    with(&mut request);
    let mut reply = provider.send(request).await.map_err(|fault| fault.to_string())?;
    let mut fold = Fold::new(provider.origin().clone());
    let (began, mut first, mut pieces) = (Instant::now(), None, 0);
    while let Some(event) = reply.next().await.map_err(|fault| fault.to_string())? {
        if matches!(event, Event::TextDelta(_)) {
            first.get_or_insert_with(|| began.elapsed());
            pieces += 1;
        }
        fold.push(&event);
    }
    Ok((fold.finish(), (first, pieces)))
}

/// What an observer was told.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Counts>>);

#[derive(Default)]
struct Counts {
    words: usize,
    arguments: usize,
    repairs: usize,
}

impl Told {
    fn hear(&self, event: &trunkline_runtime::Event) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            trunkline_runtime::Event::Stream(Event::TextDelta(_)) => counts.words += 1,
            trunkline_runtime::Event::Stream(Event::ArgumentsDelta { .. }) => counts.arguments += 1,
            trunkline_runtime::Event::Asking { repairs, .. } => counts.repairs += repairs.len(),
            _ => {}
        }
    }

    fn pieces(&self) -> (usize, usize) {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (counts.words, counts.arguments)
    }

    fn repairs(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).repairs
    }
}

pub(crate) fn turns(turns: u32) -> Limits {
    let mut limits = Limits::default();
    limits.turns = turns;
    limits
}

/// Returns an agent with the tool that asks the model at most `asks` times.
fn equipped(at: &Endpoint, weather: &Weather, told: &Told, asks: u32) -> Result<AgentBuilder, String> {
    let provider = at.provider().map_err(|fault| fault.to_string())?;
    let told = told.clone();
    Ok(Agent::builder(provider)
        .system("You answer in one sentence.")
        .tool(weather.clone())
        .max_output_tokens(A_CALL)
        .temperature(0.0)
        .limits(turns(asks))
        .on_event(move |event| told.hear(event)))
}

fn build(agent: AgentBuilder) -> Result<Agent, String> {
    agent.build().map_err(|fault| fault.to_string())
}

async fn begin(at: &Endpoint, weather: &Weather, told: &Told, asks: u32) -> Result<Session, String> {
    let agent = build(equipped(at, weather, told, asks)?)?;
    agent.start(Arc::new(MemoryStore::new()), "weather", None).await.map_err(causes)
}

async fn prompt(session: &mut Session, text: &str) -> Result<Stop, String> {
    session.prompt(text, &Cancel::new()).await.map_err(causes)
}

/// The first message calls, the tool ran once, the second message is what it gave.
fn called_and_ran(conversation: &[&Message], weather: &Weather) -> Result<(), String> {
    let call = conversation.first().and_then(|message| message.calls().next());
    let call = call.ok_or_else(|| match conversation.first() {
        Some(message) => format!("no call but {:?}", shortened(&message.text())),
        None => "no answer at all".to_owned(),
    })?;
    let result = conversation.get(1).and_then(|message| message.results().next());
    let result = result.ok_or("the call has no result")?;
    ensure(result.call_id == call.id, || format!("the result of {} names {}", call.id, result.call_id))?;
    ensure(!result.is_error, || format!("the tool refused {:?}: {:?}", call.arguments, result.content))?;
    ensure(weather.asked() == 1, || format!("the tool ran {} times", weather.asked()))
}

/// The message has words of the model, and the drive ended by itself or for want of further turns.
fn answered(message: Option<&Message>, stop: &Stop) -> Result<String, String> {
    let message = message.ok_or("no answer to the result")?;
    ensure(message.role == Role::Assistant, || {
        format!("a {:?} message in place of an answer", message.role)
    })?;
    ensure(message.calls().next().is_none(), || "a further call in place of an answer".to_owned())?;
    ensure(!message.text().trim().is_empty(), || "an answer without words".to_owned())?;
    let expected = matches!(stop, Stop::Decided(_) | Stop::Limit(Limit::Turns));
    ensure(expected, || format!("the drive ended: {stop}"))?;
    counted(message)
}

/// Returns what the message cost, which every server here tells.
fn counted(message: &Message) -> Result<String, String> {
    let Usage { input_tokens, output_tokens, cache_read_tokens, .. } =
        message.usage.ok_or("no word on tokens")?;
    ensure(input_tokens > 0 && output_tokens > 0, || {
        format!("{input_tokens} tokens read, {output_tokens} written")
    })?;
    ensure(cache_read_tokens <= input_tokens, || {
        format!("{cache_read_tokens} tokens from the cache of {input_tokens}")
    })?;
    Ok(format!("{input_tokens} ({cache_read_tokens} cached) + {output_tokens} tokens"))
}

/// Asks the model's server until it works on nothing; returns how long after `since` that was.
async fn idle_after(model: SocketAddr, since: Instant) -> Result<Duration, String> {
    while since.elapsed() < Duration::from_secs(60) {
        let slots =
            crate::relay::get(model, "/slots").map_err(|fault| format!("the server is gone: {fault}"))?;
        if !slots.contains(r#""is_processing":true"#) {
            return Ok(since.elapsed());
        }
        sleep(Duration::from_millis(20)).await;
    }
    Err("the server still generates a minute after the cancel".to_owned())
}

pub(crate) fn ensure(good: bool, problem: impl FnOnce() -> String) -> Result<(), String> {
    if good { Ok(()) } else { Err(problem()) }
}

/// Puts an error and its causes on one line.
pub(crate) fn causes(error: impl std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    text
}

fn shortened(text: &str) -> String {
    text.chars().take(80).collect()
}
