//! What the other tests start from: small values by number, and strategies for any value.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use proptest::collection::{hash_map, hash_set, vec};
use proptest::option;
use proptest::prelude::*;
use trunkline_decision_objects::{
    Actor, ActorKind, Alternative, Base, Change, CheckpointFiles, CheckpointState, Citations, Closing,
    Considered, Cost, Decision, DecisionId, Diff, Digest, Environment, Evidence, EvidenceId, EvidenceKind,
    FileState, Finding, GitOid, IntentId, Invalid, Label, NonBlank, Open, Opening, PatchSet, PatchSetId,
    PlanId, Predecessor, RelativePath, Run, RunId, RunRecord, SnapshotId, TaskId, Timestamp, TouchedFile,
    Verdict,
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
    Opening::new(run_id(number), at(), coder(), "fix it")
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
        output: None,
    };
    Evidence::new(evidence_id(number), run_id(run), at(), None, None, finding)
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

/// Fewer cases for laws of which each case is dear; whoever asks for more of all gets more of these too.
pub(crate) fn one_in(part: u32) -> ProptestConfig {
    let asked = ProptestConfig::default();
    ProptestConfig { cases: (asked.cases / part).max(1), ..asked }
}

// Strategies: any value that the constructors let through.

fn uuid() -> impl Strategy<Value = Uuid> {
    (1..u128::MAX).prop_map(Uuid::from_u128)
}

/// Any name of a kind: `any_id(RunId::new)`.
pub(crate) fn any_id<Id: std::fmt::Debug>(
    new: impl Fn(Uuid) -> Result<Id, Invalid>,
) -> impl Strategy<Value = Id> {
    uuid().prop_map(move |uuid| new(uuid).expect("a test id is not nil"))
}

pub(crate) fn any_digest() -> impl Strategy<Value = Digest> {
    any::<[u8; 32]>().prop_map(Digest::from_bytes)
}

pub(crate) fn any_label() -> impl Strategy<Value = Label> {
    "[a-z][a-z0-9]{0,6}(_[a-z0-9]{1,5}){0,2}".prop_filter_map("reserved", |text| Label::new(text).ok())
}

pub(crate) fn any_words() -> impl Strategy<Value = NonBlank> {
    any::<String>().prop_filter_map("blank", |text| NonBlank::new(text).ok())
}

pub(crate) fn any_time() -> impl Strategy<Value = Timestamp> {
    (0_i64..253_000_000_000, prop_oneof![Just(0), Just(7_000_000), Just(7_000), 0_u32..1_000_000_000])
        .prop_map(|(seconds, nanoseconds)| {
            let whole = Timestamp::from_milliseconds(seconds * 1000).expect("before 9999").to_string();
            whole.replace('Z', &format!(".{nanoseconds:09}Z")).parse().expect("a test text is well formed")
        })
}

