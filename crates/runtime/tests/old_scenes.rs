//! What happens in the sessions whose logs are kept, in words.
//!
//! A later version does the same by the same words; those of the person say what the model does.

use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};
use serde_json::json;
use trunkline_runtime::decision_objects::DecisionId;
use trunkline_runtime::message_tree::{
    Author, Name, NameKind, Naming, NodeId, Part, Role, Timestamp, ToolResult,
};
use trunkline_runtime::orders::{MoveAct, Order as Letter, StepAnswer, post};
use trunkline_runtime::providers::{ErrorKind, ProviderError, Request, Scripted, Turn};
use trunkline_runtime::resolve_queue::{Actor, ActorKind, ProposalId, Rule, RuleId, RuleVerdict, Verdict};
use trunkline_runtime::revert::{CompactPolicy, ProposalId as StepId};
use trunkline_runtime::session_store::SessionStore;
use trunkline_runtime::{
    Agent, Approval, CallPlace, Cancel, CloseAs, Compaction, OnStall, Retries, Reverts, RuntimeError, Said,
    Session, Tool,
};

use crate::old_folder::{Disk, Folder, Named};
use crate::old_rare;
use crate::story::stop_line;

/// What a scene is made of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Scene {
    pub(crate) name: String,
    /// Words that say what the agent has: see [`Scene::agent`].
    pub(crate) agent: String,
    /// What is done in it, one after the other: see [`act`].
    pub(crate) acts: Vec<String>,
}

/// Returns all scenes that are written down.
pub(crate) fn scenes() -> Vec<Scene> {
    let scene = |name: &str, agent: &str, acts: &[&str]| Scene {
        name: name.to_owned(),
        agent: agent.to_owned(),
        acts: acts.iter().map(|act| (*act).to_owned()).collect(),
    };
    let mut scenes = vec![
        scene(
            "model",
            "model reverts",
            &[
                "prompt do: read a + edit a wrong / apply / sh test / back n1 wrong fails / edit a right / apply",
                "prompt do: edit b more / discard / say not that",
            ],
        ),
        scene(
            "person",
            "person reverts choices",
            &[
                "prompt do: edit a new / sh test",
                "approve p1 good",
                "resume",
                "approve p2",
                "resume",
                "prompt do: edit b more / say proposed",
                "reject p3 not now",
                "resume",
                "allow sh",
                "prompt do: sh lint",
                "revoke 1",
                "take back p1",
                "resume",
                "approve p5 as it was",
                "resume",
                "resume",
            ],
        ),
        scene(
            "bound",
            "always folder commits binds",
            &[
                "prompt do: edit a new + edit b more",
                "prompt do: sh test / edit b most",
                "prompt do: say nothing to do",
                "rollback 1",
                "prompt do: edit c last",
            ],
        ),
        scene(
            "committed",
            "always folder commits",
            &[
                "prompt do: edit a new",
                "write b by hand",
                "prompt do: edit b more / edit a newer",
                "rollback 0",
                "rollback 1",
                "rollback 0",
            ],
        ),
        scene(
            "closed",
            "person folder",
            &[
                "prompt do: edit a new",
                "reject p1 not so",
                "close retry another way",
                "resume",
                "approve p2",
                "resume",
                "prompt do: sh test",
                "reject p3 not now",
                "close checkpoint so far",
                "prompt do: edit b more",
                "close abandon enough",
                "reject p4 not now",
                "close abandon enough",
                "prompt do: say done",
            ],
        ),
        scene(
            "moves",
            "always reverts",
            &[
                "prompt do: edit a new / say one",
                "name try n1",
                "revert n1 it was wrong",
                "prompt do: edit b more / say two",
                "undo",
                "redo",
                "go n4",
                "merge n5",
                "late n2 it came late",
                "prompt do: say three",
                "revert n0 all wrong",
                "late n2 far too late",
                "prompt do: say four",
            ],
        ),
        scene(
            "letters",
            "person reverts",
            &[
                "prompt do: edit a new",
                "post approve p1",
                "post prompt do: edit b more",
                "read letters",
                "resume",
                "post reject p2",
                "post name try n1",
                "post allow sh",
                "post close enough",
                "post cancel",
                "resume",
                "resume",
                "post take back p1",
                "post late n2 it came late",
                "post revoke 1",
                "resume",
                "post revert n1 it was wrong",
                "post step back 0",
                "read letters",
                "post distrust",
                "read letters",
                "prompt do: say done",
            ],
        ),
        scene(
            "stalls",
            "always reverts asks",
            &[
                "prompt do: read a / read a / read a / read a / read a / read a / say I am lost",
                "accept 0",
                "prompt do: read b / read b / read b / read b / read b / read b / say lost again",
                "decline 1",
                "prompt do: say done",
            ],
        ),
        scene(
            "compacted",
            "always reverts compacts",
            &[
                "prompt do: read a + read a / say one",
                "prompt do: read a + read a / say two",
                "prompt do: read a + read a / say three",
                "prompt do: read a + read a / say four",
                "prompt do: read a + read a / say five",
                "revert n3 it was wrong",
                "prompt do: say six",
            ],
        ),
        scene("asked-again", "always reverts", &["prompt do: read a / fail / edit a new / fail"]),
        scene(
            "reasoning",
            "always reverts binds-reasoning",
            &[
                "prompt do: think first + read a / think then + edit a new",
                "revert n3 wrong",
                "prompt do: think more + say so",
            ],
        ),
    ];
    scenes.extend(old_rare::scenes(scene));
    scenes
}

