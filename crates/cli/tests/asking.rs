//! Whom a run asks: six wires, whose key goes where, and the name that is written on replies.

use expect_test::expect;
use serde_json::{Value, json};

use crate::fake::{Answer, Endpoint, Said, Scene, anthropic_says, says};

/// All keys there are; each must only be seen by whom it belongs to.
const KEYS: [(&str, &str); 8] = [
    ("ANTHROPIC_API_KEY", "key-of-anthropic"),
    ("OPENAI_API_KEY", "key-of-openai"),
    ("OPENROUTER_API_KEY", "key-of-openrouter"),
    ("DEEPSEEK_API_KEY", "key-of-deepseek"),
    ("GEMINI_API_KEY", "key-of-gemini"),
    ("AWS_ACCESS_KEY_ID", "id-of-aws"),
    ("AWS_SECRET_ACCESS_KEY", "secret-of-aws"),
    ("OLLAMA_API_KEY", "key-of-ollama"),
];

fn everyones_keys(scene: &mut Scene) {
    KEYS.iter().for_each(|(name, key)| scene.set(name, key));
    scene.set("AWS_REGION", "eu-central-1");
}

/// Runs with all keys set and returns what was said, the line of the request, and the keys that were in it.
fn asked(answer: Answer, arguments: &[&str]) -> (Said, String) {
    let endpoint = Endpoint::new(vec![answer]);
    let mut scene = Scene::new();
    everyones_keys(&mut scene);
    let at = ["--base-url", endpoint.address()];
    let said = scene.run(&[&["run", "hi", "-q"], &at[..], arguments].concat());
    let request = endpoint.requests().pop().unwrap_or_default();
    let keys: Vec<&str> = KEYS.iter().map(|(_, key)| *key).filter(|key| request.contains(key)).collect();
    let line = request.lines().next().unwrap_or_default();
    (said, format!("{line}\n{}\n", keys.join(" ")))
}

fn origin_of_answer(scene: &Scene) -> String {
    let shown: Value = serde_json::from_str(&scene.ok(&["show", "--json"])).expect("JSON");
    let nodes = shown["nodes"].as_array().expect("nodes");
    let origin = nodes.iter().rev().find_map(|node| node["message"].get("origin")).expect("an answer");
    format!("{} {}", origin["provider"].as_str().expect("a name"), origin["model"].as_str().expect("a model"))
}

