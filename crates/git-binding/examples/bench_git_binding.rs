//! Measures what a decision costs in a repository that has ten thousand of them.
//!
//! The bars on growth are ratios of two stretches of one run, because only that means anything on a busy machine; the bars
//! on processes are counts. A stretch costs what its decisions cost with the packing that fell due in it; the first one is
//! before anything is packed and so the cheapest. Nothing is synced to the disk: that costs as much for the last as for the
//! first, more than all the rest, and would hide it. `cargo xtask bench git-binding`; it ends with exit code 1 if a bar is
//! missed. With a number as argument it binds so many.

#![expect(clippy::print_stdout, reason = "a bench speaks to people")]

use std::error::Error;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use trunkline_decision_objects::{
    Actor, ActorKind, Closing, DecisionId, Diff, GitOid, NonBlank, Opening, PatchSet, PatchSetId, Run, RunId,
    Timestamp, Verdict,
};
use trunkline_git_binding::{
    Binding, Branch, BranchMove, CommitPlan, Git, GitCommand, GitFault, Identity, Packed, Repository,
};
use uuid::Uuid;

type Outcome<T> = Result<T, Box<dyn Error>>;

const DECISIONS: usize = 10_000;
/// The first and the last tenth are compared.
const STRETCH: usize = 10;
/// How much the last may cost of the first.
const FLAT: f64 = 1.3;

/// How much of the time that its refs took to be bound a pause may take: so much it may add to what each of them costs.
/// Measured 2026-11-23 on a busy machine: 0.06 to 0.17, without growth.
const PAUSE: f64 = 0.25;

/// What whoever binds waits for when packing falls due.
struct Pause {
    took: Duration,
    /// Refs that were packed by it, as estimated.
    loose: usize,
    /// What binding took since the pause before.
    after: Duration,
}

/// Git, counted.
struct Counted {
    git: GitCommand,
    calls: AtomicUsize,
}

impl Git for Counted {
    fn run(&self, arguments: &[&str], input: &[u8]) -> Result<Vec<u8>, GitFault> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.git.run(arguments, input)
    }
}

fn main() -> ExitCode {
    let asked = std::env::args().nth(1).and_then(|count| count.parse().ok());
    match measure(asked.unwrap_or(DECISIONS).max(10 * STRETCH)) {
        Ok(good) => ExitCode::from(u8::from(!good)),
        Err(fault) => {
            println!("# {fault}");
            ExitCode::FAILURE
        }
    }
}

fn measure(count: usize) -> Outcome<bool> {
    let folder = tempfile::tempdir()?;
    let made = Command::new("git").args(["init", "-q", "-b", "main"]).arg(folder.path()).status()?;
    if !made.success() {
        return Err("git init failed".into());
    }
    let unsynced = ["config", "core.fsync", "none"];
    if !Command::new("git").arg("-C").arg(folder.path()).args(unsynced).status()?.success() {
        return Err("git config failed".into());
    }
    let git = GitCommand::discover(folder.path())?.ok_or("no repository")?;
    let git = Arc::new(Counted { git, calls: AtomicUsize::new(0) });
    let repository = Repository::over(Arc::clone(&git))?;
    let mut good = true;

    let base = repository.write_commit(&plan(empty_tree(folder.path())?, vec![], 0))?;
    let mut head = None;
    let mut next = base;
    for number in 1..=3 {
        let from = git.calls.load(Ordering::Relaxed);
        repository.bind(&committed(number, head, next)?)?;
        let calls = git.calls.load(Ordering::Relaxed) - from;
        good &= at_most("processes to bind a commit on the branch that is checked out", calls as f64, 6.0);
        head = Some(next);
        next = repository.write_commit(&plan(empty_tree(folder.path())?, vec![next], number))?;
    }

    let mut times = Vec::with_capacity(count);
    let mut pauses: Vec<Pause> = Vec::new();
    let mut since = Duration::ZERO;
    let from = git.calls.load(Ordering::Relaxed);
    let mut other_calls = 0;
    for number in 0..count {
        let binding = given_up(number)?;
        let start = Instant::now();
        repository.bind(&binding)?;
        let bound = start.elapsed();
        since += bound;
        let before = git.calls.load(Ordering::Relaxed);
        let packing = Instant::now();
        if let Packed::Now { loose } = repository.pack_if_due()? {
            pauses.push(Pause { took: packing.elapsed(), loose, after: std::mem::take(&mut since) });
        }
        times.push((bound, start.elapsed()));
        other_calls += git.calls.load(Ordering::Relaxed) - before;
    }
    let calls = git.calls.load(Ordering::Relaxed) - from - other_calls;
    good &= at_most("processes to bind a verdict without a commit", calls as f64 / count as f64, 3.0);

    let stretch = count / STRETCH;
    let (first, last) = (&times[..stretch], &times[count - stretch..]);
    let total: Duration = times.iter().map(|(_, all)| *all).sum();
    let packing: Duration = pauses.iter().map(|pause| pause.took).sum();
    println!("# {count} decisions bound in {total:.1?}; {packing:.1?} of it packed {} times", pauses.len());
    let bound = [first, last].map(|stretch| median(stretch.iter().map(|(bound, _)| *bound)));
    println!("# the median of the first {stretch}: {:.2?}; of the last: {:.2?}", bound[0], bound[1]);
    let whole = [first, last].map(|stretch| stretch.iter().map(|(_, all)| *all).sum::<Duration>());
    println!("# all of the first {stretch} with packing: {:.2?}; of the last: {:.2?}", whole[0], whole[1]);
    good &= at_most("binding, the last tenth / the first tenth", ratio(bound[1], bound[0]), FLAT);
    good &= at_most("binding and packing, the last tenth / the first tenth", ratio(whole[1], whole[0]), FLAT);
    // Against what happened just before it, so that the machine was as busy then.
    let parts: Vec<f64> = pauses.iter().map(|pause| ratio(pause.took, pause.after)).collect();
    for (Pause { took, loose, .. }, part) in pauses.iter().zip(&parts) {
        println!("# a pause of {took:.2?} for {loose} refs, {part:.2} of the time that it took to bind them");
    }
    if let Some(worst) = parts.into_iter().reduce(f64::max) {
        good &= at_most("the worst pause / the time to bind the refs that it packs", worst, PAUSE);
    }

    let start = Instant::now();
    let all = repository.all()?;
    let took = start.elapsed();
    if all.decisions.len() != count + 3 || !all.unreadable.is_empty() {
        return Err(format!("{} of {count} decisions are found again", all.decisions.len()).into());
    }
    println!("# all {count} read in {took:.2?}");
    Ok(good)
}

