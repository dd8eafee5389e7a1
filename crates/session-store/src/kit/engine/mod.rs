//! A hard engine in a box: a proxy between a store and a real PostgreSQL server that does what distributed engines and
//! poolers do.
//!
//! It swaps backends between transactions, refuses what a [`Profile`] says, answers commits with 40001, and cuts
//! connections before a commit or right after it, at random with a seed. The threads and sockets are those of the
//! standard library.
//!
//! ```no_run
//! use trunkline_session_store::kit::engine::{HardEngine, Profile};
//!
//! let engine = HardEngine::start("postgres://me:secret@127.0.0.1:5432/work", Profile::aurora_dsql(), 7)?;
//! // A store that is opened at `engine.url()` is behind it.
//! println!("{}: {}", engine.url(), engine.report());
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! One client is served by one thread, which reads a message, has it answered and reads the next one, as a backend of
//! PostgreSQL does. So no client can be given the answer to another one's statement, however much it pipelines.

mod backend;
mod client;
mod fate;
mod frames;
mod greet;
mod login;
mod profile;
mod relay;
mod report;
mod round;
mod statement;

use std::io::{self, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

pub use self::profile::{Answer, Chances, Feature, Profile};
pub use self::report::EngineReport;

use self::backend::{Backend, Ends, Pool};
use self::client::Client;
use self::login::{Greeting, Server};

/// The way that a message goes.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "there is no third one")]
pub enum Way {
    /// From a client to the server.
    ToServer,
    /// From the server to a client.
    ToClient,
}

/// A proxy that runs. Dropping it cuts all of its connections.
pub struct HardEngine {
    shared: Arc<Shared>,
    address: SocketAddr,
    accepting: Option<JoinHandle<()>>,
}

impl HardEngine {
    /// Starts one on a free port of 127.0.0.1, before the server of a URL like
    /// `postgres://user:password@host:port/database`. The same seed makes the same choices, as far as clients come in the
    /// same order.
    ///
    /// The server is reached without TLS, and logged in to by trust, a password or SCRAM-SHA-256. Clients are let in without
    /// a password, as the user and to the database of the URL only.
    ///
    /// # Errors
    ///
    /// If the URL cannot be read, or the server does not let it in.
    pub fn start(url: &str, profile: Profile, seed: u64) -> io::Result<Self> {
        let server = Server::parse(url)
            .ok_or_else(|| frames::bad("the URL is not like postgres://user:password@host:port/database"))?;
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            pool: Pool::new(profile.backends),
            server,
            profile,
            seed,
            greeting: Mutex::default(),
            report: Mutex::default(),
            passing: Mutex::default(),
            ends: Ends::default(),
            numbers: AtomicU64::new(1),
            ended: AtomicBool::new(false),
        });
        let (first, greeting) = shared.open_backend(&[])?;
        *lock(&shared.greeting) = greeting;
        drop(first);
        let accepting = Arc::clone(&shared);
        let accepting = std::thread::spawn(move || accept(&accepting, &listener));
        Ok(HardEngine { shared, address, accepting: Some(accepting) })
    }

    /// Returns where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the URL that a client connects to. No password is in it.
    pub fn url(&self) -> String {
        let encoded = |text: &str| {
            let encode = |byte: u8| match byte {
                _ if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) => char::from(byte).to_string(),
                _ => format!("%{byte:02X}"),
            };
            text.bytes().map(encode).collect::<String>()
        };
        let Server { user, database, .. } = &self.shared.server;
        format!("postgres://{}@{}/{}?sslmode=disable", encoded(user), self.address, encoded(database))
    }

    /// Returns what it has done so far.
    pub fn report(&self) -> EngineReport {
        lock(&self.shared.report).clone()
    }

    /// Returns how many messages have gone that way, over all connections, without those of connecting.
    pub fn passed(&self, way: Way) -> u64 {
        *lock(&self.shared.passing).passed(way)
    }

    /// Lets so many more messages go that way, and cuts the connection that would carry the next one. What the client has
    /// sent by then still reaches the server if it is the answers that are cut; if it is not, what was begun is rolled back.
    pub fn cut_after(&self, way: Way, messages: u64) {
        lock(&self.shared.passing).cut = Some((way, messages));
    }

    /// Returns whether a cut that was asked for has not come yet, and forgets it.
    pub fn forget_cut(&self) -> bool {
        lock(&self.shared.passing).cut.take().is_some()
    }
}

