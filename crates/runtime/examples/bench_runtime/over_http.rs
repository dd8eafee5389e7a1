//! A turn over HTTP beside a bare client that sends the same bytes, to a server that answers at once.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use trunkline_message_tree::Origin;
use trunkline_providers::{Anthropic, BaseUrl, HttpProvider};
use trunkline_runtime::{Agent, Limits};

use crate::long_sessions::{Outcome, Times, open, store};
use crate::{FRESH_AFTER, Lines, SHORT, turn};

/// How long a turn may take against the bare client.
const BAR: f64 = 2.0;
/// How much longer a turn of a long session may take, each less what the bare client takes.
const FLAT: f64 = 1.2;
const ANSWER: &str = r#"event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"bench","content":[],"stop_reason":null,"usage":{"input_tokens":10,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"It does what it says."}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":8}}

event: message_stop
data: {"type":"message_stop"}

"#;

pub(crate) async fn measure(
    name: &str,
    path: Option<&Path>,
    lengths: &[usize],
    turns: usize,
    lines: &mut Lines,
) -> Outcome<()> {
    let store = store(path).await?;
    if let Some(path) = path {
        // What a turn that is to outlive a cut of the power cannot be without, three times: a batch writes some five pages.
        println!("    20 kB to the same disk, and a flush: {}", flushes(path, turns)?);
    }
    let server = Server::start()?;
    // The client wants some cryptography, although nothing is encrypted here.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let bare = reqwest::Client::builder().no_proxy().build()?;
    let agent = agent(server.address)?;
    for length in lengths {
        let (mut ours, mut theirs) = (Times::default(), Times::default());
        let (mut own_short, mut own_long) = (Times::default(), Times::default());
        let mut in_long = open(&agent, &store, *length).await?;
        turn(&mut in_long, "say it").await?;
        let mut in_short = None;
        for round in 0..turns {
            let took = turn(&mut in_long, "say it").await?;
            let alone = send(&bare, &server).await?;
            own_long.0.push(took.saturating_sub(alone));
            ours.0.push(took);
            theirs.0.push(alone);
            if round % FRESH_AFTER == 0 {
                let mut fresh = open(&agent, &store, SHORT).await?;
                turn(&mut fresh, "say it").await?;
                in_short = Some(fresh);
            }
            if let Some(session) = &mut in_short {
                let took = turn(session, "say it").await?;
                own_short.0.push(took.saturating_sub(send(&bare, &server).await?));
            }
        }
        println!("    {length} messages: ours {ours}   bare {theirs}");
        lines.print(&format!("{name}: {length} against a bare client"), theirs.ratio(&ours), BAR);
        println!("    less the bare client: short {own_short}   long {own_long}");
        lines.print(
            &format!("{name}: ours alone, {length} against {SHORT}"),
            own_short.ratio(&own_long),
            FLAT,
        );
    }
    Ok(())
}

/// Appends to a file beside a database and waits for the disk each time, as a store does with a batch.
fn flushes(path: &Path, count: usize) -> Outcome<Times> {
    let mut file = std::fs::File::create(path.with_extension("flush"))?;
    let mut times = Times::default();
    for _ in 0..count {
        let start = Instant::now();
        file.write_all(&[0; 5 * 4_096])?;
        file.sync_data()?;
        times.0.push(start.elapsed());
    }
    Ok(times)
}

fn agent(server: SocketAddr) -> Outcome<Agent> {
    let base = format!("http://{server}").parse::<BaseUrl>()?;
    let wire = Box::new(Anthropic::new());
    let provider = HttpProvider::new(wire, base, None, Origin::new("scripted", "bench"))?;
    let mut limits = Limits::default();
    limits.tokens = u64::MAX;
    Ok(Agent::builder(provider).with_revert().limits(limits).build()?)
}

/// Sends what the server got last.
async fn send(client: &reqwest::Client, server: &Server) -> Outcome<Duration> {
    let body = bytes(server);
    let start = Instant::now();
    let request = client.post(format!("http://{}/v1/messages", server.address));
    let answer = request.header("content-type", "application/json").body(body).send().await?;
    let answer = answer.bytes().await?;
    let took = start.elapsed();
    if answer.len() != ANSWER.len() {
        return Err("another answer than the server gives".into());
    }
    Ok(took)
}

fn bytes(server: &Server) -> Vec<u8> {
    server.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Answers each request as soon as it has read it.
struct Server {
    address: SocketAddr,
    last: Arc<Mutex<Vec<u8>>>,
}

impl Server {
    fn start() -> Outcome<Server> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let (address, last) = (listener.local_addr()?, Arc::new(Mutex::new(Vec::new())));
        let kept = Arc::clone(&last);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let kept = Arc::clone(&kept);
                // A connection ends when the client closes it.
                std::thread::spawn(move || serve(stream, &kept));
            }
        });
        Ok(Server { address, last })
    }
}

fn serve(stream: TcpStream, last: &Mutex<Vec<u8>>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut writer = stream.try_clone()?;
    let mut reader = BufReader::with_capacity(1 << 20, stream);
    loop {
        let (mut line, mut length) = (String::new(), 0);
        while reader.read_line(&mut line)? > 2 {
            let header = line.to_ascii_lowercase();
            if let Some(value) = header.strip_prefix("content-length:") {
                length = value.trim().parse().map_err(io::Error::other)?;
            }
            line.clear();
        }
        if line.is_empty() {
            return Ok(());
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        *last.lock().unwrap_or_else(PoisonError::into_inner) = body;
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: ";
        write!(writer, "{head}{}\r\n\r\n{ANSWER}", ANSWER.len())?;
    }
}
