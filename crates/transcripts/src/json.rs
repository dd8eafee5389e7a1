//! JSON read as deep as it is understood, with the bytes of each value.
//!
//! Nothing is parsed further: what is carried stays the text that it was, whatever it nests, and the parser that skips
//! over it does not recurse. What is understood on several levels is found in one pass, along a [`Plan`]: whoever asks for
//! one level after the other reads what is nested most as many times.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::ops::Range;

use memchr::{memchr, memchr_iter};
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// A value as it stands in its text.
#[derive(Clone, Debug)]
pub(crate) struct Value<'a> {
    raw: &'a str,
    within: Within<'a>,
}

/// What was found in a value on the same pass.
#[derive(Clone, Debug)]
enum Within<'a> {
    /// It is empty, or was not looked into.
    Nothing,
    Fields(Fields<'a>),
    Items(Vec<Value<'a>>),
}

/// The fields of one object, in order.
#[derive(Clone, Debug)]
pub(crate) struct Fields<'a>(Vec<(Cow<'a, str>, Value<'a>)>);

/// The fields of an object that are looked into on the pass that finds them, and what is looked into there. A plan for an
/// array is one for its elements; in an array of arrays nothing is.
#[derive(Debug)]
pub(crate) struct Plan(&'static [(&'static str, Plan)]);

impl Plan {
    const FLAT: Plan = Plan(&[]);
    const PART: Plan = Plan(&[("source", Plan::FLAT)]);
    const BLOCK: Plan = Plan(&[("content", Plan::PART), ("source", Plan::FLAT)]);
    const CALL: Plan = Plan(&[("function", Plan::FLAT), ("custom", Plan::FLAT)]);
    const MESSAGE: Plan =
        Plan(&[("content", Plan::BLOCK), ("usage", Plan::FLAT), ("tool_calls", Plan::CALL)]);
    /// A record of a session, a message of a list, or the body of a request.
    const ROOT: Plan = Plan(&[
        ("message", Plan::MESSAGE),
        ("messages", Plan::MESSAGE),
        ("system", Plan::BLOCK),
        ("content", Plan::BLOCK),
        ("usage", Plan::FLAT),
        ("tool_calls", Plan::CALL),
        // A line of Codex.
        ("payload", Plan(&[("content", Plan::FLAT), ("summary", Plan::FLAT), ("info", Plan::FLAT)])),
        // A line of Gemini CLI.
        ("toolCalls", Plan::FLAT),
        ("thoughts", Plan::FLAT),
        ("tokens", Plan::FLAT),
    ]);

    fn of(&self, name: &str) -> Option<&'static Plan> {
        self.0.iter().find(|(field, _)| *field == name).map(|(_, plan)| plan)
    }
}

#[derive(serde::Deserialize)]
#[serde(transparent)]
struct Words<'a>(#[serde(borrow)] Cow<'a, str>);

/// Reads a value whose beginning is known: a parser does not tell where it is, so each place follows from the one before.
#[derive(Copy, Clone)]
struct Pass<'a> {
    text: &'a str,
    at: usize,
    plan: &'static Plan,
    /// How many fields there is room for at first.
    room: usize,
}

impl<'a> Pass<'a> {
    fn byte(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    /// Returns the place of the next byte that is no white space.
    fn solid(&self, from: usize) -> usize {
        let rest = self.text.as_bytes().get(from..).unwrap_or_default();
        from + rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count()
    }

    /// Returns the place of what follows a value and then a sign.
    fn after(&self, value: &str, sign: u8) -> usize {
        let at = self.solid(range_in(self.text, value).end);
        if self.byte(at) == Some(sign) { self.solid(at + 1) } else { at }
    }

    /// Returns the value that ends with a sign behind its last part.
    fn value<E: Error>(
        &self,
        last: Option<&Value<'a>>,
        sign: u8,
        within: Within<'a>,
    ) -> Result<Value<'a>, E> {
        let from = last.map_or(self.at + 1, |last| range_in(self.text, last.raw).end);
        let end = self.solid(from);
        let raw = self.text.get(self.at..end + 1).filter(|_| self.byte(end) == Some(sign));
        let raw = raw.ok_or_else(|| E::custom("a value is not where it was expected"))?;
        Ok(Value { raw, within: if last.is_some() { within } else { Within::Nothing } })
    }
}

impl<'de> DeserializeSeed<'de> for Pass<'de> {
    type Value = Value<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value<'de>, D::Error> {
        match self.byte(self.at) {
            Some(b'{') => deserializer.deserialize_map(self),
            Some(b'[') => deserializer.deserialize_seq(self),
            _ => unread(deserializer),
        }
    }
}

/// Returns a name that nearly every object has, as one of our own: whoever looks for it later need not go to the text again.
fn known(name: &str) -> Option<&'static str> {
    const KNOWN: [&str; 12] = [
        "type",
        "role",
        "content",
        "text",
        "id",
        "name",
        "input",
        "message",
        "uuid",
        "tool_use_id",
        "cwd",
        "usage",
    ];
    KNOWN.into_iter().find(|known| *known == name)
}

