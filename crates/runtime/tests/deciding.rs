//! What people answer: once, late, twice, to several questions, to the wrong one, or not at all.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use expect_test::expect;
use serde_json::{Value, json};
use trunkline_runtime::message_tree::{NodeId, Timestamp};
use trunkline_runtime::orders::{self, Order, Settled};
use trunkline_runtime::providers::Turn;
use trunkline_runtime::resolve_queue::{
    ActorKind, Effect, Entry, ProposalId, QueueError, RuleId, RuleVerdict, State, Verdict,
};
use trunkline_runtime::session_store::{Record, SessionStore};
use trunkline_runtime::{Approval, Cancel, Decider, RuntimeError, Said, Session};

use crate::rules::{IntoId, Posts, because, edit, on_command, on_path, rule, rules_of, run, with};
use crate::story::{Story, World, replies, stop_line};

async fn begin(turns: Vec<Turn>) -> Story {
    let world = World::default();
    let agent = world.agent(replies(turns)).with_revert();
    Story::begin(world, agent).await
}

fn edits() -> Turn {
    ["b", "c"].iter().fold(edit("c1", "a"), |turn, path| {
        turn.call(format!("c{path}"), "edit", &json!({ "path": path, "text": "new" }))
    })
}

fn told(story: &Story) -> String {
    story.world.told.lock().unwrap().join(", ")
}

fn typed(result: Result<(), RuntimeError>) -> QueueError {
    match result {
        Err(RuntimeError::Proposal(fault)) => fault,
        other => panic!("{other:?}"),
    }
}

/// Takes the time out of words: how often a clock is read is nobody's promise.
fn timeless(words: &str) -> String {
    let mut parts = words.split(" at ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |told, part| match part.split_once(" ms") {
        Some((time, rest)) if time.parse::<u64>().is_ok() => told + rest,
        _ => told + " at " + part,
    })
}

async fn length(story: &Story) -> usize {
    story.store().load(&story.id()).await.unwrap().records.len()
}

async fn settle(story: &mut Story, request: &Order) -> String {
    let (store, id) = (story.store(), story.id());
    let letter = orders::post(store.as_ref(), &id, request, Timestamp(1)).await.unwrap();
    story.session.read_letters().await.unwrap();
    match orders::settled(store.as_ref(), &id, letter).await.unwrap() {
        Settled::Refused { reason } => format!("refused: {reason}"),
        _ => "done".to_owned(),
    }
}

