//! A wire that counts round trips: how often a client has sent and waits for an answer.
//!
//! What the server says is held back until the client has been quiet for a while. So what is sent without waiting for an
//! answer counts as one trip, however fast the server is, and what is sent because of an answer counts as another.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A client that has more to say without an answer says it within this time.
const QUIET: Duration = Duration::from_millis(40);

/// Where stores connect to; the connections end with it.
pub(super) struct Counting {
    pub(super) url: String,
    state: Arc<State>,
}

struct State {
    server: String,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    trips: Vec<Trip>,
    ends: Vec<TcpStream>,
    ended: bool,
}

/// What went to the server before its answer was waited for.
struct Trip {
    said: Vec<String>,
}

/// What a client has said since the last answer that it got.
#[derive(Default)]
struct Said {
    messages: Vec<String>,
    last: Option<Instant>,
}

impl Counting {
    /// Lays one to the server of a URL.
    pub(super) fn to(url: &str) -> Self {
        let (scheme, rest) = url.split_once("://").expect("it is a URL");
        let (user, place) = rest.rsplit_once('@').expect("it names a user");
        let (server, path) = place.split_at(place.find('/').unwrap_or(place.len()));
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = listener.local_addr().expect("it is bound").port();
        // What is encrypted cannot be told apart.
        let mark = if path.contains('?') { '&' } else { '?' };
        let url = format!("{scheme}://{user}@127.0.0.1:{port}{path}{mark}sslmode=disable");
        let state = Arc::new(State { server: server.to_owned(), inner: Mutex::default() });
        let accepting = Arc::clone(&state);
        std::thread::spawn(move || accept(&accepting, &listener));
        Counting { url, state }
    }

    /// Does something; returns what it gives, and the trips that were made meanwhile, a line for each.
    pub(super) async fn during<T>(&self, work: impl Future<Output = T>) -> (T, String) {
        self.state.open().trips.clear();
        let result = work.await;
        (result, self.taken())
    }

    /// The trips since the last look.
    pub(super) fn taken(&self) -> String {
        let trips = std::mem::take(&mut self.state.open().trips);
        trips.iter().map(|trip| trip.said.join(" | ") + "\n").collect()
    }

    /// Waits until nobody says anything any more, and forgets what was said.
    pub(super) async fn rest(&self) {
        loop {
            let before = self.state.open().trips.len();
            tokio::time::sleep(QUIET * 5).await;
            let mut inner = self.state.open();
            if inner.trips.len() == before {
                inner.trips.clear();
                return;
            }
        }
    }
}

impl Drop for Counting {
    fn drop(&mut self) {
        let mut inner = self.state.open();
        inner.ended = true;
        for end in &inner.ends {
            let _ = end.shutdown(Shutdown::Both);
        }
    }
}

impl State {
    fn open(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn accept(state: &Arc<State>, listener: &TcpListener) {
    for client in listener.incoming().flatten() {
        if state.open().ended {
            return;
        }
        let Ok(server) = TcpStream::connect(&state.server) else { continue };
        let _ = (client.set_nodelay(true), server.set_nodelay(true));
        let copy = |stream: &TcpStream| stream.try_clone().expect("it can be shared");
        state.open().ends.extend([copy(&client), copy(&server)]);
        let said = Arc::new(Mutex::new(Said::default()));
        let (from, to, its) = (copy(&client), copy(&server), Arc::clone(&said));
        std::thread::spawn(move || send(from, to, &its));
        let state = Arc::clone(state);
        std::thread::spawn(move || answer(&state, server, client, &said));
    }
}

/// Passes on what a client says, and remembers what it was.
fn send(mut from: TcpStream, mut to: TcpStream, said: &Mutex<Said>) -> Option<()> {
    let mut bytes = vec![0; 64 * 1024];
    let mut reader = Reader::default();
    loop {
        let count = from.read(&mut bytes).ok().filter(|count| *count > 0);
        let Some(piece) = count.and_then(|count| bytes.get(..count)) else {
            let _ = to.shutdown(Shutdown::Both);
            return None;
        };
        let messages = reader.read(piece);
        let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
        said.messages.extend(messages);
        said.last = Some(Instant::now());
        drop(said);
        to.write_all(piece).ok()?;
    }
}

/// Passes on what the server answers, once the client waits for it.
fn answer(state: &State, mut from: TcpStream, mut to: TcpStream, said: &Mutex<Said>) -> Option<()> {
    let mut bytes = vec![0; 64 * 1024];
    loop {
        let count = from.read(&mut bytes).ok().filter(|count| *count > 0);
        let Some(piece) = count.and_then(|count| bytes.get(..count)) else {
            let _ = to.shutdown(Shutdown::Both);
            return None;
        };
        loop {
            let mut its = said.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(last) = its.last else { break };
            let quiet = last.elapsed();
            if quiet >= QUIET {
                its.last = None;
                let said = std::mem::take(&mut its.messages);
                // Before the client can see the answer, and ask for what was counted.
                state.open().trips.push(Trip { said });
                break;
            }
            drop(its);
            std::thread::sleep(QUIET - quiet);
        }
        to.write_all(piece).ok()?;
    }
}

/// Cuts what a client says into messages, and names those that mean something.
#[derive(Default)]
struct Reader {
    rest: Vec<u8>,
    started: bool,
}

impl Reader {
    fn read(&mut self, piece: &[u8]) -> Vec<String> {
        self.rest.extend(piece);
        let mut found = Vec::new();
        loop {
            // The first message has no letter.
            let head = usize::from(self.started);
            let length = self.rest.get(head..head + 4).and_then(|four| four.try_into().ok());
            let Some(length) = length.map(u32::from_be_bytes) else { return found };
            let end = head + length as usize;
            if self.rest.len() < end {
                return found;
            }
            let message: Vec<u8> = self.rest.drain(..end).collect();
            let content = message.get(head + 4..).unwrap_or_default();
            let text = |from: usize| {
                let rest = content.get(from..).unwrap_or_default();
                String::from_utf8_lossy(rest.split(|byte| *byte == 0).next().unwrap_or_default()).into_owned()
            };
            match (self.started, message.first()) {
                (false, _) => found.push("startup".to_owned()),
                (true, Some(b'p')) => found.push("password".to_owned()),
                (true, Some(b'Q')) => found.push(verbs(&text(0))),
                (true, Some(b'P')) => {
                    let name = text(0);
                    let named = if name.is_empty() { "" } else { "named " };
                    found.push(format!("{named}{}", verbs(&text(name.len() + 1))));
                }
                // Of a statement that was parsed in another trip.
                (true, Some(b'B')) if !text(1).is_empty() => found.push("named".to_owned()),
                // What binds, describes and runs belongs to what was parsed, and what ends has no answer.
                _ => {}
            }
            self.started = true;
        }
    }
}

/// The first word of each statement, and whether it tells others.
fn verbs(sql: &str) -> String {
    let verb = |statement: &str| {
        let word = statement.split_whitespace().next().unwrap_or_default().to_owned();
        match statement.contains("pg_notify") {
            true => format!("{word} pg_notify"),
            false => word,
        }
    };
    sql.split(';').map(verb).filter(|verb| !verb.is_empty()).collect::<Vec<String>>().join("; ")
}
