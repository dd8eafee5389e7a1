//! A client that says each message of the protocol by itself, and writes down each answer as a line.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use trunkline_session_store::kit::engine::HardEngine;

pub(super) struct Raw {
    pub(super) stream: TcpStream,
    /// Number and secret by which a statement of this client is cancelled.
    pub(super) key: [u8; 8],
    /// What was said before the first statement.
    pub(super) greeting: String,
}

impl Raw {
    pub(super) fn connect(engine: &HardEngine) -> Self {
        Raw::connect_with(engine.address(), &[])
    }

    pub(super) fn connect_with(address: SocketAddr, parameters: &[(&str, &str)]) -> Self {
        let stream = TcpStream::connect(address).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("it can be set");
        let mut raw = Raw { stream, key: [0; 8], greeting: String::new() };
        let mut body = (3_u32 << 16).to_be_bytes().to_vec();
        for (name, value) in [("user", "trunkline"), ("database", "postgres")].iter().chain(parameters) {
            body.extend([name.as_bytes(), &[0], value.as_bytes(), &[0]].concat());
        }
        body.push(0);
        raw.send(&[&(body.len() as u32 + 4).to_be_bytes()[..], &body].concat());
        raw.greeting = raw.hear(1);
        raw
    }

    /// Says one message a line, all at once, and returns the answers up to the last that they ask for:
    /// `query SQL`, `parse SQL`, `parse NAME = SQL`, `bind`, `bind NAME`, `describe`, `execute`, `flush`, `sync`.
    pub(super) fn say(&mut self, script: &str) -> String {
        let mut all = Vec::new();
        let mut ends = 0;
        for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            ends += usize::from(matches!(word, "query" | "sync"));
            all.extend(message(word, rest));
        }
        self.send(&all);
        self.hear(ends)
    }

    pub(super) fn send(&mut self, bytes: &[u8]) {
        // A client that is cut off finds out when it listens.
        let _ = self.stream.write_all(bytes);
    }

    /// Hears answers until so many times the server was ready.
    pub(super) fn hear(&mut self, ends: usize) -> String {
        let mut lines = String::new();
        let mut left = ends;
        while left > 0 {
            let Some((kind, body)) = self.answer() else {
                lines.push_str("cut\n");
                break;
            };
            left -= usize::from(kind == b'Z');
            if kind == b'K' {
                self.key = body.try_into().expect("eight bytes");
                continue;
            }
            if let Some(line) = line(kind, &body) {
                let _ = writeln!(lines, "{line}");
            }
        }
        lines
    }

    pub(super) fn answer(&mut self) -> Option<(u8, Vec<u8>)> {
        let mut head = [0; 5];
        self.stream.read_exact(&mut head).ok()?;
        let [kind, a, b, c, d] = head;
        let mut body = vec![0; u32::from_be_bytes([a, b, c, d]) as usize - 4];
        self.stream.read_exact(&mut body).ok()?;
        Some((kind, body))
    }

    /// The first column of the only row.
    pub(super) fn value(&mut self, sql: &str) -> String {
        let said = self.say(&format!("query {sql}"));
        said.lines().find_map(|line| line.strip_prefix("row ")).unwrap_or(&said).to_owned()
    }
}

fn message(word: &str, rest: &str) -> Vec<u8> {
    let (kind, body): (u8, Vec<u8>) = match word {
        "query" => (b'Q', text(rest)),
        "parse" => {
            let (name, sql) =
                rest.split_once(" = ").filter(|(name, _)| !name.contains(' ')).unwrap_or(("", rest));
            (b'P', [text(name), text(sql), vec![0, 0]].concat())
        }
        "bind" => (b'B', [text(""), text(rest), vec![0; 6]].concat()),
        "describe" => (b'D', b"P\0".to_vec()),
        "execute" => (b'E', [text(""), vec![0; 4]].concat()),
        "flush" => (b'H', Vec::new()),
        "sync" => (b'S', Vec::new()),
        other => panic!("{other} is no message"),
    };
    framed(kind, &body)
}

pub(super) fn framed(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[kind], &(body.len() as u32 + 4).to_be_bytes()[..], body].concat()
}

fn text(text: &str) -> Vec<u8> {
    [text.as_bytes(), &[0]].concat()
}

fn line(kind: u8, body: &[u8]) -> Option<String> {
    let strings = || body.split(|byte| *byte == 0).map(|text| String::from_utf8_lossy(text).into_owned());
    let field = |mark: char| {
        strings().find_map(|text| text.strip_prefix(mark).map(str::to_owned)).unwrap_or_default()
    };
    Some(match kind {
        b'1' => "parsed".to_owned(),
        b'2' => "bound".to_owned(),
        b'n' => "no rows".to_owned(),
        b'C' => format!("done {}", strings().next()?),
        b'D' => format!("row {}", row(body)),
        b'E' => format!("error {} {}", field('C'), field('M')),
        b'N' => format!("{} {}", field('S').to_lowercase(), field('M')),
        b'A' => format!("told {}", strings().nth(4).unwrap_or_default()),
        b'Z' => format!("ready {}", char::from(*body.first()?)),
        b'v' => "an older protocol".to_owned(),
        // What columns are called and what the settings are is of the server.
        b'T' | b't' | b'S' | b'R' => return None,
        other => format!("{}", char::from(other)),
    })
}

fn row(body: &[u8]) -> String {
    let mut rest = &body[2..];
    let mut columns = Vec::new();
    while let Some((length, after)) = rest.split_first_chunk::<4>() {
        let length = u32::from_be_bytes(*length) as usize;
        if length == u32::MAX as usize {
            columns.push("-".to_owned());
            rest = after;
            continue;
        }
        columns.push(String::from_utf8_lossy(&after[..length]).into_owned());
        rest = &after[length..];
    }
    columns.join(", ")
}
