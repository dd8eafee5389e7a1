//! Long lists of random operations: the store must answer as the memory store does.
//!
//! A list that finds something is made shorter as long as it still finds something.

mod generate;
mod op;
mod play;

use std::fmt::Write;
use std::time::Instant;

use op::Op;

use super::chance::Chance;
use super::verdict::{Broken, guard};
use super::{Options, Promise, Report, Subject};

pub(super) fn check(subject: &dyn Subject, options: &Options, report: &mut Report) {
    for case in 0..options.cases {
        let mut chance = Chance::new(options.seed, u64::from(case));
        let ops = generate::list(&mut chance, options.steps as usize);
        report.figures.operations += ops.len() as u64;
        let failure = play(subject, options, &ops).err().map(|failure| {
            let (ops, failure) = shrink(subject, options, ops, failure);
            show(options.seed, case, &ops, &failure)
        });
        let found = failure.is_some();
        report.check(Promise::SameAsMemory, failure);
        if found {
            // More would say the same.
            return;
        }
    }
}

/// Which operation had another answer than in memory, and how.
type Failure = (usize, Broken);

fn play(subject: &dyn Subject, options: &Options, ops: &[Op]) -> Result<(), Failure> {
    let last = |broken| (ops.len().saturating_sub(1), broken);
    let place = guard(|| subject.place()).map_err(last)?.map_err(|words| last(Broken(words)))?;
    let play = play::play(subject, &*place, options.patience, ops);
    super::run_within(subject, options.patience, play).map_err(last)?
}

/// Leaves out operations, and then records and letters of batches, as long as the list still fails.
fn shrink(
    subject: &dyn Subject,
    options: &Options,
    mut ops: Vec<Op>,
    mut failure: Failure,
) -> (Vec<Op>, Failure) {
    let until = Instant::now() + options.patience;
    let mut tries = 0;
    let mut fails = |ops: &[Op]| {
        tries += 1;
        let go_on = tries <= options.tries && Instant::now() < until;
        if go_on { play(subject, options, ops).err() } else { None }
    };
    ops.truncate(failure.0 + 1);
    let mut size = ops.len() / 2;
    while size > 0 {
        let mut end = ops.len();
        while end > 0 {
            let start = end.saturating_sub(size);
            let fewer: Vec<Op> = ops.iter().take(start).chain(ops.iter().skip(end)).cloned().collect();
            if let Some(now) = fails(&fewer) {
                ops = fewer;
                ops.truncate(now.0 + 1);
                failure = now;
            }
            end = start;
        }
        size /= 2;
    }
    for at in 0..ops.len() {
        while let Some((smaller, now)) = ops
            .get(at)
            .into_iter()
            .flat_map(Op::smaller)
            .map(|smaller| {
                let mut changed = ops.clone();
                changed.iter_mut().skip(at).take(1).for_each(|op| *op = smaller.clone());
                changed
            })
            .find_map(|changed| fails(&changed).map(|now| (changed, now)))
        {
            ops = smaller;
            ops.truncate(now.0 + 1);
            failure = now;
        }
    }
    (ops, failure)
}

fn show(seed: u64, case: u32, ops: &[Op], failure: &Failure) -> String {
    let mut text = format!("seed {seed}, list {case}, {} operations:", ops.len());
    for op in ops {
        // Writing into a string does not fail.
        let _ = write!(text, "\n  {op}");
    }
    let _ = write!(text, "\n{}", failure.1);
    text
}
