//! The lives that are lived, and how each must end.
//!
//! Some must lose what was acknowledged: a simulation that does not find that would find nothing anywhere.

use std::fmt;

use sqlx::sqlite::{SqliteJournalMode as Journal, SqliteSynchronous as Synchronous};

use crate::chance::Chance;
use crate::power::Figures;
use crate::recorder::{Failure, Fault, Operation};
use crate::rows::{self, Setup};
use crate::sessions::{self, Plan};

/// One kind of life.
#[derive(Clone, Copy, Debug)]
pub struct Story {
    name: &'static str,
    /// How it must end; nothing where that is open.
    pub end: Option<End>,
    kind: Kind,
}

/// What a life came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the package is not published: all its readers are in it")]
pub enum End {
    /// Everything that was acknowledged is there, after every cut.
    KeepsAll,
    /// Some of it is lost.
    Loses,
    /// Some of it is lost, and what is left is damaged.
    Damages,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Rows(Setup),
    RowsOnALyingDisk(Setup),
    RowsInACrowd(Setup),
    RowsFailing(&'static [Operation], Failure),
    Sessions,
    SessionsOnALyingDisk,
    SessionsFailing(&'static [Operation], Failure),
}

const fn rows(name: &'static str, journal: Journal, synchronous: Synchronous, end: End) -> Story {
    Story { name, end: Some(end), kind: Kind::Rows(Setup { journal, synchronous }) }
}

const FULL: Setup = Setup { journal: Journal::Wal, synchronous: Synchronous::Full };

/// A write-ahead log that is synced at each commit.
pub const LOG_FULL: Story = rows("sqlite wal full", Journal::Wal, Synchronous::Full, End::KeepsAll);
/// One that is synced before checkpoints.
pub const LOG_NORMAL: Story = rows("sqlite wal normal", Journal::Wal, Synchronous::Normal, End::Loses);
/// One that is never synced.
pub const LOG_OFF: Story = rows("sqlite wal off", Journal::Wal, Synchronous::Off, End::Damages);
/// A rollback journal whose deletion commits, and may not have happened.
pub const DELETE_FULL: Story = rows("sqlite delete full", Journal::Delete, Synchronous::Full, End::Loses);
/// One whose deletion is synced.
pub const DELETE_EXTRA: Story =
    rows("sqlite delete extra", Journal::Delete, Synchronous::Extra, End::KeepsAll);
/// One that is cut.
pub const TRUNCATE_FULL: Story =
    rows("sqlite truncate full", Journal::Truncate, Synchronous::Full, End::KeepsAll);
/// One that is overwritten.
pub const PERSIST_FULL: Story =
    rows("sqlite persist full", Journal::Persist, Synchronous::Full, End::KeepsAll);
/// Syncs that are acknowledged and not done.
pub const LYING: Story =
    Story { name: "sqlite, lying disk", end: Some(End::Damages), kind: Kind::RowsOnALyingDisk(FULL) };
/// Many connections at once.
pub const CROWD: Story =
    Story { name: "sqlite, crowd", end: Some(End::KeepsAll), kind: Kind::RowsInACrowd(FULL) };
/// Syncs that fail and drop what they should have written.
pub const SYNC_FAILS: Story = Story {
    name: "sqlite, syncs fail",
    end: Some(End::KeepsAll),
    kind: Kind::RowsFailing(&[Operation::Sync], Failure::Drops),
};
/// A disk without room.
pub const NO_ROOM: Story = Story {
    name: "sqlite, disk full",
    end: Some(End::KeepsAll),
    kind: Kind::RowsFailing(&[Operation::Write], Failure::Full),
};
/// Our store.
pub const SESSIONS: Story = Story { name: "sessions", end: Some(End::KeepsAll), kind: Kind::Sessions };
/// Our store, where syncs are acknowledged and not done.
pub const SESSIONS_LYING: Story =
    Story { name: "sessions, lying disk", end: Some(End::Damages), kind: Kind::SessionsOnALyingDisk };
/// Our store on a disk without room.
pub const SESSIONS_NO_ROOM: Story = Story {
    name: "sessions, disk full",
    end: Some(End::KeepsAll),
    kind: Kind::SessionsFailing(&[Operation::Write], Failure::Full),
};
/// Our store on a disk that cannot write.
pub const SESSIONS_WRITES_FAIL: Story = Story {
    name: "sessions, writes fail",
    end: Some(End::KeepsAll),
    kind: Kind::SessionsFailing(&[Operation::Write], Failure::Io),
};
/// Our store with syncs that fail and drop what they should have written.
pub const SESSIONS_SYNCS_DROP: Story = Story {
    name: "sessions, syncs drop",
    end: None,
    kind: Kind::SessionsFailing(&[Operation::Sync], Failure::Drops),
};
/// Our store with syncs that fail and keep what they should have written for the next one.
pub const SESSIONS_SYNCS_FAIL: Story = Story {
    name: "sessions, syncs fail",
    end: Some(End::KeepsAll),
    kind: Kind::SessionsFailing(&[Operation::Sync], Failure::Io),
};
/// Our store on a disk that cannot read.
pub const SESSIONS_READS_FAIL: Story = Story {
    name: "sessions, reads fail",
    end: Some(End::KeepsAll),
    kind: Kind::SessionsFailing(&[Operation::Read], Failure::Io),
};
/// Our store where files cannot be made, cut or deleted.
pub const SESSIONS_FILES_FAIL: Story = Story {
    name: "sessions, files fail",
    end: Some(End::KeepsAll),
    kind: Kind::SessionsFailing(&[Operation::Create, Operation::Resize, Operation::Delete], Failure::Io),
};

/// All of them.
pub const ALL: &[Story] = &[
    LOG_FULL,
    LOG_NORMAL,
    LOG_OFF,
    DELETE_FULL,
    DELETE_EXTRA,
    TRUNCATE_FULL,
    PERSIST_FULL,
    LYING,
    CROWD,
    SYNC_FAILS,
    NO_ROOM,
    SESSIONS,
    SESSIONS_LYING,
    SESSIONS_NO_ROOM,
    SESSIONS_WRITES_FAIL,
    SESSIONS_SYNCS_FAIL,
    SESSIONS_SYNCS_DROP,
    SESSIONS_READS_FAIL,
    SESSIONS_FILES_FAIL,
];

impl Story {
    /// Lives it and cuts the power; `size` times as long as is enough for a test.
    ///
    /// # Errors
    ///
    /// The life could not be lived: what is said is wrong with it, or with the machine.
    pub async fn live(&self, seed: u64, size: usize) -> Result<Figures, String> {
        let mut chance = Chance::new(seed);
        let turns = 40 * size as u64;
        match self.kind {
            Kind::Rows(setup) => {
                let life = rows::live_in_turns(setup, turns, None, &mut chance).await?;
                rows::cut_power(&life, 100, chance).await
            }
            Kind::RowsOnALyingDisk(setup) => {
                let life = rows::live_in_turns(setup, turns, None, &mut chance).await?;
                rows::cut_power(&life.with_a_lying_disk(), 100, chance).await
            }
            Kind::RowsInACrowd(setup) => {
                let life = rows::live_in_a_crowd(setup, turns, &mut chance).await?;
                rows::cut_power(&life, 200, chance).await
            }
            Kind::RowsFailing(operations, failure) => {
                let mut figures = Figures::default();
                for fault in faults(operations, failure, 12 * size as u64) {
                    let life = rows::live_in_turns(FULL, 12, Some(fault), &mut chance).await?;
                    figures.add(rows::cut_power(&life, 30, chance.fork()).await?);
                }
                Ok(figures)
            }
            Kind::Sessions => {
                let lived = sessions::live(
                    Plan { steps: 60 * size, handles: 2, reopens: 50, fault: None },
                    &mut chance,
                )
                .await?;
                // For a test every other moment is enough; `power-loss` looks at each.
                lived.cut_power(65 * size.min(2), chance).await
            }
            Kind::SessionsOnALyingDisk => {
                let lived = sessions::live(
                    Plan { steps: 30 * size, handles: 2, reopens: 50, fault: None },
                    &mut chance,
                )
                .await?;
                lived.with_a_lying_disk().cut_power(50, chance).await
            }
            Kind::SessionsFailing(operations, failure) => {
                let mut figures = Figures::default();
                for (place, fault) in faults(operations, failure, 10 * size as u64).enumerate() {
                    // Each fault once and for a while, in turn with one handle and with two.
                    let handles = 1 + place / 2 % 2;
                    // A file is made and deleted where the store is opened and closed.
                    let reopens = if operations.contains(&Operation::Create) { 2 } else { 50 };
                    let plan = Plan { steps: 12, handles, reopens, fault: Some(fault) };
                    let lived = sessions::live(plan, &mut chance).await?;
                    figures.add(lived.cut_power(8 * size, chance.fork()).await?);
                }
                Ok(figures)
            }
        }
    }
}

/// Faults near the beginning, where files are made, and later, where the log is begun again: once and for a while.
fn faults(operations: &'static [Operation], failure: Failure, many: u64) -> impl Iterator<Item = Fault> {
    (1..=many).flat_map(move |place| {
        let nth = if place < 5 { place } else { place * place / 3 };
        [false, true].map(|lasts| Fault { operations, nth, lasts, failure })
    })
}

impl Story {
    /// Returns whether the fault that it is about struck in at least half of its lives: where it does not, it says nothing.
    pub fn struck_enough(&self, figures: &Figures) -> bool {
        let fails = matches!(self.kind, Kind::RowsFailing(..) | Kind::SessionsFailing(..));
        !fails || figures.struck * 2 >= figures.lives
    }

    /// Returns whether it ended as it must. Where damage is expected, loss is enough: damage takes some luck.
    pub fn ends_well(&self, figures: &Figures) -> bool {
        match self.end {
            _ if !self.struck_enough(figures) => false,
            None => figures.end() != End::Damages,
            Some(End::Damages) => figures.end() != End::KeepsAll,
            Some(end) => figures.end() == end,
        }
    }
}

impl Figures {
    /// Returns what it came to.
    pub fn end(&self) -> End {
        match (self.lost, self.broken) {
            (0, 0) => End::KeepsAll,
            (_, 0) => End::Loses,
            _ => End::Damages,
        }
    }
}

impl fmt::Display for Story {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            End::KeepsAll => "keeps all",
            End::Loses => "loses what was acknowledged",
            End::Damages => "loses what was acknowledged and damages the rest",
        })
    }
}
