//! Makes readable what services garble: bytes that are no text, halves of characters, JSON that only lenient readers take.
//!
//! A character may come in two halves, each in an event of its own: as two surrogates (`\ud83d`, `\ude00`), or as bytes
//! that are no UTF-8 by themselves. Half a character cannot stand in a string, so it is written as a *mark*, two characters
//! that no text has side by side, until the halves of a stream are put together again, see [`plain`] and
//! [`Front`](crate::front::Front). Marks never leave this crate.

use std::borrow::Cow;
use std::collections::HashSet;

use serde::de::IgnoredAny;
use serde_json::value::RawValue;

// A code point that is reserved for use inside of programs, and a private one behind it that says which half it is.
const MARK: char = '\u{fdd0}';
const MARK_BYTES: &[u8] = b"\xef\xb7\x90";
const SURROGATES: u32 = 0xf_0000;
const BYTES: u32 = 0xf_0800;

// What an answer says lies less deep; bounds the work against a hostile endpoint.
const DEPTH_LIMIT: usize = 16;

/// One half of a character, or less.
#[derive(Clone, Copy, PartialEq)]
enum Half {
    Surrogate(u16),
    Byte(u8),
}

impl Half {
    fn write(self, text: &mut String) {
        let code = match self {
            Half::Surrogate(unit) => SURROGATES + u32::from(unit & 0x7ff),
            Half::Byte(byte) => BYTES + u32::from(byte),
        };
        text.push(MARK);
        text.extend(char::from_u32(code));
    }

    fn of(c: char) -> Option<Half> {
        match u32::from(c) {
            code @ 0xf_0000..=0xf_07ff => {
                u16::try_from(code - SURROGATES).ok().map(|low| Half::Surrogate(0xd800 | low))
            }
            code @ 0xf_0800..=0xf_08ff => u8::try_from(code - BYTES).ok().map(Half::Byte),
            _ => None,
        }
    }

    fn is_high(self) -> bool {
        matches!(self, Half::Surrogate(0xd800..=0xdbff))
    }
}

/// Returns bytes as text; what is no UTF-8 is marked, and so is what would be taken for a mark.
pub(crate) fn text(bytes: &[u8]) -> Cow<'_, str> {
    let has_marks = memchr::memmem::find(bytes, MARK_BYTES).is_some();
    if let (false, Ok(text)) = (has_marks, str::from_utf8(bytes)) {
        return Cow::Borrowed(text);
    }
    let mut marked = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for (number, part) in chunk.valid().split(MARK).enumerate() {
            if number > 0 {
                mark_bytes(MARK_BYTES, &mut marked);
            }
            marked.push_str(part);
        }
        mark_bytes(chunk.invalid(), &mut marked);
    }
    Cow::Owned(marked)
}

fn mark_bytes(bytes: &[u8], text: &mut String) {
    bytes.iter().for_each(|byte| Half::Byte(*byte).write(text));
}

/// Marks the surrogates that stand alone in the strings of a JSON text; `None` if there are none.
pub(crate) fn halves(json: &str) -> Option<String> {
    if !["\\ud", "\\uD", "\\uf", "\\uF"]
        .iter()
        .any(|sign| memchr::memmem::find(json.as_bytes(), sign.as_bytes()).is_some())
    {
        return None;
    }
    let mut marked = String::new();
    // What stands before this place is in `marked`.
    let (mut done, mut at) = (0, 0);
    while let Some(found) = memchr::memchr(b'\\', json.as_bytes().get(at..).unwrap_or_default()) {
        at += found;
        let Some(unit) = unit(json, at).filter(|unit| (0xd800..0xe000).contains(unit) || *unit == 0xfdd0)
        else {
            at += 2;
            continue;
        };
        let half = Half::Surrogate(unit);
        if half.is_high() && self::unit(json, at + 6).is_some_and(|next| (0xdc00..0xe000).contains(&next)) {
            at += 12;
            continue;
        }
        marked.push_str(json.get(done..at).unwrap_or_default());
        // What would be taken for a mark is one of its bytes, and comes back as what it is.
        if unit == 0xfdd0 {
            mark_bytes(MARK_BYTES, &mut marked)
        } else {
            half.write(&mut marked)
        }
        at += 6;
        done = at;
    }
    if done == 0 {
        return None;
    }
    marked.push_str(json.get(done..).unwrap_or_default());
    Some(marked)
}

