//! Tools that a project declares: what is read of a definition, and what is refused.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use expect_test::{Expect, expect};
use proptest::prelude::*;
use serde_json::{Value, json};
use trunkline_tools::{CodingTools, Declarations, DeclaredTool};

use crate::scene::Scene;

pub(crate) const SCRIPT: &str = "#!/bin/sh\nprintf '%s\\n' \"$@\"\n";

/// A project with one script, and definitions as they are given.
pub(crate) fn project(definitions: &[(&str, Value)]) -> Scene {
    let scene = Scene::new();
    script(&scene, "echo.sh", SCRIPT);
    for (name, definition) in definitions {
        scene.write(&format!(".trunkline/tools/{name}.json"), definition.to_string());
    }
    scene
}

pub(crate) fn script(scene: &Scene, name: &str, text: &str) {
    scene.write(name, text);
    fs::set_permissions(scene.root().join(name), fs::Permissions::from_mode(0o755)).unwrap();
}

/// A sound definition with some fields changed; `null` takes one away.
pub(crate) fn defined(changed: &Value) -> Value {
    let mut definition = json!({
        "name": "say",
        "description": "Says it.",
        "arguments": {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]},
        "command": ["./echo.sh", "--", "{word}"],
        "access": "reads",
    });
    for (name, value) in changed.as_object().unwrap() {
        match value {
            Value::Null => drop(definition.as_object_mut().unwrap().remove(name)),
            value => definition[name] = value.clone(),
        }
    }
    definition
}

pub(crate) fn declared(scene: &Scene) -> Declarations {
    CodingTools::new(scene.root()).unwrap().declared(["resolve".to_owned()])
}

pub(crate) fn only(scene: &Scene) -> DeclaredTool {
    let mut found = declared(scene);
    assert_eq!((found.tools.len(), &found.refused), (1, &Vec::new()));
    found.tools.remove(0)
}

/// Says what was found, a line each.
fn told(scene: &Scene) -> String {
    let Declarations { tools, refused, .. } = declared(scene);
    let tools = tools.iter().map(|tool| format!("{}: {}\n", tool.name(), tool.access()));
    let refused = refused.iter().map(|one| format!("{} REFUSED: {}\n", one.file, one.why));
    tools.chain(refused).collect::<String>().replace(scene.root().to_str().unwrap(), "ROOT")
}

/// Each change of a sound definition, and what is said of it.
fn check(changes: &[Value], said: Expect) {
    let mut all = String::new();
    for change in changes {
        let scene = project(&[("say", defined(change))]);
        let told = told(&scene);
        all.push_str(told.strip_prefix(".trunkline/tools/say.json REFUSED: ").unwrap_or(&told));
    }
    said.assert_eq(&all);
}

#[test]
fn a_sound_definition_is_a_tool() {
    let scene = project(&[("say", defined(&json!({})))]);
    let tool = only(&scene);
    assert_eq!((tool.name(), tool.description(), tool.access()), ("say", "Says it.", "reads"));
    assert_eq!(
        tool.spec().input_schema["additionalProperties"],
        json!(false),
        "what is not named is refused"
    );
    assert_eq!(tool.file(), ".trunkline/tools/say.json");
    assert!(declared(&Scene::new()).tools.is_empty(), "a project that declares nothing has nothing");
}

