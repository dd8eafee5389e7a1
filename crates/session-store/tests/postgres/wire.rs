//! A wire between a store and its server, which loses or holds exactly the answers that a test names.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Where stores connect to; the connections end with it.
pub(super) struct Wire {
    pub(super) url: String,
    state: Arc<State>,
}

struct State {
    server: String,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    rules: Vec<(Vec<u8>, Fate)>,
    /// Both ends of each connection, by its number.
    connections: Vec<[TcpStream; 2]>,
    /// Connections with smaller numbers pass nothing on.
    silent_below: usize,
    refuses: bool,
    /// New connections find the server on a later timeline.
    later: bool,
    /// What the server next hears with another first letter.
    garbled: Option<Vec<u8>>,
    ended: bool,
    /// The statements with arguments that were sent.
    statements: BTreeSet<String>,
}

/// What happens to the answer to one statement.
#[derive(Clone)]
enum Fate {
    /// The server has done it when the connection is cut; `true` if no other gets through from then on.
    Lost(bool),
    Held(Arc<Gate>),
}

#[derive(Default)]
struct Gate {
    reached: AtomicBool,
    open: Mutex<bool>,
    opened: Condvar,
}

/// An answer that waits until it is let go.
pub(super) struct Hold(Arc<Gate>);

impl Hold {
    /// Waits until the statement was sent.
    pub(super) async fn reached(&self) {
        while !self.0.reached.load(Ordering::Acquire) {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    pub(super) fn let_go(&self) {
        *self.0.open.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.opened.notify_all();
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.let_go();
    }
}

impl Wire {
    /// Lays one to the server of a URL.
    pub(super) fn to(url: &str) -> Self {
        let (scheme, rest) = url.split_once("://").expect("it is a URL");
        let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        let (user, server) = authority.rsplit_once('@').unwrap_or(("", authority));
        let server = if server.contains(':') { server.to_owned() } else { format!("{server}:5432") };
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = listener.local_addr().expect("it is bound").port();
        // What is encrypted could not be recognized.
        let mark = if path.contains('?') { '&' } else { '?' };
        let url = format!("{scheme}://{user}@127.0.0.1:{port}{path}{mark}sslmode=disable");
        let state = Arc::new(State { server, inner: Mutex::default() });
        let accepting = Arc::clone(&state);
        std::thread::spawn(move || accept(&accepting, &listener));
        Wire { url, state }
    }

    /// Loses the answer to the next statement that has these words in it, after the server has given it.
    pub(super) fn lose(&self, words: impl AsRef<[u8]>) {
        self.rule(words, Fate::Lost(false));
    }

    /// The same, and nobody gets through to the server any more.
    pub(super) fn lose_for_good(&self, words: impl AsRef<[u8]>) {
        self.rule(words, Fate::Lost(true));
    }

    /// Lets everybody through again.
    pub(super) fn mend(&self) {
        self.state.open().refuses = false;
    }

    /// Holds the answer to the next statement that has these words in it.
    pub(super) fn hold(&self, words: impl AsRef<[u8]>) -> Hold {
        let gate = Arc::new(Gate::default());
        self.rule(words, Fate::Held(Arc::clone(&gate)));
        Hold(gate)
    }

    /// Lets all connections that there are die without a sign. New ones work.
    pub(super) fn silence(&self) {
        let mut inner = self.state.open();
        inner.silent_below = inner.connections.len();
    }

    /// Cuts all connections. New ones find a server on a later timeline, or on its own again.
    pub(super) fn replace(&self, later: bool) {
        let mut inner = self.state.open();
        inner.later = later;
        for end in inner.connections.iter().flatten() {
            let _ = end.shutdown(Shutdown::Both);
        }
    }

    /// The same, but the old connections die without a sign.
    pub(super) fn replace_in_silence(&self, later: bool) {
        self.silence();
        self.state.open().later = later;
    }

    /// Returns the texts of all statements with arguments that were sent so far.
    pub(super) fn statements(&self) -> BTreeSet<String> {
        self.state.open().statements.clone()
    }

    /// Has the server hear these words once with another first letter, which it refuses.
    pub(super) fn garble(&self, words: &str) {
        self.state.open().garbled = Some(words.as_bytes().to_vec());
    }

    /// Whether all rules were applied.
    pub(super) fn is_done(&self) -> bool {
        let inner = self.state.open();
        inner.rules.is_empty() && inner.garbled.is_none()
    }

    fn rule(&self, words: impl AsRef<[u8]>, fate: Fate) {
        self.state.open().rules.push((words.as_ref().to_vec(), fate));
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        let mut inner = self.state.open();
        inner.ended = true;
        for end in inner.connections.iter().flatten() {
            let _ = end.shutdown(Shutdown::Both);
        }
    }
}

impl State {
    fn open(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_silent(&self, number: usize) -> bool {
        number < self.open().silent_below
    }
}

fn accept(state: &Arc<State>, listener: &TcpListener) {
    for client in listener.incoming() {
        let mut inner = state.open();
        if inner.ended {
            return;
        }
        let Ok(client) = client else { continue };
        if inner.refuses {
            continue;
        }
        let Ok(server) = TcpStream::connect(&state.server) else { continue };
        // A statement is several small writes.
        let _ = (client.set_nodelay(true), server.set_nodelay(true));
        let copy = |stream: &TcpStream| stream.try_clone().expect("it can be shared");
        let number = inner.connections.len();
        inner.connections.push([copy(&client), copy(&server)]);
        let passing = Arc::new(Passing::default());
        let (from, to, its) = (copy(&client), copy(&server), Arc::clone(&passing));
        let sending = Arc::clone(state);
        std::thread::spawn(move || send(&sending, number, from, to, &its));
        let answering = Arc::clone(state);
        std::thread::spawn(move || answer(&answering, number, server, client, &passing));
    }
}

/// What both directions of a connection know of each other.
#[derive(Default)]
struct Passing {
    fate: Mutex<Option<Fate>>,
    /// How many answers are complete only when the server says so: a client may send much before it reads.
    owed: AtomicUsize,
}

impl Passing {
    fn fate(&self) -> MutexGuard<'_, Option<Fate>> {
        self.fate.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Finds the messages in a stream: each has a letter and its length, but for the first of a client.
struct Messages {
    head: Vec<u8>,
    rest: usize,
    has_letter: bool,
}

impl Messages {
    fn new(begins_with_letter: bool) -> Self {
        Messages { head: Vec::new(), rest: 0, has_letter: begins_with_letter }
    }

    /// Returns how many messages with one of these letters begin in a piece of the stream.
    fn count(&mut self, mut piece: &[u8], letters: &[u8]) -> usize {
        let mut count = 0;
        while !piece.is_empty() {
            let skipped = self.rest.min(piece.len());
            self.rest -= skipped;
            piece = piece.get(skipped..).unwrap_or_default();
            let Some((first, more)) = piece.split_first() else { break };
            piece = more;
            self.head.push(*first);
            let length = match (self.has_letter, self.head.as_slice()) {
                (true, [letter, length @ ..]) if length.len() == 4 => {
                    count += usize::from(letters.contains(letter));
                    length.first_chunk()
                }
                (false, length) if length.len() == 4 => length.first_chunk(),
                _ => continue,
            };
            self.rest = length.map_or(0, |length| u32::from_be_bytes(*length) as usize).saturating_sub(4);
            self.has_letter = true;
            self.head.clear();
        }
        count
    }
}

/// Passes on what a client says.
fn send(
    state: &State,
    number: usize,
    mut from: TcpStream,
    mut to: TcpStream,
    passing: &Passing,
) -> Option<()> {
    let mut messages = Messages::new(false);
    let mut said = vec![0; 64 * 1024];
    // Words may begin in one piece and end in the next.
    let mut seen: Vec<u8> = Vec::new();
    let mut sent = Sent::default();
    let later = state.open().later;
    loop {
        let count = from.read(&mut said).ok().filter(|count| *count > 0);
        if let Some(said) = count.and_then(|count| said.get_mut(..count)) {
            if later {
                change_timeline(said);
            }
            garble(said, &mut state.open().garbled);
        }
        let Some(piece) = count.and_then(|count| said.get(..count)) else {
            let _ = to.shutdown(Shutdown::Both);
            return None;
        };
        if state.is_silent(number) {
            continue;
        }
        // Queries and syncs: each is answered by one that says that the server is ready.
        passing.owed.fetch_add(messages.count(piece, b"QS"), Ordering::AcqRel);
        let before = seen.len();
        seen.extend(piece);
        let mut inner = state.open();
        sent.take(piece, &mut inner.statements);
        // What ended before was said before the rule was made.
        let found = inner.rules.iter().position(|(words, _)| {
            let new = seen.get((before + 1).saturating_sub(words.len())..).unwrap_or_default();
            new.windows(words.len()).any(|window| window == words.as_slice())
        });
        if let Some(found) = found {
            // Before the server can answer.
            *passing.fate() = Some(inner.rules.remove(found).1);
            seen.clear();
        }
        drop(inner);
        let old = seen.len().saturating_sub(64);
        seen.drain(..old);
        to.write_all(piece).ok()?;
    }
}

/// Changes the first letter of words, once.
fn garble(said: &mut [u8], words: &mut Option<Vec<u8>>) {
    let place = |words: &Vec<u8>| said.windows(words.len()).position(|window| window == words.as_slice());
    if let Some(letter) = words.as_ref().and_then(place).and_then(|place| said.get_mut(place)) {
        *letter = b'?';
        *words = None;
    }
}

/// Has the question for the timeline read the name of a file from its second digit on: timeline 1 becomes 16.
fn change_timeline(said: &mut [u8]) {
    const DIGITS: &[u8] = b"1, 8))::pg_catalog.bit(32)";
    let place = said.windows(DIGITS.len()).position(|window| window == DIGITS);
    if let Some(digit) = place.and_then(|place| said.get_mut(place)) {
        *digit = b'2';
    }
}

/// What a client says, as messages.
#[derive(Default)]
struct Sent {
    rest: Vec<u8>,
    /// The first message has a length and no letter.
    begun: bool,
}

impl Sent {
    fn take(&mut self, piece: &[u8], statements: &mut BTreeSet<String>) {
        self.rest.extend(piece);
        loop {
            let head = usize::from(self.begun);
            let Some(length) = self.rest.get(head..).and_then(<[u8]>::first_chunk::<4>) else { return };
            let end = head + u32::from_be_bytes(*length) as usize;
            if self.rest.len() < end {
                return;
            }
            let message: Vec<u8> = self.rest.drain(..end).collect();
            // `Parse`: a name, which is empty, and the text, each with a zero at its end.
            if self.begun && message.first() == Some(&b'P') {
                let text = message.get(5..).and_then(|words| words.split(|byte| *byte == 0).nth(1));
                statements.insert(String::from_utf8_lossy(text.unwrap_or_default()).into_owned());
            }
            self.begun = true;
        }
    }
}

/// Passes on what the server answers.
fn answer(
    state: &State,
    number: usize,
    mut from: TcpStream,
    mut to: TcpStream,
    passing: &Passing,
) -> Option<()> {
    let mut said = vec![0; 64 * 1024];
    let mut messages = Messages::new(true);
    loop {
        let count = from.read(&mut said).ok().filter(|count| *count > 0);
        let Some(piece) = count.and_then(|count| said.get(..count)) else {
            let _ = to.shutdown(Shutdown::Both);
            return None;
        };
        if state.is_silent(number) {
            continue;
        }
        let ready = messages.count(piece, b"Z");
        // The first of all answers nothing that was counted.
        let less = |owed: usize| Some(owed.saturating_sub(ready));
        let _ = passing.owed.fetch_update(Ordering::AcqRel, Ordering::Acquire, less);
        let its = passing.fate().clone();
        match its {
            None => {}
            Some(Fate::Held(gate)) => {
                gate.reached.store(true, Ordering::Release);
                let open = gate.open.lock().unwrap_or_else(PoisonError::into_inner);
                drop(gate.opened.wait_while(open, |open| !*open));
                *passing.fate() = None;
            }
            Some(Fate::Lost(for_good)) => {
                if passing.owed.load(Ordering::Acquire) > 0 {
                    continue;
                }
                let mut inner = state.open();
                inner.refuses |= for_good;
                for (at, end) in inner.connections.iter().enumerate() {
                    if at == number || for_good {
                        let _ = end.each_ref().map(|end| end.shutdown(Shutdown::Both));
                    }
                }
                return None;
            }
        }
        to.write_all(piece).ok()?;
    }
}