pub(crate) fn any_actor() -> impl Strategy<Value = Actor> {
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

pub(crate) fn any_path() -> impl Strategy<Value = RelativePath> {
    "[a-zA-Z0-9 ._é\"-]{1,8}(/[a-zA-Z0-9 ._:-]{1,8}){0,2}"
        .prop_filter_map("not a path", |text| RelativePath::new(text).ok())
}

pub(crate) fn any_run() -> impl Strategy<Value = RunRecord> {
    let predecessor = option::of((any_id(RunId::new), any::<bool>()).prop_map(|(run, retry)| {
        if retry { Predecessor::RetryOf(run) } else { Predecessor::Continues(run) }
    }));
    let serves = (
        option::of(any_id(IntentId::new)),
        option::of(any_id(TaskId::new)),
        option::of(any_id(PlanId::new)),
        option::of(any_id(SnapshotId::new)),
    );
    let environment = option::of((any_words(), any_words()).prop_map(|(os, arch)| Environment { os, arch }));
    let base =
        (option::of(any_oid()), option::of(any_words())).prop_map(|(commit, tree)| Base { commit, tree });
    let head = (any_id(RunId::new), any_time(), any_actor(), any::<String>());
    (head, base, predecessor, serves, environment).prop_filter_map(
        "follows itself",
        |((id, at, actor, goal), base, predecessor, (intent, task, plan, snapshot), environment)| {
            let opening = Opening {
                base,
                predecessor,
                intent,
                task,
                plan,
                snapshot,
                environment,
                ..Opening::new(id, at, actor, goal)
            };
            Run::open(opening).ok().map(|run| run.record().clone())
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
    let diff = prop_oneof![any::<String>().prop_map(Diff::kept), any_digest().prop_map(Diff::named),];
    let of = (any_id(PatchSetId::new), any_id(RunId::new), any::<Option<NonZeroU32>>());
    (of, option::of(any_oid()), vec(any_file(), 0..4), diff).prop_filter_map(
        "touched twice",
        |((id, run, sequence), base, files, diff)| {
            let patch_set = PatchSet::new(id, run, base, files, diff).ok()?;
            Some(match sequence {
                Some(sequence) => patch_set.with_sequence(sequence),
                None => patch_set,
            })
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
    let words = (any_words(), any::<Option<String>>(), any::<Option<String>>());
    let finding = (kind, words, any::<Option<i32>>(), option::of(any_digest())).prop_map(
        |(kind, (tool, command, summary), exit_code, output)| Finding {
            kind,
            tool,
            command,
            exit_code,
            summary,
            output,
        },
    );
    let names = (any_id(EvidenceId::new), any_id(RunId::new));
    let about = (option::of(any_id(PatchSetId::new)), option::of(any_id(DecisionId::new)));
    (names, any_time(), about, finding).prop_map(|((id, run), at, (patch_set, decision), finding)| {
        Evidence::new(id, run, at, patch_set, decision, finding)
    })
}

fn any_checkpoint_state() -> impl Strategy<Value = CheckpointState> {
    let kept = (any_oid(), any_oid(), any_words())
        .prop_map(|(tree, commit, reference)| CheckpointFiles::Kept { tree, commit, reference });
    let files = prop_oneof![kept, any_words().prop_map(|reason| CheckpointFiles::NotKept { reason })];
    (any_words(), files).prop_map(|(node, files)| CheckpointState { node, files })
}

pub(crate) fn any_verdict() -> impl Strategy<Value = Verdict> {
    prop_oneof![
        (any_id(PatchSetId::new), any_oid())
            .prop_map(|(patch_set, commit)| Verdict::Commit { patch_set, commit }),
        (any_words(), option::of(any_checkpoint_state()))
            .prop_map(|(checkpoint, state)| Verdict::Checkpoint { checkpoint, state }),
        any_words().prop_map(|reason| Verdict::Abandon { reason }),
        any_words().prop_map(|reason| Verdict::Retry { reason }),
        (any_id(DecisionId::new), option::of(any_oid()), option::of(any_id(PatchSetId::new)))
            .prop_map(|(of, reverted_to, patch_set)| Verdict::Rollback { of, reverted_to, patch_set }),
        (any_label(), option::of(any_id(PatchSetId::new)), any_words())
            .prop_map(|(label, patch_set, reason)| Verdict::Other { label, patch_set, reason }),
    ]
}

fn any_cost() -> impl Strategy<Value = Cost> {
    let tokens = (any::<u64>(), any::<u64>(), any::<u64>(), any::<u64>());
    (tokens, any::<Option<u64>>()).prop_map(|((input, output, read, write), microdollars)| Cost {
        input_tokens: input,
        output_tokens: output,
        cache_read_tokens: read,
        cache_write_tokens: write,
        microdollars,
    })
}

/// Citations as a caller hands them over: in any order, nothing twice.
pub(crate) fn any_citations() -> impl Strategy<Value = Citations> {
    let state = prop_oneof![
        (option::of(any_digest()), any_digest()).prop_map(|(before, after)| (before, Some(after))),
        any_digest().prop_map(|before| (Some(before), None)),
    ];
    let names = || hash_set(any_words(), 0..4).prop_map(Vec::from_iter);
    (names(), names(), hash_map(any_path(), state, 0..4), option::of(any_cost())).prop_map(
        |(nodes, proposals, files, cost)| {
            let file = |(path, (before, after))| FileState { path, before, after };
            Citations { nodes, proposals, files: files.into_iter().map(file).collect(), cost }
        },
    )
}

pub(crate) fn any_decision() -> impl Strategy<Value = Decision> {
    let considered = vec((0_u128..9, any_words(), any_words()), 0..3);
    let people = (any_actor(), option::of(any_actor()));
    let rest = (0_u128..4, considered, any_citations());
    (any_verdict(), people, any_time(), option::of(any_words()), rest).prop_map(
        |(verdict, (decided_by, approved_by), at, rationale, (evidence_count, considered, cites))| {
            let mut seen = BTreeSet::new();
            let considered: Vec<Considered> = considered
                .into_iter()
                .filter(|(rejected, ..)| *rejected < 3 || seen.insert(*rejected))
                .map(|(rejected, name, reason)| {
                    let alternative = match rejected {
                        0 => Alternative::Named(name),
                        1 | 2 => Alternative::Branch(name),
                        number => Alternative::PatchSet(patch_set_id(number)),
                    };
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
                cites,
                ..Closing::new(decision_id(u128::MAX), at, decided_by)
            };
            open_run(1).decide(verdict, closing).expect("a test decision is legal").1
        },
    )
}