#[test]
fn a_field_that_is_not_understood_is_refused() {
    check(
        &[
            json!({"comand": ["x"]}),
            json!({"access": null}),
            json!({"access": "read"}),
            json!({"command": "sh -c x"}),
            json!({"stdin": "text"}),
            json!({"timeout_seconds": 0}),
            json!({"timeout_seconds": 601}),
            json!({"timeout_seconds": -1}),
            json!({"output_characters": 0}),
            json!({"output_characters": 100_001}),
        ],
        expect![[r#"
            unknown field `comand`, expected one of `name`, `description`, `arguments`, `command`, `stdin`, `access`, `stages`, `files`, `environment`, `may_begin_with_dash`, `timeout_seconds`, `output_characters` at line 1 column 116
            missing field `access` at line 1 column 167
            unknown variant `read`, expected `reads` or `writes` at line 1 column 16
            invalid type: string "sh -c x", expected a sequence at line 1 column 127
            unknown variant `text`, expected `nothing` or `json` at line 1 column 198
            timeout_seconds is 0; it has to be between 1 and 600
            timeout_seconds is 601; it has to be between 1 and 600
            invalid value: integer `-1`, expected u64 at line 1 column 204
            output_characters is 0; it has to be between 1 and 100000
            output_characters is 100001; it has to be between 1 and 100000
        "#]],
    );
}

#[test]
fn a_name_is_one_that_every_wire_takes_and_nobody_else_has() {
    let mut all = String::new();
    for name in
        ["Say", "1st", "say-it", "say it", "", "sagen\u{e4}", "read_file", "run_command", "resolve", "other"]
    {
        let scene = project(&[("say", defined(&json!({ "name": name })))]);
        all.push_str(&told(&scene));
    }
    for name in ["read_file", "resolve", &"a".repeat(63), &"a".repeat(64)] {
        let scene = project(&[(name, defined(&json!({ "name": name })))]);
        all.push_str(&told(&scene));
    }
    expect![[r#"
        .trunkline/tools/say.json REFUSED: the name "Say" cannot be used: it has to begin with a small letter, and have small letters, digits and _ alone, 63 at most
        .trunkline/tools/say.json REFUSED: the name "1st" cannot be used: it has to begin with a small letter, and have small letters, digits and _ alone, 63 at most
        .trunkline/tools/say.json REFUSED: the name "say-it" cannot be used: it has to begin with a small letter, and have small letters, digits and _ alone, 63 at most
        .trunkline/tools/say.json REFUSED: the name "say it" cannot be used: it has to begin with a small letter, and have small letters, digits and _ alone, 63 at most
        .trunkline/tools/say.json REFUSED: the name "" cannot be used: it has to begin with a small letter, and have small letters, digits and _ alone, 63 at most
        .trunkline/tools/say.json REFUSED: the name "sagenä" cannot be used: it has to begin with a small letter, and have small letters, digits and _ alone, 63 at most
        .trunkline/tools/say.json REFUSED: its name is "read_file", so its file has to be read_file.json
        .trunkline/tools/say.json REFUSED: its name is "run_command", so its file has to be run_command.json
        .trunkline/tools/say.json REFUSED: its name is "resolve", so its file has to be resolve.json
        .trunkline/tools/say.json REFUSED: its name is "other", so its file has to be other.json
        .trunkline/tools/read_file.json REFUSED: the name "read_file" is that of a tool that comes with the program
        .trunkline/tools/resolve.json REFUSED: the name "resolve" is that of a tool that comes with the program
        aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa: reads
        .trunkline/tools/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.json REFUSED: the name "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" cannot be used: it has to begin with a small letter, and have small letters, digits and _ alone, 63 at most
    "#]].assert_eq(&all);
}

#[test]
fn arguments_fill_whole_words_of_which_it_is_known_that_they_come() {
    let list = |items: Value| json!({"type": "object", "properties": {"word": {"type": "array", "items": items}}, "required": ["word"]});
    check(
        &[
            json!({"command": ["./echo.sh", "--word={word}"]}),
            json!({"command": ["./echo.sh", "{other}"]}),
            json!({"command": ["{word}"]}),
            json!({"command": ["-x"]}),
            json!({"command": []}),
            json!({"command": ["./echo.sh"]}),
            json!({"command": ["./echo.sh"], "stdin": "json"}),
            json!({"command": ["./echo.sh", "{ print $1 }", "{word}"]}),
            json!({"arguments": {"type": "object", "properties": {"word": {"type": "string"}}}}),
            json!({"arguments": {"type": "object", "properties": {"word": {"type": "object"}}, "required": ["word"]}}),
            json!({"arguments": {"type": "object", "properties": {"word": {}}, "required": ["word"]}}),
            json!({ "arguments": list(json!({"type": "string"})) }),
            json!({ "arguments": list(json!({"type": "array"})) }),
            json!({"may_begin_with_dash": ["other"]}),
            json!({"command": vec!["./echo.sh"; 65]}),
            json!({"command": ["./echo.sh", "x".repeat(4_097)]}),
        ],
        expect![[r#"
            {word} stands inside of the word "--word={word}", and an argument fills whole words only: write it as a word of its own
            command has {other}, and arguments has no property "other"
            command begins with "{word}", which is no program
            command begins with "-x", which is no program
            command is empty; it is the program and its words, such as ["scripts/lint.sh", "--", "{path}"]
            nothing is done with the argument "word": write {word} as a word of command, or set stdin to "json"
            say: reads
            say: reads
            command has {word}, so "word" has to be among the required ones of arguments
            command has {word}, so its type has to be string, integer, number or boolean, or array with items of one of these
            command has {word}, so its type has to be string, integer, number or boolean, or array with items of one of these
            say: reads
            command has {word}, so its type has to be string, integer, number or boolean, or array with items of one of these
            may_begin_with_dash names "other", and arguments has no such property
            command has 65 words; 64 are the most
            a word of command is too long, or has a NUL byte in it
        "#]],
    );
}

#[test]
fn a_schema_has_to_be_one() {
    let mut deep = json!({"type": "object"});
    for _ in 0..40 {
        deep = json!({"type": "object", "properties": {"word": deep}});
    }
    check(
        &[
            json!({"arguments": []}),
            json!({"arguments": {}}),
            json!({"arguments": {"type": "string"}}),
            json!({"arguments": {"type": "object", "properties": []}}),
            json!({ "arguments": deep }),
        ],
        expect![[r#"
            arguments is no schema; it is an object such as {"type": "object", "properties": {…}}
            arguments has to say "type": "object"
            arguments has to say "type": "object"
            properties in arguments is no object
            arguments is nested deeper than 32 levels
        "#]],
    );
}

#[test]
fn what_is_started_is_a_program_that_can_be_named() {
    let scene = Scene::new();
    let outside = scene.outside("evil.sh");
    fs::write(&outside, SCRIPT).unwrap();
    fs::set_permissions(&outside, fs::Permissions::from_mode(0o755)).unwrap();
    let mut all = String::new();
    for program in [
        "./missing.sh",
        "../evil.sh",
        "./link.sh",
        "sub",
        "./plain.txt",
        "no-such-program-anywhere",
        outside.to_str().unwrap(),
    ] {
        let project = project(&[("say", defined(&json!({"command": [program, "--", "{word}"]})))]);
        symlink(&outside, project.root().join("link.sh")).unwrap();
        fs::create_dir(project.root().join("sub")).unwrap();
        project.write("plain.txt", "x");
        all.push_str(&told(&project).replace(outside.to_str().unwrap(), "OUTSIDE"));
    }
    expect![[r#"
        .trunkline/tools/say.json REFUSED: there is no ./missing.sh in the workspace
        .trunkline/tools/say.json REFUSED: ../evil.sh leads out of the workspace ROOT
        .trunkline/tools/say.json REFUSED: ./link.sh leads out of the workspace ROOT
        .trunkline/tools/say.json REFUSED: there is no program sub on the PATH; one of the project is written with its folder, such as ./sub
        .trunkline/tools/say.json REFUSED: ./plain.txt is no file that may be executed; `chmod +x` makes it one
        .trunkline/tools/say.json REFUSED: there is no program no-such-program-anywhere on the PATH; one of the project is written with its folder, such as ./no-such-program-anywhere
        .trunkline/tools/say.json REFUSED: the program OUTSIDE lies in /tmp, where every command may write
    "#]].assert_eq(&all);
}

/// A program goes by the name under which it is started, and whoever can write in the project chooses what that name is a link to.
#[test]
fn a_link_of_the_project_to_a_program_elsewhere_is_refused_by_its_whole_path_too() {
    let project = project(&[]);
    let link = project.root().join("sh");
    symlink("/bin/sh", &link).unwrap();
    let defined = defined(&json!({"command": [link, "--", "{word}"]}));
    fs::create_dir_all(project.root().join(".trunkline/tools")).unwrap();
    project.write(".trunkline/tools/say.json", defined.to_string());
    expect![[r#"
        .trunkline/tools/say.json REFUSED: the program ROOT/sh is a link that leads out of the project
    "#]]
    .assert_eq(&told(&project));
}

#[test]
fn a_script_behind_a_link_that_leads_out_is_refused() {
    let project = project(&[("say", defined(&json!({"command": ["sh", "q.sh", "{word}"]})))]);
    symlink("/bin/true", project.root().join("q.sh")).unwrap();
    expect![[r#"
        .trunkline/tools/say.json REFUSED: q.sh is a link that leads out of the project
    "#]]
    .assert_eq(&told(&project));
}

#[test]
fn the_rest_is_bounded_too() {
    check(
        &[
            json!({"description": " "}),
            json!({"description": "x".repeat(1_001)}),
            json!({"description": "says \u{202e}it"}),
            json!({"stages": true, "access": "writes"}),
            json!({"stages": true}),
            json!({"environment": ["A B"]}),
            json!({"environment": ["GITHUB_TOKEN"]}),
            json!({"environment": ["TRUNKLINE_STORE"]}),
            json!({"environment": ["CARGO_HOME"]}),
            json!({"files": ["missing"]}),
            json!({"files": ["../evil"]}),
            json!({"files": [".trunkline"]}),
            json!({"files": vec!["echo.sh"; 65]}),
        ],
        expect![[r#"
            description is empty; it is what the model goes by
            description has 1001 characters; 1000 are the most, since every request has it
            line 1 has characters that nobody can see
            a tool that stages writes nothing itself: set access to "reads"
            say: reads, stages
            environment names "A B", which is no variable
            environment names "GITHUB_TOKEN", which looks like a secret; a tool gets none
            environment names "TRUNKLINE_STORE", which looks like a secret; a tool gets none
            say: reads
            files: there is no missing in the workspace
            files: ../evil leads out of the workspace ROOT
            files names .trunkline, which is no file
            files names 65; 64 are the most
        "#]],
    );
}

#[test]
fn a_file_that_is_no_definition_is_one_error_and_the_others_are_read() {
    let scene = project(&[("say", defined(&json!({})))]);
    let folder = scene.root().join(".trunkline/tools");
    scene.write(".trunkline/tools/huge.json", vec![b' '; 40_000]);
    scene.write(".trunkline/tools/vast.json", vec![b' '; 10_000_001]);
    scene.write(".trunkline/tools/bytes.json", [b'{', 0xff, b'}']);
    scene.write(".trunkline/tools/deep.json", "[".repeat(20_000));
    scene.write(".trunkline/tools/list.json", "[\"say\", \"Says it.\"]");
    scene.write(".trunkline/tools/twice.json", r#"{"name": "twice", "name": "twice"}"#);
    scene.write(".trunkline/tools/torn.json", r#"{"name": "to"#);
    scene.write(".trunkline/tools/.hidden.json", "x");
    scene.write(".trunkline/tools/notes.md", "x");
    fs::create_dir(folder.join("folder.json")).unwrap();
    fs::write(scene.outside("away.json"), defined(&json!({"name": "away"})).to_string()).unwrap();
    symlink(scene.outside("away.json"), folder.join("away.json")).unwrap();
    symlink("say.json", folder.join("again.json")).unwrap();
    expect![[r#"
        say: reads
        .trunkline/tools/again.json REFUSED: .trunkline/tools/again.json is a symbolic link; name the file that it points to
        .trunkline/tools/away.json REFUSED: .trunkline/tools/away.json is a symbolic link; name the file that it points to
        .trunkline/tools/bytes.json REFUSED: it is not UTF-8 from byte 1 on
        .trunkline/tools/deep.json REFUSED: recursion limit exceeded at line 1 column 128
        .trunkline/tools/folder.json REFUSED: .trunkline/tools/folder.json is a folder, not a file
        .trunkline/tools/huge.json REFUSED: it has 40000 bytes; 32768 are the most
        .trunkline/tools/list.json REFUSED: it is no JSON object
        .trunkline/tools/torn.json REFUSED: EOF while parsing a string at line 1 column 12
        .trunkline/tools/twice.json REFUSED: duplicate field `name` at line 1 column 24
        .trunkline/tools/vast.json REFUSED: .trunkline/tools/vast.json has 10000001 bytes; the limit is 10000000
    "#]].assert_eq(&told(&scene));
}

#[test]
fn thousands_of_definitions_are_one_error() {
    let scene = project(&[]);
    for number in 0..3_000 {
        scene.write(&format!(".trunkline/tools/t{number}.json"), "{}");
    }
    expect![[r#"
        .trunkline/tools REFUSED: it has 3000 definitions, and 64 are the most, so none is read
    "#]]
    .assert_eq(&told(&scene));
}

#[test]
fn a_folder_that_is_a_link_is_not_followed() {
    let scene = Scene::new();
    script(&scene, "echo.sh", SCRIPT);
    fs::create_dir_all(scene.outside("away/tools")).unwrap();
    fs::write(scene.outside("away/tools/say.json"), defined(&json!({})).to_string()).unwrap();
    symlink(scene.outside("away"), scene.root().join(".trunkline")).unwrap();
    expect![[r#"
        .trunkline/tools REFUSED: it is a symbolic link or no folder, or the folder that it lies in is
    "#]]
    .assert_eq(&told(&scene));
}

proptest! {
    /// Whatever stands in a file, it is a tool or one line that says why not.
    #[test]
    fn any_bytes_are_a_tool_or_one_line(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let scene = project(&[]);
        scene.write(".trunkline/tools/say.json", &bytes);
        let found = declared(&scene);
        prop_assert_eq!(found.tools.len() + found.refused.len(), 1);
        prop_assert!(found.refused.iter().all(|one| one.why.lines().count() == 1));
    }

    /// A sound definition with any field in the place of any other is a tool, or one line.
    #[test]
    fn any_field_is_read_or_refused(field in 0_usize..12, value in prop::sample::select(values())) {
        let names = ["name", "description", "arguments", "command", "stdin", "access", "stages", "files", "environment",
            "may_begin_with_dash", "timeout_seconds", "output_characters"];
        let scene = project(&[("say", defined(&json!({ names[field]: value })))]);
        let found = declared(&scene);
        prop_assert_eq!(found.tools.len() + found.refused.len(), 1);
        prop_assert!(found.refused.iter().all(|one| one.why.lines().count() == 1), "{:?}", found.refused);
    }
}

fn values() -> Vec<Value> {
    vec![
        json!(null),
        json!(true),
        json!(-1),
        json!(1e300),
        json!("say"),
        json!("\u{1b}[31m\n\n"),
        json!([]),
        json!([[]]),
        json!(["./echo.sh", "{word}", ""]),
        json!({}),
        json!({"type": "object", "required": 5, "properties": {"word": 7}}),
        json!({"type": "object", "properties": {"{word}": {"type": "string"}}}),
    ]
}
