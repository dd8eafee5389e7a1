//! What the other tests start from: small values by number, and strategies for any value.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use trunkline_decision_objects::{
    Actor, ActorKind, Alternative, Base, Change, Closing, Considered, Decision, DecisionId, Diff, Digest,
    Evidence, EvidenceId, EvidenceKind, Finding, GitOid, Label, NonBlank, Open, Opening, PatchSet,
    PatchSetId, Predecessor, RelativePath, Run, RunId, RunRecord, Timestamp, TouchedFile, Verdict,
};
use uuid::Uuid;

pub(crate) fn run_id(number: u128) -> RunId {
    RunId::new(Uuid::from_u128(number)).expect("a test id is not nil")
}

pub(crate) fn patch_set_id(number: u128) -> PatchSetId {
    PatchSetId::new(Uuid::from_u128(number)).expect("a test id is not nil")
}

pub(crate) fn evidence_id(number: u128) -> EvidenceId {
    EvidenceId::new(Uuid::from_u128(number)).expect("a test id is not nil")
}

pub(crate) fn decision_id(number: u128) -> DecisionId {
    DecisionId::new(Uuid::from_u128(number)).expect("a test id is not nil")
}

pub(crate) fn words(text: &str) -> NonBlank {
    NonBlank::new(text).expect("test words are not blank")
}

pub(crate) fn at() -> Timestamp {
    "2026-11-21T20:49:30.166608121Z".parse().expect("a test text is well formed")
}

pub(crate) fn coder() -> Actor {
    Actor {
        display_name: Some("Coder".into()),
        ..Actor::new(ActorKind::Agent, "coder-1").expect("a test actor has an id")
    }
}

pub(crate) fn sha1() -> GitOid {
    "da39a3ee5e6b4b0d3255bfef95601890afd80709".parse().expect("a test text is well formed")
}

pub(crate) fn opening(number: u128) -> Opening {
    Opening {
        id: run_id(number),
        at: at(),
        actor: coder(),
        goal: "fix it".into(),
        base: Base::default(),
        predecessor: None,
    }
}

pub(crate) fn open_run(number: u128) -> Run<Open> {
    Run::open(opening(number)).expect("a test run follows nothing")
}

pub(crate) fn patch_set(number: u128, run: u128) -> PatchSet {
    let file = TouchedFile {
        path: RelativePath::new("src/lib.rs").expect("a test path is legal"),
        change: Change::Modified,
        added_lines: Some(2),
        deleted_lines: Some(1),
    };
    PatchSet::new(patch_set_id(number), run_id(run), Some(sha1()), vec![file], Diff::kept("-1\n+2\n+3\n"))
        .expect("a test patch set is legal")
}

pub(crate) fn evidence(number: u128, run: u128) -> Evidence {
    let finding = Finding {
        kind: EvidenceKind::Test,
        tool: words("run_command"),
        command: Some("cargo test".into()),
        exit_code: Some(101),
        summary: None,
    };
    Evidence::new(evidence_id(number), run_id(run), at(), None, finding)
}

pub(crate) fn closing(number: u128) -> Closing<'static> {
    Closing::new(decision_id(number), at(), coder())
}

pub(crate) fn abandon() -> Verdict {
    Verdict::Abandon { reason: words("goal impossible") }
}

pub(crate) fn decided(run: u128, decision: u128, verdict: Verdict) -> Decision {
    let patch_sets: Vec<PatchSet> = verdict
        .patch_set()
        .map(|id| {
            PatchSet::new(id, run_id(run), None, Vec::new(), Diff::kept(""))
                .expect("a test patch set is legal")
        })
        .into_iter()
        .collect();
    open_run(run)
        .decide(verdict, Closing { patch_sets: &patch_sets, ..closing(decision) })
        .expect("a test decision is legal")
        .1
}

// Strategies: any value that the constructors let through.

fn uuid() -> impl Strategy<Value = Uuid> {
    (1..u128::MAX).prop_map(Uuid::from_u128)
}

pub(crate) fn any_label() -> impl Strategy<Value = Label> {
    "[a-z][a-z0-9]{0,6}(_[a-z0-9]{1,5}){0,2}".prop_filter_map("reserved", |text| Label::new(text).ok())
}

fn any_words() -> impl Strategy<Value = NonBlank> {
    any::<String>().prop_filter_map("blank", |text| NonBlank::new(text).ok())
}

pub(crate) fn any_time() -> impl Strategy<Value = Timestamp> {
    (0_i64..253_000_000_000, prop_oneof![Just(0), Just(7_000_000), Just(7_000), 0_u32..1_000_000_000])
        .prop_map(|(seconds, nanoseconds)| {
            let whole = Timestamp::from_milliseconds(seconds * 1000).expect("before 9999").to_string();
            whole.replace('Z', &format!(".{nanoseconds:09}Z")).parse().expect("a test text is well formed")
        })
}

fn any_actor() -> impl Strategy<Value = Actor> {
    let kind = prop_oneof![
        Just(ActorKind::Human),
        Just(ActorKind::Agent),
        Just(ActorKind::System),
        Just(ActorKind::McpClient),
        any_label().prop_map(ActorKind::Other),
    ];
    (kind, any_words(), option::of(any::<String>())).prop_map(|(kind, id, display_name)| Actor {
        kind,
        id,
        display_name,
    })
}

pub(crate) fn any_oid() -> impl Strategy<Value = GitOid> {
    prop_oneof![any::<[u8; 20]>().prop_map(GitOid::Sha1), any::<[u8; 32]>().prop_map(GitOid::Sha256)]
}

