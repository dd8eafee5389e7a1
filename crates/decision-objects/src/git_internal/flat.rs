//! git-internal's objects, field by field in their order, read and printed by the tables of `schema`.
//!
//! Holds what those forms can hold, our rules or not; only spellings are made even, as its own writer makes them.

use std::borrow::Cow;

use uuid::Uuid;

use super::any_json;
use super::schema::{Field, HEADER, Kind, Presence, Shape};
use super::time::{self, Time};
use crate::invalid::excerpt;
use crate::json::{Fault, Fields, ParseError, Raw, Spelled, place, push_display, push_quoted, read};
use crate::{Digest, GitOid, Invalid};

/// The value under one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value<'a> {
    /// The key is not there, or there with `null` where that says the same.
    Absent,
    /// What its writer makes of a number that is none, such as NaN.
    NotANumber,
    Uuid(Uuid),
    Hash(Digest),
    /// The algorithm and the bytes.
    ObjectHash(&'static str, Vec<u8>),
    Text(Cow<'a, str>),
    Time(Time),
    Unsigned(u64),
    Signed(i32),
    /// A number as it is printed.
    Float(String),
    /// One of the words of the table.
    Word(&'static str),
    /// Another word, where the table allows that.
    Other(Cow<'a, str>),
    /// Any JSON, as it is printed.
    Json(Cow<'a, str>),
    List(Vec<Self>),
    Record(Vec<Self>),
    /// With the keys that no table has, and the JSON under them.
    OpenRecord(Vec<Self>, Vec<(String, String)>),
}

/// One object: the header's values, then its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Flat<'a> {
    pub(super) kind: Kind,
    header: Vec<Value<'a>>,
    body: Vec<Value<'a>>,
}

/// Values beside their table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Record<'v, 'a> {
    table: &'static [Field],
    values: &'v [Value<'a>],
}

impl<'a> Flat<'a> {
    /// Reads an object as one of the given kind, whatever it says that it is.
    pub(super) fn parse(mut fields: Fields<'a>, kind: Kind) -> Result<Self, ParseError> {
        let header = read_fields(&mut fields, HEADER)?;
        let body = read_fields(&mut fields, kind.fields())?;
        fields.close()?;
        Ok(Self { kind, header, body })
    }

    /// Takes the values, in the order of their tables.
    pub(super) const fn of(kind: Kind, header: Vec<Value<'a>>, body: Vec<Value<'a>>) -> Self {
        Self { kind, header, body }
    }

    /// Puts an object together; what is not given is absent.
    ///
    /// `header` holds a value for each field of a header. A key that the table has not is left out.
    pub(super) fn new<const N: usize>(
        kind: Kind,
        header: [Value<'a>; 5],
        given: [(&'static str, Value<'a>); N],
    ) -> Self {
        Self { kind, header: header.into(), body: fill(kind.fields(), given) }
    }

    pub(super) fn header(&self) -> Record<'_, 'a> {
        Record { table: HEADER, values: &self.header }
    }

    pub(super) fn body(&self) -> Record<'_, 'a> {
        Record { table: self.kind.fields(), values: &self.body }
    }

    pub(super) fn print(&self) -> String {
        let mut json = String::with_capacity(512);
        let mut separator = '{';
        for record in [self.header(), self.body()] {
            record.print(&mut json, &mut separator);
        }
        json.push('}');
        json
    }
}

/// The values of a record, in the order of its table.
pub(super) fn fill<'a, const N: usize>(
    table: &'static [Field],
    mut given: [(&'static str, Value<'a>); N],
) -> Vec<Value<'a>> {
    let values = table.iter().map(|field| {
        let place = given.iter_mut().find(|(key, _)| *key == field.key);
        let value = place.map(|(_, value)| std::mem::replace(value, Value::Absent));
        match (value, absent(field)) {
            (Some(Value::Absent) | None, Some(nothing)) => nothing,
            (value, _) => value.unwrap_or(Value::Absent),
        }
    });
    values.collect()
}

impl<'v, 'a> Record<'v, 'a> {
    pub(super) fn get(self, key: &str) -> &'v Value<'a> {
        let place = self.table.iter().position(|field| field.key == key);
        place.and_then(|place| self.values.get(place)).unwrap_or(&Value::Absent)
    }

    pub(super) fn uuid(self, key: &str) -> Option<Uuid> {
        if let Value::Uuid(uuid) = self.get(key) { Some(*uuid) } else { None }
    }

