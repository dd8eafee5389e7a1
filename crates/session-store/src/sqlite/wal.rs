//! Reads a write-ahead log before SQLite does, to see what SQLite would pass over without a word.
//!
//! SQLite takes the frames of a log up to the last commit from which on all of them follow from each other. What comes
//! after that is mostly what was being written when the machine or the process died, and nobody was told that it is kept.
//! But a damaged byte in the middle looks the same, and takes everything after it along.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use crate::Digest;

// sqlite.org/fileformat2.html#walformat, read 2026-11.
pub(super) const HEADER: usize = 32;
const FRAME_HEADER: usize = 24;
const MAGIC: u32 = 0x377f_0682;
/// How much of a database's first page says whose it is: its header, and the start of the list of tables.
pub(super) const FIRST_BYTES: u64 = 108;
/// What databases that this crate makes have; taken where the log does not say it in a way that can be trusted.
pub(super) const PAGE_SIZE: usize = 4096;

/// What a write-ahead log holds.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Scan {
    /// The bytes of one page.
    pub(super) page_size: usize,
    /// How many frames SQLite reads: up to the last commit.
    pub(super) frames: u64,
    /// The start of the database's first page, if it is among them.
    pub(super) first_page: Option<Vec<u8>>,
    /// What SQLite passes over.
    pub(super) ignored: Option<Ignored>,
}

impl Scan {
    /// Returns how many frames there are that SQLite reads, or would read if no byte of the log were damaged.
    pub(super) fn committed(&self) -> u64 {
        let passed_over = self.ignored.filter(|ignored| ignored.commits > 0);
        self.frames + passed_over.map_or(0, |ignored| ignored.frames)
    }
}

/// The part of a write-ahead log that SQLite passes over although it belongs to the log.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Ignored {
    /// Where it begins in the file, and where it ends.
    pub(super) place: (u64, u64),
    /// How many frames it has.
    pub(super) frames: u64,
    /// How many of them say that they end a commit.
    pub(super) commits: u64,
    /// What it looks like.
    pub(super) kind: IgnoredKind,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum IgnoredKind {
    /// All of it follows, but there is no commit at its end: nobody was told that it is kept.
    CutOff,
    /// It does not follow from what is before it.
    Broken,
    /// The header of the log is not as it was written, so nothing of the log is read. Frames are those whose checksums follow
    /// from the frame before: what else lies in room that was never written to is none.
    Header,
}

/// One frame: a page as it was after some write.
#[derive(Debug)]
pub(super) struct Frame<'a> {
    /// Which page it is.
    pub(super) page: u32,
    /// The pages of the database after the commit that it ends; 0 if it ends none.
    pub(super) commit: u32,
    /// What the frames of one log have in common.
    pub(super) salts: [u8; 8],
    /// Whether it belongs to the log as its header says, and not to an earlier one in the same file.
    pub(super) same_log: bool,
    /// Whether it follows from the frames before it, all of which do.
    pub(super) follows: bool,
    /// Whether its bytes are those that were written, judged from the frame before it.
    pub(super) sound: bool,
    pub(super) data: &'a [u8],
}

/// Reads a log frame by frame.
pub(super) struct Frames {
    file: BufReader<File>,
    page_size: usize,
    salts: [u8; 8],
    big_endian: bool,
    /// The checksums of the frame before, as they stand there.
    sums: (u32, u32),
    follow: bool,
    /// Whether the log's header is as it was written.
    pub(super) has_header: bool,
    buffer: Vec<u8>,
    length: u64,
}

impl Frames {
    /// Opens a log; nothing if there is none, or nothing in it.
    pub(super) fn open(path: &Path) -> io::Result<Option<Self>> {
        let file = match std::fs::metadata(path).and_then(|found| match found.is_file() {
            true => File::open(path),
            // To open a pipe is to wait for somebody.
            false => Err(io::Error::other("it is not a file")),
        }) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let length = file.metadata()?.len();
        let mut file = BufReader::with_capacity(1 << 18, file);
        let mut header = [0; HEADER];
        if read_full(&mut file, &mut header)? < HEADER || header == [0; HEADER] {
            return Ok(None);
        }
        let [magic, _, page_size, ..] = words(&header);
        let big_endian = magic & 1 == 1;
        let page_size = usize::try_from(page_size).unwrap_or_default();
        let sums = checksum(big_endian, header.get(..24).unwrap_or_default(), (0, 0));
        let stored = (word(&header, 24), word(&header, 28));
        let fits = magic & !1 == MAGIC && page_size.is_power_of_two() && (512..=65536).contains(&page_size);
        let has_header = fits && sums == stored;
        let page_size = if has_header { page_size } else { PAGE_SIZE };
        // SQLite writes checksums in the order of the machine.
        let big_endian = if has_header { big_endian } else { cfg!(target_endian = "big") };
        let mut salts = [0; 8];
        salts.copy_from_slice(header.get(16..24).unwrap_or(&[0; 8]));
        let buffer = vec![0; FRAME_HEADER + page_size];
        Ok(Some(Frames {
            file,
            page_size,
            salts,
            big_endian,
            sums: stored,
            follow: has_header,
            has_header,
            buffer,
            length,
        }))
    }