fn unread<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Value<'de>, D::Error> {
    Value::deserialize(deserializer)
}

impl<'de> Visitor<'de> for Pass<'de> {
    type Value = Value<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or an array")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value<'de>, A::Error> {
        let mut fields = Vec::with_capacity(self.room);
        while let Some(Words(key)) = map.next_key()? {
            let value = match (&key, self.plan.of(&key)) {
                (Cow::Borrowed(name), Some(plan)) => {
                    let quote = range_in(self.text, name).end;
                    let at = self.after(self.text.get(..quote + 1).unwrap_or_default(), b':');
                    map.next_value_seed(Pass { text: self.text, at, plan, room: 0 })?
                }
                _ => map.next_value()?,
            };
            fields.push((known(&key).map_or(key, Cow::Borrowed), value));
        }
        let fields = Fields(fields);
        let last = fields.0.last().map(|(_, value)| value.unread());
        self.value(last.as_ref(), b'}', Within::Fields(fields))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value<'de>, A::Error> {
        let mut items: Vec<Value<'de>> = Vec::new();
        let mut at = self.solid(self.at + 1);
        loop {
            let next = match self.byte(at) {
                Some(b'{') => seq.next_element_seed(Pass { at, room: 0, ..self })?,
                _ => seq.next_element()?,
            };
            let Some(item) = next else { break };
            at = self.after(item.raw, b',');
            items.push(item);
        }
        let last = items.last().map(Value::unread);
        self.value(last.as_ref(), b']', Within::Items(items))
    }
}

impl<'de> Deserialize<'de> for Value<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <&RawValue>::deserialize(deserializer).map(|raw| Value { raw: raw.get(), within: Within::Nothing })
    }
}

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AsFields;
        impl<'de> Visitor<'de> for AsFields {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some(key) = map.next_key::<Words<'de>>()? {
                    fields.push((key.0, map.next_value()?));
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(AsFields)
    }
}

impl<'a> Value<'a> {
    /// Reads one value, such as a line or a whole file, and what is understood in it.
    pub(crate) fn read(text: &'a str) -> Result<Self, serde_json::Error> {
        Value::along(&Plan::ROOT, text)
    }

    /// Reads one value along a plan; in what cannot be read along it nothing is looked into.
    fn along(plan: &'static Plan, text: &'a str) -> Result<Self, serde_json::Error> {
        // As many as a record of a session has.
        let pass = Pass { text, at: 0, plan, room: 16 };
        let pass = Pass { at: pass.solid(0), ..pass };
        let mut parser = serde_json::Deserializer::from_str(text);
        let value = pass.deserialize(&mut parser).and_then(|value| parser.end().map(|()| value));
        value.or_else(|_| serde_json::from_str(text))
    }

    /// Returns the bytes.
    pub(crate) fn get(&self) -> &'a str {
        self.raw
    }

    /// Returns the same value with nothing found in it.
    pub(crate) fn unread(&self) -> Self {
        Value { raw: self.raw, within: Within::Nothing }
    }

    /// Returns the fields, if it is an object.
    pub(crate) fn fields(&self) -> Option<Cow<'_, Fields<'a>>> {
        match &self.within {
            Within::Fields(fields) => Some(Cow::Borrowed(fields)),
            Within::Nothing if self.raw.starts_with('{') => Fields::parse(self.raw).ok().map(Cow::Owned),
            _ => None,
        }
    }

    /// Returns the elements, if it is an array.
    pub(crate) fn items(&self) -> Option<Cow<'_, [Value<'a>]>> {
        match &self.within {
            Within::Items(items) => Some(Cow::Borrowed(items)),
            Within::Nothing if self.raw.starts_with('[') => {
                match Value::along(&Plan::FLAT, self.raw).ok()?.within {
                    Within::Items(items) => Some(Cow::Owned(items)),
                    _ => serde_json::from_str(self.raw).ok().map(Cow::Owned),
                }
            }
            _ => None,
        }
    }

    /// Returns the text, if it is a string.
    pub(crate) fn text(&self) -> Option<Cow<'a, str>> {
        let words = self.raw.strip_prefix('"')?.strip_suffix('"')?;
        match memchr(b'\\', words.as_bytes()) {
            None => Some(Cow::Borrowed(words)),
            Some(escape) => match unescaped(words, escape) {
                Some(text) => Some(Cow::Owned(text)),
                None => serde_json::from_str::<Words<'_>>(self.raw).ok().map(|words| words.0),
            },
        }
    }

    /// Tells whether it is `null`.
    fn is_null(&self) -> bool {
        self.raw == "null"
    }
}