#[tokio::test]
async fn answers_to_what_is_unknown_settled_or_decided_are_typed_and_say_what_was_first() {
    let mut story = begin(vec![edits(), Turn::say("done")]).await;
    story.prompt("do it").await.unwrap();
    let said = |name: &str| {
        let mut said = Said::new(Verdict::Approve, "looks right");
        said.name = name.to_owned();
        said
    };
    let fault = typed(story.session.decide(9.into_id(), Verdict::Approve, "").await);
    assert!(matches!(fault, QueueError::UnknownProposal { .. }), "{fault:?}");
    story.session.decide_with(1.into_id(), said("anna")).await.unwrap();
    // The same again is no error and nothing new.
    let before = length(&story).await;
    story.session.decide_with(1.into_id(), said("ben")).await.unwrap();
    assert_eq!(length(&story).await, before);
    let fault = typed(story.session.decide(1.into_id(), Verdict::Discard, "no").await);
    let QueueError::DecidedOtherwise { first, .. } = &fault else { panic!("{fault:?}") };
    assert_eq!((first.by.kind, first.by.name.as_str()), (ActorKind::Person, "anna"));
    let mut words = format!("{fault}\n");
    story.session.decide(2.into_id(), Verdict::Discard, "not b").await.unwrap();
    story.session.decide(3.into_id(), Verdict::Discard, "not c").await.unwrap();
    story.resume().await.unwrap();
    for (id, verdict) in [(1, Verdict::Discard), (2, Verdict::Approve), (9, Verdict::Approve)] {
        let said = Said::new(verdict, "");
        words += &settle(&mut story, &Order::Verdict { proposal: id.into_id(), said, seen: Some(0) }).await;
        words += "\n";
    }
    expect![[r#"
        p1 was already approved by person anna (looks right); it is approved
        refused: p1 was already approved by person anna (looks right); it is applied
        refused: p2 was already discarded by person (not b); it is discarded
        refused: no proposal p9; open: nothing
    "#]]
    .assert_eq(&timeless(&words));
}

/// Answers what it was told to, and counts how often it was asked.
#[derive(Default)]
struct Answers {
    asked: AtomicUsize,
    say: Mutex<Vec<Option<Said>>>,
}

#[async_trait]
impl Decider for Answers {
    async fn decide(&self, _: &Entry<Value>) -> Option<Said> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let mut say = self.say.lock().unwrap();
        if say.is_empty() { None } else { say.remove(0) }
    }
}

#[tokio::test]
async fn a_question_that_is_closed_is_noted_once_and_waits() {
    let answers = Arc::new(Answers::default());
    let world = World::default();
    let agent = world.agent(replies(vec![run("c1", "make"), Turn::say("done")])).decider(answers.clone());
    let mut story = Story::begin(world, agent).await;
    assert_eq!(stop_line(&story.prompt("do it").await), "waiting for p1");
    let unanswered = story.session.proposals().get(1.into_id()).unwrap().unanswered.clone().unwrap();
    assert_eq!(unanswered.by.kind, ActorKind::Person);
    let before = length(&story).await;
    assert_eq!(stop_line(&story.resume().await), "waiting for p1");
    let mut story = story.restart().await;
    assert_eq!(stop_line(&story.resume().await), "waiting for p1");
    assert_eq!((length(&story).await, answers.asked.load(Ordering::SeqCst)), (before, 3));
    answers.say.lock().unwrap().push(Some(Said::new(Verdict::Approve, "now")));
    assert_eq!(stop_line(&story.resume().await), "decided other: answered");
    assert_eq!(told(&story), "p1 staged, p1 cancelled, p1 decided, p1 began, p1 finished");
}

#[tokio::test]
async fn without_anybody_to_ask_nothing_is_recorded_and_nothing_authorised() {
    let mut story = begin(vec![run("c1", "make"), Turn::say("done")]).await;
    story.prompt("do it").await.unwrap();
    let before = length(&story).await;
    for _ in 0..3 {
        assert_eq!(stop_line(&story.resume().await), "waiting for p1");
    }
    assert_eq!((length(&story).await, told(&story).as_str()), (before, "p1 staged"));
    assert!(story.world.effects().is_empty());
}

#[tokio::test]
async fn an_answer_after_the_end_of_its_proposal_decides_nothing_and_the_drive_goes_on() {
    struct Brief;
    #[async_trait]
    impl trunkline_runtime::Tool for Brief {
        fn spec(&self) -> trunkline_runtime::message_tree::ToolSpec {
            trunkline_runtime::message_tree::ToolSpec {
                name: "brief".to_owned(),
                description: "x".to_owned(),
                input_schema: json!({ "type": "object" }),
                strict: None,
            }
        }
        async fn run(
            &self,
            _: serde_json::Map<String, Value>,
            _: &trunkline_runtime::ToolContext,
        ) -> trunkline_runtime::ToolOutput {
            let mut proposal = trunkline_runtime::Proposal::new("ring", "brief", json!({}));
            proposal.effect = Effect::Compensable;
            proposal.expires_at = Some(1_000);
            let mut output = trunkline_runtime::ToolOutput::text("a preview");
            output.proposals.push(proposal);
            output
        }
    }
    struct Slow(Arc<AtomicUsize>);
    #[async_trait]
    impl Decider for Slow {
        async fn decide(&self, _: &Entry<Value>) -> Option<Said> {
            self.0.store(2_000, Ordering::SeqCst);
            Some(Said::new(Verdict::Approve, "at last"))
        }
    }
    let world = World::default();
    let clock = Arc::new(AtomicUsize::new(1));
    let ticks = clock.clone();
    let agent = world
        .agent(replies(vec![Turn::new().call("c1", "brief", &json!({})), Turn::say("done")]))
        .tool(Brief)
        .clock(move || Timestamp(ticks.load(Ordering::SeqCst) as u64))
        .decider(Arc::new(Slow(clock)));
    let mut story = Story::begin(world, agent).await;
    assert_eq!(stop_line(&story.prompt("do it").await), "decided other: answered");
    assert_eq!(story.session.proposals().get(1.into_id()).unwrap().state, State::Expired);
    let fault = typed(story.session.decide(1.into_id(), Verdict::Approve, "").await);
    assert!(matches!(fault, QueueError::IllegalMove { .. } | QueueError::Expired { .. }), "{fault:?}");
}

/// A person who reads before they do nothing.
#[derive(Default)]
struct Reads(AtomicUsize);

#[async_trait]
impl Decider for Reads {
    async fn decide(&self, _: &Entry<Value>) -> Option<Said> {
        self.0.fetch_add(1, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(50)).await;
        None
    }
}

#[tokio::test]
async fn words_that_have_to_wait_do_not_disturb_who_is_asked() {
    use trunkline_runtime::session_store::SqliteStore;
    let folder = tempfile::tempdir().unwrap();
    // A store that has to be waited for: who is asked has begun to read by then.
    let store = Arc::new(SqliteStore::open(folder.path().join("sessions.db")).await.unwrap());
    let reads = Arc::new(Reads::default());
    let agent = World::default().agent(replies(vec![run("c1", "make"), Turn::say("done")]));
    let agent = agent.decider(reads.clone()).build().unwrap();
    let mut session = agent.start(store, "t", None).await.unwrap();
    for (words, asked) in [("do it", 1), ("and that", 2), ("and this", 3)] {
        let stop = session.prompt(words, &Cancel::new()).await;
        assert_eq!((stop_line(&stop).as_str(), reads.0.load(Ordering::SeqCst)), ("waiting for p1", asked));
    }
}

#[tokio::test]
async fn two_who_decide_at_once_make_one_decision_and_the_other_learns_whose() {
    for letter_first in [true, false] {
        let mut story = begin(vec![edit("c1", "a"), Turn::say("done")]).await;
        story.prompt("do it").await.unwrap();
        let mut by_letter = Said::new(Verdict::Discard, "no");
        by_letter.name = "ben".to_owned();
        let mut here = Said::new(Verdict::Approve, "yes");
        here.name = "anna".to_owned();
        let request = Order::Verdict { proposal: 1.into_id(), said: by_letter, seen: Some(0) };
        if letter_first {
            assert_eq!(settle(&mut story, &request).await, "done");
            let fault = typed(story.session.decide_with(1.into_id(), here).await);
            assert!(fault.to_string().contains("already discarded by person ben"), "{fault}");
        } else {
            story.session.decide_with(1.into_id(), here).await.unwrap();
            let refused = settle(&mut story, &request).await;
            assert!(refused.contains("already approved by person anna"), "{refused}");
        }
        let decided = told(&story).matches("decided").count();
        assert_eq!(decided, 1);
        story.resume().await.unwrap();
        assert_eq!(story.world.effects().len(), usize::from(!letter_first));
    }
}

/// A decider during whose question another terminal decides, and who answers all the same.
struct Late {
    place: Mutex<Option<(Arc<dyn SessionStore>, trunkline_runtime::session_store::SessionId)>>,
}

#[async_trait]
impl Decider for Late {
    async fn decide(&self, _: &Entry<Value>) -> Option<Said> {
        let (store, id) = self.place.lock().unwrap().take()?;
        let said = Said::new(Verdict::Discard, "the other terminal");
        let request = Order::Verdict { proposal: ProposalId(1), said, seen: Some(0) };
        orders::post(store.as_ref(), &id, &request, Timestamp(1)).await.unwrap();
        Some(Said::new(Verdict::Approve, "this terminal"))
    }
}

#[tokio::test]
async fn of_a_letter_and_an_answer_in_the_same_moment_exactly_one_counts() {
    let late = Arc::new(Late { place: Mutex::new(None) });
    let world = World::default();
    let agent = world.agent(replies(vec![run("c1", "make"), Turn::say("done")])).decider(late.clone());
    let mut story = Story::begin(world, agent).await;
    *late.place.lock().unwrap() = Some((story.store(), story.id()));
    assert_eq!(stop_line(&story.prompt("do it").await), "decided other: answered");
    let approved = story.session.proposals().get(1.into_id()).unwrap().state == State::Applied;
    assert_eq!(told(&story).matches("decided").count(), 1);
    assert_eq!(story.world.effects().len(), usize::from(approved));
}

#[tokio::test]
async fn a_sticky_answer_is_one_batch_with_its_decision_and_decides_the_next_ones() {
    let turns = vec![edit("c1", "src/a"), edit("c2", "src/b"), Turn::say("done")];
    let answers = Arc::new(Answers::default());
    let always = Said::new(Verdict::Approve, "and always")
        .giving(with(on_path(RuleVerdict::Allow, "src/**"), |rule| rule.given_by.name.clear()));
    let mut always = always;
    always.name = "anna".to_owned();
    answers.say.lock().unwrap().push(Some(always));
    let world = World::default();
    let agent = world.agent(replies(turns)).decider(answers.clone());
    let mut story = Story::begin(world, agent).await;
    assert_eq!(stop_line(&story.prompt("do it").await), "decided other: answered");
    assert_eq!(story.world.effects(), ["wrote src/a", "wrote src/b"]);
    assert_eq!(answers.asked.load(Ordering::SeqCst), 1);
    assert_eq!(rules_of(&story.session), "r1 allow used 1");
    let given = &story.session.rules().iter().next().unwrap().rule.given_by;
    assert_eq!(given.to_string(), "person anna");
    // Nobody could have died between the two: they stand one after the other, written at once.
    let log = story.store().load(&story.id()).await.unwrap();
    let kinds: Vec<&str> = log
        .records
        .iter()
        .filter_map(|(_, record)| match record {
            Record::Note(note) if note.layer == "resolve" => Some(note.kind.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(kinds[..3], ["event", "event", "rule"]);
}

#[tokio::test]
async fn a_sticky_answer_that_decides_nothing_gives_no_rule_and_said_twice_it_is_one() {
    let mut story = begin(vec![edits(), Turn::say("done")]).await;
    story.prompt("do it").await.unwrap();
    let sticky = || Said::new(Verdict::Approve, "").giving(on_path(RuleVerdict::Allow, "x/**"));
    typed(story.session.decide_with(9.into_id(), sticky()).await);
    let mut part = sticky();
    part.only = ["a".to_owned(), "z".to_owned()].into();
    typed(story.session.decide_with(1.into_id(), part).await);
    assert_eq!(rules_of(&story.session), "");
    story.session.decide_with(1.into_id(), sticky()).await.unwrap();
    story.session.decide_with(2.into_id(), sticky()).await.unwrap();
    let request = Order::Verdict { proposal: 3.into_id(), said: sticky(), seen: Some(0) };
    assert_eq!(settle(&mut story, &request).await, "done");
    assert_eq!(rules_of(&story.session), "r1 allow used 0");
    // A rule that a model gave comes in by no answer, and the answer does not either.
    let by_model = with(rule(RuleVerdict::Allow), |rule| rule.given_by.kind = ActorKind::Model);
    let forged = Said::new(Verdict::Approve, "").giving(by_model);
    let before = length(&story).await;
    let fault = story.session.decide_with(3.into_id(), forged).await.unwrap_err();
    assert!(matches!(fault, RuntimeError::Rule(_)), "{fault:?}");
    assert_eq!(length(&story).await, before);
}

#[tokio::test]
async fn several_are_decided_in_one_batch_and_each_has_its_own_result() {
    let mut story = begin(vec![edits(), Turn::say("done")]).await;
    story.prompt("do it").await.unwrap();
    story.session.decide(1.into_id(), Verdict::Approve, "").await.unwrap();
    let ids = [3, 1, 9, 2, 3].map(IntoId::into_id);
    let decided =
        story.session.decide_all(Some(&ids), &Said::new(Verdict::Discard, "none of it")).await.unwrap();
    let lines: Vec<String> = decided
        .iter()
        .map(|(id, result)| match result {
            Ok(()) => format!("{id} done"),
            Err(fault) => fault.to_string(),
        })
        .collect();
    expect![[r#"
        p1 was already approved by person; it is approved
        p2 done
        p3 done
        no proposal p9; open: p1, p2, p3"#]]
    .assert_eq(&timeless(&lines.join("\n")));
    assert_eq!(stop_line(&story.resume().await), "decided other: answered");
    assert_eq!(story.world.effects(), ["wrote a"]);
    let tree = story.tree();
    assert_eq!(tree.matches("A person declined").count(), 2, "{tree}");
    // Nothing waits any more: nothing is decided and nothing is written.
    let before = length(&story).await;
    assert!(story.session.decide_all(None, &Said::new(Verdict::Approve, "")).await.unwrap().is_empty());
    assert!(story.session.decide_all(Some(&[]), &Said::new(Verdict::Approve, "")).await.unwrap().is_empty());
    assert_eq!(length(&story).await, before);
}

#[tokio::test]
async fn all_that_wait_are_approved_at_once() {
    let mut story = begin(vec![edits(), Turn::say("done")]).await;
    story.prompt("do it").await.unwrap();
    let decided = story.session.decide_all(None, &Said::new(Verdict::Approve, "all")).await.unwrap();
    assert_eq!(decided.len(), 3);
    assert!(decided.iter().all(|(_, result)| result.is_ok()));
    story.resume().await.unwrap();
    assert_eq!(story.world.effects(), ["wrote a", "wrote b", "wrote c"]);
}

#[tokio::test]
async fn what_is_discarded_while_its_turn_is_open_is_told_after_it() {
    // The command stands first, so both wait at once.
    let turn = run("c1", "make").call("c2", "edit", &json!({ "path": "a", "text": "new" }));
    let mut story = begin(vec![turn, Turn::say("done")]).await;
    assert_eq!(stop_line(&story.prompt("do it").await), "waiting for p2");
    let decided = story.session.decide_all(None, &Said::new(Verdict::Discard, "no")).await.unwrap();
    assert!(decided.iter().all(|(_, result)| result.is_ok()), "{decided:?}");
    let mut story = story.restart().await;
    assert_eq!(stop_line(&story.resume().await), "decided other: answered");
    let tree = story.tree();
    assert_eq!(
        tree.matches("harness: A person declined p1. Discarded: edit a. Reason: no").count(),
        1,
        "{tree}"
    );
    assert!(story.world.effects().is_empty());
}

#[tokio::test]
async fn a_command_waits_for_the_edits_that_were_called_ahead_of_it() {
    let turn = edit("c1", "a").call("c2", "shell", &json!({ "path": "make" }));
    let turn = turn.call("c3", "read", &json!({ "path": "a" }));
    let mut story = begin(vec![turn, Turn::say("done")]).await;
    assert_eq!(stop_line(&story.prompt("do it").await), "waiting for p1");
    story.session.decide(1.into_id(), Verdict::Approve, "").await.unwrap();
    let mut story = story.restart().await;
    assert_eq!(stop_line(&story.resume().await), "waiting for p2");
    assert_eq!(story.world.effects(), ["wrote a"]);
    story.session.decide(2.into_id(), Verdict::Approve, "").await.unwrap();
    let mut story = story.restart().await;
    assert_eq!(stop_line(&story.resume().await), "decided other: answered");
    assert_eq!(story.world.effects(), ["wrote a", "ran make"]);
    let tree = story.tree();
    assert_eq!(tree.matches("A person approved p1, and it was applied.").count(), 1, "{tree}");
}

fn state(session: &Session) -> (State, bool, u32) {
    let entry = session.proposals().get(1.into_id()).unwrap();
    (entry.state, entry.decision.is_some(), entry.put_aside)
}

#[tokio::test]
async fn an_answer_that_was_given_on_a_branch_that_was_left_applies_on_no_other() {
    let mut story = begin(vec![edit("c1", "a"), Turn::say("again"), Turn::say("done")]).await;
    story.prompt("do it").await.unwrap();
    story.session.decide(1.into_id(), Verdict::Approve, "").await.unwrap();
    story.session.revert(NodeId::new(1), Some("no")).await.unwrap();
    assert_eq!(state(&story.session), (State::Superseded, false, 1), "its approval is void");
    let said = || Said::new(Verdict::Approve, "late");
    let late = Order::Verdict { proposal: 1.into_id(), said: said(), seen: Some(0) };
    let mut words = settle(&mut story, &late).await;
    // An undo brings it back, as something that nobody has approved here.
    story.session.undo().await.unwrap();
    assert_eq!(state(&story.session), (State::Stale, false, 1));
    words += &format!("\n{}", settle(&mut story, &late).await);
    assert_eq!(stop_line(&story.resume().await), "waiting for p1");
    assert_eq!(state(&story.session), (State::Proposed, false, 1));
    words += &format!("\n{}", settle(&mut story, &late).await);
    assert!(story.world.effects().is_empty());
    // Left again and come back again: every epoch is another question.
    story.session.redo().await.unwrap();
    story.session.undo().await.unwrap();
    assert_eq!(stop_line(&story.resume().await), "waiting for p1");
    let once = Order::Verdict { proposal: 1.into_id(), said: said(), seen: Some(1) };
    words += &format!("\n{}", settle(&mut story, &once).await);
    let now = Order::Verdict { proposal: 1.into_id(), said: said(), seen: Some(2) };
    words += &format!("\n{}", settle(&mut story, &now).await);
    expect![[r#"
        refused: p1 was put aside after this answer was given; look at it again and answer anew
        refused: p1 was put aside after this answer was given; look at it again and answer anew
        refused: p1 was put aside after this answer was given; look at it again and answer anew
        refused: p1 was put aside after this answer was given; look at it again and answer anew
        done"#]]
    .assert_eq(&words);
    story.resume().await.unwrap();
    assert_eq!(story.world.effects(), ["wrote a"]);
}

#[tokio::test]
async fn what_a_rule_approved_on_a_branch_that_was_left_is_judged_anew_when_it_comes_back() {
    let turn = run("c1", "make").call("c2", "edit", &json!({ "path": "a", "text": "new" }));
    let mut story = begin(vec![turn, Turn::say("again"), Turn::say("done")]).await;
    let rule = with(on_path(RuleVerdict::Allow, "a"), |rule| {
        rule.scope = trunkline_runtime::resolve_queue::Scope::Once;
    });
    story.session.give_rule(rule).await.unwrap();
    // Approved by the rule, but a command of the same turn waits, so it is not applied yet.
    assert_eq!(stop_line(&story.prompt("do it").await), "waiting for p2");
    assert_eq!(state(&story.session), (State::Approved, true, 0));
    story.session.revert(NodeId::new(1), Some("no")).await.unwrap();
    story.session.undo().await.unwrap();
    assert_eq!(stop_line(&story.resume().await), "waiting for p1", "it counted once");
    assert_eq!(rules_of(&story.session), "r1 allow used 1");
    assert!(story.world.effects().is_empty());
}

#[tokio::test]
async fn a_policy_as_the_crate_page_has_it() {
    let policy = || {
        let mut by_model = on_path(RuleVerdict::Ask, "src/**");
        by_model.deciders.insert(ActorKind::Model);
        by_model.effects.insert(Effect::Reversible);
        vec![
            by_model,
            on_command(RuleVerdict::Allow, &["cargo", "test"]),
            on_command(RuleVerdict::Deny, &["git", "push"]),
        ]
    };
    let world = World::default();
    let turns = vec![
        Turn::new().call("c1", "read", &json!({ "path": "a" })),
        edit("c2", "src/a"),
        Turn::new().call("c3", "resolve", &json!({ "action": "apply", "reason": "fits" })),
        run("c4", "cargo test --all"),
        run("c5", "git push origin main"),
        run("c6", "make install"),
    ];
    let agent = world.agent(replies(turns)).approval(Approval::Person).rules(policy());
    let mut story = Story::begin(world, agent).await;
    assert_eq!(stop_line(&story.prompt("do it").await), "waiting for p4");
    assert_eq!(story.world.effects(), ["wrote src/a", "ran cargo test --all"]);
    assert_eq!(rules_of(&story.session), "r1 ask used 1; r2 allow used 1; r3 deny used 1");
}

#[tokio::test]
async fn a_person_approves_nothing_that_a_rule_forbids_unless_it_is_taken_back_first() {
    let turn = ["src/a", "gen/b", "gen/c"].iter().fold(Turn::new(), |turn, path| {
        turn.call(format!("c {path}"), "edit", &json!({ "path": path, "text": "new" }))
    });
    let mut story = begin(vec![turn, Turn::say("done")]).await;
    assert_eq!(stop_line(&story.prompt("do it").await), "waiting for p1, p2, p3");
    story
        .session
        .give_rule(because(on_path(RuleVerdict::Deny, "gen/**"), "made by\na script"))
        .await
        .unwrap();
    story.session.give_rule(on_path(RuleVerdict::Deny, "**/c")).await.unwrap();
    let before = story.store().load(&story.id()).await.unwrap().records.len();
    let refused = story.session.decide(2.into_id(), Verdict::Approve, "yes").await.unwrap_err();
    assert!(matches!(refused, RuntimeError::Refused { .. }), "{refused:?}");
    expect!["p2 cannot be approved: it is forbidden by r1 (made by a script); take that rule back first, or discard it"]
        .assert_eq(&refused.to_string());
    assert_eq!(story.store().load(&story.id()).await.unwrap().records.len(), before);
    let wish = Order::Verdict { proposal: 2.into_id(), said: Said::new(Verdict::Approve, ""), seen: Some(0) };
    let letter = orders::post(story.store().as_ref(), &story.id(), &wish, Timestamp(1)).await.unwrap();
    story.session.read_letters().await.unwrap();
    let settled = orders::settled(story.store().as_ref(), &story.id(), letter).await.unwrap();
    assert!(matches!(settled, Settled::Refused { reason } if reason == refused.to_string()));
    // In bulk the others are decided, and nothing of it is taken without a word.
    let decided = story.session.decide_all(None, &Said::new(Verdict::Approve, "")).await.unwrap();
    let decided: Vec<String> = decided
        .into_iter()
        .map(|(id, result)| {
            format!("{id}: {}", result.map_or_else(|fault| fault.to_string(), |()| "ok".to_owned()))
        })
        .collect();
    expect![[r#"
        p1: ok
        p2: p2 cannot be approved: it is forbidden by r1 (made by a script); take that rule back first, or discard it
        p3: p3 cannot be approved: it is forbidden by r1, r2 (made by a script); take those rules back first, or discard it"#]]
    .assert_eq(&decided.join("\n"));
    story.session.decide(3.into_id(), Verdict::Discard, "no").await.unwrap();
    story.session.revoke_rule(RuleId(1), "it was wrong").await.unwrap();
    story.session.decide(2.into_id(), Verdict::Approve, "now").await.unwrap();
    story.resume().await.unwrap();
    assert_eq!(story.world.effects(), ["wrote src/a", "wrote gen/b"]);
}

#[tokio::test]
async fn a_command_that_is_forbidden_meanwhile_is_not_approved() {
    let mut story = begin(vec![run("c1", "make all"), Turn::say("done")]).await;
    assert_eq!(stop_line(&story.prompt("do it").await), "waiting for p1");
    story.session.give_rule(on_command(RuleVerdict::Deny, &["make"])).await.unwrap();
    let refused = story.session.decide(1.into_id(), Verdict::Approve, "yes").await.unwrap_err();
    expect!["p1 cannot be approved: it is forbidden by r1; take that rule back first, or discard it"]
        .assert_eq(&refused.to_string());
    story.resume().await.unwrap();
    assert!(story.world.effects().is_empty());
}

#[tokio::test]
async fn a_rule_that_is_over_no_longer_keeps_the_model_from_deciding() {
    let (world, place, now) = (World::default(), Arc::new(OnceLock::new()), Arc::new(AtomicU64::new(1_000)));
    let asks = with(rule(RuleVerdict::Ask), |rule| rule.expires_at = Some(5_000));
    let turns = vec![
        edit("c1", "a").call("c2", "post", &json!({})),
        Turn::say("done"),
        Turn::new().call("c3", "resolve", &json!({ "action": "apply", "reason": "r", "id": "p1" })),
        Turn::say("done"),
    ];
    let clock = Arc::clone(&now);
    let agent = world.agent(replies(turns)).approval(Approval::Model);
    let agent = agent.tool(Posts(place.clone(), vec![Order::GiveRule { rule: asks }]));
    let agent = agent.clock(move || Timestamp(clock.load(Ordering::SeqCst)));
    let mut story = Story::begin(world, agent).await;
    place.set((story.store(), story.id())).ok().unwrap();
    assert_eq!(stop_line(&story.prompt("do it").await), "waiting for p1");
    now.store(6_000, Ordering::SeqCst);
    assert_eq!(stop_line(&story.resume().await), "decided other: answered", "{}", story.tree());
    assert_eq!(story.world.effects(), ["wrote a"]);
}
