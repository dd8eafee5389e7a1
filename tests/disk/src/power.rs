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
    /// Whether a fault struck in it.
    pub struck: bool,
}

/// That records survive.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Promise {
    /// Its number, which means something to whoever promised.
    pub number: u64,
    /// How many records it is about.
    pub records: usize,
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
    /// The disk on which it goes on: one that has lost its power has nothing pending.
    disk: Disk,
}

impl Promise {
    /// Returns the promise that so many records survive everything from a moment on.
    pub fn of(number: u64, records: usize, at: usize) -> Self {
        Promise { number, records, at, until: usize::MAX, only_death: false }
    }
}

impl Wreck {
    /// Returns how many events there were whose promises count: what was under way was not yet answered.
    fn moment(&self) -> usize {
        self.at.saturating_sub(usize::from(self.cut == Cut::KilledWriting))
    }
}

impl Life {
    /// Returns what cuts leave, `percent` states for a hundred moments, of all kinds; and what is left of what is not synced
    /// at those of the moments that come before a sync or after a promise. What an earlier moment left under the same
    /// promises is left out.
    pub fn wrecks(&self, percent: usize, mut chance: Chance) -> impl Iterator<Item = Wreck> + '_ {
        let disk = Disk::holding(&self.start, chance.fork());
        self.wrecks_of(disk, percent, chance)
    }

    /// Returns the same of a life that began on this disk.
    fn wrecks_of(
        &self,
        mut disk: Disk,
        percent: usize,
        mut chance: Chance,
    ) -> impl Iterator<Item = Wreck> + '_ {
        let sorted = |moment: fn(&Promise) -> usize| {
            let mut moments: Vec<usize> = self.promises.iter().map(moment).collect();
            moments.sort_unstable();
            moments
        };
        let (promised, ended) = (sorted(|promise| promise.at), sorted(|promise| promise.until));
        let mut seen = HashSet::new();
        (0..=self.events.len()).flat_map(move |at| {
            if let Some(event) = at.checked_sub(1).and_then(|last| self.events.get(last)) {
                disk.apply(event);
            }
            let count = percent / 100 + usize::from(chance.comes(percent % 100, 100));
            let mut cuts: Vec<Cut> = (0..count).filter_map(|_| chance.pick(&Cut::ALL)).copied().collect();
            let syncs =
                matches!(self.events.get(at), None | Some(Event::Sync { .. } | Event::FailedSync { .. }));
            if count > 0 && (syncs || promised.binary_search(&at).is_ok()) {
                cuts.push(Cut::Nothing);
            }
            let mut wrecks = Vec::new();
            for cut in cuts {
                let (files, disk) = if cut.keeps_the_cache() {
                    let disk = disk.killed(cut, &mut chance);
                    (disk.seen(), disk)
                } else {
                    let files = disk.cut(cut, &mut chance);
                    let disk = Disk::holding(&files, chance.fork());
                    (files, disk)
                };
                let wreck = Wreck { at, cut, files, disk };
                let moment = wreck.moment();
                let told = promised.partition_point(|promised| *promised <= moment);
                let ended = ended.partition_point(|ended| *ended < moment);
                if seen.insert((told, ended, cut.keeps_the_cache(), digest(&wreck.files))) {
                    wrecks.push(wreck);
                }
            }
            wrecks
        })
    }

    /// Returns the numbers of the promises that must hold.
    pub fn expected(&self, wreck: &Wreck) -> BTreeSet<u64> {
        let at = wreck.moment();
        let holds = |promise: &&Promise| {
            (promise.at..=promise.until).contains(&at) && (wreck.cut.keeps_the_cache() || !promise.only_death)
        };
        self.promises.iter().filter(holds).map(|promise| promise.number).collect()
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

    /// Cuts the power and looks at what is left, `percent` times for a hundred moments; now and then cuts it again while
    /// that recovers.
    ///
    /// `look` gets what is left and the promises that must hold, and returns what it found wrong and what it did to the
    /// files meanwhile.
    ///
    /// # Errors
    ///
    /// `look` could not do its work.
    pub async fn cut_power(
        &self,
        percent: usize,
        mut chance: Chance,
        mut look: impl AsyncFnMut(&Files, &BTreeSet<u64>) -> Result<(Found, Vec<Event>), String>,
    ) -> Result<Figures, String> {
        let mut figures = Figures {
            acknowledged: self.promises.iter().map(|promise| promise.records).sum(),
            lives: 1,
            struck: usize::from(self.struck),
            ..Figures::default()
        };
        for wreck in self.wrecks(percent, chance.fork()) {
            let expected = self.expected(&wreck);
            let (found, recovery) = look(&wreck.files, &expected).await?;
            let again = found.is_clean() && chance.comes(1, 10);
            figures.tried(self, &wreck, found);
            if again {
                let death = wreck.cut.keeps_the_cache();
                let lasting = |number: &u64| {
                    self.promises.iter().any(|promise| promise.number == *number && !promise.only_death)
                };
                let lasting: BTreeSet<u64> = expected.iter().copied().filter(lasting).collect();
                let life = Life { events: recovery, ..Life::default() };
                for mut second in life.wrecks_of(wreck.disk, 20, chance.fork()) {
                    // A process was killed, another one began, and now the power is cut.
                    let power = death && !second.cut.keeps_the_cache();
                    let expected = if power { &lasting } else { &expected };
                    let (found, _) = look(&second.files, expected).await?;
                    figures.killed_and_cut += usize::from(power);
                    second.at = wreck.at;
                    figures.tried(self, &second, found);
                }
            }
        }
        Ok(figures)
    }
}

/// What is wrong with what is left.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Promises that do not hold, with what is missing.
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
    /// Disks that lost power after a process had died and another one had begun.
    pub killed_and_cut: usize,
    /// Lives, and those of them in which a fault struck.
    pub lives: usize,
    /// See above.
    pub struck: usize,
    /// What the first loss and the first other wrong were.
    pub first: Vec<String>,
    broken_promises: BTreeSet<u64>,
    last_cut: Option<usize>,
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
        self.killed_and_cut += other.killed_and_cut;
        self.lives += other.lives;
        self.struck += other.struck;
        self.first.extend(other.first);
        self.first.truncate(10);
    }

    fn tried(&mut self, life: &Life, wreck: &Wreck, found: Found) {
        self.states += 1;
        self.cuts += usize::from(self.last_cut.replace(wreck.at) != Some(wreck.at));
        let place = format!("cut {} ({:?})", wreck.at, wreck.cut);
        if let (0, Some((_, name))) = (self.lost, found.lost.first_key_value()) {
            self.first.push(format!("{place}: {name} is lost, and {} more", found.lost.len() - 1));
        }
        if let (0, Some(words)) = (self.broken, &found.broken) {
            self.first.push(format!("{place}: {words}"));
        }
        self.broken += usize::from(found.broken.is_some());
        for number in found.lost.into_keys().filter(|number| self.broken_promises.insert(*number)) {
            let promised = life.promises.iter().find(|promise| promise.number == number);
            self.lost += promised.map_or(1, |promise| promise.records);
        }
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Figures { cuts, states, acknowledged, lost, broken, first, lives, struck, .. } = self;
        write!(f, "{cuts} cut points tried, {states} states rebuilt, {acknowledged} records acknowledged, ")?;
        write!(f, "{lost} lost, {broken} states broken")?;
        if *struck > 0 {
            write!(f, ", faults struck in {struck} of {lives} lives")?;
        }
        first.iter().try_for_each(|words| write!(f, "\n  {words}"))
    }
}
