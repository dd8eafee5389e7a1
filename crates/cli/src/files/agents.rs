//! Which agents are known, and where each keeps its sessions on this machine.
//!
//! The places are those that the agents' own sources and documents name (read 2026-11); the variables that move them are
//! honoured. Nothing below is written.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// An agent whose sessions may lie on this machine.
pub(crate) struct Agent {
    /// What it is called here.
    pub(crate) name: &'static str,
    /// Folders and files where its sessions would be.
    places: fn(&Home) -> Vec<PathBuf>,
}

/// The folders that everything else lies in.
struct Home {
    home: PathBuf,
    config: PathBuf,
    data: PathBuf,
}

/// Returns the folder that a variable names; an empty one names none.
fn named(variable: impl AsRef<OsStr>) -> Option<PathBuf> {
    env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Whether an entry of the environment moves a folder that would otherwise lie in the home folder.
fn or(variable: &str, home: PathBuf) -> PathBuf {
    named(variable).unwrap_or(home)
}

/// All of them, those that are read first.
pub(crate) const AGENTS: &[Agent] = &[
    Agent {
        name: "claude-code",
        places: |at| {
            let moved = named("CLAUDE_CONFIG_DIR").map(|folder| vec![folder]);
            let folders = moved.unwrap_or_else(|| vec![at.home.join(".claude"), at.config.join("claude")]);
            folders.into_iter().map(|folder| folder.join("projects")).collect()
        },
    },
    Agent {
        name: "codex",
        places: |at| {
            let folder = or("CODEX_HOME", at.home.join(".codex"));
            vec![folder.join("sessions"), folder.join("archived_sessions")]
        },
    },
    Agent {
        name: "opencode",
        places: |at| {
            let folder = at.data.join("opencode");
            // Another channel of it has a file of another name.
            let database = or("OPENCODE_DB", folder.join("opencode.db"));
            vec![folder.join(database), folder.join("storage").join("session")]
        },
    },
    Agent {
        name: "pi",
        places: |at| {
            let folder = or("PI_CODING_AGENT_DIR", at.home.join(".pi").join("agent"));
            vec![or("PI_CODING_AGENT_SESSION_DIR", folder.join("sessions"))]
        },
    },
    Agent { name: "oh-my-pi", places: |at| vec![at.home.join(".omp").join("agent").join("sessions")] },
    Agent {
        name: "gemini-cli",
        places: |at| vec![or("GEMINI_CLI_HOME", at.home.clone()).join(".gemini").join("tmp")],
    },
    Agent {
        name: "goose",
        places: |at| {
            let data =
                named("GOOSE_PATH_ROOT").map_or_else(|| at.data.join("goose"), |root| root.join("data"));
            vec![data.join("sessions")]
        },
    },
    Agent { name: "Copilot CLI", places: |at| vec![at.home.join(".copilot").join("session-state")] },
    Agent { name: "Qwen Code", places: |at| vec![at.home.join(".qwen").join("projects")] },
    Agent { name: "Kimi CLI", places: |at| vec![at.home.join(".kimi").join("sessions")] },
    Agent { name: "OpenClaw", places: |at| vec![at.home.join(".openclaw").join("agents")] },
    Agent {
        name: "llm",
        places: |at| {
            let folder = or("LLM_USER_PATH", at.config.join("io.datasette.llm"));
            vec![folder.join("logs.db")]
        },
    },
];

/// Returns the agents that have something on this machine, each with the places that are there. Without a home folder there is
/// nothing to find.
pub(crate) fn found() -> Vec<(&'static Agent, Vec<PathBuf>)> {
    let Some(home) = named("HOME") else { return Vec::new() };
    let at = Home {
        config: or("XDG_CONFIG_HOME", home.join(".config")),
        data: or("XDG_DATA_HOME", home.join(".local").join("share")),
        home,
    };
    let there = AGENTS.iter().map(|agent| {
        let mut places = (agent.places)(&at);
        places.retain(|place| place.exists());
        (agent, places)
    });
    there.filter(|(_, places)| !places.is_empty()).collect()
}

/// Says where it was looked, for the case that nothing is there.
pub(crate) fn names() -> String {
    let names: Vec<&str> = AGENTS.iter().map(|agent| agent.name).collect();
    names.join(", ")
}

/// Whether a file can be a session or a database of sessions, by the end of its name.
pub(crate) fn may_hold_sessions(path: &Path) -> bool {
    let ends = |ending: &str| path.extension().is_some_and(|found| found == ending);
    ends("jsonl")
        || ends("json")
        || (ends("zst")
            && path
                .file_stem()
                .is_some_and(|stem| Path::new(stem).extension().is_some_and(|found| found == "jsonl")))
}

/// Whether a file is a database of an agent whose name says nothing of JSON.
pub(crate) fn may_be_database(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "db")
}
