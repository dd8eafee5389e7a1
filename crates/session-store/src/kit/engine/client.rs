//! One client, from its first message to its end.

use std::collections::HashMap;
use std::io::{self, BufReader};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use super::backend::Backend;
use super::fate::{Fate, Transaction, raise};
use super::frames::{Message, read_message, strings};
use super::round::{Instead, Round, Wants};
use super::statement::{Statement, statements};
use super::{Shared, lock};
use crate::kit::chance::Chance;

/// So much is collected before it is written.
pub(super) const CHUNK: usize = 64 * 1024;

/// So long a client whose answers are cut is still listened to.
const LAST_WORDS: Duration = Duration::from_millis(40);

/// The connection is over, by either end.
#[derive(Debug)]
pub(super) struct Gone;

pub(super) type Step = Result<(), Gone>;

impl From<io::Error> for Gone {
    fn from(_: io::Error) -> Self {
        Gone
    }
}

pub(super) struct Client<'a> {
    pub(super) shared: &'a Shared,
    pub(super) number: u64,
    pub(super) from: BufReader<TcpStream>,
    pub(super) to: TcpStream,
    /// What the client is to be given.
    pub(super) out: Vec<u8>,
    /// What the backend is to be given.
    pub(super) pending: Vec<u8>,
    pub(super) backend: Option<Backend>,
    /// The backend of the transaction before.
    pub(super) last: Option<u64>,
    pub(super) chance: Chance,
    pub(super) transaction: Transaction,
    /// Messages since the last `Sync` or `Flush`.
    pub(super) group: Vec<Message>,
    pub(super) round: Round,
    /// After an error nothing counts until the next `Sync`.
    pub(super) skipping: bool,
    /// What stands for a commit is done, and the client shall not be told.
    pub(super) cut_after: bool,
    /// Its answers are cut: what it has sent still counts.
    pub(super) deaf: bool,
    pub(super) names: HashMap<Vec<u8>, Option<Statement>>,
    pub(super) portals: HashMap<Vec<u8>, Option<Statement>>,
}

