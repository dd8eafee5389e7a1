//! What happens, as a stream.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use futures_core::Stream;
use trunkline_runtime::message_tree::Role;
use trunkline_runtime::providers::{Event as Piece, Request, Scripted, Turn};
use trunkline_runtime::session_store::MemoryStore;
use trunkline_runtime::{Agent, Cancel, Event, Events, Session, SessionEvent};

fn echo(request: &Request) -> Turn {
    Turn::say(request.messages.last().map(|message| message.text()).unwrap_or_default())
}

fn agent() -> Agent {
    Agent::builder(Scripted::new("scripted", "m", echo)).build().unwrap()
}

async fn session(agent: &Agent) -> Session {
    agent.start(Arc::new(MemoryStore::new()), "t", None).await.unwrap()
}

/// Reads what is there now, without waiting, and whether the stream has ended.
fn now(events: &mut Events) -> (Vec<SessionEvent>, bool) {
    let mut told = Vec::new();
    loop {
        match Pin::new(&mut *events).poll_next(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Some(one)) => told.push(one),
            Poll::Ready(None) => return (told, true),
            Poll::Pending => return (told, false),
        }
    }
}

fn words(told: &[SessionEvent]) -> String {
    let piece = |told: &SessionEvent| match &told.event {
        Event::Stream(Piece::TextDelta(piece)) => piece.clone(),
        _ => String::new(),
    };
    told.iter().map(piece).collect()
}

#[tokio::test]
async fn a_reader_on_a_task_of_its_own_hears_all_and_then_the_end() {
    let mut session = session(&agent()).await;
    let mut events = session.events();
    let reader = tokio::spawn(async move {
        let mut told = Vec::new();
        while let Some(one) = events.next().await {
            told.push(one);
        }
        told
    });
    session.prompt("one two three", &Cancel::new()).await.unwrap();
    let id = session.id().clone();
    drop(session);
    let told = reader.await.unwrap();
    assert_eq!(words(&told), "one two three");
    assert!(told.iter().all(|one| one.session == id && one.missed == 0));
    assert!(matches!(told.last().unwrap().event, Event::Decided(_)));
}

#[tokio::test]
async fn the_stream_of_an_agent_has_all_its_sessions_and_lives_as_long_as_any_of_them() {
    let agent = agent();
    let mut events = agent.events();
    let (mut first, mut second) = (session(&agent).await, session(&agent).await);
    let mut of_first = first.events();
    drop(agent);
    first.prompt("one", &Cancel::new()).await.unwrap();
    second.prompt("two", &Cancel::new()).await.unwrap();
    let (told, ended) = now(&mut events);
    assert_eq!((words(&told).as_str(), ended), ("onetwo", false));
    let of = |session: &Session| told.iter().filter(|one| one.session == *session.id()).count();
    assert_eq!(of(&first) + of(&second), told.len());
    assert_eq!(words(&now(&mut of_first).0), "one");
    drop(first);
    assert_eq!((now(&mut of_first).1, now(&mut events).1), (true, false));
    drop(second);
    assert!(now(&mut events).1);
}

#[tokio::test]
async fn a_reader_too_far_behind_keeps_the_latest_and_learns_how_many_are_gone() {
    let mut session = session(&agent()).await;
    let (mut slow, mut quick) = (session.events(), session.events());
    let mut all = Vec::new();
    // Far more than wait for a reader.
    for _ in 0..300 {
        session.prompt("words", &Cancel::new()).await.unwrap();
        all.extend(now(&mut quick).0);
    }
    assert!(all.len() > 2000 && all.iter().all(|one| one.missed == 0));
    let (told, _) = now(&mut slow);
    assert_eq!(told.len(), 1024);
    assert_eq!(told[0].missed, all.len() as u64 - 1024);
    assert!(told[1..].iter().all(|one| one.missed == 0));
    let debug = |one: &SessionEvent| format!("{:?}", one.event);
    assert!(told.iter().map(debug).eq(all[all.len() - 1024..].iter().map(debug)));
    // From there it has caught up.
    session.prompt("more", &Cancel::new()).await.unwrap();
    assert_eq!(now(&mut slow).0[0].missed, 0);
}

#[tokio::test]
async fn what_waits_can_be_read_after_the_end_and_a_reader_that_has_gone_is_forgotten() {
    let mut session = session(&agent()).await;
    drop(session.events());
    let mut events = session.events();
    session.prompt("words", &Cancel::new()).await.unwrap();
    let store_told = |told: &SessionEvent| match &told.event {
        Event::Message { message, .. } if message.role == Role::Assistant => Some(message.text()),
        _ => None,
    };
    drop(session);
    let (told, ended) = now(&mut events);
    assert!(ended);
    assert_eq!(told.iter().filter_map(store_told).collect::<Vec<_>>(), ["words"]);
    assert!(now(&mut events).1);
}
