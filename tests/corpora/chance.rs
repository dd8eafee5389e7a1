//! Numbers that look like chance and are the same on each run.

/// A stream of numbers.
#[derive(Clone, Debug)]
pub struct Chance {
    state: u64,
}

impl Chance {
    /// Returns a stream that depends on a name alone.
    pub fn from(name: &str) -> Self {
        // FNV-1a: <http://www.isthe.com/chongo/tech/comp/fnv/>
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        Chance { state: name.bytes().fold(0xcbf2_9ce4_8422_2325, step) }
    }

    /// Returns what the next numbers follow from.
    pub fn seed(&self) -> u64 {
        self.state
    }

    /// Returns a number below `end`, which is not 0.
    pub fn below(&mut self, end: usize) -> usize {
        // SplitMix64: Steele, Lea and Flood, 2014.
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % end as u64).unwrap_or_default()
    }

    /// Cuts bytes into pieces, some of them tiny and some large; none is empty.
    pub fn cut<'a>(&mut self, bytes: &'a [u8]) -> Vec<&'a [u8]> {
        let most = [3, 17, 200, 4096][self.below(4)];
        let mut pieces = Vec::new();
        let mut rest = bytes;
        while !rest.is_empty() {
            let (piece, after) = rest.split_at((1 + self.below(most)).min(rest.len()));
            pieces.push(piece);
            rest = after;
        }
        pieces
    }
}
