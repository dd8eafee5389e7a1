//! Runs a flow of turns that is written as text, and answers with text.
//!
//! After every line the queue is printed as JSON and read back, so every script is also a test of a restart.

use std::error::Error;

use expect_test::Expect;
use trunkline_resolve_queue::{
    Attempt, Choice, ChoiceQueue, Directive, Forcing, Gate, Heard, Notice, Place, Plan, Policy, Proposal,
    Queue, Scene, TurnEnd, Verdict, Wire,
};

type Fallible<T> = Result<T, Box<dyn Error>>;

/// Runs the commands of `script` and compares their answers.
#[track_caller]
pub(crate) fn check(script: &str, expected: Expect) {
    let mut flow = Flow::new();
    let mut answers = String::new();
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let answer = flow.command(line).unwrap_or_else(|error| format!("refused: {error}"));
        if !answer.is_empty() {
            answers.push_str(&format!("{line}\n    {answer}\n"));
        }
        let text = serde_json::to_string(&flow.choices).expect("it prints");
        let read: ChoiceQueue = serde_json::from_str(&text).expect("it reads");
        assert_eq!(read, flow.choices, "after {line}");
    }
    expected.assert_eq(&answers);
}

struct Flow {
    choices: ChoiceQueue,
    wire: Wire,
    tools: Vec<String>,
    gate: Option<Gate>,
    reminded: Vec<Attempt>,
    own: Option<Choice>,
}

impl Flow {
    fn new() -> Self {
        Flow {
            choices: ChoiceQueue::new(Policy::default()),
            wire: Wire::new(Forcing::Named),
            tools: ["read", "edit", "resolve"].map(String::from).to_vec(),
            gate: None,
            reminded: Vec::new(),
            own: None,
        }
    }

    fn command(&mut self, line: &str) -> Fallible<String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let mut answer = String::new();
        match words.as_slice() {
            ["policy", "at-once", turns] => {
                self.choices = ChoiceQueue::new(Policy::AtOnce { turns: turns.parse()? });
            }
            ["policy", "soft", patience, turns] => {
                let (patience, turns) = (patience.parse()?, turns.parse()?);
                self.choices = ChoiceQueue::new(Policy::SoftFirst { patience, turns });
            }
            ["wire", forcing, how @ ..] => {
                self.wire = Wire::new(match *forcing {
                    "named" => Forcing::Named,
                    "any" => Forcing::Any,
                    _ => Forcing::No,
                });
                self.wire.thinking = how.contains(&"thinking");
                self.wire.narrowing = !how.contains(&"wide");
            }
            ["tools", tools @ ..] => self.tools = tools.iter().map(|tool| (*tool).to_owned()).collect(),
            ["waits"] => self.gate = None,
            ["waits", attempts @ ..] => self.gate = gate(&parsed(attempts)?),
            ["reminded", attempts @ ..] => self.reminded = parsed(attempts)?,
            ["own", choice] => self.own = Some(read(choice)),
            ["own"] => self.own = None,
            ["push", place, label, choices, how @ ..] => {
                let mut directive = Directive::sequence(*label, choices.split(',').map(read).collect());
                directive.must_invoke = how.contains(&"must");
                let requeue = how.iter().position(|word| *word == "requeue").and_then(|at| how.get(at + 1));
                directive.requeue = requeue.map_or(Ok(0), |times| times.parse())?;
                self.choices.push(directive, if *place == "first" { Place::First } else { Place::Last });
            }
            ["plan"] => answer = self.plan()?,
            ["called", tools @ ..] => answer = heard(&self.choices.end_turn(TurnEnd::Done { called: tools })),
            ["said"] => answer = heard(&self.choices.end_turn(TurnEnd::Done { called: &[] })),
            ["aborted"] => answer = heard(&self.choices.end_turn(TurnEnd::Aborted)),
            ["error"] => answer = heard(&self.choices.end_turn(TurnEnd::Error)),
            ["invoked", tool] => self.choices.invoked(tool),
            ["remove", label] => answer = told(&self.choices.remove(label)),
            ["clear"] => answer = told(&self.choices.clear()),
            ["last"] => answer = format!("{:?}", self.choices.take_last_resolved()),
            ["queue"] => answer = format!("{:?}", self.choices.waiting().collect::<Vec<_>>()),
            ["flying"] => {
                answer = self.choices.in_flight().map_or_else(
                    || "nothing".to_owned(),
                    |one| {
                        format!(
                            "{} {}{}",
                            one.label,
                            shown(&one.wanted),
                            if one.invoked { ", invoked" } else { "" }
                        )
                    },
                );
            }
            _ => return Err("the script has no such command".into()),
        }
        Ok(answer)
    }

    fn plan(&mut self) -> Fallible<String> {
        let tools: Vec<&str> = self.tools.iter().map(String::as_str).collect();
        let mut scene = Scene::new(self.wire, &tools);
        scene.gate = self.gate.as_ref();
        scene.reminded = &self.reminded;
        scene.own = self.own.as_ref();
        let Plan { choice, only, reminder, notices, .. } = self.choices.plan(&scene)?;
        let mut parts = Vec::new();
        parts.extend(choice.map(|choice| format!("choice {}", shown(&choice))));
        parts.extend(only.map(|tools| format!("only {}", tools.join(" "))));
        if let Some(reminder) = reminder {
            let about: Vec<String> = reminder.about.iter().map(ToString::to_string).collect();
            parts.push(format!("remind of {}", about.join(" ")));
            // As a caller does that puts it on the trunk.
            self.reminded.extend(reminder.about);
        }
        parts.extend((!notices.is_empty()).then(|| told(&notices)));
        Ok(if parts.is_empty() { "free".to_owned() } else { parts.join("; ") })
    }
}

