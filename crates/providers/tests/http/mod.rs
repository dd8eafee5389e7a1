//! The HTTP provider against servers that misbehave on purpose.
//!
//! Times are generous where something must happen and short only where nothing does: the machine may be busy.

mod attempts;
mod background;
mod bad_servers;
mod bodies;
mod environment;
mod leaving;
mod recording;
mod secrets;
mod waiting;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use trunkline_message_tree::{Message, Origin, StopReason};
use trunkline_providers::{
    BaseUrl, Event, Fold, HttpProvider, OpenAiChat, Provider, ProviderError, Request, RetryPolicy, Secret,
    Timeouts, Wire,
};

use crate::scripted::collect;

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
const WORDS: &str =
    "data: {\"id\":\"c\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hello\"}}]}\n\n";
const STOP: &str =
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

#[derive(Clone)]
enum Act {
    Send(Vec<u8>),
    /// Again and again, until the client is gone.
    Flood(Vec<u8>),
    Pause(Duration),
    /// Says nothing until the client is gone.
    Wait,
}

fn send(text: impl AsRef<[u8]>) -> Act {
    Act::Send(text.as_ref().to_vec())
}

fn chunk(text: &str) -> Act {
    send(format!("{:x}\r\n{text}\r\n", text.len()))
}

fn end() -> Act {
    send("0\r\n\r\n")
}

fn pause(millis: u64) -> Act {
    Act::Pause(Duration::from_millis(millis))
}

/// A whole good answer.
fn answer() -> Vec<Act> {
    vec![send(HEAD), chunk(WORDS), chunk(STOP), end()]
}

/// A refusal, after which the connection closes.
fn refusal(status: &str, headers: &str, body: &str) -> Vec<Act> {
    vec![send(format!(
        "HTTP/1.1 {status}\r\n{headers}connection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    ))]
}

fn listen() -> (TcpListener, BaseUrl) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    (listener, format!("http://{address}").parse().expect("a base URL"))
}

/// Answers one connection after the other; tells each request it reads, and `gone` when a client left that it waited for.
fn serve(connections: Vec<Vec<Act>>) -> (BaseUrl, Receiver<String>) {
    let (listener, base) = listen();
    let (tell, told) = channel();
    thread::spawn(move || {
        for acts in connections {
            let Ok((mut stream, _)) = listener.accept() else { return };
            let _ = tell.send(read_request(&mut stream));
            for act in acts {
                perform(&act, &mut stream);
                if matches!(act, Act::Wait) {
                    let _ = tell.send("gone".to_owned());
                }
            }
        }
    });
    (base, told)
}

fn perform(act: &Act, stream: &mut TcpStream) {
    match act {
        Act::Send(bytes) => {
            // A client may leave whenever it likes.
            let _ = stream.write_all(bytes).and_then(|()| stream.flush());
        }
        Act::Flood(bytes) => while stream.write_all(bytes).is_ok() {},
        Act::Pause(time) => thread::sleep(*time),
        Act::Wait => while matches!(stream.read(&mut [0; 4096]), Ok(1..)) {},
    }
}

fn read_request(stream: &mut TcpStream) -> String {
    String::from_utf8_lossy(&read_request_bytes(stream)).into_owned()
}

/// Reads a head and as much body as it speaks of.
fn read_request_bytes(stream: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut buffer = vec![0; 64 * 1024];
    let mut wanted = None;
    loop {
        if wanted.is_none()
            && let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n")
        {
            let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
            wanted = Some(end + 4 + length.unwrap_or(0));
        }
        if wanted.is_some_and(|wanted| bytes.len() >= wanted) {
            return bytes;
        }
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return bytes,
            Ok(count) => bytes.extend_from_slice(&buffer[..count]),
        }
    }
}

fn origin() -> Origin {
    Origin::new("test", "m")
}

/// A provider with a key that retries at once and waits half a second.
fn provider(base: BaseUrl, wire: impl Wire + 'static) -> HttpProvider {
    let mut retry = RetryPolicy::default();
    retry.base = Duration::from_millis(1);
    let mut timeouts = Timeouts::default();
    timeouts.response = Duration::from_secs(5);
    timeouts.next_bytes = Duration::from_secs(5);
    HttpProvider::new(Box::new(wire), base, Some(&Secret::new("sk-secret\n")), origin())
        .expect("a provider")
        .with_retry(retry)
        .with_timeouts(timeouts)
}

fn chat(base: BaseUrl) -> HttpProvider {
    provider(base, OpenAiChat::default())
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(future)
}

fn hi() -> Request {
    Request::new("m", vec![Message::user("hi")])
}

fn ask(provider: &dyn Provider) -> (Vec<Event>, Result<(), ProviderError>) {
    block_on(collect(provider, hi()))
}

/// What came, as a person would read it.
fn words(events: &[Event]) -> Option<String> {
    let mut fold = Fold::new(origin());
    events.iter().for_each(|event| fold.push(event));
    fold.cut(StopReason::Cut).map(|message| message.text())
}

fn attempts(events: &[Event]) -> usize {
    1 + events.iter().filter(|event| matches!(event, Event::Retrying { .. })).count()
}
