//! Whatever is given, answered, taken back, left and killed: nothing is decided but by whom the rules of that moment let.
//!
//! The log alone is asked, by a fold of its own: each decision is judged again, by the rules as they stood before it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;
use serde_json::{Value, json};
use trunkline_runtime::message_tree::{NodeId, Timestamp};
use trunkline_runtime::orders::{self, Order};
use trunkline_runtime::providers::Turn;
use trunkline_runtime::resolve_queue::{
    Actor, ActorKind, Change, CommandPattern, Event, Judgement, On, Proposal, ProposalId, Queue, Rule,
    RuleEvent, RuleId, RuleTarget, RuleVerdict, Rules, Scope, Verdict, Wanted,
};
use trunkline_runtime::session_store::{Log, MemoryStore, Record, SessionStore};
use trunkline_runtime::{Approval, Cancel, Limits, RuntimeError, Said, Session};

use crate::kills::{Death, Mortal};
use crate::story::World;

const PATHS: &[&str] = &["src/a", "src/b", "gen/a", "c"];
const COMMANDS: &[&str] = &["make", "git push", "cargo test", "make; git push"];

#[derive(Clone, Debug)]
enum Act {
    Resume,
    Prompt,
    Decide { id: u32, approve: bool },
    DecideAll { approve: bool },
    Sticky { id: u32, rule: Rule },
    Letter { id: u32, approve: bool, seen: u32 },
    Give(Rule),
    GiveByLetter(Rule),
    Revoke(u32),
    Revert(u32),
    Undo,
}

fn rule() -> impl Strategy<Value = Rule> {
    let verdict = prop_oneof![
        3 => Just(RuleVerdict::Allow),
        2 => Just(RuleVerdict::Ask),
        1 => Just(RuleVerdict::Deny),
    ];
    let path = prop_oneof![Just("src/**"), Just("gen/**"), Just("**")]
        .prop_map(|pattern| RuleTarget::Path(pattern.parse().unwrap()));
    let command = prop_oneof![Just(vec!["make"]), Just(vec!["git", "push"]), Just(vec!["cargo"])]
        .prop_map(|words| RuleTarget::Command(CommandPattern::beginning(words).unwrap()));
    let target = prop_oneof![Just(None), path.prop_map(Some), command.prop_map(Some)];
    let tool = prop_oneof![3 => Just(None), 1 => Just(Some("edit")), 1 => Just(Some("shell"))];
    let end = prop_oneof![3 => Just(None), 1 => (1_u64..80).prop_map(Some)];
    (verdict, target, tool, any::<bool>(), prop::bool::weighted(0.3), end).prop_map(
        |(verdict, target, tool, model, once, end)| {
            let mut rule = Rule::new(verdict, Actor::new(ActorKind::Person, "anna"));
            rule.target = target;
            rule.tool = tool.map(str::to_owned);
            rule.expires_at = end;
            if model {
                rule.deciders.insert(ActorKind::Model);
            }
            if once {
                rule.scope = Scope::Once;
            }
            rule
        },
    )
}

fn call() -> impl Strategy<Value = (&'static str, Value)> {
    prop_oneof![
        4 => prop::sample::select(PATHS).prop_map(|path| ("edit", json!({ "path": path, "text": "new" }))),
        1 => prop::sample::select(PATHS).prop_map(|path| ("edit", json!({ "path": path, "text": "unwritable" }))),
        4 => prop::sample::select(COMMANDS).prop_map(|command| ("shell", json!({ "path": command }))),
        3 => (1_u32..5, any::<bool>()).prop_map(|(id, apply)| {
            let action = if apply { "apply" } else { "discard" };
            ("resolve", json!({ "action": action, "reason": "r", "id": format!("p{id}") }))
        }),
        1 => Just(("read", json!({ "path": "c" }))),
    ]
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        3 => Just(Act::Resume),
        2 => Just(Act::Prompt),
        2 => (1_u32..5, any::<bool>()).prop_map(|(id, approve)| Act::Decide { id, approve }),
        1 => any::<bool>().prop_map(|approve| Act::DecideAll { approve }),
        1 => (1_u32..5, rule()).prop_map(|(id, rule)| Act::Sticky { id, rule }),
        1 => (1_u32..5, any::<bool>(), 0_u32..2).prop_map(|(id, approve, seen)| Act::Letter { id, approve, seen }),
        2 => rule().prop_map(Act::Give),
        1 => rule().prop_map(Act::GiveByLetter),
        1 => (1_u32..5).prop_map(Act::Revoke),
        1 => (1_u32..12).prop_map(Act::Revert),
        1 => Just(Act::Undo),
    ]
}

