//! What a command printed: the start and the end of it, as plain text.
//!
//! Output is hostile text of any length. What is kept while it runs is bounded; escape sequences, which can hide or
//! forge lines on a terminal, are taken out; a progress bar is what it looked like last.

use std::collections::VecDeque;

use sha2::{Digest, Sha256};

use crate::shown;

/// The first and the last bytes of an output.
pub(crate) struct Captured {
    each: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    dropped: u64,
    /// Of everything, also of what is not kept.
    digest: Sha256,
}

impl Captured {
    /// Keeps enough bytes for `characters` at either end: none has more than four.
    pub(crate) fn new(characters: usize) -> Self {
        let each = characters.saturating_mul(4).max(4_096);
        Captured { each, head: Vec::new(), tail: VecDeque::new(), dropped: 0, digest: Sha256::new() }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.digest.update(bytes);
        let (first, rest) = bytes.split_at(bytes.len().min(self.each - self.head.len()));
        self.head.extend_from_slice(first);
        self.tail.extend(rest);
        let surplus = self.tail.len().saturating_sub(self.each);
        self.tail.drain(..surplus);
        self.dropped = self.dropped.saturating_add(u64::try_from(surplus).unwrap_or(u64::MAX));
    }

    /// Returns every byte that was printed, if all of it was kept.
    pub(crate) fn whole(&self) -> Option<Vec<u8>> {
        let (front, back) = self.tail.as_slices();
        (self.dropped == 0).then(|| [self.head.as_slice(), front, back].concat())
    }

    /// Returns the SHA-256 of every byte that was printed, in hexadecimal digits.
    pub(crate) fn digest(&self) -> String {
        self.digest.clone().finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Returns at most `limit` characters, with a mark where something is missing, and what was printed and is not shown as it
    /// was.
    pub(crate) fn text(&self, limit: usize) -> (String, Odd) {
        let (front, back) = self.tail.as_slices();
        let tail = [front, back].concat();
        if self.dropped == 0 {
            let all = [self.head.as_slice(), &tail].concat();
            let (text, overwritten) = plain(&String::from_utf8_lossy(&all));
            let odd = Odd { overwritten, ..Odd::of(&all) };
            let characters = text.chars().count();
            if characters <= limit {
                return (text, odd);
            }
            let (head, _) = first(&text, limit - limit / 2);
            let (tail, _) = last(&text, limit / 2);
            // Together they have `limit` characters, so they do not overlap.
            let cut = text.len().saturating_sub(head.len() + tail.len());
            return (marked(head, u64::try_from(cut).unwrap_or(u64::MAX), tail), odd);
        }
        // The cut may be inside a character or a sequence; the next line begins cleanly.
        let clean = tail.iter().position(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let kept = tail.get(clean..).unwrap_or_default();
        let (head, in_head) = plain(&String::from_utf8_lossy(&self.head));
        let (tail, in_tail) = plain(&String::from_utf8_lossy(kept));
        let odd = Odd::of(whole(&self.head)).and(Odd::of(kept));
        let odd = Odd { overwritten: in_head + in_tail, ..odd };
        let (head, cut_head) = first(&head, limit - limit / 2);
        let (tail, cut_tail) = last(&tail, limit / 2);
        let cut = u64::try_from(cut_head + cut_tail + clean).unwrap_or(u64::MAX).saturating_add(self.dropped);
        (marked(head, cut, tail), odd)
    }
}

/// What was printed and cannot be shown as it was. Colours and the like are no part of what is said.
#[derive(Copy, Clone, Default)]
pub(crate) struct Odd {
    not_utf8: usize,
    zeros: usize,
    controls: usize,
    /// Strings that a terminal does not show as text: titles, addresses of links.
    strings: usize,
    /// How often what stood in a line gave way to what followed a carriage return.
    overwritten: usize,
}

impl Odd {
    fn of(bytes: &[u8]) -> Self {
        // Without the escape sequences, whose own signs are controls as well.
        let mut odd = Odd { not_utf8: shown::not_utf8(bytes), ..Odd::default() };
        let text = String::from_utf8_lossy(bytes);
        let mut rest = text.chars().peekable();
        while let Some(character) = rest.next() {
            match character {
                '\u{1b}' => odd.strings += usize::from(skip_escape(&mut rest)),
                '\u{9b}' => skip_parameters(&mut rest),
                '\0' => odd.zeros += 1,
                '\n' | '\r' | '\t' => {}
                control if control.is_control() => odd.controls += 1,
                _ => {}
            }
        }
        odd
    }

    fn and(self, other: Odd) -> Self {
        Odd {
            not_utf8: self.not_utf8 + other.not_utf8,
            zeros: self.zeros + other.zeros,
            controls: self.controls + other.controls,
            strings: self.strings + other.strings,
            overwritten: self.overwritten + other.overwritten,
        }
    }

    /// Says it in one line; `None` if all is shown as it was.
    pub(crate) fn told(self) -> Option<String> {
        let mut told = Vec::new();
        match self.not_utf8 {
            0 => {}
            1 => told.push("1 byte that is no UTF-8 is shown as U+FFFD".to_owned()),
            bytes => told.push(format!("{bytes} bytes that are no UTF-8 are shown as U+FFFD")),
        }
        let left_out: Vec<String> = [
            (self.zeros, "NUL byte"),
            (self.controls, "other control character"),
            (self.strings, "terminal control string"),
        ]
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, word)| shown::count(number, word))
        .collect();
        if !left_out.is_empty() {
            told.push(format!("{} left out", left_out.join(" and ")));
        }
        match self.overwritten {
            0 => {}
            1 => told.push("a line was overwritten once, as on a terminal".to_owned()),
            times => told.push(format!("lines were overwritten {times} times, as on a terminal")),
        }
        (!told.is_empty()).then(|| format!("[{}]\n", told.join(", ")))
    }
}

