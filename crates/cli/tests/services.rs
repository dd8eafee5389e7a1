//! Services at addresses that nobody knows: what they give goes back to them, what they want is learned, and a command
//! that is printed asks the same one.

use serde_json::{Value, json};

use crate::fake::{Answer, Endpoint, Scene, calls, says};

const LIMIT: &str = r#"{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}}"#;
const MISSING: &str = r#"{"error":{"type":"invalid_request_error","message":"thinking is enabled but reasoning_content is missing in assistant tool call message at index 2"}}"#;
const TOO_LONG: &str = r#"{"error":{"message":"This model's maximum context length is 100 tokens.","code":"context_length_exceeded"}}"#;

/// Answers with reasoning in a field, and one call.
fn reasons(field: &str) -> Answer {
    let chunk = |delta: &Value, finish: &Value| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
        format!("data: {}\n\n", json!({ "id": "x", "model": "m", "choices": [choice] }))
    };
    let call = json!({ "index": 0, "id": "call_1", "type": "function", "function": { "name": "list_files", "arguments": "{}" } });
    let mut body = chunk(&json!({ field: "I look." }), &Value::Null);
    body.push_str(&chunk(&json!({ "tool_calls": [call] }), &json!("tool_calls")));
    body.push_str("data: [DONE]\n\n");
    Answer::Events(body)
}

/// An answer of Anthropic's wire with reasoning that nobody signed, and one call.
fn reasons_unsigned() -> Answer {
    let events = [
        json!({ "type": "message_start", "message": { "id": "a", "type": "message", "role": "assistant", "model": "m", "content": [] } }),
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "thinking", "thinking": "", "signature": "" } }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "thinking_delta", "thinking": "I look." } }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "content_block_start", "index": 1, "content_block": { "type": "tool_use", "id": "toolu_1", "name": "list_files", "input": {} } }),
        json!({ "type": "content_block_stop", "index": 1 }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" }, "usage": { "output_tokens": 1 } }),
        json!({ "type": "message_stop" }),
    ];
    Answer::Events(events.map(|event| format!("data: {event}\n\n")).concat())
}

fn body(request: &str) -> Value {
    let body = request.split_once("\r\n\r\n").expect("a head and a body").1;
    serde_json::from_str(body).expect("JSON")
}

fn bodies(endpoint: &Endpoint) -> Vec<Value> {
    endpoint.requests().iter().map(|request| body(request)).collect()
}

/// The flags that name a server.
fn at(endpoint: &Endpoint) -> [String; 6] {
    ["--provider", "openai", "--base-url", &format!("{}/v1", endpoint.address()), "--model", "m"]
        .map(str::to_owned)
}

fn typed<'a>(command: &[&'a str], flags: &'a [String], more: &[&'a str]) -> Vec<&'a str> {
    command.iter().copied().chain(flags.iter().map(String::as_str)).chain(more.iter().copied()).collect()
}