fn verdict(approve: bool) -> Verdict {
    if approve { Verdict::Approve } else { Verdict::Discard }
}

async fn perform(session: &mut Session, store: &dyn SessionStore, act: Act) -> Result<(), RuntimeError> {
    let cancel = Cancel::new();
    let id = session.id().clone();
    match act {
        Act::Resume => session.resume(&cancel).await.map(drop),
        Act::Prompt => session.prompt("go", &cancel).await.map(drop),
        Act::Decide { id, approve } => session.decide(ProposalId(id), verdict(approve), "because").await,
        Act::DecideAll { approve } => {
            session.decide_all(None, &Said::new(verdict(approve), "all")).await.map(drop)
        }
        Act::Sticky { id, rule } => {
            session.decide_with(ProposalId(id), Said::new(Verdict::Approve, "").giving(rule)).await
        }
        Act::Letter { id: proposal, approve, seen } => {
            let said = Said::new(verdict(approve), "by letter");
            let request = Order::Verdict { proposal: ProposalId(proposal), said, seen: Some(seen) };
            orders::post(store, &id, &request, Timestamp(1)).await.map(drop)
        }
        Act::Give(rule) => session.give_rule(rule).await.map(drop),
        Act::GiveByLetter(rule) => {
            orders::post(store, &id, &Order::GiveRule { rule }, Timestamp(1)).await.map(drop)
        }
        Act::Revoke(rule) => session.revoke_rule(RuleId(rule), "enough").await,
        Act::Revert(node) => session.revert(NodeId::new(node), Some("s")).await,
        Act::Undo => session.undo().await,
    }
}

/// What the rules said of a proposal at a time.
fn judged(rules: &Rules, proposal: &Proposal<Value>, at: u64) -> Judgement {
    let paths: Vec<&str> = proposal.after.iter().map(|print| print.subject.as_str()).collect();
    let on = match proposal.payload.get("command").and_then(Value::as_str) {
        Some(command) => On::Command(command),
        None => On::Paths(&paths),
    };
    rules.judge(&Wanted::new(&proposal.source_tool, proposal.effect, on), at)
}

/// Judges every decision of a log again. Returns the approvals that each rule gave, and the attempts.
fn check(log: &Log, approval: Approval, model_by_rule: bool) -> Result<usize, TestCaseError> {
    let (mut rules, mut queue) = (Rules::new(), Queue::<Value>::new());
    let mut once: Vec<RuleId> = Vec::new();
    let mut begun = 0;
    for (_, record) in &log.records {
        let Record::Note(note) = record else { continue };
        match (note.layer.as_str(), note.kind.as_str()) {
            ("resolve", "rule") => {
                let event: RuleEvent = serde_json::from_str(&note.body).unwrap();
                rules.record(event).unwrap();
            }
            ("resolve", "event") => {
                let event: Event<Value> = serde_json::from_str(&note.body).unwrap();
                if let Change::Decided { verdict, by, .. } = &event.change {
                    let proposal = &queue.get(event.proposal).unwrap().proposal;
                    let said = judged(&rules, proposal, event.at);
                    let names: Vec<String> = said.rules.iter().map(ToString::to_string).collect();
                    let named = by.name == names.join(", ");
                    let call = proposal.payload.get("arguments").is_some();
                    let asks = said.verdict == RuleVerdict::Ask && !names.is_empty();
                    let allowed = match (by.kind, verdict) {
                        (ActorKind::Person, _) => true,
                        (ActorKind::Model | ActorKind::Harness, Verdict::Discard) => true,
                        (ActorKind::Policy, Verdict::Discard) => said.verdict == RuleVerdict::Deny && named,
                        (ActorKind::Policy, Verdict::Approve) if by.name == "always" => {
                            let all = approval == Approval::Always || (approval == Approval::Model && call);
                            names.is_empty() && all
                        }
                        (ActorKind::Policy, Verdict::Approve) => said.verdict == RuleVerdict::Allow && named,
                        (ActorKind::Model, Verdict::Approve) if asks => {
                            said.deciders.contains(&ActorKind::Model)
                                && (model_by_rule || approval == Approval::Model)
                        }
                        (ActorKind::Model, Verdict::Approve) => {
                            said.verdict != RuleVerdict::Deny && approval == Approval::Model && !call
                        }
                        _ => false,
                    };
                    prop_assert!(
                        allowed,
                        "{by} decided {verdict:?} on {}, the rules say {said:?}",
                        event.proposal
                    );
                    if by.kind == ActorKind::Policy {
                        let by_once =
                            said.rules.iter().filter(|id| rules.get(**id).unwrap().rule.scope == Scope::Once);
                        once.extend(by_once);
                    }
                }
                begun += usize::from(matches!(event.change, Change::Began { .. }));
                queue.record(event).unwrap();
            }
            _ => {}
        }
    }
    let all = once.len();
    once.sort();
    once.dedup();
    prop_assert_eq!(once.len(), all, "what counts once decided once");
    Ok(begun)
}

