//! Runs whose connection breaks, whose service is busy, and whose model says nothing: what is told, and how they end.

use std::io::{BufRead, BufReader};
use std::process::Child;

use serde_json::{Value, json};

use crate::binding::{git, make};
use crate::fake::{Answer, Scene, anthropic_says, calls, cuts, ends, says};

/// Starts a run and waits until it has told this on stderr.
fn until_told(scene: &Scene, arguments: &[&str], words: &str) -> (Child, String) {
    let mut child = scene.command(arguments).spawn().expect("it starts");
    let mut told = String::new();
    let mut stderr = BufReader::new(child.stderr.take().expect("piped"));
    while !told.contains(words) {
        assert!(stderr.read_line(&mut told).expect("readable") > 0, "it ended: {told}");
    }
    (child, told)
}

#[test]
fn an_answer_that_is_cut_is_asked_again_and_stdout_gets_its_words_once() {
    let (scene, endpoint) = Scene::with(vec![cuts("The first half"), says("The whole answer.")]);
    let said = scene.run(&["run", "go"]);
    assert_eq!((said.exit, said.out.as_str()), (Some(0), "The whole answer.\n"), "{}", said.err);
    let line = "↻ attempt 1 failed (the answer was cut off before its end); what came is kept as n2; the next one in ";
    assert!(said.err.contains(line), "{}", said.err);
    let body = |request: &String| request.split("\r\n\r\n").nth(1).map(str::to_owned);
    let requests = endpoint.requests();
    assert_eq!((requests.len(), body(&requests[0])), (2, body(&requests[1])), "the same request");
    let tree = scene.ok(&["tree"]);
    assert!(tree.contains("The first half  cut off  asked again"), "{tree}");
    let shown = scene.ok(&["show", "--node", "n2"]);
    assert!(shown.contains("the model was asked again at n1"), "{shown}");
}

#[test]
fn json_tells_how_many_attempts_failed_and_what_cut_answers_cost() {
    let (scene, _endpoint) = Scene::with(vec![cuts(&"word ".repeat(400)), says("Yes.")]);
    let said = scene.run(&["run", "go", "--json"]);
    let told: Value = serde_json::from_str(&said.out).expect("one JSON object");
    assert_eq!((said.exit, &told["failed_attempts"], &told["answer"]), (Some(0), &json!(1), &json!("Yes.")));
    assert!(told["usage"]["output_tokens"].as_u64() >= Some(505), "{told}");
    assert!(told["verdict"]["cites"]["cost"]["output_tokens"].as_u64() >= Some(505), "{told}");
    assert!(said.err.contains("↻ attempt 1 failed"), "{}", said.err);
}

