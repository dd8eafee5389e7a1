//! Refs that are many, kept in one file.

use std::fs;
use std::io::ErrorKind;

use crate::{BindError, RefFormat, Repository, layout};

/// How many loose refs of ours are left alone: a file each, 4 MB on most disks.
const DUE: usize = 1_000;

/// One folder of this many is looked into; their names are chance, so it stands for the others.
const SAMPLE: usize = 16;

/// From this version on git packs the refs that it is told to (release notes of 2.43, 2023-11).
const INCLUDES: (u32, u32) = (2, 43);

/// What came of packing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Packed {
    /// There are not enough loose refs yet; nothing was changed.
    NotDue {
        /// How many there are, about.
        loose: usize,
    },
    /// The repository keeps its refs in tables and packs them by itself; nothing was changed.
    ByItself,
    /// The refs of ours are packed.
    Now {
        /// How many were loose, about.
        loose: usize,
    },
    /// It is time, but this git can only pack all refs of the repository, also those that are not ours; nothing was
    /// changed. [`Repository::pack_all_refs`] does it.
    AllOnly {
        /// How many of ours are loose, about.
        loose: usize,
    },
}

impl Repository {
    /// Packs the refs of decisions, if more than about a thousand of them are loose. Other refs stay as they are.
    ///
    /// Safe beside other processes. Counting looks into 16 of 256 folders and starts no process, so this can be called
    /// after each binding.
    ///
    /// # Errors
    ///
    /// [`BindError::Refs`] if they cannot be counted, [`BindError::Git`].
    pub fn pack_if_due(&self) -> Result<Packed, BindError> {
        if self.facts.ref_format != RefFormat::Files {
            return Ok(Packed::ByItself);
        }
        let loose = self.loose_refs().map_err(BindError::Refs)?;
        if loose <= DUE {
            return Ok(Packed::NotDue { loose });
        }
        if self.facts.git_version < INCLUDES {
            return Ok(Packed::AllOnly { loose });
        }
        let include = format!("{}*", layout::PREFIX);
        self.git.run(&["pack-refs", "--include", &include], b"")?;
        Ok(Packed::Now { loose })
    }

    /// Packs all refs of the repository, as `git gc` does.
    ///
    /// # Errors
    ///
    /// [`BindError::Git`].
    pub fn pack_all_refs(&self) -> Result<(), BindError> {
        self.git.run(&["pack-refs", "--all"], b"")?;
        Ok(())
    }

    fn loose_refs(&self) -> std::io::Result<usize> {
        let folder = self.common_dir.join(layout::PREFIX);
        let mut loose = 0;
        for shard in (0..256).step_by(SAMPLE) {
            loose += SAMPLE * entries(folder.join(format!("{shard:02x}")))?;
        }
        Ok(loose)
    }
}

/// How much is in a folder; nothing if it is not there, or went away.
fn entries(folder: std::path::PathBuf) -> std::io::Result<usize> {
    match fs::read_dir(folder) {
        Ok(entries) => Ok(entries.count()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(0),
        Err(error) => Err(error),
    }
}
