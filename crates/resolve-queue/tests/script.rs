//! Runs a flow that is written as text, and answers with text.
//!
//! One command per line, and with each the clock goes on by one; `at 50` sets it. The world is a set of files whose digest is their text; the payload is what to write.
//! After every line the log is replayed and must give the live queue, so every script is also a test of that law.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;

use crate::rules::rule;
use expect_test::Expect;
use trunkline_resolve_queue::{
    Actor, ActorKind, Aftermath, Answer, Approval, Attempt, Authority, CallRef, Check, Difference, Effect,
    Entry, Event, Fingerprint, Lease, Observation, Offer, Outcome, Proposal, ProposalId, Queue, Rules,
    Ruling, Start, Step, Supersession, Verdict, Work, next_work,
};

type Files = BTreeMap<String, String>;
type Fallible<T> = Result<T, Box<dyn Error>>;

/// Runs the commands of `script` and compares their answers.
#[track_caller]
pub(crate) fn check(script: &str, expected: Expect) {
    let mut flow = Flow::default();
    let mut answers = String::new();
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
        flow.at += 1;
        let answer = flow.command(line).unwrap_or_else(|error| format!("refused: {error}"));
        if !answer.is_empty() {
            answers.push_str(&format!("{line}\n    {answer}\n"));
        }
        let replayed = Queue::replay(flow.log.clone()).expect("what was recorded can be replayed");
        assert_eq!(replayed, flow.queue, "after {line}");
    }
    expected.assert_eq(&answers);
}

/// Makes a proposal that reads and writes files.
pub(crate) fn edit(files: &Files, writes: Files, reads: &[&str]) -> Proposal<Files> {
    let names: Vec<&str> = writes.keys().map(String::as_str).collect();
    let mut proposal = Proposal::new(format!("edit {}", names.join(" ")), "edit", writes.clone());
    proposal.fingerprints = names.iter().chain(reads).map(|name| look_at(files, name)).collect();
    proposal.after = names.iter().map(|name| look_at(&writes, name)).collect();
    proposal.effect = Effect::Reversible;
    proposal.call = Some(CallRef { node: "n1".to_owned(), call_id: "c1".to_owned() });
    proposal
}

pub(crate) fn look_at(files: &Files, name: &str) -> Fingerprint {
    match files.get(name) {
        Some(text) => Fingerprint::digest(name, text),
        None => Fingerprint::absent(name),
    }
}

#[derive(Default)]
struct Flow {
    at: u64,
    files: Files,
    queue: Queue<Files>,
    rules: Rules,
    log: Vec<Event<Files>>,
}

