//! Cuts the power at every moment of a recorded life, and accounts for what the cuts took.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt;

use crate::chance::Chance;
use crate::disk::{Cut, Disk, Files, digest};
use crate::recorder::Event;

/// What happened to files, and what was promised meanwhile.
#[derive(Clone, Debug, Default)]
pub struct Life {
    /// What was on the disk when it began.
    pub start: Files,
    /// What happened.
    pub events: Vec<Event>,
    /// What was promised, in any order.
    pub promises: Vec<Promise>,
}

/// That a record survives.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Promise {
    /// The record, whose number means something to whoever promised.
    pub record: u64,
    /// How many events there were when the promise had been given.
    pub at: usize,
    /// How many there were when it was taken back by what came then, such as the deletion of all.
    pub until: usize,
    /// Whether it survives only the death of the process.
    pub only_death: bool,
}

/// What a cut left.
#[derive(Clone, Debug)]
pub struct Wreck {
    /// How many events came before the cut.
    pub at: usize,
    /// How it cut.
    pub cut: Cut,
    /// The files.
    pub files: Files,
}

impl Promise {
    /// Returns the promise that a record survives everything from a moment on.
    pub fn of(record: u64, at: usize) -> Self {
        Promise { record, at, until: usize::MAX, only_death: false }
    }
}

impl Life {
    /// Returns what cuts leave: something for each moment, only what is synced for the moments before a sync and after a
    /// promise, and `more` of all kinds. What an earlier moment left under the same promises is left out.
    pub fn wrecks(&self, more: usize, mut chance: Chance) -> impl Iterator<Item = Wreck> + '_ {
        let mut promised: Vec<usize> = self.promises.iter().map(|promise| promise.at).collect();
        promised.sort_unstable();
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
            if is_edge || promised.binary_search(&at).is_ok() {
                cuts.push(Cut::Nothing);
            }
            // `more`, spread evenly with the help of chance.
            let extra = more / moments + usize::from(chance.comes(more % moments, moments));
            cuts.extend((0..=extra).filter_map(|_| chance.pick(&Cut::ALL)).copied());
            let told = promised.partition_point(|moment| *moment <= at);
            let mut wrecks = Vec::new();
            for cut in cuts {
                let files = disk.cut(cut, &mut chance);
                if seen.insert((told, cut.keeps_the_cache(), digest(&files))) {
                    wrecks.push(Wreck { at, cut, files });
                }
            }
            wrecks
        })
    }

    /// Returns the records that must have survived.
    pub fn expected(&self, wreck: &Wreck) -> BTreeSet<u64> {
        // What was under way was not yet answered.
        let at = wreck.at.saturating_sub(usize::from(wreck.cut == Cut::KilledWriting));
        let holds = |promise: &&Promise| {
            (promise.at..=promise.until).contains(&at) && (wreck.cut.keeps_the_cache() || !promise.only_death)
        };
        self.promises.iter().filter(holds).map(|promise| promise.record).collect()
    }

    /// Makes it a life on a disk that lies: it says that it synced, and did not.
    pub fn with_a_lying_disk(mut self) -> Self {
        let is_sync = |event: &Event| matches!(event, Event::Sync { .. });
        let events = &self.events;
        let syncs_before = |moment: usize| {
            let before = events.get(..moment).unwrap_or(events);
            before.iter().filter(|event| is_sync(event)).count()
        };
        for promise in &mut self.promises {
            promise.at -= syncs_before(promise.at);
            promise.until -= syncs_before(promise.until);
        }
        self.events.retain(|event| !is_sync(event));
        self
    }

    /// Cuts the power at every moment and looks at what is left; now and then cuts it again while that recovers.
    ///
    /// `look` gets what is left and the records that must be there, and returns what it found wrong and what it did to the
    /// files meanwhile.
    ///
    /// # Errors
    ///
    /// `look` could not do its work.
    pub async fn cut_power(
        &self,
        more: usize,
        mut chance: Chance,
        mut look: impl AsyncFnMut(&Files, &BTreeSet<u64>) -> Result<(Found, Vec<Event>), String>,
    ) -> Result<Figures, String> {
        let mut figures =
            Figures { cuts: self.events.len() + 1, acknowledged: self.promises.len(), ..Figures::default() };
        for wreck in self.wrecks(more, chance.fork()) {
            let expected = self.expected(&wreck);
            let (found, recovery) = look(&wreck.files, &expected).await?;
            let again = found.is_clean() && chance.comes(1, 10);
            figures.tried(&wreck, found);
            if again {
                let life = Life { start: wreck.files, events: recovery, promises: Vec::new() };
                let seconds: Vec<Wreck> = life.wrecks(0, chance.fork()).collect();
                for mut second in seconds.into_iter().filter(|_| chance.comes(1, 5)) {
                    let (found, _) = look(&second.files, &expected).await?;
                    second.at = wreck.at;
                    figures.tried(&second, found);
                }
            }
        }
        Ok(figures)
    }
}

/// What is wrong with what is left.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Records that should be there, with their names.
    pub lost: BTreeMap<u64, String>,
    /// Something else: damage, a part of a batch, a log that takes no more.
    pub broken: Option<String>,
}

impl Found {
    /// Whether nothing is.
    pub fn is_clean(&self) -> bool {
        self.lost.is_empty() && self.broken.is_none()
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
    /// Those of them that some disk had lost.
    pub lost: usize,
    /// Disks on which something else was wrong.
    pub broken: usize,
    /// What the first loss and the first other wrong were.
    pub first: Vec<String>,
    lost_records: BTreeSet<u64>,
}

impl Figures {
    /// Whether nothing was lost and nothing else was wrong.
    pub fn is_clean(&self) -> bool {
        self.lost == 0 && self.broken == 0
    }

    /// Adds those of another life.
    pub fn add(&mut self, other: Figures) {
        self.cuts += other.cuts;
        self.states += other.states;
        self.acknowledged += other.acknowledged;
        self.lost += other.lost;
        self.broken += other.broken;
        self.first.extend(other.first);
        self.first.truncate(10);
    }

    fn tried(&mut self, wreck: &Wreck, found: Found) {
        self.states += 1;
        let place = format!("cut {} ({:?})", wreck.at, wreck.cut);
        if let (0, Some((_, name))) = (self.lost, found.lost.first_key_value()) {
            self.first.push(format!("{place}: {name} is lost, and {} more", found.lost.len() - 1));
        }
        if let (0, Some(words)) = (self.broken, &found.broken) {
            self.first.push(format!("{place}: {words}"));
        }
        self.broken += usize::from(found.broken.is_some());
        let new = found.lost.into_keys().filter(|record| self.lost_records.insert(*record)).count();
        self.lost += new;
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Figures { cuts, states, acknowledged, lost, broken, first, .. } = self;
        write!(f, "{cuts} cut points tried, {states} states rebuilt, {acknowledged} records acknowledged, ")?;
        write!(f, "{lost} lost, {broken} states broken")?;
        first.iter().try_for_each(|words| write!(f, "\n  {words}"))
    }
}
