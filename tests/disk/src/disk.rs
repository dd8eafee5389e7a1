//! A disk that can lose its power, as the file systems of Unix allow and no kinder.
//!
//! What is on it for sure is what was synced. Everything later is pending, and a cut leaves any of it, in any order:
//!
//! - A write arrives, does not, or in part: any of its sectors, or its first bytes. A torn write damages no byte beside it;
//!   SQLite relies on that (`SQLITE_IOCAP_POWERSAFE_OVERWRITE`, on by default on Unix).
//! - A file's length is another thing than its bytes. New room without its bytes holds zeros, or whatever lay there before.
//! - A name that was made or deleted is another thing than the file, and pending until the folder is synced.
//! - A sync that fails may drop what it should have written, or some of it: programs still see it in the cache, and no
//!   later sync writes it. So it is on Linux.

use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::Path;
use std::sync::Arc;

use tempfile::TempDir;

use crate::chance::Chance;
use crate::recorder::{Event, FileId};

/// The files of a folder, by name.
pub type Files = BTreeMap<String, Vec<u8>>;

/// How much of what is pending a cut leaves.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_enums, reason = "the package is not published: all its readers are in it")]
pub enum Cut {
    /// All of it: the process died and the machine did not.
    Killed,
    /// All of it but the end of the last write, which was under way.
    KilledWriting,
    /// Nothing.
    Nothing,
    /// What came first, up to some moment.
    First,
    /// Any of it.
    Some,
    /// Any of it, some in part.
    Torn,
    /// Any of it, some in part, under lengths of any moment and with leftovers in new room.
    Mangled,
}

impl Cut {
    /// All kinds.
    pub const ALL: [Cut; 7] =
        [Cut::Killed, Cut::KilledWriting, Cut::Nothing, Cut::First, Cut::Some, Cut::Torn, Cut::Mangled];

    /// Whether only the process died, so that what reached the system is there.
    pub fn keeps_the_cache(self) -> bool {
        matches!(self, Cut::Killed | Cut::KilledWriting)
    }
}

/// A disk in the middle of its work.
#[derive(Clone, Debug)]
pub struct Disk {
    files: BTreeMap<FileId, File>,
    /// What the names lead to for sure, as programs see it, and what lies between.
    synced_names: BTreeMap<String, FileId>,
    names: BTreeMap<String, FileId>,
    renamed: Vec<(u64, String, Option<FileId>)>,
    /// How many events there were.
    clock: u64,
    /// The last event, if it was a write.
    last_write: Option<LastWrite>,
    /// Decides what a failed sync drops.
    chance: Chance,
}

#[derive(Clone, Debug, Default)]
struct File {
    synced: Vec<u8>,
    cached: Vec<u8>,
    pending: Vec<(u64, Change)>,
}

/// A write and what it took the place of.
#[derive(Clone, Debug)]
struct LastWrite {
    file: FileId,
    offset: usize,
    bytes: Arc<[u8]>,
    overwritten: Vec<u8>,
    /// Of the file before.
    length: usize,
}

#[derive(Clone, Debug)]
enum Change {
    Write { offset: usize, bytes: Arc<[u8]> },
    Resize { length: usize },
}

impl Disk {
    /// Returns a disk with these files on it. They have the numbers that [`crate::Recorder::watch`] gives them.
    pub fn holding(files: &Files, chance: Chance) -> Self {
        let mut disk = Disk {
            files: BTreeMap::new(),
            synced_names: BTreeMap::new(),
            names: BTreeMap::new(),
            renamed: Vec::new(),
            clock: 0,
            last_write: None,
            chance,
        };
        for ((name, bytes), number) in files.iter().zip(0..) {
            let file = File { synced: bytes.clone(), cached: bytes.clone(), pending: Vec::new() };
            disk.files.insert(FileId(number), file);
            disk.names.insert(name.clone(), FileId(number));
        }
        disk.synced_names = disk.names.clone();
        disk
    }

    /// Does what was done.
    pub fn apply(&mut self, event: &Event) {
        self.clock += 1;
        self.last_write = None;
        match event {
            Event::Create { file, name } => {
                self.files.insert(*file, File::default());
                self.names.insert(name.clone(), *file);
                self.renamed.push((self.clock, name.clone(), Some(*file)));
            }
            Event::Write { file, offset, bytes } => {
                let offset = usize::try_from(*offset).unwrap_or(usize::MAX);
                let cached = &self.file(*file).cached;
                let overwritten =
                    cached.get(offset..cached.len().min(offset + bytes.len())).unwrap_or_default().to_vec();
                let length = cached.len();
                let bytes = Arc::clone(bytes);
                self.last_write =
                    Some(LastWrite { file: *file, offset, bytes: bytes.clone(), overwritten, length });
                self.change(*file, Change::Write { offset, bytes });
            }
            Event::Resize { file, length } => {
                let length = usize::try_from(*length).unwrap_or(usize::MAX);
                self.change(*file, Change::Resize { length });
            }
            Event::Sync { file, folder } => {
                if let Some(file) = self.files.get_mut(file) {
                    for (_, change) in std::mem::take(&mut file.pending) {
                        change.make(&mut file.synced);
                    }
                }
                if *folder {
                    self.sync_names();
                }
            }
            Event::FailedSync { file } => {
                let mut chance = self.chance.fork();
                let keeps = chance.below(2); // nothing, or half of it
                if let Some(file) = self.files.get_mut(file) {
                    file.pending.retain(|_| chance.comes(keeps, 2));
                }
            }
            Event::Delete { name, folder } => {
                self.names.remove(name);
                self.renamed.push((self.clock, name.clone(), None));
                if *folder {
                    self.sync_names();
                }
            }
        }
    }

