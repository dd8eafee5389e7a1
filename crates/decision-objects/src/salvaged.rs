//! Records of ours that the strict parser refuses.
//!
//! A record that was written is evidence, also where something is wrong with it. Nothing is mended here: the bytes stay
//! as they are, and everything that can be found is listed, so that whoever mends it needs one look.

use std::fmt;

use uuid::Uuid;

use crate::json::{Fields, Sink, read};
use crate::{Object, ObjectKind, ParseError};

/// A text that claims to be an object of the family.
#[derive(Clone, PartialEq, Eq)]
pub struct Salvaged {
    /// What it says that it is, if that can be read.
    pub kind: Option<ObjectKind>,
    /// The name that it gives itself, if that can be read; any spelling of a UUID will do, the nil one too.
    pub id: Option<Uuid>,
    /// The object, if nothing is wrong with it.
    pub object: Option<Object>,
    /// The bytes that came in.
    pub original: Vec<u8>,
    /// What is wrong, each with its path; the first is the one that the strict parser gives.
    ///
    /// What rests on something that could not be read is not judged: whether evidence is listed twice where one of the
    /// ids is no id, or which keys belong to a verdict whose word is unknown.
    pub faults: Vec<ParseError>,
}

/// For whoever looks for a fault: of the bytes only how many they are, since a list of numbers says nothing.
impl fmt::Debug for Salvaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, id, object, original, faults } = self;
        f.debug_struct("Salvaged")
            .field("kind", kind)
            .field("id", id)
            .field("object", object)
            .field("original", &format_args!("{} bytes", original.len()))
            .field("faults", faults)
            .finish()
    }
}

/// Reads what can be read of a text in our own form, and lists all that is wrong with it.
///
/// Never fails: what is not even JSON comes back with that one fault. Takes time in proportion to the length of the text
/// and the depth of its objects.
#[must_use]
pub fn salvage(json: &[u8]) -> Salvaged {
    let sink = Sink::default();
    let mut object = None;
    let (mut kind, mut id) = (None, None);
    let read_all = || {
        let fields = Fields::document(json, Some(&sink))?;
        let word = |key| fields.peek(key).and_then(|raw| read::text_of(raw).ok());
        kind = word("type").and_then(|word| ObjectKind::of_word(&word));
        id = word("id").and_then(|id| Uuid::parse_str(&id).ok());
        Object::parse_fields(fields)
    };
    if let Ok(read) = sink.collect(read_all, |_| ()) {
        object = Some(read);
    }
    let faults = sink.into_faults();
    // While faults were collected, it was put together from stand-ins.
    let object = object.filter(|_| faults.is_empty());
    Salvaged { kind, id, object, original: json.to_vec(), faults }
}
