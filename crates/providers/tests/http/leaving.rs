//! Who drops a reply drops its connection; who reads it to its end keeps it.

use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use trunkline_providers::{BaseUrl, Event, Provider, Request, RetryPolicy};

use crate::scripted::collect;
use trunkline_message_tree::Message;

use super::{
    Act, HEAD, STOP, WORDS, answer, attempts, block_on, chat, chunk, end, hi, listen, pause, perform,
    read_request, refusal, send, serve, words,
};

/// Reads the reply for some time or until `enough`, drops it, and waits until the server says what came of it.
fn leave(
    provider: &dyn Provider,
    request: Request,
    told: &Receiver<String>,
    enough: impl Fn(&Event) -> bool,
) {
    block_on(async {
        let mut reply = provider.send(request).await.expect("sent");
        let reading = async {
            while let Ok(Some(event)) = reply.next().await
                && !enough(&event)
            {}
        };
        let _over = tokio::time::timeout(Duration::from_millis(300), reading).await;
        drop(reply);
        let dropped = Instant::now();
        // The connection's own task lets go of it.
        while !told.try_iter().any(|word| word == "gone") {
            tokio::time::sleep(Duration::from_millis(5)).await;
            assert!(dropped.elapsed() < Duration::from_secs(60), "the connection stays");
        }
    });
}

#[test]
fn while_connecting() {
    let (listener, base) = listen();
    let (tell, told) = channel();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        perform(&Act::Wait, &mut stream);
        let _ = tell.send("gone".to_owned());
    });
    let secure: BaseUrl = base.to_string().replace("http://", "https://").parse().expect("a base URL");
    leave(&chat(secure), hi(), &told, |_| false);
}

#[test]
fn while_the_request_is_written() {
    let (listener, base) = listen();
    let (tell, told) = channel();
    let (go, gone) = channel::<()>();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        // Reads nothing until the client has left.
        let _ = gone.recv_timeout(Duration::from_millis(500));
        perform(&Act::Wait, &mut stream);
        let _ = tell.send("gone".to_owned());
    });
    let request = Request::new("m", vec![Message::user("word ".repeat(4_000_000))]);
    leave(&chat(base), request, &told, |_| false);
    drop(go);
}

#[test]
fn while_waiting_for_the_head() {
    let (base, told) = serve(vec![vec![Act::Wait]]);
    leave(&chat(base), hi(), &told, |_| false);
}

#[test]
fn in_the_middle_of_the_body() {
    let (base, told) = serve(vec![vec![send(HEAD), chunk(WORDS), Act::Wait]]);
    leave(&chat(base), hi(), &told, |event| matches!(event, Event::TextDelta(_)));
}

#[test]
fn before_a_retry_nothing_more_is_sent() {
    let (base, told) = serve(vec![refusal("503 Busy", "", "{}"), answer()]);
    let mut retry = RetryPolicy::default();
    // Far longer than it takes a busy machine to drop the reply.
    (retry.base, retry.max) = (Duration::from_secs(2), Duration::from_secs(2));
    let provider = chat(base).with_retry(retry);
    block_on(async {
        let mut reply = provider.send(hi()).await.expect("sent");
        assert!(matches!(reply.next().await, Ok(Some(Event::Retrying { .. }))));
        let _still_pausing = tokio::time::timeout(Duration::from_millis(10), reply.next()).await;
        drop(reply);
        tokio::time::sleep(Duration::from_millis(2_500)).await;
    });
    assert_eq!(told.try_iter().count(), 1);
}

#[test]
fn a_future_that_is_dropped_loses_nothing() {
    let (base, _told) = serve(vec![vec![], answer()]);
    let provider = chat(base);
    let events = block_on(async {
        let mut reply = provider.send(hi()).await.expect("sent");
        let mut events = Vec::new();
        loop {
            match tokio::time::timeout(Duration::from_micros(50), reply.next()).await {
                Err(_) => {}
                Ok(Ok(Some(event))) => events.push(event),
                Ok(other) => {
                    assert_eq!(other, Ok(None));
                    return events;
                }
            }
        }
    });
    assert_eq!((words(&events).as_deref(), attempts(&events)), (Some("hello"), 2));
}

/// Answers every request on one connection and accepts no other.
fn one_connection(listener: TcpListener, answers: Vec<Vec<Act>>) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        drop(listener);
        for acts in answers {
            let request = read_request(&mut stream);
            assert!(request.contains("/v1/chat/completions"), "{request:?}");
            acts.iter().for_each(|act| perform(act, &mut stream));
        }
    })
}

#[test]
fn a_connection_is_used_again() {
    let early = || vec![send(HEAD), chunk(WORDS), chunk(STOP), pause(20), chunk(": that was it\n\n"), end()];
    let whole = r#"{"id":"c","model":"m","choices":[{"index":0,"message":{"content":"hello"},"finish_reason":"stop"}]}"#;
    let whole = vec![send(format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{whole}", whole.len()))];
    // Kept alive, as most do: the refused attempt and the next one share a connection too.
    let busy = vec![send("HTTP/1.1 503 Busy\r\ncontent-length: 2\r\n\r\n{}")];
    let (listener, base) = listen();
    // The first message is complete long before its body is.
    let server = one_connection(listener, vec![early(), answer(), busy, whole, answer()]);
    let provider = chat(base);
    block_on(async {
        for _ in 0..4 {
            let (events, outcome) = collect(&provider, hi()).await;
            assert_eq!((outcome, words(&events).as_deref()), (Ok(()), Some("hello")));
        }
    });
    server.join().expect("all requests came over one connection");
}

#[test]
fn p56_what_has_come_is_read_while_the_rest_is_still_to_come() {
    // The server never says more.
    let (base, _told) = serve(vec![vec![send(HEAD), chunk(WORDS), Act::Wait]]);
    let provider = chat(base);
    block_on(async {
        let mut reply = provider.send(hi()).await.expect("sent");
        let reading = async {
            loop {
                match reply.next().await {
                    Ok(Some(Event::TextDelta(text))) => return text,
                    Ok(Some(_)) => {}
                    other => panic!("{other:?}"),
                }
            }
        };
        let read = tokio::time::timeout(Duration::from_secs(20), reading).await;
        assert_eq!(read.expect("it came at once"), "hello");
    });
}
