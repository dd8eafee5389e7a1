//! Our store on SQLite under cuts and faults.
//!
//! A life writes sessions in every way that the store offers and keeps what it was promised; after each cut the promises
//! are held against what is left. What the life wrote is compared byte for byte, and what it did not, must not be there.

mod life;
mod look;
mod reading;
mod turns;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use trunkline_message_tree::Timestamp;
use trunkline_session_store::{InboxId, Kept, SessionId, SqliteOptions};

use crate::chance::Chance;
use crate::disk::Files;
use crate::power::{Figures, Life};
use crate::recorder::{Fault, Recorder};

const NAME: &str = "sessions.db";

/// How much is written, and what goes wrong meanwhile.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// How many steps are taken, of which most append.
    pub steps: usize,
    /// How many handles are open. With one alone the log is recovered from whenever its connection is lost.
    pub handles: usize,
    /// Of how many steps one closes the store and opens it again, about.
    pub reopens: usize,
    /// What fails.
    pub fault: Option<Fault>,
}

/// What was written and promised.
#[derive(Clone, Debug, Default)]
pub struct Lived {
    /// What happened to the files. The numbers of its promises are places in `told`.
    pub life: Life,
    /// How often the store answered how, while something failed.
    pub answers: BTreeMap<&'static str, usize>,
    told: Vec<Told>,
    histories: BTreeMap<SessionId, History>,
}

/// Something that the store acknowledged.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Told {
    /// The log reaches to this record.
    Log { session: SessionId, seq: u64 },
    /// The letter came.
    Letter { session: SessionId, letter: InboxId },
    /// The session has this title or a later one.
    Title { session: SessionId, version: usize },
    /// The session is deleted.
    Gone { session: SessionId },
}

/// All that was ever written to a session.
#[derive(Clone, Debug, Default)]
struct History {
    records: Vec<Kept>,
    /// Where batches end: a log ends nowhere else.
    ends: BTreeSet<u64>,
    titles: Vec<String>,
    letters: BTreeMap<InboxId, Post>,
}

/// A letter.
#[derive(Clone, Debug)]
struct Post {
    body: String,
    /// The end of the batch that consumed it.
    consumed: Option<u64>,
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Told::Log { seq, .. } => write!(f, "record {seq}")?,
            Told::Letter { letter, .. } => write!(f, "letter {letter}")?,
            Told::Title { version, .. } => write!(f, "title {version}")?,
            Told::Gone { .. } => f.write_str("the deletion")?,
        }
        write!(f, " of session {}", self.session())
    }
}

impl Told {
    fn session(&self) -> &SessionId {
        match self {
            Told::Log { session, .. }
            | Told::Letter { session, .. }
            | Told::Title { session, .. }
            | Told::Gone { session } => session,
        }
    }
}

/// Writes sessions.
///
/// # Errors
///
/// The store refused something for which there was no reason, lost something at once, or answered a fault in a way that
/// its documentation does not name; or the journal is not what happened.
pub async fn live(plan: Plan, chance: &mut Chance) -> Result<Lived, String> {
    life::live(plan, chance).await
}

impl Lived {
    /// Cuts the power in this life.
    ///
    /// # Errors
    ///
    /// The real disk failed.
    pub async fn cut_power(&self, percent: usize, chance: Chance) -> Result<Figures, String> {
        let recorder = Recorder::register()?;
        let recorder = &*recorder;
        let look = async |files: &Files, expected: &BTreeSet<u64>| self.look(recorder, files, expected).await;
        let cut = self.life.cut_power(percent, chance, look).await;
        recorder.forget();
        cut
    }

    /// Makes it a life on a disk that lies: it says that it synced, and did not.
    #[must_use]
    pub fn with_a_lying_disk(mut self) -> Self {
        self.life = self.life.with_a_lying_disk();
        self
    }
}

fn options(recorder: &Recorder) -> SqliteOptions {
    // Small, so that the log is written over again and again.
    SqliteOptions::new().vfs(recorder.vfs().to_owned()).checkpoint_pages(30)
}

/// The time of everything: when it was does not matter here.
const AT: Timestamp = Timestamp(1);

fn words(error: impl std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text += &format!(": {cause}");
        source = cause.source();
    }
    text
}
