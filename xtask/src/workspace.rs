//! What stands in the checkout: the root, and the crates as the folders of `crates/`.
//!
//! Nothing is listed by hand, so a new folder is under every rule from its first minute.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::manifest::Manifest;

/// What every package name of ours begins with.
pub(crate) const PREFIX: &str = "trunkline-";

/// The checkout that the commands work on.
pub(crate) struct Workspace {
    /// Where the workspace's `Cargo.toml` stands.
    pub(crate) root: PathBuf,
    /// Where cargo puts what it builds.
    pub(crate) target: PathBuf,
    /// One per folder of `crates/`, by name.
    pub(crate) crates: Vec<Crate>,
}

/// One folder of `crates/`.
#[derive(Clone)]
pub(crate) struct Crate {
    /// The folder's name, `sanitize`.
    pub(crate) name: String,
    /// The package's name, `trunkline-sanitize`.
    pub(crate) package: String,
    /// The folder.
    pub(crate) folder: PathBuf,
    /// Its `Cargo.toml`.
    pub(crate) manifest: Manifest,
}

impl Workspace {
    /// Reads the checkout around the current folder.
    pub(crate) fn read() -> Result<Workspace, String> {
        let here = std::env::current_dir().map_err(|error| format!("no current folder: {error}"))?;
        let root = here
            .ancestors()
            .find(|folder| folder.join("xtask/Cargo.toml").is_file() && folder.join("crates").is_dir())
            .ok_or_else(|| format!("{} is not inside the workspace", here.display()))?
            .to_path_buf();
        let target = match std::env::var_os("CARGO_TARGET_DIR") {
            Some(folder) => here.join(folder),
            None => root.join("target"),
        };
        let mut crates = Vec::new();
        for folder in folders(&root.join("crates"))? {
            if folder.join("Cargo.toml").is_file() {
                crates.push(Crate::read(folder)?);
            }
        }
        crates.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(Workspace { root, target, crates })
    }

    /// The crate of that name, or all crates if none is named.
    pub(crate) fn chosen(&self, words: &[&str]) -> Result<Vec<Crate>, String> {
        match words {
            [] => Ok(self.crates.clone()),
            [name] => self.named(name).map(|one| vec![one.clone()]),
            [_, more, ..] => Err(format!("one crate at a time: what is `{more}`?")),
        }
    }

    /// Finds a crate by its folder's or its package's name.
    pub(crate) fn named(&self, name: &str) -> Result<&Crate, String> {
        self.crates.iter().find(|one| one.name == name || one.package == name).ok_or_else(|| {
            let names: Vec<&str> = self.crates.iter().map(|one| one.name.as_str()).collect();
            format!("no crate `{name}`; there are: {}", names.join(", "))
        })
    }

    /// Lists the files that belong to the project, as paths from the root: tracked, or new and not ignored.
    pub(crate) fn files(&self) -> Result<Vec<String>, String> {
        let mut git = Command::new("git");
        git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).current_dir(&self.root);
        let listed = crate::cargo::text_of(&mut git)?;
        let files: BTreeSet<String> =
            listed.split('\0').filter(|path| !path.is_empty()).map(String::from).collect();
        // A tracked file that was deleted is still listed until the deletion is staged.
        Ok(files.into_iter().filter(|path| self.root.join(path).is_file()).collect())
    }

    /// Reads a file by its path from the root; `None` if it is not text.
    pub(crate) fn text(&self, path: &str) -> Result<Option<String>, String> {
        let bytes = fs::read(self.root.join(path)).map_err(|error| format!("cannot read {path}: {error}"))?;
        Ok(String::from_utf8(bytes).ok())
    }

    /// Reads a file by its path from the root; one that is missing reads as empty.
    pub(crate) fn text_or_nothing(&self, path: &str) -> String {
        fs::read_to_string(self.root.join(path)).unwrap_or_default()
    }
}

impl Crate {
    fn read(folder: PathBuf) -> Result<Crate, String> {
        let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        let path = folder.join("Cargo.toml");
        let text =
            fs::read_to_string(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        let manifest = Manifest::parse(&text);
        let package = format!("{PREFIX}{name}");
        match manifest.text("package", "name") {
            Some(found) if found == package => Ok(Crate { name, package, folder, manifest }),
            found => Err(format!(
                "crates/{name}/Cargo.toml names the package `{}`: call it `{package}`, after its folder",
                found.unwrap_or_default()
            )),
        }
    }

    /// Whether the crate is a library, which has a public API.
    pub(crate) fn is_library(&self) -> bool {
        self.folder.join("src/lib.rs").is_file()
    }

    /// The names of the files in `examples/`, without `.rs`; a folder there counts by its name.
    pub(crate) fn examples(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.folder.join("examples")) else { return Vec::new() };
        let mut names: Vec<String> = entries
            .filter_map(|entry| {
                let path = entry.ok()?.path();
                let is_example =
                    path.extension().is_some_and(|end| end == "rs") || path.join("main.rs").is_file();
                is_example.then(|| path.file_stem()?.to_str().map(String::from)).flatten()
            })
            .collect();
        names.sort();
        names
    }

    /// The features and what each switches on, as written.
    pub(crate) fn features(&self) -> BTreeMap<String, Vec<String>> {
        self.manifest.features()
    }
}

/// Lists the folders in `parent`.
fn folders(parent: &Path) -> Result<Vec<PathBuf>, String> {
    let entries =
        fs::read_dir(parent).map_err(|error| format!("cannot read {}: {error}", parent.display()))?;
    Ok(entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.is_dir())
        .collect())
}