    pub(super) fn hash(self, key: &str) -> Option<Digest> {
        if let Value::Hash(hash) = self.get(key) { Some(*hash) } else { None }
    }

    /// A text, or a word of any kind.
    pub(super) fn text(self, key: &str) -> Option<&'v str> {
        match self.get(key) {
            Value::Text(text) | Value::Other(text) | Value::Json(text) => Some(text),
            Value::Word(word) => Some(word),
            Value::Float(number) => Some(number),
            _ => None,
        }
    }

    pub(super) fn unsigned(self, key: &str) -> Option<u64> {
        if let Value::Unsigned(number) = self.get(key) { Some(*number) } else { None }
    }

    pub(super) fn list(self, key: &str) -> &'v [Value<'a>] {
        if let Value::List(items) = self.get(key) { items } else { &[] }
    }

    pub(super) fn record(self, key: &str) -> Option<Record<'v, 'a>> {
        let field = self.table.iter().find(|field| field.key == key)?;
        match (field.shape, self.get(key)) {
            (Shape::Record(table), Value::Record(values))
            | (Shape::OpenRecord(table), Value::OpenRecord(values, _)) => Some(Record { table, values }),
            _ => None,
        }
    }

    /// The records of a list of records.
    pub(super) fn records(self, key: &str) -> Vec<Record<'v, 'a>> {
        let field = self.table.iter().find(|field| field.key == key);
        let Some(Shape::List(Shape::Record(table))) = field.map(|field| field.shape) else {
            return Vec::new();
        };
        let records = self.list(key).iter().map(|item| match item {
            Value::Record(values) => Record { table, values },
            _ => Record { table, values: &[] },
        });
        records.collect()
    }

    /// All fields with their values.
    pub(super) fn entries(self) -> impl Iterator<Item = (&'static Field, &'v Value<'a>)> {
        self.table.iter().zip(self.values)
    }

    fn print(self, json: &mut String, separator: &mut char) {
        for (field, value) in self.table.iter().zip(self.values) {
            let nothing = match value {
                Value::Absent => true,
                Value::List(items) => items.is_empty() && field.presence == Presence::Filled,
                _ => false,
            };
            if !nothing {
                json.push(*separator);
                *separator = ',';
                json.push('"');
                json.push_str(field.key);
                json.push_str("\":");
                value.print(field.shape, json);
            }
        }
    }
}

impl Value<'_> {
    pub(super) fn print(&self, shape: Shape, json: &mut String) {
        match (self, shape) {
            (Self::Absent | Self::NotANumber, _) => json.push_str("null"),
            (Self::Uuid(uuid), _) => push_plain(json, uuid.as_hyphenated().encode_lower(&mut place())),
            (Self::Hash(hash), _) => push_plain(json, hash.spelling(&mut place())),
            (Self::ObjectHash(algorithm, bytes), _) => {
                let numbers: Vec<String> = bytes.iter().map(u8::to_string).collect();
                push_display(json, &format_args!("{{\"{algorithm}\":[{}]}}", numbers.join(",")));
            }
            (Self::Other(text), Shape::TaggedWord(..)) => {
                json.push_str("{\"other\":");
                push_quoted(json, text);
                json.push('}');
            }
            (Self::Text(text) | Self::Other(text), _) => push_quoted(json, text),
            (Self::Word(word), _) => push_plain(json, word),
            (Self::Time(time), _) => push_plain(json, time.spelling(&mut place())),
            (Self::Unsigned(number), _) => push_display(json, number),
            (Self::Signed(number), _) => push_display(json, number),
            (Self::Float(text), _) => json.push_str(text),
            (Self::Json(text), _) => json.push_str(text),
            (Self::List(items), Shape::List(shape)) => {
                json.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        json.push(',');
                    }
                    item.print(*shape, json);
                }
                json.push(']');
            }
            (Self::Record(values), Shape::Record(table)) => print_record(table, values, &[], json),
            (Self::OpenRecord(values, more), Shape::OpenRecord(table)) => {
                print_record(table, values, more, json);
            }
            // No table puts a list or a record elsewhere.
            (Self::List(_) | Self::Record(_) | Self::OpenRecord(..), _) => json.push_str("null"),
        }
    }
}

/// Writes a text that holds nothing to be escaped.
fn push_plain(json: &mut String, text: &str) {
    json.push('"');
    json.push_str(text);
    json.push('"');
}

