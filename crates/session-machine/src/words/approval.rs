//! Who decides on what tools want done.

/// Who decides on what tools want done.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Approval {
    /// A person decides, on edits and on commands.
    #[default]
    Person,
    /// The model decides on its own edits, with the tool `resolve`; commands run without asking.
    Model,
    /// Everything is approved at once.
    Always,
}
