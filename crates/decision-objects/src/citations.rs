//! What a decision points at in the conversation that led to it, in the files, and in the bill.
//!
//! Nodes and proposals are names of the caller's, such as `n12` and `p3`; this crate knows neither messages nor
//! queues, so it keeps the names and looks nothing up.

use std::collections::BTreeSet;

use crate::invalid::excerpt;
use crate::json::{Fields, Object, ParseError, Raw, read};
use crate::sealed::{Faults, twice};
use crate::{Digest, Invalid, NonBlank, RelativePath};

/// What a decision cites; each part may be empty.
///
/// What must hold of it (nothing twice) is checked when the decision is made or read; see
/// [`Run::decide`](crate::Run::decide).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Citations {
    /// Nodes of the conversation, in the order in which they matter: the prompt, the answer, what proved it.
    pub nodes: Vec<NonBlank>,
    /// Proposals that were applied, in the order of applying.
    pub proposals: Vec<NonBlank>,
    /// Files as they were and as they are; a decision keeps them in the order of their paths.
    pub files: Vec<FileState>,
    /// What the run cost, if somebody counted.
    pub cost: Option<Cost>,
}

/// One file, before the run and after it.
///
/// A file whose state is not known is left out; `None` says that there was no file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileState {
    /// Where it is.
    pub path: RelativePath,
    /// The SHA-256 of its bytes before the run; `None` if there was no such file.
    pub before: Option<Digest>,
    /// The SHA-256 of its bytes after the run; `None` if there is no such file any more.
    pub after: Option<Digest>,
}

/// What a run cost, over all its requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Cost {
    /// Prompt tokens that were neither read from a cache nor written to one.
    pub input_tokens: u64,
    /// Tokens that the model wrote.
    pub output_tokens: u64,
    /// Prompt tokens that were read from a cache.
    pub cache_read_tokens: u64,
    /// Prompt tokens that were written to a cache.
    pub cache_write_tokens: u64,
    /// Millionths of a US dollar; `None` where no price is known.
    pub microdollars: Option<u64>,
}

impl Citations {
    /// Nothing.
    pub(crate) const NONE: Self =
        Self { nodes: Vec::new(), proposals: Vec::new(), files: Vec::new(), cost: None };

    /// Whether nothing is cited; the JSON form has no `cites` then.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.nodes.is_empty() && self.proposals.is_empty() && self.files.is_empty() && self.cost.is_none()
    }

    /// What is cited twice, and files that never were.
    pub(crate) fn faults(&self) -> Faults {
        let mut faults = Faults::default();
        for (keys, names) in [(&["nodes"], &self.nodes), (&["proposals"], &self.proposals)] {
            for name in twice(names) {
                faults.add(keys, Invalid::CitedTwice { text: excerpt(name.as_str()) });
            }
        }
        let paths: Vec<&RelativePath> = self.files.iter().map(|file| &file.path).collect();
        for path in twice(&paths) {
            faults.add(&["files"], Invalid::CitedTwice { text: excerpt(path.as_str()) });
        }
        let never = self.files.iter().filter(|file| file.before.is_none() && file.after.is_none());
        for path in never.map(|file| &file.path).collect::<BTreeSet<_>>() {
            faults.add(&["files"], Invalid::NeverAFile { path: path.clone() });
        }
        faults
    }

    pub(crate) fn print(&self) -> Object {
        let object = Object::new()
            .texts("nodes", &self.nodes)
            .texts("proposals", &self.proposals)
            .list("files", self.files.iter().map(|file| file.print().finish()));
        match &self.cost {
            Some(cost) => object.object("cost", cost.print()),
            None => object,
        }
    }

    pub(crate) fn read(raw: Raw<'_>) -> Result<Self, ParseError> {
        let mut fields = Fields::open(raw)?;
        let citations = Self {
            nodes: fields.required("nodes", read::canonical_list)?,
            proposals: fields.required("proposals", read::canonical_list)?,
            files: fields.required("files", |raw| read::list(raw, FileState::read))?,
            cost: fields.optional("cost", Cost::read)?,
        };
        let mut faults = citations.faults();
        if citations.is_empty() {
            // Left out is how nothing is written; a second spelling of it is refused.
            faults.add(&["nodes", "proposals", "files", "cost"], Invalid::CitesNothing);
        }
        fields.refuse(faults)?;
        fields.close()?;
        Ok(citations)
    }
}

impl FileState {
    fn print(&self) -> Object {
        Object::new()
            .text("path", self.path.as_str())
            .maybe_show("before", self.before.as_ref())
            .maybe_show("after", self.after.as_ref())
    }

    fn read(raw: Raw<'_>) -> Result<Self, ParseError> {
        let mut fields = Fields::open(raw)?;
        let state = Self {
            path: fields.required("path", read::canonical)?,
            before: fields.optional("before", read::canonical)?,
            after: fields.optional("after", read::canonical)?,
        };
        fields.close()?;
        Ok(state)
    }
}

impl Cost {
    /// All tokens together; `None` if they are more than a number of 64 bits can say.
    #[must_use]
    pub fn total_tokens(&self) -> Option<u64> {
        self.input_tokens
            .checked_add(self.output_tokens)?
            .checked_add(self.cache_read_tokens)?
            .checked_add(self.cache_write_tokens)
    }

    fn print(self) -> Object {
        Object::new()
            .whole("input_tokens", self.input_tokens)
            .whole("output_tokens", self.output_tokens)
            .whole("cache_read_tokens", self.cache_read_tokens)
            .whole("cache_write_tokens", self.cache_write_tokens)
            .maybe_whole("microdollars", self.microdollars)
    }

    fn read(raw: Raw<'_>) -> Result<Self, ParseError> {
        let mut fields = Fields::open(raw)?;
        let cost = Self {
            input_tokens: fields.required("input_tokens", read::whole)?,
            output_tokens: fields.required("output_tokens", read::whole)?,
            cache_read_tokens: fields.required("cache_read_tokens", read::whole)?,
            cache_write_tokens: fields.required("cache_write_tokens", read::whole)?,
            microdollars: fields.optional("microdollars", read::whole)?,
        };
        fields.close()?;
        Ok(cost)
    }
}
