//! One JSON object, taken apart key by key.
//!
//! A general JSON value keeps the last of two equal keys and says nothing; here every entry is kept until it is asked for,
//! and what nobody asked for is a fault. Values stay unparsed text until their reader is known,
//! so no setting of the JSON library (such as arbitrary precision) changes what is read.

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::{Fault, ParseError, read};

/// A value of the document that has not been read yet.
pub(crate) type Raw<'a> = &'a RawValue;

pub(crate) struct Fields<'a> {
    left: Vec<(String, Raw<'a>)>,
    taken: Vec<&'static str>,
}

impl<'a> Fields<'a> {
    pub(crate) fn open(raw: Raw<'a>) -> Result<Self, ParseError> {
        read::expect_type(raw, "an object")?;
        let Entries(left) = read::typed(raw)?;
        Ok(Self { left, taken: Vec::new() })
    }

    pub(crate) fn required<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(Raw<'a>) -> Result<T, ParseError>,
    ) -> Result<T, ParseError> {
        let value = self.optional(key, read)?;
        value.ok_or_else(|| ParseError::from(Fault::MissingKey).inside_key(key))
    }

    pub(crate) fn optional<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(Raw<'a>) -> Result<T, ParseError>,
    ) -> Result<Option<T>, ParseError> {
        self.take(key).map(|raw| read(raw).map_err(|error| error.inside_key(key))).transpose()
    }

    /// Reads a key whose value may also be `null`, which then counts as absent.
    pub(crate) fn nullable<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(Raw<'a>) -> Result<T, ParseError>,
    ) -> Result<Option<T>, ParseError> {
        let read = |raw: Raw<'a>| if raw.get() == "null" { Ok(None) } else { read(raw).map(Some) };
        self.optional(key, read).map(Option::flatten)
    }

    /// Refuses what nobody asked for.
    pub(crate) fn close(self) -> Result<(), ParseError> {
        match self.left.first() {
            Some((key, _)) => {
                let duplicate = self.taken.contains(&key.as_str());
                let fault = if duplicate { Fault::DuplicateKey } else { Fault::UnknownKey };
                Err(ParseError::from(fault).inside_key(key))
            }
            None => Ok(()),
        }
    }

    fn take(&mut self, key: &'static str) -> Option<Raw<'a>> {
        self.taken.push(key);
        let place = self.left.iter().position(|(name, _)| name == key)?;
        Some(self.left.remove(place).1)
    }
}

/// All entries of an object in their order, equal keys included.
struct Entries<'a>(Vec<(String, Raw<'a>)>);

impl<'de> Deserialize<'de> for Entries<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AllEntries;

        impl<'de> Visitor<'de> for AllEntries {
            type Value = Entries<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }

        deserializer.deserialize_map(AllEntries)
    }
}
