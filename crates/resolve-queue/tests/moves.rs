//! Every change, tried in every state: the table of moves seen from outside.

use std::collections::BTreeSet;

use expect_test::expect;
use trunkline_resolve_queue::{
    Actor, ActorKind, Change, Effect, Event, Observation, Outcome, Proposal, ProposalId, Queue, Supersession,
    Verdict,
};

#[test]
fn what_is_not_listed_is_refused_and_changes_nothing() {
    let mut lines = String::new();
    for (name, path) in paths() {
        lines.push_str(name);
        lines.push('\n');
        for (label, change) in changes() {
            let mut queue = reached(&path);
            let before = queue.clone();
            match queue.record(event(change)) {
                Ok(state) => lines.push_str(&format!("    {label}: {state}\n")),
                Err(_) => assert_eq!(queue, before, "{label} was refused while {name}"),
            }
        }
    }
    expect![[r#"
        proposed
            approve: approved
            discard: discarded
            check, differs: stale
            supersede: superseded
        approved
            check, differs: stale
            begin 1: applying
            supersede: superseded
        applying
            finish, applied: applied
            finish, failed: failed
            finish, unknown: unknown
            recover, before: approved
            recover, after: applied
            recover, unclear: unknown
        applied
        failed
            approve: approved
            discard: discarded
            supersede: superseded
        unknown
            recover, before: failed
            recover, after: applied
            recover, unclear: stale
        discarded
        superseded
            restore: stale
        stale, never approved
            discard: discarded
            check, same: proposed
            supersede: superseded
        stale, approved
            discard: discarded
            check, same: approved
            supersede: superseded
    "#]]
    .assert_eq(&lines);
}

fn paths() -> Vec<(&'static str, Vec<Change<()>>)> {
    let approved = vec![decided(Verdict::Approve)];
    let applying =
        [approved.clone(), vec![Change::Began { attempt: 1, leased: None, preimages: vec![] }]].concat();
    let left = Change::Superseded { cause: Supersession::BranchLeft { by: String::new() } };
    vec![
        ("proposed", vec![]),
        ("approved", approved.clone()),
        ("applying", applying.clone()),
        ("applied", [applying.clone(), vec![finished(Outcome::Applied)]].concat()),
        ("failed", [applying.clone(), vec![finished(failed())]].concat()),
        ("unknown", [applying, vec![finished(unknown())]].concat()),
        ("discarded", vec![decided(Verdict::Discard)]),
        ("superseded", vec![left]),
        ("stale, never approved", vec![stale()]),
        ("stale, approved", [approved, vec![stale()]].concat()),
    ]
}

fn changes() -> Vec<(&'static str, Change<()>)> {
    let superseded = Change::Superseded { cause: Supersession::Replaced { by: ProposalId(2) } };
    vec![
        ("staged", Change::Staged(Box::new(proposal()))),
        ("approve", decided(Verdict::Approve)),
        ("discard", decided(Verdict::Discard)),
        ("check, differs", stale()),
        ("check, same", Change::Rechecked),
        ("begin 1", Change::Began { attempt: 1, leased: None, preimages: vec![] }),
        ("begin 2", Change::Began { attempt: 2, leased: None, preimages: vec![] }),
        ("finish, applied", finished(Outcome::Applied)),
        ("finish, failed", finished(failed())),
        ("finish, unknown", finished(unknown())),
        ("recover, before", recovered(Observation::Before)),
        ("recover, after", recovered(Observation::After)),
        ("recover, unclear", recovered(Observation::Unclear)),
        ("supersede", superseded),
        ("restore", Change::Restored),
    ]
}

fn reached(path: &[Change<()>]) -> Queue<()> {
    let staged = event(Change::Staged(Box::new(proposal())));
    let events = path.iter().cloned().map(event);
    Queue::replay([staged].into_iter().chain(events)).expect("the path is legal")
}

fn event(change: Change<()>) -> Event<()> {
    Event { proposal: ProposalId(1), at: 1, change }
}

fn proposal() -> Proposal<()> {
    let mut proposal = Proposal::new("edit a", "edit", ());
    proposal.effect = Effect::Reversible;
    proposal
}

fn decided(verdict: Verdict) -> Change<()> {
    Change::Decided {
        verdict,
        by: Actor::new(ActorKind::Person, ""),
        reason: String::new(),
        only: BTreeSet::new(),
        extra: None,
    }
}

fn finished(outcome: Outcome) -> Change<()> {
    Change::Finished { attempt: 1, outcome }
}

fn recovered(observation: Observation) -> Change<()> {
    Change::Recovered { attempt: 1, observation, by: Actor::new(ActorKind::Harness, ""), fenced: false }
}

fn stale() -> Change<()> {
    Change::WentStale { differing: vec![] }
}

fn failed() -> Outcome {
    Outcome::Failed { reason: String::new() }
}

fn unknown() -> Outcome {
    Outcome::Unknown { reason: String::new() }
}
