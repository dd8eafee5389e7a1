//! How the model is brought to decide.

use trunkline_resolve_queue::{Policy, StandingHandler};

/// What an agent is set up to do about it.
#[derive(Default)]
pub struct Setting {
    /// How the model is brought to decide; `None` leaves it to what is stored with the session, and reminds first if nothing is.
    pub policy: Option<Policy>,
    /// What resolutions go to while no proposal waits.
    pub standing: Option<StandingHandler>,
}
