//! Checks a provider against a server on this machine that misbehaves.

use std::time::{Duration, Instant};

use super::chance::Chance;
use super::loopback::{End, Loopback, Play};
use super::order::show;
use super::patience::{pause, poll_once, within};
use super::provider::{Heard, Kit, Manner, Said, ask};
use super::{Answer, Promise, Refusal, Report, Samples, refusing};
use crate::{BaseUrl, ErrorKind, Event, Provider, ProviderError, Secret, Waiting};

// How long an answer may take, attempts and waits included.
const PATIENCE: Duration = Duration::from_secs(30);
// How long a dropped reply may keep its connection.
const CLOSING: Duration = Duration::from_secs(2);
const SPLITS: usize = 6;
const CUTS: usize = 8;

/// Where a subject finds the server, and how impatient it must be.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Endpoint {
    /// The address of the server.
    pub base: BaseUrl,
    /// The key to send.
    pub key: Secret,
    /// How long to wait for the first byte of an answer.
    pub response: Duration,
    /// How long to wait for the next bytes.
    pub next_bytes: Duration,
    /// How long to wait after a first attempt that failed, if the server does not say.
    pub pause: Duration,
}

/// Checks a provider that speaks HTTP.
///
/// `make` sets a subject up as the endpoint says; shorter waits only make the kit quicker. The first answer should be
/// a stream, and the subject must not be allowed to begin an answer again
/// ([`RetryPolicy::restart`](crate::RetryPolicy::restart)). Takes some ten seconds, most of them in silence: some checks
/// wait for timeouts.
pub async fn over_http<P: Provider>(
    samples: &Samples,
    make: impl Fn(&Endpoint) -> Result<P, ProviderError>,
) -> Report {
    let mut report = Report::new("over HTTP", &Promise::OVER_HTTP);
    let server = match Loopback::start() {
        Ok(server) => server,
        Err(fault) => {
            report.check(Promise::Answered, Some(format!("the kit's own server cannot start: {fault}")));
            return report;
        }
    };
    let Ok(base) = server.base().parse() else { return report };
    let endpoint = Endpoint {
        base,
        key: Secret::new("kit-0123456789abcdef"),
        response: Duration::from_millis(1500),
        next_bytes: Duration::from_millis(800),
        pause: Duration::from_millis(1),
    };
    let subject = match make(&endpoint) {
        Ok(subject) => subject,
        Err(fault) => {
            report.check(Promise::Answered, Some(format!("the subject cannot be set up: {fault}")));
            return report;
        }
    };
    for (number, answer) in samples.answers.iter().enumerate() {
        let mut chance = Chance::new(samples.seed, number);
        let play = playing(answer);
        let pieces = chance.pieces(&answer.body, 60);
        server.play([play.clone().in_pieces(pieces, Duration::from_millis(1)).ending(End::Chunks)]);
        let asked = ask(&subject, vec![(answer.name.clone(), &answer.request)], PATIENCE).await;
        let answered = !asked.findings().any(|finding| finding.promise == Promise::Answered);
        report.absorb(asked);
        if !answered {
            continue;
        }
        let kit = Kit { subject: &subject, patience: PATIENCE };
        let mut run = Run { kit, server: &server, answer, endpoint: &endpoint, report: &mut report };
        let said = run.in_pieces(&mut chance).await;
        run.cut_short(&said, &mut chance).await;
        if number == 0 {
            run.attempts(&said).await;
            run.refusals(samples).await;
            run.silence(&said).await;
            run.closed().await;
            run.shapes().await;
        }
    }
    report
}

/// A complete response. What it says about waiting means nothing beside a success.
fn playing(answer: &Answer) -> Play {
    Play::new(200, &answer.content_type, &answer.body).with_header("retry-after", "3600")
}

struct Run<'a> {
    kit: Kit<'a>,
    server: &'a Loopback,
    answer: &'a Answer,
    endpoint: &'a Endpoint,
    report: &'a mut Report,
}

