//! Our wires against recorded exchanges, where they are there; and the comparison itself, on exchanges made up here.

use trunkline_tests::{corpora, recorded};

use crate::recordings;

// The program does more; a test must be quick.
const SPLITS: u32 = 4;

#[test]
#[expect(clippy::print_stderr, reason = "how much was read is a part of the result")]
fn recorded_exchanges_decode_at_any_split_and_are_written_as_they_were() {
    let Some(folder) = recordings::folder() else { return };
    let recordings = recorded::read_folder(&folder).expect("recordings");
    let report = corpora::run(&recordings, SPLITS);
    eprintln!("{report}");
    assert!(report.exchanges > 100, "only {} exchanges below {}", report.exchanges, folder.display());
    assert_eq!(report.failures(), 0, "{report}");
}