impl Client<'_> {
    /// Serves a client until it, its backend or the engine goes.
    pub(super) fn serve(shared: &Arc<Shared>, stream: TcpStream) {
        let number = shared.number();
        let (Ok(to), Ok(end)) = (stream.try_clone(), stream.try_clone()) else { return };
        let _ = stream.set_nodelay(true);
        lock(&shared.ends).insert(number, end);
        let mut client = Client {
            shared,
            number,
            from: BufReader::with_capacity(CHUNK, stream),
            to,
            out: Vec::new(),
            pending: Vec::new(),
            backend: None,
            last: None,
            chance: Chance::new(shared.seed, number),
            transaction: Transaction::default(),
            group: Vec::new(),
            round: Round::default(),
            skipping: false,
            cut_after: false,
            deaf: false,
            names: HashMap::new(),
            portals: HashMap::new(),
        };
        // The engine may have ended before it knew of this socket.
        if !shared.ended() && client.greet().is_ok() {
            let _ = client.converse();
        }
        client.leave();
    }

    fn leave(mut self) {
        // Whatever was begun on it ends with it.
        if self.backend.take().is_some() && self.shared.profile.swaps {
            self.shared.pool.lost();
        }
        let _ = self.to.shutdown(Shutdown::Both);
        lock(&self.shared.ends).remove(&self.number);
    }

    fn converse(&mut self) -> Step {
        loop {
            if self.deaf {
                self.to.set_read_timeout(Some(LAST_WORDS))?;
            }
            let Some(message) = read_message(&mut self.from)? else { return Ok(()) };
            match message.kind {
                b'X' => return Ok(()),
                b'Q' => self.simple(message)?,
                b'P' | b'B' | b'D' | b'E' | b'C' => self.group.push(message),
                b'H' => self.extended(None)?,
                b'S' => self.extended(Some(message))?,
                _ => return Err(self.fatal("08P01", "a message of a kind that is not passed on")),
            }
        }
    }

    fn simple(&mut self, message: Message) -> Step {
        let Some((sql, _)) = message.string_at(0) else {
            return Err(self.fatal("08P01", "a query does not end"));
        };
        let (mut text, mut instead, mut changed) = (Vec::new(), None, false);
        for (at, statement) in statements(sql, self.shared.profile.spares).iter().enumerate() {
            let own = sql.get(statement.start..statement.end).unwrap_or_default();
            let fate = match self.transaction.lacks(statement, self.shared) {
                Fate::Done => self.transaction.fate(statement, self.shared, &mut self.chance),
                other => other,
            };
            changed |= !matches!(fate, Fate::Done | Fate::CutAfter);
            match fate {
                Fate::Done => text.extend(own),
                Fate::CutAfter => {
                    self.cut_after = true;
                    text.extend(own);
                }
                Fate::Ignored(words) => text.extend(raise("WARNING", "01000", words)),
                Fate::Refused(code, words) => text.extend(raise("EXCEPTION", code, words)),
                Fate::CommitConflict => {
                    text.extend(b"ROLLBACK");
                    instead = Some(Instead::OfCompletion(at, self.conflict()));
                }
                Fate::CutBefore => return Err(Gone),
            }
            text.push(b';');
            if matches!(fate, Fate::Refused(..) | Fate::CommitConflict) {
                break;
            }
        }
        self.attach()?;
        let message = if changed { Message::text(b'Q', &text) } else { message };
        self.send_as(&message, Wants::Everything, instead)?;
        self.relay(true)
    }

    /// Sends what was collected, and has it answered: up to `ReadyForQuery` after a `Sync`.
    fn extended(&mut self, sync: Option<Message>) -> Step {
        let group = std::mem::take(&mut self.group);
        self.attach()?;
        let mut unread = 0;
        for message in group {
            if self.skipping {
                break;
            }
            // A server that cannot get rid of its answers reads no more.
            if unread + message.length() > CHUNK && !self.round.is_empty() {
                self.drain()?;
                unread = 0;
                if self.skipping {
                    break;
                }
            }
            unread += message.length();
            match message.kind {
                b'P' => self.parse(&message)?,
                b'B' => {
                    let portal = message.string_at(0).map(|(portal, next)| (portal.to_vec(), next));
                    if let Some((portal, next)) = portal
                        && let Some((name, _)) = message.string_at(next)
                    {
                        let statement = self.names.get(name).cloned().flatten();
                        self.portals.insert(portal, statement);
                    }
                    self.send_as(&message, Wants::Bound, None)?;
                }
                b'D' => self.send_as(&message, Wants::Described, None)?,
                b'C' => self.send_as(&message, Wants::Closed, None)?,
                _ => self.execute(&message)?,
            }
        }
        match sync {
            Some(sync) => {
                self.send(&sync, true)?;
                self.relay(true)
            }
            None => self.drain(),
        }
    }

    fn parse(&mut self, message: &Message) -> Step {
        let Some((name, next)) = message.string_at(0) else {
            return self.send_as(message, Wants::Parsed, None);
        };
        let Some((sql, _)) = message.string_at(next) else {
            return self.send_as(message, Wants::Parsed, None);
        };
        let statement = statements(sql, self.shared.profile.spares).into_iter().next();
        let fate = match &statement {
            _ if !name.is_empty() && self.transaction.lacks_names(self.shared).is_some() => {
                self.transaction.lacks_names(self.shared).unwrap_or(Fate::Done)
            }
            Some(statement) => self.transaction.lacks(statement, self.shared),
            None => Fate::Done,
        };
        match (fate, &statement) {
            (Fate::Refused(code, words), _) => self.refuse(message, code, words),
            (Fate::Ignored(words), _) => {
                let mut instead = Message::new(b'P', strings(&[name, &raise("WARNING", "01000", words)]));
                // The types of its parameters.
                instead.body.extend(message.body.get(next + sql.len() + 1..).unwrap_or_default());
                let name = name.to_vec();
                self.names.insert(name, None);
                self.send_as(&instead, Wants::Parsed, None)
            }
            _ => {
                let name = name.to_vec();
                self.names.insert(name, statement);
                self.send_as(message, Wants::Parsed, None)
            }
        }
    }

    fn execute(&mut self, message: &Message) -> Step {
        let portal = message.string_at(0).map(|(portal, _)| portal).unwrap_or_default();
        let fate = match self.portals.get(portal).and_then(Option::as_ref) {
            Some(statement) => self.transaction.fate(statement, self.shared, &mut self.chance),
            None => Fate::Done,
        };
        match fate {
            Fate::Done | Fate::Ignored(_) => self.send_as(message, Wants::Executed, None),
            Fate::CutAfter => {
                self.cut_after = true;
                self.send_as(message, Wants::Executed, None)
            }
            Fate::CutBefore => Err(Gone),
            Fate::Refused(code, words) => self.refuse(message, code, words),
            Fate::CommitConflict => {
                self.round.expect_hidden(Wants::Parsed);
                self.send(&Message::parse(b"", b"ROLLBACK"), false)?;
                self.round.expect_hidden(Wants::Bound);
                self.send(&Message::bind(), false)?;
                let instead = Instead::OfCompletion(0, self.conflict());
                let execute = Message::new(b'E', vec![0; 5]);
                self.skipping = true;
                self.send_as(&execute, Wants::Executed, Some(instead))
            }
        }
    }

    /// Has the server fail in the place of a message, so that it is where it would be, and gives its own words to that.
    fn refuse(&mut self, message: &Message, code: &str, words: &str) -> Step {
        let error = Message::error("ERROR", code, words);
        self.skipping = true;
        let broken = Message::parse(b"", b"!");
        let wants = if message.kind == b'P' { Wants::Parsed } else { Wants::Executed };
        self.send_as(&broken, wants, Some(Instead::OfError(error)))
    }

    fn conflict(&self) -> Message {
        Message::error("ERROR", "40001", self.shared.profile.conflict)
    }

    /// Says a last word.
    pub(super) fn fatal(&mut self, code: &str, words: &str) -> Gone {
        Message::error("FATAL", code, words).write_to(&mut self.out);
        let _ = self.flush();
        Gone
    }
}
