//! What a run changed, as files and a diff.
//!
//! A patch set belongs to one run and cannot be chosen by another one.
//! Files are kept in the order of their paths, so that two tellings of the same change have the same digest.

use std::num::NonZeroU32;

use crate::json::{Canonical, Fields, Object, ParseError, Raw, canonical_form, read};
use crate::sealed::{Faults, twice};
use crate::{Digest, GitOid, Invalid, PatchSetId, RelativePath, RunId};

/// What happened to a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_enums, reason = "whoever shows or applies a change must know every kind of it")]
pub enum Change {
    /// It was not there before.
    Added,
    /// Its content or its mode is another one.
    Modified,
    /// It is no longer there.
    Deleted,
    /// It has a new path, and perhaps new content.
    Renamed {
        /// The path that it had.
        from: RelativePath,
    },
}

/// One file of a patch set.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TouchedFile {
    /// Its path after the change, or before it if it was deleted.
    pub path: RelativePath,
    /// What happened to it.
    pub change: Change,
    /// Lines that were added; `None` where lines make no sense.
    pub added_lines: Option<u32>,
    /// Lines that were deleted; `None` where lines make no sense.
    pub deleted_lines: Option<u32>,
}

/// A unified diff: its digest, and its text if that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diff {
    digest: Digest,
    /// If it is here, `digest` is its digest.
    text: Option<String>,
}

impl Diff {
    /// Keeps the text in the record.
    #[must_use]
    pub fn kept(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { digest: Digest::of(text.as_bytes()), text: Some(text) }
    }

    /// Names a text that is kept elsewhere, or nowhere.
    #[must_use]
    pub const fn named(digest: Digest) -> Self {
        Self { digest, text: None }
    }

    /// The SHA-256 of the text.
    #[must_use]
    pub const fn digest(&self) -> Digest {
        self.digest
    }

    /// The text, if it is kept here.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }
}

/// The changes of one run, sealed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchSet {
    id: PatchSetId,
    run: RunId,
    sequence: Option<NonZeroU32>,
    base: Option<GitOid>,
    /// In the order of their paths, no path twice, no rename to itself.
    files: Vec<TouchedFile>,
    diff: Diff,
}

canonical_form!(PatchSet);

impl PatchSet {
    /// Seals the changes that `run` made on top of `base`; `base` is `None` outside git.
    ///
    /// # Errors
    ///
    /// [`Invalid::NilGitOid`], [`Invalid::TouchedTwice`] and [`Invalid::RenamedToItself`].
    pub fn new(
        id: PatchSetId,
        run: RunId,
        base: Option<GitOid>,
        mut files: Vec<TouchedFile>,
        diff: Diff,
    ) -> Result<Self, Invalid> {
        files.sort();
        let patch_set = Self { id, run, sequence: None, base, files, diff };
        patch_set.faults().first()?;
        Ok(patch_set)
    }

    /// The same changes as one of several candidates of their run, in the order in which these came to be.
    ///
    /// No two candidates of a run have one place, which a set of objects shows. A run that made one patch set only needs
    /// none: without it the text and the digest are what they were before there were candidates.
    #[must_use]
    pub fn with_sequence(self, sequence: NonZeroU32) -> Self {
        Self { sequence: Some(sequence), ..self }
    }

    fn faults(&self) -> Faults {
        let mut faults = Faults::default();
        faults.check(&["base"], self.base.map_or(Ok(()), |base| base.checked().map(|_| ())));
        let paths: Vec<&RelativePath> = self.files.iter().map(|file| &file.path).collect();
        for &&path in &twice(&paths) {
            faults.add(&["files"], Invalid::TouchedTwice { path: path.clone() });
        }
        for file in &self.files {
            if matches!(&file.change, Change::Renamed { from } if *from == file.path) {
                faults.add(&["files"], Invalid::RenamedToItself { path: file.path.clone() });
            }
        }
        faults
    }

    /// Its name.
    #[must_use]
    pub const fn id(&self) -> PatchSetId {
        self.id
    }

    /// The run that made it.
    #[must_use]
    pub const fn run(&self) -> RunId {
        self.run
    }

    /// Which of the candidates of its run it is, counted from 1; `None` where that was not said.
    #[must_use]
    pub const fn sequence(&self) -> Option<NonZeroU32> {
        self.sequence
    }

    /// The commit that the diff applies to.
    #[must_use]
    pub const fn base(&self) -> Option<GitOid> {
        self.base
    }

    /// The touched files, in the order of their paths.
    #[must_use]
    pub fn files(&self) -> &[TouchedFile] {
        &self.files
    }

    /// The unified diff.
    #[must_use]
    pub const fn diff(&self) -> &Diff {
        &self.diff
    }
}

impl Canonical for PatchSet {
    const TYPE: &'static str = "patch_set";

    fn print_fields(&self, object: Object) -> Object {
        object
            .show("id", &self.id)
            .show("run", &self.run)
            .maybe_bare("sequence", self.sequence.map(NonZeroU32::get))
            .maybe_show("base", self.base.as_ref())
            .list("files", self.files.iter().map(|file| print_file(file).finish()))
            .show("diff_digest", &self.diff.digest)
            .maybe_text("diff", self.diff.text())
    }

    fn read_fields(fields: &mut Fields<'_>) -> Result<Self, ParseError> {
        let id = fields.required("id", read::canonical)?;
        let run = fields.required("run", read::canonical)?;
        let sequence = fields.optional("sequence", read::counted)?;
        let base = fields.optional("base", read::canonical)?;
        let mut files = fields.required("files", |raw| read::list(raw, read_file))?;
        let expected = fields.required("diff_digest", read::canonical)?;
        let diff = match fields.optional("diff", read::text)? {
            Some(text) => Diff::kept(text),
            None => Diff::named(expected),
        };
        files.sort();
        let mut faults = Faults::default();
        if diff.digest != expected {
            faults.add(&["diff", "diff_digest"], Invalid::DiffDigest { expected, found: diff.digest });
        }
        let patch_set = Self { id, run, sequence, base, files, diff };
        faults.extend(patch_set.faults());
        fields.refuse(faults)?;
        Ok(patch_set)
    }
}

fn print_file(file: &TouchedFile) -> Object {
    let object = Object::new().text("path", file.path.as_str());
    let object = match &file.change {
        Change::Added => object.text("change", "added"),
        Change::Modified => object.text("change", "modified"),
        Change::Deleted => object.text("change", "deleted"),
        Change::Renamed { from } => object.text("change", "renamed").text("from", from.as_str()),
    };
    object.maybe_bare("added_lines", file.added_lines).maybe_bare("deleted_lines", file.deleted_lines)
}

fn read_file(raw: Raw<'_>) -> Result<TouchedFile, ParseError> {
    let mut fields = Fields::open(raw)?;
    let path = fields.required("path", read::canonical)?;
    let change = fields.required("change", |raw| {
        read::word(raw, "added, modified, deleted or renamed", |word| match word {
            "added" => Some(Some(Change::Added)),
            "modified" => Some(Some(Change::Modified)),
            "deleted" => Some(Some(Change::Deleted)),
            "renamed" => Some(None),
            _ => None,
        })
    })?;
    let change = match change {
        Some(change) => change,
        None => Change::Renamed { from: fields.required("from", read::canonical)? },
    };
    let added_lines = fields.optional("added_lines", read::unsigned)?;
    let deleted_lines = fields.optional("deleted_lines", read::unsigned)?;
    fields.close()?;
    Ok(TouchedFile { path, change, added_lines, deleted_lines })
}
