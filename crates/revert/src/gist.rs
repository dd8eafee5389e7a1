//! What a tool answered but for counters and random names, and whether it tells how far something is.

use trunkline_message_tree::Part;

use crate::Digest;
use crate::digest::{Fnv, leading, may_be_glued, volatile_prefix};

/// The longest text of which a gist is made, in bytes: what says more each time has more to say than a counter.
const MAX_BYTES: usize = 16 * 1024;

/// A text without what tells one asking from the next.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Gist {
    /// The digest of the rest.
    pub(crate) digest: Digest,
    /// Whether anything was left out that [`Digest::of_outcome`] keeps.
    pub(crate) leaves_out: bool,
    /// Whether it says how far something is: `47%`, `3/40`, `3 of 40`. Those numbers are kept.
    pub(crate) measures: bool,
}

impl Gist {
    /// Returns the gist of a text; `None` if it is too long.
    ///
    /// Beside what [`Digest::of_outcome`] leaves out, words that hold a digit and are not measures are left out: plain numbers,
    /// `req_8f3a`, `a1b2c3`.
    pub(crate) fn of(text: &str) -> Option<Self> {
        Gist::but_for(text, Paths::AreWords)
    }

    /// Returns the same with all paths and names of files as they are.
    pub(crate) fn with_paths(text: &str) -> Option<Self> {
        Gist::but_for(text, Paths::Stay)
    }

    fn but_for(text: &str, paths: Paths) -> Option<Self> {
        if text.len() > MAX_BYTES {
            return None;
        }
        let fnv = Fnv::default();
        let mut gist = Words { text, paths, at: 0, before: '\n', fnv, leaves_out: false, measures: false };
        while gist.step() {}
        Some(Gist { digest: gist.fnv.finish(), leaves_out: gist.leaves_out, measures: gist.measures })
    }

    /// Returns the gist of what a tool answered; `None` if there is more in it than texts that have one.
    pub(crate) fn of_parts(parts: &[Part]) -> Option<Self> {
        let gist = |part: &Part| match part {
            Part::Text { text } => Gist::of(text),
            _ => None,
        };
        let gists = parts.iter().map(gist).collect::<Option<Vec<Gist>>>()?;
        Some(Gist {
            digest: Digest::of_all(gists.iter().map(|gist| gist.digest)),
            leaves_out: gists.iter().any(|gist| gist.leaves_out),
            measures: gists.iter().any(|gist| gist.measures),
        })
    }
}

/// What becomes of a digit in a path.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Paths {
    AreWords,
    Stay,
}

struct Words<'a> {
    text: &'a str,
    paths: Paths,
    at: usize,
    before: char,
    fnv: Fnv,
    leaves_out: bool,
    measures: bool,
}

impl Words<'_> {
    /// Takes in what comes next; `false` at the end.
    fn step(&mut self) -> bool {
        let rest = &self.text[self.at..];
        let Some(next) = rest.chars().next() else { return false };
        let inside = is_of_word(self.before);
        if self.paths == Paths::Stay
            && let Some(length) = path(rest, self.before)
        {
            self.fnv = self.fnv.write(&rest.as_bytes()[..length]);
            self.take(length, 'a');
        } else if (!inside || may_be_glued(self.before, rest))
            && let Some((kept, length)) = volatile_prefix(rest, self.before)
        {
            self.fnv = self.fnv.write(&rest.as_bytes()[..kept]).write(b"\0");
            self.take(length, '0');
        } else if !inside && let Some(length) = measure(rest, self.before) {
            self.fnv = self.fnv.write(&rest.as_bytes()[..length]);
            self.measures = true;
            self.take(length, '0');
        } else if !inside && is_of_word(next) {
            let word = &rest[..leading(rest, is_of_word)];
            if word.bytes().any(|byte| byte.is_ascii_digit()) {
                self.fnv = self.fnv.write(b"\x01");
                self.leaves_out = true;
            } else {
                self.fnv = self.fnv.write(word.as_bytes());
            }
            self.take(word.len(), 'a');
        } else {
            self.fnv = self.fnv.write(&rest.as_bytes()[..next.len_utf8()]);
            self.take(next.len_utf8(), next);
        }
        true
    }

    fn take(&mut self, length: usize, before: char) {
        self.at += length;
        self.before = before;
    }
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Returns the length of a path or the name of a file: `d3/f3`, `f3.txt`. What an address of a service has behind its host is none.
fn path(rest: &str, before: char) -> Option<usize> {
    let of_path = |c: char| is_of_word(c) || matches!(c, '/' | '.' | '-' | '+' | '~' | '@');
    if of_path(before) {
        return None;
    }
    // A sentence may end behind it.
    let run = rest[..leading(rest, of_path)].trim_end_matches('.');
    let port = before == ':' && run.starts_with(|c: char| c.is_ascii_digit());
    if run.starts_with("//") || port || !run.contains(char::is_alphabetic) {
        return None;
    }
    let ending = run.rsplit_once('.').map(|(_, ending)| ending);
    let is_name = ending
        .is_some_and(|ending| ending.len() <= 8 && ending.starts_with(|c: char| c.is_ascii_alphabetic()));
    (run.contains('/') || is_name).then_some(run.len())
}

/// Returns the length of a number that says how far something is: `47%`, `4.7 %`, `3/40`, `3 of 40`.
fn measure(rest: &str, before: char) -> Option<usize> {
    // A piece of a path, of a date, or of a version.
    if matches!(before, '/' | '-' | '.' | ':') {
        return None;
    }
    let first = number(rest)?;
    let after = &rest[first..];
    let space = usize::from(after.starts_with(' '));
    if after[space..].starts_with('%') {
        return Some(first + space + 1);
    }
    let between = if after.starts_with('/') {
        1
    } else if after.starts_with(" of ") {
        4
    } else {
        return None;
    };
    let second = number(&after[between..])?;
    let end = first + between + second;
    let goes_on = rest[end..].chars().next().is_some_and(|c| is_of_word(c) || matches!(c, '/' | '-'));
    (!goes_on).then_some(end)
}

/// Returns the length of a number, with a fraction if there is one.
fn number(rest: &str) -> Option<usize> {
    let digits = |text: &str| leading(text, |c| c.is_ascii_digit());
    let whole = digits(rest);
    let fraction = rest[whole..].strip_prefix('.').map_or(0, digits);
    (whole > 0).then_some(if fraction > 0 { whole + 1 + fraction } else { whole })
}
