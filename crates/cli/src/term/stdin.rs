//! What is piped in for a prompt.

use std::io::Read;

use crate::term::fault::Fault;
use crate::term::text;

/// Reads a prompt to its end.
pub(crate) fn read_stdin() -> Result<String, Fault> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().read_to_end(&mut bytes).map_err(|error| error.to_string());
    read.and_then(|_| text::decoded(bytes))
        .map_err(|why| Fault::usage(format!("cannot read the prompt from stdin: {why}")))
}
