//! A server on this machine that plays what it is told, misbehaviour included.
//!
//! Plain threads and blocking sockets: whatever runs the subject must not be what runs its counterpart.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

// How often a server that is silent looks whether its client or its own end has come.
const GLANCE: Duration = Duration::from_millis(10);

/// What is answered to one request.
#[derive(Clone, Debug)]
pub(super) struct Play {
    /// 0 says nothing at all.
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    /// The body, and how long the server rests after each piece.
    pub(super) pieces: Vec<Vec<u8>>,
    pub(super) rest: Duration,
    pub(super) end: End,
}

/// What comes after the last piece.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) enum End {
    /// The body ends as it was announced: in chunks.
    Chunks,
    /// The body ends as it was announced: by its length.
    Length,
    /// The body goes on until the connection ends.
    Close,
    /// In the middle of a chunk the connection is closed.
    Break,
    /// Nothing more comes, until the client is gone.
    Silence,
}

impl Play {
    /// Returns a response with this body.
    pub(super) fn new(status: u16, content_type: &str, body: &[u8]) -> Self {
        let headers = vec![("content-type".to_owned(), content_type.to_owned())];
        Play { status, headers, pieces: vec![body.to_vec()], rest: Duration::ZERO, end: End::Length }
    }

    /// Returns a server that reads the request and then ends so.
    pub(super) fn mute(end: End) -> Self {
        Play { status: 0, headers: Vec::new(), pieces: Vec::new(), rest: Duration::ZERO, end }
    }

    pub(super) fn ending(mut self, end: End) -> Self {
        self.end = end;
        self
    }

    pub(super) fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sends the body in these pieces instead.
    pub(super) fn in_pieces(mut self, pieces: Vec<&[u8]>, rest: Duration) -> Self {
        // An empty chunk would end the body.
        self.pieces = pieces.into_iter().filter(|piece| !piece.is_empty()).map(<[u8]>::to_vec).collect();
        self.rest = rest;
        self
    }
}

/// A request as it arrived.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) line: String,
    pub(super) body: Vec<u8>,
    pub(super) at: Instant,
}

/// The server. Dropping it ends it.
pub(super) struct Loopback {
    address: SocketAddr,
    stage: Arc<Mutex<Stage>>,
}

#[derive(Default)]
struct Stage {
    script: VecDeque<Play>,
    otherwise: Option<Play>,
    seen: Vec<Seen>,
    // When a client left while the server was silent.
    gone: Vec<Instant>,
    over: bool,
}

impl Loopback {
    pub(super) fn start() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let stage = Arc::new(Mutex::new(Stage::default()));
        let theirs = Arc::clone(&stage);
        thread::spawn(move || {
            for stream in listener.incoming() {
                if lock(&theirs).over {
                    return;
                }
                let (Ok(stream), stage) = (stream, Arc::clone(&theirs)) else { continue };
                // A connection that breaks is the client's to tell.
                thread::spawn(move || serve(stream, &stage).ok());
            }
        });
        Ok(Loopback { address, stage })
    }

    pub(super) fn base(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Forgets what was seen, and plays these in order, one a request; then always the last.
    pub(super) fn play(&self, plays: impl IntoIterator<Item = Play>) {
        let mut stage = lock(&self.stage);
        stage.script = plays.into_iter().collect();
        stage.otherwise = stage.script.back().cloned();
        stage.seen.clear();
        stage.gone.clear();
    }

    pub(super) fn seen(&self) -> Vec<Seen> {
        lock(&self.stage).seen.clone()
    }

    /// Returns how many clients left while the server was silent.
    pub(super) fn gone(&self) -> usize {
        lock(&self.stage).gone.len()
    }
}

impl Drop for Loopback {
    fn drop(&mut self) {
        lock(&self.stage).over = true;
        // Wakes the listener, which then sees that it is over.
        let _woken = TcpStream::connect(self.address);
    }
}