/// Returns what a string stands for whose first escape is told; `None` if one of them stands for a number.
fn unescaped(words: &str, first: usize) -> Option<String> {
    let mut text = String::with_capacity(words.len());
    let (mut rest, mut at) = (words, Some(first));
    while let Some(escape) = at {
        text.push_str(rest.get(..escape)?);
        text.push(match rest.as_bytes().get(escape + 1)? {
            b'n' => '\n',
            b't' => '\t',
            b'r' => '\r',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            sign @ (b'"' | b'\\' | b'/') => char::from(*sign),
            _ => return None,
        });
        rest = rest.get(escape + 2..)?;
        at = memchr(b'\\', rest.as_bytes());
    }
    text.push_str(rest);
    Some(text)
}

impl<'a> Fields<'a> {
    /// Reads one object.
    pub(crate) fn parse(text: &'a str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// Returns a field's value; the last one counts if there are several. `null` is nothing.
    pub(crate) fn get(&self, name: &str) -> Option<&Value<'a>> {
        self.0
            .iter()
            .rev()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value)
            .filter(|value| !value.is_null())
    }

    /// Tells whether there is such a field, `null` or not.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(key, _)| key == name)
    }

    /// Returns the names of the fields that are not `null`, each once.
    pub(crate) fn names(&self) -> Vec<&str> {
        let mut seen = HashSet::new();
        let said = self.0.iter().filter(|(_, value)| !value.is_null()).map(|(name, _)| name.as_ref());
        said.filter(|name| seen.insert(*name)).collect()
    }

    /// Returns the fields, `null` or not, in order.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&str, &Value<'a>)> {
        self.0.iter().map(|(name, value)| (name.as_ref(), value))
    }

    /// Returns the field's text, if it is a string.
    pub(crate) fn text(&self, name: &str) -> Option<Cow<'a, str>> {
        self.get(name).and_then(Value::text)
    }

    /// Returns the object in a field, if it is one.
    pub(crate) fn object(&self, name: &str) -> Option<Cow<'_, Fields<'a>>> {
        self.get(name).and_then(Value::fields)
    }

    /// Returns the elements in a field, if it is an array.
    pub(crate) fn items(&self, name: &str) -> Option<Cow<'_, [Value<'a>]>> {
        self.get(name).and_then(Value::items)
    }

    /// Returns the elements in a field; an object that stands there in place of an array of it alone is one, and an empty object
    /// is none.
    pub(crate) fn items_or_one(&self, name: &str) -> Option<Cow<'_, [Value<'a>]>> {
        let raw = self.get(name)?;
        let one = || match raw.fields()?.entries().next() {
            Some(_) => Some(Cow::Borrowed(std::slice::from_ref(raw))),
            None => Some(Cow::Borrowed(&[][..])),
        };
        raw.items().or_else(one)
    }

    /// Returns the number in a field, or 0.
    pub(crate) fn count(&self, name: &str) -> u64 {
        self.get(name).and_then(|raw| raw.get().parse().ok()).unwrap_or(0)
    }

    /// Tells whether the field is `true`.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.get(name).is_some_and(|raw| raw.get() == "true")
    }

    /// Writes the object with other values for some fields: `None` removes one, and a new one goes to the end.
    pub(crate) fn rewrite(&self, edits: &[(&str, Option<String>)]) -> String {
        let mut out = String::from("{");
        let mut field = |key: &str, value: &str| {
            if out.len() > 1 {
                out.push(',');
            }
            out.push_str(&quote(key));
            out.push(':');
            out.push_str(value);
        };
        let mut written: Vec<&str> = Vec::new();
        for (key, raw) in &self.0 {
            match edits.iter().find(|(name, _)| name == key) {
                None => field(key, raw.get()),
                Some((name, _)) if written.contains(name) => {}
                Some((name, value)) => {
                    written.push(name);
                    if let Some(value) = value {
                        field(key, value);
                    }
                }
            }
        }
        for (name, value) in edits {
            if let Some(value) = value
                && !written.contains(name)
            {
                field(name, value);
            }
        }
        out.push('}');
        out
    }
}

/// Writes an object from values that are JSON already; `None` is left out.
pub(crate) fn object(fields: &[(&str, Option<String>)]) -> String {
    Fields(Vec::new()).rewrite(fields)
}

/// Returns the lines of a text, without their ends.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = &str> {
    let ends = memchr_iter(b'\n', text.as_bytes()).chain([text.len()]);
    ends.scan(0, |start, end| text.get(std::mem::replace(start, end + 1)..end))
}

/// Returns where a part of a text stands in it; an empty place for what is no part of it.
pub(crate) fn range_in(whole: &str, part: &str) -> Range<usize> {
    let start = part.as_ptr().addr().wrapping_sub(whole.as_ptr().addr());
    match start.checked_add(part.len()) {
        Some(end) if end <= whole.len() => start..end,
        _ => 0..0,
    }
}

/// Returns what a parser said of one line, without the line that it counted itself.
pub(crate) fn reason(fault: &serde_json::Error) -> String {
    fault.to_string().replace(" at line 1 column ", " at column ")
}

/// Writes a string as JSON.
pub(crate) fn quote(text: &str) -> String {
    serde_json::to_string(text).expect("a string is always JSON")
}
