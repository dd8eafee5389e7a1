//! Whose turn it is, and how many cases fit into it.
//!
//! Every turn is a law's share of the time that is left, so the turns become shorter towards the end and one that took
//! longer than thought is made good by all that follow.

use std::time::Duration;

/// By how much a turn may have more cases than the one before: a short turn says little about a long one.
const GROWTH: u32 = 32;

/// The longest turn, so that in an hour every law has many.
const LONGEST: Duration = Duration::from_secs(10);

/// A shorter turn is mostly the start of a program.
const SHORTEST: Duration = Duration::from_millis(30);

/// What a law has had so far.
#[derive(Debug)]
pub(super) struct Had {
    pub(super) cases: u64,
    pub(super) time: Duration,
    /// The cases of the last turn and what they took.
    last: (u32, Duration),
    running: bool,
}

/// All laws.
pub(super) struct Turns {
    pub(super) had: Vec<Had>,
    at_once: usize,
}

impl Turns {
    /// Laws that have had one case each, with what it took; so many can run at once.
    pub(super) fn of(first: impl IntoIterator<Item = Duration>, at_once: usize) -> Turns {
        let had = |time| Had { cases: 1, time, last: (1, time), running: false };
        Turns { had: first.into_iter().map(had).collect(), at_once }
    }

    /// The next law and the number of its cases; none if too little time is left.
    pub(super) fn next(&mut self, left: Duration) -> Option<(usize, u32)> {
        let share = left * u32::try_from(self.at_once).ok()? / u32::try_from(self.had.len().max(1)).ok()?;
        let turn = share.min(left).min(LONGEST);
        let law = (0..self.had.len())
            .filter(|&law| !self.had[law].running)
            .filter(|&law| turn >= SHORTEST && self.had[law].one_case() <= left)
            .min_by_key(|&law| self.had[law].time)?;
        let (cases, took) = self.had[law].last;
        // A cast of a float stops at the ends of the type.
        let fit = (f64::from(cases) * turn.as_secs_f64() / took.as_secs_f64().max(1e-6)) as u32;
        let cases = fit.clamp(1, cases.saturating_mul(GROWTH));
        self.had[law].running = true;
        Some((law, cases))
    }

    /// A turn has passed.
    pub(super) fn passed(&mut self, law: usize, cases: u32, took: Duration) {
        let law = &mut self.had[law];
        law.running = false;
        law.cases += u64::from(cases);
        law.time += took;
        law.last = (cases, took);
    }
}

impl Had {
    fn one_case(&self) -> Duration {
        self.last.1 / self.last.0.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a law takes for so many cases, if it needs so many microseconds for one.
    fn took(one: u64, cases: u32) -> Duration {
        Duration::from_micros(5_000 + one * u64::from(cases))
    }

    /// Plays laws one after the other; returns the time and what each had. Every so-manieth turn takes three times as long.
    fn played(laws: &[u64], time: Duration, slow: u64) -> (Duration, Vec<Had>) {
        let mut turns = Turns::of(laws.iter().map(|one| took(*one, 1)), 1);
        let (mut now, mut turn): (Duration, u64) = (turns.had.iter().map(|law| law.time).sum(), 0);
        while let Some((law, cases)) = turns.next(time.saturating_sub(now)) {
            turn += 1;
            let took = took(laws[law], cases) * if turn.is_multiple_of(slow) { 3 } else { 1 };
            now += took;
            turns.passed(law, cases, took);
        }
        (now, turns.had)
    }

    #[test]
    fn the_time_is_kept_and_shared_whatever_a_case_costs() {
        for minutes in [1, 7] {
            let time = Duration::from_secs(60 * minutes);
            for laws in [1, 3, 42] {
                // From a microsecond to half a second for a case.
                let laws: Vec<u64> = (0..laws).map(|law| [1, 30, 1_000, 20_000, 500_000][law % 5]).collect();
                let (took, had) = played(&laws, time, u64::MAX);
                let share = time / u32::try_from(laws.len()).expect("few");
                assert!(took <= time.mul_f64(1.05), "{took:?} of {time:?} for {} laws", laws.len());
                assert!(took >= time.mul_f64(0.9), "{took:?} of {time:?} for {} laws", laws.len());
                assert!(had.iter().all(|law| law.time >= share.mul_f64(0.5)), "{had:?} of {share:?}");
            }
        }
    }

    #[test]
    fn a_turn_that_takes_too_long_is_made_good_by_the_others() {
        let time = Duration::from_secs(60);
        let (took, _) = played(&[100; 10], time, 3);
        assert!(took <= time.mul_f64(1.1), "{took:?}");
    }

    #[test]
    fn a_law_runs_once_at_a_time() {
        let time = Duration::from_secs(60);
        let mut turns = Turns::of([SHORTEST; 2], 2);
        let (one, _) = turns.next(time).expect("a turn");
        let (other, _) = turns.next(time).expect("a turn");
        assert_ne!(one, other);
        assert_eq!(turns.next(time), None);
        turns.passed(other, 1, SHORTEST);
        assert_eq!(turns.next(time).map(|(law, _)| law), Some(other));
    }
}
