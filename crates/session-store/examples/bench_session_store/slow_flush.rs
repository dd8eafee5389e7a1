//! Programs whose flushes take a millisecond more: a small library in C, compiled here and preloaded into them.
//!
//! It calls the real flush and then sleeps, so a flush costs no more of the processor than before, as on a slower disk. Whoever
//! measures with it looks first whether the flushes are slow: a library that cannot be loaded is only a line on stderr.

use std::fs::{File, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::{Outcome, median};

const SOURCE: &str = include_str!("slow_flush.c");

/// The library, as long as it is held.
pub(crate) struct Library {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

impl Library {
    pub(crate) fn build() -> Outcome<Self> {
        let folder = tempfile::tempdir()?;
        // The server runs as another user, who has to read it.
        std::fs::set_permissions(folder.path(), Permissions::from_mode(0o755))?;
        let (source, path) = (folder.path().join("slow_flush.c"), folder.path().join("slow_flush.so"));
        std::fs::write(&source, SOURCE)?;
        let mut compile = Command::new("cc");
        compile.args(["-shared", "-fPIC", "-O2", "-o"]).arg(&path).arg(&source).arg("-ldl");
        if !compile.status().map_err(|error| format!("cc cannot be started: {error}"))?.success() {
            return Err("cc does not compile slow_flush.c, see above".into());
        }
        std::fs::set_permissions(&path, Permissions::from_mode(0o755))?;
        Ok(Library { _folder: folder, path })
    }

    /// Lets a program, and those that it starts, flush slowly.
    pub(crate) fn preload(&self, command: &mut Command) {
        command.env("LD_PRELOAD", &self.path);
    }

    /// Runs this program again in a process that flushes slowly, for one of its parts.
    pub(crate) fn run_again(&self, part: &str) -> Outcome<()> {
        let mut again = Command::new(std::env::current_exe()?);
        again.arg(part);
        self.preload(&mut again);
        match again.status()?.success() {
            true => Ok(()),
            false => Err(format!("`{part}` failed, see above").into()),
        }
    }
}

/// Fails if flushes of this process are not slow.
pub(crate) fn is_slow(folder: &Path) -> Outcome<()> {
    let mut file = File::create(folder.join("is-slow"))?;
    let mut times = Vec::new();
    for _ in 0..20 {
        let start = Instant::now();
        file.write_all(b"x")?;
        file.sync_data()?;
        times.push(start.elapsed());
    }
    check(median(times))
}

/// Fails if what flushes once took less than the library adds to a flush.
pub(crate) fn check(flush: Duration) -> Outcome<()> {
    match flush >= Duration::from_millis(1) {
        true => Ok(()),
        false => Err(format!("flushes take {flush:?}: the library that slows them was not loaded").into()),
    }
}
