//! The tests of trunkline-disk: one binary.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]
#![expect(clippy::print_stdout, reason = "figures are shown")]

mod cuts;
mod kit;
mod sessions;
mod settings;

use trunkline_disk::Figures;
use trunkline_disk::stories::Story;

/// Lives a story, prints its figures, and returns what it came to. `cargo xtask power-loss --seed N` has others.
async fn told(story: Story, seed: u64) -> Figures {
    let figures = story.live(seed, 1).await.unwrap();
    println!("{story}, seed {seed}: {figures}");
    assert!(
        story.struck_enough(&figures),
        "{story}: the fault struck in {} of {} lives",
        figures.struck,
        figures.lives
    );
    figures
}
