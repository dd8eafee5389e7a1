//! What is done to nodes, drawn from a seed.

use std::fmt;
use std::time::Duration;

use super::cluster::TTL;
use super::network::Side;

/// Numbers from a seed; the same ones each time.
pub(super) struct Chance(u64);

impl Chance {
    pub(super) fn new(seed: u64) -> Chance {
        Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below a bound.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        // Marsaglia, "Xorshift RNGs", 2003.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound.max(1)
    }

    /// A time between two bounds, in milliseconds.
    pub(super) fn between(&mut self, least: u64, most: u64) -> Duration {
        Duration::from_millis(least + self.below(most - least))
    }
}

/// What happens to a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// Everything on it dies at once.
    Kill,
    /// PostgreSQL dies, and Patroni sees it.
    Crash,
    /// Everything on it stops, and goes on later as if nothing had been.
    Pause,
    /// Wires are pulled.
    Cut(Vec<Side>),
    /// The leader hands over in order.
    HandOver,
}

/// Which node it happens to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whom {
    Leader,
    /// One that follows; in synchronous mode it may be the one that commits wait for.
    Standby(u64),
}

/// One fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) act: Act,
    pub(super) whom: Whom,
    /// For so long before it what the leader writes reaches no standby.
    pub(super) behind: Option<Duration>,
    /// After so long the node comes back.
    pub(super) lasts: Duration,
}

impl Fault {
    /// Draws the next one.
    pub(super) fn draw(chance: &mut Chance, has_wires: bool) -> Fault {
        let act = match chance.below(if has_wires { 12 } else { 7 }) {
            0..=2 => Act::Kill,
            3 => Act::Crash,
            4..=5 => Act::Pause,
            6 => Act::HandOver,
            7..=8 => Act::Cut(vec![Side::Members]),
            9 => Act::Cut(vec![Side::Clients]),
            _ => Act::Cut(Side::BOTH.to_vec()),
        };
        let whom = match chance.below(5) {
            0 if act != Act::HandOver => Whom::Standby(chance.below(2)),
            _ => Whom::Leader,
        };
        let behind = (act != Act::HandOver && whom == Whom::Leader && chance.below(2) == 0)
            .then(|| chance.between(300, 2000));
        // Some come back before anybody has taken their place, most long after.
        let lasts = match chance.below(5) {
            0 => chance.between(500, 1000 * TTL),
            _ => chance.between(1000 * (TTL + 3), 1000 * (TTL + 12)),
        };
        Fault { act, whom, behind, lasts }
    }

    /// The fault of a run that has only one: the leader dies while its standbys are behind.
    pub(super) fn single() -> Fault {
        let [behind, lasts] = [1500, 1000 * (TTL + 3)].map(Duration::from_millis);
        Fault { act: Act::Kill, whom: Whom::Leader, behind: Some(behind), lasts }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whom = match self.whom {
            Whom::Leader => "the leader",
            Whom::Standby(_) => "a standby",
        };
        let what = match &self.act {
            Act::Kill => format!("kill {whom}"),
            Act::Crash => format!("kill PostgreSQL of {whom}"),
            Act::Pause => format!("pause {whom}"),
            Act::Cut(sides) if sides.len() == 2 => format!("cut {whom} off"),
            Act::Cut(sides) if sides.contains(&Side::Clients) => format!("cut {whom} off from clients"),
            Act::Cut(_) => format!("cut {whom} off from the others"),
            Act::HandOver => "hand over in order".to_owned(),
        };
        f.write_str(&what)?;
        if let Some(behind) = self.behind {
            write!(f, ", {:.1} s after its standbys fell behind", behind.as_secs_f64())?;
        }
        if !matches!(self.act, Act::HandOver | Act::Crash) {
            write!(f, ", back after {:.1} s", self.lasts.as_secs_f64())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(seed: u64, count: usize, has_wires: bool) -> Vec<Fault> {
        let mut chance = Chance::new(seed);
        (0..count).map(|_| Fault::draw(&mut chance, has_wires)).collect()
    }

    #[test]
    fn a_seed_says_what_happens() {
        assert_eq!(drawn(3, 20, true), drawn(3, 20, true));
        assert_ne!(drawn(3, 20, true), drawn(4, 20, true));
    }

    #[test]
    fn every_kind_is_drawn_and_wires_only_where_there_are_some() {
        let all = drawn(1, 400, true);
        for act in [Act::Kill, Act::Crash, Act::Pause, Act::HandOver, Act::Cut(vec![Side::Members])] {
            assert!(all.iter().any(|fault| fault.act == act), "{act:?}");
        }
        assert!(!drawn(1, 400, false).iter().any(|fault| matches!(fault.act, Act::Cut(_))));
    }

    #[test]
    fn a_fault_is_told_in_words() {
        assert_eq!(
            Fault::single().to_string(),
            "kill the leader, 1.5 s after its standbys fell behind, back after 8.0 s"
        );
    }
}
