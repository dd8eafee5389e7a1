//! The tests of trunkline-disk: one binary.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]
#![expect(clippy::print_stdout, reason = "figures are shown")]

mod cuts;
mod kit;
mod sessions;
mod settings;

use trunkline_disk::stories::{End, Story};

/// Lives a story, prints its figures, and returns what it came to. `cargo xtask power-loss --seed N` has others.
async fn told(story: Story, seed: u64) -> End {
    let figures = story.live(seed, 1).await.unwrap();
    println!("{story}, seed {seed}: {figures}");
    figures.end()
}
