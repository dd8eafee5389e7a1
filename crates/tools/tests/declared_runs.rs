//! Declared tools are called: what is trusted runs, held to what it declares, and nothing else does.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use expect_test::expect;
use serde_json::{Value, json};
use trunkline_agent_traits::resolve_queue::Effect;
use trunkline_agent_traits::{Access, Cancel, EffectClass, Tool, ToolOutput};
use trunkline_tools::{CodingTools, CommandPolicy, Trust, TrustError, TrustedTools};

use crate::declared::{declared, defined, only, project, script};
use crate::scene::{Scene, block_on, context, object};

fn trusted(scene: &Scene) -> TrustedTools {
    TrustedTools::at(scene.outside("data/trunkline/trusted_tools.json"))
}

/// Trusts the only tool of a project as it is, and returns it.
fn tool(scene: &Scene) -> Box<dyn Tool> {
    let tool = only(scene);
    trusted(scene).give(&tool, &tool.digest().unwrap(), 1).unwrap();
    tool.into_tool(trusted(scene))
}

fn call(tool: &dyn Tool, arguments: Value) -> ToolOutput {
    block_on(tool.run(object(arguments), &context(&Cancel::new())))
}

fn said(scene: &Scene, tool: &dyn Tool, arguments: Value) -> String {
    let said = scene.words(&call(tool, arguments));
    // The time that it took.
    match said.split_once("after ").and_then(|(before, rest)| Some((before, rest.split_once(" s")?.1))) {
        Some((before, rest)) => format!("{before}after N s{rest}"),
        None => said,
    }
}

/// Whether this system can hold a tool to reading.
#[expect(clippy::print_stderr, reason = "whoever runs the tests must see what was not tried")]
pub(crate) fn is_held(scene: &Scene) -> bool {
    let is_held = CodingTools::new(scene.root()).unwrap().sandbox_status().contains("Landlock ABI");
    if !is_held {
        eprintln!("SKIPPED: without Landlock nothing is tried of what holds a tool to reading");
    }
    is_held
}

#[test]
fn each_argument_is_a_word_whatever_is_in_it() {
    let scene = project(&[("say", defined(&json!({})))]);
    let tool = tool(&scene);
    for word in ["a b", "$(touch x); `id` && echo", "'\"\\", "*", "", "-rf", "--", "a\nb"] {
        let said = said(&scene, tool.as_ref(), json!({ "word": word }));
        assert_eq!(said, format!("exit code 0 after N s\n--\n{word}\n"));
    }
    assert!(!scene.root().join("x").exists());
}

#[test]
fn numbers_and_lists_are_words_too() {
    let arguments = json!({"type": "object", "required": ["a", "b", "c"], "properties": {
        "a": {"type": "integer"}, "b": {"type": "boolean"}, "c": {"type": "array", "items": {"type": "string"}}}});
    let scene = project(&[(
        "say",
        defined(&json!({ "arguments": arguments, "command": ["./echo.sh", "{a}", "{c}", "{b}", "end"] })),
    )]);
    let said = said(&scene, tool(&scene).as_ref(), json!({"a": 5, "b": true, "c": ["x y", "z"]}));
    assert_eq!(said, "exit code 0 after N s\n5\nx y\nz\ntrue\nend\n");
}

#[test]
fn what_begins_with_a_dash_is_refused_where_it_could_be_an_option() {
    let list = json!({"type": "object", "properties": {"word": {"type": "array", "items": {"type": "string"}}}, "required": ["word"]});
    let scene = project(&[("say", defined(&json!({"command": ["./echo.sh", "{word}"], "arguments": list})))]);
    let refusing = tool(&scene);
    let refused =
        "error: the argument \"word\" begins with a dash, and this tool takes no options there: --output=x\n";
    assert_eq!(said(&scene, refusing.as_ref(), json!({"word": ["a", "--output=x"]})), refused);
    let scene = project(&[(
        "say",
        defined(&json!({"command": ["./echo.sh", "{word}"], "may_begin_with_dash": ["word"]})),
    )]);
    assert_eq!(said(&scene, tool(&scene).as_ref(), json!({"word": "-n"})), "exit code 0 after N s\n-n\n");
    for (word, why) in [("a\0b", "NUL byte"), (&*"x".repeat(100_001), "100001 bytes")] {
        let said = said(&scene, tool(&scene).as_ref(), json!({ "word": word }));
        assert!(said.starts_with("error: the argument \"word\" has ") && said.contains(why), "{said}");
    }
}

