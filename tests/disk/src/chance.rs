//! Numbers that look like chance and follow from a seed.

/// A stream of numbers.
#[derive(Clone, Debug)]
pub struct Chance {
    state: u64,
}

impl Chance {
    /// Returns the stream of a seed.
    pub fn new(seed: u64) -> Self {
        Chance { state: seed }
    }

    /// Returns a stream of its own that follows from this one, so that more draws here do not change what it gives.
    pub fn fork(&mut self) -> Self {
        Chance::new(self.next())
    }

    /// Returns the next number.
    #[expect(clippy::should_implement_trait, reason = "chance never ends")]
    pub fn next(&mut self) -> u64 {
        // SplitMix64: Steele, Lea and Flood, 2014.
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `end`; 0 if `end` is 0.
    pub fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % (end as u64).max(1)).unwrap_or_default()
    }

    /// Returns true `times` in `of` times.
    pub fn comes(&mut self, times: usize, of: usize) -> bool {
        self.below(of) < times
    }

    /// Returns one of the items; none of nothing.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.below(items.len()))
    }

    /// Returns bytes that no compressor can do anything with.
    pub fn bytes(&mut self, length: usize) -> Vec<u8> {
        let mut bytes: Vec<u8> = (0..length.div_ceil(8)).flat_map(|_| self.next().to_le_bytes()).collect();
        bytes.truncate(length);
        bytes
    }
}