/// Splits a printed command as a shell does that knows single quotes.
fn words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in command.chars() {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            c => words.last_mut().expect("there is one").push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Runs commands that were printed, with the id that tests do not show.
fn as_printed(scene: &Scene, printed: &str) -> crate::fake::Said {
    let id = scene.ids().into_iter().next().expect("a session");
    let words: Vec<String> =
        words(printed).into_iter().map(|word| if word == "ID" { id.clone() } else { word }).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    assert_eq!(words.first(), Some(&"trunkline"), "{printed}");
    scene.run(&words[1..])
}

#[test]
fn a_limit_by_another_name_is_learned_and_kept() {
    let endpoint = Endpoint::new(vec![Answer::Refusal(400, LIMIT), says("done"), says("more")]);
    let scene = Scene::new();
    let said = scene.run(&typed(&["run", "go", "-y"], &at(&endpoint), &[]));
    assert_eq!((said.exit, said.out.as_str()), (Some(0), "done\n"), "{}", said.err);
    let line = "· the service wants the limit of output as max_completion_tokens; it is asked so from now on";
    assert!(said.err.contains(line), "{}", said.err);
    let said = scene.run(&typed(&["resume", "-p", "more"], &at(&endpoint), &[]));
    assert_eq!(said.exit, Some(0), "{}", said.err);
    let asked: Vec<bool> =
        bodies(&endpoint).iter().map(|body| body.get("max_completion_tokens").is_some()).collect();
    assert_eq!(asked, [false, true, true]);
}

#[test]
fn a_dialect_says_it_without_a_refusal() {
    let endpoint = Endpoint::new(vec![says("done"), says("more")]);
    let scene = Scene::new();
    let said = scene.run(&typed(&["run", "go", "-y"], &at(&endpoint), &["--dialect", "openai"]));
    assert_eq!(said.exit, Some(0), "{}", said.err);
    assert!(said.err.contains("--dialect openai"), "the next command repeats it: {}", said.err);
    // Taken up without any flag, it is the same server and the same way to speak.
    assert_eq!(scene.run(&["resume", "-p", "more"]).exit, Some(0));
    assert!(bodies(&endpoint).iter().all(|body| body.get("max_completion_tokens").is_some()));
    let unknown = scene.run(&typed(&["run", "go"], &at(&endpoint), &["--dialect", "klingon"]));
    assert_eq!(unknown.exit, Some(2));
    assert!(unknown.err.contains("strict-template"), "{}", unknown.err);
    let other = scene.run(&typed(&["run", "go"], &at(&endpoint), &["--dialect", "anthropic"]));
    assert_eq!(other.exit, Some(2));
    assert!(other.err.contains("the dialect anthropic is not one of the API"), "{}", other.err);
}

#[test]
fn reasoning_goes_back_beside_its_call_in_the_field_that_it_came_in() {
    for field in ["reasoning_content", "reasoning"] {
        let endpoint = Endpoint::new(vec![reasons(field), says("done"), says("more")]);
        let scene = Scene::new();
        let said = scene.run(&typed(&["run", "go", "-y"], &at(&endpoint), &[]));
        assert_eq!(said.exit, Some(0), "{}", said.err);
        assert_eq!(scene.run(&["resume", "-p", "more"]).exit, Some(0));
        let back: Vec<Option<Value>> =
            bodies(&endpoint).iter().map(|body| body["messages"][2].get(field).cloned()).collect();
        assert_eq!(back, [None, Some(json!("I look.")), None], "{field}: not when its loop is over");
    }
}

#[test]
fn a_service_that_wants_reasoning_for_good_has_it_also_after_the_loop() {
    let endpoint = Endpoint::new(vec![
        reasons("reasoning_content"),
        says("done"),
        Answer::Refusal(400, MISSING),
        says("more"),
    ]);
    let scene = Scene::new();
    assert_eq!(scene.run(&typed(&["run", "go", "-y"], &at(&endpoint), &[])).exit, Some(0));
    let said = scene.run(&["resume", "-p", "more"]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    assert!(said.err.contains("the service wants the reasoning of each call back"), "{}", said.err);
    let bodies = bodies(&endpoint);
    assert_eq!(bodies[2]["messages"][2].get("reasoning_content"), None);
    assert_eq!(bodies[3]["messages"][2]["reasoning_content"], "I look.");
}

#[test]
fn unsigned_reasoning_goes_back_on_the_wire_of_anthropic() {
    let endpoint = Endpoint::new(vec![reasons_unsigned(), crate::fake::anthropic_says("done")]);
    let scene = Scene::new();
    let flags =
        ["--provider", "anthropic", "--base-url", endpoint.address(), "--model", "m"].map(str::to_owned);
    let said = scene.run(&typed(&["run", "go", "-y"], &flags, &[]));
    assert_eq!(said.exit, Some(0), "{}", said.err);
    let block = bodies(&endpoint)[1]["messages"][1]["content"][0].clone();
    assert_eq!(block, json!({ "type": "thinking", "thinking": "I look.", "signature": "" }));
}

#[test]
fn reasoning_does_not_go_to_another_address_or_model() {
    let (first, second) =
        (Endpoint::new(vec![reasons("reasoning_content")]), Endpoint::new(vec![says("done")]));
    let scene = Scene::new();
    let stopped = scene.run(&typed(&["run", "go", "-y", "--max-turns", "1"], &at(&first), &[]));
    assert_eq!(stopped.exit, Some(1), "{}", stopped.err);
    assert_eq!(scene.run(&typed(&["resume", "-y"], &at(&second), &[])).exit, Some(0));
    assert!(!second.requests()[0].contains("I look."), "another address");

    let endpoint = Endpoint::new(vec![reasons("reasoning_content"), says("done")]);
    let scene = Scene::new();
    scene.run(&typed(&["run", "go", "-y", "--max-turns", "1"], &at(&endpoint), &[]));
    let said = scene.run(&["resume", "-y", "--model", "other"]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    assert!(!endpoint.requests()[1].contains("I look."), "another model");
    assert_eq!(bodies(&endpoint)[1]["model"], "other");
}

#[test]
fn fields_can_be_added_but_none_of_ours() {
    let endpoint = Endpoint::new(vec![says("done"), says("more")]);
    let scene = Scene::new();
    let set = [
        "--set",
        "top_k=40",
        "--set",
        "chat_template_kwargs={\"enable_thinking\":false}",
        "--set",
        "tier=it's quick",
    ];
    let said = scene.run(&typed(&["run", "go", "-y"], &at(&endpoint), &set));
    assert_eq!(said.exit, Some(0), "{}", said.err);
    let body = &bodies(&endpoint)[0];
    assert_eq!((&body["top_k"], &body["tier"]), (&json!(40), &json!("it's quick")));
    assert_eq!(body["chat_template_kwargs"], json!({ "enable_thinking": false }));
    assert!(said.err.contains("--set 'top_k=40'"), "{}", said.err);
    for (ours, instead) in [
        ("messages=[]", "it carries the conversation"),
        ("tools=[]", "it carries the conversation"),
        ("tool_choice=none", "it carries the conversation"),
        ("model=other", "--model"),
        ("stream=false", "--dialect"),
        ("input=[]", "it carries the conversation"),
        ("contents=[]", "it carries the conversation"),
        ("system=be quick", "--system FILE"),
        ("max_tokens=1", "--max-output-tokens"),
        ("generationConfig={\"maxOutputTokens\":1}", "--max-output-tokens"),
        ("top_k", "write it like top_k=40"),
        ("=1", "a field needs a name"),
    ] {
        let said = scene.run(&typed(&["run", "go"], &at(&endpoint), &["--set", ours]));
        assert_eq!(said.exit, Some(2), "{ours}: {}", said.err);
        assert!(said.err.contains(instead), "{ours}: {}", said.err);
    }
    assert_eq!(endpoint.requests().len(), 1, "nobody was asked");
}

#[test]
fn every_printed_command_asks_the_same_server() {
    let part = || says(&"It was looked at from every side. ".repeat(40));
    // The summary is refused as the rest is, and then made.
    let answers = vec![
        part(),
        part(),
        part(),
        part(),
        Answer::Refusal(400, TOO_LONG),
        Answer::Refusal(400, TOO_LONG),
        says("Two parts were looked at."),
        says("And this."),
    ];
    let endpoint = Endpoint::new(answers);
    let mut scene = Scene::new();
    // Somebody else that could be asked, and must not be.
    let other = Endpoint::new(vec![says("wrong"), says("wrong")]);
    scene.set("ANTHROPIC_BASE_URL", other.address());
    scene.set("ANTHROPIC_API_KEY", "a-key");
    scene.ok(&typed(&["run", "look", "-q", "--system", "/dev/null"], &at(&endpoint), &[]));
    for _ in 0..3 {
        // Without any flag the session itself knows whom it asks.
        scene.ok(&["resume", "-p", "look on", "-q"]);
    }
    let said = scene.run(&typed(&["resume", "-p", "and on"], &at(&endpoint), &[]));
    assert_eq!(said.exit, Some(1), "{}", said.err);
    let hint =
        said.err.lines().find(|line| line.contains("sum up what is older: ")).expect("a hint").to_owned();
    let commands = hint.split_once("sum up what is older: ").expect("it was found").1;
    let (compact, resume) = commands.split_once(", then: ").expect("two commands");
    let compacted = as_printed(&scene, compact);
    assert_eq!(compacted.exit, Some(0), "{compact}: {}", compacted.err);
    let resumed = as_printed(&scene, resume);
    assert_eq!((resumed.exit, resumed.out.as_str()), (Some(0), "And this.\n"), "{resume}: {}", resumed.err);
    assert_eq!(endpoint.requests().len(), 8);
    assert!(other.requests().is_empty());
}

#[test]
fn commands_that_ask_nobody_print_ones_that_ask_the_same_server() {
    let edit = calls("write_file", r#"{"path":"a.txt","content":"a\n"}"#);
    let endpoint = Endpoint::new(vec![edit, says("done"), says("again")]);
    let mut scene = Scene::new();
    let other = Endpoint::new(vec![says("wrong"), says("wrong")]);
    scene.set("ANTHROPIC_BASE_URL", other.address());
    scene.set("ANTHROPIC_API_KEY", "a-key");
    let waits = scene.run(&typed(&["run", "write", "--non-interactive"], &at(&endpoint), &[]));
    assert_eq!(waits.exit, Some(1), "{}", waits.err);
    let decided = scene.run(&["resolve", "p1", "apply"]);
    assert_eq!(decided.exit, Some(0), "{}", decided.err);
    assert_eq!(scene.run(&["resume"]).exit, Some(0), "as `resolve` prints it");
    assert_eq!(scene.run(&["undo"]).exit, Some(1), "there is no move to take back");
    assert_eq!(scene.run(&["resume", "-p", "again"]).exit, Some(0));
    assert_eq!(endpoint.requests().len(), 3);
    assert!(other.requests().is_empty());
}

#[test]
fn an_imported_session_names_no_server_and_teaches_nothing() {
    let endpoint = Endpoint::new(vec![Answer::Refusal(400, LIMIT), says("done")]);
    let scene = Scene::new();
    scene.ok(&typed(&["run", "go", "-y"], &at(&endpoint), &[]));
    let lines = scene.command(&["export", "last"]).output().expect("it runs").stdout;
    assert!(String::from_utf8_lossy(&lines).contains(endpoint.address()), "the session knows it");

    let second = Endpoint::new(vec![Answer::Refusal(400, LIMIT), says("here")]);
    let there = Scene::new();
    there.import(&String::from_utf8(lines).expect("UTF-8"));
    // Whoever made the file does not choose where it goes.
    let said = there.run(&["resume", "-p", "more", "-C", "."]);
    assert_eq!(said.exit, Some(2), "{}", said.err);
    assert_eq!(endpoint.requests().len(), 2);
    let said = there.run(&typed(&["resume", "-p", "more", "-C", "."], &at(&second), &[]));
    assert_eq!(said.exit, Some(0), "{}", said.err);
    let asked: Vec<bool> = bodies(&second).iter().map(|body| body.get("max_tokens").is_some()).collect();
    assert_eq!(asked, [true, false], "it was learned anew");
}

#[test]
fn a_password_in_an_address_is_not_kept() {
    let endpoint = Endpoint::new(vec![says("done")]);
    let scene = Scene::new();
    let url = endpoint.address().replace("http://", "http://me:s3cret@");
    let flags = ["--provider", "openai", "--base-url", &url, "--model", "m"].map(str::to_owned);
    scene.ok(&typed(&["run", "go", "-q"], &flags, &[]));
    let lines = scene.command(&["export", "last"]).output().expect("it runs").stdout;
    assert!(!String::from_utf8_lossy(&lines).contains("s3cret"));
}

#[test]
fn a_recording_of_a_refusal_plays_as_it_was() {
    let endpoint = Endpoint::new(vec![Answer::Refusal(400, LIMIT), reasons("reasoning"), says("done")]);
    let scene = Scene::new();
    let tape = scene.path("tape.jsonl");
    let tape = tape.to_str().expect("a plain path");
    let said = scene.run(&typed(&["run", "go", "-y", "--record", tape], &at(&endpoint), &[]));
    assert_eq!(said.exit, Some(0), "{}", said.err);
    let played = scene.run(&["run", "go", "-y", "--replay", tape]);
    assert_eq!((played.exit, played.out.as_str()), (Some(0), "done\n"), "{}", played.err);
    assert!(played.err.contains("replayed 3 of 3 exchanges"), "{}", played.err);
}

#[test]
fn a_printed_command_names_what_variables_have_named() {
    let endpoint = Endpoint::new(vec![Answer::Refusal(401, r#"{"error":{"message":"no"}}"#), says("Here.")]);
    let mut scene = Scene::new();
    let url = format!("{}/v1", endpoint.address());
    scene.set("TRUNKLINE_PROVIDER", "openai");
    scene.set("OPENAI_BASE_URL", &url);
    scene.set("TRUNKLINE_MODEL", "m1");
    let said = scene.run(&["run", "go"]);
    assert_eq!(said.exit, Some(1), "{}", said.err);
    let (_, printed) = said.err.split_once("go on with: ").expect("a hint");
    for flag in ["--provider openai", "--model m1", url.as_str()] {
        assert!(printed.contains(flag), "{flag}: {printed}");
    }
    for name in ["TRUNKLINE_PROVIDER", "OPENAI_BASE_URL", "TRUNKLINE_MODEL"] {
        scene.set(name, "");
    }
    // Somebody else that could be asked, and must not be.
    scene.set("ANTHROPIC_API_KEY", "a-key");
    let resumed = as_printed(&scene, printed.lines().next().expect("a line"));
    assert_eq!((resumed.exit, resumed.out.as_str()), (Some(0), "Here.\n"), "{}", resumed.err);
}