/// The middle one: a busy machine makes some far too slow.
fn median(times: impl Iterator<Item = Duration>) -> Duration {
    let mut times: Vec<Duration> = times.collect();
    times.sort();
    times[times.len() / 2]
}

fn ratio(one: Duration, other: Duration) -> f64 {
    one.as_secs_f64() / other.as_secs_f64()
}

fn at_most(name: &str, value: f64, bar: f64) -> bool {
    let good = value <= bar;
    println!("{name}  {value:.2}  {bar:.2}  {}", if good { "ok" } else { "SHORT" });
    good
}

fn empty_tree(at: &Path) -> Outcome<GitOid> {
    let output =
        Command::new("git").arg("-C").arg(at).arg("mktree").stdin(std::process::Stdio::null()).output()?;
    Ok(String::from_utf8(output.stdout)?.trim().parse()?)
}

fn plan(tree: GitOid, parents: Vec<GitOid>, number: u128) -> CommitPlan {
    CommitPlan {
        tree,
        parents,
        message: format!("change {number}"),
        author: None,
        committer: Some(Identity { name: "Coder".into(), email: "coder@example.org".into() }),
        at: 1_795_293_000,
        offset_minutes: 0,
        trailer: None,
    }
}

fn opening(run: u128) -> Outcome<Opening> {
    Ok(Opening::new(RunId::new(Uuid::from_u128(run))?, time()?, coder()?, "make the failing test pass"))
}

fn time() -> Outcome<Timestamp> {
    Ok(Timestamp::from_milliseconds(1_795_293_000_000)?)
}

fn coder() -> Outcome<Actor> {
    Ok(Actor::new(ActorKind::Agent, "coder-1")?)
}

fn given_up(number: usize) -> Outcome<Binding> {
    // As ids of version 7 are: the time first, then chance; here a mixing of bits that gives the same in each run.
    let mixed = (number as u128 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
    let id = (0x019a_0000_0000 + number as u128) << 80 | mixed >> 48;
    let run = Run::open(opening(id)?)?;
    let closing = Closing::new(DecisionId::new(Uuid::from_u128(id))?, time()?, coder()?);
    let (run, decision) =
        run.decide(Verdict::Abandon { reason: NonBlank::new("no way in sight")? }, closing)?;
    Ok(Binding::new(run.record().clone(), decision))
}

fn committed(number: u128, from: Option<GitOid>, to: GitOid) -> Outcome<Binding> {
    let run = Run::open(opening(number)?)?;
    let id = PatchSetId::new(Uuid::from_u128(number))?;
    let patch_sets = vec![PatchSet::new(id, run.id(), from, Vec::new(), Diff::kept("-1\n+2\n"))?];
    let closing = Closing {
        patch_sets: &patch_sets,
        ..Closing::new(DecisionId::new(Uuid::from_u128(number))?, time()?, coder()?)
    };
    let (run, decision) = run.decide(Verdict::Commit { patch_set: id, commit: to }, closing)?;
    let mut binding = Binding::new(run.record().clone(), decision);
    binding.patch_sets = patch_sets;
    binding.move_branch = Some(BranchMove { branch: Branch::Head, from, to });
    Ok(binding)
}