fn any_path() -> impl Strategy<Value = RelativePath> {
    "[a-zA-Z0-9 ._é\"-]{1,8}(/[a-zA-Z0-9 ._:-]{1,8}){0,2}"
        .prop_filter_map("not a path", |text| RelativePath::new(text).ok())
}

pub(crate) fn any_run() -> impl Strategy<Value = RunRecord> {
    let predecessor = option::of((uuid(), any::<bool>()).prop_map(|(run, retry)| {
        let run = RunId::new(run).expect("a test id is not nil");
        if retry { Predecessor::RetryOf(run) } else { Predecessor::Continues(run) }
    }));
    let base =
        (option::of(any_oid()), option::of(any_words())).prop_map(|(commit, tree)| Base { commit, tree });
    (uuid(), any_time(), any_actor(), any::<String>(), base, predecessor).prop_filter_map(
        "follows itself",
        |(id, at, actor, goal, base, predecessor)| {
            let id = RunId::new(id).expect("a test id is not nil");
            let run = Run::open(Opening { id, at, actor, goal, base, predecessor });
            run.ok().map(|run| run.record().clone())
        },
    )
}

fn any_file() -> impl Strategy<Value = TouchedFile> {
    let change = prop_oneof![
        Just(Change::Added),
        Just(Change::Modified),
        Just(Change::Deleted),
        any_path().prop_map(|from| Change::Renamed { from }),
    ];
    (any_path(), change, any::<Option<u32>>(), any::<Option<u32>>()).prop_map(
        |(path, change, added_lines, deleted_lines)| TouchedFile { path, change, added_lines, deleted_lines },
    )
}

pub(crate) fn any_patch_set() -> impl Strategy<Value = PatchSet> {
    let diff = prop_oneof![
        any::<String>().prop_map(Diff::kept),
        any::<[u8; 32]>().prop_map(|bytes| Diff::named(Digest::from_bytes(bytes))),
    ];
    (uuid(), uuid(), option::of(any_oid()), vec(any_file(), 0..4), diff).prop_filter_map(
        "touched twice",
        |(id, run, base, files, diff)| {
            PatchSet::new(
                PatchSetId::new(id).expect("a test id is not nil"),
                RunId::new(run).expect("a test id is not nil"),
                base,
                files,
                diff,
            )
            .ok()
        },
    )
}

pub(crate) fn any_evidence() -> impl Strategy<Value = Evidence> {
    let kind = prop_oneof![
        Just(EvidenceKind::Test),
        Just(EvidenceKind::Lint),
        Just(EvidenceKind::Build),
        any_label().prop_map(EvidenceKind::Other),
    ];
    let finding = (kind, any_words(), any::<Option<String>>(), any::<Option<i32>>(), any::<Option<String>>());
    (uuid(), uuid(), any_time(), option::of(uuid()), finding).prop_map(|(id, run, at, patch_set, finding)| {
        let (kind, tool, command, exit_code, summary) = finding;
        let finding = Finding { kind, tool, command, exit_code, summary };
        let patch_set = patch_set.map(|id| PatchSetId::new(id).expect("a test id is not nil"));
        Evidence::new(
            EvidenceId::new(id).expect("a test id is not nil"),
            RunId::new(run).expect("a test id is not nil"),
            at,
            patch_set,
            finding,
        )
    })
}

pub(crate) fn any_verdict() -> impl Strategy<Value = Verdict> {
    prop_oneof![
        (uuid(), any_oid()).prop_map(|(id, commit)| Verdict::Commit {
            patch_set: PatchSetId::new(id).expect("a test id is not nil"),
            commit
        }),
        any_words().prop_map(|checkpoint| Verdict::Checkpoint { checkpoint }),
        any_words().prop_map(|reason| Verdict::Abandon { reason }),
        any_words().prop_map(|reason| Verdict::Retry { reason }),
        (uuid(), any_oid()).prop_map(|(of, reverted_to)| Verdict::Rollback {
            of: DecisionId::new(of).expect("a test id is not nil"),
            reverted_to
        }),
        (any_label(), option::of(uuid()), any_words()).prop_map(|(label, patch_set, reason)| {
            Verdict::Other {
                label,
                patch_set: patch_set.map(|id| PatchSetId::new(id).expect("a test id is not nil")),
                reason,
            }
        }),
    ]
}

pub(crate) fn any_decision() -> impl Strategy<Value = Decision> {
    let considered = vec((option::of(3_u128..9), any_words(), any_words()), 0..3);
    let people = (any_actor(), option::of(any_actor()));
    (any_verdict(), people, any_time(), option::of(any_words()), 0_u128..4, considered).prop_map(
        |(verdict, (decided_by, approved_by), at, rationale, evidence_count, considered)| {
            let considered: Vec<Considered> = considered
                .into_iter()
                .map(|(rejected, name, reason)| {
                    let named = Alternative::Named(name);
                    let alternative = rejected.map(patch_set_id).map_or(named, Alternative::PatchSet);
                    Considered { alternative, reason }
                })
                .collect();
            let mut patch_sets: Vec<PatchSet> = (3..9).map(|number| patch_set(number, 1)).collect();
            if let Some(chosen) = verdict.patch_set() {
                patch_sets.push(
                    PatchSet::new(chosen, run_id(1), None, Vec::new(), Diff::kept(""))
                        .expect("a test patch set is legal"),
                );
            }
            let evidence: Vec<Evidence> = (0..evidence_count).map(|number| evidence(number + 1, 1)).collect();
            let closing = Closing {
                approved_by,
                rationale,
                patch_sets: &patch_sets,
                evidence: &evidence,
                considered,
                ..Closing::new(decision_id(u128::MAX), at, decided_by)
            };
            open_run(1).decide(verdict, closing).expect("a test decision is legal").1
        },
    )
}
