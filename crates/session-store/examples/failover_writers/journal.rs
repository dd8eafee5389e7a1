//! What a writer was told, in order; and as lines, for writers in a process of their own.

use std::time::{Duration, Instant, SystemTime};

use trunkline_session_store::{Digest, Durability, SessionId};

use super::Outcome;

/// What happened to one writer.
pub(crate) struct Journal {
    pub(crate) writer: u32,
    pub(crate) events: Vec<Event>,
}

/// A time for which the process of some writers was stopped.
#[derive(Clone, Copy)]
pub(crate) struct Nap {
    pub(crate) from: Instant,
    pub(crate) slept: Duration,
}

/// One answer of the store.
pub(crate) enum Event {
    /// A lease was given.
    Claimed { session: SessionId, token: u64, begun: Instant, at: Instant },
    /// A batch was acknowledged.
    Kept(Ack),
    /// The store said that records are gone.
    Lost { session: SessionId, told: Told, at: Instant },
    /// The store said that the lease has ended.
    Fenced { session: SessionId, at: Instant },
    /// Nothing that can happen while servers fail over.
    Odd(String),
}

/// A receipt, and what it was given for.
pub(crate) struct Ack {
    pub(crate) session: SessionId,
    pub(crate) label: String,
    pub(crate) seq: u64,
    pub(crate) digest: Digest,
    pub(crate) level: Durability,
    /// How long it took from the first try to this answer.
    pub(crate) waited: Duration,
    pub(crate) at: Instant,
}

/// Which records are gone, as the store said it.
#[derive(Clone, Copy)]
pub(crate) enum Told {
    /// Those that were only buffered, from this one on.
    From(u64),
    /// This one, and perhaps others before it.
    Acknowledged(u64),
}

/// Times of one process as numbers that another one can read.
pub(crate) struct Clock {
    here: Instant,
    micros: u64,
}

impl Clock {
    pub(crate) fn new() -> Outcome<Clock> {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
        Ok(Clock { here: Instant::now(), micros: u64::try_from(since.as_micros())? })
    }

    fn number(&self, at: Instant) -> u64 {
        let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or_default();
        match at.checked_duration_since(self.here) {
            Some(later) => self.micros + micros(later),
            None => self.micros - micros(self.here - at),
        }
    }

    fn instant(&self, number: &str) -> Outcome<Instant> {
        let number: u64 = number.parse()?;
        let moved = match number.checked_sub(self.micros) {
            Some(later) => self.here.checked_add(Duration::from_micros(later)),
            None => self.here.checked_sub(Duration::from_micros(self.micros - number)),
        };
        moved.ok_or_else(|| "a time that cannot be".into())
    }
}

const LEVELS: [Durability; 3] = [Durability::Flushed, Durability::Committed, Durability::Buffered];

impl Journal {
    /// Returns it as lines.
    pub(crate) fn lines(&self, clock: &Clock) -> String {
        let mut lines = format!("writer\t{}\n", self.writer);
        for event in &self.events {
            lines.push_str(&match event {
                Event::Claimed { session, token, begun, at } => {
                    format!("claimed\t{session}\t{token}\t{}\t{}", clock.number(*begun), clock.number(*at))
                }
                Event::Kept(Ack { session, label, seq, digest, level, waited, at }) => {
                    let (waited, at) = (waited.as_micros(), clock.number(*at));
                    format!("kept\t{session}\t{label}\t{seq}\t{digest}\t{level}\t{waited}\t{at}")
                }
                Event::Lost { session, told, at } => {
                    let (how, seq) = match told {
                        Told::From(seq) => ("from", seq),
                        Told::Acknowledged(seq) => ("acknowledged", seq),
                    };
                    format!("lost\t{session}\t{how}\t{seq}\t{}", clock.number(*at))
                }
                Event::Fenced { session, at } => format!("fenced\t{session}\t{}", clock.number(*at)),
                Event::Odd(what) => format!("odd\t{}", what.replace(['\t', '\n'], " ")),
            });
            lines.push('\n');
        }
        lines
    }

    /// Reads the lines of several, and when their process slept.
    pub(crate) fn read(lines: &str, clock: &Clock) -> Outcome<(Vec<Journal>, Vec<Nap>)> {
        let mut journals: Vec<Journal> = Vec::new();
        let mut naps = Vec::new();
        for line in lines.lines() {
            let words: Vec<&str> = line.split('\t').collect();
            let event = match words.as_slice() {
                ["writer", number] => {
                    journals.push(Journal { writer: number.parse()?, events: Vec::new() });
                    continue;
                }
                ["slept", from, slept] => {
                    naps.push(Nap {
                        from: clock.instant(from)?,
                        slept: Duration::from_micros(slept.parse()?),
                    });
                    continue;
                }
                ["claimed", session, token, begun, at] => Event::Claimed {
                    session: SessionId::parse(session)?,
                    token: token.parse()?,
                    begun: clock.instant(begun)?,
                    at: clock.instant(at)?,
                },
                ["kept", session, label, seq, digest, level, waited, at] => {
                    let level = LEVELS.into_iter().find(|one| one.to_string() == *level);
                    Event::Kept(Ack {
                        session: SessionId::parse(session)?,
                        label: (*label).to_owned(),
                        seq: seq.parse()?,
                        digest: Digest::parse(digest)?,
                        level: level.ok_or("a level that is none")?,
                        waited: Duration::from_micros(waited.parse()?),
                        at: clock.instant(at)?,
                    })
                }
                ["lost", session, how, seq, at] => {
                    let seq = seq.parse()?;
                    let told = if *how == "from" { Told::From(seq) } else { Told::Acknowledged(seq) };
                    Event::Lost { session: SessionId::parse(session)?, told, at: clock.instant(at)? }
                }
                ["fenced", session, at] => {
                    Event::Fenced { session: SessionId::parse(session)?, at: clock.instant(at)? }
                }
                ["odd", what] => Event::Odd((*what).to_owned()),
                _ => return Err(format!("writers say {line:?}").into()),
            };
            journals.last_mut().ok_or("an event of no writer")?.events.push(event);
        }
        Ok((journals, naps))
    }
}

impl Nap {
    /// Returns it as a line.
    pub(crate) fn line(&self, clock: &Clock) -> String {
        format!("slept\t{}\t{}\n", clock.number(self.from), self.slept.as_micros())
    }
}