    fn change(&mut self, file: FileId, change: Change) {
        if let Some(file) = self.files.get_mut(&file) {
            change.make(&mut file.cached);
            file.pending.push((self.clock, change));
        }
    }

    fn sync_names(&mut self) {
        self.renamed.clear();
        self.synced_names = self.names.clone();
        let kept: Vec<FileId> = self.names.values().copied().collect();
        self.files.retain(|file, _| kept.contains(file));
    }

    /// Returns how many changes a cut at this moment could lose.
    pub fn pending(&self) -> usize {
        self.renamed.len() + self.files.values().map(|file| file.pending.len()).sum::<usize>()
    }

    /// Returns the files that programs see.
    pub fn seen(&self) -> Files {
        self.names.iter().map(|(name, file)| (name.clone(), self.file(*file).cached.clone())).collect()
    }

    /// Returns one of the many things that a cut at this moment may leave.
    pub fn cut(&self, cut: Cut, chance: &mut Chance) -> Files {
        match cut {
            Cut::Killed => self.seen(),
            Cut::KilledWriting => self.killed(cut, chance).seen(),
            Cut::Nothing => self.left(chance, false, |_, _| Fate::Lost),
            Cut::First => {
                let mut moments: Vec<u64> = self.renamed.iter().map(|renamed| renamed.0).collect();
                moments
                    .extend(self.files.values().flat_map(|file| file.pending.iter().map(|change| change.0)));
                let last = chance.pick(&moments).copied().unwrap_or_default();
                self.left(chance, false, |_, moment| if moment <= last { Fate::Arrived } else { Fate::Lost })
            }
            Cut::Some | Cut::Torn | Cut::Mangled => {
                // Of eight writes. Some cuts lose nearly everything, some nearly nothing.
                let arrived = [1, 3, 5][chance.below(3)];
                let torn = if cut == Cut::Some { 0 } else { 1 + chance.below(2) };
                self.left(chance, cut == Cut::Mangled, |chance, _| match chance.below(8) {
                    lot if lot < torn => Fate::Torn,
                    lot if lot < torn + arrived => Fate::Arrived,
                    _ => Fate::Lost,
                })
            }
        }
    }

    /// Returns the disk on which somebody else goes on after the process died: what was pending still is. Its files have the
    /// numbers that [`Disk::holding`] would give those that are seen.
    pub fn killed(&self, cut: Cut, chance: &mut Chance) -> Disk {
        let mut disk = self.clone();
        if cut == Cut::KilledWriting {
            disk.unwrite(chance);
        }
        // Files that have lost their names keep out of the way of those that will be made.
        let taken: BTreeMap<FileId, FileId> =
            (0..).zip(disk.names.values()).map(|(new, old)| (*old, FileId(new))).collect();
        let renumbered = |old: FileId| taken.get(&old).copied().unwrap_or(FileId(u32::MAX - old.0));
        disk.files =
            std::mem::take(&mut disk.files).into_iter().map(|(old, file)| (renumbered(old), file)).collect();
        let names = disk.names.values_mut().chain(disk.synced_names.values_mut());
        let renamed = disk.renamed.iter_mut().filter_map(|renamed| renamed.2.as_mut());
        names.chain(renamed).for_each(|file| *file = renumbered(*file));
        disk.last_write = None;
        disk
    }

    /// Takes back some of the end of the write that was the last thing to happen.
    fn unwrite(&mut self, chance: &mut Chance) {
        let Some(last) = self.last_write.take() else { return };
        let Some(file) = self.files.get_mut(&last.file) else { return };
        let begun = last.bytes.get(..chance.below(last.bytes.len())).unwrap_or_default();
        put(&mut file.cached, last.offset, &last.overwritten, Room::Zeros);
        file.cached.truncate(last.length);
        put(&mut file.cached, last.offset, begun, Room::Zeros);
        if let Some((moment, _)) = file.pending.pop() {
            file.pending.push((moment, Change::Write { offset: last.offset, bytes: begun.into() }));
        }
    }