#[test]
fn anthropic_is_asked_with_its_key() {
    let (said, request) = asked(anthropic_says("Hello."), &["--provider", "anthropic"]);
    assert_eq!((said.exit, said.out.as_str()), (Some(0), "Hello.\n"), "{}", said.err);
    expect![[r#"
        POST /v1/messages HTTP/1.1
        key-of-anthropic
    "#]]
    .assert_eq(&request);
}

#[test]
fn chat_is_asked_with_the_key_of_openai() {
    let (said, request) = asked(says("Hello."), &["--provider", "openai", "-m", "m"]);
    assert_eq!((said.exit, said.out.as_str()), (Some(0), "Hello.\n"), "{}", said.err);
    expect![[r#"
        POST /v1/chat/completions HTTP/1.1
        key-of-openai
    "#]]
    .assert_eq(&request);
}

#[test]
fn responses_are_asked_with_the_key_of_openai() {
    let item = json!({ "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
        "content": [{ "type": "output_text", "text": "Hello.", "annotations": [] }] });
    let event = |kind: &str, mut data: Value| {
        data["type"] = json!(kind);
        format!("event: {kind}\ndata: {data}\n\n")
    };
    let response = json!({ "id": "resp_1", "object": "response", "status": "completed", "model": "m", "output": [item],
        "usage": { "input_tokens": 100, "output_tokens": 5, "total_tokens": 105 } });
    let body = [
        event(
            "response.output_item.added",
            json!({ "output_index": 0, "item": { "type": "message", "id": "msg_1", "role": "assistant", "status": "in_progress", "content": [] } }),
        ),
        event(
            "response.output_text.delta",
            json!({ "item_id": "msg_1", "output_index": 0, "content_index": 0, "delta": "Hello." }),
        ),
        event("response.output_item.done", json!({ "output_index": 0, "item": item })),
        event("response.completed", json!({ "response": response })),
    ];
    let (said, request) = asked(Answer::Events(body.concat()), &["--provider", "responses", "-m", "m"]);
    assert_eq!((said.exit, said.out.as_str()), (Some(0), "Hello.\n"), "{}", said.err);
    expect![[r#"
        POST /v1/responses HTTP/1.1
        key-of-openai
    "#]]
    .assert_eq(&request);
}

#[test]
fn gemini_is_asked_with_its_key() {
    let answer = json!({ "candidates": [{ "content": { "parts": [{ "text": "Hello." }], "role": "model" }, "finishReason": "STOP", "index": 0 }],
        "usageMetadata": { "promptTokenCount": 100, "candidatesTokenCount": 5, "totalTokenCount": 105 } });
    let answer = Answer::Events(format!("data: {answer}\n\n"));
    let (said, request) = asked(answer, &["--provider", "gemini", "-m", "gemini-3-pro"]);
    assert_eq!((said.exit, said.out.as_str()), (Some(0), "Hello.\n"), "{}", said.err);
    expect![[r#"
        POST /v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse HTTP/1.1
        key-of-gemini
    "#]]
    .assert_eq(&request);
}

fn ollama_says(words: &str) -> Answer {
    let line = |content: &str, done: bool| json!({ "model": "m", "message": { "role": "assistant", "content": content }, "done": done, "done_reason": "stop", "prompt_eval_count": 100, "eval_count": 5 });
    Answer::Events(format!("{}\n{}\n", line(words, false), line("", true)))
}

#[test]
fn ollama_is_asked_on_its_own_wire_without_a_key() {
    // The address of its other API will do.
    for end in ["", "/v1/"] {
        let endpoint = Endpoint::new(vec![ollama_says("Hello.")]);
        let mut scene = Scene::new();
        everyones_keys(&mut scene);
        let address = format!("{}{end}", endpoint.address());
        let said = scene.run(&["run", "hi", "-q", "--provider", "ollama", "--base-url", &address, "-m", "m"]);
        assert_eq!((said.exit, said.out.as_str()), (Some(0), "Hello.\n"), "{}", said.err);
        let request = endpoint.requests().pop().expect("it was asked");
        assert!(request.starts_with("POST /api/chat HTTP/1.1\r\n"), "{request}");
        assert!(KEYS.iter().all(|(_, key)| !request.contains(key)), "{request}");
        assert_eq!(origin_of_answer(&scene), "ollama m");
    }
}

#[test]
fn ollama_host_means_its_own_wire_where_that_is_named_and_chat_elsewhere() {
    let endpoint = Endpoint::new(vec![says("By Chat."), ollama_says("By its own.")]);
    let mut scene = Scene::new();
    scene.set("OLLAMA_HOST", endpoint.address().trim_start_matches("http://"));
    assert_eq!(scene.run(&["run", "hi", "-q", "-m", "m"]).out, "By Chat.\n");
    assert_eq!(scene.run(&["run", "hi", "-q", "-m", "m", "--provider", "ollama"]).out, "By its own.\n");
    let lines: Vec<String> =
        endpoint.requests().iter().filter_map(|request| request.lines().next().map(str::to_owned)).collect();
    assert_eq!(lines, ["POST /v1/chat/completions HTTP/1.1", "POST /api/chat HTTP/1.1"]);
}

const DENIED: Answer =
    Answer::Refusal(403, r#"{"message":"The security token included in the request is invalid."}"#);
const CLAUDE: &str = "eu.anthropic.claude-haiku-4-5-20251001-v1:0";

#[test]
fn bedrock_is_asked_with_a_signature() {
    let (said, request) = asked(DENIED, &["--provider", "bedrock", "-m", CLAUDE]);
    assert_eq!(said.exit, Some(1));
    // The public half of the key is what a signature names.
    expect![[r#"
        POST /model/eu.anthropic.claude-haiku-4-5-20251001-v1%3A0/converse-stream HTTP/1.1
        id-of-aws
    "#]]
    .assert_eq(&request);
    assert!(said.err.contains("security token") && said.err.contains("hint: check the key"), "{}", said.err);
}

#[test]
fn signatures_are_for_the_region_and_carry_the_session() {
    let endpoint = Endpoint::new(vec![DENIED]);
    let mut scene = Scene::new();
    everyones_keys(&mut scene);
    scene.set("AWS_SESSION_TOKEN", "token-of-aws");
    scene.run(&["run", "hi", "--provider", "bedrock", "--base-url", endpoint.address(), "-m", CLAUDE]);
    let request = endpoint.requests().pop().expect("it was asked").to_ascii_lowercase();
    let signature = request.lines().find(|line| line.starts_with("authorization: ")).expect("signed");
    assert!(signature.starts_with("authorization: aws4-hmac-sha256 credential=id-of-aws/"), "{signature}");
    assert!(signature.contains("/eu-central-1/bedrock/aws4_request"), "{signature}");
    assert!(request.contains("x-amz-security-token: token-of-aws"), "{request}");
}

#[test]
fn a_key_of_bedrocks_own_comes_before_signatures() {
    let endpoint = Endpoint::new(vec![DENIED]);
    let mut scene = Scene::new();
    everyones_keys(&mut scene);
    scene.set("AWS_BEARER_TOKEN_BEDROCK", "key-of-bedrock");
    scene.run(&[
        "run",
        "hi",
        "--provider",
        "bedrock",
        "--base-url",
        endpoint.address(),
        "-m",
        "amazon.nova-lite-v1:0",
    ]);
    let request = endpoint.requests().pop().expect("it was asked");
    assert!(
        request.contains("authorization: Bearer key-of-bedrock") && !request.contains("of-aws"),
        "{request}"
    );
}

/// Runs against services on the internet through a proxy that answers for them.
fn through_a_proxy(answers: Vec<Answer>) -> (Scene, Endpoint) {
    let endpoint = Endpoint::new(answers);
    let mut scene = Scene::new();
    everyones_keys(&mut scene);
    scene.set("HTTP_PROXY", endpoint.address());
    scene.set("NO_PROXY", "127.0.0.1");
    (scene, endpoint)
}

#[test]
fn a_service_that_is_known_by_its_host_gets_its_own_key_and_name() {
    for (host, key, origin) in [
        ("api.deepseek.com", "key-of-deepseek", "deepseek m"),
        ("openrouter.ai/api", "key-of-openrouter", "openrouter m"),
        // Its key is not set, and this one was named together with the API.
        ("api.groq.com/openai", "key-of-openai", "groq m"),
        ("api.openai.com", "key-of-openai", "openai m"),
        ("deepseek.com.example.org", "key-of-openai", "openai-chat m"),
    ] {
        let (scene, endpoint) = through_a_proxy(vec![says("Hello.")]);
        let said = scene.run(&["run", "hi", "-q", "-m", "m", "--base-url", &format!("http://{host}/v1")]);
        assert_eq!(said.out, "Hello.\n", "{host}: {}", said.err);
        let request = endpoint.requests().pop().expect("it was asked");
        assert!(request.starts_with(&format!("POST http://{host}/v1/chat/completions ")), "{request}");
        let keys: Vec<&str> = KEYS.iter().map(|(_, key)| *key).filter(|key| request.contains(key)).collect();
        assert_eq!((keys.as_slice(), origin_of_answer(&scene).as_str()), (&[key][..], origin));
    }
}

#[test]
fn an_address_alone_says_which_api_it_is() {
    let (scene, endpoint) = through_a_proxy(vec![DENIED, DENIED, DENIED, DENIED]);
    for host in [
        "generativelanguage.googleapis.com",
        "generativelanguage.googleapis.com/v1beta/openai",
        "bedrock-runtime.us-west-2.amazonaws.com",
        "bedrock-runtime.us-west-2.amazonaws.com/openai/v1",
    ] {
        scene.run(&["run", "hi", "-q", "-m", "m", "--base-url", &format!("http://{host}")]);
    }
    let requests = endpoint.requests();
    let lines: String =
        requests.iter().map(|request| format!("{}\n", request.lines().next().unwrap_or_default())).collect();
    expect![[r#"
        POST http://generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent?alt=sse HTTP/1.1
        POST http://generativelanguage.googleapis.com/v1beta/openai/chat/completions HTTP/1.1
        POST http://bedrock-runtime.us-west-2.amazonaws.com/model/m/converse-stream HTTP/1.1
        POST http://bedrock-runtime.us-west-2.amazonaws.com/openai/v1/chat/completions HTTP/1.1
    "#]]
    .assert_eq(&lines);
    assert!(requests[2].contains("/us-west-2/bedrock/"), "the region is that of the host");
}

#[test]
fn a_session_whose_model_was_written_down_as_openai_keeps_its_model() {
    let (mut scene, endpoint) = through_a_proxy(vec![says("Hello."), says("Again.")]);
    scene.run(&["run", "hi", "-q", "-m", "m", "--base-url", "http://api.openai.com/v1"]);
    assert_eq!(origin_of_answer(&scene), "openai m");
    scene.set("OPENAI_BASE_URL", endpoint.address());
    // Its server is remembered, unless somebody says otherwise.
    let said = scene.run(&["resume", "-q", "-p", "more", "--provider", "openai"]);
    assert_eq!(said.out, "Again.\n", "{}", said.err);
    assert!(endpoint.requests()[1].contains(r#""model":"m""#));
    assert_eq!(origin_of_answer(&scene), "openai-chat m");
}

#[test]
fn a_session_goes_on_with_the_api_it_was_held_on() {
    let endpoint = Endpoint::new(vec![ollama_says("Hello."), ollama_says("Again.")]);
    let mut scene = Scene::new();
    everyones_keys(&mut scene);
    scene.set("OLLAMA_HOST", endpoint.address());
    assert_eq!(scene.run(&["run", "hi", "-q", "-m", "m", "--provider", "ollama"]).out, "Hello.\n");
    let said = scene.run(&["resume", "-q", "-p", "more"]);
    assert_eq!(said.out, "Again.\n", "{}", said.err);
}

#[test]
fn the_name_of_the_model_decides_between_keys() {
    let who = |model: &str| {
        let mut scene = Scene::new();
        everyones_keys(&mut scene);
        scene.set("AWS_BEARER_TOKEN_BEDROCK", "key-of-bedrock");
        // Nobody is asked in the end.
        let said = scene.run(&["run", "hi", "-m", model, "--max-turns", "0"]);
        let line = said.err.lines().find_map(|line| line.strip_prefix("asking ").map(str::to_owned));
        line.unwrap_or(said.err)
    };
    for (model, asked) in [
        ("claude-opus-5", "claude-opus-5 at api.anthropic.com"),
        ("gemini-2.5-pro", "gemini-2.5-pro at generativelanguage.googleapis.com"),
        ("amazon.nova-pro-v1:0", "amazon.nova-pro-v1:0 at bedrock-runtime.eu-central-1.amazonaws.com"),
        ("gpt-4.1", "gpt-4.1 at api.openai.com"),
        ("google/gemini-2.5-pro", "google/gemini-2.5-pro at api.openai.com"),
    ] {
        assert_eq!(who(model), asked);
    }
}

#[test]
fn without_its_makers_key_a_model_is_looked_for_where_all_makers_are() {
    let mut scene = Scene::new();
    scene.set("ANTHROPIC_API_KEY", "key-of-anthropic");
    scene.set("OPENROUTER_API_KEY", "key-of-openrouter");
    for model in ["gemini-2.5-pro", "amazon.nova-pro-v1:0", "qwen3"] {
        let said = scene.run(&["run", "hi", "-m", model, "--max-turns", "0"]);
        assert!(said.err.starts_with(&format!("asking {model} at openrouter.ai\n")), "{}", said.err);
    }
}

#[test]
fn what_is_missing_is_said_with_what_to_do() {
    let told = |variables: &[(&'static str, &str)], arguments: &[&str]| {
        let mut scene = Scene::new();
        variables.iter().for_each(|(name, value)| scene.set(name, value));
        let said = scene.run(&[&["run", "hi"], arguments].concat());
        assert_eq!(said.exit, Some(2), "{}", said.err);
        said.err
    };
    let all = [
        told(&[], &["--provider", "gemini"]),
        told(&[("GEMINI_API_KEY", "k")], &[]),
        told(&[], &["--provider", "bedrock"]),
        told(&[("AWS_REGION", "us-east-1")], &["--provider", "bedrock"]),
        told(&[("AWS_REGION", "evil.org/"), ("AWS_BEARER_TOKEN_BEDROCK", "k")], &["-m", "m"]),
        told(&[("AWS_REGION", "us-east-1"), ("AWS_ACCESS_KEY_ID", "k")], &["--provider", "bedrock"]),
        told(&[], &["--provider", "ollama"]),
        told(&[("TRUNKLINE_PROVIDER", "azure")], &[]),
    ];
    expect![[r#"
        error: no key for Gemini
          hint: set GEMINI_API_KEY or GOOGLE_API_KEY, or name a server with --base-url
        error: no model named for https://generativelanguage.googleapis.com
          hint: add --model MODEL, or set TRUNKLINE_MODEL
        error: no region for Bedrock
          hint: set AWS_REGION to the region whose models you may use
        error: no key for Bedrock
          hint: set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY
          hint: `aws configure export-credentials --format env` prints those of a profile
        error: "evil.org/" is no region of AWS; one looks like us-east-1
        error: AWS_ACCESS_KEY_ID is set, AWS_SECRET_ACCESS_KEY is not
          hint: set both, and AWS_SESSION_TOKEN for temporary credentials
        error: no model named for http://127.0.0.1:11434
          hint: add --model MODEL, or set TRUNKLINE_MODEL
        error: TRUNKLINE_PROVIDER is "azure"; it can be anthropic, openai, responses, gemini, bedrock, ollama
    "#]]
    .assert_eq(&all.concat());
}
