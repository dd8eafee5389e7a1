//! The real git: the command of that name, with nothing in the way.
//!
//! No prompts, no hooks, no network, no language but English, no variables that point it to another repository, and no
//! replacement of objects. What a repository's own configuration may name is not started.

use std::ffi::OsString;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::{Git, GitFault};

/// What one call may print: ten thousand decisions of usual size are a tenth of it.
const MAX_PRINTED: u64 = 256 << 20;

/// What is read of git's complaints; the rest is thrown away.
const MAX_SAID: u64 = 64 << 10;

/// How many characters of them an error holds.
const MAX_TOLD: usize = 2_000;

/// Variables that say who somebody is and where their git and its repositories are, beside those of [`SETTING_VARIABLES`];
/// all others that begin with `GIT_` point git elsewhere or change what it does, and a caller such as a hook has them set.
const KEPT: [&str; 7] = [
    "GIT_AUTHOR_EMAIL",
    "GIT_AUTHOR_NAME",
    "GIT_CEILING_DIRECTORIES",
    "GIT_COMMITTER_EMAIL",
    "GIT_COMMITTER_NAME",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM",
    "GIT_EXEC_PATH",
];

/// With these begin the variables that name files of settings, or are settings; containers and services that build have
/// no other place for `safe.directory` and the like. Ours are given by `-c` and stand above them. `GIT_CONFIG` itself is for
/// `git config` alone, and would make it answer about another file.
const SETTING_VARIABLES: &str = "GIT_CONFIG_";

/// What would start programs, change what a diff says, reach over the network, or fail sooner than it must. A lock of a ref is held for
/// milliseconds; git waits a tenth of a second by default.
const SETTINGS: [&str; 10] = [
    "core.attributesFile=/dev/null",
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    // Both would change patch ids, and have no option.
    "core.quotePath=true",
    "diff.suppressBlankEmpty=false",
    "core.filesRefLockTimeout=2000",
    "core.packedRefsTimeout=10000",
    "reftable.lockTimeout=2000",
    "protocol.allow=never",
    // Git says six lines of it before each fault, since it is told to read no grafts.
    "advice.graftFileDeprecated=false",
];

/// The variable that holds the value of a setting that is switched off.
const OFF: &str = "TRUNKLINE_OFF";

/// The `git` command, bound to one repository.
#[derive(Debug, Clone)]
pub struct GitCommand {
    /// Absolute, as git said.
    git_dir: PathBuf,
    /// The settings that switch the configured hooks off, by key.
    hooks_off: Vec<OsString>,
}

impl GitCommand {
    /// Finds the repository that `path` is in, as git itself would; `None` if it is in none. Starts two processes.
    ///
    /// # Errors
    ///
    /// [`GitFault`], also where git refuses the repository: because somebody else owns it, for example.
    pub fn discover(path: &Path) -> Result<Option<Self>, GitFault> {
        let mut command = bare_command();
        command.arg("-C").arg(path).args(["rev-parse", "--absolute-git-dir"]);
        let git_dir = match run(command, "rev-parse", b"") {
            Ok(printed) => path_of(printed),
            Err(fault) if fault.says("not a git repository (or any") => return Ok(None),
            Err(fault) => return Err(fault),
        };
        let mut git = Self { git_dir, hooks_off: Vec::new() };
        git.hooks_off = git.configured_hooks()?;
        Ok(Some(git))
    }

    /// Hooks of the configuration (git 2.54, 2026-04) run wherever `core.hooksPath` points, and are switched off by name
    /// only. Those that are configured later than this are not known.
    fn configured_hooks(&self) -> Result<Vec<OsString>, GitFault> {
        let question = ["config", "-z", "--name-only", "--get-regexp", r"^hook\..*\.(command|event)$"];
        let printed = match self.run(&question, b"") {
            Ok(printed) => printed,
            Err(GitFault::Failed { code: Some(1), .. }) => return Ok(Vec::new()), // there are none
            Err(fault) => return Err(fault),
        };
        let name = |key: &[u8]| key.iter().rposition(|byte| *byte == b'.').map(|dot| key[..dot].to_vec());
        let mut names: Vec<Vec<u8>> = printed.split(|byte| *byte == 0).filter_map(name).collect();
        names.sort();
        names.dedup();
        Ok(names.into_iter().map(|name| os_text([name.as_slice(), b".enabled"].concat())).collect())
    }

    /// The repository's own folder: `.git`, or that of the linked worktree, or the bare repository.
    #[must_use]
    pub fn git_dir(&self) -> &Path {
        &self.git_dir
    }
}

