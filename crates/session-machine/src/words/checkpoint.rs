//! What a checkpoint keeps of the files, as plain data.

/// A checkpoint whose files are to be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// The run that is put down. Who is asked again for the same run, after a crash, keeps one state and not two.
    pub run: String,
    /// The node of the conversation at which it is put down.
    pub node: String,
    /// What was said with it.
    pub words: String,
    /// When that was, in milliseconds since 1970.
    pub at: u64,
}

/// Where the files of a checkpoint are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptFiles {
    /// The tree of all files, in hex.
    pub tree: String,
    /// The commit that holds it, in hex.
    pub commit: String,
    /// The full name of the ref that keeps the commit.
    pub reference: String,
}
