//! Laws over made-up sessions. That a fold of the log goes the same way is tried before each step of every play.

use std::collections::{HashMap, HashSet};

use proptest::prelude::*;
use serde_json::Value;
use trunkline_decision_objects::Decision;
use trunkline_message_tree::{Entry, MessageTree, NodeId};
use trunkline_resolve_queue::{ActorKind, State, Verdict};
use trunkline_session_store::Record;

use crate::play::{Play, play};

/// A line of a script. What it names may not be there: then it is refused, which is an outcome like any other.
pub(crate) fn line() -> impl Strategy<Value = String> {
    let call =
        (0_u32..6, prop::sample::select(vec!["read", "edit", "shell", "fly"])).prop_map(|(id, tool)| {
            match tool {
                "shell" => format!(r#"shell c{id} {{"command":"make"}}"#),
                tool => format!(r#"{tool} c{id} {{"path":"a"}}"#),
            }
        });
    let calls = prop::collection::vec(call, 1..4).prop_map(|calls| format!("model: {}", calls.join("; ")));
    let revert = (0_u32..9).prop_map(|node| {
        format!(r#"model: revert_to_state r1 {{"category":"failure","step":"n{node}","lesson":"no"}}"#)
    });
    prop_oneof![
        4 => calls,
        2 => Just("model: words".to_owned()),
        1 => Just("model:  ".to_owned()),
        1 => Just("cut: some wor".to_owned()),
        1 => revert,
        3 => Just("> go".to_owned()),
        3 => Just("resume".to_owned()),
        1 => Just("cancel".to_owned()),
        2 => (1_u32..5).prop_map(|id| format!("approve p{id}")),
        1 => (1_u32..5).prop_map(|id| format!("discard p{id} no")),
        1 => (0_u32..9).prop_map(|node| format!("go n{node}")),
        1 => (0_u32..9).prop_map(|node| format!("back n{node} no")),
        1 => Just("undo".to_owned()),
        1 => Just("file a = other".to_owned()),
        1 => Just("close abandon no".to_owned()),
        1 => Just("close retry again".to_owned()),
    ]
}

/// A line of a script in which plans are asked for: under every policy, whoever goes on with it, and with moves to and fro.
pub(crate) fn line_with_plans() -> impl Strategy<Value = String> {
    let plan = (0_u32..6).prop_map(|id| {
        format!(r#"model: propose_plan c{id} {{"title":"t","steps":["s"]}}; read c7 {{"path":"a"}}; edit c8 {{"path":"a"}}"#)
    });
    prop_oneof![
        12 => line(),
        4 => plan,
        2 => (1_u32..5).prop_map(|id| format!("edit p{id} t\\n1. other")),
        1 => Just("plans".to_owned()),
        1 => Just("plans off".to_owned()),
        1 => prop::sample::select(vec!["approval person", "approval model", "approval always"]).prop_map(str::to_owned),
        1 => prop::sample::select(vec!["rule allow tool *", "give allow tool propose_plan", "rule ask model tool edit"]).prop_map(str::to_owned),
        1 => Just("redo".to_owned()),
        2 => Just("kill apply".to_owned()),
    ]
}

fn script_with_plans() -> impl Strategy<Value = String> {
    let first = (script(), 0_u8..4, prop::collection::vec(line_with_plans(), 4..24));
    first.prop_map(|(before, begins, lines)| {
        let mut script = match begins {
            0 => "plans\n".to_owned() + &before,
            1 => format!("propose c7 a = sly\n{before}\nplans"),
            // What somebody else than a person has approved is not done before a plan is asked for.
            2 => format!("approval always\npropose c7 b = sly\nmodel: edit c7 {{\"path\":\"b\"}}\nkill apply\n> go\n{before}\nplans"),
            // One is approved, and left soon.
            _ => {
                let plan = r#"model: propose_plan c0 {"title":"t","steps":["s"]}"#;
                format!("plans\n{plan}\n> go\napprove p1\nresume\n{before}\ngo n1")
            }
        };
        for line in lines {
            script.push('\n');
            script.push_str(&line);
        }
        script
    })
}

/// A line of a script in which a model asks for the end of its run, under every policy and many rules.
pub(crate) fn line_with_close_requests() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec!["checkpoint", "retry", "abandon"]);
    let ask = (0_u32..6, word, 0_u8..4).prop_map(|(id, word, beside)| {
        let ask = format!(r#"request_decision c{id} {{"decision":"{word}","words":"so it is"}}"#);
        match beside {
            0 => format!(r#"model: edit c8 {{"path":"a"}}; {ask}; shell c7 {{"command":"make"}}"#),
            1 => format!(r#"model: {ask}; resolve c9 {{"action":"apply","reason":"r","id":"p1"}}; {ask}"#),
            _ => format!("model: {ask}"),
        }
    });
    let rules = vec![
        "rule allow tool *",
        "rule allow tool request_*",
        "give allow",
        "give allow once tool request_decision",
        "rule ask model tool request_decision",
    ];
    prop_oneof![
        12 => line(),
        8 => ask,
        2 => (1_u32..5).prop_map(|id| format!("reword p{id} in other words")),
        1 => prop::sample::select(rules).prop_map(str::to_owned),
        1 => prop::sample::select(vec!["approval person", "approval model", "approval always"]).prop_map(str::to_owned),
        1 => prop::sample::select(vec!["closes off", "closes", "plans", "redo", "folder"]).prop_map(str::to_owned),
        1 => prop::sample::select(vec!["task t", "bound retries 1", "done so"]).prop_map(str::to_owned),
    ]
}

pub(crate) fn script_with_close_requests() -> impl Strategy<Value = String> {
    let lines = prop::collection::vec(line_with_close_requests(), 4..24);
    let approval = prop::sample::select(vec!["approval person", "approval model", "approval always"]);
    (script(), approval, lines).prop_map(|(before, approval, lines)| {
        format!("closes\n{approval}\npropose c8 a = new\n{before}\n{}", lines.join("\n"))
    })
}

fn script() -> impl Strategy<Value = String> {
    let approval = prop::sample::select(vec!["approval person", "approval model", "approval always"]);
    let first = (approval, any::<bool>(), any::<bool>());
    (first, prop::collection::vec(line(), 1..24)).prop_map(|((approval, reverts, commits), lines)| {
        let mut script = vec![approval.to_owned()];
        script.extend(reverts.then(|| "reverts".to_owned()));
        script.extend(commits.then(|| "commits".to_owned()));
        script.extend((0..6).map(|id| format!("propose c{id} a = text {id}")));
        script.extend(lines);
        script.join("\n")
    })
}

/// Returns the calls that began, each by its place.
fn begun(play: &Play) -> Vec<(String, String)> {
    let notes = play.log.iter().filter_map(|record| match record {
        Record::Note(note) if note.kind == "call_started" => Some(serde_json::from_str::<Value>(&note.body)),
        _ => None,
    });
    let begun = notes.map(|body| {
        let body = body.unwrap();
        let place = format!("{} {}", body["call"]["node"], body["call"]["index"]);
        (place, body["tool"].as_str().unwrap_or_default().to_owned())
    });
    begun.collect()
}

/// What a log says of plans, found out apart from what folds it.
struct Held {
    tree: MessageTree,
    asked: bool,
    /// The messages that hold approved plans.
    approved: Vec<NodeId>,
    /// What a person has approved.
    by_person: HashSet<u64>,
}

impl Held {
    fn new(root: &Record) -> Self {
        let Record::Entry(Entry::Node { message, at, .. }) = root else {
            panic!("a log begins with the root")
        };
        let tree = MessageTree::new(message.clone(), *at);
        Held { tree, asked: false, approved: Vec::new(), by_person: HashSet::new() }
    }

    fn may(&self) -> bool {
        !self.asked || self.approved.iter().any(|node| self.tree.is_on_trunk(*node))
    }

    /// Says what a record tells of that needs a plan.
    fn done(&self, record: &Record) -> Option<String> {
        let Record::Note(note) = record else { return None };
        let body: Value = serde_json::from_str(&note.body).unwrap_or_default();
        let id = || number(&body["proposal"]);
        match note.kind.as_str() {
            "call_started" if body["tool"] != "read" => Some(format!("a call of {}", body["tool"])),
            "event" if body["change"]["staged"].is_object() => {
                let tool = body["change"]["staged"]["source_tool"].as_str().unwrap_or_default();
                // A person may be asked about a command that will not run.
                (tool != "propose_plan").then(|| format!("staging by {tool}"))
            }
            // A person's word holds whenever it was given, and nobody else's, also if it was given before a plan was asked for.
            "event" if body["change"]["began"].is_object() && !self.by_person.contains(&id()) => {
                Some(format!("an apply of p{}", id()))
            }
            _ => None,
        }
    }

    fn record(&mut self, record: &Record) {
        let note = match record {
            Record::Entry(entry) => return self.tree.record(entry.clone()).unwrap(),
            Record::Note(note) => note,
            Record::Blob(_) => return,
        };
        let body: Value = serde_json::from_str(&note.body).unwrap_or_default();
        match note.kind.as_str() {
            "plan_mode" => {
                self.asked = true;
                self.approved.clear();
            }
            "plan_approved" => self.approved.push(body["call"]["node"].as_str().unwrap().parse().unwrap()),
            "event" if body["change"]["decided"]["verdict"] == "approve" => {
                match body["change"]["decided"]["by"]["kind"] == "person" {
                    true => self.by_person.insert(number(&body["proposal"])),
                    false => self.by_person.remove(&number(&body["proposal"])),
                };
            }
            _ => {}
        }
    }
}

/// Reads the name of a proposal.
fn number(id: &Value) -> u64 {
    let text = id.as_str().map(|id| id.trim_start_matches('p').to_owned());
    text.and_then(|id| id.parse().ok()).or_else(|| id.as_u64()).unwrap_or_default()
}

/// What a log says of requests to end a run, found out apart from what folds it.
#[derive(Default)]
struct Requests {
    /// What was asked for in words of the model, by the proposal.
    asked: HashMap<u64, Value>,
    /// The tools that rules name, if they allow anything.
    allowing: HashMap<String, String>,
    /// What was approved, and ends no run yet.
    approved: Vec<(u64, String)>,
    /// How many runs in a row tried again because of one.
    retries: usize,
}

impl Requests {
    /// Takes in a record; says what is wrong with it.
    fn record(&mut self, record: &Record) -> Result<(), String> {
        let Record::Note(note) = record else { return Ok(()) };
        let body: Value = serde_json::from_str(&note.body).unwrap_or_default();
        let change = &body["change"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        match note.kind.as_str() {
            "rule" if change["added"]["verdict"] == "allow" => {
                self.allowing.insert(text(&body["rule"]), text(&change["added"]["tool"]));
            }
            "event" if change["staged"]["source_tool"] == "request_decision" => {
                self.asked.insert(number(&body["proposal"]), change["staged"]["payload"]["request"].clone());
            }
            "event"
                if change["decided"]["verdict"] == "approve"
                    && self.asked.contains_key(&number(&body["proposal"])) =>
            {
                let by = &change["decided"]["by"];
                let rules = text(&by["name"]);
                let named = || {
                    rules
                        .split(", ")
                        .all(|rule| self.allowing.get(rule).is_some_and(|tool| tool == "request_decision"))
                };
                match by["kind"].as_str() {
                    Some("person") => {}
                    Some("policy") if named() => {}
                    _ => return Err(format!("a request was approved by {by}")),
                }
                self.approved.push((number(&body["proposal"]), text(&body["proposal"])));
            }
            "opened" if !note.body.contains("retry_of") => self.retries = 0,
            "decided" => {
                let decision = Decision::parse(note.body.as_bytes()).unwrap();
                let word = decision.verdict().kind().to_string();
                if decision.decided_by().kind != trunkline_decision_objects::ActorKind::Agent
                    || !["checkpoint", "retry", "abandon"].contains(&word.as_str())
                {
                    self.approved.clear();
                    return Ok(());
                }
                let run = decision.run().to_string();
                let fits = |(id, _): &(u64, String)| {
                    self.asked[id]["run"] == run.as_str() && self.asked[id]["close"][&word].is_object()
                };
                let Some(place) = self.approved.iter().position(fits) else {
                    return Err(format!("{word} of {run} without an approved request"));
                };
                self.approved.remove(place);
                if decision.approved_by().is_none() {
                    return Err(format!("{word} of {run} does not say who approved it"));
                }
                self.retries += usize::from(word == "retry");
                if self.retries > 5 {
                    return Err("more than five retries in a row".to_owned());
                }
            }
            _ => {}
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_call_begins_twice(script in script()) {
        let play = play(&script);
        let mut seen = HashSet::new();
        for one in begun(&play) {
            prop_assert!(seen.insert(one.clone()), "{one:?} began twice\n{}", play.told);
        }
    }

    #[test]
    fn what_is_cancelled_begins_nothing(script in script()) {
        let play = play(&script);
        let mut cancelled = false;
        for line in play.told.lines() {
            if !line.starts_with(' ') {
                cancelled = line == "cancel";
            }
            let begins = ["  run ", "  request", "  apply ", "  open a run"].iter().any(|step| line.starts_with(step));
            prop_assert!(!(cancelled && begins), "{line}\n{}", play.told);
        }
    }

    #[test]
    fn nothing_but_reading_is_done_before_a_plan_is_approved_on_this_branch(script in script_with_plans()) {
        let play = play(&script);
        let mut held = Held::new(&play.log[0]);
        for record in &play.log[1..] {
            if let Some(done) = held.done(record) {
                prop_assert!(held.may(), "{done} without an approved plan\n{script}\n{}", play.told);
            }
            held.record(record);
        }
        // Nobody but a person approves one, and what is approved is carried out in the same batch.
        for entry in play.state.resolve.queue.iter().filter(|entry| play.state.resolve.plans.is_plan(entry.id)) {
            let approved = entry.decision.as_ref().filter(|decision| decision.verdict == Verdict::Approve);
            prop_assert!(approved.is_none_or(|decision| decision.by.kind == ActorKind::Person), "{}", play.told);
            prop_assert!((entry.state == State::Applied) == approved.is_some(), "{}", play.told);
        }
    }

    #[test]
    fn no_model_ends_its_run_without_a_person_or_a_rule_that_names_the_tool(script in script_with_close_requests()) {
        let play = play(&script);
        let (mut requests, mut decided) = (Requests::default(), HashSet::new());
        for record in &play.log[1..] {
            if let Err(wrong) = requests.record(record) {
                prop_assert!(false, "{wrong}\n{script}\n{}", play.told);
            }
            if let Record::Note(note) = record && note.kind == "decided" {
                prop_assert!(decided.insert(note.key.clone().map(|key| key.key)), "{}", play.told);
            }
        }
        // Whatever came of it, no task is done by that: it says so who has done it.
        let done = play.log.iter().filter(|record| matches!(record, Record::Note(note) if note.kind == "task_ended")).count();
        let said = script.lines().filter(|line| line.starts_with("done ") || line.starts_with("drop ")).count();
        prop_assert!(done <= said, "{}", play.told);
        let state = play.state.tasks.task().map(|task| task.state.as_str());
        prop_assert!(done > 0 || !matches!(state, Some("done" | "completed")), "{state:?}\n{}", play.told);
    }

    #[test]
    fn each_run_gets_one_verdict_at_most(script in script()) {
        let play = play(&script);
        let runs = play.log.iter().filter_map(|record| match record {
            Record::Note(note) if note.kind == "decided" => note.key.as_ref().map(|key| key.key.clone()),
            _ => None,
        });
        let mut seen = HashSet::new();
        for run in runs {
            prop_assert!(seen.insert(run.clone()), "{run} was decided twice\n{}", play.told);
        }
    }
}
