//! Numbers that look random and are the same for the same seed, so that a finding can be had again.

/// Marsaglia's xorshift with a final multiplication.
#[derive(Clone, Debug)]
pub(super) struct Chance(u64);

impl Chance {
    /// Returns the numbers of a seed; each `stream` of one seed has its own.
    pub(super) fn new(seed: u64, stream: u64) -> Self {
        let mixed =
            seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ stream.wrapping_add(1).rotate_left(32);
        // Zero would stay zero.
        let mut chance = Chance(mixed | 1);
        chance.number();
        chance
    }

    /// Returns a number of 48 bits.
    pub(super) fn number(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    /// Returns a number below `end`, 0 if there is none.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.number() % end.max(1)
    }

    /// Returns whether one of so many chances came.
    pub(super) fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }

    /// Returns whether one of so many chances came; of 0 none does.
    pub(super) fn one_of(&mut self, many: u64) -> bool {
        many > 0 && self.one_in(many)
    }

    /// Returns one of some values.
    pub(super) fn pick<T: Copy>(&mut self, first: T, rest: &[T]) -> T {
        match self.below(rest.len() as u64 + 1) {
            0 => first,
            at => rest.get(at as usize - 1).copied().unwrap_or(first),
        }
    }
}
