//! A call that may run now, or that needs a decision first.

use serde_json::{Map, Value};

use crate::words::call::{CallPlace, Gate};
use crate::words::work::Id;

/// A call that may run now.
pub struct Runnable {
    /// Which.
    pub place: CallPlace,
    /// Its tool.
    pub tool: String,
    /// What its schema has accepted.
    pub arguments: Map<String, Value>,
    /// The proposal that a person approved for this call.
    pub approved: Option<Id>,
}

/// A call that needs a decision: which tool wants what.
pub struct Asked {
    /// The tool.
    pub tool: String,
    /// What it was called with.
    pub arguments: Map<String, Value>,
    /// What its tool says has to be approved.
    pub gate: Gate,
}
