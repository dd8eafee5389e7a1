//! What cannot come of a wish is told before a model is asked, and files that editors have marked are read.

use serde_json::Value;

use crate::binding::{Wrapper, git, make};
use crate::fake::{Scene, calls, says};

fn writes() -> Vec<crate::fake::Answer> {
    vec![calls("write_file", r#"{"path":"a.txt","content":"new\n"}"#), says("Written.")]
}

#[test]
fn a_commit_that_cannot_be_made_is_refused_with_the_reason() {
    let (scene, endpoint) = Scene::with(writes());
    let run = ["run", "write a.txt", "--yes", "--commit"];
    let said = scene.run(&run);
    assert_eq!(said.exit, Some(2), "{}", said.err);
    assert!(said.err.contains("--commit needs a git repository, and this folder is in none"), "{}", said.err);
    // As git says it of a folder that is somebody else's.
    make(&scene.work(), "init -q -b main");
    let words = "fatal: detected dubious ownership in repository";
    let other =
        Wrapper::new(&scene, &format!("case \"$*\" in *rev-parse*) echo \"{words}\" >&2; exit 128;; esac"));
    let said = scene.said(other.put(scene.command(&run)).output().expect("it runs"));
    assert_eq!(said.exit, Some(2), "{}", said.err);
    assert!(
        said.err.contains("nothing can be committed") && said.err.contains("dubious ownership"),
        "{}",
        said.err
    );
    // A bare repository, and git's own folder.
    let bare = scene.path("bare");
    std::fs::create_dir(&bare).expect("made");
    let mut init = std::process::Command::new("git");
    assert!(
        init.args(["init", "-q", "--bare", "."]).current_dir(&bare).status().expect("git runs").success()
    );
    for (folder, words) in [(bare, "bare repository"), (scene.work().join(".git"), "git's own folder")] {
        let said = scene.run(&[&run[..], &["-C", folder.to_str().expect("a plain path")]].concat());
        assert_eq!(said.exit, Some(2), "{}", said.err);
        assert!(said.err.contains(words), "{}", said.err);
    }
    assert!(endpoint.requests().is_empty(), "no model was asked");
}

#[test]
fn an_unborn_branch_takes_a_commit_without_a_word() {
    let (scene, _endpoint) = Scene::with(writes());
    let mut init = std::process::Command::new("git");
    assert!(init.args(["init", "-q", "."]).current_dir(scene.work()).status().expect("git runs").success());
    let said = scene.run(&["run", "write a.txt", "--yes", "--commit"]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    assert!(said.err.contains("◆ commit: ") && !said.err.contains("note:"), "{}", said.err);
}

#[test]
fn commits_without_signature_and_hooks_are_told_beforehand() {
    let hook = |scene: &Scene, folder: &str| {
        use std::os::unix::fs::PermissionsExt;
        let hook = scene.work().join(folder).join("pre-commit");
        std::fs::create_dir_all(hook.parent().expect("a folder")).expect("made");
        std::fs::write(&hook, "#!/bin/sh\nexit 1\n").expect("written");
        std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).expect("set");
    };
    let none: fn(&Scene) = |_| {};
    let signs: fn(&Scene) = |scene| drop(git(scene, "config commit.gpgsign true"));
    let both: fn(&Scene) = |scene| {
        git(scene, "config commit.gpgsign true");
        git(scene, "config core.hooksPath tools/hooks");
    };
    for (set, hooks, told) in [
        (none, None, None),
        (
            signs,
            None,
            Some("this repository wants signed commits (commit.gpgSign); commits of a run are not signed"),
        ),
        (
            none,
            Some(".git/hooks"),
            Some("this repository has hooks (pre-commit); commits of a run run no hooks"),
        ),
        (
            both,
            Some("tools/hooks"),
            Some(
                "this repository wants signed commits (commit.gpgSign) and has hooks (pre-commit); \
                 commits of a run are not signed and run no hooks",
            ),
        ),
    ] {
        let (scene, _endpoint) = Scene::with(writes().into_iter().chain(writes()).collect());
        make(&scene.work(), "init -q -b main");
        set(&scene);
        if let Some(folder) = hooks {
            hook(&scene, folder);
        }
        let said = scene.run(&["run", "write a.txt", "--yes", "--commit"]);
        assert_eq!(said.exit, Some(0), "{}", said.err);
        let note = said.err.lines().find(|line| line.starts_with("note: "));
        assert_eq!(note, told.map(|told| format!("note: {told}")).as_deref(), "{}", said.err);
        let before = said.err.find("note: ") < said.err.find("write_file");
        assert!(before || told.is_none(), "{}", said.err);
        std::fs::remove_file(scene.work().join("a.txt")).expect("removed");
        let out = scene.run(&["run", "write a.txt", "--yes", "--commit", "--json"]).out;
        let json: Value = serde_json::from_str(&out).expect("JSON");
        assert_eq!(json.get("notes"), told.map(|told| serde_json::json!([told])).as_ref());
    }
}

#[test]
fn without_git_no_lines_are_counted_and_nothing_is_called_no_text() {
    let (scene, _endpoint) = Scene::with(writes());
    scene.ok(&["run", "write a.txt", "--yes", "-q"]);
    let shown = scene.ok(&["decisions", "last"]);
    assert!(shown.contains("A a.txt  lines not counted") && !shown.contains("not text"), "{shown}");
    assert!(shown.contains("1 file\n") && !shown.contains("+0"), "{shown}");
    // What git calls binary still is.
    let arguments = r#"{"command":"printf 'a\\000b' > b.bin"}"#;
    let (scene, _endpoint) = Scene::with(vec![calls("run_command", arguments), says("Written.")]);
    make(&scene.work(), "init -q -b main");
    scene.ok(&["run", "write b.bin", "--yes", "-q"]);
    let shown = scene.ok(&["decisions", "last"]);
    assert!(shown.contains("A b.bin  not text"), "{shown}");
}

#[test]
fn a_mark_at_the_beginning_is_passed_over_on_every_input() {
    let marked = |text: &str| format!("\u{feff}{text}");
    let (scene, endpoint) = Scene::with(vec![says("Hello."), says("Hello again.")]);
    let path = |name: &str| scene.path(name).display().to_string();
    let rules = r#"{"rules":[{"verdict":"deny","tool":"run_command"}]}"#;
    std::fs::write(scene.path("p.json"), marked(rules)).expect("written");
    std::fs::write(scene.path("system"), marked("Be brief.")).expect("written");
    std::fs::write(scene.path("prompt"), marked("say hello")).expect("written");
    let (policy, system) = (path("p.json"), path("system"));
    let mut command = scene.command(&[
        "run",
        "-",
        "--policy",
        &policy,
        "--system",
        &system,
        "-q",
        "--record",
        &path("tape"),
    ]);
    command.stdin(std::fs::File::open(scene.path("prompt")).expect("it opens"));
    let said = scene.said(command.output().expect("it runs"));
    assert_eq!(said.exit, Some(0), "{}", said.err);
    let request = &endpoint.requests()[0];
    assert!(request.contains("Be brief.") && request.contains("say hello"), "{request}");
    assert!(!request.contains('\u{feff}') && !request.contains("ufeff"), "{request}");
    // A tape, and exports, also one behind another.
    let tape = std::fs::read_to_string(scene.path("tape")).expect("it is there");
    std::fs::write(scene.path("marked"), marked(&tape)).expect("written");
    let said = scene.run(&["run", "say hello", "--replay", &path("marked"), "--system", &system, "-q"]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    let export = |id: &String| scene.command(&["export", id]).output().expect("it runs").stdout;
    let exports: Vec<String> =
        scene.ids().iter().map(|id| marked(&String::from_utf8(export(id)).expect("UTF-8"))).collect();
    assert_eq!(exports.len(), 2);
    let elsewhere = Scene::new();
    elsewhere.import(&exports.concat());
    assert_eq!(elsewhere.ids().len(), 2);
    // What is no UTF-8 is named.
    let wide: Vec<u8> = marked(rules).encode_utf16().flat_map(u16::to_le_bytes).collect();
    std::fs::write(scene.path("p.json"), wide).expect("written");
    let said = scene.run(&["run", "x", "--policy", &policy]);
    assert!(said.exit == Some(2) && said.err.contains("it is UTF-16; save it as UTF-8"), "{}", said.err);
}

#[test]
fn what_nobody_can_see_is_spelled_out_where_it_waits() {
    let hidden = "ECHO\u{200b}\u{2060}\u{ad}\u{3164}\u{e003b}";
    let shown = r"ECHO\u{200b}\u{2060}\u{ad}\u{3164}\u{e003b}";
    let command = serde_json::json!({ "command": format!("echo {hidden}") }).to_string();
    let (scene, _endpoint) = Scene::with(vec![calls("run_command", &command), says("Done.")]);
    let said = scene.run(&["run", hidden]);
    let is_seen = |text: &str| !text.contains(['\u{200b}', '\u{2060}', '\u{ad}', '\u{3164}', '\u{e003b}']);
    assert!(is_seen(&said.err) && said.err.contains(shown), "{}", said.err);
    for command in [&["resolve"][..], &["resolve", "p1"], &["sessions"], &["show"], &["tree"]] {
        let told = scene.ok(command);
        assert!(is_seen(&told) && told.contains(shown), "{command:?}: {told}");
    }
    // A reason in a rule, and a path.
    let told = scene.ok(&["rules", "add", "deny", "--path", &format!("a{hidden}"), "--reason", hidden]);
    assert!(is_seen(&told), "{told}");
}

#[test]
fn a_rule_sees_a_command_through_the_options_of_its_program() {
    let (scene, _endpoint) =
        Scene::with(vec![calls("run_command", r#"{"command":"git -C . push"}"#), says("Done.")]);
    let rules = r#"{"rules":[{"verdict":"allow","tool":"run_command"},
        {"verdict":"deny","target":{"command":{"words":["git","push"]}},"reason":"no"}]}"#;
    std::fs::write(scene.path("p.json"), rules).expect("written");
    let said = scene.run(&["run", "push", "--policy", &scene.path("p.json").display().to_string()]);
    assert!(said.err.contains("not run: forbidden by r2 (no)"), "{}", said.err);
}
