//! The way of messages: to a backend that a client has for one transaction, and of answers back.

use std::io::Write;
use std::time::Duration;

use super::Way;
use super::backend::Place;
use super::client::{CHUNK, Client, Gone, Step};
use super::fate::Transaction;
use super::frames::{Message, read_message};
use super::round::{Instead, Verdict, Wants};

impl Client<'_> {
    /// Takes a backend for a transaction, if there is none.
    pub(super) fn attach(&mut self) -> Step {
        if self.backend.is_some() {
            return Ok(());
        }
        let pool = &self.shared.pool;
        let backend = match pool.take(self.last, &mut self.chance) {
            Some(Place::Backend(backend)) => backend,
            Some(Place::Room) => match self.shared.open_backend(&[]) {
                Ok((backend, _)) => backend,
                Err(error) => {
                    pool.lost();
                    return Err(self.fatal("08006", &error.to_string()));
                }
            },
            None => return Err(self.fatal("08P01", "query_wait_timeout")),
        };
        if self.last.is_some_and(|last| last != backend.number) {
            self.shared.count(|report| report.swaps += 1);
        }
        self.last = Some(backend.number);
        self.backend = Some(backend);
        Ok(())
    }

    /// Gives the backend back after a transaction.
    pub(super) fn detach(&mut self) {
        self.shared.count(|report| report.transactions += 1);
        self.transaction = Transaction::default();
        if !self.shared.profile.swaps {
            return;
        }
        if let Some(backend) = self.backend.take() {
            self.shared.pool.give(backend);
        }
    }

    /// Passes on answers: up to `ReadyForQuery`, or until every message has its own.
    pub(super) fn relay(&mut self, until_ready: bool) -> Step {
        self.push()?;
        loop {
            if !until_ready && self.round.is_empty() {
                return self.flush();
            }
            let Some(backend) = &mut self.backend else { return Err(Gone) };
            if backend.from.buffer().is_empty() {
                // A client that is to be told nothing of a commit is told nothing of what stands before it either.
                if !self.cut_after {
                    self.flush()?;
                }
            }
            let Some(backend) = &mut self.backend else { return Err(Gone) };
            let Some(message) = read_message(&mut backend.from)? else { return Err(Gone) };
            let verdict = self.round.answer(&message);
            if message.kind == b'Z' {
                return self.ready(&message);
            }
            match verdict {
                Verdict::Passed => self.emit(&message)?,
                Verdict::Hidden => {}
                Verdict::Replaced(other) => self.emit(&other)?,
            }
            if message.kind == b'G' {
                return Err(self.fatal("0A000", "rows that a client copies in are not passed on"));
            }
        }
    }

    pub(super) fn ready(&mut self, message: &Message) -> Step {
        let shared = self.shared;
        self.skipping = false;
        if self.cut_after {
            return Err(Gone);
        }
        if self.chance.one_of(shared.profile.chances.delays) {
            shared.count(|report| report.delays += 1);
            std::thread::sleep(Duration::from_millis(1 + self.chance.below(shared.profile.delay_ms)));
        }
        let state = message.body.first().copied().unwrap_or(b'E');
        match state {
            b'I' => self.detach(),
            state => self.transaction.is(state),
        }
        self.emit(message)?;
        self.flush()
    }

    /// Has everything answered that was sent, without an end of the transaction.
    pub(super) fn drain(&mut self) -> Step {
        self.send(&Message::new(b'H', Vec::new()), false)?;
        self.relay(false)?;
        self.skipping |= self.round.failed;
        Ok(())
    }

    /// Sends a message of the client, or what stands in for one.
    pub(super) fn send_as(&mut self, message: &Message, wants: Wants, instead: Option<Instead>) -> Step {
        self.round.expect(wants, instead);
        self.send(message, true)
    }

    pub(super) fn send(&mut self, message: &Message, counted: bool) -> Step {
        if counted && !self.shared.pass(Way::ToServer) {
            self.push()?;
            return Err(Gone);
        }
        message.write_to(&mut self.pending);
        match self.pending.len() > CHUNK {
            true => self.push(),
            false => Ok(()),
        }
    }

    pub(super) fn push(&mut self) -> Step {
        let Some(backend) = &mut self.backend else { return Err(Gone) };
        let written = backend.to.write_all(&self.pending);
        self.pending.clear();
        written.map_err(Gone::from)
    }

    pub(super) fn emit(&mut self, message: &Message) -> Step {
        if self.deaf {
            return Ok(());
        }
        if !self.shared.pass(Way::ToClient) {
            self.flush()?;
            self.deaf = true;
            return Ok(());
        }
        message.write_to(&mut self.out);
        match self.out.len() > CHUNK && !self.cut_after {
            true => self.flush(),
            false => Ok(()),
        }
    }

    pub(super) fn flush(&mut self) -> Step {
        let written = match self.out.is_empty() {
            true => Ok(()),
            false => self.to.write_all(&self.out),
        };
        self.out.clear();
        written.map_err(Gone::from)
    }
}