/// Returns what the model says: the next step of the latest `do:` of a person, or of what follows the step back in it if that
/// was taken.
fn model(folder: &Folder, has_summary: bool, request: &Request) -> Turn {
    let first = request.messages.first().map(|message| message.text()).unwrap_or_default();
    if first.starts_with("You write the summary") {
        if !has_summary {
            return Turn::new().fail(ProviderError::api(400, ErrorKind::InvalidRequest, "no summaries here"));
        }
        return Turn::say("the file was read, it says nothing new");
    }
    let all: Vec<_> = request.messages.iter().collect();
    let asks = |place: &usize| {
        let message = all[*place];
        message.role == Role::User && message.author == Author::Person && message.text().contains("do: ")
    };
    let Some(at) = (0..all.len()).rev().find(asks) else { return Turn::say("done") };
    let words = all[at].text();
    let words = words.split_once("do: ").unwrap().1.lines().next().unwrap().to_owned();
    let mut steps: Vec<&str> = words.split(" / ").collect();
    let back = steps.iter().position(|step| step.starts_with("back "));
    let learned = all[at..].iter().any(|message| message.text().contains("[revert-"));
    if let (Some(back), true) = (back, learned) {
        steps.drain(..=back);
    }
    let step = all[at..].iter().filter(|message| message.role == Role::Assistant).count();
    let Some(step_words) = steps.get(step) else { return Turn::say("done") };
    let mut turn = Turn::new();
    for (index, call) in step_words.split(" + ").enumerate() {
        let id = format!("c{at}-{step}-{index}");
        let (name, rest) = call.split_once(' ').unwrap_or((call, ""));
        let (first, more) = rest.split_once(' ').unwrap_or((rest, ""));
        turn = match name {
            "say" => turn.and_say(rest),
            "think" => turn.think(rest, Some("signed")),
            "read" | "sh" => turn.call(id, name, &json!({ "path": first })),
            "edit" => turn.call(id, name, &json!({ "path": first, "text": more })),
            "apply" | "discard" => turn.call(id, "resolve", &json!({ "action": name, "reason": "so it is" })),
            "back" => {
                let arguments = json!({ "category": "failure", "step": first, "summary": more });
                turn.call(id, "revert_to_state", &arguments)
            }
            // Once; the step after it is what the next attempt gives.
            "fail" => {
                let mut disk = folder.0.lock().unwrap();
                disk.failed += 1;
                if disk.failed.is_multiple_of(2) {
                    return Turn::say("at last");
                }
                return Turn::say("half an ans").fail(ProviderError::api(
                    529,
                    ErrorKind::Overloaded,
                    "come back later",
                ));
            }
            other => match old_rare::turn(request, other, rest) {
                Some(turn) => return turn,
                None => panic!("no such step: {other}"),
            },
        };
    }
    turn
}

