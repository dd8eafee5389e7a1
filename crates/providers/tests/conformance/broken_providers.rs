//! Providers with one fault each: a script with something laid over it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use expect_test::expect;
use serde_json::json;
use trunkline_message_tree::{Message, Origin, StopReason};
use trunkline_providers::conformance::{self, Promise};
use trunkline_providers::{Event, Provider, ProviderError, Reply, Request, Scripted, Turn};

use super::{block_on, broken, names};

type Queue = Arc<Mutex<VecDeque<Event>>>;

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fault {
    Hangs,
    SkipsAnAttempt,
    NeverEndsCalls,
    SpeaksAfterTheEnd,
    HasNoName,
    SaysCut,
    CountsBackwards,
    TakesBeforeItWaits,
    StaysBusy,
    SharesItsQueue,
    Repairs,
}

/// Each fault with what must be found of it.
pub(crate) const ALL: [(Fault, Promise); 11] = [
    (Fault::Hangs, Promise::Answered),
    (Fault::SkipsAnAttempt, Promise::Order),
    (Fault::NeverEndsCalls, Promise::Order),
    (Fault::SpeaksAfterTheEnd, Promise::Over),
    (Fault::HasNoName, Promise::Fold),
    (Fault::SaysCut, Promise::Stop),
    (Fault::CountsBackwards, Promise::Usage),
    (Fault::TakesBeforeItWaits, Promise::CancelSafe),
    (Fault::StaysBusy, Promise::Dropped),
    (Fault::SharesItsQueue, Promise::Apart),
    (Fault::Repairs, Promise::Shapes),
];

struct Broken {
    fault: Fault,
    script: Scripted,
    nobody: Origin,
    busy: Arc<AtomicBool>,
    queue: Queue,
}

fn provider(fault: Fault) -> Broken {
    let script = Scripted::new("scripted", "m", move |request| {
        let last = request.messages.last().map(|message| message.text()).unwrap_or_default();
        let turn = Turn::say(format!("you said: {last}")).call("c1", "f", &json!({"a": 1}));
        if fault == Fault::Hangs { turn.hang() } else { turn }
    });
    let nobody = Origin::new("", "");
    Broken { fault, script, nobody, busy: Arc::default(), queue: Arc::default() }
}

#[async_trait]
impl Provider for Broken {
    fn origin(&self) -> &Origin {
        if self.fault == Fault::HasNoName { &self.nobody } else { self.script.origin() }
    }

    fn wire(&self) -> &str {
        self.script.wire()
    }

    async fn send(&self, request: Request) -> Result<Box<dyn Reply>, ProviderError> {
        if self.fault == Fault::StaysBusy && self.busy.swap(true, Ordering::SeqCst) {
            let (endpoint, message) = ("it".to_owned(), "busy".to_owned());
            return Err(ProviderError::Transport { endpoint, message });
        }
        let mut inner = match self.script.send(request).await {
            Err(ProviderError::Encode(_)) if self.fault == Fault::Repairs => {
                self.script.send(Request::new("m", [Message::user("hi")])).await?
            }
            outcome => outcome?,
        };
        let queue =
            if self.fault == Fault::SharesItsQueue { Arc::clone(&self.queue) } else { Queue::default() };
        if self.fault == Fault::Hangs {
            return Ok(inner);
        }
        let mut events = VecDeque::new();
        while let Some(event) = inner.next().await? {
            self.twist(event, &mut events);
        }
        *queue.lock().expect("nobody panics") = events;
        Ok(Box::new(BrokenReply { fault: self.fault, queue, busy: Arc::clone(&self.busy), over: false }))
    }
}

impl Broken {
    fn twist(&self, event: Event, events: &mut VecDeque<Event>) {
        match (self.fault, event) {
            (Fault::SkipsAnAttempt, started @ Event::Started { .. }) => {
                let (attempt, wait, cause) = (2, Duration::ZERO, "busy".to_owned());
                events.extend([Event::Retrying { attempt, wait, cause }, started]);
            }
            (Fault::NeverEndsCalls, Event::CallDone { .. }) => {}
            (Fault::SaysCut, Event::Stopped(_)) => events.push_back(Event::Stopped(StopReason::Cut)),
            (Fault::CountsBackwards, Event::Usage(usage)) => {
                let mut more = usage;
                more.output_tokens += 1;
                events.extend([Event::Usage(more), Event::Usage(usage)]);
            }
            (_, event) => events.push_back(event),
        }
    }
}

struct BrokenReply {
    fault: Fault,
    queue: Queue,
    busy: Arc<AtomicBool>,
    over: bool,
}

#[async_trait]
impl Reply for BrokenReply {
    async fn next(&mut self) -> Result<Option<Event>, ProviderError> {
        if self.fault == Fault::TakesBeforeItWaits {
            let taken = self.queue.lock().expect("nobody panics").pop_front();
            tokio::task::yield_now().await;
            return Ok(taken);
        }
        tokio::task::yield_now().await;
        if self.over && self.fault == Fault::SpeaksAfterTheEnd {
            return Ok(Some(Event::Ping));
        }
        let next = self.queue.lock().expect("nobody panics").pop_front();
        if next.is_none() {
            self.over = true;
            self.busy.store(false, Ordering::SeqCst);
        }
        Ok(next)
    }
}

#[test]
fn each_fault_of_a_provider_is_found() {
    let requests = ["hello there", "good bye, then"].map(|words| Request::new("m", [Message::user(words)]));
    let mut found = String::new();
    for (fault, promise) in ALL {
        // Only one of them must be waited for.
        let patience = Duration::from_millis(if fault == Fault::Hangs { 100 } else { 10_000 });
        let report = block_on(conformance::provider(&provider(fault), &requests, patience));
        assert!(broken(&report).contains(&promise), "{promise}: {report}");
        found.push_str(&format!("{fault:?}: {}\n", names(&report)));
    }
    expect![[r#"
        Hangs: Answered
        SkipsAnAttempt: Order
        NeverEndsCalls: Order
        SpeaksAfterTheEnd: Over
        HasNoName: Fold
        SaysCut: Stop
        CountsBackwards: Usage
        TakesBeforeItWaits: Order, CancelSafe
        StaysBusy: Answered, Shapes, Dropped, Apart
        SharesItsQueue: Order, Apart
        Repairs: Shapes
    "#]]
    .assert_eq(&found);
}