/// The bytes without a character at their end that was cut in two.
fn whole(bytes: &[u8]) -> &[u8] {
    match std::str::from_utf8(bytes.get(bytes.len().saturating_sub(3)..).unwrap_or_default()) {
        Err(error) if error.error_len().is_none() => {
            let cut = bytes.len().min(3) - error.valid_up_to();
            bytes.get(..bytes.len() - cut).unwrap_or_default()
        }
        _ => bytes,
    }
}

fn marked(head: &str, cut: u64, tail: &str) -> String {
    let line = if head.ends_with('\n') || head.is_empty() { "" } else { "\n" };
    format!("{head}{line}[… {cut} bytes of output are not shown …]\n{tail}")
}

/// Returns the first characters and how many bytes follow.
fn first(text: &str, characters: usize) -> (&str, usize) {
    let at = text.char_indices().nth(characters).map_or(text.len(), |(at, _)| at);
    let (kept, rest) = text.split_at(at);
    (kept, rest.len())
}

/// Returns the last characters and how many bytes come before.
fn last(text: &str, characters: usize) -> (&str, usize) {
    let at = match characters.checked_sub(1) {
        Some(before) => text.char_indices().rev().nth(before).map_or(0, |(at, _)| at),
        None => text.len(),
    };
    let (rest, kept) = text.split_at(at);
    (kept, rest.len())
}

/// Takes out escape sequences and control characters and lets carriage returns overwrite their line; says how often they did.
fn plain(text: &str) -> (String, usize) {
    let mut overwritten = 0;
    let mut plain = String::with_capacity(text.len());
    let mut line = 0; // where the line begins
    let mut returned = false; // a carriage return came, and nothing after it yet
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '\u{1b}' => {
                skip_escape(&mut rest);
            }
            '\u{9b}' => skip_parameters(&mut rest),
            '\r' => returned = true,
            '\n' => {
                plain.push('\n');
                line = plain.len();
                returned = false;
            }
            '\t' => plain.push('\t'),
            hidden if hidden.is_control() => {}
            shown => {
                if returned {
                    overwritten += usize::from(!plain.get(line..).unwrap_or_default().trim().is_empty());
                    plain.truncate(line);
                    returned = false;
                }
                plain.push(shown);
            }
        }
    }
    (plain, overwritten)
}

type Rest<'t> = std::iter::Peekable<std::str::Chars<'t>>;

/// Skips what follows an escape character (ECMA-48, 5th edition); says whether it was a string that holds something.
fn skip_escape(rest: &mut Rest<'_>) -> bool {
    let mut holds = false;
    match rest.peek() {
        Some('[') => {
            rest.next();
            skip_parameters(rest);
        }
        // Strings such as a window title. They end at their terminator, or here at the end of the line at the latest:
        // otherwise one that is never closed would hide all that follows.
        Some(']' | 'P' | 'X' | '^' | '_') => {
            rest.next();
            while let Some(character) = rest.next_if(|character| *character != '\n') {
                if matches!(character, '\u{7}' | '\u{9c}') {
                    break;
                }
                if character == '\u{1b}' {
                    rest.next_if_eq(&'\\');
                    break;
                }
                holds = true;
            }
        }
        _ => {
            while rest.next_if(|character| matches!(character, ' '..='/')).is_some() {}
            rest.next_if(|character| matches!(character, '0'..='~'));
        }
    }
    holds
}

/// Skips parameters, intermediates and the final character of a control sequence.
fn skip_parameters(rest: &mut Rest<'_>) {
    while rest.next_if(|character| matches!(character, ' '..='?')).is_some() {}
    rest.next_if(|character| matches!(character, '@'..='~'));
}
