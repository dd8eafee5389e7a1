//! What a writer was told, in order.

use std::time::{Duration, Instant};

use trunkline_session_store::{Receipt, SessionId};

/// What happened to one writer.
pub(crate) struct Journal {
    pub(crate) writer: u32,
    pub(crate) events: Vec<Event>,
    /// The longest time from the first try of a batch to its receipt.
    pub(crate) longest: Duration,
}

/// One answer of the store.
pub(crate) enum Event {
    /// A lease was given.
    Claimed { session: SessionId, token: u64, begun: Instant, at: Instant },
    /// A batch was acknowledged.
    Kept(Ack),
    /// The store said that records are gone.
    Lost { session: SessionId, told: Told },
    /// The store said that the lease has ended.
    Fenced { session: SessionId },
    /// Nothing that can happen while servers fail over.
    Odd(String),
}

/// A receipt, and what it was given for.
pub(crate) struct Ack {
    pub(crate) session: SessionId,
    pub(crate) label: String,
    pub(crate) receipt: Receipt,
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
