//! Numbers that look random and are the same for the same seed, so that a finding can be had again.

/// Marsaglia's xorshift with a final multiplication.
pub(super) struct Chance(u64);

impl Chance {
    /// Returns the numbers of a seed; each `stream` of one seed has its own.
    pub(super) fn new(seed: u64, stream: usize) -> Self {
        let mixed =
            seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (stream as u64 + 1).rotate_left(32);
        // Zero would stay zero.
        let mut chance = Chance(mixed | 1);
        chance.number();
        chance
    }

    fn number(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    /// Returns a number below `end`, 0 if there is none.
    pub(super) fn below(&mut self, end: usize) -> usize {
        (self.number() % (end as u64).max(1)) as usize
    }

    /// Returns a byte.
    pub(super) fn byte(&mut self) -> u8 {
        self.number() as u8
    }

    /// Returns a range inside `0..end`, at most `most` long.
    pub(super) fn range(&mut self, end: usize, most: usize) -> std::ops::Range<usize> {
        let start = self.below(end + 1);
        start..(start + self.below(most + 1)).min(end)
    }

    /// Cuts bytes into pieces of at most `most` bytes, some of them empty.
    pub(super) fn pieces<'a>(&mut self, bytes: &'a [u8], most: usize) -> Vec<&'a [u8]> {
        let mut pieces = Vec::new();
        let mut rest = bytes;
        while !rest.is_empty() {
            let (piece, tail) = rest.split_at(self.below(most + 1).min(rest.len()));
            pieces.push(piece);
            rest = tail;
        }
        pieces
    }
}
