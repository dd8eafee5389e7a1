//! Finds the binaries of a PostgreSQL server.
//!
//! Debian keeps them off `PATH`, one folder per version, and puts only a wrapper of the clients there.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// What a folder must hold to be of use.
const PROGRAMS: &[&str] = &["initdb", "pg_ctl", "postgres"];
/// Where Debian and its kin put a folder per version.
const DEBIAN: &str = "/usr/lib/postgresql";

/// Returns the folder that a person named, else one on `PATH`, else the newest of Debian's.
///
/// An error if a person named a folder without a server; `None` if nobody did and there is none.
pub(super) fn find(named: Option<&OsStr>, path: Option<&OsStr>) -> Result<Option<PathBuf>, String> {
    if let Some(named) = named.filter(|named| !named.is_empty()) {
        return match resolved(Path::new(named)) {
            Some(folder) => Ok(Some(folder)),
            None => Err(format!("no {} in {}", PROGRAMS.join(", "), Path::new(named).display())),
        };
    }
    let on_path = path.into_iter().flat_map(std::env::split_paths).find_map(|folder| resolved(&folder));
    Ok(on_path.or_else(|| newest_of(Path::new(DEBIAN))))
}

/// The newest version below a folder that has folders like `15/bin`.
fn newest_of(parent: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let version = version(entry.file_name().to_str()?)?;
            Some((version, resolved(&entry.path().join("bin"))?))
        })
        .max()
        .map(|(_, folder)| folder)
}

/// Reads `15` or `9.6`, so that they can be compared.
fn version(text: &str) -> Option<Vec<u32>> {
    text.split('.').map(|part| part.parse().ok()).collect()
}

/// The folder if all programs are in it; the one behind it if they are links into another.
fn resolved(folder: &Path) -> Option<PathBuf> {
    let holds_all = |folder: &Path| PROGRAMS.iter().all(|program| folder.join(program).is_file());
    let folder = folder.canonicalize().ok().filter(|folder| holds_all(folder))?;
    let behind = folder.join(PROGRAMS[0]).canonicalize().ok()?.parent()?.to_path_buf();
    Some(if holds_all(&behind) { behind } else { folder })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A folder with files, removed when it goes out of scope.
    struct Folder(PathBuf);

    impl Folder {
        fn with(name: &str, files: &[&str]) -> Folder {
            let root = std::env::temp_dir().join(format!("xtask-{}-{name}", std::process::id()));
            for file in files {
                let file = root.join(file);
                fs::create_dir_all(file.parent().expect("files lie in folders")).expect("a temporary folder");
                fs::write(file, "").expect("an empty file");
            }
            Folder(root.canonicalize().expect("just made"))
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _kept = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn the_newest_version_is_taken_by_number_and_not_by_letter() {
        let of = |version: &str| PROGRAMS.iter().map(move |name| format!("{version}/bin/{name}")).collect();
        let mut files: Vec<String> =
            ["9.6", "15", "9", "old"].iter().flat_map(|version| -> Vec<_> { of(version) }).collect();
        // A folder of clients, as the package without the server leaves it.
        files.push("17/bin/psql".to_owned());
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        let folder = Folder::with("newest", &files);
        assert_eq!(newest_of(&folder.0), Some(folder.0.join("15/bin")));
        assert_eq!(newest_of(&folder.0.join("15")), None);
        assert_eq!(newest_of(&folder.0.join("nowhere")), None);
    }

    #[test]
    fn path_is_searched_for_a_folder_that_has_all_of_the_server() {
        let folder = Folder::with("path", &["a/initdb", "b/initdb", "b/pg_ctl", "b/postgres"]);
        let path = std::env::join_paths([folder.0.join("a"), folder.0.join("b")]).expect("no colons");
        assert_eq!(find(None, Some(&path)), Ok(Some(folder.0.join("b"))));
    }

    #[test]
    fn a_named_folder_goes_before_path_and_must_hold_a_server() {
        let folder = Folder::with(
            "named",
            &["a/initdb", "a/pg_ctl", "a/postgres", "b/initdb", "b/pg_ctl", "b/postgres", "c/initdb"],
        );
        let inside = |name: &str| folder.0.join(name).into_os_string();
        assert_eq!(find(Some(&inside("a")), Some(&inside("b"))), Ok(Some(folder.0.join("a"))));
        assert_eq!(find(Some(OsStr::new("")), Some(&inside("b"))), Ok(Some(folder.0.join("b"))));
        assert!(find(Some(&inside("c")), Some(&inside("b"))).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn links_lead_to_the_folder_that_has_the_rest_too() {
        let folder = Folder::with("links", &["lib/initdb", "lib/pg_ctl", "lib/postgres", "bin/other"]);
        for program in PROGRAMS {
            let target = folder.0.join("lib").join(program);
            std::os::unix::fs::symlink(target, folder.0.join("bin").join(program)).expect("a link");
        }
        assert_eq!(resolved(&folder.0.join("bin")), Some(folder.0.join("lib")));
    }
}