impl Flow {
    fn command(&mut self, line: &str) -> Fallible<String> {
        let (command, reason) = line.split_once(": ").unwrap_or((line, ""));
        let words: Vec<&str> = command.split_whitespace().collect();
        match words.as_slice() {
            ["file", name, "-"] => {
                self.files.remove(*name);
                Ok(String::new())
            }
            ["file", name, text] => {
                self.files.insert((*name).to_owned(), (*text).to_owned());
                Ok(String::new())
            }
            ["at", time] => {
                self.at = time.parse()?;
                Ok(String::new())
            }
            ["offer", words @ ..] => match self.queue.offer(self.proposal(words)?, self.at)? {
                Offer::NothingToDo { label } => Ok(format!("nothing to do: {label}")),
                Offer::Staged { events, .. } => {
                    let kept: Fallible<Vec<String>> =
                        events.into_iter().map(|event| self.keep(event)).collect();
                    Ok(kept?.join(", "))
                }
            },
            ["stage", words @ ..] => {
                let event = self.queue.stage(self.proposal(words)?, self.at)?;
                self.keep(event)
            }
            ["overlapping", words @ ..] => Ok(listed(self.queue.overlapping(&self.proposal(words)?))),
            [verb @ ("approve" | "discard"), id, who @ ..] => {
                let verdict = match *verb {
                    "approve" => Verdict::Approve,
                    _ => Verdict::Discard,
                };
                let mut ruling = Ruling::new(verdict, actor(who), reason);
                if let Some(place) = who.iter().position(|word| *word == "only") {
                    ruling.by = actor(&who[..place]);
                    ruling.only = who[place + 1..].iter().map(|name| (*name).to_owned()).collect();
                }
                if let Some(place) = who.iter().position(|word| *word == "seen") {
                    ruling.by = actor(&who[..place]);
                    ruling.seen = Some(who[place + 1].parse()?);
                }
                if let Some(place) = who.iter().position(|word| *word == "with") {
                    ruling.by = actor(&who[..place]);
                    let handed = who[place + 1..].iter().filter_map(|field| field.split_once('='));
                    ruling.extra = Some(handed.map(|(key, value)| (key.to_owned(), value.into())).collect());
                }
                match self.queue.decide_with(id.parse()?, ruling, self.at)? {
                    Answer::New(event) => self.keep(event),
                    Answer::Already(first) => Ok(format!("already, by {}", first.by)),
                }
            }
            ["check", id] => match self.queue.check(id.parse()?, &self.look(), self.at)? {
                Check::Holds => Ok("holds".to_owned()),
                Check::Returns(event) => self.keep(event),
                Check::Stale { event, differing } => self.keep_stale(event, &differing),
                Check::StillStale { differing } => Ok(format!("still stale; {}", shown(&differing))),
            },
            ["end", id] => {
                let end = self.queue.get(id.parse()?).ok_or("no such proposal")?.end.as_ref();
                Ok(end.map_or("has not ended".to_owned(), |end| {
                    format!("{end}: {}{}", end.cause, if end.approved { ", approved" } else { "" })
                }))
            }
            ["handed", id] => {
                let entry = self.queue.get(id.parse()?).ok_or("no such proposal")?;
                let handed = entry.decision.as_ref().and_then(|decision| decision.extra.as_ref());
                Ok(serde_json::to_string(&handed)?)
            }
            ["cancel", id, who @ ..] => {
                let event = self.queue.cancel(id.parse()?, actor(who), reason, self.at)?;
                self.keep(event)
            }
            ["expire", id] => {
                let event = self.queue.expire(id.parse()?, self.at)?;
                self.keep(event)
            }
            ["due"] => Ok(listed(self.queue.due(self.at).map(|entry| entry.id))),
            ["renew", attempt, until] => {
                let event = self.queue.renew(attempt.parse()?, until.parse()?, self.at)?;
                self.keep(event)
            }
            ["begin", id, how @ ..] => {
                match self.queue.begin_with(id.parse()?, &self.look(), self.start(how)?, self.at)? {
                    Step::Apply { attempt, event } => Ok(format!("{}, key {attempt}", self.keep(event)?)),
                    Step::Stale { event, differing } => self.keep_stale(event, &differing),
                }
            }
            ["write", id] => {
                let entry = self.queue.get(id.parse()?).ok_or("no such proposal")?;
                let part: Vec<&str> = entry.part().collect();
                let texts = entry.proposal.payload.iter().filter(|(name, _)| part.contains(&name.as_str()));
                for (name, text) in texts.map(|(name, text)| (name.clone(), text.clone())).collect::<Files>()
                {
                    // What is not there any more is written as a dash.
                    if text == "-" {
                        self.files.remove(&name)
                    } else {
                        self.files.insert(name, text)
                    };
                }
                Ok(String::new())
            }
            ["finish", attempt, how] => {
                let reason = reason.to_owned();
                let outcome = match *how {
                    "applied" => Outcome::Applied,
                    "failed" => Outcome::Failed { reason },
                    _ => Outcome::Unknown { reason },
                };
                let attempt: Attempt = attempt.parse()?;
                let event = self.queue.finish(attempt, outcome, self.at)?;
                self.keep(event)
            }
            ["recover", id, who @ ..] => {
                let id: ProposalId = id.parse()?;
                let found = match self.queue.get(id) {
                    Some(entry) => entry.observe(&self.look()),
                    None => Observation::Unclear,
                };
                let event = match who {
                    ["fenced", who @ ..] => self.queue.recover_fenced(id, found, actor(who), self.at)?,
                    who => self.queue.recover(id, found, actor(who), self.at)?,
                };
                Ok(format!("{found:?}: {}", self.keep(event)?))
            }
            ["supersede", id, "by", by] => {
                let cause = Supersession::Replaced { by: by.parse()? };
                let event = self.queue.supersede(id.parse()?, cause, self.at)?;
                self.keep(event)
            }
            ["supersede", id, "left"] => {
                let cause = Supersession::BranchLeft { by: "m1".to_owned() };
                let event = self.queue.supersede(id.parse()?, cause, self.at)?;
                self.keep(event)
            }
            ["restore", id] => {
                let event = self.queue.restore(id.parse()?, self.at)?;
                self.keep(event)
            }
            ["takeover", id, "until", until, "by", holder, how @ ..] => {
                let lease = Lease { holder: (*holder).to_owned(), until: until.parse()? };
                let event = match how {
                    ["fenced"] => self.queue.take_over_fenced(id.parse()?, lease, self.at)?,
                    _ => self.queue.take_over(id.parse()?, lease, self.at)?,
                };
                self.keep(event)
            }
            ["traces", id] => {
                let traces = self.queue.get(id.parse()?).ok_or("no such proposal")?.traces(&self.look());
                let lines: Vec<String> =
                    traces.iter().map(|one| format!("{} {:?}", one.subject, one.found)).collect();
                Ok(lines.join(", "))
            }
            ["aftermath", id, looked_at @ ..] => {
                let entry = self.queue.get(id.parse()?).ok_or("no such proposal")?;
                let looked_at =
                    |one: &Fingerprint| looked_at.is_empty() || looked_at.contains(&one.subject.as_str());
                let observed: Vec<Fingerprint> = self.look().into_iter().filter(looked_at).collect();
                Ok(left(&entry.aftermath(&observed)))
            }
            ["rule", words @ ..] => {
                let event = self.rules.add(rule(&words.join(" ")), self.at)?;
                self.rules.record(event)?;
                Ok(String::new())
            }
            ["work", policy, facts @ ..] => {
                let mut authority = Authority::new(match *policy {
                    "always" => Approval::Always,
                    "model" => Approval::Model,
                    _ => Approval::Person,
                });
                authority.model_has_tool |= facts.contains(&"tool");
                authority.call_waits = facts.contains(&"call");
                let decision = |entry: &Entry<Files>| {
                    let part: Vec<&str> = entry.part().collect();
                    let judgement = self.rules.judge_proposal(&entry.proposal, &part, self.at);
                    entry.next_decision(&judgement, authority)
                };
                Ok(match next_work(self.queue.unsettled(), decision) {
                    Some(Work::Ask(ids)) => format!("ask about {}", listed(ids)),
                    Some(Work::Apply(id)) => format!("apply {id}"),
                    Some(Work::Check(id)) => format!("check {id}"),
                    Some(Work::LookUp(id)) => format!("look up {id}"),
                    Some(Work::Approve(id)) => format!("approve {id}"),
                    Some(Work::Forbid(id)) => format!("forbid {id}"),
                    Some(Work::GiveUp(id)) => format!("give {id} up"),
                    None => "nothing".to_owned(),
                })
            }
            ["undo", id] => {
                let id: ProposalId = id.parse()?;
                let before = self.queue.get(id).map(|entry| entry.preimages.clone()).unwrap_or_default();
                let text = |one: &Fingerprint| match one.state.to_string().as_str() {
                    "absent" => "-".to_owned(),
                    text => text.to_owned(),
                };
                let payload = before.iter().map(|one| (one.subject.clone(), text(one))).collect();
                let event = self.queue.stage(self.queue.undo(id, payload)?, self.at)?;
                self.keep(event)
            }
            ["target"] => Ok(self.queue.default_target()?.to_string()),
            ["pending"] => Ok(listed(self.queue.pending().map(|entry| entry.id))),
            ["unsettled"] => Ok(listed(self.queue.unsettled().map(|entry| entry.id))),
            ["interrupted"] => Ok(listed(self.queue.interrupted().map(|entry| entry.id))),
            _ => Err("the script has no such command".into()),
        }
    }