#[test]
fn arguments_come_as_json_and_the_environment_holds_no_secrets() {
    let scene = project(&[(
        "say",
        defined(&json!({"command": ["./show.sh"], "stdin": "json", "environment": ["CARGO_MANIFEST_DIR"]})),
    )]);
    script(&scene, "show.sh", "#!/bin/sh\ncat; echo; pwd; env | cut -d= -f1 | sort\n");
    let said = said(&scene, tool(&scene).as_ref(), json!({"word": "a\"b"}));
    assert!(said.starts_with("exit code 0 after N s\n{\"word\":\"a\\\"b\"}\n/folder\n"), "{said}");
    let known = [
        "CARGO_MANIFEST_DIR",
        "HOME",
        "LANG",
        "LANGUAGE",
        "LOGNAME",
        "OLDPWD",
        "PATH",
        "PWD",
        "RUN_COMMAND_ID",
        "SHELL",
        "SHLVL",
        "TERM",
        "TMPDIR",
        "TZ",
        "USER",
        "_",
    ];
    let names: Vec<&str> = said.lines().skip(3).collect();
    assert!(names.contains(&"CARGO_MANIFEST_DIR") && names.contains(&"PATH"), "{said}");
    let odd: Vec<&&str> =
        names.iter().filter(|name| !known.contains(*name) && !name.starts_with("LC_")).collect();
    assert_eq!(odd, Vec::<&&str>::new(), "this test runs with many more, as CARGO_PKG_NAME");
}

#[test]
fn what_is_declared_to_read_can_write_nothing_but_its_temporary_folder() {
    let scene = project(&[("say", defined(&json!({"command": ["./write.sh", "--", "{word}"]})))]);
    script(&scene, "write.sh", "#!/bin/sh\nshift\necho x > \"$1\" && echo written\n");
    let tool = tool(&scene);
    if !is_held(&scene) {
        assert_eq!(tool.access(), Access::Exclusive);
        return;
    }
    assert_eq!(tool.access(), Access::ReadOnly);
    let gate = tool.gate(&object(json!({"word": "a"}))).unwrap();
    assert!(gate.runs_unasked && gate.effect == Effect::Pure, "it runs unasked, unless a rule forbids it");
    assert_eq!(gate.command.as_deref(), Some("./write.sh -- a"));
    assert_eq!(tool.effects(&object(json!({"word": "a"}))).class, EffectClass::Pure);
    for place in [
        "x",
        "echo.sh",
        ".trunkline/tools/say.json",
        scene.outside("y").to_str().unwrap(),
        "/tmp/trunkline-z",
        "/dev/shm/trunkline-z",
    ] {
        let said = said(&scene, tool.as_ref(), json!({ "word": place }));
        assert!(
            said.contains("ermission denied") && said.contains("can write nothing but temporary files"),
            "{place}: {said}"
        );
    }
    assert!(!scene.root().join("x").exists() && !scene.outside("y").exists());
    script(
        &scene,
        "write.sh",
        "#!/bin/sh\necho x > \"$TMPDIR/a\" && cat \"$TMPDIR/a\" && echo \"$TMPDIR\" && echo y > /dev/null\n",
    );
    let again = only(&scene);
    trusted(&scene).give(&again, &again.digest().unwrap(), 2).unwrap();
    let said = scene.words(&call(again.into_tool(trusted(&scene)).as_ref(), json!({"word": "a"})));
    let folder = said.lines().nth(2).unwrap();
    assert!(said.contains("\nx\n") && !fs::exists(folder).unwrap(), "{said}");
}

