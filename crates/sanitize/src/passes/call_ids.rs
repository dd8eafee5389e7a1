//! Gives calls ids that a wire takes, the same ones every time.
//!
//! A new id depends on the old one and on what came before it, never on what comes after: a list that grows keeps the
//! ids of its beginning.

use super::noted::Noted;
use crate::{IdAlphabet, IdRule, IdScope, WireRules};

/// The ids given so far.
#[derive(Clone, Debug)]
pub(super) struct CallIds {
    rule: IdRule,
    scope: IdScope,
    used: Noted<String, ()>,
    next: Noted<String, u32>,
}

/// The id that a call goes by.
pub(super) enum Given {
    /// Its own.
    Same,
    /// Another one.
    New { id: String, taken: bool },
}

impl CallIds {
    pub(super) fn new(rules: &WireRules, goes_back: bool) -> Self {
        let (used, next) = (Noted::new(goes_back), Noted::new(goes_back));
        CallIds { rule: rules.ids, scope: rules.ids_unique_in, used, next }
    }

    /// Returns where it stands.
    pub(super) fn mark(&self) -> [usize; 2] {
        [self.used.mark(), self.next.mark()]
    }

    /// Forgets the ids that were given since; those of one message are forgotten when the next one begins.
    pub(super) fn go_back(&mut self, [used, next]: [usize; 2]) {
        self.used.go_back(used);
        self.next.go_back(next);
    }

    /// Begins the calls of the next message.
    pub(super) fn begin_turn(&mut self) {
        if self.scope == IdScope::Message {
            self.used.clear();
            self.next.clear();
        }
    }

    /// Returns the id for the next call that was stored under `id`; `elsewhere` knows the ids of calls that never came here.
    pub(super) fn give(&mut self, id: &str, elsewhere: &dyn Fn(&str) -> bool) -> Given {
        let elsewhere = |id: &str| self.scope == IdScope::History && elsewhere(id);
        let taken = fits(id, &self.rule);
        if taken && !elsewhere(id) && !self.used.contains(id) {
            self.used.insert(id.to_owned(), ());
            return Given::Same;
        }
        let mut next = self.next.get(id).copied().unwrap_or(if taken { 2 } else { 1 });
        // A rule set that leaves almost no ids must not keep us here for ever.
        let attempts = self.used.len() as u32 + 64;
        let mut given = derive(id, next, taken, &self.rule);
        for _ in 0..attempts {
            next = next.saturating_add(1);
            if !self.used.contains(&given) && !elsewhere(&given) {
                break;
            }
            given = derive(id, next, taken, &self.rule);
        }
        self.next.insert(id.to_owned(), next);
        self.used.insert(given.clone(), ());
        Given::New { id: given, taken }
    }
}

/// Returns whether a wire takes the id.
pub(crate) fn fits(id: &str, rule: &IdRule) -> bool {
    !id.is_empty()
        && rule.max_length.is_none_or(|max| id.len() <= max)
        && rule.exact_length.is_none_or(|exact| id.len() == exact)
        && is_written_in(id, rule.alphabet)
}

/// Returns whether all characters of an id or a name are of an alphabet.
pub(super) fn is_written_in(id: &str, alphabet: IdAlphabet) -> bool {
    match alphabet {
        IdAlphabet::Any => true,
        IdAlphabet::Word => all_are(id, |b| b.is_ascii_alphanumeric() | (b == b'_') | (b == b'-')),
        IdAlphabet::WordDotColon => {
            all_are(id, |b| b.is_ascii_alphanumeric() | (b == b'_') | (b == b'-') | (b == b'.') | (b == b':'))
        }
        IdAlphabet::Alphanumeric => all_are(id, |b| b.is_ascii_alphanumeric()),
    }
}

fn all_are(id: &str, such: impl Fn(u8) -> bool) -> bool {
    // Every byte is looked at, whatever the first one was: without a way out the compiler takes sixteen at once.
    let are = |bytes: &[u8]| bytes.iter().fold(true, |are, byte| are & such(*byte));
    let (chunks, _) = id.as_bytes().as_chunks::<16>();
    match id.as_bytes().last_chunk::<16>() {
        // The last sixteen bytes once more cost less than a loop over those that are left.
        Some(last) => chunks.iter().all(|chunk| are(chunk)) && are(last),
        None => are(id.as_bytes()),
    }
}

/// Returns the `n`th id made from `id`.
fn derive(id: &str, n: u32, keeps_its_look: bool, rule: &IdRule) -> String {
    let digits = digits(hash(id, n));
    if let Some(exact) = rule.exact_length {
        return digits.chars().cycle().take(exact).collect();
    }
    let join = if rule.alphabet == IdAlphabet::Alphanumeric { "" } else { "_" };
    // A second `c1` is `c1_2`, readable; an id that the wire refuses keeps what it can and is told apart by a digest.
    if keeps_its_look {
        let plain = format!("{id}{join}{n}");
        if fits(&plain, rule) {
            return plain;
        }
    }
    let tail: String = digits.chars().take(8).collect();
    let room = rule.max_length.unwrap_or(64).saturating_sub(tail.len() + join.len());
    let mut head = String::new();
    for c in id.chars() {
        let c = match rule.alphabet {
            IdAlphabet::Any => c,
            _ if c.is_ascii_alphanumeric() => c,
            IdAlphabet::Word | IdAlphabet::WordDotColon => '_',
            IdAlphabet::Alphanumeric => continue,
        };
        if head.len() + c.len_utf8() > room {
            break;
        }
        head.push(c);
    }
    let head = if head.is_empty() && room >= 4 { "call" } else { &head };
    let given = if head.is_empty() { tail } else { format!("{head}{join}{tail}") };
    given.chars().take(rule.max_length.unwrap_or(usize::MAX)).collect()
}

/// FNV-1a with 64 bits and a final mix: not secret, only the same everywhere and for ever.
pub(super) fn hash(id: &str, n: u32) -> u64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in id.bytes().chain(n.to_le_bytes()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^ (hash >> 33)
}

/// Writes a number in the 36 lower-case letters and digits, at least nine of them.
pub(super) fn digits(mut number: u64) -> String {
    let mut text = String::new();
    while number > 0 || text.len() < 9 {
        text.push(char::from(b"0123456789abcdefghijklmnopqrstuvwxyz"[(number % 36) as usize]));
        number /= 36;
    }
    text
}
