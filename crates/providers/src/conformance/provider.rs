//! Asks a provider, whatever is behind it, and listens closely.

use std::time::Duration;

use trunkline_message_tree::Message;

use super::asking::misshapen;
use super::order::{self, show};
use super::patience::{pause, poll_once, within};
use super::{Promise, Report};
use crate::{Event, Provider, ProviderError, Reply, Request};

// How often a reply that is over is asked again.
const AFTERWARDS: usize = 3;

/// Checks a provider by asking it.
///
/// Each request is sent about eight times, so use a local server or a script rather than a service that counts. Where
/// two answers to the same request are the same, later ones are compared with them; where they are not, as with a model
/// that rolls dice, only the order of events can be checked. `patience` is how long one answer may take. Runs under any
/// executor.
pub async fn provider(subject: &dyn Provider, requests: &[Request], patience: Duration) -> Report {
    let named = requests.iter().enumerate().map(|(number, request)| (format!("request {number}"), request));
    ask(subject, named.collect(), patience).await
}

/// The same, with names for the requests.
pub(super) async fn ask(
    subject: &dyn Provider,
    requests: Vec<(String, &Request)>,
    patience: Duration,
) -> Report {
    let mut report = Report::new(subject.wire(), &Promise::OF_PROVIDERS);
    let kit = Kit { subject, patience };
    let mut known = Vec::new();
    for (at, request) in requests {
        let first = kit.ask(request, Manner::Straight).await;
        let fault = first.outcome.as_ref().err().map(|fault| format!("{at}: {fault}"));
        let answered = fault.is_none();
        report.check(Promise::Answered, fault);
        first.check(&at, &mut report);
        named(subject, &at, &mut report);
        if !answered {
            continue;
        }
        let second = kit.ask(request, Manner::Straight).await;
        let expected = (second.said() == first.said()).then(|| first.said());
        second.check(&format!("{at}, again"), &mut report);
        kit.drop_futures(request, expected.as_ref(), &at, &mut report).await;
        kit.drop_replies(request, first.events.len(), expected.as_ref(), &at, &mut report).await;
        known.push((request, expected));
    }
    if let (Some(first), Some(last)) = (known.first(), known.last()) {
        kit.two_at_once(first, last, &mut report).await;
        kit.refuses(first.0, &mut report).await;
    }
    report
}

fn named(subject: &dyn Provider, at: &str, report: &mut Report) {
    let origin = subject.origin();
    let nameless = origin.provider.is_empty() || origin.model.is_empty() || subject.wire().is_empty();
    let fault = nameless.then(|| {
        let wire = subject.wire();
        format!("{at}: its messages would come from {:?}, {:?} on {wire:?}", origin.provider, origin.model)
    });
    report.check(Promise::Fold, fault);
}

/// How a reply is listened to.
#[derive(Copy, Clone)]
pub(super) enum Manner {
    /// One event after the other.
    Straight,
    /// Futures of `next` are polled once and dropped, again and again, before one is waited for.
    Dropping,
}

/// What was heard.
pub(super) struct Heard {
    pub(super) events: Vec<Event>,
    pub(super) outcome: Result<(), Fault>,
    // What came after the end.
    after: Option<String>,
}

/// Why an answer did not come to its end.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Fault {
    Error(ProviderError),
    Patience(Duration),
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Fault::Error(error) => write!(f, "{error}"),
            Fault::Patience(patience) => write!(f, "nothing ends within {} s", patience.as_secs_f32()),
        }
    }
}

/// What a reply says, without what may differ from one to the next.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Said {
    message: Message,
    complete: bool,
}

impl Heard {
    pub(super) fn said(&self) -> Said {
        Said { message: order::fold(&self.events), complete: self.outcome.is_ok() }
    }

    /// Checks what can be seen from what was heard alone.
    pub(super) fn check(&self, at: &str, report: &mut Report) {
        order::check(report, at, &self.events, self.outcome.is_ok());
        report.check(Promise::Over, self.after.as_ref().map(|what| format!("{at}: {what}")));
    }

    /// Tells how it differs from what should have been said.
    pub(super) fn differs(&self, expected: Option<&Said>) -> Option<String> {
        if let Err(fault) = &self.outcome {
            return Some(fault.to_string());
        }
        let (said, expected) = (self.said(), expected?);
        (said != *expected).then(|| format!("{} instead of {}", show(&said.message), show(&expected.message)))
    }

    /// Whether it says something else than a complete answer, counts aside.
    pub(super) fn says_less_than(&self, said: &Said) -> bool {
        let message = order::fold(&self.events);
        message.content != said.message.content || message.stop != said.message.stop
    }

    pub(super) fn retries(&self) -> usize {
        self.events.iter().filter(|event| matches!(event, Event::Retrying { .. })).count()
    }