fn print_record(table: &'static [Field], values: &[Value<'_>], more: &[(String, String)], json: &mut String) {
    let mut separator = '{';
    Record { table, values }.print(json, &mut separator);
    for (key, value) in more {
        json.push(separator);
        separator = ',';
        push_quoted(json, key);
        json.push(':');
        json.push_str(value);
    }
    json.push_str(if separator == '{' { "{}" } else { "}" });
}

fn read_fields<'a>(fields: &mut Fields<'a>, table: &'static [Field]) -> Result<Vec<Value<'a>>, ParseError> {
    let mut values = Vec::with_capacity(table.len());
    for field in table {
        let value = match fields.optional(field.key, |raw| present(raw, field))? {
            Some(value) => value,
            None => absent(field).ok_or_else(|| ParseError::from(Fault::MissingKey).inside_key(field.key))?,
        };
        values.push(value);
    }
    Ok(values)
}

fn present<'a>(raw: Raw<'a>, field: &Field) -> Result<Value<'a>, ParseError> {
    match (raw.get(), field.presence, field.shape) {
        ("null", Presence::Optional, Shape::Float) => Ok(Value::NotANumber),
        // Its writer says so of a JSON value that is `null`; its reader takes it for absent.
        ("null", Presence::Optional, Shape::Json(_)) => Ok(Value::Json(Cow::Borrowed("null"))),
        ("null", Presence::Optional, _) => Ok(Value::Absent),
        _ => value(raw, field.shape),
    }
}

/// What an absent key is read as; `None` if it must be there.
fn absent(field: &Field) -> Option<Value<'static>> {
    match (field.presence, field.shape) {
        (Presence::Required, _) => None,
        (Presence::Optional, _) => Some(Value::Absent),
        (Presence::Filled | Presence::Defaulted, Shape::List(_)) => Some(Value::List(Vec::new())),
        (Presence::Filled | Presence::Defaulted, _) => Some(Value::Json(Cow::Borrowed("null"))),
    }
}

pub(super) fn value(raw: Raw<'_>, shape: Shape) -> Result<Value<'_>, ParseError> {
    Ok(match shape {
        Shape::Uuid => Value::Uuid(uuid(raw)?),
        Shape::Hash => Value::Hash(read::text_of(raw)?.parse()?),
        Shape::ObjectHash => object_hash(raw)?,
        Shape::Text => Value::Text(read::text_of(raw)?),
        Shape::Time => Value::Time(time::parse(&read::text_of(raw)?)?),
        Shape::Unsigned(most, expected) => {
            let number: u64 = read::number(raw, expected)?;
            if number > most {
                return Err(Fault::NumberRange { found: excerpt(raw.get()), expected }.into());
            }
            Value::Unsigned(number)
        }
        Shape::Signed => Value::Signed(read::signed(raw)?),
        Shape::Float => Value::Float(any_json::float(raw)?),
        Shape::Word(words, expected) | Shape::HeaderWord(words, expected) => {
            let nothing = if matches!(shape, Shape::HeaderWord(..)) { null_or_empty } else { null };
            let word = match tag(raw, words, nothing)? {
                Some(word) => word,
                None => read::word(raw, expected, |word| known(words, word))?,
            };
            Value::Word(word)
        }
        Shape::OpenWord(words) => match tag(raw, words, null)? {
            Some(word) => Value::Word(word),
            None => {
                let text = read::text_of(raw)?;
                known(words, &text).map_or(Value::Other(text), Value::Word)
            }
        },
        Shape::TaggedWord(words, expected) => tagged(raw, words, expected)?,
        Shape::Json(around) => Value::Json(Cow::Owned(any_json::respelled(raw, around)?)),
        Shape::List(shape) => Value::List(read::list(raw, |item| value(item, *shape))?),
        Shape::Record(table) => Value::Record(record(raw, table)?),
        Shape::OpenRecord(table) => {
            let mut fields = Fields::open(raw)?;
            let values = read_fields(&mut fields, table)?;
            let more = fields.rest().map(|(key, raw)| {
                let json = any_json::respelled(raw, 2).map_err(|error| error.inside_key(&key))?;
                Ok((key.into_owned(), json))
            });
            Value::OpenRecord(values, more.collect::<Result<_, ParseError>>()?)
        }
    })
}

fn uuid(raw: Raw<'_>) -> Result<Uuid, ParseError> {
    let text = read::text_of(raw)?;
    Uuid::parse_str(&text).map_err(|_| Invalid::Uuid { text: excerpt(&text) }.into())
}

pub(super) fn known(words: &'static [&'static str], found: &str) -> Option<&'static str> {
    words.iter().copied().find(|word| *word == found)
}

