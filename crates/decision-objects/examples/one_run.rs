//! One run, from its goal to a commit, and what a store would keep of it.

use std::error::Error;

use trunkline_decision_objects::{
    Actor, ActorKind, Alternative, Base, Change, Citations, Closing, Considered, Cost, DecisionId, Diff,
    Digest, Evidence, EvidenceId, EvidenceKind, FileState, Finding, NonBlank, Opening, PatchSet, PatchSetId,
    RelativePath, Run, RunId, Timestamp, TouchedFile, Verdict, git_internal,
};
use uuid::Uuid;

#[expect(clippy::print_stdout, reason = "an example is there to be looked at")]
fn main() -> Result<(), Box<dyn Error>> {
    let at = |seconds: i64| Timestamp::from_milliseconds(1_795_293_000_000 + seconds * 1000);
    let coder = Actor::new(ActorKind::Agent, "coder-1")?;
    let alice = Actor { display_name: Some("Alice".into()), ..Actor::new(ActorKind::Human, "alice")? };
    let base = "da39a3ee5e6b4b0d3255bfef95601890afd80709".parse()?;

    let run = Run::open(Opening {
        base: Base { commit: Some(base), tree: None },
        ..Opening::new(RunId::new(Uuid::from_u128(1))?, at(0)?, alice.clone(), "make the failing test pass")
    })?;
    println!("run        {}\n", run.record().print());

    let file = TouchedFile {
        path: RelativePath::new("src/sum.rs")?,
        change: Change::Modified,
        added_lines: Some(1),
        deleted_lines: Some(1),
    };
    let diff = Diff::kept("--- a/src/sum.rs\n+++ b/src/sum.rs\n@@ -1 +1 @@\n-a - b\n+a + b\n");
    let patch_sets =
        [PatchSet::new(PatchSetId::new(Uuid::from_u128(2))?, run.id(), Some(base), vec![file], diff)?];
    println!("patch set  {}\n", patch_sets[0].print());

    let finding = Finding {
        kind: EvidenceKind::Test,
        tool: NonBlank::new("run_command")?,
        command: Some("cargo test".into()),
        exit_code: Some(0),
        summary: Some("12 passed".into()),
        output: Some(Digest::of(b"test result: ok. 12 passed")),
    };
    let patch_set = patch_sets[0].id();
    let decision_id = DecisionId::new(Uuid::from_u128(4))?;
    let id = EvidenceId::new(Uuid::from_u128(3))?;
    let evidence = [Evidence::new(id, run.id(), at(40)?, Some(patch_set), Some(decision_id), finding)];
    println!("evidence   {}\n", evidence[0].print());

    let verdict = Verdict::Commit { patch_set, commit: "356a192b7913b04c54574d18c28d46e6395428ab".parse()? };
    let (_, decision) = run.decide(
        verdict,
        Closing {
            approved_by: Some(alice),
            rationale: Some(NonBlank::new("the sign was wrong; all tests pass")?),
            patch_sets: &patch_sets,
            evidence: &evidence,
            considered: vec![Considered {
                alternative: Alternative::Named(NonBlank::new("change the test")?),
                reason: NonBlank::new("the test says what the function is for")?,
            }],
            cites: Citations {
                nodes: vec![NonBlank::new("n1")?, NonBlank::new("n7")?],
                proposals: vec![NonBlank::new("p1")?],
                files: vec![FileState {
                    path: RelativePath::new("src/sum.rs")?,
                    before: Some(Digest::of(b"a - b\n")),
                    after: Some(Digest::of(b"a + b\n")),
                }],
                cost: Some(Cost { input_tokens: 2300, output_tokens: 120, ..Cost::default() }),
            },
            ..Closing::new(decision_id, at(41)?, coder)
        },
    )?;
    println!("decision   {}", decision.print());
    println!("digest     {}", decision.digest());
    println!("entails    {:?}\n", decision.consequences());

    let exported = git_internal::print(&decision);
    println!("exported   {exported}");
    println!("object     {}", git_internal::object_hash(git_internal::Kind::Decision, &exported));
    for violation in git_internal::import(exported.as_bytes())?.violations {
        println!("imported   {violation}");
    }
    Ok(())
}
