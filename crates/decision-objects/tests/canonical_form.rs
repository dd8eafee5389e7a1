//! How each object is written.

use expect_test::expect;
use trunkline_decision_objects::{
    Actor, ActorKind, Alternative, Base, CheckpointFiles, CheckpointState, Closing, Considered, Decision,
    Environment, IntentId, Label, Opening, PlanId, Predecessor, Run, SnapshotId, TaskId, Verdict,
};

use crate::given::{
    abandon, at, closing, decided, decision_id, evidence, open_run, opening, patch_set, patch_set_id, run_id,
    sha1, words,
};
use crate::given_snapshots::named;

#[test]
fn a_run() {
    let opening = Opening {
        goal: "fix \"it\"\n✓".into(),
        base: Base { commit: Some(sha1()), tree: Some(words("clean")) },
        predecessor: Some(Predecessor::Continues(run_id(7))),
        ..opening(1)
    };
    expect![[r#"{"type":"run","version":1,"id":"00000000-0000-0000-0000-000000000001","at":"2026-11-21T20:49:30.166608121Z","actor":{"kind":"agent","id":"coder-1","display_name":"Coder"},"goal":"fix \"it\"\n✓","base_commit":"da39a3ee5e6b4b0d3255bfef95601890afd80709","base_tree":"clean","continues":"00000000-0000-0000-0000-000000000007"}"#]]
    .assert_eq(&Run::open(opening).unwrap().record().print());
}

#[test]
fn a_run_that_serves_a_task() {
    let opening = Opening {
        intent: Some(named(IntentId::new, 11)),
        task: Some(named(TaskId::new, 12)),
        plan: Some(named(PlanId::new, 13)),
        snapshot: Some(named(SnapshotId::new, 14)),
        environment: Some(Environment { os: words("linux"), arch: words("x86_64") }),
        ..opening(1)
    };
    expect![[r#"{"type":"run","version":1,"id":"00000000-0000-0000-0000-000000000001","at":"2026-11-21T20:49:30.166608121Z","actor":{"kind":"agent","id":"coder-1","display_name":"Coder"},"goal":"fix it","intent":"00000000-0000-0000-0000-00000000000b","task":"00000000-0000-0000-0000-00000000000c","plan":"00000000-0000-0000-0000-00000000000d","snapshot":"00000000-0000-0000-0000-00000000000e","environment":{"os":"linux","arch":"x86_64"}}"#]].assert_eq(&Run::open(opening).unwrap().record().print());
}

#[test]
fn a_patch_set() {
    expect![[r#"{"type":"patch_set","version":1,"id":"00000000-0000-0000-0000-000000000002","run":"00000000-0000-0000-0000-000000000001","base":"da39a3ee5e6b4b0d3255bfef95601890afd80709","files":[{"path":"src/lib.rs","change":"modified","added_lines":2,"deleted_lines":1}],"diff_digest":"2c6fc3bbdbdf21e563d87da52e3048b31c1952c116648135c0a91e071c350328","diff":"-1\n+2\n+3\n"}"#]]
    .assert_eq(&patch_set(2, 1).print());
}

#[test]
fn evidence_of_a_failed_test() {
    expect![[r#"{"type":"evidence","version":1,"id":"00000000-0000-0000-0000-000000000003","run":"00000000-0000-0000-0000-000000000001","at":"2026-11-21T20:49:30.166608121Z","kind":"test","tool":"run_command","command":"cargo test","exit_code":101}"#]].assert_eq(&evidence(3, 1).print());
}

#[test]
fn a_decision_with_everything() {
    let verdict = Verdict::Commit { patch_set: patch_set_id(2), commit: sha1() };
    let rejected = |alternative| Considered { alternative, reason: words("worse") };
    let closing = Closing {
        approved_by: Some(Actor::new(ActorKind::Other(Label::new("ci_bot").unwrap()), "main").unwrap()),
        rationale: Some(words("tests passed ✓")),
        patch_sets: &[patch_set(2, 1), patch_set(4, 1)],
        evidence: &[evidence(3, 1)],
        considered: vec![
            rejected(Alternative::PatchSet(patch_set_id(4))),
            rejected(Alternative::Named(words("change the test"))),
        ],
        ..closing(9)
    };
    let (_, decision) = open_run(1).decide(verdict, closing).unwrap();
    expect![[r#"{"type":"decision","version":1,"id":"00000000-0000-0000-0000-000000000009","run":"00000000-0000-0000-0000-000000000001","at":"2026-11-21T20:49:30.166608121Z","decided_by":{"kind":"agent","id":"coder-1","display_name":"Coder"},"approved_by":{"kind":"other","label":"ci_bot","id":"main"},"verdict":{"kind":"commit","patch_set":"00000000-0000-0000-0000-000000000002","commit":"da39a3ee5e6b4b0d3255bfef95601890afd80709"},"rationale":"tests passed ✓","evidence":["00000000-0000-0000-0000-000000000003"],"considered":[{"patch_set":"00000000-0000-0000-0000-000000000004","reason":"worse"},{"named":"change the test","reason":"worse"}]}"#]].assert_eq(&decision.print());
    expect!["247d1d7a929e6885b55a21e96a3a5439dc21084f2ba2c7aa30268b94fc9c1970"]
        .assert_eq(&decision.digest().to_string());
}

#[test]
fn a_branch_that_was_left_is_named_by_its_node() {
    let alternative = Alternative::Branch(words("n12"));
    let closing =
        Closing { considered: vec![Considered { alternative, reason: words("worse") }], ..closing(9) };
    let (_, decision) = open_run(1).decide(abandon(), closing).unwrap();
    let text = decision.print();
    expect![[r#""considered":[{"branch":"n12","reason":"worse"}]}"#]]
        .assert_eq(text.split_at(text.find("\"considered\"").unwrap()).1);
}

fn kept() -> CheckpointState {
    let files = CheckpointFiles::Kept { tree: sha1(), commit: sha1(), reference: words("refs/kept/1") };
    CheckpointState { node: words("n12"), files }
}

fn not_kept() -> CheckpointState {
    let files = CheckpointFiles::NotKept { reason: words("there is no git here") };
    CheckpointState { node: words("n12"), files }
}

#[test]
fn a_checkpoint_without_a_state_keeps_its_text_and_its_digest() {
    let decision = decided(1, 9, Verdict::Checkpoint { checkpoint: words("n12"), state: None });
    assert!(!decision.print().contains("state"));
    // As it was before a checkpoint could name one.
    expect!["c049fc05e8d3257a0d2f9079edc5878d33f23c529660aed7bbff2dfad49c4a36"]
        .assert_eq(&decision.digest().to_string());
}

#[test]
fn the_state_of_a_checkpoint_is_read_back() {
    for state in [kept(), not_kept()] {
        let verdict = Verdict::Checkpoint { checkpoint: words("n12"), state: Some(state.clone()) };
        let decision = decided(1, 9, verdict);
        let again = Decision::parse(decision.print().as_bytes()).unwrap();
        assert_eq!(again.verdict().checkpoint_state(), Some(&state));
        assert_eq!(again.digest(), decision.digest());
    }
}

#[test]
fn every_verdict() {
    let reason = || words("because");
    let label = Label::new("applied").unwrap();
    let verdicts = [
        Verdict::Commit { patch_set: patch_set_id(2), commit: sha1() },
        Verdict::Checkpoint { checkpoint: words("n12"), state: None },
        Verdict::Checkpoint { checkpoint: words("the parser works"), state: Some(kept()) },
        Verdict::Checkpoint { checkpoint: words("the parser works"), state: Some(not_kept()) },
        Verdict::Abandon { reason: reason() },
        Verdict::Retry { reason: reason() },
        Verdict::Rollback { of: decision_id(8), reverted_to: Some(sha1()), patch_set: None },
        Verdict::Rollback { of: decision_id(8), reverted_to: None, patch_set: Some(patch_set_id(2)) },
        Verdict::Other { label: label.clone(), patch_set: None, reason: reason() },
        Verdict::Other { label, patch_set: Some(patch_set_id(2)), reason: reason() },
    ];
    let lines: String = verdicts
        .into_iter()
        .map(|verdict| {
            let text = decided(1, 9, verdict).print();
            let from = text.find("\"verdict\"").unwrap();
            format!("{}\n", &text[from..text.find(",\"evidence\"").unwrap()])
        })
        .collect();
    expect![[r#"
        "verdict":{"kind":"commit","patch_set":"00000000-0000-0000-0000-000000000002","commit":"da39a3ee5e6b4b0d3255bfef95601890afd80709"}
        "verdict":{"kind":"checkpoint","checkpoint":"n12"}
        "verdict":{"kind":"checkpoint","checkpoint":"the parser works","state":{"node":"n12","kept":{"tree":"da39a3ee5e6b4b0d3255bfef95601890afd80709","commit":"da39a3ee5e6b4b0d3255bfef95601890afd80709","ref":"refs/kept/1"}}}
        "verdict":{"kind":"checkpoint","checkpoint":"the parser works","state":{"node":"n12","not_kept":"there is no git here"}}
        "verdict":{"kind":"abandon","reason":"because"}
        "verdict":{"kind":"retry","reason":"because"}
        "verdict":{"kind":"rollback","of":"00000000-0000-0000-0000-000000000008","reverted_to":"da39a3ee5e6b4b0d3255bfef95601890afd80709"}
        "verdict":{"kind":"rollback","of":"00000000-0000-0000-0000-000000000008","patch_set":"00000000-0000-0000-0000-000000000002"}
        "verdict":{"kind":"other","label":"applied","reason":"because"}
        "verdict":{"kind":"other","label":"applied","patch_set":"00000000-0000-0000-0000-000000000002","reason":"because"}
    "#]].assert_eq(&lines);
}

#[test]
fn the_digest_is_of_the_value_and_not_of_how_a_store_kept_it() {
    let decision = decided(1, 9, Verdict::Checkpoint { checkpoint: words("n12"), state: None });
    // As a database would: other order, other spacing, other escapes.
    let kept = r#"{ "version": 1, "verdict": {"checkpoint":"\u006e12","kind":"checkpoint"}, "considered": [], "evidence": [],
        "decided_by": {"display_name":"Coder","id":"coder-1","kind":"agent"}, "at": "2026-11-21T20:49:30.166608121Z",
        "run": "00000000-0000-0000-0000-000000000001", "id": "00000000-0000-0000-0000-000000000009", "type": "decision" }"#;
    assert_eq!(Decision::parse_verified(kept.as_bytes(), decision.digest()), Ok(decision));
}

#[test]
fn another_digest_is_refused() {
    let decision = decided(1, 9, Verdict::Checkpoint { checkpoint: words("n12"), state: None });
    let other = decided(1, 9, Verdict::Checkpoint { checkpoint: words("n13"), state: None });
    assert_eq!(decision.at(), at());
    expect!["$: the digest is 7129e5c5f2e36c949f9cfa95c43a3d86719491459b1a0246486a2b2ab7d68310, expected c049fc05e8d3257a0d2f9079edc5878d33f23c529660aed7bbff2dfad49c4a36"].assert_eq(
        &Decision::parse_verified(other.print().as_bytes(), decision.digest()).unwrap_err().to_string(),
    );
}
