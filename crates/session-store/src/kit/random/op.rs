//! One operation, and how it is written.

use std::fmt;

use trunkline_message_tree::{Content, Message};

use crate::Durability;

/// A call; numbers are small so that they hit and miss alike. `door` is one of two handles on the place, `slot` names a
/// lease.
#[derive(Clone, Debug)]
pub(super) enum Op {
    Create {
        session: u64,
        door: usize,
    },
    Claim {
        session: u64,
        slot: char,
        door: usize,
        take_over: bool,
    },
    Free {
        session: u64,
        slot: char,
    },
    Append {
        session: u64,
        slot: char,
        pieces: Vec<Piece>,
        letters: Vec<u64>,
        off: Off,
        level: Durability,
    },
    Repeat {
        session: u64,
        slot: char,
    },
    Post {
        session: u64,
        door: usize,
        body: Body,
    },
    Amend {
        session: u64,
        door: usize,
        how: u64,
    },
    Delete {
        session: u64,
        door: usize,
    },
    Collect {
        door: usize,
        dry: bool,
    },
    /// Keeps a snapshot of all records but so many, or of a log that there is not.
    Keep {
        session: u64,
        slot: char,
        back: u64,
        body: Text,
        is_ours: bool,
    },
    Move {
        session: u64,
        door: usize,
    },
    Ask {
        session: u64,
        door: usize,
        question: Question,
    },
    Reopen,
}

/// A record relative to where the log is.
#[derive(Clone, Debug)]
pub(super) enum Piece {
    Node(Vec<Text>),
    /// A node with a number that does not come now.
    Skip,
    Filed(u32, Text),
    Move(u32),
    Note(Body),
    Key {
        kind: char,
        key: char,
        state: Text,
        once: bool,
    },
    Blob(Text),
}

/// What is wrong with the expectations of a batch.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Off {
    Nothing,
    Seq,
    Head,
}

#[derive(Clone, Debug)]
pub(super) enum Question {
    Info,
    Sessions,
    Read { after: u64, limit: usize },
    After(u64),
    Records(Vec<u64>),
    Snapshot,
    Outline,
    Messages(Vec<u32>),
    Resume(usize),
    Verify,
    Blob(Text),
    Inbox,
    Letter(u64),
    Activity,
    Holder,
    Notes { all: bool, kind: Option<char>, key: Option<char>, state: Option<Text> },
    Export,
    Everything,
}

/// Words of a message, a state, or the bytes of a blob.
#[derive(Copy, Clone, Debug)]
pub(super) enum Text {
    Empty,
    Plain,
    Odd,
    Nul,
    Large(char, usize),
}

/// The body of a note or a letter.
#[derive(Copy, Clone, Debug)]
pub(super) enum Body {
    Null,
    Number,
    Object,
    Escapes,
    Large(char, usize),
    Open,
    Padded,
    Lines,
}

impl Op {
    /// Returns the operation with one thing less, in every way.
    pub(super) fn smaller(&self) -> Vec<Op> {
        let Op::Append { session, slot, pieces, letters, off, level } = self else { return Vec::new() };
        let with = |pieces: Vec<Piece>, letters: Vec<u64>, level| Op::Append {
            session: *session,
            slot: *slot,
            pieces,
            letters,
            off: *off,
            level,
        };
        let mut smaller = Vec::new();
        for at in 0..pieces.len() {
            let mut fewer = pieces.clone();
            fewer.remove(at);
            smaller.push(with(fewer, letters.clone(), *level));
        }
        for at in 0..letters.len() {
            let mut fewer = letters.clone();
            fewer.remove(at);
            smaller.push(with(pieces.clone(), fewer, *level));
        }
        if *level != Durability::Flushed {
            smaller.push(with(pieces.clone(), letters.clone(), Durability::Flushed));
        }
        smaller
    }
}

impl Text {
    pub(super) fn text(self) -> String {
        match self {
            Text::Empty => String::new(),
            Text::Plain => "hello".to_owned(),
            Text::Odd => "\u{1F327}\u{e4}\u{2028}\u{feff}\u{301} '\"\\ % _ \r\n\t\u{7f}".to_owned(),
            Text::Nul => "a\0b".to_owned(),
            Text::Large(letter, size) => large(letter, size),
        }
    }
}

