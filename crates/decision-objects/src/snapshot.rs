//! What a model was shown when a run began.
//!
//! Items name what was shown; the previews are for people and short, since a record is no place for a copy of a project.

use std::collections::BTreeSet;

use crate::json::{Fields, Object, ParseError, Raw, read};
use crate::sealed::{Faults, sealed};
use crate::vocabulary::{closed_vocabulary, open_vocabulary};
use crate::{GitOid, Invalid, NonBlank, SnapshotId};

/// The longest preview, in characters.
const PREVIEW_CHARACTERS: usize = 500;

closed_vocabulary! {
    /// How the items were chosen.
    SelectionStrategy, "explicit or heuristic",
    "somebody chose the items or a program did; a third way must break every reader" {
        /// Somebody named each.
        Explicit = "explicit",
        /// A program guessed.
        Heuristic = "heuristic",
    }
}

open_vocabulary! {
    /// What an item is; the words are git-internal's.
    ItemKind, "file, url, snippet, command, image or other" {
        /// A file.
        File = "file",
        /// An address.
        Url = "url",
        /// A part of a file.
        Snippet = "snippet",
        /// What a command printed.
        Command = "command",
        /// A picture.
        Image = "image",
    }
    /// Something else; none of the words above in other dress.
    Other
}

/// One thing that was shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextItem {
    /// What it is.
    pub kind: ItemKind,
    /// Where it was: a path, an address, a command line.
    pub path: NonBlank,
    /// Its beginning, for people; at most 500 characters.
    pub preview: Option<String>,
    /// The git object that holds its content. Naming it here does not keep git from collecting it.
    pub blob: Option<GitOid>,
}

/// What a [`ContextSnapshot`] says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotContent {
    /// How the items were chosen.
    pub selection: SelectionStrategy,
    /// What was shown, in that order.
    pub items: Vec<ContextItem>,
    /// The whole in a few words.
    pub summary: Option<NonBlank>,
}

sealed! {
    /// What a model was shown, sealed.
    ContextSnapshot(SnapshotId, SnapshotContent) is "context_snapshot";
    /// Seals a snapshot.
    ///
    /// # Errors
    ///
    /// [`Invalid::PreviewLength`], [`Invalid::NilGitOid`], and [`Invalid::ReservedLabel`] if a kind is a word of [`ItemKind`] written as a label.
    new
}

impl SnapshotContent {
    /// Says how the items are chosen, without any; the other fields are there to be filled.
    #[must_use]
    pub const fn new(selection: SelectionStrategy) -> Self {
        Self { selection, items: Vec::new(), summary: None }
    }

    fn faults(&self, _id: SnapshotId) -> Faults {
        let mut faults = Faults::default();
        // Told once each, since nobody sees which item is meant.
        let mut lengths = BTreeSet::new();
        let mut blobs = true;
        for item in &self.items {
            faults.check(&["items"], item.kind.checked());
            let blob = item.blob.map_or(Ok(()), |blob| blob.checked().map(|_| ()));
            if blobs {
                blobs = blob.is_ok();
                faults.check(&["items"], blob);
            }
            let characters = item.preview.as_deref().unwrap_or_default().chars().count();
            if characters > PREVIEW_CHARACTERS && lengths.insert(characters) {
                faults.add(&["items"], Invalid::PreviewLength { characters });
            }
        }
        faults
    }

    fn print(&self, object: Object) -> Object {
        object
            .text("selection", self.selection.as_str())
            .list("items", self.items.iter().map(|item| item.print().finish()))
            .maybe_text("summary", self.summary.as_ref().map(NonBlank::as_str))
    }

    fn read(fields: &mut Fields<'_>) -> Result<Self, ParseError> {
        Ok(Self {
            selection: fields.required("selection", SelectionStrategy::read)?,
            items: fields.required("items", |raw| read::list(raw, ContextItem::read))?,
            summary: fields.optional("summary", read::canonical)?,
        })
    }
}

impl ContextItem {
    fn print(&self) -> Object {
        self.kind
            .print(Object::new(), "kind", "label")
            .text("path", self.path.as_str())
            .maybe_text("preview", self.preview.as_deref())
            .maybe_show("blob", self.blob.as_ref())
    }

    fn read(raw: Raw<'_>) -> Result<Self, ParseError> {
        let mut fields = Fields::open(raw)?;
        let item = Self {
            kind: ItemKind::required(&mut fields, "kind", "label")?,
            path: fields.required("path", read::canonical)?,
            preview: fields.optional("preview", read::text)?,
            blob: fields.optional("blob", read::canonical)?,
        };
        fields.close()?;
        Ok(item)
    }
}
