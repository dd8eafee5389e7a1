//! Runs against an endpoint: what reaches stdout, what reaches the model, how it ends.

use std::io::Read;
use std::os::unix::process::CommandExt;

use expect_test::expect;
use serde_json::Value;

use trunkline_message_tree::{Message, MessageTree, Timestamp};
use trunkline_runtime::orders::{Order, post};
use trunkline_session_store::{NewSession, SessionId, SessionStore, SqliteStore};

use crate::fake::{Answer, Scene, anthropic_says, begins, calls, says};

#[test]
fn the_answer_is_all_that_stdout_gets() {
    let (scene, endpoint) = Scene::with(vec![says("It is a parser.")]);
    let said = scene.run(&["run", "what is this?"]);
    assert_eq!((said.exit, said.out.as_str()), (Some(0), "It is a parser.\n"), "{}", said.err);
    let about = said.err.lines().nth(1).unwrap_or_default();
    assert!(
        about.starts_with("Commands may write only in TMP/work and ")
            || about.starts_with("Commands can write wherever you can: "),
        "{about}"
    );
    expect![[r#"
        › what is this?

        It is a parser.
        ◆ other: answered — the model answered and no file was changed

        100 tokens in, 5 out
        session ID in TMP/store/sessions.db
          see it   trunkline tree ID
          say more trunkline resume ID -p "…"
    "#]]
    .assert_eq(said.err.splitn(3, '\n').nth(2).unwrap_or_default());
    let request = &endpoint.requests()[0];
    assert!(request.starts_with("POST /v1/chat/completions "), "{request}");
    assert!(request.contains("what is this?") && request.contains("revert_to_state"), "{request}");
    assert!(!request.to_ascii_lowercase().contains("authorization:"), "a local server is sent no key");
}

#[test]
fn the_anthropic_wire_gets_its_key_and_a_model_that_nobody_had_to_name() {
    let (scene, endpoint) = Scene::with_anthropic(vec![anthropic_says("Hello.")]);
    let said = scene.run(&["run", "hi", "--quiet"]);
    assert_eq!((said.exit, said.out.as_str(), said.err.as_str()), (Some(0), "Hello.\n", ""));
    let request = &endpoint.requests()[0];
    assert!(request.starts_with("POST /v1/messages ") && request.contains("x-api-key: a-key"), "{request}");
    assert!(request.contains(r#""model":"claude-"#), "{request}");
}

#[test]
fn a_call_with_broken_json_is_answered_and_the_run_goes_on() {
    let (scene, endpoint) = Scene::with(vec![calls("read_file", r#"{"path": "a"#), says("Sorry.")]);
    let said = scene.run(&["run", "read a"]);
    assert_eq!((said.exit, said.out.as_str()), (Some(0), "Sorry.\n"), "{}", said.err);
    assert!(said.err.contains("⊘ Read file (read_file)"), "{}", said.err);
    assert_eq!(endpoint.requests().len(), 2);
    let stored = scene.ok(&["show", "--json", "--node", "n2"]);
    let stored: Value = serde_json::from_str(&stored).expect("JSON");
    let call = &stored["nodes"][0]["message"]["content"][0];
    assert_eq!(call["arguments"], r#"{"path": "a"#, "kept byte for byte");
}

#[test]
fn an_endpoint_that_answers_html_gives_one_line_and_loses_nothing() {
    let (scene, _endpoint) = Scene::with(vec![Answer::Html]);
    let said = scene.run(&["run", "hello", "--quiet"]);
    assert_eq!((said.exit, said.out.as_str()), (Some(1), ""));
    let first = said.err.lines().next().unwrap_or_default();
    assert!(first.starts_with("error: http://") && first.contains("HTML page"), "{}", said.err);
    assert!(said.err.contains("trunkline resume ID"), "{}", said.err);
    assert!(scene.ok(&["show"]).contains("hello"), "the prompt was acknowledged");
}

#[test]
fn without_a_key_one_screen_says_what_to_set() {
    let said = Scene::new().run(&["run", "hello"]);
    assert_eq!((said.exit, said.out.as_str()), (Some(2), ""));
    expect![[r#"
        error: no model to ask: set one of these, or name it on the command line

          Anthropic            export ANTHROPIC_API_KEY=…
          OpenAI               export OPENAI_API_KEY=…       and --model MODEL   (newer API: --provider responses)
          OpenRouter           export OPENROUTER_API_KEY=…   and --model MODEL
          Google Gemini        export GEMINI_API_KEY=…       and --model MODEL
          AWS Bedrock          export AWS_BEARER_TOKEN_BEDROCK=… AWS_REGION=…   and --model MODEL
                               (with AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY: --provider bedrock)
          Ollama               --provider ollama --model MODEL   (elsewhere: export OLLAMA_HOST=HOST:11434)
          llama.cpp, vLLM,     --provider openai --base-url http://localhost:8080/v1 --model MODEL
          LM Studio, others    (OPENAI_BASE_URL and TRUNKLINE_MODEL say the same)

        `trunkline demo` and `trunkline run --replay FILE` need none of them.
    "#]]
    .assert_eq(&said.err);
}

#[test]
fn a_local_server_needs_a_model_by_name() {
    let said = Scene::new().run(&["run", "hello", "--base-url", "http://127.0.0.1:1/v1"]);
    assert_eq!(said.exit, Some(2));
    expect![[r#"
        error: no model named for http://127.0.0.1:1/v1
          hint: add --model MODEL, or set TRUNKLINE_MODEL
    "#]]
    .assert_eq(&said.err);
}

#[test]
fn a_base_url_that_is_none_is_wrong_usage() {
    let said = Scene::new().run(&["run", "hello", "--base-url", "localhost:8080", "-m", "m"]);
    assert_eq!(said.exit, Some(2));
    expect![[r#"
        error: not a base URL: "localhost:8080"; write it like http://localhost:8080/v1
    "#]]
    .assert_eq(&said.err);
}

#[test]
fn with_json_stdout_gets_one_object() {
    let (scene, _endpoint) = Scene::with(vec![says("Yes.")]);
    let said = scene.run(&["run", "is it?", "--json"]);
    let told: Value = serde_json::from_str(&said.out).expect("one JSON object");
    assert_eq!(
        (told["stop"].as_str(), told["answer"].as_str(), told["verdict"]["verdict"]["label"].as_str()),
        (Some("decided"), Some("Yes."), Some("answered"))
    );
    assert_eq!(told["usage"]["input_tokens"], 100);
}

#[test]
fn the_prompt_can_come_from_stdin() {
    let (scene, endpoint) = Scene::with(vec![says("ok")]);
    std::fs::write(scene.path("prompt"), "from a file\n").expect("written");
    let mut command = scene.command(&["run", "-", "--quiet"]);
    command.stdin(std::fs::File::open(scene.path("prompt")).expect("opened"));
    assert_eq!(scene.said(command.output().expect("it runs")).exit, Some(0));
    assert!(endpoint.requests()[0].contains("from a file"));
}

#[test]
fn what_a_model_writes_cannot_move_the_cursor() {
    let (scene, _endpoint) = Scene::with(vec![says("a\u{1b}[2Jb\u{202e}c\u{9b}1m")]);
    let said = scene.run(&["--color", "always", "run", "draw"]);
    assert!(said.err.contains(r"a␛[2Jb\u{202e}c\u{9b}1m"), "{:?}", said.err);
    let shown = scene.ok(&["--color", "always", "show"]);
    assert!(!shown.contains("\u{1b}[2J") && !shown.contains('\u{202e}'), "{shown:?}");
}

#[test]
fn an_interrupt_keeps_what_was_streamed() {
    let (scene, _endpoint) = Scene::with(vec![begins("I was about to"), says("say more.")]);
    let mut child = scene.command(&["run", "talk"]).spawn().expect("it starts");
    let mut told = Vec::new();
    let mut stderr = child.stderr.take().expect("piped");
    while !String::from_utf8_lossy(&told).contains("about to") {
        let mut some = [0; 256];
        let count = stderr.read(&mut some).expect("readable");
        assert!(count > 0, "it ended: {}", String::from_utf8_lossy(&told));
        told.extend_from_slice(&some[..count]);
    }
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().expect("kill runs").success());
    stderr.read_to_end(&mut told).expect("readable");
    assert_eq!(child.wait().expect("it ends").code(), Some(130), "{}", String::from_utf8_lossy(&told));
    let shown = scene.ok(&["show"]);
    assert!(shown.contains("I was about to") && shown.contains("(stopped: cancelled)"), "{shown}");
    assert_eq!(scene.run(&["resume", "--quiet"]).out, "say more.\n");
}

#[test]
fn a_limit_leaves_the_run_open() {
    let (scene, _endpoint) = Scene::with(vec![calls("list_files", "{}")]);
    let said = scene.run(&["run", "look around", "--max-turns", "1"]);
    assert_eq!((said.exit, said.out.as_str()), (Some(1), ""));
    assert!(said.err.contains("the limit of turns is reached"), "{}", said.err);
    assert!(scene.ok(&["tree"]).contains("the run is open"));
    assert!(scene.ok(&["sessions"]).contains("  open  "));
    assert!(said.err.contains("✓ List files (list_files) · "), "{}", said.err);
}

#[test]
fn a_session_that_is_taken_up_says_which_and_where() {
    let (scene, _endpoint) = Scene::with(vec![says("Hello."), says("Yes.")]);
    assert_eq!(scene.run(&["run", "greet", "-q"]).exit, Some(0));
    let said = scene.run(&["resume", "-p", "really?"]);
    assert!(said.err.starts_with("going on with ID “greet” at n2\nasking m at "), "{}", said.err);
}

#[test]
fn where_there_is_nothing_to_do_that_is_said_first() {
    let (scene, endpoint) = Scene::with(vec![says("Hello.")]);
    assert_eq!(scene.run(&["run", "greet", "-q"]).exit, Some(0));
    let said = scene.run(&["resume"]);
    assert_eq!((said.exit, said.out.as_str()), (Some(0), ""));
    expect![[r#"
        nothing to do: this run ended: answered; see it with `trunkline tree ID`
        session ID in TMP/store/sessions.db
          see it   trunkline tree ID
          say more trunkline resume ID -p "…"
    "#]]
    .assert_eq(&said.err);
    assert_eq!(scene.run(&["revert", "n0"]).exit, Some(0));
    let said = scene.run(&["resume"]);
    assert!(
        said.err.starts_with("nothing to do: the head is before your prompt; say something with -p\n"),
        "{}",
        said.err
    );
    assert_eq!(endpoint.requests().len(), 1);
}

/// Writes a session as a `run` has it that was killed before its prompt was recorded; perhaps with the prompt as a note.
fn begun(scene: &Scene, note: Option<&str>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("it starts");
    runtime.block_on(async {
        let store = SqliteStore::open(scene.store()).await.expect("it opens");
        let id = SessionId::parse("0195a1b2-0000-7000-8000-000000000001").expect("an id");
        let tree = MessageTree::new(Message::system("Be brief."), Timestamp(1));
        let session = NewSession {
            id: id.clone(),
            title: "greet".to_owned(),
            workspace: scene.work().to_str().map(str::to_owned),
            at: Timestamp(1),
            root: tree.root_entry(),
        };
        store.create(session).await.expect("it is kept");
        if let Some(text) = note {
            let prompt = Order::Prompt { text: text.to_owned() };
            post(&store, &id, &prompt, Timestamp(2)).await.expect("it is kept");
        }
        store.close().await;
    });
}

#[test]
fn a_prompt_that_was_never_recorded_is_asked_for_again() {
    let (scene, endpoint) = Scene::with(vec![says("Hello.")]);
    std::fs::create_dir_all(scene.path("store")).expect("a folder");
    begun(&scene, None);
    for flags in [&["resume"][..], &["resume", "-q"]] {
        let said = scene.run(flags);
        assert_eq!(said.exit, Some(1), "{}", said.err);
        assert!(
            said.err.contains("no prompt was recorded in this session")
                && said.err.contains("it is called “greet”")
                && said.err.contains("type the same `trunkline run …` again, with its --plan and --task")
                && said.err.contains("`trunkline delete ID` removes this one"),
            "{}",
            said.err
        );
    }
    assert_eq!(endpoint.requests().len(), 0);
    assert_eq!(scene.ok(&["resume", "-q", "-p", "greet"]), "Hello.\n");
}

#[test]
fn a_prompt_that_was_left_as_a_note_is_taken_up_by_a_resume() {
    let (scene, endpoint) = Scene::with(vec![says("Hello.")]);
    std::fs::create_dir_all(scene.path("store")).expect("a folder");
    begun(&scene, Some("greet me"));
    assert_eq!(scene.ok(&["resume", "-q"]), "Hello.\n");
    assert!(endpoint.requests()[0].contains("greet me"));
}

#[test]
fn a_run_that_committed_says_how_to_look_at_it_and_a_resume_says_so_again() {
    let scene = Scene::new();
    let demo = scene.path("demo");
    let said = scene.run(&["demo", "--delay", "0", "--keep-dir", demo.to_str().expect("plain")]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    let commit = scene.ok(&["sessions", "--json"]);
    let commit: Value = serde_json::from_str(&commit).expect("JSON");
    let state = commit["sessions"][0]["state"].as_str().expect("a state");
    let commit = state.strip_prefix("commit ").expect("it committed");
    let look = format!("git -C TMP/demo show {commit}");
    assert!(said.err.contains(&format!("  look at it {look}\n")), "{}", said.err);
    assert!(said.err.contains("  why        trunkline decisions ID\n"), "{}", said.err);
    assert!(!said.err.contains("tokens in"), "a script costs nothing: {}", said.err);
    let again = scene.run(&["resume"]);
    assert_eq!((again.exit, again.out.as_str()), (Some(0), ""), "no picture");
    let told = format!("nothing to do: this run ended with {state}; see it with `{look}`\n");
    assert!(again.err.starts_with(&told), "{}", again.err);
    // A run whose tail is left keeps what it wrote.
    let moved = scene.run(&["revert", "n1"]);
    assert!(moved.err.starts_with("files are not changed by this; p2 (edit slug.sh"), "{}", moved.err);
}

#[test]
fn the_next_command_repeats_what_the_session_does_not_keep() {
    let (scene, endpoint) = Scene::with(vec![says("Hello.")]);
    let address = endpoint.address();
    let typed = ["--max-turns", "7", "--max-tokens", "9000", "--max-output-tokens", "50"];
    let asked = ["--provider", "openai", "--base-url", address, "--model", "my own", "--no-revert"];
    let said = scene.run(&[&["run", "hi"], &typed[..], &asked[..]].concat());
    let next = format!(
        "trunkline resume ID --no-revert --max-turns 7 --max-tokens 9000 --max-output-tokens 50 --provider openai \
         --base-url {address} --model 'my own' -p"
    );
    assert!(said.err.contains(&next), "{}", said.err);

    let (scene, _endpoint) = Scene::with(vec![says("Hello.")]);
    let said =
        scene.run(&["run", "hi", "--left-prompts", "rebase", "--on-stall", "person", "--window", "9000"]);
    let next = "trunkline resume ID --left-prompts rebase --on-stall person --window 9000 -p";
    assert!(said.err.contains(next), "{}", said.err);
}

#[test]
fn a_prompt_that_the_model_leaves_follows_if_that_is_wanted() {
    let leave = r#"{"category":"tangent","step":"n1","summary":"asked too early"}"#;
    let (scene, endpoint) =
        Scene::with(vec![says("What else?"), calls("revert_to_state", leave), says("Both are done.")]);
    scene.ok(&["run", "do this", "-q", "--left-prompts", "rebase"]);
    scene.ok(&["resume", "-p", "and that", "-q", "--left-prompts", "rebase"]);
    let last = endpoint.requests().pop().expect("it was asked");
    let (note, copy) = (last.find("asked too early"), last.rfind("and that"));
    assert!(note.is_some() && note < copy, "{last}");
    let wrong = scene.run(&["run", "x", "--no-revert", "--on-stall", "model"]);
    assert_eq!(wrong.exit, Some(2));
}

#[test]
fn a_binary_that_is_not_on_the_path_is_named_as_it_was_started() {
    let (scene, _endpoint) = Scene::with(vec![says("Hello.")]);
    let mut command = scene.command(&["run", "hi"]);
    command.env("PATH", scene.work()).arg0("../my build/trunkline");
    let said = scene.said(command.output().expect("it runs"));
    assert!(said.err.contains("see it   '../my build/trunkline' tree ID\n"), "{}", said.err);
}

#[test]
fn without_git_a_run_of_commands_does_not_say_that_no_file_was_changed() {
    let command = || calls("run_command", r#"{"command":"echo made > made.txt"}"#);
    let (scene, _endpoint) = Scene::with(vec![command(), says("Done.")]);
    let said = scene.run(&["run", "make it", "--yes"]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    assert!(scene.work().join("made.txt").exists());
    let shown = scene.ok(&["decisions", "last"]);
    for told in [said.err, shown, scene.ok(&["tree"])] {
        let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains("what its commands changed was not seen"), "{told}");
        assert!(!told.contains("no file was changed"), "{told}");
    }
    // Nor that there was nothing to take back.
    let said = scene.run(&["decide", "rollback", "last", "--yes"]);
    assert!(said.err.contains("no change by a run of session ID is recorded"), "{}", said.err);
}
