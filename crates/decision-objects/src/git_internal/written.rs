//! Reads a text in one pass if it is just what git-internal's writer writes.
//!
//! Nearly all of them are. Then nothing has to be looked for and nothing printed again to find another spelling; what is
//! not taken here (white space, another order, whatever is wrong) is read with care by `flat`, which also says what is
//! wrong. So no error comes from here, and nothing is read in two ways.

use std::borrow::Cow;

use uuid::Uuid;

use super::Kind;
use super::flat::{self, Flat, Value};
use super::schema::{Field, HEADER, Presence, Shape};
use super::time::Time;
use crate::json::{Raw, Spelled, place, quoted, scan};
use crate::{Digest, Timestamp};

/// Reads an object; without a kind, as what its `object_type` says.
pub(super) fn read(json: &[u8], kind: Option<Kind>) -> Option<Flat<'_>> {
    let mut rest = Rest(std::str::from_utf8(json).ok()?);
    let mut separator = "{";
    let header = rest.fields(HEADER, &mut separator)?;
    let kind = match (kind, header.get(1)) {
        (Some(kind), _) => kind,
        (None, Some(Value::Word(word))) => Kind::of_word(word)?,
        _ => return None,
    };
    let body = rest.fields(kind.fields(), &mut separator)?;
    rest.literal("}")?;
    rest.0.is_empty().then(|| Flat::of(kind, header, body))
}

/// What has not been read yet.
struct Rest<'a>(&'a str);

impl<'a> Rest<'a> {
    /// The values under the keys of a table; `separator` stands before the next key.
    fn fields(&mut self, table: &'static [Field], separator: &mut &'static str) -> Option<Vec<Value<'a>>> {
        let mut values = Vec::with_capacity(table.len());
        for field in table {
            let value = if self.key(separator, field.key).is_some() {
                *separator = ",";
                self.present(field)?
            } else {
                match (field.presence, field.shape) {
                    (Presence::Optional, _) => Value::Absent,
                    (Presence::Filled, Shape::List(_)) => Value::List(Vec::new()),
                    _ => return None,
                }
            };
            values.push(value);
        }
        Some(values)
    }

    fn key(&mut self, separator: &str, key: &str) -> Option<()> {
        let (before, rest) = self.0.split_at_checked(key.len() + 4)?;
        let is_it = before.get(2..before.len() - 2) == Some(key)
            && before.starts_with(separator)
            && before.as_bytes().get(1) == Some(&b'"')
            && before.ends_with("\":");
        is_it.then(|| self.0 = rest)
    }

    fn present(&mut self, field: &Field) -> Option<Value<'a>> {
        match (self.value(field.shape)?, field.presence) {
            // Such a list is left out.
            (Value::List(items), Presence::Filled) if items.is_empty() => None,
            (value, _) => Some(value),
        }
    }

    fn value(&mut self, shape: Shape) -> Option<Value<'a>> {
        Some(match shape {
            Shape::Uuid => {
                // All other spellings have another length.
                let text = self.short().filter(|text| text.len() == 36 && is_lower(text))?;
                Value::Uuid(Uuid::try_parse(text).ok()?)
            }
            Shape::Hash => {
                let text = self.short()?;
                Value::Hash(text.parse::<Digest>().ok().filter(|_| is_lower(text))?)
            }
            Shape::Text => Value::Text(self.text()?),
            Shape::Time => {
                let text = self.short()?;
                Value::Time(Time::Ours(
                    Timestamp::of_plain(text).filter(|time| time.spelling(&mut place()) == text)?,
                ))
            }
            Shape::Unsigned(most, _) => Value::Unsigned(self.number().filter(|number| *number <= most)?),
            Shape::Word(words, _) | Shape::HeaderWord(words, _) => {
                Value::Word(flat::known(words, self.short()?)?)
            }
            Shape::OpenWord(words) => {
                let text = self.text()?;
                flat::known(words, &text).map_or(Value::Other(text), Value::Word)
            }
            Shape::List(shape) => Value::List(self.items(*shape)?),
            Shape::Record(table) => {
                let mut separator = "{";
                let values = self.fields(table, &mut separator)?;
                self.literal(if separator == "{" { "{}" } else { "}" })?;
                Value::Record(values)
            }
            _ => self.compared(shape)?,
        })
    }

    fn items(&mut self, shape: Shape) -> Option<Vec<Value<'a>>> {
        self.literal("[")?;
        let mut items = Vec::new();
        if self.literal("]").is_some() {
            return Some(items);
        }
        loop {
            items.push(self.value(shape)?);
            if self.literal("]").is_some() {
                return Some(items);
            }
            self.literal(",")?;
        }
    }

    /// A value that is read with care and then compared with how it prints.
    fn compared(&mut self, shape: Shape) -> Option<Value<'a>> {
        let json = scan::first(self.0)?;
        let value = flat::value(Raw::strict(json), shape).ok()?;
        let mut printed = String::with_capacity(json.len());
        value.print(shape, &mut printed);
        self.literal(json)?;
        // Where it may be left out, `null` is how it is left out; only of JSON it is a value.
        (printed == json && (json != "null" || matches!(shape, Shape::Json(_)))).then_some(value)
    }

    fn text(&mut self) -> Option<Cow<'a, str>> {
        let json = scan::first(self.0).filter(|json| json.starts_with('"'))?;
        self.literal(json)?;
        let inside = json.get(1..json.len() - 1)?;
        if !inside.as_bytes().contains(&b'\\') {
            return Some(Cow::Borrowed(inside));
        }
        let text: String = serde_json::from_str(json).ok()?;
        (quoted(&text) == json).then_some(Cow::Owned(text))
    }

    fn number(&mut self) -> Option<u64> {
        let length = self.0.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, rest) = self.0.split_at(length);
        self.0 = rest;
        digits.parse().ok().filter(|_| length == 1 || !digits.starts_with('0'))
    }

    /// A text of a kind that holds nothing to be escaped; whatever else stands in it, its reader refuses.
    fn short(&mut self) -> Option<&'a str> {
        let (text, rest) = self.0.strip_prefix('"')?.split_once('"')?;
        self.0 = rest;
        Some(text)
    }

    fn literal(&mut self, text: &str) -> Option<()> {
        self.0 = self.0.strip_prefix(text)?;
        Some(())
    }
}

fn is_lower(text: &str) -> bool {
    !text.bytes().any(|byte| byte.is_ascii_uppercase())
}
