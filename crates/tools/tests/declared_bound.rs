//! What trust in a declared tool is bound to, as a person is told, and which programs cannot be one.

use std::fs;

use expect_test::expect;
use serde_json::{Value, json};
use trunkline_tools::{CodingTools, CommandPolicy};

use crate::declared::{declared, defined, only, project};
use crate::declared_runs::is_held;

#[test]
fn what_is_bound_is_told_before_it_is_trusted() {
    let of = |command: Value| {
        let scene = project(&[("say", defined(&json!({"command": command, "arguments": null})))]);
        scene.write("rules.txt", "a");
        let summary = only(&scene).summary().unwrap();
        let kept = |line: &&str| line.starts_with("  with ") || line.starts_with("nothing of the project");
        summary.lines().filter(kept).map(|line| format!("{line}\n")).collect::<String>()
    };
    let told = [
        json!(["sh", "-c", "true"]),
        json!(["sh", "--rules=rules.txt", "if=./rules.txt"]),
        json!(["sh", "out/report.txt", "--to=more.txt", "lint"]),
        json!(["./echo.sh", "-o", "/nowhere/x.txt"]),
    ]
    .map(of);
    expect![[r#"
        nothing of the project is bound: what the program reads here, such as a Makefile or a configuration, may change and the tool stays trusted; `files` in its definition binds it
        --
          with rules.txt as it is now (ca978112ca1b)
        --
          with out/report.txt, which is not there yet: the trust ends when it is made
          with more.txt, which is not there yet: the trust ends when it is made
        nothing of the project is bound: what the program reads here, such as a Makefile or a configuration, may change and the tool stays trusted; `files` in its definition binds it
        --
          with echo.sh as it is now (ce009c547ace)
    "#]].assert_eq(&told.join("--\n"));
}

#[test]
fn a_program_where_every_command_may_write_is_no_tool() {
    let scene = project(&[("say", defined(&json!({"command": ["sh", "-c", "true"], "arguments": null})))]);
    assert_eq!(declared(&scene).tools.len(), 1);
    let shell = fs::canonicalize("/bin/sh").unwrap();
    let mut policy = CommandPolicy::default();
    policy.also_writable = vec![shell.parent().unwrap().to_owned()];
    let found = CodingTools::new(scene.root()).unwrap().commands(policy).declared([]);
    if is_held(&scene) {
        let told = format!("lies in {}, where every command may write", shell.parent().unwrap().display());
        assert!(found.tools.is_empty() && found.refused[0].why.ends_with(&told), "{:?}", found.refused);
    }
}