    /// What is on the disk for sure, with what is pending as `fate` has it.
    fn left(
        &self,
        chance: &mut Chance,
        mangles: bool,
        mut fate: impl FnMut(&mut Chance, u64) -> Fate,
    ) -> Files {
        let mut names = self.synced_names.clone();
        for (moment, name, file) in &self.renamed {
            match (fate(chance, *moment), file) {
                (Fate::Lost, _) => {}
                (_, Some(file)) => drop(names.insert(name.clone(), *file)),
                (_, None) => drop(names.remove(name)),
            }
        }
        let mut files = Files::new();
        for (name, file) in names {
            let file = self.file(file);
            let mut bytes = file.synced.clone();
            let mut lengths = vec![file.synced.len()];
            let room = if mangles && chance.comes(1, 2) { Room::Noise(chance.next()) } else { Room::Zeros };
            for (moment, change) in &file.pending {
                let fate = fate(chance, *moment);
                change.leave(fate, &mut bytes, room, chance);
                lengths.push(change.length(lengths.last().copied().unwrap_or_default()));
            }
            if mangles && let Some(length) = chance.pick(&lengths) {
                stretch(&mut bytes, *length, room);
                bytes.truncate(*length);
            }
            files.insert(name, bytes);
        }
        files
    }

    fn file(&self, file: FileId) -> &File {
        const NONE: &File = &File { synced: Vec::new(), cached: Vec::new(), pending: Vec::new() };
        self.files.get(&file).unwrap_or(NONE)
    }
}

/// What became of a change.
#[derive(Copy, Clone)]
enum Fate {
    Lost,
    Arrived,
    Torn,
}

/// What lies in room that a file got and nothing was written to.
#[derive(Copy, Clone)]
enum Room {
    Zeros,
    Noise(u64),
}

impl Change {
    fn make(&self, file: &mut Vec<u8>) {
        match self {
            Change::Write { offset, bytes } => put(file, *offset, bytes, Room::Zeros),
            Change::Resize { length } => file.resize(*length, 0),
        }
    }

    /// The length that a file of this length has afterwards.
    fn length(&self, before: usize) -> usize {
        match self {
            Change::Write { offset, bytes } => before.max(offset + bytes.len()),
            Change::Resize { length } => *length,
        }
    }

    /// Makes the change as far as its fate lets it.
    fn leave(&self, fate: Fate, file: &mut Vec<u8>, room: Room, chance: &mut Chance) {
        match (fate, self) {
            (Fate::Lost, _) => {}
            (Fate::Arrived, Change::Write { offset, bytes }) => put(file, *offset, bytes, room),
            (Fate::Arrived | Fate::Torn, Change::Resize { length }) => {
                stretch(file, *length, room);
                file.truncate(*length);
            }
            (Fate::Torn, Change::Write { offset, bytes }) => match chance.below(3) {
                0 => put(file, *offset, bytes.split_at(chance.below(bytes.len())).0, room),
                sector => {
                    // The size of sectors that disks show, and the one that many have (and pages of SQLite).
                    let sector = if sector == 1 { 512 } else { 4096 };
                    let (mut at, mut rest) = (*offset, &bytes[..]);
                    while !rest.is_empty() {
                        let (piece, after) = rest.split_at((sector - at % sector).min(rest.len()));
                        if chance.comes(1, 2) {
                            put(file, at, piece, room);
                        }
                        (at, rest) = (at + piece.len(), after);
                    }
                }
            },
        }
    }
}

/// Puts bytes into a file, which grows if it must.
fn put(file: &mut Vec<u8>, offset: usize, bytes: &[u8], room: Room) {
    if bytes.is_empty() {
        return;
    }
    stretch(file, offset, room);
    let inside = (file.len() - offset).min(bytes.len());
    let (over, beyond) = bytes.split_at(inside);
    file[offset..offset + inside].copy_from_slice(over);
    file.extend_from_slice(beyond);
}

/// Makes a file at least so long.
fn stretch(file: &mut Vec<u8>, length: usize, room: Room) {
    let missing = length.saturating_sub(file.len());
    match room {
        Room::Zeros => file.resize(file.len() + missing, 0),
        Room::Noise(seed) => file.extend(Chance::new(seed ^ length as u64).bytes(missing)),
    }
}

/// Returns a new folder, in memory where the system has room for that.
///
/// The disk that counts is the simulated one; what is synced besides, such as files of locks, would only wait for the real one.
///
/// # Errors
///
/// There is no room for it.
pub(crate) fn folder() -> std::io::Result<TempDir> {
    TempDir::new_in("/dev/shm").or_else(|_| TempDir::new())
}

/// Writes the files into an empty folder.
///
/// # Errors
///
/// The real disk has none to spare.
pub fn write_files(folder: &Path, files: &Files) -> std::io::Result<()> {
    files.iter().try_for_each(|(name, bytes)| std::fs::write(folder.join(name), bytes))
}

/// Returns a number that tells files from other files.
pub fn digest(files: &Files) -> u64 {
    let mut hasher = DefaultHasher::new();
    files.hash(&mut hasher);
    hasher.finish()
}