impl Body {
    pub(super) fn text(self) -> String {
        match self {
            Body::Null => "null".to_owned(),
            Body::Number => "-1.50e+400".to_owned(),
            Body::Object => "{\"b\" : [ 1, {} ],\t\"a\":null,\"a\":\"\u{1F327}\"}".to_owned(),
            Body::Escapes => "\"\\u0000\\ud83c\\udf27\\/\\\\\\\"\\n\u{2028}\"".to_owned(),
            Body::Large(letter, size) => {
                let part = large(letter, size);
                let quoted = serde_json::to_string(&part).unwrap_or_default();
                format!("{{\"one\":{quoted},\"two\":[{quoted},\"short\"]}}")
            }
            Body::Open => "{\"open\":".to_owned(),
            Body::Padded => " 1".to_owned(),
            Body::Lines => "[1,\n2]".to_owned(),
        }
    }
}

/// A text of about so many bytes; capitals need escapes as JSON.
fn large(letter: char, size: usize) -> String {
    let unit = if letter.is_uppercase() { format!("{letter}\"\\\n\u{e9}") } else { letter.to_string() };
    unit.chars()
        .cycle()
        .scan(0, |bytes, next| {
            *bytes += next.len_utf8();
            (*bytes <= size).then_some(next)
        })
        .collect()
}

pub(super) fn message(texts: &[Text]) -> Message {
    match texts {
        [one] => Message::user(one.text()),
        texts => {
            let mut message = Message::assistant("");
            message.content = texts.iter().map(|text| Content::text(text.text())).collect();
            message
        }
    }
}

fn door(number: usize) -> &'static str {
    if number == 0 { "one" } else { "two" }
}

fn list<T: fmt::Display>(items: &[T]) -> String {
    let items: Vec<String> = items.iter().map(ToString::to_string).collect();
    if items.is_empty() { "nothing".to_owned() } else { items.join(", ") }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Op::Create { session, door: at } => write!(f, "{}: create {session}", door(*at)),
            Op::Claim { session, slot, door: at, take_over } => {
                let how = if *take_over { "take over" } else { "lease" };
                write!(f, "{}: {how} {session} as {slot}", door(*at))
            }
            Op::Free { session, slot } => write!(f, "drop lease {slot} of {session}"),
            Op::Append { session, slot, pieces, letters, off, level } => {
                write!(f, "append to {session} under {slot}: {}", list(pieces))?;
                if !letters.is_empty() {
                    write!(f, "; consuming {}", list(letters))?;
                }
                match off {
                    Off::Nothing => {}
                    Off::Seq => f.write_str("; for another record")?,
                    Off::Head => f.write_str("; for another head")?,
                }
                write!(f, "; {level}")
            }
            Op::Repeat { session, slot } => {
                write!(f, "append the last batch to {session} again under {slot}")
            }
            Op::Post { session, door: at, body } => write!(f, "{}: post {body} to {session}", door(*at)),
            Op::Amend { session, door: at, how } => write!(f, "{}: amend {session}, change {how}", door(*at)),
            Op::Delete { session, door: at } => write!(f, "{}: delete {session}", door(*at)),
            Op::Collect { door: at, dry } => {
                write!(f, "{}: collect{}", door(*at), if *dry { " dry" } else { "" })
            }
            Op::Keep { session, slot, back, body, is_ours } => {
                let of = if *is_ours { "" } else { " of another log" };
                write!(f, "keep {body} of {session}, {back} records ago,{of} under {slot}")
            }
            Op::Move { session, door: at } => {
                write!(f, "{}: export {session}, delete it, import it", door(*at))
            }
            Op::Ask { session, door: at, question } => {
                write!(f, "{}: ask {session} for {question:?}", door(*at))
            }
            Op::Reopen => f.write_str("close and open"),
        }
    }
}

impl fmt::Display for Piece {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Piece::Node(texts) => write!(f, "node {}", list(texts)),
            Piece::Skip => f.write_str("node with a number to come"),
            Piece::Filed(parent, text) => write!(f, "node {text} filed under n{parent}"),
            Piece::Move(to) => write!(f, "head to n{to}"),
            Piece::Note(body) => write!(f, "note {body}"),
            Piece::Key { kind, key, state, once } => {
                write!(f, "note {kind} about {key} {}now {state}", if *once { "once, " } else { "" })
            }
            Piece::Blob(text) => write!(f, "blob {text}"),
        }
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Text::Large(letter, size) => write!(f, "{letter}*{size}"),
            small => write!(f, "{:?}", small.text()),
        }
    }
}

impl fmt::Display for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Body::Large(letter, size) => write!(f, "{{twice {letter}*{size}}}"),
            small => write!(f, "{:?}", small.text()),
        }
    }
}