/// Reads `\u0000` at this place.
fn unit(json: &str, at: usize) -> Option<u16> {
    let digits = json.get(at..at + 6)?.strip_prefix("\\u")?;
    u16::from_str_radix(digits, 16).ok()
}

/// Returns a text with its halves put together; what has no other half is U+FFFD.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    if memchr::memmem::find(text.as_bytes(), MARK_BYTES).is_none() {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut run: Vec<Half> = Vec::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match chars.peek().copied().filter(|_| c == MARK).and_then(Half::of) {
            Some(half) => {
                run.push(half);
                chars.next();
            }
            None => {
                spell(&run, &mut plain);
                run.clear();
                plain.push(c);
            }
        }
    }
    spell(&run, &mut plain);
    Cow::Owned(plain)
}

/// Writes halves that follow each other.
fn spell(run: &[Half], text: &mut String) {
    for same in run.chunk_by(|one, next| std::mem::discriminant(one) == std::mem::discriminant(next)) {
        let units = same.iter().filter_map(|half| match half {
            Half::Surrogate(unit) => Some(*unit),
            Half::Byte(_) => None,
        });
        text.extend(char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)));
        let bytes: Vec<u8> = same
            .iter()
            .filter_map(|half| match half {
                Half::Byte(byte) => Some(*byte),
                Half::Surrogate(_) => None,
            })
            .collect();
        text.push_str(&String::from_utf8_lossy(&bytes));
    }
}

/// Splits the halves off the end of a text whose rest may come in the next piece.
pub(crate) fn split_open(text: &str) -> (&str, &str) {
    let mut halves = Vec::new();
    let mut rest = text;
    while let Some((before, half)) = last_half(rest) {
        halves.push((before.len(), half));
        rest = before;
    }
    let whole = (text, "");
    match halves.first() {
        Some((at, half)) if half.is_high() => text.split_at_checked(*at).unwrap_or(whole),
        Some((_, Half::Byte(_))) => {
            // At most three bytes of a character can be waiting for more.
            for count in (1..=3).rev() {
                let Some(tail) = halves.get(..count) else { continue };
                let bytes: Vec<u8> = tail
                    .iter()
                    .rev()
                    .filter_map(|(_, half)| match half {
                        Half::Byte(byte) => Some(*byte),
                        Half::Surrogate(_) => None,
                    })
                    .collect();
                let open = bytes.len() == count
                    && str::from_utf8(&bytes)
                        .is_err_and(|fault| fault.valid_up_to() == 0 && fault.error_len().is_none());
                if let (true, Some((at, _))) = (open, tail.last()) {
                    return text.split_at_checked(*at).unwrap_or(whole);
                }
            }
            whole
        }
        _ => whole,
    }
}

fn last_half(text: &str) -> Option<(&str, Half)> {
    let (at, c) = text.char_indices().next_back()?;
    let half = Half::of(c)?;
    let before = text.get(..at)?.strip_suffix(MARK)?;
    Some((before, half))
}

/// Returns a JSON text that says the same in the way that everybody reads: without numbers, words, characters and escapes that
/// JSON has not, and without a comma behind a last element. `None` if there is nothing to be done.
pub(crate) fn json(text: &str) -> Option<String> {
    let spelled = spelled(text);
    let text = spelled.as_deref().unwrap_or(text);
    // The last of several fields of one name counts, as everywhere.
    let once = if serde_json::from_str::<IgnoredAny>(text).is_ok() { without_doubles(text, 0) } else { None };
    once.or(spelled)
}

