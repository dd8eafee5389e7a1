//! A server for as long as it is needed.
//!
//! It ends when its standard input does. The system closes that with us, so not even a kill of this program leaves a
//! server behind.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::python::last_lines;
use crate::cargo::{cannot_start, line_of};

/// What a health page may take; a server that loads its model answers late.
const ONE_ANSWER: Duration = Duration::from_secs(10);

/// A server that runs. Dropping it stops it.
pub(super) struct Server {
    child: Child,
    log: PathBuf,
}

impl Server {
    /// Starts a program that ends with its standard input; all that it says goes to the log.
    pub(super) fn start(command: &mut Command, log: &Path) -> Result<Server, String> {
        println!("$ {}", line_of(command));
        let problem = |error| format!("cannot write {}: {error}", log.display());
        let file = File::create(log).map_err(problem)?;
        let same = file.try_clone().map_err(problem)?;
        command.stdin(Stdio::piped()).stdout(file).stderr(same);
        command.env("NO_PROXY", "127.0.0.1").env("no_proxy", "127.0.0.1");
        let child = command.spawn().map_err(|error| cannot_start(command, &error))?;
        Ok(Server { child, log: log.to_owned() })
    }

    /// Waits until the server answers a page with 200.
    pub(super) fn wait(&mut self, address: SocketAddr, page: &str, patience: Duration) -> Result<(), String> {
        let start = Instant::now();
        while start.elapsed() < patience {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(format!("the server ended with {status} before it answered: {}", self.said()));
            }
            if is_good(address, page).unwrap_or(false) {
                return Ok(());
            }
            sleep(Duration::from_millis(200));
        }
        let seconds = patience.as_secs();
        Err(format!("no answer from http://{address}{page} within {seconds} s: {}", self.said()))
    }

    fn said(&self) -> String {
        let text = fs::read(&self.log).unwrap_or_default();
        format!("{}\n{}", self.log.display(), last_lines(&String::from_utf8_lossy(&text)))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ended = self.child.kill();
        let _status = self.child.wait();
    }
}

/// Whether a page is answered with 200.
fn is_good(address: SocketAddr, page: &str) -> std::io::Result<bool> {
    let mut connection = TcpStream::connect_timeout(&address, ONE_ANSWER)?;
    connection.set_read_timeout(Some(ONE_ANSWER))?;
    write!(connection, "GET {page} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n")?;
    let mut line = [0; "HTTP/1.1 200".len()];
    connection.read_exact(&mut line)?;
    Ok(line.ends_with(b" 200"))
}