#[test]
fn a_run_that_is_killed_while_it_waits_waits_on_and_counts_on() {
    let busy = Answer::Refusal(503, r#"{"error":{"message":"still busy"}}"#);
    let (scene, endpoint) = Scene::with(vec![Answer::Busy(2), busy, says("At last.")]);
    let (mut child, _) = until_told(&scene, &["run", "go"], "↻ attempt 1 failed");
    child.kill().expect("it can be killed");
    child.wait().expect("it ends");
    let began = std::time::Instant::now();
    let said = scene.run(&["resume"]);
    assert_eq!((said.exit, said.out.as_str()), (Some(0), "At last.\n"), "{}", said.err);
    assert!(said.err.contains("↻ attempt 2 failed (overloaded (status 503): still busy)"), "{}", said.err);
    assert_eq!(endpoint.requests().len(), 3);
    assert!(began.elapsed().as_millis() > 1_000, "the second wait alone is longer");
}

#[test]
fn somebody_else_can_cancel_a_run_that_waits() {
    let (scene, _endpoint) = Scene::with(vec![Answer::Busy(500), says("unheard")]);
    let (mut child, _) = until_told(&scene, &["run", "go"], "the next one in ");
    assert_eq!(scene.run(&["cancel"]).exit, Some(0));
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    assert!(scene.ok(&["tree"]).contains("the run is open"));
}

#[test]
fn how_often_and_for_how_long_can_be_said_and_is_repeated_by_the_next_command() {
    let (scene, endpoint) = Scene::with(vec![cuts("I"), says("unheard")]);
    let said = scene.run(&["run", "go", "--retries", "0", "--retry-for", "90s"]);
    assert_eq!((said.exit, said.out.as_str(), endpoint.requests().len()), (Some(1), "", 1), "{}", said.err);
    assert!(said.err.contains("error: the answer was cut off before its end\n"), "{}", said.err);
    assert!(said.err.contains("trunkline resume ID --retries 0 --retry-for 90s"), "{}", said.err);

    let (scene, endpoint) = Scene::with(vec![Answer::Busy(60), says("unheard")]);
    let said = scene.run(&["run", "go", "-q", "--retry-for", "30s"]);
    assert_eq!((said.exit, endpoint.requests().len()), (Some(1), 1), "{}", said.err);
    assert!(said.err.contains("(it asks to wait 60 s)"), "{}", said.err);
    assert_eq!(scene.run(&["run", "go", "--retry-for", "soon"]).exit, Some(2));
}

#[test]
fn an_answer_of_nothing_is_asked_again_once_and_then_an_error() {
    let thought = json!({ "reasoning_content": "Now I call the tool." });
    for delta in [json!({ "content": "" }), thought, json!({ "content": " \n" })] {
        let (scene, endpoint) = Scene::with(vec![ends(&delta, "stop"), ends(&delta, "stop")]);
        let said = scene.run(&["run", "go"]);
        assert_eq!(
            (said.exit, said.out.as_str(), endpoint.requests().len()),
            (Some(1), "", 2),
            "{}",
            said.err
        );
        let error = "error: the model has answered without words and without a call: ";
        assert!(said.err.contains(error) && !said.err.contains('◆'), "{}", said.err);
        assert!(said.err.contains("; it is told so and asked once more"), "{}", said.err);
        assert!(endpoint.requests()[1].contains("Your last reply had no words"), "the model is told");
        assert!(scene.ok(&["tree"]).contains("the run is open"));

        let (scene, _endpoint) = Scene::with(vec![ends(&delta, "stop"), ends(&delta, "stop")]);
        let said = scene.run(&["run", "go", "--json"]);
        let told: Value = serde_json::from_str(&said.out).expect("one JSON object");
        assert_eq!((said.exit, &told["stop"], &told["verdict"]), (Some(1), &json!("error"), &Value::Null));
        assert!(told["error"].as_str().is_some_and(|error| error.contains("without words")), "{told}");

        let (scene, _endpoint) = Scene::with(vec![ends(&delta, "stop"), says("I am here.")]);
        assert_eq!(scene.ok(&["run", "go", "-q"]), "I am here.\n");
    }
}

#[test]
fn what_was_changed_until_an_answer_of_nothing_is_told_and_not_committed() {
    let write = calls("write_file", &json!({ "path": "a.txt", "content": "one\n" }).to_string());
    let nothing = || ends(&json!({ "content": "" }), "stop");
    let (scene, _endpoint) = Scene::with(vec![write, nothing(), nothing(), says("Done.")]);
    make(&scene.work(), "init -q -b main");
    let said = scene.run(&["run", "write it", "--yes", "--commit"]);
    assert_eq!(said.exit, Some(1), "{}", said.err);
    assert!(said.err.contains("changed until then, kept and in no commit: a.txt\n"), "{}", said.err);
    assert_eq!(std::fs::read_to_string(scene.work().join("a.txt")).expect("there"), "one\n");
    let commits = || git(&scene, "log --all --format=%H -- a.txt").lines().count();
    assert_eq!(commits(), 1);
    // Whoever goes on gets the commit that was wanted.
    assert_eq!(scene.ok(&["resume", "-q", "--yes", "--commit"]), "Done.\n");
    assert_eq!(commits(), 2);
}

#[test]
fn a_passing_error_inside_a_good_response_is_asked_again_on_the_anthropic_wire_too() {
    let error = json!({ "type": "error", "error": { "type": "overloaded_error", "message": "Overloaded" } });
    let overloaded = Answer::Events(format!("event: error\ndata: {error}\n\n"));
    let (scene, endpoint) = Scene::with_anthropic(vec![overloaded, anthropic_says("Hello.")]);
    let said = scene.run(&["run", "hi"]);
    assert_eq!((said.exit, said.out.as_str()), (Some(0), "Hello.\n"), "{}", said.err);
    assert!(said.err.contains("↻ attempt 1 failed (overloaded (status 200): Overloaded)"), "{}", said.err);
    assert_eq!(endpoint.requests().len(), 2);
}

#[test]
fn a_wrong_key_is_tried_once() {
    let refusal = Answer::Refusal(401, r#"{"error":{"message":"no such key"}}"#);
    let (scene, endpoint) = Scene::with(vec![refusal, says("unheard")]);
    let said = scene.run(&["run", "hi"]);
    assert_eq!((said.exit, endpoint.requests().len()), (Some(1), 1), "{}", said.err);
    assert!(!said.err.contains('↻'), "{}", said.err);
}

#[test]
fn an_answer_beyond_the_bound_is_told_and_can_be_taken_by_a_larger_one() {
    let long = "word ".repeat(4_000);
    let (scene, endpoint) = Scene::with(vec![says(&long), says(&long)]);
    let said = scene.run(&["run", "go", "--retries", "0", "--max-answer", "4096"]);
    assert_eq!((said.exit, endpoint.requests().len()), (Some(1), 1), "{}", said.err);
    assert!(said.err.contains("--max-answer BYTES takes more of one reply"), "{}", said.err);
    assert!(said.err.contains("trunkline resume ID --max-answer 4096 --retries 0"), "{}", said.err);
    let said = scene.run(&["resume", "--max-answer", "1000000"]);
    assert_eq!((said.exit, said.out.trim_end()), (Some(0), long.trim_end()), "{}", said.err);
}

#[test]
fn a_part_that_cannot_be_read_is_told_and_the_rest_of_the_answer_counts() {
    let Answer::Events(whole) = says("The whole answer.") else { unreachable!("it says words") };
    let (scene, endpoint) = Scene::with(vec![Answer::Events(format!("data: {{\"choices\": 7}}\n\n{whole}"))]);
    let said = scene.run(&["run", "go"]);
    assert_eq!((said.exit, said.out.as_str()), (Some(0), "The whole answer.\n"), "{}", said.err);
    assert_eq!(endpoint.requests().len(), 1);
    assert!(said.err.contains("a part of the answer could not be read ("), "{}", said.err);
    let log = scene.ok(&["export", "last"]);
    let record = log.lines().find(|line| line.contains("answer_unread")).expect("it is recorded");
    assert!(record.contains("choices"), "{record}");
}

#[test]
fn a_proxy_that_does_not_answer_is_named_as_a_proxy() {
    let mut scene = Scene::new();
    scene.set("HTTP_PROXY", "http://ann:hunter2@127.0.0.1:1");
    scene.set("OPENAI_API_KEY", "test-key");
    let address = ["--provider", "openai", "--model", "m", "--base-url", "http://model.invalid/v1"];
    let said = scene.run(&[&["run", "go", "--retries", "0"], &address[..]].concat());
    assert_eq!(said.exit, Some(1), "{}", said.err);
    assert!(said.err.contains("HTTPS_PROXY, HTTP_PROXY and ALL_PROXY name it"), "{}", said.err);
    assert!(said.err.contains("127.0.0.1:1") && !said.err.contains("hunter2"), "{}", said.err);
}

#[test]
fn what_a_service_says_of_a_refusal_is_told() {
    let Answer::Events(answer) = anthropic_says("I must not.") else { unreachable!("it says words") };
    let refusal =
        r#""stop_reason":"refusal","stop_details":{"type":"refusal","explanation":"not about this"}"#;
    let answer = answer.replace(r#""stop_reason":"end_turn""#, refusal);
    let (scene, endpoint) = Scene::with_anthropic(vec![Answer::Events(answer)]);
    let said = scene.run(&["run", "hi"]);
    assert_eq!(endpoint.requests().len(), 1);
    assert!(said.err.contains("the model declined; the service says: not about this"), "{}", said.err);
}

/// An answer that OpenAI makes in the background, as far as it has come.
fn in_background(status: &str, words: &str) -> Answer {
    let content = json!([{ "type": "output_text", "text": words, "annotations": [] }]);
    let item = json!({ "type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content });
    let output = if words.is_empty() { json!([]) } else { json!([item]) };
    let usage = json!({ "input_tokens": 100, "output_tokens": 5, "total_tokens": 105 });
    Answer::Events(
        json!({ "id": "resp_A", "object": "response", "model": "m", "status": status, "background": true,
        "output": output, "usage": usage })
        .to_string(),
    )
}

/// The beginning of one as a stream, and then the end of the connection.
fn cut_in_background() -> Answer {
    let created = json!({ "type": "response.created", "response": { "id": "resp_A", "model": "m", "status": "in_progress" } });
    let delta = json!({ "type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0, "content_index": 0,
        "delta": "The first half" });
    Answer::Events(format!("data: {created}\n\ndata: {delta}\n\n"))
}

const BACKGROUND: [&str; 6] = ["--provider", "responses", "-m", "m", "--set", "background=true"];

fn first_lines(requests: &[String]) -> Vec<&str> {
    requests.iter().map(|request| request.lines().next().unwrap_or_default()).collect()
}

#[test]
fn an_answer_that_is_made_in_the_background_is_sent_for_once_and_fetched() {
    let (scene, endpoint) = Scene::with(vec![
        cut_in_background(),
        in_background("in_progress", ""),
        in_background("completed", "The whole answer."),
    ]);
    let said = scene.run(&[&["run", "go", "--json"][..], &BACKGROUND].concat());
    let told: Value = serde_json::from_str(&said.out).expect("one JSON object");
    assert_eq!((said.exit, &told["answer"]), (Some(0), &json!("The whole answer.")), "{}", said.err);
    // It was made once, and is paid once.
    assert_eq!(told["usage"]["output_tokens"], 5, "{told}");
    let fetching = "GET /v1/responses/resp_A?include[]=reasoning.encrypted_content HTTP/1.1";
    assert_eq!(first_lines(&endpoint.requests()), ["POST /v1/responses HTTP/1.1", fetching, fetching]);
    let told = "↻ attempt 2 failed (the service is still making the answer resp_A in the background)";
    assert!(said.err.contains(told), "{}", said.err);
}

#[test]
fn a_run_that_is_killed_while_an_answer_is_made_in_the_background_fetches_it() {
    // However late the kill comes: it is still being made.
    let mut answers: Vec<Answer> = (0..4).map(|_| in_background("queued", "")).collect();
    answers.push(in_background("completed", "At last."));
    let (scene, endpoint) = Scene::with(answers);
    let arguments = [&["run", "go"][..], &BACKGROUND].concat();
    let (mut child, _) = until_told(&scene, &arguments, "↻ attempt 1 failed");
    child.kill().expect("it can be killed");
    child.wait().expect("it ends");
    let said = scene.run(&[&["resume"][..], &BACKGROUND].concat());
    assert_eq!((said.exit, said.out.as_str()), (Some(0), "At last.\n"), "{}", said.err);
    let posts: Vec<bool> = endpoint.requests().iter().map(|request| request.starts_with("POST")).collect();
    assert_eq!(posts, [true, false, false, false, false]);
}

#[test]
fn an_answer_in_the_background_that_is_not_kept_is_asked_for_anew() {
    let gone = Answer::Refusal(404, r#"{"error":{"message":"Response with id 'resp_A' not found."}}"#);
    let (scene, endpoint) =
        Scene::with(vec![in_background("queued", ""), gone, in_background("completed", "Again.")]);
    let said = scene.run(&[&["run", "go"][..], &BACKGROUND].concat());
    assert_eq!((said.exit, said.out.as_str()), (Some(0), "Again.\n"), "{}", said.err);
    let posts: Vec<bool> = endpoint.requests().iter().map(|request| request.starts_with("POST")).collect();
    assert_eq!(posts, [true, false, true]);
}

#[test]
fn an_answer_that_stays_in_the_background_is_an_error_with_its_id_and_one_that_failed_is_asked_for_anew() {
    let queued = || in_background("queued", "");
    let (scene, endpoint) = Scene::with(vec![queued(), queued(), queued(), queued()]);
    let said = scene.run(&[&["run", "go", "--retry-for", "2s"][..], &BACKGROUND].concat());
    assert_eq!((said.exit, said.out.as_str()), (Some(1), ""), "{}", said.err);
    let error = "error: the service is still making the answer resp_A in the background";
    assert_eq!(said.err.matches(error).count(), 1, "{}", said.err);
    let posts = endpoint.requests().iter().filter(|request| request.starts_with("POST")).count();
    assert_eq!(posts, 1);

    let failed = r#"{"id":"resp_A","status":"failed","output":[],"error":{"code":"server_error","message":"it broke"}}"#;
    let done = in_background("completed", "Again.");
    let (scene, endpoint) = Scene::with(vec![queued(), Answer::Events(failed.to_owned()), done]);
    let said = scene.run(&[&["run", "go"][..], &BACKGROUND].concat());
    assert_eq!((said.exit, said.out.as_str()), (Some(0), "Again.\n"), "{}", said.err);
    let posts: Vec<bool> = endpoint.requests().iter().map(|request| request.starts_with("POST")).collect();
    assert_eq!(posts, [true, false, true]);
}
