//! What is meant where a node is asked for.

use trunkline_message_tree::NodeId;

use crate::reading::session::Reading;
use crate::term::fault::Fault;
use crate::term::text::one_line;

/// How many names a fault tells.
const TOLD: usize = 8;

/// Returns the node that somebody means: `n12`, `12`, `[n12]`, or where a name leads.
pub(crate) fn target(named: &str, reading: &Reading) -> Result<NodeId, Fault> {
    if let Ok(node) = named.parse() {
        return Ok(node);
    }
    reading.names().find(reading.tree(), named.trim()).ok_or_else(|| {
        let fault = Fault::usage(format!("there is no node and no name {:?}", one_line(named, 60)));
        let known: Vec<&str> =
            reading.names().all(reading.tree()).take(TOLD).map(|(name, ..)| name.as_str()).collect();
        let more = if reading.names().len() > TOLD { ", …" } else { "" };
        match known.as_slice() {
            [] => fault.hint("a node is named like n12; `trunkline name` gives names"),
            known => fault.hint(format!("a node is named like n12; names: {}{more}", known.join(", "))),
        }
    })
}
