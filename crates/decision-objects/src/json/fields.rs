//! One JSON object, taken apart key by key.
//!
//! A general JSON value keeps the last of two equal keys and says nothing; here every entry is kept until it is asked for,
//! and what nobody asked for is a fault. Values stay unparsed text until their reader is known,
//! so no setting of the JSON library (such as arbitrary precision) changes what is read.

use std::borrow::Cow;

use super::salvage::{Sink, stand_in};
use super::scan::Ahead;
use super::{Fault, ParseError, read};
use crate::sealed::Faults;

/// A value of the document that has not been read yet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Raw<'a> {
    /// One whole JSON value, checked.
    json: &'a str,
    /// Where faults go if the reading is to go on after the first one.
    sink: Option<&'a Sink>,
    /// Its fault is not told: the whole text is read again then.
    ahead: bool,
}

impl<'a> Raw<'a> {
    pub(crate) const fn strict(json: &'a str) -> Self {
        Self { json, sink: None, ahead: false }
    }

    /// Another value inside this one.
    pub(super) const fn part(self, json: &'a str) -> Self {
        Self { json, ..self }
    }

    pub(crate) const fn get(self) -> &'a str {
        self.json
    }

    pub(super) const fn sink(self) -> Option<&'a Sink> {
        self.sink
    }
}

#[derive(Debug)]
pub(crate) struct Fields<'a> {
    /// Empty while the object is read as its keys come.
    entries: Vec<Entry<'a>>,
    ahead: Option<Ahead<'a>>,
    /// The entry after the one that was asked for last: texts are mostly in the order of their form.
    next: usize,
    sink: Option<&'a Sink>,
    /// How many faults the sink held at the beginning.
    before: usize,
    /// A word that says which keys belong here could not be read, so nobody knows.
    unsure: bool,
    /// Under what keys something takes the place of what could not be read.
    unread: Vec<&'static str>,
}

#[derive(Debug)]
pub(super) struct Entry<'a> {
    pub(super) key: Cow<'a, str>,
    pub(super) json: &'a str,
    pub(super) taken: bool,
}

impl<'a> Fields<'a> {
    pub(crate) fn open(raw: Raw<'a>) -> Result<Self, ParseError> {
        read::expect_type(raw, "an object")?;
        match Ahead::open(raw.get()).filter(|_| raw.ahead) {
            Some(ahead) => Ok(Self::reading(ahead)),
            None => Ok(Self::of(read::object(raw)?, raw.sink())),
        }
    }

    /// Reads a whole document, most quickly if its keys are in the order in which they are asked for.
    ///
    /// `read` is called again if anything was amiss: only then is it said what, and all keys are known beforehand.
    pub(crate) fn read<T>(
        json: &'a [u8],
        read: impl Fn(Self) -> Result<T, ParseError>,
    ) -> Result<T, ParseError> {
        let ahead = std::str::from_utf8(json).ok().and_then(Ahead::open);
        match ahead.map(|ahead| read(Self::reading(ahead))) {
            Some(Ok(value)) => Ok(value),
            _ => read(Self::document(json, None)?),
        }
    }

    const fn reading(ahead: Ahead<'a>) -> Self {
        Self {
            entries: Vec::new(),
            ahead: Some(ahead),
            next: 0,
            sink: None,
            before: 0,
            unsure: false,
            unread: Vec::new(),
        }
    }

    /// Opens a whole document; its syntax is checked on the way.
    pub(crate) fn document(json: &'a [u8], sink: Option<&'a Sink>) -> Result<Self, ParseError> {
        Ok(Self::of(read::document_object(json)?, sink))
    }

    fn of(entries: Vec<Entry<'a>>, sink: Option<&'a Sink>) -> Self {
        let before = sink.map_or(0, Sink::len);
        Self { entries, ahead: None, next: 0, sink, before, unsure: false, unread: Vec::new() }
    }

