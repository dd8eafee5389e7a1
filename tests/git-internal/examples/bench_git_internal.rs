//! Measures ours beside git-internal: make 100,000 decisions, print them, read them back.
//!
//! The bar is on the like-for-like comparison: the same bytes, git-internal's form, and on our side every rule checked. Our
//! own canonical form says more (evidence, alternatives) and is measured beside it. Both take turns in one process,
//! because only their ratio means anything. `cargo xtask bench decision-objects`; exit code 1 if the bar is missed.

#![expect(clippy::print_stdout, reason = "a bench speaks to people")]

use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use git_internal::hash::ObjectHash;
use git_internal::internal::object::ObjectTrait;
use git_internal::internal::object::decision::{Decision as Theirs, DecisionType};
use git_internal::internal::object::integrity::IntegrityHash;
use git_internal::internal::object::types::{ActorKind as TheirKind, ActorRef};
use trunkline_decision_objects::{
    Actor, ActorKind, Closing, Decision, DecisionId, Diff, GitOid, NonBlank, Opening, PatchSet, PatchSetId,
    Run, RunId, Timestamp, Verdict, git_internal as interchange,
};
use uuid::Uuid;

const DECISIONS: u128 = 100_000;
const ROUNDS: usize = 9;
/// How much faster the like-for-like side must be.
const BAR: f64 = 1.3;
const RATIONALE: &str = "tests passed ✓";
const COMMIT: [u8; 32] = [0x2d; 32];
const BASE: u128 = 0x0190_0000_0000_7000_8000_0000_0000_0000;

fn main() -> ExitCode {
    let (mut theirs, mut ours, mut canonical) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        theirs.push(time(git_internal_s));
        ours.push(time(in_its_form));
        canonical.push(time(in_our_form));
    }
    let [theirs, ours, canonical] = [theirs, ours, canonical].map(median);
    let rate = |time: Duration| DECISIONS as f64 / time.as_secs_f64() / 1_000.0;
    println!(
        "# thousand decisions a second: git-internal {:.0}, ours in its form {:.0}, ours in our own {:.0}",
        rate(theirs),
        rate(ours),
        rate(canonical)
    );
    let ratio = theirs.as_secs_f64() / ours.as_secs_f64();
    let word = if ratio >= BAR { "ok" } else { "SHORT" };
    println!(
        "# our own canonical form, ours / git-internal  {:.2}",
        theirs.as_secs_f64() / canonical.as_secs_f64()
    );
    println!("decision: construct + serialize + parse, ours / git-internal  {ratio:.2}  bar {BAR}  {word}");
    ExitCode::from(u8::from(ratio < BAR))
}

fn git_internal_s() {
    let actor = ActorRef::new(TheirKind::Agent, "coder-1").expect("a name");
    for number in 1..=DECISIONS {
        let mut decision = Theirs::new(actor.clone(), Uuid::from_u128(BASE + number), DecisionType::Commit)
            .expect("it is legal");
        decision.set_chosen_patchset_id(Some(Uuid::from_u128(number)));
        decision.set_result_commit_sha(Some(IntegrityHash::new(COMMIT)));
        decision.set_rationale(Some(RATIONALE.into()));
        let bytes = decision.to_data().expect("it prints");
        black_box(Theirs::from_bytes(&bytes, ObjectHash::default()).expect("it reads"));
    }
}

fn in_its_form() {
    each(|decision| {
        let json = interchange::print(&decision);
        let imported = interchange::import(json.as_bytes()).expect("it reads");
        assert!(imported.object.is_some() && imported.violations.is_empty());
        black_box(imported);
    });
}

fn in_our_form() {
    each(|decision| {
        let json = decision.print();
        black_box(Decision::parse(json.as_bytes()).expect("it reads"));
    });
}

fn each(measured: impl Fn(Decision)) {
    let actor = Actor::new(ActorKind::Agent, "coder-1").expect("a name");
    for number in 1..=DECISIONS {
        // Theirs reads a clock too, and makes an id.
        let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_millis();
        let at =
            Timestamp::from_milliseconds(i64::try_from(now).unwrap_or_default()).expect("it is after 1970");
        let id = DecisionId::new(Uuid::from_u128((now << 80) | 0x7000_8000_0000_0000_0000 | number))
            .expect("not nil");
        let run = RunId::new(Uuid::from_u128(BASE + number)).expect("not nil");
        let run = Run::open(Opening::new(run, at, actor.clone(), "")).expect("it is legal");
        let patch_set = PatchSetId::new(Uuid::from_u128(number)).expect("not nil");
        let patch_sets = [PatchSet::new(patch_set, run.id(), None, Vec::new(), DIFF).expect("it is legal")];
        let closing = Closing {
            rationale: Some(NonBlank::new(RATIONALE).expect("not blank")),
            patch_sets: &patch_sets,
            ..Closing::new(id, at, actor.clone())
        };
        let verdict = Verdict::Commit { patch_set, commit: GitOid::Sha256(COMMIT) };
        let (_, decision) = run.decide(verdict, closing).expect("it is legal");
        measured(decision);
    }
}

const DIFF: Diff = Diff::named(trunkline_decision_objects::Digest::from_bytes(COMMIT));

fn time(run: impl Fn()) -> Duration {
    let start = Instant::now();
    run();
    start.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
