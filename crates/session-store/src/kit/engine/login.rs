//! Logging in to the real server: without a password, with one as it is, or by SCRAM-SHA-256.

use std::collections::hash_map::RandomState;
use std::fmt::Write as _;
use std::hash::BuildHasher;
use std::io::{self, BufReader, Write};
use std::net::TcpStream;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use super::frames::{Message, bad, read_message, strings};

/// Where the real server is, and as whom one logs in there. Has no `Debug`: it knows the password.
#[derive(Clone)]
pub(super) struct Server {
    pub(super) address: String,
    pub(super) user: String,
    pub(super) database: String,
    password: String,
}

/// What the server says before it waits for the first statement.
#[derive(Clone, Default)]
pub(super) struct Greeting {
    /// What its settings are.
    pub(super) parameters: Vec<Message>,
    /// By what a statement on this connection is cancelled.
    pub(super) key: Vec<u8>,
}

impl Server {
    /// Reads `postgres://user:password@host:port/database`; what follows a `?` is left out.
    pub(super) fn parse(url: &str) -> Option<Self> {
        let (_, rest) =
            url.split_once("://").filter(|(scheme, _)| ["postgres", "postgresql"].contains(scheme))?;
        let rest = rest.split('?').next()?;
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (login, host) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (user, password) = login.split_once(':').unwrap_or((login, ""));
        let user = decoded(if user.is_empty() { "postgres" } else { user })?;
        let database = if database.is_empty() { user.clone() } else { decoded(database)? };
        let end = host.rfind(']').map_or(0, |at| at + 1);
        let address = match host.get(end..)?.contains(':') {
            _ if host.is_empty() => return None,
            true => host.to_owned(),
            false => format!("{host}:5432"),
        };
        Some(Server { address, user, database, password: decoded(password)? })
    }

    /// Logs in with parameters beside user and database.
    pub(super) fn log_in(
        &self,
        from: &mut BufReader<TcpStream>,
        to: &mut TcpStream,
        parameters: &[(Vec<u8>, Vec<u8>)],
    ) -> io::Result<Greeting> {
        let mut body = (3_u32 << 16).to_be_bytes().to_vec();
        body.extend(strings(&[b"user", self.user.as_bytes(), b"database", self.database.as_bytes()]));
        for (name, value) in parameters {
            body.extend(strings(&[name, value]));
        }
        body.push(0);
        to.write_all(&(body.len() as u32 + 4).to_be_bytes())?;
        to.write_all(&body)?;
        let mut greeting = Greeting::default();
        let mut scram = None;
        loop {
            let Some(message) = read_message(from)? else { return Err(io::ErrorKind::UnexpectedEof.into()) };
            match message.kind {
                b'R' => self.prove(&message.body, &mut scram, to)?,
                b'S' => greeting.parameters.push(message),
                b'K' => greeting.key = message.body,
                b'Z' => return Ok(greeting),
                b'E' => return Err(io::Error::other(words_of(&message))),
                _ => {}
            }
        }
    }

    fn prove(&self, asked: &[u8], scram: &mut Option<Scram>, to: &mut TcpStream) -> io::Result<()> {
        let Some((kind, rest)) = asked.split_first_chunk::<4>() else {
            return Err(bad("it asks for nothing"));
        };
        let answer = match u32::from_be_bytes(*kind) {
            0 | 12 => return Ok(()),
            3 => strings(&[self.password.as_bytes()]),
            10 => {
                let begun = scram.insert(Scram::new());
                let first = format!("n,,{}", begun.first);
                let mut body = strings(&[b"SCRAM-SHA-256"]);
                body.extend((first.len() as u32).to_be_bytes());
                body.extend(first.as_bytes());
                body
            }
            11 => {
                let said = std::str::from_utf8(rest).map_err(|_| bad("its challenge is not a text"))?;
                let answered = scram.as_ref().and_then(|scram| scram.answer(said, self.password.as_bytes()));
                answered.ok_or_else(|| bad("its challenge cannot be answered"))?.into_bytes()
            }
            other => {
                return Err(bad(&format!(
                    "the server asks for a login of kind {other}; trust, a password and SCRAM are known"
                )));
            }
        };
        let mut out = Vec::new();
        Message::new(b'p', answer).write_to(&mut out);
        to.write_all(&out)
    }
}

/// Returns the words of an error.
pub(super) fn words_of(error: &Message) -> String {
    let mut at = 0;
    while let Some(field) = error.body.get(at).filter(|field| **field != 0) {
        let Some((value, next)) = error.string_at(at + 1) else { break };
        if *field == b'M' {
            return String::from_utf8_lossy(value).into_owned();
        }
        at = next;
    }
    "it is refused without a word".to_owned()
}

fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        if *byte != b'%' {
            bytes.push(*byte);
            continue;
        }
        let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = rest.get(2..)?;
    }
    String::from_utf8(bytes).ok()
}

/// A login by challenge, RFC 5802 and 7677, without a look at whether the server knows the password too.
struct Scram {
    first: String,
}

impl Scram {
    fn new() -> Self {
        // Keys of hash maps are random; that is enough for a server of tests.
        let mut nonce = String::new();
        for _ in 0..2 {
            let _ = write!(nonce, "{:016x}", RandomState::new().hash_one(0_u8));
        }
        Scram { first: format!("n=,r={nonce}") }
    }

    fn answer(&self, challenge: &str, password: &[u8]) -> Option<String> {
        let part = |name: &str| challenge.split(',').find_map(|part| part.strip_prefix(name));
        let nonce = part("r=").filter(|nonce| nonce.starts_with(self.first.get(5..).unwrap_or_default()))?;
        let salt = STANDARD.decode(part("s=")?).ok()?;
        // 1,000,000: far above what servers ask for, and still an end.
        let rounds = part("i=")?.parse::<u32>().ok().filter(|rounds| (1..=1_000_000).contains(rounds))?;
        let mut block = hmac(password, &[&salt, &1_u32.to_be_bytes()]);
        let mut salted = block;
        for _ in 1..rounds {
            block = hmac(password, &[&block]);
            salted.iter_mut().zip(block).for_each(|(byte, other)| *byte ^= other);
        }
        let client = hmac(&salted, &[b"Client Key"]);
        let stored: [u8; 32] = Sha256::digest(client).into();
        let last = format!("c=biws,r={nonce}");
        let signed = format!("{},{challenge},{last}", self.first);
        let mut proof = hmac(&stored, &[signed.as_bytes()]);
        proof.iter_mut().zip(client).for_each(|(byte, other)| *byte ^= other);
        Some(format!("{last},p={}", STANDARD.encode(proof)))
    }
}

fn hmac(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    let mut block = [0; 64];
    let short: [u8; 32] = Sha256::digest(key).into();
    let key = if key.len() > block.len() { &short } else { key };
    block.iter_mut().zip(key).for_each(|(byte, key)| *byte = *key);
    let mut inner = Sha256::new_with_prefix(block.map(|byte| byte ^ 0x36));
    for part in parts {
        inner.update(part);
    }
    let mut outer = Sha256::new_with_prefix(block.map(|byte| byte ^ 0x5c));
    outer.update(inner.finalize());
    outer.finalize().into()
}
