//! Runs the `git` command with nothing in the way: no prompts, no hooks, no language but English, no variables that
//! point it to another repository.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use trunkline_agent_traits::WorkspaceFault;
use trunkline_git_binding::GitFault;

use crate::folder::fault;

/// Variables that say who somebody is, when, and where their git is, and those that begin with these: their settings, and how
/// a partial clone fetches what it lacks. All others that begin with `GIT_` point git elsewhere, make it say more, or read paths
/// otherwise; a caller such as a hook has them set.
const KEPT: [&str; 15] = [
    "GIT_ALLOW_PROTOCOL",
    "GIT_ASKPASS",
    "GIT_ATTR_NOSYSTEM",
    "GIT_AUTHOR_DATE",
    "GIT_AUTHOR_EMAIL",
    "GIT_AUTHOR_NAME",
    "GIT_CEILING_DIRECTORIES",
    "GIT_COMMITTER_DATE",
    "GIT_COMMITTER_EMAIL",
    "GIT_COMMITTER_NAME",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM",
    "GIT_EXEC_PATH",
    "GIT_NO_LAZY_FETCH",
    "GIT_PROXY_COMMAND",
    "GIT_SSH",
];
const KEPT_BEGINNINGS: [&str; 5] = ["GIT_CONFIG_", "GIT_HTTP_", "GIT_PROXY_SSL_", "GIT_SSH_", "GIT_SSL_"];

/// How git is called for one folder.
pub(super) struct Git {
    root: PathBuf,
    index: Option<PathBuf>,
    /// Git's own folder, where `root` is not the worktree that belongs to it.
    folder: Option<PathBuf>,
    identity: bool,
    /// A setting of this call.
    setting: Option<&'static str>,
    /// Settings that are to be false: configured hooks.
    hooks_off: Vec<OsString>,
}

/// The variable that holds the word for that.
const OFF: &str = "TRUNKLINE_OFF";

impl Git {
    pub(super) fn new(root: &Path) -> Self {
        Git {
            root: root.to_owned(),
            index: None,
            folder: None,
            identity: false,
            setting: None,
            hooks_off: Vec::new(),
        }
    }

    /// Returns what switches off the hooks of the configuration (git 2.54, 2026-04): they run wherever `core.hooksPath` points.
    /// Those that are configured later than this are not known.
    pub(super) fn configured_hooks(&self) -> Vec<OsString> {
        let question = ["config", "-z", "--name-only", "--get-regexp", r"^hook\..*\.(command|event)$"];
        let printed = self.find(&question, Vec::new()).ok().flatten().unwrap_or_default();
        let name = |key: &[u8]| Some(key.get(..key.iter().rposition(|byte| *byte == b'.')?)?.to_vec());
        let names: BTreeSet<Vec<u8>> = printed.split(|byte| *byte == 0).filter_map(name).collect();
        names.into_iter().map(|name| OsString::from_vec([name.as_slice(), b".enabled"].concat())).collect()
    }

    /// Runs none of these hooks.
    pub(super) fn without_hooks(mut self, hooks_off: &[OsString]) -> Self {
        self.hooks_off = hooks_off.to_vec();
        self
    }

    /// Works on another index than the user's.
    pub(super) fn with_index(mut self, index: &Path) -> Self {
        self.index = Some(index.to_owned());
        self
    }

    /// Works on other files than the user's.
    pub(super) fn in_worktree(mut self, files: &Path, folder: PathBuf) -> Self {
        self.root = files.to_owned();
        self.folder = Some(folder);
        self
    }

    /// Writes under a setting.
    pub(super) fn with_setting(mut self, setting: Option<&'static str>) -> Self {
        self.setting = setting;
        self
    }

    /// Commits under our own name, for those who told git none.
    pub(super) fn with_identity(mut self) -> Self {
        self.identity = true;
        self
    }

    /// Runs git to its end and returns what it printed.
    pub(super) fn run(&self, arguments: &[&str]) -> Result<Vec<u8>, WorkspaceFault> {
        self.run_with(arguments, Vec::new())
    }

    /// Runs git with input.
    pub(super) fn run_with(&self, arguments: &[&str], input: Vec<u8>) -> Result<Vec<u8>, WorkspaceFault> {
        succeeded(arguments, self.output(arguments, input)?)
    }

    /// Runs git with input where exit code 1 says that there is none of what was asked for.
    pub(super) fn find(&self, arguments: &[&str], input: Vec<u8>) -> Result<Option<Vec<u8>>, WorkspaceFault> {
        let output = self.output(arguments, input)?;
        match output.status.code() {
            // Of what is damaged git says so, and ends the same way. Traces that are configured say other things.
            Some(1) if !is_fault(&output.stderr) => Ok(None),
            _ => succeeded(arguments, output).map(Some),
        }
    }

