//! Cuts the power at every moment of a recorded life, and accounts for what the cuts took.

use std::collections::{BTreeSet, HashSet};
use std::fmt;

use crate::chance::Chance;
use crate::disk::{Cut, Disk, Files, digest};
use crate::recorder::Event;

/// What happened to the files, from the first byte on.
#[derive(Clone, Debug, Default)]
pub struct Life {
    /// What was on the disk when it began.
    pub start: Files,
    /// What happened.
    pub events: Vec<Event>,
}

/// What a cut left.
#[derive(Clone, Debug)]
pub struct Wreck {
    /// How many events came before the cut.
    pub at: usize,
    /// What it left.
    pub cut: Cut,
    /// The files.
    pub files: Files,
}

impl Life {
    /// Returns what cuts leave: something for each moment, nothing but what is synced for the moments before a sync and
    /// those that `watched` names, and `more` of all kinds.
    ///
    /// What was left before is left out, unless a moment of `watched` lies between.
    pub fn wrecks<'a>(
        &'a self,
        watched: &'a [usize],
        more: usize,
        mut chance: Chance,
    ) -> impl Iterator<Item = Wreck> + 'a {
        let mut disk = Disk::holding(&self.start, chance.fork());
        let mut seen = HashSet::new();
        let moments = self.events.len() + 1;
        (0..moments).flat_map(move |at| {
            if let Some(event) = at.checked_sub(1).and_then(|last| self.events.get(last)) {
                disk.apply(event);
            }
            let next = self.events.get(at);
            let is_edge = matches!(next, None | Some(Event::Sync { .. } | Event::FailedSync { .. }));
            let mut cuts: Vec<Cut> = Vec::new();
            if is_edge || watched.binary_search(&at).is_ok() {
                cuts.push(Cut::Nothing);
            }
            // `more`, spread evenly with the help of chance.
            let extra = more / moments + usize::from(chance.comes(more % moments, moments));
            cuts.extend((0..=extra).filter_map(|_| chance.pick(&Cut::ALL)).copied());
            let told = watched.partition_point(|moment| *moment <= at);
            let mut wrecks = Vec::new();
            for cut in cuts {
                let files = disk.cut(cut, &mut chance);
                // What only a kill keeps is promised more.
                if seen.insert((told, cut.keeps_the_cache(), digest(&files))) {
                    wrecks.push(Wreck { at, cut, files });
                }
            }
            wrecks
        })
    }
}

/// What cuts took.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// Moments at which the power was cut.
    pub cuts: usize,
    /// Disks that were rebuilt and opened.
    pub states: usize,
    /// Records that were acknowledged.
    pub acknowledged: usize,
    /// Those that were missing on some disk after they had been acknowledged.
    pub lost: BTreeSet<u64>,
    /// Disks on which something was wrong that is no loss: damage, a part of a batch, a log that takes no more.
    pub broken: usize,
    /// What the first loss and the first damage were.
    pub first: Vec<String>,
}

impl Figures {
    /// Whether nothing was lost or broken.
    pub fn is_clean(&self) -> bool {
        self.lost.is_empty() && self.broken == 0
    }

    /// Takes the figures of another life in; records with the same number are different ones.
    pub fn add(&mut self, other: Figures) {
        let next = self.acknowledged as u64;
        self.cuts += other.cuts;
        self.states += other.states;
        self.acknowledged += other.acknowledged;
        self.lost.extend(other.lost.into_iter().map(|record| next + record));
        self.broken += other.broken;
        self.first.extend(other.first);
    }

    /// Accounts for one disk.
    pub fn tried(&mut self, wreck: &Wreck, found: Found) {
        self.states += 1;
        let Found { lost, broken } = found;
        let place = format!("cut {} ({:?})", wreck.at, wreck.cut);
        if self.lost.is_empty()
            && let Some(record) = lost.first()
        {
            self.first.push(format!("{place}: record {record} and {} more are lost", lost.len() - 1));
        }
        if self.broken == 0
            && let Some(words) = &broken
        {
            self.first.push(format!("{place}: {words}"));
        }
        self.broken += usize::from(broken.is_some());
        self.lost.extend(lost);
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Figures { cuts, states, acknowledged, lost, broken, .. } = self;
        let lost = lost.len();
        write!(f, "{cuts} cut points, {states} states rebuilt, {acknowledged} records acknowledged, ")?;
        write!(f, "{lost} lost, {broken} states broken")
    }
}

/// What is wrong with one disk.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Acknowledged records that are not there.
    pub lost: Vec<u64>,
    /// What else is wrong.
    pub broken: Option<String>,
}
