//! What a command finds in its environment: its folder, and no other place.

use std::fs;
use std::process::Command;

use serde_json::json;

use crate::git_binding::Scene as Repository;
use crate::scene::{block_on, context, object};

const FOLDER: &str = "TRUNKLINE_TEST_COMMAND_FOLDER";
const COMMAND: &str = "TRUNKLINE_TEST_COMMAND";

/// Not a test of its own: what is started with other variables. Runs a command in a folder and says what came.
#[test]
fn child_that_runs_a_command() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let tools = trunkline_tools::CodingTools::new(&folder).unwrap().into_tools();
    let run = tools.iter().find(|tool| tool.spec().name == "run_command").unwrap();
    let arguments = object(json!({"command": std::env::var(COMMAND).unwrap()}));
    let output = block_on(run.run(arguments, &context(&trunkline_agent_traits::Cancel::new())));
    fs::write(format!("{folder}/said"), format!("{output:?}")).unwrap();
}

fn said(folder: &std::path::Path, command: &str, variables: &[(&str, &str)]) -> String {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "command_surroundings::child_that_runs_a_command"]);
    child.env(FOLDER, folder).env(COMMAND, command).envs(variables.iter().copied());
    let output = child.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    fs::read_to_string(folder.join("said")).unwrap()
}

#[test]
fn a_commit_of_a_command_is_one_in_its_folder() {
    let (here, other) = (Repository::new(), Repository::new());
    let of_other = other.root.join(".git").display().to_string();
    let before = (head(&here), head(&other));
    let variables = [
        ("GIT_DIR", of_other.clone()),
        ("GIT_INDEX_FILE", format!("{of_other}/index")),
        ("GIT_WORK_TREE", other.root.display().to_string()),
        ("GIT_OBJECT_DIRECTORY", format!("{of_other}/objects")),
        ("GIT_COMMON_DIR", of_other),
        ("GIT_PREFIX", "sub/".to_owned()),
        ("GIT_NAMESPACE", "other".to_owned()),
        ("GIT_CONFIG_PARAMETERS", format!("'core.worktree'='{}'", other.root.display())),
        ("GIT_CONFIG_COUNT", "2".to_owned()),
        ("GIT_CONFIG_KEY_0", "Core.Worktree".to_owned()),
        ("GIT_CONFIG_VALUE_0", other.root.display().to_string()),
        ("GIT_CONFIG_KEY_1", "user.name".to_owned()),
        ("GIT_CONFIG_VALUE_1", "Somebody Else".to_owned()),
    ];
    let variables: Vec<(&str, &str)> =
        variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
    said(&here.root, "echo 2 > new.txt && git add new.txt && git commit -qm by-the-run", &variables);
    assert_ne!(head(&here), before.0);
    assert_eq!(head(&other), before.1);
    // Who somebody is goes along.
    assert_eq!(asked(&here, &["log", "-1", "--format=%an"]), "Somebody Else\n");
}

fn head(repository: &Repository) -> String {
    asked(repository, &["rev-parse", "HEAD"])
}

fn asked(repository: &Repository, arguments: &[&str]) -> String {
    let mut git = Command::new("git");
    git.arg("-C").arg(&repository.root).args(arguments);
    String::from_utf8(git.output().unwrap().stdout).unwrap()
}

#[test]
fn other_programs_do_not_name_another_place_either_and_who_somebody_is_goes_along() {
    let folder = tempfile::tempdir().unwrap();
    let kept = [
        ("GIT_AUTHOR_NAME", "Ann"),
        ("GIT_SSH_COMMAND", "ssh -i key"),
        ("GIT_CONFIG_COUNT", "0"),
        ("GIT_CONFIG_PARAMETERS", "'user.name'='Ann'"),
        ("CARGO_TARGET_DIR", "/elsewhere"),
        ("VIRTUAL_ENV", "/elsewhere"),
    ];
    let gone = [
        ("OLDPWD", "/elsewhere"),
        ("CDPATH", "/elsewhere"),
        ("CARGO_MANIFEST_DIR", "/elsewhere"),
        ("MAKEFLAGS", " -j --jobserver-auth=3,4"),
        ("MAKELEVEL", "1"),
        ("INIT_CWD", "/elsewhere"),
        ("npm_config_local_prefix", "/elsewhere"),
        ("GIT_QUARANTINE_PATH", "/elsewhere"),
    ];
    let variables: Vec<(&str, &str)> = kept.into_iter().chain(gone).chain([("PWD", "/elsewhere")]).collect();
    let said = said(folder.path(), "env > all; pwd > where", &variables);
    let all = fs::read_to_string(folder.path().join("all")).unwrap();
    for (name, value) in kept {
        assert!(all.lines().any(|line| line == format!("{name}={value}")), "{name}: {said} {all}");
    }
    for (name, _) in gone {
        assert!(!all.lines().any(|line| line.starts_with(&format!("{name}="))), "{name}: {all}");
    }
    let here = folder.path().canonicalize().unwrap();
    assert_eq!(fs::read_to_string(folder.path().join("where")).unwrap().trim(), here.display().to_string());
    assert!(all.contains(&format!("PWD={}", here.display())), "{all}");
}