    pub(super) fn error(&self) -> Option<&ProviderError> {
        match &self.outcome {
            Err(Fault::Error(error)) => Some(error),
            _ => None,
        }
    }
}

/// A provider that is asked with patience.
pub(super) struct Kit<'a> {
    pub(super) subject: &'a dyn Provider,
    pub(super) patience: Duration,
}

impl Kit<'_> {
    pub(super) async fn ask(&self, request: &Request, manner: Manner) -> Heard {
        let (mut events, mut after) = (Vec::new(), None);
        let asking = async {
            let mut reply = self.subject.send(request.clone()).await?;
            let outcome = listen(reply.as_mut(), &mut events, manner).await;
            for _ in 0..AFTERWARDS {
                match reply.next().await {
                    Ok(None) => {}
                    // An error may be told again; after an end there is none.
                    Err(_) if outcome.is_err() => {}
                    other => after = Some(format!("{} after it was over", show(&other))),
                }
            }
            outcome
        };
        let outcome = match within(self.patience, asking).await {
            Some(outcome) => outcome.map_err(Fault::Error),
            None => Err(Fault::Patience(self.patience)),
        };
        Heard { events, outcome, after }
    }

    async fn drop_futures(&self, request: &Request, expected: Option<&Said>, at: &str, report: &mut Report) {
        let heard = self.ask(request, Manner::Dropping).await;
        let at = format!("{at}, each future dropped a few times");
        heard.check(&at, report);
        report.check(Promise::CancelSafe, heard.differs(expected).map(|fault| format!("{at}: {fault}")));
    }

    /// Drops replies at their beginning, in their middle and before their end, then asks again.
    async fn drop_replies(
        &self,
        request: &Request,
        events: usize,
        expected: Option<&Said>,
        at: &str,
        report: &mut Report,
    ) {
        for taken in [0, 1, events / 2, events.saturating_sub(1)] {
            let leaving = async {
                let Ok(mut reply) = self.subject.send(request.clone()).await else { return };
                for _ in 0..taken {
                    let _event = reply.next().await;
                }
                let _begun = poll_once(reply.next()).await;
            };
            let _in_time = within(self.patience, leaving).await;
        }
        let heard = self.ask(request, Manner::Straight).await;
        let at = format!("{at}, after replies were dropped on their way");
        heard.check(&at, report);
        report.check(Promise::Dropped, heard.differs(expected).map(|fault| format!("{at}: {fault}")));
    }

    async fn two_at_once(
        &self,
        first: &(&Request, Option<Said>),
        last: &(&Request, Option<Said>),
        report: &mut Report,
    ) {
        let mut events = [Vec::new(), Vec::new()];
        let both = async {
            let mut replies =
                [self.subject.send(first.0.clone()).await?, self.subject.send(last.0.clone()).await?];
            let mut over = [false, false];
            while over.contains(&false) {
                for ((reply, events), over) in replies.iter_mut().zip(&mut events).zip(&mut over) {
                    if !*over {
                        match reply.next().await? {
                            Some(event) => events.push(event),
                            None => *over = true,
                        }
                    }
                }
            }
            Ok(())
        };
        let outcome = match within(self.patience, both).await {
            Some(outcome) => outcome.map_err(Fault::Error),
            None => Err(Fault::Patience(self.patience)),
        };
        for (events, expected) in events.into_iter().zip([&first.1, &last.1]) {
            let heard = Heard { events, outcome: outcome.clone(), after: None };
            heard.check("two replies at once", report);
            let fault = heard.differs(expected.as_ref());
            report.check(Promise::Apart, fault.map(|fault| format!("two replies at once: {fault}")));
        }
    }

    pub(super) async fn refuses(&self, request: &Request, report: &mut Report) {
        for (what, request) in misshapen(request) {
            let sent = within(self.patience, self.subject.send(request)).await;
            let fault = match sent {
                Some(Err(ProviderError::Encode(_))) => None,
                Some(Err(other)) => Some(format!("told as {other}, which is not about the request's shape")),
                Some(Ok(_)) => Some("it is taken".to_owned()),
                None => Some("no answer to send".to_owned()),
            };
            report.check(Promise::Shapes, fault.map(|fault| format!("{what}: {fault}")));
        }
    }
}

async fn listen(reply: &mut dyn Reply, events: &mut Vec<Event>, manner: Manner) -> Result<(), ProviderError> {
    // A reply that never ends must not fill the memory.
    while events.len() < 1_000_000 {
        let mut next = None;
        if matches!(manner, Manner::Dropping) {
            for _ in 0..events.len() % 4 {
                next = poll_once(reply.next()).await;
                if next.is_some() {
                    break;
                }
                // Long enough for what the future began to come further.
                pause(Duration::from_micros(200)).await;
            }
        }
        let next = match next {
            Some(next) => next,
            None => reply.next().await,
        };
        match next? {
            Some(event) => events.push(event),
            None => break,
        }
    }
    Ok(())
}
