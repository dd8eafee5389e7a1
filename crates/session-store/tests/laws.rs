//! Laws of a database whose bytes are not what they were, for whatever byte it is.

use std::sync::LazyLock;

use proptest::prelude::*;

use crate::damage::flips::{Figures, Whole};

/// Few, because each is a database that is opened, examined and mended; more where the runner is asked for more.
fn enough() -> ProptestConfig {
    let asked = ProptestConfig::default();
    let cases = if asked.cases == 256 { 16 } else { asked.cases };
    ProptestConfig { cases, failure_persistence: None, ..asked }
}

fn block_on<T>(what: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(what)
}

/// As it is after it was closed, and as a process leaves it that dies.
static WHOLE: LazyLock<[Whole; 2]> =
    LazyLock::new(|| block_on(async { [Whole::closed().await, Whole::killed().await] }));

proptest! {
    #![proptest_config(enough())]

    /// No panic, nobody waits for ever, nothing short is shown as all there is, and nothing that is whole gets lost.
    #[test]
    fn no_flipped_byte_goes_unnoticed(
        killed in any::<bool>(),
        log in any::<bool>(),
        place in any::<prop::sample::Index>(),
        flip in 1..=u8::MAX,
    ) {
        let whole = &WHOLE[usize::from(killed)];
        let file = usize::from(log && killed);
        let place = place.index(whole.length(file));
        let what = format!("killed: {killed}, log: {log}, byte {place} ^ {flip}");
        block_on(whole.check(file, |bytes| bytes[place] ^= flip, &what, &mut Figures::default()));
    }

    /// The same for the page that says what all others are.
    #[test]
    fn no_flipped_byte_of_the_first_page_goes_unnoticed(place in 0_usize..4096, flip in 1..=u8::MAX) {
        let what = format!("byte {place} ^ {flip} of the first page");
        block_on(WHOLE[0].check(0, |bytes| bytes[place] ^= flip, &what, &mut Figures::default()));
    }
}