#[test]
fn what_is_declared_to_read_neither_types_for_the_person_nor_signals_others() {
    let scene = project(&[("say", defined(&json!({"command": ["./look.sh", "--", "{word}"]})))]);
    let look = "#!/bin/sh\ncut -d' ' -f1,5,6,7 /proc/$$/stat\nkill -0 $PPID && echo signalled\nstty -F /dev/ptmx size && echo asked\n:\n";
    script(&scene, "look.sh", look);
    let tool = tool(&scene);
    let said = said(&scene, tool.as_ref(), json!({"word": "a"}));
    let line = said.lines().nth(1).unwrap();
    let pid = line.split(' ').next().unwrap();
    assert_eq!(line, format!("{pid} {pid} {pid} 0"), "{said}");
    let summary = only(&scene).summary().unwrap();
    if !is_held(&scene) {
        return;
    }
    // What the kernel cannot hold is told before it is trusted.
    assert_eq!(
        said.contains("\nsignalled"),
        summary.contains("can signal your other processes"),
        "{said}{summary}"
    );
    let abi = CodingTools::new(scene.root()).unwrap().sandbox_status();
    let abi: u32 = abi.split("ABI ").nth(1).unwrap().split(':').next().unwrap().parse().unwrap();
    assert_eq!(said.contains("\nasked"), abi < 5, "{said}");
    assert_eq!(summary.contains("services that listen at a socket"), abi < 9, "{summary}");
}

#[test]
fn without_landlock_what_should_read_is_asked_about_like_a_command() {
    let scene = project(&[("say", defined(&json!({})))]);
    let mut policy = CommandPolicy::default();
    policy.sandbox = false;
    let mut found = CodingTools::new(scene.root()).unwrap().commands(policy).declared([]);
    let tool = found.tools.remove(0);
    assert!(tool.summary().unwrap().contains("nothing here can hold it to that"));
    let tool = tool.into_tool(trusted(&scene));
    assert_eq!(tool.access(), Access::Exclusive);
    let gate = tool.gate(&object(json!({"word": "a b"}))).unwrap();
    assert!(!gate.runs_unasked);
    assert_eq!(gate.command.as_deref(), Some("./echo.sh -- 'a b'"));
}