impl Git for GitCommand {
    fn run(&self, arguments: &[&str], input: &[u8]) -> Result<Vec<u8>, GitFault> {
        let mut command = bare_command();
        // Not by `-c`: a name may hold a `=`. Not by GIT_CONFIG_COUNT: what the caller was given by `-c` stands above that.
        command.env(OFF, "false");
        for key in &self.hooks_off {
            let mut option = OsString::from("--config-env=");
            option.push(key);
            option.push("=");
            option.push(OFF);
            command.arg(option);
        }
        // In the repository's own folder there is no worktree whose files could have a say.
        command.current_dir(&self.git_dir).env("GIT_DIR", &self.git_dir).args(arguments);
        run(command, subcommand(arguments), input)
    }
}

/// What is run, for those who read an error.
fn subcommand<'a>(arguments: &[&'a str]) -> &'a str {
    match arguments {
        ["-c", _, rest @ ..] => subcommand(rest),
        [option, rest @ ..] if option.starts_with('-') => subcommand(rest),
        [name, ..] => name,
        [] => "",
    }
}

fn bare_command() -> Command {
    let mut command = Command::new("git");
    for (variable, _) in std::env::vars_os() {
        let name = variable.to_string_lossy();
        let kept = name.starts_with(SETTING_VARIABLES) || KEPT.contains(&name.as_ref());
        if name.starts_with("GIT_") && !kept {
            command.env_remove(&variable);
        }
    }
    for setting in SETTINGS {
        command.args(["-c", setting]);
    }
    command.envs([
        ("LC_ALL", "C"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_OPTIONAL_LOCKS", "0"),
        ("GIT_NO_REPLACE_OBJECTS", "1"),
        ("GIT_GRAFT_FILE", "/dev/null"),
        ("GIT_NO_LAZY_FETCH", "1"),
        // What a machine's own attributes call binary has another patch id there.
        ("GIT_ATTR_NOSYSTEM", "1"),
    ]);
    command
}

fn run(mut command: Command, name: &str, input: &[u8]) -> Result<Vec<u8>, GitFault> {
    let broke = |source| GitFault::Io { command: name.to_owned(), source };
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|source| {
        // A folder that is gone looks like a program that is not there.
        let folder_is_there = command.get_current_dir().is_none_or(Path::exists);
        if source.kind() == ErrorKind::NotFound && folder_is_there {
            GitFault::NotInstalled
        } else {
            broke(source)
        }
    })?;
    let mut printed = Vec::new();
    let said = talk(&mut child, input, &mut printed);
    if printed.len() as u64 > MAX_PRINTED {
        let _ = child.kill();
        let _ = child.wait();
        return Err(GitFault::TooMuch { command: name.to_owned(), limit: MAX_PRINTED });
    }
    let status = child.wait().map_err(broke)?;
    let said = said.map_err(broke)?;
    if status.success() {
        return Ok(printed);
    }
    Err(GitFault::Failed {
        command: name.to_owned(),
        code: status.code(),
        said: one_line(&said, &status.to_string()),
    })
}

/// Writes the input, reads both outputs; all three at once, or git and we could wait for each other.
fn talk(child: &mut Child, input: &[u8], printed: &mut Vec<u8>) -> std::io::Result<Vec<u8>> {
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    std::thread::scope(|scope| {
        scope.spawn(move || {
            // Git says itself if it missed something.
            stdin.map(|mut stdin| stdin.write_all(input))
        });
        let complaints = scope.spawn(move || {
            let mut said = Vec::new();
            let Some(mut stderr) = stderr else { return said };
            let _ = stderr.by_ref().take(MAX_SAID).read_to_end(&mut said);
            let _ = std::io::copy(&mut stderr, &mut std::io::sink());
            said
        });
        let read = match stdout {
            Some(mut stdout) => stdout.by_ref().take(MAX_PRINTED + 1).read_to_end(printed),
            None => Ok(0),
        };
        if printed.len() as u64 > MAX_PRINTED {
            let _ = child.kill(); // or the two threads would not end
        }
        let said = complaints.join().unwrap_or_default();
        read.map(|_| said)
    })
}

/// What git said, as text that can be printed anywhere.
fn one_line(said: &[u8], otherwise: &str) -> String {
    let text = String::from_utf8_lossy(said);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let line: String = lines
        .join("; ")
        .chars()
        .map(|sign| if sign.is_control() { ' ' } else { sign })
        .take(MAX_TOLD)
        .collect();
    if line.is_empty() { format!("it failed without a word ({otherwise})") } else { line }
}

pub(crate) fn path_of(mut printed: Vec<u8>) -> PathBuf {
    // One line end is git's; any before it are in the name.
    if printed.last() == Some(&b'\n') {
        printed.pop();
    }
    PathBuf::from(os_text(printed))
}

#[cfg(unix)]
fn os_text(bytes: Vec<u8>) -> OsString {
    std::os::unix::ffi::OsStringExt::from_vec(bytes)
}

#[cfg(not(unix))]
fn os_text(bytes: Vec<u8>) -> OsString {
    OsString::from(String::from_utf8_lossy(&bytes).into_owned())
}
