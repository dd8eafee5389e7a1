//! What was bound to a repository, or was not, told in a line.

use trunkline_runtime::Event;

use crate::term::style::{DIM, YELLOW, paint};
use crate::term::text::one_line;

/// Tells what was bound, or was not.
pub(crate) fn told(event: &Event) -> Option<String> {
    match event {
        Event::Bound { reference, .. } => {
            Some(format!("{}\n", paint(DIM, &format!("  bound: {}", one_line(reference, 200)))))
        }
        Event::NotBound { run, why } => {
            let (run, why) = (one_line(run, 36), one_line(why, 400));
            Some(format!("{} run {run}: {why}\n", paint(YELLOW, "not bound:")))
        }
        _ => None,
    }
}
