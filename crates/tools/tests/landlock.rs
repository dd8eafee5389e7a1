//! Commands write where they may, if the kernel can hold them.

use std::fs;
use std::path::PathBuf;

use serde_json::json;
use trunkline_tools::{CodingTools, CommandPolicy};

use crate::scene::Scene;

fn policy(sandbox: bool) -> CommandPolicy {
    let mut policy = CommandPolicy::default();
    policy.sandbox = sandbox;
    policy
}

/// A path in a folder that this process may write and that is not in the temporary folder, which commands may write.
///
/// The checkout itself may be a temporary folder, so there is more than one candidate.
fn forbidden(name: &str) -> Option<PathBuf> {
    let candidates = [Some(env!("CARGO_MANIFEST_DIR").into()), std::env::home_dir(), Some("/var/tmp".into())];
    let temporary = fs::canonicalize(std::env::temp_dir()).unwrap();
    let path = |folder: PathBuf| folder.join(format!(".trunkline-test-{}-{name}", std::process::id()));
    let usable = |path: &PathBuf| fs::write(path, "").and_then(|()| fs::remove_file(path)).is_ok();
    let folders = candidates.into_iter().flatten().filter_map(|folder| fs::canonicalize(folder).ok());
    folders.filter(|folder| !folder.starts_with(&temporary)).map(path).find(usable)
}

#[test]
fn the_status_says_what_holds() {
    let folder = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(folder.path()).unwrap();
    let status = CodingTools::new(&root).unwrap().sandbox_status();
    if status.starts_with("commands run under Landlock ABI ") {
        let ends = format!(": writes limited to {}, {}", root.display(), std::env::temp_dir().display());
        assert!(status.ends_with(&ends), "{status}");
    } else {
        assert!(status.ends_with(": commands can write wherever you can"), "{status}");
    }
    let off = CodingTools::new(&root).unwrap().commands(policy(false)).sandbox_status();
    assert_eq!(off, "the sandbox is off: commands can write wherever you can");
}

#[test]
fn inside_everything_can_be_done_and_outside_nothing_written() {
    let scene = Scene::with(policy(true));
    let inside = "mkdir a && echo x > a/b && mv a/b c && ln -s c d && : > c && chmod 700 c && rm -r a c d && echo x > /dev/null";
    let said = scene.said("run_command", json!({"command": inside}));
    assert!(said.starts_with("exit code 0"), "{said}");
    if !CodingTools::new(scene.root()).unwrap().sandbox_status().contains("Landlock ABI") {
        eprintln!("SKIPPED: without Landlock nothing holds, as the status says");
        return;
    }
    let Some(forbidden) = forbidden("held") else {
        eprintln!("SKIPPED: there is no folder beside the temporary one that may be written");
        return;
    };
    for command in ["echo x >", "mkdir", "ln -s x"] {
        let output =
            scene.call("run_command", json!({"command": format!("{command} {}", forbidden.display())}));
        let said = scene.words(&output);
        assert!(output.is_error && !forbidden.exists(), "{said}");
        assert!(said.contains("ermission denied"), "{said}");
        assert!(said.contains("[commands run under Landlock ABI "), "the reason is told: {said}");
    }
    let read = format!("cat {}/Cargo.toml", env!("CARGO_MANIFEST_DIR"));
    assert!(!scene.call("run_command", json!({"command": read})).is_error, "reading is not limited");
}

#[test]
fn the_tools_themselves_are_not_limited_by_a_command() {
    let scene = Scene::with(policy(true));
    scene.call("run_command", json!({"command": "true"}));
    let Some(path) = forbidden("self") else { return };
    fs::write(&path, "x").unwrap();
    fs::remove_file(&path).unwrap();
}

#[test]
fn without_the_sandbox_a_command_writes_anywhere() {
    let scene = Scene::with(policy(false));
    let Some(path) = forbidden("off") else { return };
    let command = format!("echo x > {0} && rm {0}", path.display());
    let said = scene.said("run_command", json!({"command": command}));
    assert!(said.starts_with("exit code 0"), "{said}");
}

#[test]
fn more_folders_can_be_opened_for_writing() {
    let Some(path) = forbidden("more") else { return };
    let mut policy = policy(true);
    policy.also_writable.push(path.parent().unwrap().to_owned());
    let scene = Scene::with(policy);
    let command = format!("echo x > {0} && rm {0}", path.display());
    let said = scene.said("run_command", json!({"command": command}));
    assert!(said.starts_with("exit code 0"), "{said}");
}

/// Process, group, session and terminal of the shell that runs this, from the system (proc_pid_stat(5)).
const SESSION: &str = "cut -d' ' -f1,5,6,7 /proc/$$/stat";

#[test]
fn a_command_has_a_session_of_its_own_and_no_terminal() {
    let scene = Scene::new();
    let said = scene.said("run_command", json!({ "command": SESSION }));
    let line = said.lines().nth(1).unwrap();
    let pid = line.split(' ').next().unwrap();
    assert_eq!(line, format!("{pid} {pid} {pid} 0"), "{said}");
    let said = scene.said("run_command", json!({"command": ": < /dev/tty"}));
    assert!(said.contains("cannot open /dev/tty") || said.contains("No such device"), "{said}");
}
