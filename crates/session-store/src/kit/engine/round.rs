//! Which answers are still to come, and what a client is given in their place.
//!
//! A client may send many messages before it reads anything. Each has one answer that ends it, they come in the order of the
//! messages, and after an error there is none until the next `Sync`.

use std::collections::VecDeque;

use super::frames::Message;

/// What a message to the server is answered with.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Wants {
    Parsed,
    Bound,
    Closed,
    Described,
    Executed,
    /// All that a simple query gives, up to `ReadyForQuery`.
    Everything,
}

/// What a client is given in the place of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Instead {
    OfError(Message),
    /// Of the completion of a statement that has so many before it in its text.
    OfCompletion(usize, Message),
}

/// What becomes of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Passed,
    /// It answers to something that the client has not sent.
    Hidden,
    Replaced(Message),
}

#[derive(Debug)]
struct Expected {
    wants: Wants,
    hidden: bool,
    instead: Option<Instead>,
}

/// What was sent since the last `ReadyForQuery`.
#[derive(Debug, Default)]
pub(super) struct Round {
    expected: VecDeque<Expected>,
    completed: usize,
    /// The server, or we in its name, have answered with an error.
    pub(super) failed: bool,
}

impl Round {
    /// Notes a message that the client has sent, or that stands in for one.
    pub(super) fn expect(&mut self, wants: Wants, instead: Option<Instead>) {
        self.expected.push_back(Expected { wants, hidden: false, instead });
    }

    /// Notes a message that the client knows nothing of.
    pub(super) fn expect_hidden(&mut self, wants: Wants) {
        self.expected.push_back(Expected { wants, hidden: true, instead: None });
    }

    /// Whether every message was answered.
    pub(super) fn is_empty(&self) -> bool {
        self.expected.is_empty()
    }

    /// Takes an answer of the server.
    pub(super) fn answer(&mut self, message: &Message) -> Verdict {
        match message.kind {
            // Notices, settings and notifications come whenever they like.
            b'N' | b'S' | b'A' => return Verdict::Passed,
            b'Z' => {
                *self = Round::default();
                return Verdict::Passed;
            }
            _ => {}
        }
        let Some(front) = self.expected.front_mut() else { return Verdict::Passed };
        let hidden = front.hidden;
        if message.kind == b'E' {
            let instead = front.instead.take();
            let goes_on = front.wants == Wants::Everything;
            if !goes_on {
                self.expected.clear();
            }
            self.failed = true;
            return match instead {
                Some(Instead::OfError(error)) => Verdict::Replaced(error),
                _ => Verdict::Passed,
            };
        }
        let completes = matches!(message.kind, b'C' | b'I' | b's');
        if completes {
            match &mut front.instead {
                Some(Instead::OfCompletion(before, error)) if *before == self.completed => {
                    let error = error.clone();
                    self.failed = true;
                    if front.wants == Wants::Executed {
                        self.expected.clear();
                    }
                    return Verdict::Replaced(error);
                }
                _ => self.completed += 1,
            }
        }
        let ends = match front.wants {
            Wants::Parsed => message.kind == b'1',
            Wants::Bound => message.kind == b'2',
            Wants::Closed => message.kind == b'3',
            Wants::Described => matches!(message.kind, b'T' | b'n'),
            Wants::Executed => completes,
            Wants::Everything => false,
        };
        if ends {
            self.completed = 0;
            self.expected.pop_front();
        }
        match hidden {
            true => Verdict::Hidden,
            false => Verdict::Passed,
        }
    }
}