impl Run<'_> {
    async fn ask(&mut self, plays: Vec<Play>, at: &str) -> Heard {
        self.server.play(plays);
        let heard = self.kit.ask(&self.answer.request, Manner::Straight).await;
        heard.check(at, self.report);
        let key = self.endpoint.key.expose();
        for seen in self.server.seen() {
            let shown = seen.line.contains(key) || String::from_utf8_lossy(&seen.body).contains(key);
            let fault = shown.then(|| format!("{at}: the key is in the body or in {:?}", seen.line));
            self.report.check(Promise::Key, fault);
        }
        heard
    }

    fn named(&self, how: &str) -> String {
        format!("{}, {how}", self.answer.name)
    }

    async fn in_pieces(&mut self, chance: &mut Chance) -> Said {
        let body = self.answer.body.as_slice();
        let at = self.named("at once");
        let said = self.ask(vec![playing(self.answer)], &at).await.said();
        for number in 0..SPLITS {
            let end = [End::Chunks, End::Length, End::Close][number % 3];
            let most = [1, 9, 120][number / 2 % 3];
            let play = playing(self.answer).ending(end);
            let play = play.in_pieces(chance.pieces(body, most), Duration::from_micros(300));
            let at = self.named(&format!("in pieces of up to {most} bytes, ended by {end:?}"));
            let heard = self.ask(vec![play], &at).await;
            let fault = heard.differs(Some(&said));
            self.report.check(Promise::Pieces, fault.map(|fault| format!("{at}: {fault}")));
        }
        said
    }

    /// Says whether something was asked again of which a part had been said, or untold.
    fn repeated(&self, heard: &Heard) -> Option<String> {
        let asked = self.server.seen().len();
        let retried = heard.events.iter().rposition(|event| matches!(event, Event::Retrying { .. }));
        let void = heard.events.get(..retried.unwrap_or_default()).unwrap_or_default();
        let fault = asked > 1 && (retried.is_none() || void.iter().any(Event::says));
        fault.then(|| format!("asked {asked} times"))
    }

    async fn cut_short(&mut self, said: &Said, chance: &mut Chance) {
        let length = self.answer.body.len();
        for number in 0..CUTS {
            let place = 1 + chance.below(length.saturating_sub(1));
            let (head, _) = self.answer.body.split_at(place);
            let end = [End::Break, End::Chunks, End::Close][number % 3];
            let cut = playing(self.answer).in_pieces(chance.pieces(head, 400), Duration::from_millis(1));
            let at = self.named(&format!("cut after {place} of {length} bytes, ended by {end:?}"));
            let heard = self.ask(vec![cut.ending(end), playing(self.answer)], &at).await;
            let repeated = self.repeated(&heard).map(|fault| format!("{at}: {fault}"));
            self.report.check(Promise::NoRepeat, repeated);
            let fault = match &heard.outcome {
                // What is missing may say nothing.
                Ok(()) => heard.says_less_than(said).then(|| "told as complete".to_owned()),
                Err(_) if heard.error() == Some(&ProviderError::Cut) => None,
                Err(other) => Some(format!("told as {other}")),
            };
            self.report.check(Promise::Cut, fault.map(|fault| format!("{at}: {fault}")));
        }
    }

    async fn attempts(&mut self, said: &Said) {
        let busy = || Play::new(503, "application/json", b"{}");
        let later = || Play::new(429, "application/json", b"{}").with_header("retry-after", "1");
        let tries = [
            ("status 503 and then an answer", busy(), Some(ErrorKind::Overloaded)),
            ("status 429 with a wait and then an answer", later(), Some(ErrorKind::RateLimited)),
            ("no response and then an answer", Play::mute(End::Close), None),
        ];
        for (at, first, kind) in tries {
            let heard = self.ask(vec![first, playing(self.answer)], at).await;
            let mut fault = self.untold(&heard);
            fault = fault.or_else(|| match &heard.outcome {
                // Who does not try again is as good as who does, if it says so.
                Ok(()) if heard.retries() > 0 => heard.differs(Some(said)),
                Ok(()) => Some("answered, and no attempt is told".to_owned()),
                Err(fault) => {
                    let fits =
                        heard.error().is_some_and(|error| error.is_retryable() && error.kind() == kind);
                    (!fits).then(|| format!("told as {fault}"))
                }
            });
            let seen = self.server.seen();
            if let [first, second, ..] = seen.as_slice() {
                if first.body != second.body || first.line != second.line {
                    fault = fault.or_else(|| Some("the second attempt asks for something else".to_owned()));
                }
                let waited = second.at.saturating_duration_since(first.at);
                if kind == Some(ErrorKind::RateLimited) && waited < Duration::from_millis(950) {
                    fault = fault.or_else(|| Some(format!("waited {waited:?} where 1 s was asked for")));
                }
            }
            self.report.check(Promise::Attempts, fault.map(|fault| format!("{at}: {fault}")));
        }
        for status in [400, 401, 404, 422] {
            let at = format!("status {status}, again and again");
            let heard = self.ask(vec![Play::new(status, "application/json", b"{}")], &at).await;
            let asked = self.server.seen().len();
            let fault =
                (asked != 1).then(|| format!("{at}: asked {asked} times, for {}", show(&heard.error())));
            self.report.check(Promise::Attempts, fault);
        }
        let at = "status 503, again and again";
        let heard = self.ask(vec![busy()], at).await;
        let fault = self.untold(&heard).or_else(|| {
            let fits = heard.error().and_then(ProviderError::kind) == Some(ErrorKind::Overloaded);
            (!fits).then(|| format!("ends with {}", show(&heard.outcome)))
        });
        self.report.check(Promise::Attempts, fault.map(|fault| format!("{at}: {fault}")));
    }

    /// Tells if attempts were made that no event tells of.
    fn untold(&self, heard: &Heard) -> Option<String> {
        let (asked, told) = (self.server.seen().len(), heard.retries() + 1);
        (asked != told).then(|| format!("asked {asked} times and told of {told}"))
    }

    async fn refusals(&mut self, samples: &Samples) {
        let page = b"<!DOCTYPE html>\n<html><body>hello</body></html>";
        for status in [200, 502] {
            let at = format!("an HTML page with status {status}");
            let heard = self.ask(vec![Play::new(status, "text/html", page)], &at).await;
            let told = matches!(heard.error(), Some(ProviderError::Html { .. }));
            let fault = (!told).then(|| format!("{at}: ends with {}", show(&heard.outcome)));
            self.report.check(Promise::Refusals, fault);
        }
        let heard = self.ask(vec![Play::new(200, &self.answer.content_type, b"")], "an empty body").await;
        let fault = heard.outcome.is_ok().then(|| "an empty body is told as complete".to_owned());
        self.report.check(Promise::Cut, fault);
        let quiet: Vec<&Refusal> =
            samples.refusals.iter().filter(|refusal| refusal.retry_after.is_none()).collect();
        for refusal in quiet {
            let at =
                format!("status {} with {}", refusal.status, show(&String::from_utf8_lossy(&refusal.body)));
            let mut play = Play::new(refusal.status, "application/json", &refusal.body);
            play.headers.extend(refusal.headers.iter().cloned());
            let heard = self.ask(vec![play], &at).await;
            let fault = match heard.error() {
                Some(error) => refusing::fault(refusal, error),
                None => Some(format!("ends with {}", show(&heard.outcome))),
            };
            self.report.check(Promise::Refusals, fault.map(|fault| format!("{at}: {fault}")));
            self.report.check(Promise::Attempts, self.untold(&heard).map(|fault| format!("{at}: {fault}")));
        }
        // A service that quotes what it was sent.
        let key = self.endpoint.key.expose();
        let quoting = format!("{{\"error\":{{\"message\":\"wrong key: {key}\",\"type\":\"busy\"}}}}");
        for status in [401, 503, 200] {
            let play = Play::new(status, "application/json", quoting.as_bytes());
            let heard = self.ask(vec![play], "a refusal that quotes the key").await;
            let told = format!("{:?} {:?}", heard.events, heard.outcome);
            let shown = heard.error().map(ToString::to_string).unwrap_or_default();
            let fault = (told.contains(key) || shown.contains(key))
                .then(|| format!("status {status} that quotes the key: the key is told to people"));
            self.report.check(Promise::Key, fault);
        }
    }

    async fn silence(&mut self, said: &Said) {
        let at = self.named("silence after half of the body");
        let (half, _) = self.answer.body.split_at(self.answer.body.len() / 2);
        let play = Play::new(200, &self.answer.content_type, half).ending(End::Silence);
        let began = Instant::now();
        let heard = self.ask(vec![play, playing(self.answer)], &at).await;
        let fault = match heard.error() {
            Some(ProviderError::Timeout { what: Waiting::NextBytes, .. }) => {
                let (took, wait) = (began.elapsed(), self.endpoint.next_bytes);
                (took > wait * 4).then(|| format!("told after {took:?}, where {wait:?} were meant"))
            }
            _ => Some(format!("ends with {}", show(&heard.outcome))),
        };
        self.report.check(Promise::Silence, fault.map(|fault| format!("{at}: {fault}")));
        let repeated = self.repeated(&heard).map(|fault| format!("{at}: {fault}"));
        self.report.check(Promise::NoRepeat, repeated);

        let at = "silence before the response, and then an answer";
        let heard = self.ask(vec![Play::mute(End::Silence), playing(self.answer)], at).await;
        let fault = match &heard.outcome {
            Ok(()) => self.untold(&heard).or_else(|| heard.differs(Some(said))),
            Err(fault) => {
                let told =
                    matches!(heard.error(), Some(ProviderError::Timeout { what: Waiting::Response, .. }));
                (!told).then(|| format!("told as {fault}"))
            }
        };
        self.report.check(Promise::Silence, fault.map(|fault| format!("{at}: {fault}")));
    }

    /// Drops replies before and after the first bytes, and looks whether the server notices.
    async fn closed(&mut self) {
        let (half, _) = self.answer.body.split_at(self.answer.body.len() / 2);
        let begun = Play::new(200, &self.answer.content_type, half).ending(End::Silence);
        for (at, play) in [("before the response", Play::mute(End::Silence)), ("in the middle", begun)] {
            let begins = play.status != 0;
            self.server.play([play]);
            let Ok(mut reply) = self.kit.subject.send(self.answer.request.clone()).await else { continue };
            // Until the server has it, and what it says has come.
            let listening = async {
                while self.server.seen().is_empty() {
                    if poll_once(reply.next()).await.is_some() {
                        break;
                    }
                    pause(Duration::from_millis(2)).await;
                }
                if begins {
                    while let Ok(Some(Event::Retrying { .. })) = reply.next().await {}
                } else {
                    let _nothing = poll_once(reply.next()).await;
                }
            };
            let _in_time = within(self.endpoint.next_bytes / 2, listening).await;
            drop(reply);
            let since = Instant::now();
            while self.server.gone() == 0 && since.elapsed() < CLOSING {
                pause(Duration::from_millis(5)).await;
            }
            let fault = (self.server.gone() == 0)
                .then(|| format!("dropped {at}: the connection is still open {CLOSING:?} later"));
            self.report.check(Promise::Closed, fault);
        }
    }

    async fn shapes(&mut self) {
        self.server.play([playing(self.answer)]);
        self.kit.refuses(&self.answer.request, self.report).await;
        let asked = self.server.seen().len();
        let fault = (asked > 0).then(|| format!("{asked} requests without a legal history were sent"));
        self.report.check(Promise::Shapes, fault);
    }
}
