//! Connections to the real server, and the pool of those that clients share.

use std::collections::HashMap;
use std::io::{self, BufReader};
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::login::{Greeting, Server};
use crate::kit::chance::Chance;

/// A copy of each socket by a number, so that all can be ended.
pub(super) type Ends = Arc<Mutex<HashMap<u64, TcpStream>>>;

/// So long a transaction waits for a backend at most.
const WAIT: Duration = Duration::from_secs(30);

/// A connection to the real server. Dropping it closes it, and the server rolls back what it had begun.
pub(super) struct Backend {
    pub(super) number: u64,
    pub(super) from: BufReader<TcpStream>,
    pub(super) to: TcpStream,
    ends: Ends,
}

impl Backend {
    pub(super) fn open(
        server: &Server,
        number: u64,
        parameters: &[(Vec<u8>, Vec<u8>)],
        ends: &Ends,
    ) -> io::Result<(Self, Greeting)> {
        let mut to = TcpStream::connect(&server.address)?;
        to.set_nodelay(true)?;
        let mut from = BufReader::with_capacity(64 * 1024, to.try_clone()?);
        let greeting = server.log_in(&mut from, &mut to, parameters)?;
        super::lock(ends).insert(number, to.try_clone()?);
        Ok((Backend { number, from, to, ends: Arc::clone(ends) }, greeting))
    }

    /// Whether the server has closed it.
    fn is_gone(&self) -> bool {
        if !self.from.buffer().is_empty() {
            return false;
        }
        let _ = self.to.set_nonblocking(true);
        let peeked = self.to.peek(&mut [0]);
        let _ = self.to.set_nonblocking(false);
        match peeked {
            // What it says unasked goes to the client that has it next.
            Ok(count) => count == 0,
            Err(error) => error.kind() != io::ErrorKind::WouldBlock,
        }
    }
}

impl Drop for Backend {
    fn drop(&mut self) {
        super::lock(&self.ends).remove(&self.number);
        let _ = self.to.shutdown(Shutdown::Both);
    }
}

/// The backends that no transaction has at the moment.
pub(super) struct Pool {
    most: usize,
    inner: Mutex<Idle>,
    changed: Condvar,
}

#[derive(Default)]
struct Idle {
    rested: Vec<Backend>,
    /// How many there are, in use or not.
    open: usize,
    ended: bool,
}

/// What the pool has for a client.
pub(super) enum Place {
    Backend(Backend),
    /// Room for a new one.
    Room,
}

impl Pool {
    pub(super) fn new(most: usize) -> Self {
        Pool { most: most.max(1), inner: Mutex::default(), changed: Condvar::new() }
    }

    /// Waits for a backend, another one than `last` if there can be another; `None` if there was none in time.
    pub(super) fn take(&self, last: Option<u64>, chance: &mut Chance) -> Option<Place> {
        let deadline = Instant::now() + WAIT;
        let mut idle = self.open();
        loop {
            if idle.ended {
                return None;
            }
            let before = idle.rested.len();
            idle.rested.retain(|backend| !backend.is_gone());
            idle.open -= before - idle.rested.len();
            let others = idle.rested.iter().filter(|backend| Some(backend.number) != last).count() as u64;
            // Below the bound a new one is as good as any of the others.
            let room = u64::from(idle.open < self.most);
            if others + room > 0 {
                let choice = chance.below(others + room);
                let mut others = idle.rested.iter().enumerate().filter(|(_, one)| Some(one.number) != last);
                match others.nth(choice as usize).map(|(at, _)| at) {
                    Some(at) => return Some(Place::Backend(idle.rested.swap_remove(at))),
                    None => {
                        idle.open += 1;
                        return Some(Place::Room);
                    }
                }
            }
            if let Some(own) = idle.rested.pop() {
                return Some(Place::Backend(own));
            }
            let left = deadline.checked_duration_since(Instant::now())?;
            idle = self.changed.wait_timeout(idle, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Takes a backend back after a transaction.
    pub(super) fn give(&self, backend: Backend) {
        let mut idle = self.open();
        match idle.ended {
            true => idle.open -= 1,
            false => idle.rested.push(backend),
        }
        drop(idle);
        self.changed.notify_one();
    }

    /// Is told that a backend was closed, or could not be opened.
    pub(super) fn lost(&self) {
        self.open().open -= 1;
        self.changed.notify_one();
    }

    pub(super) fn end(&self) {
        let mut idle = self.open();
        idle.ended = true;
        idle.rested.clear();
        drop(idle);
        self.changed.notify_all();
    }

    fn open(&self) -> MutexGuard<'_, Idle> {
        super::lock(&self.inner)
    }
}