    fn output(&self, arguments: &[&str], input: Vec<u8>) -> Result<Output, WorkspaceFault> {
        let mut child = self.spawn(arguments, Stdio::piped(), Stdio::piped())?;
        // Written beside the reading, or both could wait for each other.
        let mut stdin = child.stdin.take();
        let writer =
            std::thread::spawn(move || stdin.as_mut().map_or(Ok(()), |stdin| stdin.write_all(&input)));
        let output = child.wait_with_output().map_err(|error| broke(arguments, &error.to_string()))?;
        let _ = writer.join(); // git says itself if it missed something
        Ok(output)
    }

    /// Runs git and returns the first `limit` bytes of what it prints, cut at a line, with a mark.
    pub(super) fn run_at_most(&self, arguments: &[&str], limit: u64) -> Result<String, WorkspaceFault> {
        let mut child = self.spawn(arguments, Stdio::null(), Stdio::null())?;
        let mut printed = Vec::new();
        if let Some(stdout) = child.stdout.take() {
            stdout
                .take(limit + 1)
                .read_to_end(&mut printed)
                .map_err(|error| broke(arguments, &error.to_string()))?;
        }
        if u64::try_from(printed.len()).unwrap_or(u64::MAX) <= limit {
            let status = child.wait().map_err(|error| broke(arguments, &error.to_string()))?;
            if !status.success() {
                return Err(broke(arguments, &status.to_string()));
            }
            return Ok(text(&printed));
        }
        let _ = child.kill();
        let _ = child.wait();
        let end = printed.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        printed.truncate(end);
        Ok(format!("{}[the diff goes on; it was cut at {limit} bytes]\n", text(&printed)))
    }

    fn spawn(&self, arguments: &[&str], stdin: Stdio, stderr: Stdio) -> Result<Child, WorkspaceFault> {
        let mut command = Command::new("git");
        command.arg("-C").arg(&self.root);
        // What a repository's own configuration may name would be started without being asked for.
        for setting in [
            "core.hooksPath=/dev/null",
            "core.fsmonitor=false",
            "core.safecrlf=false",
            "advice.addEmbeddedRepo=false",
            "log.showSignature=false",
        ] {
            command.args(["-c", setting]);
        }
        // What is written and what is read is in this form, whatever form other commits have.
        for setting in ["trailer.separators=:", "i18n.commitEncoding=UTF-8", "i18n.logOutputEncoding=UTF-8"] {
            command.args(["-c", setting]);
        }
        if let Some(setting) = self.setting {
            command.args(["-c", setting]);
        }
        // Not by `-c`: a name may hold a `=`.
        for key in &self.hooks_off {
            let mut option = OsString::from("--config-env=");
            option.push(key);
            option.push("=");
            option.push(OFF);
            command.arg(option);
        }
        command.env(OFF, "false");
        if self.index.is_some() {
            // Else each look would leave a part of its index in the repository. The user's own stays as it is.
            command.args(["-c", "core.splitIndex=false"]);
        }
        for (variable, _) in std::env::vars_os() {
            let name = variable.to_string_lossy();
            let kept = KEPT.contains(&name.as_ref())
                || KEPT_BEGINNINGS.iter().any(|beginning| name.starts_with(beginning));
            if name.starts_with("GIT_") && !kept {
                command.env_remove(&variable);
            }
        }
        command.envs([("LC_ALL", "C"), ("GIT_TERMINAL_PROMPT", "0"), ("GIT_OPTIONAL_LOCKS", "0")]);
        if let Some(index) = &self.index {
            command.env("GIT_INDEX_FILE", index);
        }
        if let Some(folder) = &self.folder {
            command.env("GIT_DIR", folder).env("GIT_WORK_TREE", &self.root);
        }
        if self.identity {
            for role in ["AUTHOR", "COMMITTER"] {
                command.env(format!("GIT_{role}_NAME"), "Trunkline");
                command.env(format!("GIT_{role}_EMAIL"), "trunkline@localhost");
            }
        }
        command.args(arguments).stdin(stdin).stdout(Stdio::piped()).stderr(stderr);
        command.spawn().map_err(|error| match error.kind() {
            ErrorKind::NotFound => fault("git is not installed"),
            _ => fault(format!("git cannot be started: {error}")),
        })
    }
}

/// Reads bytes as text; what is not UTF-8 is replaced.
pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Whether git has said that something is amiss.
fn is_fault(said: &[u8]) -> bool {
    let mut lines = said.split(|byte| *byte == b'\n');
    lines.any(|line| line.starts_with(b"error:") || line.starts_with(b"fatal:"))
}

fn succeeded(arguments: &[&str], output: Output) -> Result<Vec<u8>, WorkspaceFault> {
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said = text(&output.stderr);
    let said: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    match said.as_slice() {
        [] => Err(broke(arguments, "it failed without a word")),
        // It says what to do about a disk that is full, or read-only.
        said => Err(fault(
            GitFault::Failed {
                command: (*arguments.first().unwrap_or(&"")).to_owned(),
                code: output.status.code(),
                said: said.join("; "),
            }
            .to_string(),
        )),
    }
}

fn broke(arguments: &[&str], why: &str) -> WorkspaceFault {
    fault(format!("git {}: {why}", arguments.first().unwrap_or(&"")))
}