    pub(crate) fn required<T>(
        &mut self,
        key: &'static str,
        read: impl Fn(Raw<'a>) -> Result<T, ParseError>,
    ) -> Result<T, ParseError> {
        match self.take(key) {
            Some(json) => self.value(key, json, &read),
            None => {
                let error = ParseError::from(Fault::MissingKey).inside_key(key);
                match self.sink {
                    Some(sink) if !self.unsure => sink.push(error.clone()),
                    _ => {}
                }
                self.instead(key, &read, error)
            }
        }
    }

    pub(crate) fn optional<T>(
        &mut self,
        key: &'static str,
        read: impl Fn(Raw<'a>) -> Result<T, ParseError>,
    ) -> Result<Option<T>, ParseError> {
        self.take(key).map(|json| self.value(key, json, &read)).transpose()
    }

    /// Refuses a whole for the first thing that it breaks; while faults are collected, tells all of them.
    ///
    /// What rests on something that could not be read is not told then.
    pub(crate) fn refuse(&mut self, faults: Faults) -> Result<(), ParseError> {
        let Some(sink) = self.sink else { return Ok(faults.first()?) };
        for broken in faults {
            if !broken.keys.iter().any(|key| self.unread.contains(key)) {
                sink.push(broken.why.into());
            }
        }
        Ok(())
    }

    /// Closes after everything was read and put together.
    ///
    /// While faults are collected, unknown keys are looked for also if only the putting together failed.
    pub(crate) fn settle<T>(self, value: Result<T, ParseError>) -> Result<T, ParseError> {
        match (value, self.sink) {
            (Err(error), Some(sink)) if sink.len() == self.before => {
                sink.push(error.clone());
                self.close()?;
                Err(error)
            }
            (value, _) => {
                let value = value?;
                self.close()?;
                Ok(value)
            }
        }
    }

    /// Refuses what nobody asked for.
    pub(crate) fn close(self) -> Result<(), ParseError> {
        if let Some(ahead) = self.ahead {
            return ahead.close().ok_or_else(|| Fault::UnknownKey.into());
        }
        let mut left = self.entries.iter().filter(|entry| !entry.taken).peekable();
        if left.peek().is_none() {
            return Ok(());
        }
        // A form has a few keys; a hostile object may have as many as it likes.
        let taken: Vec<&str> =
            self.entries.iter().filter(|entry| entry.taken).map(|entry| &*entry.key).collect();
        let mut faults = left.map(|entry| {
            let duplicate = taken.contains(&&*entry.key);
            let fault = if duplicate { Fault::DuplicateKey } else { Fault::UnknownKey };
            ParseError::from(fault).inside_key(&entry.key)
        });
        match self.sink {
            None => faults.next().map_or(Ok(()), Err),
            Some(sink) => {
                faults
                    .filter(|error| !(self.unsure && *error.fault() == Fault::UnknownKey))
                    .for_each(|error| sink.push(error));
                Ok(())
            }
        }
    }

    /// The value of a key that stays where it is.
    pub(crate) fn peek(&self, key: &str) -> Option<Raw<'a>> {
        let entry = self.entries.iter().find(|entry| entry.key == key)?;
        Some(Raw::strict(entry.json))
    }

    /// Everything that nobody has asked for yet, in its order.
    pub(crate) fn rest(self) -> impl Iterator<Item = (Cow<'a, str>, Raw<'a>)> {
        let sink = self.sink;
        let left = self.entries.into_iter().filter(|entry| !entry.taken);
        left.map(move |entry| (entry.key, Raw { json: entry.json, sink, ahead: false }))
    }

    fn take(&mut self, key: &'static str) -> Option<&'a str> {
        if let Some(ahead) = &mut self.ahead {
            return ahead.take(key);
        }
        let is_it = |entry: &Entry<'_>| !entry.taken && entry.key == key;
        let place = match self.entries.get(self.next) {
            Some(entry) if is_it(entry) => self.next,
            _ => self.entries.iter().position(is_it)?,
        };
        self.next = place + 1;
        let entry = self.entries.get_mut(place)?;
        entry.taken = true;
        Some(entry.json)
    }

    fn value<T>(
        &mut self,
        key: &'static str,
        json: &'a str,
        read: &impl Fn(Raw<'a>) -> Result<T, ParseError>,
    ) -> Result<T, ParseError> {
        let raw = Raw { json, sink: self.sink, ahead: self.ahead.is_some() };
        match self.sink {
            None => read(raw).map_err(|error| error.inside_key(key)),
            Some(sink) => {
                let guessed = sink.guessed();
                match sink.collect(|| read(raw), |error| error.enter_key(key)) {
                    Ok(value) => {
                        if sink.guessed() > guessed {
                            self.unread.push(key);
                        }
                        Ok(value)
                    }
                    Err(error) => self.instead(key, read, error),
                }
            }
        }
    }

    /// While faults are collected, something that can be read takes the place of what cannot.
    fn instead<T>(
        &mut self,
        key: &'static str,
        read: &impl Fn(Raw<'a>) -> Result<T, ParseError>,
        error: ParseError,
    ) -> Result<T, ParseError> {
        let Some(sink) = self.sink else { return Err(error) };
        sink.guess();
        self.unread.push(key);
        let (value, is_word) = stand_in(read).ok_or(error)?;
        self.unsure |= is_word;
        Ok(value)
    }
}
