//! The file of settings: what it says, what wins over it, and from where it is never read.

use crate::fake::{Answer, Endpoint, Scene, calls, says};

/// A scene whose user has settings that name an endpoint as everybody's usual one.
fn with(settings: &str, answers: Vec<Answer>) -> (Scene, Endpoint) {
    let endpoint = Endpoint::new(answers);
    let scene = Scene::new();
    write(&scene, &settings.replace("ADDRESS", endpoint.address()));
    (scene, endpoint)
}

fn write(scene: &Scene, settings: &str) {
    std::fs::create_dir_all(scene.path(".config/trunkline")).expect("a folder");
    std::fs::write(scene.path(".config/trunkline/settings.json"), settings).expect("written");
}

const USUAL: &str = r#"{"base_url":"ADDRESS","model":"usual","max_turns":1,"set":{"top_k":40},"lessons":{"turns":8,"cache_minding":true}}"#;

#[test]
fn what_is_set_need_not_be_typed_and_what_is_typed_wins() {
    let (scene, endpoint) =
        with(USUAL, vec![calls("list_files", "{}"), calls("list_files", "{}"), says("Done.")]);
    let said = scene.run(&["run", "look"]);
    assert!(said.err.contains("asking usual at 127.0.0.1"), "{}", said.err);
    assert!(said.err.contains("the limit of turns is reached"), "{}", said.err);
    assert!(said.err.contains("--lessons 'cache-minding,turns=8'"), "{}", said.err);
    // The next command reads it as well, and typed it would count as a person's word on a task.
    assert!(!said.err.contains("--max-turns 1"), "{}", said.err);
    let said = scene.run(&["run", "look", "--max-turns", "5", "-m", "other", "--set", "top_p=1"]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    let requests = endpoint.requests();
    assert!(
        requests[0].contains(r#""model":"usual""#) && requests[0].contains(r#""top_k":40"#),
        "{}",
        requests[0]
    );
    assert!(requests[1].contains(r#""model":"other""#) && !requests[1].contains("top_k"), "{}", requests[1]);
}

#[test]
fn a_session_goes_on_where_it_was_answered_whatever_is_set_by_then() {
    let (scene, endpoint) = with(USUAL, vec![says("Hello."), says("Again.")]);
    scene.ok(&["run", "hi", "-q"]);
    write(&scene, r#"{"base_url":"http://127.0.0.1:1/v1","model":"elsewhere","provider":"openai"}"#);
    assert_eq!(scene.ok(&["resume", "-p", "more", "-q"]), "Again.\n");
    assert!(endpoint.requests()[1].contains(r#""model":"usual""#));
}

/// An address is never asked with the key of a service that was named beside it.
#[test]
fn another_service_that_is_named_takes_nothing_of_the_usual_one() {
    let (mut scene, endpoint) = with(USUAL, vec![]);
    for (flags, variable) in [(&["--provider", "anthropic"][..], ""), (&[], "anthropic")] {
        scene.set("TRUNKLINE_PROVIDER", variable);
        let said = scene.run(&[&["run", "hi"], flags].concat());
        assert_eq!(said.exit, Some(2), "{}", said.err);
        assert!(said.err.contains("no key for Anthropic"), "{}", said.err);
    }
    assert!(endpoint.requests().is_empty());
}

#[test]
fn variables_name_the_model_before_settings_do() {
    let (mut scene, endpoint) = with(USUAL, vec![says("Hello.")]);
    scene.set("TRUNKLINE_MODEL", "named");
    scene.ok(&["run", "hi", "-q"]);
    assert!(endpoint.requests()[0].contains(r#""model":"named""#));
}

#[test]
fn a_file_that_is_not_understood_counts_as_a_whole_not_at_all() {
    let wrong = [
        (r#"{"max_turn":3}"#, r#"there is no setting "max_turn"; did you mean "max_turns"?"#),
        (r#"{"max-turns":3}"#, r#"did you mean "max_turns"?"#),
        (r#"{"commit":true}"#, r#"there is no setting "commit"; there are provider, model,"#),
        (r#"{"yes":true}"#, r#"there is no setting "yes""#),
        (r#"{"api_key":"s3cr3t"}"#, "keys come from variables"),
        (r#"{"max_turns":1,"max_turns":2}"#, "stands there twice"),
        (r#"{"max_turns":"3"}"#, "max_turns: it is a whole number"),
        (r#"{"max_turns":-3}"#, "max_turns: it is a whole number"),
        (r#"{"max_turns":99999999999}"#, "max_turns: invalid value"),
        (r#"{"policy":4}"#, "policy: it is a text"),
        (r#"{"lessons":{"turns":"5"}}"#, "lessons: turns is a number"),
        (r#"{"lessons":{"cache_mindin":true}}"#, "did you mean cache-minding?"),
        (r#"{"on_stall":"everybody"}"#, "it can be model, person, accept"),
        (r#"{"provider":"clippy"}"#, "it can be anthropic, openai"),
        (r#"{"set":{"messages":1}}"#, "messages is written by trunkline itself"),
        (r#"{"base_url":"http://me:s3cr3t@localhost/v1"}"#, "settings hold no secrets"),
        ("[]", "expected an object of settings"),
        ("", "EOF"),
        (r#"{"max_turns":1} x"#, "trailing characters"),
    ];
    let scene = Scene::new();
    for (settings, told) in wrong {
        write(&scene, settings);
        let said = scene.run(&["run", "x"]);
        assert_eq!(said.exit, Some(2), "{settings}");
        assert!(
            said.err.starts_with("error: cannot use the settings TMP/.config/trunkline/settings.json: "),
            "{}",
            said.err
        );
        assert!(said.err.contains(told), "{settings}: {}", said.err);
        assert!(!said.err.contains("s3cr3t"), "{}", said.err);
        // What needs no settings goes on, and so does what does without.
        assert_eq!(scene.run(&["help"]).exit, Some(0));
        assert!(!scene.run(&["audit", "/dev/null"]).err.contains("settings"));
    }
    write(&scene, &format!("{{\"policy\":\"{}\"}}", "x".repeat(1 << 16)));
    assert!(scene.run(&["run", "x"]).err.contains("it has more than 65536 bytes"));
}

#[test]
fn another_file_can_be_named_and_has_to_be_there() {
    let (mut scene, endpoint) = with(r#"{"max_turn":1}"#, vec![says("Hello.")]);
    let other = scene.path("other.json");
    std::fs::write(&other, format!(r#"{{"base_url":"{}","model":"m"}}"#, endpoint.address()))
        .expect("written");
    scene.set("TRUNKLINE_SETTINGS", other.to_str().expect("a plain path"));
    assert_eq!(scene.ok(&["run", "hi", "-q"]), "Hello.\n");
    scene.set("TRUNKLINE_SETTINGS", "none");
    assert!(scene.run(&["run", "hi"]).err.contains("no model to ask"));
    scene.set("TRUNKLINE_SETTINGS", "/nowhere/settings.json");
    let said = scene.run(&["run", "hi"]);
    assert_eq!(said.exit, Some(2));
    assert!(
        said.err.contains("cannot use the settings /nowhere/settings.json: No such file"),
        "{}",
        said.err
    );
}

/// A repository may come from anywhere: nothing that it holds sets anything.
#[test]
fn nothing_is_read_from_the_folder_that_is_worked_in() {
    let (mut scene, endpoint) = with("{}", vec![says("Hello.")]);
    let hostile = r#"{"policy":"always","base_url":"http://127.0.0.1:1/v1","model":"m"}"#;
    for folder in ["", ".config/trunkline", "trunkline", ".trunkline"] {
        let folder = scene.work().join(folder);
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(folder.join("settings.json"), hostile).expect("written");
    }
    // The policy of a file of settings is looked for beside it.
    std::fs::write(scene.work().join("rules.json"), r#"{"rules":[]}"#).expect("written");
    let flags = ["--base-url", endpoint.address(), "-m", "m"];
    // What is relative there is to be passed over.
    scene.set("XDG_CONFIG_HOME", ".");
    assert_eq!(scene.ok(&[&["run", "hi", "-q"], &flags[..]].concat()), "Hello.\n");
    scene.set("XDG_CONFIG_HOME", "");
    write(&scene, r#"{"policy":"rules.json"}"#);
    let said = scene.run(&[&["run", "hi"], &flags[..]].concat());
    assert!(said.err.contains("cannot use TMP/.config/trunkline/rules.json as a policy"), "{}", said.err);
    // Also where the user's own folder is the one that is worked in, or a link leads there.
    write(&scene, "{}");
    let home = scene.path("");
    let said = scene.run(&[&["run", "hi", "-C", home.to_str().expect("a plain path")], &flags[..]].concat());
    assert_eq!(said.exit, Some(2), "{}", said.err);
    assert!(
        said.err.contains("stand in the folder that is worked in, where a model may write"),
        "{}",
        said.err
    );
    std::fs::remove_dir_all(scene.path(".config")).expect("removed");
    std::os::unix::fs::symlink(scene.work().join(".config"), scene.path(".config")).expect("linked");
    let said = scene.run(&[&["run", "hi"], &flags[..]].concat());
    assert!(
        said.err.contains("TMP/work/.config/trunkline/settings.json stand in the folder"),
        "{}",
        said.err
    );
    // So it is where a summary is asked for.
    let said = scene.run(&["compact"]);
    assert_eq!(said.exit, Some(2), "{}", said.err);
    assert!(said.err.contains("stand in the folder that is worked in"), "{}", said.err);
    assert_eq!(endpoint.requests().len(), 1);
}

/// A pipe that nobody writes to would be waited for without end.
#[test]
fn settings_in_a_pipe_are_refused() {
    let mut scene = Scene::new();
    let pipe = scene.path("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("it runs").success());
    scene.set("TRUNKLINE_SETTINGS", pipe.to_str().expect("a plain path"));
    let said = scene.run(&["run", "hi"]);
    assert_eq!(said.exit, Some(2), "{}", said.err);
    assert!(said.err.contains("it is no plain file"), "{}", said.err);
}

/// The page of settings has a row for each key, each of which is an option of `run`.
#[test]
fn the_page_of_settings_has_all_keys() {
    let scene = Scene::new();
    write(&scene, r#"{"what else is there":1}"#);
    let said = scene.run(&["run", "x"]);
    let keys =
        said.err.lines().next().and_then(|line| line.split_once("there are ")).expect("they are listed").1;
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/settings.md");
    let page = std::fs::read_to_string(page).expect("there is a page");
    let rows: Vec<&str> =
        page.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
    assert_eq!(rows.join(", "), keys);
    let help = scene.ok(&["run", "--help"]);
    for key in rows {
        assert!(help.contains(&format!("--{} ", key.replace('_', "-"))), "{key}");
    }
}