impl Scene {
    /// Returns the folder as it is at first.
    pub(crate) fn disk(&self) -> Disk {
        let times = if self.has("compacts") { 80 } else { 1 };
        let mut disk = Disk::with("a", "a line of the file\n".repeat(times));
        if self.has("has-address") {
            disk.put("long", Some(&old_rare::long()));
        }
        disk
    }

    pub(crate) fn has(&self, word: &str) -> bool {
        self.agent.split(' ').any(|one| one == word)
    }

    /// Returns an agent with what the words of the scene say, which starts its clock at a time.
    pub(crate) fn agent(&self, folder: &Folder, begins: u64) -> Agent {
        let of_model = folder.clone();
        let has_summary = !self.has("no-summary");
        let provider = Scripted::new("test", "script", move |request| model(&of_model, has_summary, request));
        let tool = |name| -> Box<dyn Tool> { Box::new(Named { name, folder: folder.clone() }) };
        let clock = Mutex::new(begins);
        let of_clock = folder.clone();
        let mut agent = old_rare::builder(self, provider)
            .system("You work on files.")
            .clock(move || {
                let mut now = clock.lock().unwrap();
                *now += 1;
                old_rare::time(&of_clock, *now)
            })
            .tools(["read", "edit", "sh"].map(tool));
        agent = agent.approval(match (self.has("model"), self.has("person")) {
            (true, _) => Approval::Model,
            (_, true) => Approval::Person,
            _ => Approval::Always,
        });
        if self.has("reverts") {
            let asks = if self.has("asks") { OnStall::TellPerson } else { OnStall::TellModel };
            agent = agent.with_reverts(old_rare::priced(self, Reverts::default().on_stall(asks)));
        }
        if self.has("compacts") {
            agent = agent.with_compaction(Compaction::new(CompactPolicy::new(3_000).keep(20, 1)));
        }
        if self.has("folder") {
            agent = agent.workspace(Arc::new(folder.clone()));
            agent = agent.commits(self.has("commits")).binds(self.has("binds"));
        }
        agent = old_rare::agent(self, folder, agent);
        let mut retries = Retries::default();
        retries.waits = false;
        agent = agent.retries(retries).bound_reasoning(self.has("binds-reasoning"));
        agent.build().unwrap()
    }
}

fn node(word: &str) -> NodeId {
    word.parse().unwrap()
}

fn proposal(word: &str) -> ProposalId {
    ProposalId(word.trim_start_matches('p').parse().unwrap())
}

fn allowing(tool: &str) -> Rule {
    let mut rule = Rule::new(RuleVerdict::Allow, Actor::new(ActorKind::Person, "user"));
    rule.tool = Some(tool.to_owned());
    rule
}

fn late(at: &str, text: &str) -> (CallPlace, ToolResult) {
    let (node, id) = (node(at), "made up".to_owned());
    let result = ToolResult { call_id: id.clone(), content: vec![Part::text(text)], is_error: false };
    (CallPlace { node, index: 0, id }, result)
}

fn told<T>(what: Result<T, RuntimeError>, of: impl FnOnce(T) -> String) -> String {
    match what {
        Ok(value) => of(value),
        Err(fault) => format!("error: {fault}"),
    }
}

