//! What the tree keeps beside its entries: the names of nodes and branches.

use trunkline_message_tree::{Naming, Timestamp};
use trunkline_session_store::{Note, Record};

use crate::notes::record::json;

/// The layer of what the tree keeps beside its entries.
pub const TREE: &str = "tree";
/// The kind of a note that names a node or a branch.
pub const NAME: &str = "name";
/// The state of a name that was taken away.
const GONE: &str = "gone";

/// Returns the record that gives a node a name, or takes one away.
pub(crate) fn named(naming: &Naming, at: Timestamp) -> Record {
    let state = naming.node.map_or_else(|| GONE.to_owned(), |_| naming.kind.to_string());
    Record::Note(Note::new(TREE, NAME, at, json(naming)).about(naming.name.as_str(), state))
}
