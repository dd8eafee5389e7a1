//! Answers that a service makes in the background: asked for once, and fetched by their id from then on.

use serde_json::{Value, json};
use trunkline_providers::{DecodeError, OpenAiResponses, Provider, ProviderError, Request, RetryPolicy};

use super::{Act, HEAD, attempts, block_on, chunk, hi, provider, refusal, serve, words};
use crate::scripted::{collect, collect_from};

fn in_background() -> Request {
    let mut request = hi();
    request.extra.insert("background".to_owned(), json!(true));
    request
}

/// The beginning of a stream: the answer has an id, and perhaps a word.
fn begins(with: &str) -> Vec<Act> {
    let created = json!({"type": "response.created", "response": {"id": "resp_A", "model": "m", "status": "queued", "background": true}});
    let delta = json!({"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0, "content_index": 0, "delta": with});
    let mut body = format!("data: {created}\n\n");
    if !with.is_empty() {
        body.push_str(&format!("data: {delta}\n\n"));
    }
    // And the connection closes.
    vec![super::send(HEAD), chunk(&body)]
}

fn state(status: &str) -> Vec<Act> {
    let mut body = json!({"id": "resp_A", "object": "response", "model": "m", "status": status, "background": true, "output": []});
    if status == "completed" {
        body["output"] = json!([{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": "the whole answer", "annotations": []}]}]);
    }
    if status == "failed" {
        body["error"] = json!({"code": "server_error", "message": "it broke"});
    }
    refusal("200 OK", "content-type: application/json\r\n", &body.to_string())
}

fn line(request: &str) -> &str {
    request.lines().next().unwrap_or_default()
}

#[test]
fn an_answer_that_is_cut_before_its_first_word_is_fetched_and_not_asked_for_again() {
    let (base, told) = serve(vec![begins(""), state("in_progress"), state("completed")]);
    let provider = provider(base, OpenAiResponses::new());
    let (events, outcome) = block_on(collect(&provider, in_background()));
    assert_eq!(outcome, Ok(()));
    assert_eq!((words(&events).as_deref(), attempts(&events)), (Some("the whole answer"), 3));
    let requests: Vec<String> = told.iter().collect();
    let body: Value =
        serde_json::from_str(requests[0].split("\r\n\r\n").nth(1).unwrap_or_default()).expect("JSON");
    // What may not be stored is not made in the background.
    assert_eq!((&body["background"], &body["store"]), (&json!(true), &Value::Null));
    let fetching = "GET /v1/responses/resp_A?include[]=reasoning.encrypted_content HTTP/1.1";
    assert_eq!(
        requests.iter().map(|request| line(request)).collect::<Vec<_>>(),
        ["POST /v1/responses HTTP/1.1", fetching, fetching]
    );
    assert!(requests[1].contains("authorization: Bearer sk-secret"), "{}", requests[1]);
}

#[test]
fn one_that_is_cut_after_words_can_be_fetched_by_whoever_keeps_its_id() {
    let (base, told) = serve(vec![begins("the wh"), state("completed")]);
    let provider = provider(base, OpenAiResponses::without_reasoning());
    let (events, outcome) = block_on(collect(&provider, in_background()));
    assert_eq!((words(&events).as_deref(), outcome), (Some("the wh"), Err(ProviderError::Cut)));
    assert!(provider.answers_in_background(&in_background()) && !provider.answers_in_background(&hi()));
    let (events, outcome) = block_on(async {
        let reply = provider.fetch(&in_background(), "resp_A").await.expect("it can be asked");
        collect_from(reply.expect("it is kept")).await
    });
    assert_eq!((words(&events).as_deref(), outcome), (Some("the whole answer"), Ok(())));
    let lines: Vec<String> = told.iter().map(|request| line(&request).to_owned()).collect();
    assert_eq!(lines, ["POST /v1/responses HTTP/1.1", "GET /v1/responses/resp_A HTTP/1.1"]);
}

#[test]
fn one_that_stays_in_progress_is_an_error_with_its_id_and_one_that_failed_is_not_fetched_again() {
    let never = |base| provider(base, OpenAiResponses::new()).with_retry(RetryPolicy::never());
    let (base, _told) = serve(vec![state("queued")]);
    let (_, outcome) = block_on(collect(&never(base), in_background()));
    let fault = outcome.expect_err("it is not done");
    assert_eq!(fault, ProviderError::Decode(DecodeError::Unfinished { id: "resp_A".to_owned() }));
    assert_eq!(fault.to_string(), "the service is still making the answer resp_A in the background");
    assert!(fault.is_retryable() && !fault.is_in_answer());

    let (base, told) = serve(vec![begins(""), state("failed"), state("completed")]);
    let (_, outcome) = block_on(collect(&provider(base, OpenAiResponses::new()), in_background()));
    let fault = outcome.expect_err("it failed");
    assert!(fault.is_in_answer() && fault.to_string().contains("it broke"), "{fault}");
    assert_eq!(told.try_iter().count(), 2);
}

#[test]
fn an_id_is_one_part_of_the_path_whatever_is_in_it() {
    let (base, told) = serve(vec![state("completed")]);
    let provider = provider(base, OpenAiResponses::without_reasoning());
    let (_, outcome) = block_on(async {
        let reply = provider.fetch(&in_background(), "../x?y#z").await.expect("it can be asked");
        collect_from(reply.expect("it is kept")).await
    });
    assert_eq!(outcome, Ok(()));
    assert_eq!(line(&told.recv().expect("one request")), "GET /v1/responses/..%2Fx%3Fy%23z HTTP/1.1");
}
