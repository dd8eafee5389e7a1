//! Limits what a command may write, with Landlock, where the kernel has it.
//!
//! Reading, the network, signals and sockets stay open to commands; this keeps a mistaken one from doing harm by writing, not a
//! malicious one from leaking. A program that runs unasked, since it only reads, is held to more where the kernel can do it:
//! it asks devices for nothing, signals nobody else, and reaches no services by their sockets.

use std::path::{Path, PathBuf};

use crate::CommandPolicy;
use crate::shown;

/// The devices that programs write to without meaning anything by it.
#[cfg(target_os = "linux")]
const DEVICES: [&str; 7] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/ptmx", "/dev/pts", "/dev/shm"];

/// Those of them that keep nothing and that nobody else sees.
#[cfg(target_os = "linux")]
const SINKS: [&str; 3] = ["/dev/null", "/dev/zero", "/dev/full"];

/// From which version on nothing is missing that changes what is in a file: 3 has truncation.
#[cfg(target_os = "linux")]
const WHOLE: i32 = 3;
/// From which version on it can be kept from signalling what it has not started (Linux 6.12).
const SIGNALS: i32 = 6;
/// From which version on it can be kept from sockets that are files.
const SOCKETS: i32 = 9;

/// What holds commands in.
#[derive(Clone, Debug)]
pub(crate) enum Sandbox {
    /// Nothing, because the policy says so.
    Off,
    /// Nothing, because it cannot be done here.
    Missing(&'static str),
    /// Landlock.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only Linux has Landlock"))]
    Landlock {
        /// The version of the kernel's interface, as far as it is known here.
        abi: i32,
        /// What may be written.
        writable: Vec<PathBuf>,
        /// Which devices too.
        devices: &'static [&'static str],
        /// Whether all is limited that the kernel can limit beside reading and the network.
        reads: bool,
    },
}

impl Sandbox {
    /// Finds out what this machine can do and what the policy wants.
    pub(crate) fn choose(root: &Path, policy: &CommandPolicy) -> Self {
        if !policy.sandbox {
            return Sandbox::Off;
        }
        let mut writable = vec![root.to_owned(), std::env::temp_dir()];
        writable.extend(policy.also_writable.iter().cloned());
        find(writable)
    }

    pub(crate) fn is_on(&self) -> bool {
        matches!(self, Sandbox::Landlock { .. })
    }

    /// Returns the folders, links resolved, in which every command may write beside the workspace.
    pub(crate) fn writable_beside(&self, root: &Path) -> impl Iterator<Item = PathBuf> {
        let always = [std::env::temp_dir(), PathBuf::from("/dev/shm")];
        let more = match self {
            Sandbox::Landlock { writable, .. } => writable.clone(),
            Sandbox::Off | Sandbox::Missing(_) => Vec::new(),
        };
        // What is not there has nothing in it.
        let there = always.into_iter().chain(more).filter_map(|folder| std::fs::canonicalize(folder).ok());
        let root = root.to_owned();
        there.filter(move |folder| *folder != root)
    }

    /// Returns limits under which nothing but one folder can be written; `None` where the system cannot hold a program to that.
    pub(crate) fn nothing_but(&self, folder: &Path) -> Option<Self> {
        match self {
            #[cfg(target_os = "linux")]
            Sandbox::Landlock { abi, .. } if *abi >= WHOLE => {
                let writable = vec![folder.to_owned()];
                Some(Sandbox::Landlock { abi: *abi, writable, devices: &SINKS, reads: true })
            }
            _ => None,
        }
    }

    /// Whether there are such limits.
    pub(crate) fn holds_readers(&self) -> bool {
        self.nothing_but(Path::new("/")).is_some()
    }