/// A gate is only ever found in a queue of proposals; this makes one in which these wait.
pub(crate) fn gate(waiting: &[Attempt]) -> Option<Gate> {
    use trunkline_resolve_queue::{Actor, ActorKind, Answer, Change, Event, Outcome};
    let mut queue = Queue::new();
    for attempt in waiting {
        let mut proposal = Proposal::new("edit", "edit", ());
        proposal.deciders.insert(ActorKind::Model);
        let (id, at) = (attempt.proposal, 0);
        queue
            .record(Event { proposal: id, at, change: Change::Staged(Box::new(proposal)) })
            .expect("in order");
        for number in 1..=attempt.number {
            let by = Actor::new(ActorKind::Model, "");
            let Ok(Answer::New(event)) = queue.decide(id, Verdict::Approve, by, "", at) else {
                unreachable!("it waits")
            };
            queue.record(event).expect("it is legal");
            let began = Change::Began { attempt: number, leased: None, preimages: Vec::new() };
            queue.record(Event { proposal: id, at, change: began }).expect("it is legal");
            let outcome = Outcome::Failed { reason: String::new() };
            let finished = Change::Finished { attempt: number, outcome };
            queue.record(Event { proposal: id, at, change: finished }).expect("it is legal");
        }
    }
    queue.gate(0)
}

fn parsed(words: &[&str]) -> Fallible<Vec<Attempt>> {
    let all: Result<Vec<Attempt>, _> = words.iter().map(|word| word.parse()).collect();
    Ok(all?)
}

fn read(word: &str) -> Choice {
    match word {
        "auto" => Choice::Auto,
        "none" => Choice::None,
        "any" => Choice::Any,
        tool => Choice::Tool(tool.to_owned()),
    }
}

fn shown(choice: &Choice) -> String {
    match choice {
        Choice::Auto => "auto".to_owned(),
        Choice::None => "none".to_owned(),
        Choice::Any => "any".to_owned(),
        Choice::Tool(tool) => format!("[{tool}]"),
    }
}

fn told(notices: &[Notice]) -> String {
    let lines: Vec<String> = notices.iter().map(one).collect();
    if lines.is_empty() { "nothing".to_owned() } else { lines.join("; ") }
}

fn one(notice: &Notice) -> String {
    match notice {
        Notice::Resolved { label, choice } => format!("{label} {} resolved", shown(choice)),
        Notice::Rejected { label, choice, reason, requeued } => {
            format!("{label} {} {reason}, {}", shown(choice), if *requeued { "again" } else { "dropped" })
        }
        Notice::GaveUp { about } => {
            let about: Vec<String> = about.iter().map(ToString::to_string).collect();
            format!("gave up on {}", about.join(" "))
        }
        other => format!("{other:?}"),
    }
}

fn heard(heard: &Heard) -> String {
    match heard {
        Heard::NothingAsked => "nothing was asked".to_owned(),
        Heard::Directive(notice) => one(notice),
        Heard::Complied => "complied".to_owned(),
        Heard::Declined => "declined".to_owned(),
        Heard::Spoke { again } => {
            format!("spoke, {}", if *again { "may be asked again" } else { "is left alone" })
        }
        Heard::Lost(reason) => format!("lost: {reason}"),
        other => format!("{other:?}"),
    }
}