    /// `until 30 by x keeping a`
    fn start(&self, words: &[&str]) -> Fallible<Start> {
        let after = |name: &str| words.iter().position(|word| *word == name).map(|place| &words[place + 1..]);
        let mut start = match (after("until"), after("by")) {
            (Some([until, ..]), Some([holder, ..])) => Start::leased(*holder, until.parse()?),
            _ => Start::default(),
        };
        if let Some(kept) = after("keeping") {
            start = start.keeping(kept.iter().map(|name| look_at(&self.files, name)).collect());
        }
        Ok(start)
    }

    /// `a=2 b=3 reads c by model for model,person effect irreversible supersedes p1`
    fn proposal(&self, words: &[&str]) -> Fallible<Proposal<Files>> {
        let after = |name: &str| {
            let place = words.iter().position(|word| *word == name)?;
            words.get(place + 1).copied()
        };
        let writes: Files = words
            .iter()
            .filter_map(|word| word.split_once('='))
            .map(|(name, text)| (name.to_owned(), text.to_owned()))
            .collect();
        let reads: Vec<&str> = after("reads").into_iter().collect();
        let mut proposal = edit(&self.files, writes, &reads);
        if let Some(kinds) = after("for") {
            proposal.deciders = kinds.split(',').filter_map(kind).collect::<BTreeSet<_>>();
        }
        if let Some(id) = after("supersedes") {
            proposal.supersedes = vec![id.parse()?];
        }
        proposal.expires_at = after("expires").map(str::parse).transpose()?;
        proposal.divisible = words.contains(&"divisible");
        proposal.effect = match after("effect") {
            Some("irreversible") => Effect::Irreversible,
            _ => Effect::Reversible,
        };
        Ok(proposal)
    }

