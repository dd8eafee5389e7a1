//! How the model is brought to decide.

use trunkline_resolve_queue::{Policy, StandingHandler};

/// What an agent is set up to do about it.
#[derive(Default)]
pub struct Setting {
    /// How the model is brought to decide.
    pub policy: Policy,
    /// What resolutions go to while no proposal waits.
    pub standing: Option<StandingHandler>,
}
