//! Every change, tried in every state: the table of moves seen from outside.

use std::collections::BTreeSet;

use expect_test::expect;
use trunkline_resolve_queue::{
    Actor, ActorKind, Change, Effect, Event, Lease, Observation, Outcome, Proposal, ProposalId, Queue,
    Supersession, Verdict,
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
            cancel: proposed
            expire: expired
        approved
            check, differs: stale
            begin 1: applying
            supersede: superseded
            expire: expired
        applying
            finish, applied: applied
            finish, failed: failed
            finish, unknown: unknown
            recover, before: approved
            recover, after: applied
            recover, unclear: unknown
            renew: applying
            take over 2: applying
        applied
        failed
            approve: approved
            discard: discarded
            supersede: superseded
            cancel: failed
            expire: expired
        unknown
            recover, before: failed
            recover, after: applied
            recover, unclear: stale
        discarded
        superseded
            restore: stale
        expired
        stale, never approved
            discard: discarded
            check, same: proposed
            supersede: superseded
            expire: expired
        stale, approved
            discard: discarded
            check, same: approved
            supersede: superseded
            expire: expired
    "#]]
    .assert_eq(&lines);
}

const EXPIRES_AT: u64 = 9;

fn paths() -> Vec<(&'static str, Vec<Change<()>>)> {
    let approved = vec![decided(Verdict::Approve)];
    let applying = [
        approved.clone(),
        vec![Change::Began {
            attempt: 1,
            leased: Some(Lease { holder: String::new(), until: 10 }),
            preimages: vec![],
        }],
    ]
    .concat();
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
        ("expired", vec![Change::Expired]),
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
        ("cancel", Change::Cancelled { by: Actor::new(ActorKind::Person, ""), reason: String::new() }),
        ("expire", Change::Expired),
        ("renew", Change::Renewed { attempt: 1, until: 20 }),
        ("take over 1", taken_over(1)),
        ("take over 2", taken_over(2)),
    ]
}

fn reached(path: &[Change<()>]) -> Queue<()> {
    let staged = event(Change::Staged(Box::new(proposal())));
    let events = path.iter().cloned().map(event);
    Queue::replay([staged].into_iter().chain(events)).expect("the path is legal")
}

fn event(change: Change<()>) -> Event<()> {
    // Past its time, and before it for everything else.
    let at = if change == Change::Expired { EXPIRES_AT } else { 1 };
    Event { proposal: ProposalId(1), at, change }
}

fn proposal() -> Proposal<()> {
    let mut proposal = Proposal::new("edit a", "edit", ());
    proposal.effect = Effect::Reversible;
    proposal.expires_at = Some(EXPIRES_AT);
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
    Change::Recovered { attempt: 1, observation, by: Actor::new(ActorKind::Harness, ""), fenced: true }
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

fn taken_over(attempt: u32) -> Change<()> {
    Change::TakenOver { attempt, leased: Lease { holder: String::new(), until: 20 }, fenced: true }
}
