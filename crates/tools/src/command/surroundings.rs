//! The environment of a command: that of this process, without what belongs to another place than its folder.
//!
//! Git sets variables that name its repository in every hook, cargo and npm those that name their package. Whoever starts
//! an agent from there means its folder nevertheless.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Command;

/// What names a repository, or a part of one (`git rev-parse --local-env-vars` of git 2.51, and the manual), but for
/// settings: who somebody is, how they sign in and what they trust goes along.
const OF_A_REPOSITORY: [&str; 18] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_ATTR_SOURCE",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_NAMESPACE",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    // Set while a push is received: nothing may be written then.
    "GIT_QUARANTINE_PATH",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_SUPER_PREFIX",
    "GIT_WORK_TREE",
];

/// What other programs leave in the environment of what they start, and that names the place they were started in: shells,
/// make (its options, and pipes that are not handed on), cargo, npm and Yarn, Mercurial.
const OF_ANOTHER_PLACE: [&str; 15] = [
    "CARGO_MAKEFLAGS",
    "CARGO_MANIFEST_DIR",
    "CARGO_MANIFEST_LINKS",
    "CARGO_MANIFEST_PATH",
    "CDPATH",
    "HG_NODE",
    "INIT_CWD",
    "MAKEFLAGS",
    "MAKELEVEL",
    "MAKEOVERRIDES",
    "MFLAGS",
    "OLDPWD",
    "PROJECT_CWD",
    "npm_config_local_prefix",
    "npm_package_json",
];

/// Lays the environment on a command for a folder.
pub(super) fn lay(command: &mut Command, folder: &Path) {
    for (name, value) in std::env::vars_os() {
        if name.to_str().is_some_and(is_secret) || is_elsewhere(&name, &value) {
            command.env_remove(name);
        } else if names_worktree(&name, &value) {
            // Not removed: git counts these settings, and refuses to do anything where one is missing.
            command.env(name, "trunkline.unused");
        }
    }
    command
        // A shell believes it where it is another name of the same folder.
        .env("PWD", folder)
        // Nobody sits at a terminal.
        .envs([("TERM", "dumb"), ("PAGER", "cat"), ("GIT_PAGER", "cat"), ("GIT_TERMINAL_PROMPT", "0")]);
}

/// What programs need to find their way, and nothing that is somebody's own.
const NEEDED: [&str; 9] = ["HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "SHELL", "TMPDIR", "TZ", "USER"];

/// Lays an environment that holds what programs need and the named variables, and nothing else.
pub(super) fn lay_bare(command: &mut Command, folder: &Path, named: &[String]) {
    command.env_clear();
    for (name, value) in std::env::vars_os() {
        let Some(name) = name.to_str() else { continue };
        let goes = NEEDED.contains(&name) || name.starts_with("LC_") || named.iter().any(|one| one == name);
        if goes && !is_secret(name) {
            command.env(name, value);
        }
    }
    // A folder that is named from where one stands would be looked for in the project.
    command.env("PATH", absolute_path()).env("PWD", folder).env("TERM", "dumb");
}

/// Returns where programs are looked for, without what is named from where one stands.
pub(crate) fn absolute_path() -> OsString {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let absolute = std::env::split_paths(&path).filter(|folder| folder.is_absolute());
    // It fails for a name that could not have come out of a list.
    std::env::join_paths(absolute).unwrap_or_default()
}

/// Whether a variable names another place than the folder of the command.
fn is_elsewhere(name: &OsStr, value: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    if name == "GIT_CONFIG_PARAMETERS" {
        // What `git -c` hands on; only the worktree of the one repository is no setting for another.
        return value.to_string_lossy().to_lowercase().contains("core.worktree");
    }
    OF_A_REPOSITORY.contains(&name) || OF_ANOTHER_PLACE.contains(&name)
}

/// Whether a variable is the key of a setting (`GIT_CONFIG_COUNT`) that names the worktree of another repository.
fn names_worktree(name: &OsStr, value: &OsStr) -> bool {
    let is_key = name.to_str().is_some_and(|name| name.starts_with("GIT_CONFIG_KEY_"));
    is_key && value.eq_ignore_ascii_case("core.worktree")
}

/// Whether a variable's name says that its value is nobody else's business. A guess, documented in the README.
pub(crate) fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let ends = ["_API_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_ACCESS_KEY", "_PRIVATE_KEY"];
    name.starts_with("TRUNKLINE_") || ends.iter().any(|end| name.ends_with(end))
}
