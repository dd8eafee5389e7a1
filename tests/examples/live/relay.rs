//! Stands between a provider and a server: keeps the bytes and sees when a connection is dropped.
//!
//! A client that says it let go proves little; here it is seen from the other end of the connection.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use trunkline_providers::BaseUrl;

pub(crate) struct Relay {
    address: SocketAddr,
    seen: Arc<Mutex<Seen>>,
}

/// What has gone through so far.
struct Seen {
    /// One per connection: when the client closed it, if it has.
    dropped: Vec<Option<Instant>>,
    log: File,
}

impl Relay {
    /// Listens on a free port and hands everything on to `server`.
    pub(crate) fn to(server: SocketAddr, log: &Path) -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let seen = Arc::new(Mutex::new(Seen { dropped: Vec::new(), log: File::create(log)? }));
        let shared = Arc::clone(&seen);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                // Without a server the client is dropped, which is what it would see without us.
                if let Ok(server) = TcpStream::connect(server) {
                    let _lost = join(client, server, &shared);
                }
            }
        });
        Ok(Relay { address, seen })
    }

    pub(crate) fn base_url(&self) -> BaseUrl {
        format!("http://{}", self.address).parse().expect("an address makes a base URL")
    }

    /// Returns how many connections were made.
    pub(crate) fn connections(&self) -> usize {
        locked(&self.seen).dropped.len()
    }

    /// Waits until the client has closed the newest connection; returns how long after `since` that was.
    pub(crate) async fn dropped_after(&self, since: Instant, patience: Duration) -> Option<Duration> {
        while since.elapsed() < patience {
            if let Some(Some(at)) = locked(&self.seen).dropped.last() {
                return Some(at.saturating_duration_since(since));
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        None
    }
}

/// Copies both ways until one side has had enough.
fn join(client: TcpStream, server: TcpStream, seen: &Arc<Mutex<Seen>>) -> std::io::Result<()> {
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let number = {
        let mut seen = locked(seen);
        seen.dropped.push(None);
        seen.dropped.len()
    };
    let (mut from_client, mut to_server) = (client.try_clone()?, server.try_clone()?);
    let shared = Arc::clone(seen);
    thread::spawn(move || {
        copy(&mut from_client, &mut to_server, &shared, &format!("{number} ->"));
        if let Some(dropped) = locked(&shared).dropped.get_mut(number - 1) {
            dropped.get_or_insert_with(Instant::now);
        }
        let _closed = to_server.shutdown(Shutdown::Both);
    });
    let (mut from_server, mut to_client) = (server, client);
    let shared = Arc::clone(seen);
    thread::spawn(move || {
        copy(&mut from_server, &mut to_client, &shared, &format!("{number} <-"));
        let _closed = to_client.shutdown(Shutdown::Both);
    });
    Ok(())
}

fn copy(from: &mut TcpStream, to: &mut TcpStream, seen: &Mutex<Seen>, mark: &str) {
    let mut buffer = [0; 16 * 1024];
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        let bytes = buffer.get(..read).unwrap_or_default();
        {
            let log = &mut locked(seen).log;
            let _unlogged =
                write!(log, "\n## connection {mark} {read} bytes\n").and_then(|()| log.write_all(bytes));
        }
        if to.write_all(bytes).is_err() {
            break;
        }
    }
}

fn locked(seen: &Mutex<Seen>) -> std::sync::MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Asks a server for a small page, past the relay.
pub(crate) fn get(server: SocketAddr, path: &str) -> std::io::Result<String> {
    let mut connection = TcpStream::connect(server)?;
    connection.set_read_timeout(Some(Duration::from_secs(10)))?;
    write!(connection, "GET {path} HTTP/1.0\r\nhost: {server}\r\n\r\n")?;
    let mut page = Vec::new();
    connection.read_to_end(&mut page)?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}
