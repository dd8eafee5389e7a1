//! Limits what a command may write, with Landlock, where the kernel has it.
//!
//! Reading, the network, signals and sockets stay open; this keeps a mistaken command from doing harm by writing, not a
//! malicious one from leaking.

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

    /// Returns limits under which nothing but one folder can be written; `None` where the system cannot hold a program to that.
    pub(crate) fn nothing_but(&self, folder: &Path) -> Option<Self> {
        match self {
            #[cfg(target_os = "linux")]
            Sandbox::Landlock { abi, .. } if *abi >= WHOLE => {
                Some(Sandbox::Landlock { abi: *abi, writable: vec![folder.to_owned()], devices: &SINKS })
            }
            _ => None,
        }
    }

    /// Whether there are such limits.
    pub(crate) fn holds_readers(&self) -> bool {
        self.nothing_but(Path::new("/")).is_some()
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
            Sandbox::Landlock { writable, devices, .. } => {
                let held = restrict(writable, devices)
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
        .spawn(move || restrict(&tried, &DEVICES))
        .map(std::thread::JoinHandle::join);
    match held {
        Ok(Ok(Ok(held))) => match held.landlock {
            LandlockStatus::Available { effective_abi, .. } => {
                Sandbox::Landlock { abi: effective_abi as i32, writable, devices: &DEVICES }
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
) -> Result<landlock::RestrictionStatus, landlock::RulesetError> {
    use landlock::{ABI, AccessFs, Ruleset, RulesetAttr, RulesetCreatedAttr, path_beneath_rules};

    // V3 (Linux 6.2) has all that concerns files; an older kernel enforces what it knows of it. Later versions add
    // device controls and the network, which are not limited here.
    let write = AccessFs::from_write(ABI::V3);
    Ruleset::default()
        .handle_access(write)?
        .create()?
        .add_rules(path_beneath_rules(writable, write))?
        .add_rules(path_beneath_rules(devices, write))?
        .restrict_self()
}
