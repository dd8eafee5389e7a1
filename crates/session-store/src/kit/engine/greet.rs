//! How a client is let in: without a password, and as one user to one database.

use std::io::Write;
use std::time::Duration;

use super::client::{Client, Gone, Step};
use super::frames::{Message, read_startup};
use super::lock;

const SSL: u32 = 80_877_103;
const GSS: u32 = 80_877_104;
pub(super) const CANCEL: u32 = 80_877_102;

/// The name of a setting, and its value.
type Parameter = (Vec<u8>, Vec<u8>);

impl Client<'_> {
    /// Lets a client in, or serves a wish to cancel another one's statement.
    pub(super) fn greet(&mut self) -> Step {
        self.to.set_read_timeout(Some(Duration::from_secs(10)))?;
        let body = loop {
            match read_startup(&mut self.from)? {
                (SSL | GSS, _) => self.to.write_all(b"N")?,
                (CANCEL, key) => {
                    self.shared.cancel(&key);
                    return Err(Gone);
                }
                (version, body) if version >> 16 == 3 => {
                    if version & 0xffff != 0 {
                        // The newest minor version is 0, and no option is known.
                        Message::new(b'v', vec![0; 8]).write_to(&mut self.out);
                    }
                    break body;
                }
                _ => return Err(self.fatal("0A000", "only version 3 of the protocol is known")),
            }
        };
        let parameters = self.parameters(&body)?;
        self.to.set_read_timeout(None)?;
        let profile = &self.shared.profile;
        let greeting = match profile.swaps {
            true => lock(&self.shared.greeting).clone(),
            false => match self.shared.open_backend(&parameters) {
                Ok((backend, greeting)) => {
                    self.backend = Some(backend);
                    greeting
                }
                Err(error) => return Err(self.fatal("08006", &error.to_string())),
            },
        };
        self.shared.count(|report| report.connections += 1);
        Message::new(b'R', vec![0; 4]).write_to(&mut self.out);
        for parameter in &greeting.parameters {
            parameter.write_to(&mut self.out);
        }
        let key = match profile.swaps {
            // As a pooler does, it names a process that is none of the server's: their numbers are smaller.
            true => (u64::from(u32::MAX >> 1) << 32 | self.number).to_be_bytes().to_vec(),
            false => greeting.key,
        };
        Message::new(b'K', key).write_to(&mut self.out);
        Message::new(b'Z', vec![b'I']).write_to(&mut self.out);
        self.flush()
    }

    /// Returns what a client wants to be set, without user and database.
    fn parameters(&mut self, body: &[u8]) -> Result<Vec<Parameter>, Gone> {
        let texts: Vec<&[u8]> = body.split(|byte| *byte == 0).collect();
        let server = &self.shared.server;
        let (mut user, mut database, mut rest) = (None, None, Vec::new());
        for pair in texts.chunks_exact(2) {
            let [name, value] = pair else { continue };
            match *name {
                b"" => break,
                b"user" => user = Some(*value),
                b"database" => database = Some(*value),
                b"replication" => return Err(self.fatal("0A000", "replication is not passed on")),
                name if name.starts_with(b"_pq_.") => {}
                name => rest.push((name.to_vec(), value.to_vec())),
            }
        }
        if user != Some(server.user.as_bytes()) {
            return Err(self.fatal("28000", "only the user of the engine's own URL is let in"));
        }
        if database.unwrap_or(server.user.as_bytes()) != server.database.as_bytes() {
            return Err(self.fatal("3D000", "only the database of the engine's own URL is there"));
        }
        if let Some(allowed) = self.shared.profile.startup {
            let known = |name: &[u8]| allowed.iter().any(|one| name.eq_ignore_ascii_case(one.as_bytes()));
            if let Some((name, _)) = rest.iter().find(|(name, _)| !known(name)) {
                let words = format!("unsupported startup parameter: {}", String::from_utf8_lossy(name));
                return Err(self.fatal("08P01", &words));
            }
        }
        Ok(rest)
    }
}
