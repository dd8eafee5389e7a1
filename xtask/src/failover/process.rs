//! Processes of servers: who they run as, who their children are, and signals.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::cargo::{cannot_start, text_of};

/// Returns where a program is. Debian keeps HAProxy off the path of people who are not root.
pub(super) fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin", "/sbin"].map(PathBuf::from));
    folders.map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// Whom servers run as: PostgreSQL refuses root.
pub(super) struct Servers {
    /// User and group, if we are root.
    user: Option<(String, String)>,
}

impl Servers {
    pub(super) fn of_this_machine() -> Result<Servers, String> {
        let id = |words: &[&str]| text_of(Command::new("id").args(words)).map(|text| text.trim().to_owned());
        if id(&["-u"])? != "0" {
            return Ok(Servers { user: None });
        }
        let user = if id(&["-u", "postgres"]).is_ok() { "postgres" } else { "nobody" };
        Ok(Servers { user: Some((id(&["-u", user])?, id(&["-g", user])?)) })
    }

    /// The words before a server's own.
    pub(super) fn prefix(&self) -> Vec<String> {
        let Some((user, group)) = &self.user else { return Vec::new() };
        let words =
            ["setpriv", &format!("--reuid={user}"), &format!("--regid={group}"), "--clear-groups", "--"];
        words.map(str::to_owned).to_vec()
    }

    /// Makes a folder that only servers use.
    pub(super) fn folder(&self, folder: &Path) -> Result<(), String> {
        fs::create_dir(folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
        self.own(folder)
    }

    /// Gives a file or folder to the servers.
    pub(super) fn own(&self, path: &Path) -> Result<(), String> {
        let Some((user, group)) = &self.user else { return Ok(()) };
        text_of(Command::new("chown").arg(format!("{user}:{group}")).arg(path)).map(drop)
    }
}

/// Starts a server whose words go to a log; its number is left beside it for who cleans up.
pub(super) fn start(words: &[String], folder: &Path, log: &Path) -> Result<Child, String> {
    let [program, arguments @ ..] = words else { return Err("nothing to start".to_owned()) };
    let problem = |error| format!("cannot write {}: {error}", log.display());
    let file = File::options().append(true).create(true).open(log).map_err(problem)?;
    let same = file.try_clone().map_err(problem)?;
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder).stdin(Stdio::null()).stdout(file).stderr(same);
    command.env("HOME", folder);
    let child = command.spawn().map_err(|error| cannot_start(&command, &error))?;
    fs::write(log.with_extension("pid"), child.id().to_string()).map_err(problem)?;
    Ok(child)
}

/// Sends a signal to processes, all in one go. One that has ended meanwhile is no problem.
pub(super) fn signal(name: &str, processes: &[u32]) {
    if processes.is_empty() {
        return;
    }
    let numbers = processes.iter().map(u32::to_string);
    // The shell's own word, so that no package is needed for it.
    let mut command = Command::new("sh");
    command.args(["-c", "kill -s \"$@\"", "sh", name]).args(numbers).stderr(Stdio::null());
    let _ended_or_not = command.status();
}

/// Returns the children of processes, their children, and so on.
pub(super) fn below(processes: &[u32]) -> Vec<u32> {
    let parents = parents();
    let mut found = processes.to_vec();
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        let children: Vec<u32> = parents
            .iter()
            .filter(|(process, its)| **its == parent && !found.contains(process))
            .map(|(process, _)| *process)
            .collect();
        found.extend(children);
        next += 1;
    }
    found.split_off(processes.len())
}

/// Returns the processes among some whose command line has a word in it.
pub(super) fn called(processes: &[u32], word: &str) -> Vec<u32> {
    let says = |process: &u32| {
        let line = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(word)
    };
    processes.iter().copied().filter(says).collect()
}

fn parents() -> BTreeMap<u32, u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    numbers
        .filter_map(|process| {
            let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
            Some((process, parent(&stat)?))
        })
        .collect()
}

/// Reads the parent out of `4711 (a name) S 1 …`; the name may hold anything.
fn parent(stat: &str) -> Option<u32> {
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_hides_no_parent() {
        assert_eq!(parent("4711 (odd) name) S 12 4711 4711 0"), Some(12));
        assert_eq!(parent("4711"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn children_are_found_and_end_by_a_signal() {
        let mut child = Command::new("sh").args(["-c", "sleep 60; true"]).spawn().unwrap();
        let mut found = Vec::new();
        for _ in 0..500 {
            found = below(&[child.id()]);
            if !found.is_empty() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        assert_eq!(called(&found, "60").len(), 1);
        signal("KILL", &[&[child.id()], found.as_slice()].concat());
        assert!(!child.wait().unwrap().success());
    }
}