#[test]
fn what_writes_is_asked_about_with_its_words() {
    let scene = project(&[("say", defined(&json!({"access": "writes", "stdin": "json"})))]);
    let tool = tool(&scene);
    assert_eq!(tool.access(), Access::Exclusive);
    let gate = tool.gate(&object(json!({"word": "it's\u{202e}"}))).unwrap();
    assert_eq!(gate.command.as_deref(), Some("./echo.sh -- 'it'\\''s\u{202e}'"), "rules get it as it is");
    assert_eq!(
        (gate.label.as_str(), gate.effect),
        ("say: ./echo.sh -- 'it'\\''s\\u{202e}'", Effect::Irreversible)
    );
    let preview = gate.preview.replace(scene.root().to_str().unwrap(), "ROOT");
    let (told, _) = preview.rsplit_once("s\n").unwrap();
    expect![[r#"
        ./echo.sh -- 'it'\''s\u{202e}'

        given as JSON:
        {
          "word": "it's\u{202e}"
        }

        a tool of this project: .trunkline/tools/say.json
        in ROOT
        at most 120 "#]]
    .assert_eq(told.split("\ncommands run").next().unwrap());
    let odd = tool.gate(&object(json!({"word": 5, "more": true})));
    assert!(odd.is_some(), "whatever the arguments are");
    assert!(tool.gate(&object(json!({}))).is_none(), "what cannot run is no question");
    script(&scene, "echo.sh", "#!/bin/sh\necho x > made\n");
    let again = only(&scene);
    trusted(&scene).give(&again, &again.digest().unwrap(), 2).unwrap();
    assert!(!call(again.into_tool(trusted(&scene)).as_ref(), json!({"word": "a"})).is_error);
    assert!(scene.root().join("made").exists());
}

#[test]
fn any_change_ends_the_trust_before_the_next_call() {
    let scene = project(&[(
        "say",
        defined(&json!({"command": ["sh", "echo.sh", "{word}"], "files": ["rules.txt"]})),
    )]);
    scene.write("rules.txt", "a");
    let tool = tool(&scene);
    let works = |expected: bool, what: &str| {
        let said = said(&scene, tool.as_ref(), json!({"word": "a"}));
        assert_eq!(said.starts_with("exit code 0"), expected, "{what}: {said}");
        assert!(
            expected || said.starts_with("error: not run: say is not trusted any more, because "),
            "{said}"
        );
    };
    works(true, "as it was");
    for (path, other) in
        [("echo.sh", "#!/bin/sh\necho evil\n"), ("rules.txt", "b"), (".trunkline/tools/say.json", "{}")]
    {
        let before = scene.read(path).unwrap();
        scene.write(path, other);
        works(false, path);
        scene.write(path, before);
        works(true, path);
    }
    fs::rename(scene.root().join("echo.sh"), scene.root().join("kept.sh")).unwrap();
    works(false, "its program is gone");
    std::os::unix::fs::symlink("kept.sh", scene.root().join("echo.sh")).unwrap();
    works(false, "a link is in its place");
    fs::remove_file(scene.root().join("echo.sh")).unwrap();
    fs::rename(scene.root().join("kept.sh"), scene.root().join("echo.sh")).unwrap();
    works(true, "it is back");
    assert!(trusted(&scene).take_back(scene.root().to_str().unwrap(), "say").unwrap());
    works(false, "a person has taken it back");
}

#[test]
fn a_program_is_started_under_the_name_that_it_is_called_by() {
    let scene = project(&[("say", defined(&json!({"command": ["./called.sh", "--", "{word}"]})))]);
    script(&scene, "real.sh", "#!/bin/sh\necho \"${0##*/}\"\n");
    std::os::unix::fs::symlink("real.sh", scene.root().join("called.sh")).unwrap();
    let tool = tool(&scene);
    assert_eq!(said(&scene, tool.as_ref(), json!({"word": "a"})), "exit code 0 after N s\ncalled.sh\n");
    // What is digested is what the link leads to.
    script(&scene, "real.sh", "#!/bin/sh\necho other\n");
    let said = said(&scene, tool.as_ref(), json!({"word": "a"}));
    assert!(said.contains("because of a change: real.sh"), "{said}");
}

#[test]
fn a_program_that_changes_while_it_runs_is_told() {
    let scene = project(&[("say", defined(&json!({"access": "writes"})))]);
    script(&scene, "echo.sh", "#!/bin/sh\necho '# more' >> echo.sh\necho '{}' > .trunkline/tools/new.json\n");
    let said = said(&scene, tool(&scene).as_ref(), json!({"word": "a"}));
    expect![[r#"
        exit code 0 after N s
        [.trunkline was changed while this ran; a tool that is declared there is not used before a person has trusted it]
        [echo.sh changed while this call was starting or running; say is no longer trusted, and this run may have used what was changed]
    "#]].assert_eq(&said);
}

#[test]
fn a_command_that_writes_where_tools_are_declared_is_told() {
    let scene = project(&[]);
    let said = scene.said(
        "run_command",
        json!({"command": "mkdir -p .trunkline/tools && echo '{}' > .trunkline/tools/new.json"}),
    );
    assert!(said.contains("[.trunkline was changed while this ran; "), "{said}");
    let said = scene.said("run_command", json!({"command": "cat .trunkline/tools/new.json"}));
    assert!(!said.contains("was changed"), "{said}");
}

#[test]
fn many_files_beside_hide_no_tool_and_what_is_not_looked_at_is_told() {
    let scene = project(&[("say", defined(&json!({})))]);
    for number in 0..2_100 {
        scene.write(&format!(".trunkline/a/{number}"), "");
    }
    let not_all = "[.trunkline has too many files or folders to tell whether this has changed one of them]\n";
    let said = scene.said("run_command", json!({"command": "true"}));
    assert!(said.ends_with(not_all), "{said}");
    for command in ["echo ' ' >> .trunkline/tools/say.json", "echo '{}' > .trunkline/tools/new.json"] {
        let said = scene.said("run_command", json!({ "command": command }));
        assert!(said.contains("[.trunkline was changed while this ran; "), "{command}: {said}");
    }
}

#[test]
fn what_it_stages_is_a_proposal_of_edit_files() {
    let scene =
        project(&[("say", defined(&json!({"command": ["./rename.sh", "--", "{word}"], "stages": true})))]);
    scene.write("a.txt", "one\n");
    script(
        &scene,
        "rename.sh",
        "#!/bin/sh\necho looking >&2\nprintf '{\"edits\":[{\"path\":\"a.txt\",\"old_text\":\"one\",\"new_text\":\"%s\"},{\"path\":\"b.txt\",\"content\":\"new\\\\n\"}],\"text\":\"two files\"}' \"$2\"\n",
    );
    let tool = tool(&scene);
    if is_held(&scene) {
        assert_eq!(tool.access(), Access::Proposes);
    }
    let output = call(tool.as_ref(), json!({"word": "two"}));
    expect![[r#"
        two files
        Staged: edit 2 files (+2 −1): a.txt, b.txt. This is a proposal; nothing is written yet.
        --- a/a.txt
        +++ b/a.txt
        @@ -1 +1 @@
        -one
        +two
        --- /dev/null
        +++ b/b.txt
        @@ -0,0 +1 @@
        +new
        on stderr:
        looking

    "#]]
    .assert_eq(&scene.words(&output));
    let [proposal] = output.proposals.as_slice() else { panic!("{output:?}") };
    assert_eq!(proposal.source_tool, "edit_files");
    let told = "\n[proposed by say, a tool of this project: .trunkline/tools/say.json]";
    assert!(proposal.preview.text.ends_with(told), "{}", proposal.preview.text);
    assert_eq!(proposal.written().collect::<Vec<_>>(), ["a.txt", "b.txt"]);
    assert_eq!(scene.read("a.txt").unwrap(), "one\n", "nothing is written yet");
    scene.apply(proposal);
    assert_eq!(scene.read("a.txt").unwrap(), "two\n");
}

#[test]
fn what_a_staging_tool_prints_is_as_hostile_as_its_file() {
    let mut all = String::new();
    for printed in [
        "",
        "no JSON",
        "[]",
        r#"["edits"]"#,
        r#"{"edits":{}}"#,
        r#"{"edits":[],"more":1}"#,
        r#"{"edits":[]}"#,
        r#"{"edits":[{"path":"../x","content":"x"}]}"#,
        r#"{"edits":[{"path":".git/hooks/x","content":"x"}]}"#,
        r#"{"edits":[{"path":"a"}]}"#,
        r#"{"edits":[1]}"#,
    ] {
        let scene =
            project(&[("say", defined(&json!({"command": ["./print.sh", "--", "{word}"], "stages": true})))]);
        script(&scene, "print.sh", "#!/bin/sh\nprintf '%s' \"$2\"\n");
        let said = said(&scene, tool(&scene).as_ref(), json!({ "word": printed }));
        all.push_str(&format!("{printed}\n    {}", said.trim_end().replace('\n', "\n    ")));
        all.push('\n');
    }
    let scene =
        project(&[("say", defined(&json!({"command": ["./print.sh", "--", "{word}"], "stages": true})))]);
    script(
        &scene,
        "print.sh",
        "#!/bin/sh\necho '{\"edits\":[{\"path\":\"x\",\"content\":\"x\"}]}'; echo broken >&2; exit 3\n",
    );
    all.push_str(&said(&scene, tool(&scene).as_ref(), json!({"word": "x"})));
    script(&scene, "print.sh", "#!/bin/sh\nhead -c 25000000 /dev/zero\n");
    all.push_str(&said(&scene, tool(&scene).as_ref(), json!({"word": "x"})));
    script(&scene, "print.sh", "#!/bin/sh\nprintf '\\377'\n");
    all.push_str(&said(&scene, tool(&scene).as_ref(), json!({"word": "x"})));
    expect![[r#"

            error: what it printed is no JSON (EOF while parsing a value at line 1 column 0); it has to be {"edits": […], "text": "…"}, with edits as edit_files takes them
        no JSON
            error: what it printed is no JSON (expected ident at line 1 column 2); it has to be {"edits": […], "text": "…"}, with edits as edit_files takes them
        []
            error: what it printed is no object; it has to be {"edits": […], "text": "…"}, with edits as edit_files takes them
        ["edits"]
            error: what it printed is no object; it has to be {"edits": […], "text": "…"}, with edits as edit_files takes them
        {"edits":{}}
            error: what it printed does not fit (invalid type: map, expected a sequence); it has to be {"edits": […], "text": "…"}, with edits as edit_files takes them
        {"edits":[],"more":1}
            error: what it printed does not fit (unknown field `more`, expected `edits` or `text`); it has to be {"edits": […], "text": "…"}, with edits as edit_files takes them
        {"edits":[]}
            nothing staged: it proposes no edit
        {"edits":[{"path":"../x","content":"x"}]}
            error: nothing is staged, because of:
            edit 1 (../x): ../x leads out of the workspace /folder
        {"edits":[{"path":".git/hooks/x","content":"x"}]}
            error: nothing is staged, because of:
            edit 1 (.git/hooks/x): .git/hooks/x lies in .git, where file tools do not write
        {"edits":[{"path":"a"}]}
            error: nothing is staged, because of:
            edit 1 (a): give old_text and new_text, or content
        {"edits":[1]}
            error: wrong arguments: invalid type: integer `1`, expected struct Edit
        error: exit code 3 after N s
        {"edits":[{"path":"x","content":"x"}]}
        broken

        error: it printed more than 20000000 bytes; nothing is staged
        error: what it printed is not UTF-8 from byte 0 on
    "#]].assert_eq(&all.replace(scene.root().to_str().unwrap(), "ROOT"));
}

#[test]
fn time_and_output_have_their_limits() {
    let scene = project(&[(
        "say",
        defined(
            &json!({"command": ["./long.sh", "--", "{word}"], "timeout_seconds": 1, "output_characters": 40}),
        ),
    )]);
    script(&scene, "long.sh", "#!/bin/sh\nseq 1 1000\nsleep 60\n");
    let said = said(&scene, tool(&scene).as_ref(), json!({"word": "a"}));
    assert!(said.starts_with("error: stopped: still running at the time limit, after N s\n"), "{said}");
    assert!(said.contains("bytes of output are not shown") && said.len() < 300, "{said}");
    let cancel = Cancel::new();
    cancel.cancel();
    let output = block_on(tool(&scene).run(object(json!({"word": "a"})), &context(&cancel)));
    assert_eq!(scene.words(&output), "error: cancelled before it was started\n");
}

#[test]
fn trust_is_private_bound_to_a_folder_and_outlives_others_changes() {
    let scene = project(&[("say", defined(&json!({})))]);
    let (tool, kept) = (only(&scene), trusted(&scene));
    assert_eq!(kept.trust(&tool).unwrap(), Trust::None);
    kept.give(&tool, &tool.digest().unwrap(), 7).unwrap();
    assert_eq!(kept.trust(&tool).unwrap(), Trust::Given);
    // A folder that others may write is refused before anything is written there.
    let open = TrustedTools::at(scene.outside("open/trusted_tools.json"));
    fs::create_dir(scene.outside("open")).unwrap();
    fs::set_permissions(scene.outside("open"), fs::Permissions::from_mode(0o775)).unwrap();
    let refused = open.give(&tool, &tool.digest().unwrap(), 1);
    assert!(matches!(refused, Err(TrustError::OpenToOthers { .. })), "{refused:?}");
    assert!(!open.path().exists());
    let modes =
        [kept.path(), kept.path().parent().unwrap()].map(|path| fs::metadata(path).unwrap().mode() & 0o777);
    assert_eq!(modes, [0o600, 0o700]);
    // The same tool in another project is another one.
    let other = project(&[("say", defined(&json!({})))]);
    assert_eq!(kept.trust(&only(&other)).unwrap(), Trust::None);
    scene.write("echo.sh", "#!/bin/sh\n");
    assert_eq!(kept.trust(&only(&scene)).unwrap(), Trust::Over("echo.sh".to_owned()));
    scene.write(".trunkline/tools/say.json", defined(&json!({"description": "Says more."})).to_string());
    assert_eq!(kept.trust(&only(&scene)).unwrap(), Trust::Over("its definition".to_owned()));
    assert_eq!(kept.named(scene.root().to_str().unwrap()).unwrap(), ["say"]);
    let shown = only(&scene);
    let digest = shown.digest().unwrap();
    scene.write("echo.sh", "#!/bin/sh\necho while it was looked at\n");
    assert!(matches!(kept.give(&shown, &digest, 8), Err(TrustError::Changed { .. })));
    assert!(!kept.take_back(scene.root().to_str().unwrap(), "other").unwrap());
}

#[test]
fn a_file_of_trust_that_others_could_have_written_proves_nothing() {
    let scene = project(&[("say", defined(&json!({})))]);
    let (tool, kept) = (only(&scene), trusted(&scene));
    kept.give(&tool, &tool.digest().unwrap(), 1).unwrap();
    let mode =
        |path: &std::path::Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    mode(kept.path(), 0o620);
    assert!(matches!(kept.trust(&tool), Err(TrustError::OpenToOthers { .. })));
    mode(kept.path(), 0o600);
    mode(kept.path().parent().unwrap(), 0o777);
    assert!(matches!(kept.trust(&tool), Err(TrustError::OpenToOthers { .. })));
    mode(kept.path().parent().unwrap(), 0o700);
    for text in
        ["", "{}", "[]", "{\"version\":2,\"tools\":[]}", "{\"version\":1,\"tools\":[{}]}", MORE, "\u{0}"]
    {
        fs::write(kept.path(), text).unwrap();
        assert!(matches!(kept.trust(&tool), Err(TrustError::Damaged { .. })), "{text}");
        assert!(
            kept.give(&tool, &tool.digest().unwrap(), 1).is_err(),
            "what is not understood is not written over"
        );
        assert_eq!(fs::read_to_string(kept.path()).unwrap(), text);
    }
    fs::remove_file(kept.path()).unwrap();
    assert_eq!(kept.trust(&tool).unwrap(), Trust::None);
    let inside = TrustedTools::at(scene.root().join("data/trusted_tools.json"));
    assert!(matches!(inside.give(&tool, &tool.digest().unwrap(), 1), Err(TrustError::InProject { .. })));
    fs::create_dir(scene.root().join("real")).unwrap();
    std::os::unix::fs::symlink(scene.root().join("real"), scene.outside("linked")).unwrap();
    let linked = TrustedTools::at(scene.outside("linked/trusted_tools.json"));
    assert!(
        matches!(linked.give(&tool, &tool.digest().unwrap(), 1), Err(TrustError::InProject { .. })),
        "where it really is counts"
    );
}

#[test]
fn many_processes_change_what_is_trusted_and_none_is_lost() {
    let scene = project(&[]);
    for number in 0..20 {
        scene.write(
            &format!(".trunkline/tools/t{number}.json"),
            defined(&json!({"name": format!("t{number}")})).to_string(),
        );
    }
    let kept = trusted(&scene);
    // Each opens the lock for itself, as processes do.
    std::thread::scope(|scope| {
        for tool in declared(&scene).tools {
            let kept = &kept;
            scope.spawn(move || kept.give(&tool, &tool.digest().unwrap(), 1).unwrap());
        }
    });
    assert_eq!(kept.named(scene.root().to_str().unwrap()).unwrap().len(), 20);
    let names: Vec<_> = fs::read_dir(kept.path().parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names.len(), 2, "the file and its lock: {names:?}");
}

/// One that says more than this version knows: it could have made the trust narrower.
const MORE: &str = r#"{"version":1,"tools":[{"folder":"/","name":"say","trusted_at":1,"definition":"","program":"","files":[],"until":5}]}"#;
