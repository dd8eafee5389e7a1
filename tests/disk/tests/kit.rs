//! The kit on SQLite, with what only a layer below it can arrange: a disk that fails or kills at every write.

use trunkline_disk::subject::SqliteOnDisk;
use trunkline_session_store::kit::{self, Options, Promise};

#[test]
fn a_disk_that_fails_or_kills_at_every_write_breaks_no_promise() {
    let subject = SqliteOnDisk::new(env!("CARGO_BIN_EXE_power-loss")).unwrap();
    let mut options = Options::new(1);
    // What needs no failing disk is tried where the store is.
    (options.cases, options.threads, options.batches, options.kills) = (0, 2, 4, 4);
    let report = kit::run(&subject, &options);
    println!("{report}");
    assert!(report.is_ok(), "{report}");
    for promise in [Promise::Killed, Promise::Full, Promise::Broken] {
        assert!(report.checks(promise) > 20, "{report}");
    }
}