impl Drop for HardEngine {
    fn drop(&mut self) {
        self.shared.end();
        // Wakes the thread that waits for the next client.
        let _ = TcpStream::connect(self.address);
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
    }
}

impl std::fmt::Debug for HardEngine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = self.shared.profile.name;
        f.debug_struct("HardEngine")
            .field("profile", &name)
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

/// What all clients share.
struct Shared {
    server: Server,
    profile: Profile,
    seed: u64,
    pool: Pool,
    /// What the server says of its settings.
    greeting: Mutex<Greeting>,
    report: Mutex<EngineReport>,
    passing: Mutex<Passing>,
    ends: Ends,
    numbers: AtomicU64,
    ended: AtomicBool,
}

#[derive(Default)]
struct Passing {
    to_server: u64,
    to_client: u64,
    cut: Option<(Way, u64)>,
}

impl Passing {
    fn passed(&mut self, way: Way) -> &mut u64 {
        match way {
            Way::ToServer => &mut self.to_server,
            Way::ToClient => &mut self.to_client,
        }
    }
}

impl Shared {
    /// Counts a message; `false` if the connection is to be cut in its place.
    fn pass(&self, way: Way) -> bool {
        let mut passing = lock(&self.passing);
        if let Some((wanted, left)) = &mut passing.cut
            && *wanted == way
        {
            if *left == 0 {
                passing.cut = None;
                return false;
            }
            *left -= 1;
        }
        *passing.passed(way) += 1;
        true
    }

    fn open_backend(&self, parameters: &[(Vec<u8>, Vec<u8>)]) -> io::Result<(Backend, Greeting)> {
        let own = |name: &str, value: &str| (name.as_bytes().to_vec(), value.as_bytes().to_vec());
        let mut all = vec![own("client_encoding", "UTF8"), own("application_name", "hard engine")];
        all.extend(self.profile.isolation.map(|level| own("default_transaction_isolation", level)));
        // The later of two wins.
        all.extend(parameters.iter().cloned());
        let number = self.number();
        let (backend, greeting) = Backend::open(&self.server, number, &all, &self.ends)?;
        // All may have been ended meanwhile.
        match self.ended() {
            true => Err(io::ErrorKind::ConnectionAborted.into()),
            false => Ok((backend, greeting)),
        }
    }

    fn count(&self, what: impl FnOnce(&mut EngineReport)) {
        what(&mut lock(&self.report));
    }

    fn number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }

    fn ended(&self) -> bool {
        self.ended.load(Ordering::SeqCst)
    }

    fn end(&self) {
        self.ended.store(true, Ordering::SeqCst);
        self.pool.end();
        for end in lock(&self.ends).values() {
            let _ = end.shutdown(Shutdown::Both);
        }
    }

    /// Passes on a client's wish that another connection's statement be cancelled. Where backends are swapped it is not
    /// done, as a server may not do it either: the statement may be another one's by then.
    fn cancel(&self, key: &[u8]) {
        if self.profile.swaps {
            return;
        }
        let Ok(mut stream) = TcpStream::connect(&self.server.address) else { return };
        let mut out = (key.len() as u32 + 8).to_be_bytes().to_vec();
        out.extend(greet::CANCEL.to_be_bytes());
        out.extend(key);
        if stream.write_all(&out).is_ok() {
            let _ = io::copy(&mut stream, &mut io::sink());
        }
    }
}

fn accept(shared: &Arc<Shared>, listener: &TcpListener) {
    let mut serving: Vec<JoinHandle<()>> = Vec::new();
    for stream in listener.incoming() {
        if shared.ended() {
            break;
        }
        let Ok(stream) = stream else { continue };
        serving.retain(|client| !client.is_finished());
        let shared = Arc::clone(shared);
        serving.push(std::thread::spawn(move || Client::serve(&shared, stream)));
    }
    for client in serving {
        let _ = client.join();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
