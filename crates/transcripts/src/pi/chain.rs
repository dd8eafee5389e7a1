//! The lines of a new file: the header, then entries that each continue the one before.

use std::collections::HashSet;

use trunkline_message_tree::Timestamp;

use crate::conversation::Heading;
use crate::json::{Fields, object, quote};
use crate::time;

/// A field of a record and its value as JSON; without one it is left out.
pub(super) type Field = (&'static str, Option<String>);

/// What was written.
pub(super) struct Chain<'a> {
    heading: &'a Heading,
    out: String,
    /// The ids that were given out.
    ids: HashSet<String>,
    /// The id of the entry that was written last.
    last: Option<String>,
    serial: u64,
    /// The latest time that was written.
    at: Option<Timestamp>,
}

impl<'a> Chain<'a> {
    /// Returns one in which nothing stands.
    pub(super) fn new(heading: &'a Heading) -> Self {
        Chain { heading, out: String::new(), ids: HashSet::new(), last: None, serial: 0, at: None }
    }

    /// Tells whether there is no entry yet.
    pub(super) fn is_empty(&self) -> bool {
        self.last.is_none()
    }

    /// Tells whether there is no line yet.
    pub(super) fn is_blank(&self) -> bool {
        self.out.is_empty()
    }

    /// Returns the file.
    pub(super) fn finish(self) -> String {
        self.out
    }

    /// Writes a new record.
    pub(super) fn fresh(&mut self, kind: &str, fields: &[Field]) {
        let at = self.next();
        self.at = Some(at);
        let id = self.new_id();
        let mut all = vec![
            ("type", Some(quote(kind))),
            ("id", Some(quote(&id))),
            ("parentId", Some(self.parent())),
            ("timestamp", Some(quote(&time::print(at)))),
        ];
        all.extend_from_slice(fields);
        self.put(&object(&all));
        self.last = Some(id);
    }

    /// Writes a record that was there, in its new place.
    pub(super) fn entry(&mut self, fields: &Fields<'_>, mut edits: Vec<Field>) {
        let id = fields.text("id").map(|id| id.into_owned());
        let id = match id.filter(|id| !id.is_empty() && !self.ids.contains(id)) {
            Some(id) => {
                self.ids.insert(id.clone());
                id
            }
            None => {
                let id = self.new_id();
                edits.push(("id", Some(quote(&id))));
                id
            }
        };
        edits.push(("parentId", Some(self.parent())));
        match fields.text("timestamp") {
            Some(text) => self.at = self.at.max(time::parse(&text)),
            None => {
                let at = self.next();
                self.at = Some(at);
                edits.push(("timestamp", Some(quote(&time::print(at)))));
            }
        }
        if fields.text("type").as_deref() == Some("compaction") {
            // What it keeps stands behind it now: one that keeps nothing names itself.
            edits.extend([("firstKeptEntryId", Some(quote(&id))), ("firstKeptEntryIndex", None)]);
        }
        self.put(&fields.rewrite(&edits));
        self.last = Some(id);
    }

    /// Writes a line as it is.
    pub(super) fn put(&mut self, line: &str) {
        self.out.push_str(line);
        self.out.push('\n');
    }

    fn parent(&self) -> String {
        self.last.as_deref().map_or_else(|| "null".to_owned(), quote)
    }

    /// Returns the time of the next new record.
    pub(super) fn next(&self) -> Timestamp {
        let after = self.at.map(|at| Timestamp(at.0.saturating_add(1)));
        after.unwrap_or_default().max(self.heading.started)
    }

    /// Makes an id from the session's own: the same call gives the same file.
    fn new_id(&mut self) -> String {
        loop {
            // FNV-1a: it need not resist an attack, only differ.
            let bytes = self.heading.id.bytes().chain(self.serial.to_le_bytes());
            let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            });
            self.serial += 1;
            let id = format!("{:08x}", (hash ^ (hash >> 32)) & 0xffff_ffff);
            if self.ids.insert(id.clone()) {
                return id;
            }
        }
    }
}
