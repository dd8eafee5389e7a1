//! Measures ours beside git-internal: make decisions, print them, read them back.
//!
//! The bar is on the like-for-like comparison: git-internal's form, and on our side every rule checked and every violation
//! listed. Our own canonical form says more (evidence, alternatives) and is measured beside it. All sides take turns in one
//! process, because only their ratio means anything. `cargo xtask bench decision-objects`; exit code 1 if the bar is missed.
//!
//! Each side makes one object per round, the decision, out of parts that were there before: theirs out of a run's id, ours
//! out of the open run and its patch set, which [`Run::decide`] uses up and looks at. Within the round both read the clock
//! and draw an id, from a generator that asks the system for chance rarely (`fast-rng`): asking each time would take a
//! fifth of the round on either side, and say nothing of the objects. Theirs writes the time in nanoseconds and ours in
//! milliseconds, six digits less.

#![expect(clippy::print_stdout, reason = "a bench speaks to people")]

use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime};

use git_internal::hash::ObjectHash;
use git_internal::internal::object::ObjectTrait;
use git_internal::internal::object::decision::{Decision as Theirs, DecisionType};
use git_internal::internal::object::integrity::IntegrityHash;
use git_internal::internal::object::types::{ActorKind as TheirKind, ActorRef};
use trunkline_decision_objects::{
    Actor, ActorKind, Closing, Decision, DecisionId, Diff, GitOid, NonBlank, Open, Opening, PatchSet,
    PatchSetId, Run, RunId, Timestamp, Verdict, git_internal as interchange,
};
use uuid::Uuid;

/// In one measurement: few enough that it mostly fits between two turns of whatever else the machine does.
const DECISIONS: u128 = 2_000;
const ROUNDS: usize = 200;
/// How much faster the like-for-like side must be.
const BAR: f64 = 1.3;
const RATIONALE: &str = "tests passed ✓";
const COMMIT: [u8; 32] = [0x2d; 32];
const BASE: u128 = 0x0190_0000_0000_7000_8000_0000_0000_0000;

fn main() -> ExitCode {
    // The least of each: what else the machine does only makes it slower.
    let [mut theirs, mut ours, mut canonical] = [Duration::MAX; 3];
    for _ in 0..ROUNDS {
        theirs = theirs.min(time(git_internal_s));
        for (least, measured) in [(&mut ours, in_its_form as fn(_)), (&mut canonical, in_our_form)] {
            let runs = runs();
            *least = time(|| measured(runs)).min(*least);
        }
    }
    let rate = |time: Duration| DECISIONS as f64 / time.as_secs_f64() / 1_000.0;
    println!(
        "# thousand decisions a second: git-internal {:.0}, ours in its form {:.0}, ours in our own {:.0}",
        rate(theirs),
        rate(ours),
        rate(canonical)
    );
    let ratio = |ours: Duration| theirs.as_secs_f64() / ours.as_secs_f64();
    println!("# our own canonical form, ours / git-internal  {:.2}", ratio(canonical));
    let ratio = ratio(ours);
    let word = if ratio >= BAR { "ok" } else { "SHORT" };
    println!("decision: construct + serialize + parse, ours / git-internal  {ratio:.2}  {BAR}  {word}");
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

fn in_its_form(runs: Vec<Prepared>) {
    each(runs, |decision| {
        let json = interchange::print(&decision);
        let imported = interchange::import(json.as_bytes()).expect("it reads");
        assert!(imported.object.is_some() && imported.violations.is_empty());
        black_box(imported);
    });
}

fn in_our_form(runs: Vec<Prepared>) {
    each(runs, |decision| {
        let json = decision.print();
        black_box(Decision::parse(json.as_bytes()).expect("it reads"));
    });
}

/// An open run and the patch set that it made.
type Prepared = (Run<Open>, [PatchSet; 1]);

fn runs() -> Vec<Prepared> {
    let actor = Actor::new(ActorKind::Agent, "coder-1").expect("a name");
    let at = Timestamp::from_milliseconds(1_790_000_000_000).expect("it is after 1970");
    let run = |number| {
        let id = RunId::new(Uuid::from_u128(BASE + number)).expect("not nil");
        let run = Run::open(Opening::new(id, at, actor.clone(), "")).expect("it is legal");
        let patch_set = PatchSetId::new(Uuid::from_u128(number)).expect("not nil");
        let patch_set = PatchSet::new(patch_set, id, None, Vec::new(), DIFF).expect("it is legal");
        (run, [patch_set])
    };
    (1..=DECISIONS).map(run).collect()
}

fn each(runs: Vec<Prepared>, measured: impl Fn(Decision)) {
    let actor = Actor::new(ActorKind::Agent, "coder-1").expect("a name");
    for (run, patch_sets) in runs {
        let now = SystemTime::UNIX_EPOCH.elapsed().expect("it is after 1970").as_millis();
        let at = i64::try_from(now).expect("it is before the year 9999");
        let at = Timestamp::from_milliseconds(at).expect("it is before the year 9999");
        let id = DecisionId::new(Uuid::now_v7()).expect("not nil");
        let closing = Closing {
            rationale: Some(NonBlank::new(RATIONALE).expect("not blank")),
            patch_sets: &patch_sets,
            ..Closing::new(id, at, actor.clone())
        };
        let verdict = Verdict::Commit { patch_set: patch_sets[0].id(), commit: GitOid::Sha256(COMMIT) };
        let (_, decision) = run.decide(verdict, closing).expect("it is legal");
        measured(decision);
    }
}

const DIFF: Diff = Diff::named(trunkline_decision_objects::Digest::from_bytes(COMMIT));

fn time(run: impl FnOnce()) -> Duration {
    let start = Instant::now();
    run();
    start.elapsed()
}