    fn look(&self) -> Vec<Fingerprint> {
        // Files that are gone are looked at too, as any caller does that goes by the proposal's subjects.
        ["a", "b", "c"].iter().map(|name| look_at(&self.files, name)).collect()
    }

    fn keep(&mut self, event: Event<Files>) -> Fallible<String> {
        let id = event.proposal;
        let state = self.queue.record(event.clone())?;
        self.log.push(event);
        Ok(format!("{id} is {state}"))
    }

    fn keep_stale(&mut self, event: Event<Files>, differing: &[Difference]) -> Fallible<String> {
        Ok(format!("{}; {}", self.keep(event)?, shown(differing)))
    }
}

fn actor(words: &[&str]) -> Actor {
    match words {
        [] => Actor::new(ActorKind::Person, ""),
        [first, rest @ ..] => Actor::new(kind(first).unwrap_or(ActorKind::Person), rest.join(" ")),
    }
}

fn kind(word: &str) -> Option<ActorKind> {
    match word {
        "model" => Some(ActorKind::Model),
        "person" => Some(ActorKind::Person),
        "policy" => Some(ActorKind::Policy),
        "harness" => Some(ActorKind::Harness),
        _ => None,
    }
}

/// `Unclear: a after, b before; half done, restorable`
fn left(found: &Aftermath) -> String {
    let lists = [
        ("before", &found.before),
        ("after", &found.after),
        ("foreign", &found.foreign),
        ("unseen", &found.unseen),
    ];
    let of = |(word, list): (&str, &Vec<String>)| -> Vec<String> {
        list.iter().map(|subject| format!("{subject} {word}")).collect()
    };
    let mut subjects: Vec<String> = lists.into_iter().flat_map(of).collect();
    subjects.sort();
    let said = [
        ("gone", found.is_gone()),
        ("as before", found.is_as_before()),
        ("disturbed", found.is_disturbed()),
        ("half done", found.is_half_done()),
        ("restorable", found.restorable),
    ];
    let said: Vec<&str> = said.into_iter().filter(|(_, is)| *is).map(|(word, _)| word).collect();
    let said = if said.is_empty() { String::new() } else { format!("; {}", said.join(", ")) };
    format!("{:?}: {}{said}", found.observation, subjects.join(", "))
}

fn listed(ids: impl IntoIterator<Item = ProposalId>) -> String {
    let ids: Vec<String> = ids.into_iter().map(|id| id.to_string()).collect();
    format!("[{}]", ids.join(" "))
}

fn shown(differing: &[Difference]) -> String {
    let lines: Vec<String> = differing.iter().map(ToString::to_string).collect();
    lines.join("; ")
}