fn spelled(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut changed = false;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        match c {
            '"' => {
                let (string, tail) = string_end(rest);
                changed |= spell_string(string, &mut out);
                rest = tail;
            }
            '}' | ']' => {
                let kept = out.trim_end().strip_suffix(',').map(str::len);
                if let Some(kept) = kept {
                    out.truncate(kept);
                    changed = true;
                }
                out.push(c);
                rest = rest.get(1..).unwrap_or_default();
            }
            '{' | '[' | ',' | ':' | ' ' | '\t' | '\r' | '\n' => {
                out.push(c);
                rest = rest.get(1..).unwrap_or_default();
            }
            _ => {
                let ends =
                    |c: char| matches!(c, '{' | '}' | '[' | ']' | ',' | ':' | '"') || c.is_whitespace();
                let (word, tail) = rest.split_at(rest.find(ends).unwrap_or(rest.len()).max(c.len_utf8()));
                if serde_json::from_str::<IgnoredAny>(word).is_ok() {
                    out.push_str(word);
                } else {
                    out.push_str("null");
                    changed = true;
                }
                rest = tail;
            }
        }
    }
    changed.then_some(out)
}

/// Splits a string off the front, with its quotes; one without an end goes on to the end of the text.
fn string_end(text: &str) -> (&str, &str) {
    let bytes = text.as_bytes();
    let mut at = 1;
    while let Some(found) = memchr::memchr2(b'"', b'\\', bytes.get(at..).unwrap_or_default()) {
        at += found;
        if bytes.get(at) == Some(&b'"') {
            return text.split_at_checked(at + 1).unwrap_or((text, ""));
        }
        at += 2;
    }
    (text, "")
}

/// Writes a string; returns whether it had to be changed.
fn spell_string(string: &str, out: &mut String) -> bool {
    let before = out.len();
    let mut chars = string.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => match string.get(at + 1..).and_then(|rest| rest.chars().next()) {
                Some('u') if unit(string, at).is_none() => out.push_str("\\\\"),
                Some(escaped @ ('"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't' | 'u')) => {
                    out.push('\\');
                    out.push(escaped);
                    chars.next();
                }
                Some('\'') => {
                    out.push('\'');
                    chars.next();
                }
                // No escape: the backslash stands for itself.
                Some(_) => out.push_str("\\\\"),
                None => out.push('\\'),
            },
            c if c < ' ' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.get(before..) != Some(string)
}

/// Leaves out all but the last of several fields of one name, wherever they stand; `None` if no name comes twice.
fn without_doubles(json: &str, depth: usize) -> Option<String> {
    let trimmed = json.trim_start();
    let parts: Vec<(Option<Cow<'_, str>>, &RawValue)> = match trimmed.as_bytes().first() {
        Some(b'{') if depth < DEPTH_LIMIT => {
            let fields: Fields<'_> = serde_json::from_str(trimmed).ok()?;
            fields.0.into_iter().map(|(name, value)| (Some(name), value)).collect()
        }
        Some(b'[') if depth < DEPTH_LIMIT => {
            let elements: Vec<&RawValue> = serde_json::from_str(trimmed).ok()?;
            elements.into_iter().map(|value| (None, value)).collect()
        }
        _ => return None,
    };
    let mut changed = false;
    let mut kept: Vec<String> = Vec::new();
    let mut names = HashSet::new();
    for (name, value) in parts.into_iter().rev() {
        let quoted = name.map(|name| serde_json::Value::from(name).to_string());
        if quoted.as_ref().is_some_and(|name| !names.insert(name.clone())) {
            changed = true;
            continue;
        }
        let inner = without_doubles(value.get(), depth + 1);
        changed |= inner.is_some();
        let value = inner.as_deref().unwrap_or(value.get());
        kept.push(match quoted {
            Some(name) => format!("{name}:{value}"),
            None => value.to_owned(),
        });
    }
    kept.reverse();
    let (open, close) = if trimmed.starts_with('{') { ('{', '}') } else { ('[', ']') };
    changed.then(|| format!("{open}{}{close}", kept.join(",")))
}

/// The fields of an object as they stand, names that come twice too.
struct Fields<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de: 'a, 'a> serde::Deserialize<'de> for Fields<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> serde::de::Visitor<'de> for Reader {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
                let mut fields = Vec::new();
                while let Some((name, value)) = map.next_entry::<Cow<'de, str>, &RawValue>()? {
                    fields.push((name, value));
                }
                Ok(Fields(fields))
            }
        }

        deserializer.deserialize_map(Reader)
    }
}