/// Does one act in a session, and says what came of it.
pub(crate) async fn act(
    session: &mut Session,
    stage @ (_, store, folder): (&Scene, &Arc<dyn SessionStore>, &Folder),
    words: &str,
) -> String {
    let (verb, rest) = words.split_once(' ').unwrap_or((words, ""));
    let (first, more) = rest.split_once(' ').unwrap_or((rest, ""));
    let cancel = Cancel::new();
    let ok = |()| "ok".to_owned();
    match verb {
        "prompt" => stop_line(&session.prompt(rest, &cancel).await),
        "resume" => stop_line(&session.resume(&cancel).await),
        "approve" => told(session.decide(proposal(first), Verdict::Approve, more).await, ok),
        "reject" => told(session.decide(proposal(first), Verdict::Discard, more).await, ok),
        "allow" => told(session.give_rule(allowing(first)).await, |id| format!("{id:?}")),
        "revoke" => told(session.revoke_rule(RuleId(first.parse().unwrap()), "no more").await, ok),
        "take" => told(session.take_back(proposal(more)).await, |id| id.to_string()),
        "rollback" => {
            let of: Vec<DecisionId> = session.decisions().iter().map(|one| one.id()).collect();
            let Some(of) = of.get(first.parse::<usize>().unwrap()) else { return "no such run".to_owned() };
            told(session.rollback(*of, None).await, |decision| decision.verdict().to_string())
        }
        "close" => told(session.close_run(closing(first, more)).await, |one| one.verdict().to_string()),
        "write" => {
            folder.0.lock().unwrap().put(first, Some(more));
            "ok".to_owned()
        }
        "wait" => {
            folder.0.lock().unwrap().late += first.parse::<u64>().unwrap();
            "ok".to_owned()
        }
        "usurp" => old_rare::usurp(session, stage, (first, more)).await,
        "finish" => told(session.finish_summaries().await, ok),
        "compact" => told(session.compact(&cancel).await, |came| format!("{came:?}")),
        "leave" => told(session.revert(node(first), None).await, ok),
        "name" => told(session.name(first, NameKind::Bookmark, node(more)).await, ok),
        "revert" => told(session.revert(node(first), Some(more)).await, ok),
        "undo" => told(session.undo().await, ok),
        "redo" => told(session.redo().await, ok),
        "go" => told(session.go(node(first)).await, |to| to.to_string()),
        "merge" => told(session.merge(&[node(first)]).await, |merge| format!("{} merged", merge.with.len())),
        "late" => {
            let (call, result) = late(first, more);
            told(session.late_result(&call, result).await, |late| format!("{late:?}"))
        }
        "accept" => told(session.answer_revert(StepId(first.parse().unwrap()), StepAnswer::Accept).await, ok),
        "decline" => {
            let answer = StepAnswer::Decline { reason: Some("go on".to_owned()) };
            told(session.answer_revert(StepId(first.parse().unwrap()), answer).await, ok)
        }
        "read" => told(session.read_letters().await, ok),
        "post" => {
            let Some(letter) = letter(session, rest) else { return "nothing to post".to_owned() };
            told(post(store.as_ref(), session.id(), &letter, Timestamp(1)).await, |_| "ok".to_owned())
        }
        other => panic!("no such act: {other}"),
    }
}

fn closing(how: &str, words: &str) -> CloseAs {
    match how {
        "retry" => CloseAs::Retry { reason: words.to_owned() },
        "checkpoint" => CloseAs::Checkpoint { words: words.to_owned() },
        _ => CloseAs::Abandon { reason: words.to_owned() },
    }
}

fn letter(session: &Session, words: &str) -> Option<Letter> {
    let (verb, rest) = words.split_once(' ').unwrap_or((words, ""));
    let (first, more) = rest.split_once(' ').unwrap_or((rest, ""));
    let expected_head = session.tree().head();
    let verdict =
        |verdict| Letter::Verdict { proposal: proposal(first), said: Said::new(verdict, more), seen: None };
    Some(match verb {
        "prompt" => Letter::Prompt { text: rest.to_owned() },
        "cancel" => Letter::Cancel,
        "approve" => verdict(Verdict::Approve),
        "reject" => verdict(Verdict::Discard),
        "allow" => Letter::GiveRule { rule: allowing(first) },
        "revoke" => Letter::RevokeRule { rule: RuleId(first.parse().unwrap()), reason: "no more".to_owned() },
        "take" => Letter::TakeBack { proposal: proposal(more) },
        "name" => {
            let naming = Naming {
                name: Name::parse(first).unwrap(),
                kind: NameKind::Bookmark,
                node: Some(node(more)),
            };
            Letter::Name { naming }
        }
        "late" => {
            let (call, result) = late(first, more);
            Letter::LateResult { call, result }
        }
        "revert" => {
            let act = MoveAct::Revert { to: node(first), lesson: Some(more.to_owned()) };
            Letter::Move { act, expected_head }
        }
        "step" => {
            let answer = StepAnswer::Decline { reason: None };
            Letter::StepBack { proposal: StepId(more.parse().unwrap()), answer, expected_head }
        }
        "close" => Letter::CloseRun { run: session.open_run()?, close: closing("abandon", rest) },
        "distrust" => Letter::Distrust,
        other => panic!("no such letter: {other}"),
    })
}