    /// Says in one line what a program that is held to reading can do nevertheless.
    pub(crate) fn open_to_readers(&self) -> String {
        let abi = if let Sandbox::Landlock { abi, .. } = self { *abi } else { 0 };
        let mut open = "can read what you can, and use the network".to_owned();
        if abi < SOCKETS {
            open.push_str("; can ask services that listen at a socket (docker, D-Bus, tmux) to write for it");
        }
        if abi < SIGNALS {
            open.push_str("; can signal your other processes");
        }
        open
    }

    /// Returns one line for people.
    pub(crate) fn describe(&self) -> String {
        match self {
            Sandbox::Off => "the sandbox is off: commands can write wherever you can".to_owned(),
            Sandbox::Missing(why) => format!("{why}: commands can write wherever you can"),
            Sandbox::Landlock { abi, writable, .. } => {
                let folders: Vec<String> =
                    writable.iter().map(|folder| shown::name(&folder.display().to_string())).collect();
                format!("commands run under Landlock ABI {abi}: writes limited to {}", folders.join(", "))
            }
        }
    }

    /// Limits the current thread and what it starts, for ever.
    pub(crate) fn enter(&self) -> Result<(), String> {
        match self {
            Sandbox::Off | Sandbox::Missing(_) => Ok(()),
            #[cfg(target_os = "linux")]
            Sandbox::Landlock { writable, devices, reads, .. } => {
                let held = restrict(writable, devices, *reads)
                    .map_err(|error| format!("the sandbox cannot be entered: {error}"))?;
                // It was there when the tools were made; to run without it now would be a silent change.
                if held.ruleset == landlock::RulesetStatus::NotEnforced {
                    return Err("the sandbox cannot be entered: the kernel does not enforce it".to_owned());
                }
                Ok(())
            }
            #[cfg(not(target_os = "linux"))]
            Sandbox::Landlock { .. } => {
                Err("the sandbox cannot be entered: no Landlock on this system".to_owned())
            }
        }
    }
}

#[cfg(target_os = "linux")]
fn find(writable: Vec<PathBuf>) -> Sandbox {
    use landlock::LandlockStatus;

    // There is no way to ask without entering, and no way back; so a thread enters and ends.
    let tried = writable.clone();
    let held = std::thread::Builder::new()
        .spawn(move || restrict(&tried, &DEVICES, false))
        .map(std::thread::JoinHandle::join);
    match held {
        Ok(Ok(Ok(held))) => match held.landlock {
            LandlockStatus::Available { effective_abi, .. } => {
                let abi = effective_abi as i32;
                Sandbox::Landlock { abi, writable, devices: &DEVICES, reads: false }
            }
            LandlockStatus::NotEnabled => Sandbox::Missing("Landlock is not enabled in this kernel"),
            LandlockStatus::NotImplemented => Sandbox::Missing("no Landlock in this kernel"),
        },
        _ => Sandbox::Missing("Landlock cannot be used here"),
    }
}

#[cfg(not(target_os = "linux"))]
fn find(_writable: Vec<PathBuf>) -> Sandbox {
    Sandbox::Missing("no Landlock on this system")
}

#[cfg(target_os = "linux")]
fn restrict(
    writable: &[PathBuf],
    devices: &[&str],
    reads: bool,
) -> Result<landlock::RestrictionStatus, landlock::RulesetError> {
    use landlock::{
        ABI, Access, AccessFs, Ruleset, RulesetAttr, RulesetCreatedAttr, Scope, path_beneath_rules,
    };

    // V3 (Linux 6.2) has all that concerns files; an older kernel enforces what it knows of it. What later versions add would
    // keep commands from what they are asked to do, such as from graphics cards; who only reads needs none of it.
    let (write, ruleset) = match reads {
        false => (AccessFs::from_write(ABI::V3), Ruleset::default()),
        true => (AccessFs::from_write(ABI::V9), Ruleset::default().scope(Scope::from_all(ABI::V9))?),
    };
    ruleset
        .handle_access(write)?
        .create()?
        .add_rules(path_beneath_rules(writable, write))?
        .add_rules(path_beneath_rules(devices, write))?
        .restrict_self()
}