    /// Returns the next frame, or nothing at the end of the file.
    pub(super) fn next(&mut self) -> io::Result<Option<Frame<'_>>> {
        let read = read_full(&mut self.file, &mut self.buffer)?;
        if read < FRAME_HEADER {
            return Ok(None);
        }
        let Some((header, data)) = self.buffer.split_at_checked(FRAME_HEADER) else { return Ok(None) };
        let (page, commit) = (word(header, 0), word(header, 4));
        let salts = header.get(8..).and_then(|rest| rest.first_chunk::<8>()).copied().unwrap_or_default();
        let same_log = salts == self.salts;
        let sums = checksum(self.big_endian, header.get(..8).unwrap_or_default(), self.sums);
        self.sums = (word(header, 16), word(header, 20));
        let sound = read == FRAME_HEADER + self.page_size
            && page > 0
            && checksum(self.big_endian, data, sums) == self.sums;
        self.follow &= sound && same_log;
        Ok(Some(Frame { page, commit, salts, same_log, follows: self.follow, sound, data }))
    }

    /// Returns the bytes of one page.
    pub(super) fn page_size(&self) -> usize {
        self.page_size
    }
}

/// Reads a whole log; nothing if there is none, or nothing in it.
pub(super) fn scan(path: &Path) -> io::Result<Option<Scan>> {
    let Some(mut log) = Frames::open(path)? else { return Ok(None) };
    let (page_size, length, has_header) = (log.page_size, log.length, log.has_header);
    let mut scan = Scan { page_size, frames: 0, first_page: None, ignored: None };
    let mut first_page = None;
    // Frames after the last commit: how many belong to the log, how many of those end commits, and where the last ends.
    let (mut number, mut following, mut ignored, mut commits, mut last) = (0_u64, 0_u64, 0_u64, 0_u64, 0_u64);
    while let Some(frame) = log.next()? {
        number += 1;
        let belongs = if has_header { frame.same_log } else { frame.sound };
        if frame.follows && frame.page == 1 {
            first_page = frame.data.get(..FIRST_BYTES as usize).map(<[u8]>::to_vec);
        }
        if frame.follows && frame.commit > 0 {
            scan.frames = number;
            scan.first_page = first_page.clone().or(scan.first_page);
            (following, ignored, last) = (0, 0, 0);
        } else if belongs {
            following += u64::from(frame.follows);
            ignored += 1;
            commits += u64::from(frame.commit > 0);
            last = number;
        }
    }
    let place = |frames: u64| HEADER as u64 + frames * (FRAME_HEADER + page_size) as u64;
    if ignored > 0 {
        let (kind, start) = match has_header {
            false => (IgnoredKind::Header, 0),
            true if following == ignored => (IgnoredKind::CutOff, place(scan.frames)),
            true => (IgnoredKind::Broken, place(scan.frames)),
        };
        let place = (start, place(last).min(length));
        scan.ignored = Some(Ignored { place, frames: ignored, commits, kind });
    }
    Ok(Some(scan))
}

/// Returns whether the newest version of each page in a log stands in the database as well. What is left of an earlier log,
/// behind the frames that are of one kind with the first, does not count, and neither does the header.
pub(super) fn is_moved(log: &Path, database: &Path) -> io::Result<bool> {
    let Some(mut frames) = Frames::open(log)? else { return Ok(true) };
    let page_size = frames.page_size();
    let mut first = None;
    // Pages since the last commit, and up to it.
    let (mut open, mut newest) = (BTreeMap::new(), BTreeMap::new());
    while let Some(frame) = frames.next()? {
        let same = first.get_or_insert(frame.salts) == &frame.salts;
        if !same || frame.page == 0 {
            break;
        }
        open.insert(frame.page, Digest::of(frame.data));
        if frame.commit > 0 {
            newest.append(&mut open);
        }
    }
    if newest.is_empty() {
        return Ok(false);
    }
    let mut file = File::open(database)?;
    let mut page = vec![0; page_size];
    for (number, digest) in newest {
        file.seek(SeekFrom::Start(u64::from(number - 1) * page_size as u64))?;
        if read_full(&mut file, &mut page)? < page_size || Digest::of(&page) != digest {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Reads until a buffer is full or the file ends; what is not read is zero.
fn read_full(file: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut read = 0;
    while let Some(rest) = buffer.get_mut(read..).filter(|rest| !rest.is_empty()) {
        match file.read(rest) {
            Ok(0) => {
                rest.fill(0);
                break;
            }
            Ok(more) => read += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(read)
}

fn word(bytes: &[u8], at: usize) -> u32 {
    let found = bytes.get(at..).and_then(|bytes| bytes.first_chunk::<4>());
    found.copied().map(u32::from_be_bytes).unwrap_or_default()
}

fn words(header: &[u8; HEADER]) -> [u32; 8] {
    std::array::from_fn(|place| word(header, place * 4))
}

fn checksum(big_endian: bool, bytes: &[u8], (mut first, mut second): (u32, u32)) -> (u32, u32) {
    let (pairs, _) = bytes.as_chunks::<8>();
    for [a, b, c, d, e, f, g, h] in pairs {
        let (one, two) = ([*a, *b, *c, *d], [*e, *f, *g, *h]);
        let (one, two) = match big_endian {
            true => (u32::from_be_bytes(one), u32::from_be_bytes(two)),
            false => (u32::from_le_bytes(one), u32::from_le_bytes(two)),
        };
        first = first.wrapping_add(one).wrapping_add(second);
        second = second.wrapping_add(two).wrapping_add(first);
    }
    (first, second)
}