fn lock(stage: &Mutex<Stage>) -> MutexGuard<'_, Stage> {
    stage.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(mut stream: TcpStream, stage: &Mutex<Stage>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(GLANCE))?;
    while let Some(seen) = read_request(&mut stream, stage)? {
        let play = {
            let mut stage = lock(stage);
            stage.seen.push(seen);
            stage.script.pop_front().or_else(|| stage.otherwise.clone())
        };
        let Some(play) = play else { return Ok(()) };
        if let Err(broken) = answer(&mut stream, &play) {
            if play.end == End::Silence {
                lock(stage).gone.push(Instant::now());
            }
            return Err(broken);
        }
        match play.end {
            End::Chunks | End::Length if play.status != 0 => {}
            End::Silence => {
                // Whatever ends the connection, a bye or a reset, the client is gone.
                let left = loop {
                    match stream.read(&mut [0; 64]) {
                        Ok(0) => break true,
                        Ok(_) => {}
                        Err(fault) if is_glance(&fault) && !lock(stage).over => {}
                        Err(fault) => break !is_glance(&fault),
                    }
                };
                if left {
                    lock(stage).gone.push(Instant::now());
                }
                return Ok(());
            }
            _ => return Ok(()),
        }
    }
    Ok(())
}

fn answer(stream: &mut TcpStream, play: &Play) -> io::Result<()> {
    if play.status == 0 {
        return Ok(());
    }
    let chunked = matches!(play.end, End::Chunks | End::Break | End::Silence);
    let mut head = format!("HTTP/1.1 {} Played\r\n", play.status);
    play.headers.iter().for_each(|(name, value)| head.push_str(&format!("{name}: {value}\r\n")));
    head.push_str(&match play.end {
        _ if chunked => "transfer-encoding: chunked\r\n\r\n".to_owned(),
        End::Length => format!("content-length: {}\r\n\r\n", play.pieces.iter().map(Vec::len).sum::<usize>()),
        _ => "connection: close\r\n\r\n".to_owned(),
    });
    stream.write_all(head.as_bytes())?;
    for piece in &play.pieces {
        let mut framed = Vec::with_capacity(piece.len() + 16);
        if chunked {
            framed.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
        }
        framed.extend_from_slice(piece);
        if chunked {
            framed.extend_from_slice(b"\r\n");
        }
        stream.write_all(&framed)?;
        if !play.rest.is_zero() {
            thread::sleep(play.rest);
        }
    }
    if play.end == End::Chunks {
        stream.write_all(b"0\r\n\r\n")?;
    }
    Ok(())
}

fn is_glance(fault: &io::Error) -> bool {
    matches!(fault.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
}

/// Reads one request; `None` if the client has no more.
fn read_request(stream: &mut TcpStream, stage: &Mutex<Stage>) -> io::Result<Option<Seen>> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 16 * 1024];
    loop {
        if let Some(seen) = parse(&bytes) {
            return Ok(Some(seen));
        }
        match stream.read(&mut buffer) {
            Ok(0) => return Ok(None),
            Ok(count) => bytes.extend_from_slice(buffer.get(..count).unwrap_or_default()),
            Err(fault) if is_glance(&fault) && !lock(stage).over => {}
            Err(fault) => return Err(fault),
        }
    }
}

/// Returns the request once it is whole.
fn parse(bytes: &[u8]) -> Option<Seen> {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    let (head, body) = bytes.split_at(end + 4);
    let head = String::from_utf8_lossy(head).into_owned();
    let header = |name: &str| {
        let mut lines = head.lines().skip(1).filter_map(|line| line.split_once(':'));
        lines.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim().to_owned())
    };
    let body = match (header("content-length"), header("transfer-encoding")) {
        (Some(length), _) => body.get(..length.parse().ok()?)?.to_vec(),
        (None, Some(_)) => unchunk(body)?,
        (None, None) => Vec::new(),
    };
    let line = head.lines().next().unwrap_or_default().to_owned();
    Some(Seen { line, body, at: Instant::now() })
}

fn unchunk(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    let mut rest = bytes;
    loop {
        let end = rest.windows(2).position(|window| window == b"\r\n")?;
        let (size, tail) = rest.split_at(end);
        let size = usize::from_str_radix(str::from_utf8(size).ok()?.trim(), 16).ok()?;
        let tail = tail.get(2..)?;
        let chunk = tail.get(..size)?;
        // Every chunk is followed by an empty line, the last one too.
        rest = tail.get(size + 2..)?;
        if size == 0 {
            return Some(body);
        }
        body.extend_from_slice(chunk);
    }
}