/// The word under `object_type`, in whatever way it is written.
pub(super) fn object_type(raw: Raw<'_>) -> Result<Cow<'_, str>, ParseError> {
    match HEADER.iter().find(|field| field.key == "object_type").map(|field| value(raw, field.shape)) {
        Some(Ok(Value::Word(word))) => Ok(Cow::Borrowed(word)),
        _ => read::text_of(raw),
    }
}

/// The word of `{"commit":null}`, which its reader takes for `"commit"`; `None` if it is no object.
///
/// `nothing` checks what stands under the word.
fn tag(
    raw: Raw<'_>,
    words: &'static [&'static str],
    nothing: fn(Raw<'_>) -> Result<(), ParseError>,
) -> Result<Option<&'static str>, ParseError> {
    if read::expect_type(raw, "an object").is_err() {
        return Ok(None);
    }
    let mut fields = Fields::open(raw)?;
    let mut meant = None;
    for word in words {
        if meant.is_none() && fields.optional(word, nothing)?.is_some() {
            meant = Some(*word);
        }
    }
    fields.close()?;
    meant.map(Some).ok_or_else(|| Fault::WrongType { expected: "a string", found: "an object" }.into())
}

fn null(raw: Raw<'_>) -> Result<(), ParseError> {
    read::expect_type(raw, "null")
}

fn null_or_empty(raw: Raw<'_>) -> Result<(), ParseError> {
    match read::expect_type(raw, "an object") {
        Ok(()) => Fields::open(raw)?.close(),
        Err(_) => null(raw),
    }
}

fn tagged<'a>(
    raw: Raw<'a>,
    words: &'static [&'static str],
    expected: &'static str,
) -> Result<Value<'a>, ParseError> {
    if read::expect_type(raw, "an object").is_err() {
        return Ok(Value::Word(read::word(raw, expected, |word| known(words, word))?));
    }
    let mut fields = Fields::open(raw)?;
    match fields.optional("other", read::text_of)? {
        Some(other) => {
            fields.close()?;
            Ok(Value::Other(other))
        }
        None => Ok(tag(raw, words, null)?.map_or(Value::Absent, Value::Word)),
    }
}

/// A record, also as an array in the order of its table, which its reader takes too.
fn record<'a>(raw: Raw<'a>, table: &'static [Field]) -> Result<Vec<Value<'a>>, ParseError> {
    if read::expect_type(raw, "an array").is_err() {
        let mut fields = Fields::open(raw)?;
        let values = read_fields(&mut fields, table)?;
        fields.close()?;
        return Ok(values);
    }
    let items = read::items(raw)?;
    if items.len() > table.len() {
        return Err(Fault::WrongType { expected: "an object", found: "an array" }.into());
    }
    let mut items = items.into_iter().enumerate();
    let values = table.iter().map(|field| match items.next() {
        Some((index, raw)) => present(raw, field).map_err(|error| error.inside_index(index)),
        None => absent(field).ok_or_else(|| ParseError::from(Fault::MissingKey).inside_key(field.key)),
    });
    values.collect()
}

fn object_hash(raw: Raw<'_>) -> Result<Value<'_>, ParseError> {
    const LENGTHS: [(&str, usize); 3] = [("Sha1", 20), ("Sha256", 32), ("Blake3", 32)];
    let mut fields = Fields::open(raw)?;
    let byte = |raw| read::number::<u8>(raw, "a whole number from 0 to 255");
    let mut found = None;
    for (algorithm, length) in LENGTHS {
        let bytes =
            if found.is_none() { fields.optional(algorithm, |raw| read::list(raw, byte))? } else { None };
        if let Some(bytes) = bytes {
            if bytes.len() != length {
                let fault = Fault::NumberRange {
                    found: format!("{} bytes", bytes.len()),
                    expected: "the length of a digest of that algorithm",
                };
                return Err(ParseError::from(fault).inside_key(algorithm));
            }
            found = Some(Value::ObjectHash(algorithm, bytes));
        }
    }
    fields.close()?;
    found.ok_or_else(|| Fault::WrongType { expected: "an object with a digest", found: "another one" }.into())
}

/// The name of a commit as it stands there: 64 digits, those of a SHA-1 name filled up with zeros.
pub(super) fn padded(commit: GitOid) -> Digest {
    let mut bytes = [0; 32];
    match commit {
        GitOid::Sha1(name) => bytes.iter_mut().zip(name).for_each(|(byte, given)| *byte = given),
        GitOid::Sha256(name) => bytes = name,
    }
    Digest::from_bytes(bytes)
}
