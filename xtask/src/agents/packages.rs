//! Fetches pinned packages from the npm registry.
//!
//! Each has a lockfile, which is compiled in: what is installed is what was tested, whatever the registry says today. No
//! package may run a script while it is installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cargo::{cannot_start, line_of};

/// A package, and where its program is.
pub(super) struct Package {
    pub(super) name: &'static str,
    pub(super) version: &'static str,
    /// The version as people say it.
    pub(super) said: &'static str,
    /// In the package's own folder.
    pub(super) program: &'static str,
    /// Whether that runs by itself; a script needs Node.
    pub(super) is_binary: bool,
    pub(super) lock: &'static str,
}

impl Package {
    /// Returns the words that start the program; installs it if it is not there.
    pub(super) fn words(&self, folder: &Path, node: &Path) -> Result<Vec<PathBuf>, String> {
        let program = self.installed(folder)?;
        Ok(if self.is_binary { vec![program] } else { vec![node.to_owned(), program] })
    }

    /// Returns the program; installs it if it is not there.
    pub(super) fn installed(&self, folder: &Path) -> Result<PathBuf, String> {
        let name = format!("{}-{}", self.name.replace(['/', '@'], "-"), self.version);
        let place = folder.join(name.trim_start_matches('-'));
        let program = place.join("node_modules").join(self.name).join(self.program);
        // Written when all is in it; another lockfile is another tree.
        let note = place.join("installed.json");
        if fs::read_to_string(&note).is_ok_and(|found| found == self.lock) {
            return Ok(program);
        }
        fs::create_dir_all(&place).map_err(|error| format!("cannot make {}: {error}", place.display()))?;
        write(&place.join("package.json"), &self.manifest())?;
        write(&place.join("package-lock.json"), self.lock)?;
        let mut install = Command::new("npm");
        install.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix"]).arg(&place);
        println!("$ {}", line_of(&install));
        let status = install.stdin(Stdio::null()).status().map_err(|error| {
            format!("{}; npm is wanted (Debian: apt-get install npm)", cannot_start(&install, &error))
        })?;
        if !status.success() {
            return Err(format!("npm could not install {} {}: {status}", self.name, self.version));
        }
        write(&note, self.lock)?;
        Ok(program)
    }

    fn manifest(&self) -> String {
        format!("{{\"private\":true,\"dependencies\":{{\"{}\":\"{}\"}}}}\n", self.name, self.version)
    }
}

pub(super) fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
}
