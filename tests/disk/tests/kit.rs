//! The kit on SQLite, with what only a layer below it can arrange: a disk that fails or kills at every write.

use trunkline_disk::subject::SqliteOnDisk;
use trunkline_session_store::kit::{self, Options, Promise};

/// At every third write; with `TRUNKLINE_DAMAGE=all` at each, as `cargo xtask power-loss` does.
#[test]
fn a_disk_that_fails_or_kills_at_any_write_breaks_no_promise() {
    let stride: u32 = if std::env::var("TRUNKLINE_DAMAGE").is_ok_and(|asked| asked == "all") { 1 } else { 3 };
    let subject = SqliteOnDisk::new(env!("CARGO_BIN_EXE_power-loss")).unwrap().every(stride.into());
    let mut options = Options::new(1);
    // What needs no failing disk is tried where the store is.
    (options.cases, options.threads, options.batches, options.kills) = (0, 2, 4, 4);
    options.writes = options.writes.div_ceil(stride);
    let report = kit::run(&subject, &options);
    println!("{report}");
    assert!(report.is_ok(), "{report}");
    for promise in [Promise::Killed, Promise::Full, Promise::Broken] {
        assert!(report.checks(promise) > 20, "{report}");
    }
}
