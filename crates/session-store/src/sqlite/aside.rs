//! Where things are kept that a database no longer needs: beside it, under a number of their own.
//!
//! What is set aside as `sessions.db.set-aside-1` may have a write-ahead log `sessions.db.set-aside-1-wal`, so that it is
//! a database that can be opened. Nothing here is ever removed by us.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::fault::io_error;
use super::leases::private_file;
use crate::StoreError;

/// Returns the path of what belongs to a database and has its name with something behind it.
pub(super) fn beside(database: &Path, ending: &str) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push(ending);
    PathBuf::from(path)
}

/// Returns the first number under which nothing is set aside.
pub(super) fn free_number(database: &Path) -> u64 {
    let taken = |number: &u64| {
        ["", "-wal"].iter().any(|ending| named(database, *number, ending).symlink_metadata().is_ok())
    };
    (1..).find(|number| !taken(number)).unwrap_or(u64::MAX)
}

/// Returns the name under which something is set aside.
pub(super) fn named(database: &Path, number: u64, ending: &str) -> PathBuf {
    beside(database, &format!(".set-aside-{number}{ending}"))
}

/// Copies a part of a file, with the first `head` bytes of it before that, and waits until the copy is on the disk.
fn copy_part(from: &Path, head: u64, part: (u64, u64), to: &Path) -> Result<(), StoreError> {
    let copy = || -> io::Result<()> {
        let mut source = File::open(from)?;
        let mut target = private_file().create_new(true).open(to)?;
        let (start, end) = part;
        let head = head.min(start);
        io::copy(&mut Read::by_ref(&mut source).take(head), &mut target)?;
        source.seek(SeekFrom::Start(start))?;
        io::copy(&mut source.take(end - start), &mut target)?;
        target.sync_all()?;
        sync_folder(to)
    };
    copy().map_err(|error| {
        // A part of a copy is of no use, and the original is there.
        let _ = fs::remove_file(to);
        io_error(to, &error)
    })
}

/// Copies a part of a database's log, with the first `head` bytes of it before that, under a number of its own, and returns
/// the copy; an equal one if there is one already.
pub(super) fn keep_part(
    database: &Path,
    log: &Path,
    head: u64,
    part: (u64, u64),
) -> Result<PathBuf, StoreError> {
    let free = free_number(database);
    for number in 1..free {
        let kept = named(database, number, "-wal");
        // One that cannot be compared is another one.
        if is_part(log, head, part, &kept).unwrap_or(false) {
            return Ok(kept);
        }
    }
    let to = named(database, free, "-wal");
    copy_part(log, head, part, &to)?;
    Ok(to)
}

/// Returns whether a file is a copy of such a part.
fn is_part(from: &Path, head: u64, (start, end): (u64, u64), copy: &Path) -> io::Result<bool> {
    let head = head.min(start);
    let mut copy = BufReader::new(File::open(copy)?);
    if copy.get_ref().metadata()?.len() != head + (end - start) {
        return Ok(false);
    }
    let mut source = File::open(from)?;
    let first = BufReader::new(Read::by_ref(&mut source).take(head));
    if !are_equal(first, Read::by_ref(&mut copy).take(head))? {
        return Ok(false);
    }
    source.seek(SeekFrom::Start(start))?;
    are_equal(BufReader::new(source.take(end - start)), copy)
}

fn are_equal(one: impl BufRead, other: impl BufRead) -> io::Result<bool> {
    let mut other = other.bytes();
    for byte in one.bytes() {
        if other.next().transpose()? != Some(byte?) {
            return Ok(false);
        }
    }
    Ok(other.next().is_none())
}

/// Waits until the names in the folder of a file are on the disk.
pub(super) fn sync_folder(file: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
    }
    #[cfg(not(unix))]
    let _ = file;
    Ok(())
}