async fn live(
    replies: Vec<Vec<(&'static str, Value)>>,
    acts: Vec<Act>,
    deaths: Vec<usize>,
    approval: Approval,
    policy: Option<Vec<Rule>>,
) -> Result<(), TestCaseError> {
    let world = World::default();
    let inner = Arc::new(MemoryStore::new());
    let next = AtomicUsize::new(0);
    let script = move |_: &_| match replies.get(next.fetch_add(1, Ordering::SeqCst)) {
        None => Turn::say("done"),
        Some(calls) => calls.iter().zip(1..).fold(Turn::say("so"), |turn, ((tool, arguments), number)| {
            turn.call(format!("c{number}"), *tool, arguments)
        }),
    };
    let mut limits = Limits::default();
    limits.turns = 12;
    let mut agent = world.agent(script).approval(approval).with_revert().limits(limits);
    let mut policy = policy;
    for rule in policy.iter_mut().flatten() {
        // What counts once belongs to a session.
        rule.scope = Scope::Always;
    }
    let asks = |rule: &Rule| rule.verdict == RuleVerdict::Ask && rule.deciders.contains(&ActorKind::Model);
    let model_by_rule = policy.iter().flatten().any(asks);
    if let Some(policy) = policy {
        agent = agent.rules(policy);
    }
    let agent = agent.build().unwrap();
    let (mut deaths, mut id) = (deaths.into_iter(), None);
    for act in std::iter::once(Act::Prompt).chain(acts).chain([Act::Resume]) {
        let left = deaths.next().unwrap_or(usize::MAX);
        let death = [Death::Lost, Death::Kept, Death::Fenced][left % 3];
        let store: Arc<dyn SessionStore> = Arc::new(Mortal::new(inner.clone(), left, death));
        let opened = match &id {
            None => agent.start(store.clone(), "t", None).await,
            Some(id) => agent.open(store.clone(), id).await,
        };
        let outcome = match opened {
            Ok(mut session) => {
                id = Some(session.id().clone());
                perform(&mut session, store.as_ref(), act).await
            }
            Err(fault) => Err(fault),
        };
        match outcome {
            Ok(())
            | Err(RuntimeError::Proposal(_) | RuntimeError::Rule(_) | RuntimeError::Refused { .. }) => {}
            Err(RuntimeError::Store(_) | RuntimeError::TakenOver { .. }) if left < usize::MAX => {}
            Err(fault) => return Err(TestCaseError::fail(format!("{fault}: {fault:?}"))),
        }
    }
    let Some(id) = id else { return Ok(()) };
    let log = inner.load(&id).await.unwrap();
    let begun = check(&log, approval, model_by_rule)?;
    let done = world.effects();
    let gated = done.iter().filter(|done| done.starts_with("wrote") || approval == Approval::Person).count();
    prop_assert!(gated <= begun, "every effect was begun as what was approved: {done:?}");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn nothing_is_applied_whose_decision_was_not_made_by_whom_the_rules_let_at_that_time(
        replies in prop::collection::vec(prop::collection::vec(call(), 1..4), 1..6),
        acts in prop::collection::vec(act(), 0..8),
        deaths in prop::collection::vec(prop_oneof![1 => 0_usize..12, 2 => Just(usize::MAX)], 0..6),
        approval in prop_oneof![Just(Approval::Person), Just(Approval::Model), Just(Approval::Always)],
        policy in prop::option::of(prop::collection::vec(rule(), 0..4)),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(live(replies, acts, deaths, approval, policy))?;
    }
}
